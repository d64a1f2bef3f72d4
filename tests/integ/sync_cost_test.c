/* SPDX-License-Identifier: MIT */
/*
 * What a blocking call costs its caller in switches and system calls (src/sync/), against a server on another thread, over the loopback.
 * They are counted and not timed, so that the machine does not matter.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <pthread.h>
#include <sys/resource.h>

#include "tests/integ/sync_support.h"

#define CALLS 2000

/* An answer may come in two pieces, the second one after a sleep of its own; the library has no part in that. */
#define SLACK (CALLS / 20 + 20)

static struct sync_server served;
static struct lull_channel *channel;

static void set_up(void)
{
    sync_server_start(&served);
    channel = sync_channel(&served, NULL);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    sync_server_stop(&served);
}

/* Of the calling thread. */
struct cost {
    uint64_t switches; /* voluntary: it slept */
    struct lull_counters counters;
};

static struct cost cost_so_far(void)
{
    struct rusage usage;
    struct cost cost = {.counters = {.size = sizeof(cost.counters)}};
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
    cost.switches = (uint64_t)usage.ru_nvcsw;
    lull_executor_counters(lull_loop_executor(lull_channel_loop(channel)), &cost.counters);
    return cost;
}

/* _i: with a deadline, or without */
START_TEST(one_caller_sleeps_once_a_call_and_makes_three_system_calls)
{
    const int64_t timeout_ns = _i == 0 ? LULL_NEVER : 60 * LULL_SECOND;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, timeout_ns), LULL_CODE_OK);
    }
    const struct cost before = cost_so_far();
    for (unsigned i = 0; i < CALLS; i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, timeout_ns), LULL_CODE_OK);
    }
    const struct cost after = cost_so_far();
    const uint64_t syscalls = after.counters.syscalls - before.counters.syscalls;
    ck_assert_uint_le(after.switches - before.switches, CALLS + SLACK);
    /* The write, the poll, the read. */
    ck_assert_uint_ge(syscalls, 3 * CALLS);
    ck_assert_uint_le(syscalls, 3 * (CALLS + SLACK));
    /* Each return of the poll; nobody else was woken. */
    ck_assert_uint_le(after.counters.wakeups - before.counters.wakeups, CALLS + SLACK);
    ck_assert_uint_eq(after.counters.timer_arms, before.counters.timer_arms);
    ck_assert_uint_eq(after.counters.allocations, before.counters.allocations);
}
END_TEST

/* ---- two callers: whoever leaves the poll wakes one waiter, and nobody else */

struct caller {
    pthread_t thread;
    uint64_t switches;
};

static void *call_on(void *arg)
{
    struct caller *caller = arg;
    struct rusage before, after;
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &before), 0);
    for (unsigned i = 0; i < CALLS / 8; i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &after), 0);
    caller->switches = (uint64_t)(after.ru_nvcsw - before.ru_nvcsw);
    return NULL;
}

/*
 * A waiter's word changes at most twice a call: it is to poll, it is done. So the threads that are woken, and with them the wakeups that
 * the executor counts, are bounded by the calls and not by the calls times the callers, as they would be if all were woken.
 */
START_TEST(wakeups_grow_with_the_calls_and_not_with_the_callers)
{
    enum { CALLERS = 16 };
    static struct caller callers[CALLERS];
    const uint64_t calls = (uint64_t)CALLERS * (CALLS / 8);
    const struct cost before = cost_so_far();
    uint64_t switches = 0;
    for (unsigned i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_on, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
        switches += callers[i].switches;
    }
    const struct cost after = cost_so_far();
    ck_assert_uint_eq(after.counters.calls_closed - before.counters.calls_closed, calls);
    /* Polls that returned, and the two words. */
    ck_assert_uint_le(after.counters.wakeups - before.counters.wakeups, 3 * calls);
    /* Sleeps: for the poll, for its word twice, for the turn of another. */
    ck_assert_uint_le(switches, 5 * calls);
}
END_TEST

static Suite *sync_cost_suite(void)
{
    Suite *suite = suite_create("sync_cost");
    TCase *cases = tcase_create("sync_cost");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, one_caller_sleeps_once_a_call_and_makes_three_system_calls, 0, 2);
    tcase_add_test(cases, wakeups_grow_with_the_calls_and_not_with_the_callers);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_cost", sync_cost_suite)
