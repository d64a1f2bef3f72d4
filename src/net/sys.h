/* SPDX-License-Identifier: MIT */
/*
 * The socket system calls of net/, and the only place that makes them.
 *
 * Decides: that every descriptor is non-blocking and close-on-exec, that no write raises SIGPIPE,
 * and what an interrupted call means. Called by endpoints, dialers and listeners. Must not know
 * what a stream is for.
 *
 * Each call adds to `counters` (never NULL) and answers 0 or an errno: EAGAIN, not EWOULDBLOCK.
 */
#ifndef NET_SYS_H
#define NET_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/trace.h"
#include "net/addr.h"

struct io_piece;

/* A stream socket of that family. */
int sys_socket(struct lull_counters *counters, int family, int *fd);

/* Two joined unix stream sockets. */
int sys_socketpair(struct lull_counters *counters, int fds[2]);

/* 0: connected; EINPROGRESS: under way. A unix socket with a full backlog says EAGAIN, which is a
 * failure: nothing tells when. */
int sys_connect(struct lull_counters *counters, int fd, const struct addr *to);

/* The error that waits on the socket, cleared by asking: 0 when there is none. */
int sys_socket_error(struct lull_counters *counters, int fd);

/* 0: connected. ENOTCONN: not, or not yet. */
int sys_is_connected(struct lull_counters *counters, int fd);

/* *got is 0 at the end of the stream. `capacity` is above 0. */
int sys_read(struct lull_counters *counters, int fd, void *into, size_t capacity, size_t *got);

/* At most IO_PIECES_MAX pieces; EPIPE, not a signal, when the peer is gone. `more_follows`: of TCP a last packet that is not full waits. */
int sys_writev(struct lull_counters *counters, int fd, const struct io_piece *pieces, size_t count,
               bool more_follows, size_t *wrote);

/* Never waits for unsent bytes. The descriptor is gone whatever the kernel says. */
void sys_close(struct lull_counters *counters, int fd);

int sys_set_nodelay(struct lull_counters *counters, int fd);

/* TCP keepalive: first probe after idle_s of silence, then every interval_s, `probes` in all.
 * idle_s 0: off. */
int sys_set_keepalive(struct lull_counters *counters, int fd, int idle_s, int interval_s,
                      int probes);

/* TCP_USER_TIMEOUT in ms: unacknowledged bytes older than that end the connection. 0: the system's
 * own limit. */
int sys_set_user_timeout(struct lull_counters *counters, int fd, unsigned timeout_ms);

/* Bytes that were written and that the peer's system has not acknowledged (SIOCOUTQ); false, too, when it cannot be told. */
bool sys_has_unacknowledged(struct lull_counters *counters, int fd);

/* TCP_RTO_MAX_MS: what is not acknowledged is sent again at least so often, 1 s to 120 s. ENOPROTOOPT before Linux 6.15. */
int sys_set_resend_limit(struct lull_counters *counters, int fd, unsigned limit_ms);

/* For listeners. Bind lets a port be used again at once (SO_REUSEADDR). */
int sys_bind(struct lull_counters *counters, int fd, const struct addr *to);
int sys_listen(struct lull_counters *counters, int fd, int backlog);

/* The next connection that waits; EAGAIN: none. `peer` may be NULL. */
int sys_accept(struct lull_counters *counters, int listener, int *fd, struct addr *peer);

/* Our own address, with the port that the kernel chose. */
int sys_getsockname(struct lull_counters *counters, int fd, struct addr *out);

/* Removes the path of a unix socket that has one; whether it was there does not matter. */
void sys_unlink(struct lull_counters *counters, const struct addr *at);

/* What a descriptor is. */
struct sys_socket_facts {
    int type; /* SOCK_STREAM ... */
    bool is_listening;
    bool is_connected;
    struct addr peer; /* when it is */
};

/* 0; EBADF: not open; ENOTSOCK; or another errno, and it is not known. Not counted, as below. */
int sys_look_at(int fd, struct sys_socket_facts *facts);

/* That the description does not block, and that exec closes the descriptor: for one that we have not made. */
int sys_set_nonblocking(struct lull_counters *counters, int fd);
int sys_set_cloexec(struct lull_counters *counters, int fd);

/* The number of a network interface; 0: no such one. Not counted: targets are read outside of
 * loops. */
uint32_t sys_interface_index(const char *name);

#endif
