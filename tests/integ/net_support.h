/* SPDX-License-Identifier: MIT */
/*
 * Real sockets on this machine, for the tests of loop/ and net/.
 *
 * Decides: how long a test waits for a condition (turns of the loop, 10 s at most, no sleep).
 * Called by tests/integ/net_*_test.c and loop_*_test.c. Must not know what they test.
 */
#ifndef TESTS_INTEG_NET_SUPPORT_H
#define TESTS_INTEG_NET_SUPPORT_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "lull/loop.h"
#include "lull/trace.h"
#include "net/addr.h"
#include "net/endpoint.h"

/* What the built-in loop that was configured costs. */
#ifdef LULL_LOOP_POLL
#define LOOP_FDS         2u /* a pipe */
#define ALARM_SYSCALLS   0u /* the poll's own timeout */
#define WATCH_SYSCALLS   0u /* a list of ours */
#define WAIT_CLOCK_READS 1u /* the timeout of a poll while an alarm stands */
#else
#define LOOP_FDS         3u /* epoll, timerfd, eventfd */
#define ALARM_SYSCALLS   1u /* timerfd_settime */
#define WATCH_SYSCALLS   1u /* epoll_ctl */
#define WAIT_CLOCK_READS 0u
#endif

/* A loop, and the counters that the test's own socket calls go to. */
struct net_world {
    struct lull_loop *loop;
    struct lull_executor *executor;
    struct lull_counters own;
};

void net_world_init(struct net_world *world);
void net_world_fini(struct net_world *world);

/* In and out of the context. */
void net_enter(struct net_world *world);
void net_leave(struct net_world *world);

/* What the loop's executor has counted so far. */
struct lull_counters net_counted(struct net_world *world);

/* Runs turns until the condition holds; fails the test when it does not within 10 s. */
void net_run_until(struct net_world *world, bool (*holds)(void *ctx), void *ctx);

/* A listener on 127.0.0.1 (or on `at`), and where it is. */
int net_listen(struct net_world *world, const struct addr *at, int backlog, struct addr *where);

/* The next connection, waited for 10 s at most. */
int net_accept(struct net_world *world, int listener, struct addr *peer);

/* Waits 10 s at most until the descriptor is ready for `events` of poll(2). */
void net_wait_fd(int fd, short events);

/* A port of 127.0.0.1 that is taken and refuses: bound, never listening. Returns the holder's fd.
 */
int net_refusing(struct net_world *world, struct addr *where);

/* A path for a socket in a new directory; net_path_drop removes both. */
void net_path_make(char *path, size_t size);
void net_path_drop(const char *path);

/* Open descriptors of this process. */
int net_count_fds(void);

/* One endpoint and what it was told. */
struct net_peer {
    struct endpoint *endpoint;
    int told;
    unsigned ready;
};

/* Takes the endpoint's readiness and, when told, asks for no more of it. */
void net_peer_attach(struct net_peer *peer, struct endpoint *endpoint);

/* Waits until `want` is told. */
void net_peer_wait(struct net_world *world, struct net_peer *peer, unsigned want);

/* Dials by dialer_tcp; the connect is under way, or done. */
struct endpoint *net_dial(struct net_world *world, const struct addr *to);

/* A connected endpoint, attached to `peer`, and the far end's descriptor. `at` as for net_listen.
 */
struct endpoint *net_dial_connected(struct net_world *world, struct net_peer *peer,
                                    const struct addr *at, int *far_fd);

/* One write or read from outside a turn. */
enum io net_write(struct net_world *world, struct endpoint *to, const char *text, size_t *wrote);
enum io net_read(struct net_world *world, struct endpoint *from, char *into, size_t size,
                 size_t *got);

/* "ping" one way, "pong!" the other, then the far end's close; all of it checked. */
void net_exchange(struct net_world *world, struct net_peer *peer, int far_fd);

/* Closes from outside a turn and lets the free phase come. */
void net_close(struct net_world *world, struct endpoint *endpoint);

#endif
