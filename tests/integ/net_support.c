/* SPDX-License-Identifier: MIT */
#include "tests/integ/net_support.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dial.h"
#include "net/sys.h"

/* Rounds of 100 ms. */
#define PATIENCE_ROUNDS 100

void net_world_init(struct net_world *world)
{
    memset(world, 0, sizeof(*world));
    ck_assert_int_eq(lull_loop_new(NULL, &world->loop), LULL_OK);
    world->executor = lull_loop_executor(world->loop);
}

void net_world_fini(struct net_world *world)
{
    lull_loop_free(world->loop);
}

void net_enter(struct net_world *world)
{
    ck_assert_int_eq(lull_executor_enter(world->executor), LULL_OK);
}

void net_leave(struct net_world *world)
{
    lull_executor_leave(world->executor);
}

struct lull_counters net_counted(struct net_world *world)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    lull_executor_counters(world->executor, &counters);
    return counters;
}

void net_run_until(struct net_world *world, bool (*holds)(void *ctx), void *ctx)
{
    for (int i = 0; i < PATIENCE_ROUNDS; i++) {
        if (holds(ctx)) {
            return;
        }
        ck_assert_int_eq(lull_loop_run_once(world->loop, 100 * LULL_MS), LULL_OK);
    }
    ck_assert_msg(holds(ctx), "the condition did not hold in time");
}

int net_listen(struct net_world *world, const struct addr *at, int backlog, struct addr *where)
{
    struct addr any;
    int fd;

    if (at == NULL) {
        ck_assert(addr_from_ip(&any, "127.0.0.1", 0));
        at = &any;
    }
    ck_assert_int_eq(sys_socket(&world->own, at->storage.ss_family, &fd), 0);
    ck_assert_int_eq(sys_bind(&world->own, fd, at), 0);
    ck_assert_int_eq(sys_listen(&world->own, fd, backlog), 0);
    ck_assert_int_eq(sys_getsockname(&world->own, fd, where), 0);
    return fd;
}

void net_wait_fd(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};

    ck_assert_int_eq(poll(&polled, 1, 10000), 1);
}

int net_accept(struct net_world *world, int listener, struct addr *peer)
{
    int fd;

    net_wait_fd(listener, POLLIN);
    ck_assert_int_eq(sys_accept(&world->own, listener, &fd, peer), 0);
    return fd;
}

int net_refusing(struct net_world *world, struct addr *where)
{
    struct addr any;
    int fd;

    ck_assert(addr_from_ip(&any, "127.0.0.1", 0));
    ck_assert_int_eq(sys_socket(&world->own, AF_INET, &fd), 0);
    ck_assert_int_eq(sys_bind(&world->own, fd, &any), 0);
    ck_assert_int_eq(sys_getsockname(&world->own, fd, where), 0);
    return fd;
}

void net_path_make(char *path, size_t size)
{
    char directory[] = "/tmp/lull-net-XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_lt(snprintf(path, size, "%s/sock", directory), (int)size);
}

void net_path_drop(const char *path)
{
    char directory[128];

    (void)unlink(path);
    snprintf(directory, sizeof(directory), "%s", path);
    *strrchr(directory, '/') = '\0';
    ck_assert_int_eq(rmdir(directory), 0);
}

int net_count_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static void hear(struct endpoint *endpoint, unsigned ready)
{
    struct net_peer *peer = (struct net_peer *)endpoint->owner;

    peer->told++;
    peer->ready |= ready;
    ck_assert_int_eq(endpoint_want(endpoint, LULL_WANT_NONE), 0);
}

void net_peer_attach(struct net_peer *peer, struct endpoint *endpoint)
{
    memset(peer, 0, sizeof(*peer));
    peer->endpoint = endpoint;
    endpoint->owner = peer;
    endpoint->on_ready = hear;
}

static bool is_told(void *ctx)
{
    return ((struct net_peer *)ctx)->ready != LULL_WANT_NONE;
}

void net_peer_wait(struct net_world *world, struct net_peer *peer, unsigned want)
{
    peer->ready = LULL_WANT_NONE;
    net_enter(world);
    ck_assert_int_eq(endpoint_want(peer->endpoint, want), 0);
    net_leave(world);
    net_run_until(world, is_told, peer);
}

/* Closes from outside a turn and lets the free phase come. */
void net_close(struct net_world *world, struct endpoint *endpoint)
{
    net_enter(world);
    endpoint_close(endpoint);
    net_leave(world);
    ck_assert_int_eq(lull_loop_run_once(world->loop, 0), LULL_OK);
}

struct endpoint *net_dial(struct net_world *world, const struct addr *to)
{
    struct endpoint *endpoint = NULL;
    struct lull_dialer *dialer = dialer_tcp();

    net_enter(world);
    ck_assert_int_eq(dialer->ops->dial(dialer, world->loop, world->executor, to, &endpoint), 0);
    net_leave(world);
    return endpoint;
}

/* A connected endpoint and the far end's descriptor. */
struct endpoint *net_dial_connected(struct net_world *world, struct net_peer *peer,
                                    const struct addr *at, int *far_fd)
{
    struct addr where;
    int listener = net_listen(world, at, 8, &where);
    struct endpoint *endpoint = net_dial(world, &where);

    net_peer_attach(peer, endpoint);
    net_peer_wait(world, peer, LULL_WANT_WRITE);
    net_enter(world);
    ck_assert_int_eq(endpoint_finish_connect(endpoint), IO_OK);
    ck_assert_int_eq(endpoint_finish_connect(endpoint), IO_OK);
    net_leave(world);
    *far_fd = net_accept(world, listener, NULL);
    close(listener);
    return endpoint;
}

enum io net_write(struct net_world *world, struct endpoint *to, const char *text, size_t *wrote)
{
    struct io_piece piece = {text, strlen(text)};
    enum io io;

    net_enter(world);
    io = endpoint_writev(to, &piece, 1, wrote);
    net_leave(world);
    return io;
}

enum io net_read(struct net_world *world, struct endpoint *from, char *into, size_t size,
                 size_t *got)
{
    enum io io;

    net_enter(world);
    io = endpoint_read(from, into, size, got);
    net_leave(world);
    return io;
}

void net_exchange(struct net_world *world, struct net_peer *peer, int far_fd)
{
    char bytes[64];
    size_t n;
    struct io_piece pieces[3] = {{"pi", 2}, {NULL, 0}, {"ng", 2}};

    ck_assert_int_eq(net_read(world, peer->endpoint, bytes, sizeof(bytes), &n), IO_AGAIN);
    net_enter(world);
    ck_assert_int_eq(endpoint_writev(peer->endpoint, pieces, 3, &n), IO_OK);
    net_leave(world);
    ck_assert_uint_eq(n, 4);
    net_wait_fd(far_fd, POLLIN);
    ck_assert_int_eq(recv(far_fd, bytes, sizeof(bytes), 0), 4);
    ck_assert_mem_eq(bytes, "ping", 4);
    ck_assert_int_eq(send(far_fd, "pong!", 5, MSG_NOSIGNAL), 5);
    net_peer_wait(world, peer, LULL_WANT_READ);
    ck_assert_int_eq(net_read(world, peer->endpoint, bytes, sizeof(bytes), &n), IO_OK);
    ck_assert_uint_eq(n, 5);
    ck_assert_mem_eq(bytes, "pong!", 5);
    close(far_fd);
    net_peer_wait(world, peer, LULL_WANT_READ);
    ck_assert_int_eq(net_read(world, peer->endpoint, bytes, sizeof(bytes), &n), IO_EOF);
}
