/* SPDX-License-Identifier: MIT */
/* The built-in loop lets answers gather (exec/linger.h), and takes many events at once. Judged by its counters: a round that lingers has
 * woken twice. */
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "exec/executor.h"
#include "exec/linger.h"
#include "loop/loop.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

#define MANY 300

static struct net_world world;
static unsigned heard;

struct ear {
    struct lull_watch watch;
    int write_fd;
};
static struct ear ears[MANY];

static void on_ready(struct lull_task *task, struct lull_executor *executor)
{
    struct ear *ear = container_of(task, struct ear, watch.on_ready);
    char byte;

    (void)executor;
    ear->watch.ready = 0;
    ck_assert_int_eq(read(ear->watch.fd, &byte, 1), 1);
    heard++;
}

static void say(unsigned i)
{
    ck_assert_int_eq(write(ears[i].write_fd, "x", 1), 1);
}

/* So many descriptors are watched. */
static void begin(unsigned count)
{
    unsigned i;

    net_world_init(&world);
    heard = 0;
    net_enter(&world);
    for (i = 0; i < count; i++) {
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        ears[i] = (struct ear){.watch = {.fd = fds[0]}, .write_fd = fds[1]};
        lull_task_init(&ears[i].watch.on_ready, on_ready);
        ck_assert_int_eq(loop_watch(world.loop, &ears[i].watch, LULL_WANT_READ), 0);
    }
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
}

static void end(unsigned count)
{
    unsigned i;

    net_enter(&world);
    for (i = 0; i < count; i++) {
        ck_assert_int_eq(loop_watch(world.loop, &ears[i].watch, LULL_WANT_NONE), 0);
        close(ears[i].watch.fd);
        close(ears[i].write_fd);
    }
    memset(executor_linger(world.executor), 0, sizeof(struct lingering));
    executor_counters(world.executor)->calls_started = 0;
    net_leave(&world);
    net_world_fini(&world);
}

/* The wake-ups of a round that may wait long. */
static uint64_t round_of(int64_t wait_ns)
{
    const uint64_t before = net_counted(&world).wakeups;

    ck_assert_int_eq(lull_loop_run_once(world.loop, wait_ns), LULL_OK);
    return net_counted(&world).wakeups - before;
}

static int64_t now_ns(void)
{
    return lull_clock_now(lull_clock_system()).ns;
}

/* What two channels that stand look like, each with a PING that is not answered. */
static void expect_answers(void)
{
    struct lingering *facts = executor_linger(world.executor);

    facts->connections = 2;
    facts->awaited = 2;
    facts->asked = 0;
    executor_counters(world.executor)->calls_started = 0;
}

START_TEST(answers_to_keepalive_gather_before_the_loop_looks)
{
    begin(2);
    expect_answers();
    say(0);
    say(1);
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 2);
    ck_assert_uint_eq(heard, 2);
    end(2);
}
END_TEST

/* The shortest of several rounds: a busy machine makes some of them longer. */
START_TEST(they_gather_for_8_ms)
{
    int64_t shortest_ns = LULL_NEVER;
    begin(2);
    for (int i = 0; i < 20; i++) {
        expect_answers();
        say(0);
        const int64_t began_ns = now_ns();
        ck_assert_uint_eq(round_of(10 * LULL_SECOND), 2);
        const int64_t took_ns = now_ns() - began_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    ck_assert_int_ge(shortest_ns, 8 * LULL_MS);
    ck_assert_int_lt(shortest_ns, 40 * LULL_MS);
    end(2);
}
END_TEST

START_TEST(a_loop_that_need_not_wait_does_not_linger)
{
    begin(2);
    expect_answers();
    say(0);
    ck_assert_uint_eq(round_of(0), 1);
    ck_assert_uint_eq(heard, 1);
    end(2);
}
END_TEST

START_TEST(nothing_gathers_when_something_else_may_come)
{
    struct lingering *facts;
    unsigned i;

    begin(2);
    facts = executor_linger(world.executor);
    for (i = 0; i < 5; i++) {
        expect_answers();
        facts->awaited -= i == 0;     /* the last answer, or the only one */
        facts->asked += i == 1;       /* somebody waits for a PING of his own */
        facts->connections -= i == 2; /* a descriptor that is no standing connection's: a server's, a dial's, a host's */
        facts->connections += i == 3;
        executor_counters(world.executor)->calls_started += i == 4; /* a call is under way */
        say(0);
        ck_assert_uint_eq(round_of(10 * LULL_SECOND), 1);
        ck_assert_uint_eq(heard, i + 1);
    }
    end(2);
}
END_TEST

START_TEST(a_wake_ends_the_gathering)
{
    begin(2);
    expect_answers();
    world.loop->ops->wake(world.loop);
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 2); /* or it would wait on for the answers */
    ck_assert_uint_eq(heard, 0);
    end(2);
}
END_TEST

/* Else the loop would run round after round as long as an answer does not come. */
START_TEST(a_wake_that_was_heard_ends_no_gathering_behind_it)
{
    struct lull_instant began_at;
    unsigned rounds = 0;

    begin(2);
    world.loop->ops->wake(world.loop);
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 1);
    expect_answers();
    began_at = lull_clock_now(lull_clock_system());
    while (lull_instant_diff(lull_clock_now(lull_clock_system()), began_at) < 20 * LULL_MS) {
        (void)round_of(20 * LULL_MS);
        rounds++;
    }
    ck_assert_uint_le(rounds, 2); /* a round's wait is in whole milliseconds */
    world.loop->ops->wake(world.loop);
    (void)round_of(LULL_NEVER); /* and one that was not is not missed */
    end(2);
}
END_TEST

/* On another thread he may start a call, whose answer the loop must not let lie. */
START_TEST(who_comes_by_while_the_loop_lingers_wakes_it)
{
    begin(2);
    expect_answers();
    net_enter(&world);
    ck_assert(linger_begin(world.executor, 2));
    net_leave(&world);
    (void)lull_executor_now(world.executor); /* comes by */
    ck_assert(!executor_linger(world.executor)->is_on);
    executor_linger(world.executor)->awaited = 0;
    const int64_t began_ns = now_ns();
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 1);
    ck_assert_int_lt(now_ns() - began_ns, 9 * LULL_SECOND); /* or it would sleep */
    ck_assert_uint_eq(heard, 0);
    end(2);
}
END_TEST

START_TEST(up_to_256_events_are_taken_at_once)
{
    unsigned i;

    begin(MANY);
    for (i = 0; i < MANY; i++) {
        say(i);
    }
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 1);
#ifdef LULL_LOOP_POLL
    ck_assert_uint_eq(heard, MANY);
#else
    ck_assert_uint_eq(heard, 256);
    ck_assert_uint_eq(round_of(10 * LULL_SECOND), 1);
    ck_assert_uint_eq(heard, MANY);
#endif
    end(MANY);
}
END_TEST

static Suite *linger_suite(void)
{
    Suite *suite = suite_create("linger");
    TCase *cases = tcase_create("linger");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, answers_to_keepalive_gather_before_the_loop_looks);
    tcase_add_test(cases, they_gather_for_8_ms);
    tcase_add_test(cases, a_loop_that_need_not_wait_does_not_linger);
    tcase_add_test(cases, nothing_gathers_when_something_else_may_come);
    tcase_add_test(cases, a_wake_ends_the_gathering);
    tcase_add_test(cases, a_wake_that_was_heard_ends_no_gathering_behind_it);
    tcase_add_test(cases, who_comes_by_while_the_loop_lingers_wakes_it);
    tcase_add_test(cases, up_to_256_events_are_taken_at_once);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("linger", linger_suite)
