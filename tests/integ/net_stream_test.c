/* SPDX-License-Identifier: MIT */
/* endpoint_tcp under load, on the loop, and across a fork. */
#include "net/endpoint_tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"
#include "net/sys.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

static struct net_world world;

static struct endpoint *pair[2];
static int closes;

static void close_both(struct endpoint *endpoint, unsigned ready)
{
    (void)endpoint;
    (void)ready;
    closes++;
    endpoint_close(pair[0]);
    endpoint_close(pair[1]);
}

/* Both are in one batch of the poll; whoever is told first closes the other. */
START_TEST(an_endpoint_closed_by_another_in_its_turn_is_not_told)
{
    int fds[2];
    struct addr unnamed = {.storage = {.ss_family = AF_UNIX}};

    closes = 0;
    net_world_init(&world);
    ck_assert_int_eq(sys_socketpair(&world.own, fds), 0);
    net_enter(&world);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(endpoint_tcp_adopt(world.loop, world.executor, fds[i], &unnamed, &pair[i]),
                         0);
        pair[i]->on_ready = close_both;
        ck_assert_int_eq(endpoint_want(pair[i], LULL_WANT_WRITE), 0);
    }
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_SECOND), LULL_OK);
    ck_assert_int_eq(closes, 1);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(closes, 1);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_wish_costs_a_system_call_only_when_it_changes)
{
    struct net_peer peer;
    struct lull_counters before;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    net_enter(&world);
    before = net_counted(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_NONE), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + WATCH_SYSCALLS);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + WATCH_SYSCALLS);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ | LULL_WANT_WRITE), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 2 * WATCH_SYSCALLS);
    net_leave(&world);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

/* More than a send buffer may grow to (4 MiB), next to a receive buffer that does not grow. */
#define BULK_BYTES (8u << 20)

/* More than the socket holds: short writes, AGAIN, and WRITE when there is room. */
START_TEST(a_full_socket_says_again_and_tells_when_there_is_room)
{
    uint8_t *sent = (uint8_t *)malloc(BULK_BYTES), *got = (uint8_t *)malloc(BULK_BYTES);
    struct net_peer peer;
    size_t at = 0, arrived = 0, agains = 0;
    int far_fd;

    ck_assert(sent != NULL && got != NULL);
    for (size_t i = 0; i < BULK_BYTES; i++) {
        sent[i] = (uint8_t)((i * 2654435761u) >> 13);
    }
    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    ck_assert_int_eq(setsockopt(far_fd, SOL_SOCKET, SO_RCVBUF, &(int){64 * 1024}, sizeof(int)), 0);
    while (at < BULK_BYTES) {
        struct io_piece pieces[2] = {
            {sent + at, (BULK_BYTES - at) / 2},
            {sent + at + (BULK_BYTES - at) / 2, BULK_BYTES - at - (BULK_BYTES - at) / 2}};
        size_t wrote;
        enum io io;

        net_enter(&world);
        io = endpoint_writev(peer.endpoint, pieces, 2, &wrote);
        net_leave(&world);
        ck_assert(io == IO_OK || (io == IO_AGAIN && wrote == 0));
        at += wrote;
        if (io == IO_AGAIN) {
            ssize_t n;

            agains++;
            net_wait_fd(far_fd, POLLIN);
            while ((n = recv(far_fd, got + arrived, BULK_BYTES - arrived, 0)) > 0) {
                arrived += (size_t)n;
            }
            net_peer_wait(&world, &peer, LULL_WANT_WRITE);
        }
    }
    while (arrived < BULK_BYTES) {
        ssize_t n;

        net_wait_fd(far_fd, POLLIN);
        n = recv(far_fd, got + arrived, BULK_BYTES - arrived, 0);
        ck_assert_int_gt(n, 0);
        arrived += (size_t)n;
    }
    ck_assert_uint_gt(agains, 0);
    ck_assert_int_eq(memcmp(sent, got, BULK_BYTES), 0);
    close(far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
    free(sent);
    free(got);
}
END_TEST

/* C30, RULINGS 27. */
START_TEST(a_forked_child_that_frees_its_copy_leaves_the_parent_alone)
{
    struct net_peer peer;
    int far_fd, status, told;
    pid_t child;
    char byte;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ), 0);
    net_leave(&world);
    told = peer.told;
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct io_piece goaway = {"GOAWAY", 6};
        size_t wrote = 0;
        bool ok = lull_loop_is_forked(world.loop) && lull_loop_run(world.loop) == LULL_RC_UNSUPPORTED &&
                  lull_loop_run_once(world.loop, 0) == LULL_RC_UNSUPPORTED &&
                  lull_loop_dispatch(world.loop) == LULL_RC_UNSUPPORTED &&
                  lull_loop_flush(world.loop) == LULL_RC_UNSUPPORTED;

        ok = ok && lull_executor_enter(world.executor) == LULL_OK;
        ok = ok && endpoint_writev(peer.endpoint, &goaway, 1, &wrote) == IO_FAIL && wrote == 0;
        endpoint_close(peer.endpoint);
        lull_executor_leave(world.executor);
        world.loop->ops->wake(world.loop);
        lull_loop_free(world.loop);
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* no byte and no end on the wire, no wake, and the registration still stands */
    ck_assert_int_eq(recv(far_fd, &byte, 1, 0), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(peer.told, told);
    ck_assert(!lull_loop_is_forked(world.loop));
    net_exchange(&world, &peer, far_fd);
    net_close(&world, peer.endpoint);
    net_world_fini(&world);
}
END_TEST

static Suite *net_stream_suite(void)
{
    Suite *suite = suite_create("net_stream");
    TCase *cases = tcase_create("net_stream");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, an_endpoint_closed_by_another_in_its_turn_is_not_told);
    tcase_add_test(cases, a_wish_costs_a_system_call_only_when_it_changes);
    tcase_add_test(cases, a_full_socket_says_again_and_tells_when_there_is_room);
    tcase_add_test(cases, a_forked_child_that_frees_its_copy_leaves_the_parent_alone);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("net_stream", net_stream_suite)
