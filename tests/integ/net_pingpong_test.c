/* SPDX-License-Identifier: MIT */
/* What a steady exchange costs, by the counters: the promise of endpoint_tcp and the built-in loop.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lull/rescheduler.h"
#include "net/endpoint_tcp.h"
#include "net/sys.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

#define ROUNDS 1000

static struct net_world world;

/* Answers each message in the turn in which it came, and pushes a deadline out, as keepalive does.
 */
struct player {
    struct endpoint *endpoint;
    struct lull_rescheduler deadline;
    int rounds;
};

static void not_reached(struct lull_rescheduler *deadline, struct lull_instant now)
{
    (void)deadline;
    (void)now;
    ck_abort_msg("the deadline was reached");
}

static void answer(struct endpoint *endpoint, unsigned ready)
{
    struct player *player = (struct player *)endpoint->owner;
    char bytes[64];
    struct io_piece pieces[2] = {{bytes, 2}, {bytes + 2, 2}};
    size_t n;

    ck_assert_uint_eq(ready, LULL_WANT_READ);
    ck_assert_int_eq(endpoint_read(endpoint, bytes, sizeof(bytes), &n), IO_OK);
    ck_assert_uint_eq(n, 4); /* short: drained, no second read */
    ck_assert_int_eq(endpoint_writev(endpoint, pieces, 2, &n), IO_OK);
    ck_assert_uint_eq(n, 4);
    ck_assert_int_eq(endpoint_want(endpoint, LULL_WANT_READ), 0);
    lull_rescheduler_set(&player->deadline,
                         lull_instant_add(lull_executor_now(endpoint->executor), 60 * LULL_SECOND));
    player->rounds++;
}

/* The far side of one round, and one round of the loop. */
static void play(int far_fd)
{
    char bytes[64];

    ck_assert_int_eq(send(far_fd, "ball", 4, MSG_NOSIGNAL), 4);
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    net_wait_fd(far_fd, POLLIN);
    ck_assert_int_eq(recv(far_fd, bytes, sizeof(bytes), 0), 4);
    ck_assert_mem_eq(bytes, "ball", 4);
}

static void check_steady(struct endpoint *endpoint, int far_fd)
{
    struct player player = {.endpoint = endpoint};
    struct lull_counters before, after;

    endpoint->owner = &player;
    endpoint->on_ready = answer;
    net_enter(&world);
    ck_assert_int_eq(lull_rescheduler_init(&player.deadline, world.executor, not_reached), LULL_OK);
    ck_assert_int_eq(endpoint_want(endpoint, LULL_WANT_READ), 0);
    net_leave(&world);
    play(far_fd); /* the first round arms the deadline */
    before = net_counted(&world);
    for (int i = 0; i < ROUNDS; i++) {
        play(far_fd);
    }
    after = net_counted(&world);
    ck_assert_int_eq(player.rounds, ROUNDS + 1);
    ck_assert_uint_eq(after.wakeups - before.wakeups, ROUNDS);
    ck_assert_uint_eq(after.turns - before.turns, ROUNDS);
    ck_assert_uint_eq(after.reads - before.reads, ROUNDS);
    ck_assert_uint_eq(after.writes - before.writes, ROUNDS);
    /* the wait, recv, sendmsg; no watch, no alarm */
    ck_assert_uint_eq(after.syscalls - before.syscalls, 3 * ROUNDS);
    ck_assert_uint_eq(after.alarms, before.alarms);
    ck_assert_uint_eq(after.timer_arms, before.timer_arms);
    ck_assert_uint_eq(after.allocations, before.allocations);
    /* the turn's now */
    ck_assert_uint_eq(after.clock_reads - before.clock_reads, ROUNDS * (1 + WAIT_CLOCK_READS));
    net_enter(&world);
    lull_rescheduler_fini(&player.deadline);
    endpoint_close(endpoint);
    net_leave(&world);
    close(far_fd);
}

START_TEST(a_round_over_tcp_is_one_wait_one_read_one_write)
{
    struct net_peer peer;
    int far_fd;

    net_world_init(&world);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    check_steady(peer.endpoint, far_fd);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_round_over_a_socketpair_is_one_wait_one_read_one_write)
{
    struct addr unnamed = {.storage = {.ss_family = AF_UNIX}};
    struct endpoint *endpoint;
    int fds[2];

    net_world_init(&world);
    ck_assert_int_eq(sys_socketpair(&world.own, fds), 0);
    net_enter(&world);
    ck_assert_int_eq(endpoint_tcp_adopt(world.loop, world.executor, fds[0], &unnamed, &endpoint),
                     0);
    net_leave(&world);
    check_steady(endpoint, fds[1]);
    net_world_fini(&world);
}
END_TEST

static Suite *net_pingpong_suite(void)
{
    Suite *suite = suite_create("net_pingpong");
    TCase *cases = tcase_create("net_pingpong");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_round_over_tcp_is_one_wait_one_read_one_write);
    tcase_add_test(cases, a_round_over_a_socketpair_is_one_wait_one_read_one_write);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("net_pingpong", net_pingpong_suite)
