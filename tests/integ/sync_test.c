/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls (src/sync/) against a server on another thread, over the loopback: public functions only. Whether a wait ends is the
 * test; each case has a timeout of its own.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"

#define THREADS_MAX 64

static struct sync_server served;

static void set_up(void)
{
    sync_server_start(&served);
}

static void tear_down(void)
{
    sync_server_stop(&served);
}

static unsigned rounds(unsigned many, unsigned few)
{
    return getenv("LULL_TEST_FEWER") != NULL ? few : many;
}

static struct lull_counters counters_of(struct lull_channel *channel)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(
        lull_loop_executor(lull_channel_effective_options(channel)->loop), &counters);
    return counters;
}

START_TEST(a_channel_without_a_loop_is_enough)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    ck_assert_int_eq(lull_channel_state(channel, false), LULL_STATE_READY);
    lull_channel_unref(channel);
}
END_TEST

/* The answer of a call: one write, one sleep, one read; the caller polls for itself and wakes nobody. */
START_TEST(a_call_costs_three_system_calls_and_one_sleep)
{
    unsigned many = rounds(1000, 100);
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    }
    struct lull_counters before = counters_of(channel);
    for (unsigned i = 0; i < many; i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    }
    struct lull_counters after = counters_of(channel);
    ck_assert_uint_ge(after.syscalls - before.syscalls, 3 * many);
    /* The server may answer in two pieces. */
    ck_assert_uint_le(after.syscalls - before.syscalls, 5 * many);
    ck_assert_uint_le(after.wakeups - before.wakeups, 2 * many);
    ck_assert_uint_eq(after.timer_arms - before.timer_arms, 0);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_status_is_the_callers_own)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_call_options options;
    struct lull_sync_result result;
    lull_call_options_init(&options, "/pkg.Service/Nobody");
    lull_sync_result_init(&result);
    ck_assert_int_eq(
        lull_sync_unary(channel, &options, lull_slice_static("x", 1), &result, NULL), LULL_OK);
    lull_channel_unref(channel);
    ck_assert_int_eq(result.status.code, LULL_CODE_UNIMPLEMENTED);
    ck_assert_uint_eq(strlen(result.status.message), result.status.message_len);
    ck_assert_ptr_nonnull(strstr(result.status.failure->line, "UNIMPLEMENTED"));
    lull_sync_result_fini(&result);
    ck_assert_ptr_null(result.status.failure);
    lull_sync_result_fini(&result);
}
END_TEST

/* ---- many callers */

struct caller {
    pthread_t thread;
    struct lull_channel *channel;
    const char *method;
    int64_t timeout_ns;
    unsigned calls;
    _Atomic(unsigned) ended;
    enum lull_code last;
};

static struct caller callers[THREADS_MAX];

static void *call_on(void *arg)
{
    struct caller *caller = arg;
    for (unsigned i = 0; i < caller->calls; i++) {
        caller->last = sync_call(caller->channel, caller->method, caller->timeout_ns);
        atomic_fetch_add(&caller->ended, 1);
    }
    return NULL;
}

static void start(struct caller *caller, struct lull_channel *channel, const char *method,
                  int64_t timeout_ns, unsigned calls)
{
    memset(caller, 0, sizeof(*caller));
    caller->channel = channel;
    caller->method = method;
    caller->timeout_ns = timeout_ns;
    caller->calls = calls;
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, call_on, caller), 0);
}

static void join(struct caller *caller, enum lull_code last)
{
    ck_assert_int_eq(pthread_join(caller->thread, NULL), 0);
    ck_assert_uint_eq(caller->ended, caller->calls);
    ck_assert_msg(caller->last == last, "%s", lull_code_name((int)caller->last));
}

static void crowd(unsigned count, unsigned calls)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (unsigned i = 0; i < count; i++) {
        start(&callers[i], channel, METHOD_ECHO, i % 2 == 0 ? LULL_NEVER : 60 * LULL_SECOND, calls);
    }
    for (unsigned i = 0; i < count; i++) {
        join(&callers[i], LULL_CODE_OK);
    }
    struct lull_counters counters = counters_of(channel);
    ck_assert_uint_eq(counters.calls_closed, (uint64_t)count * calls);
    lull_channel_unref(channel);
}

START_TEST(eight_callers_share_a_channel)
{
    crowd(8, rounds(500, 50));
}
END_TEST

START_TEST(sixty_four_callers_share_a_channel)
{
    crowd(THREADS_MAX, rounds(50, 10));
}
END_TEST

/* Who polls leaves at his deadline; the others go on. */
START_TEST(the_poller_hands_over_when_it_leaves)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (unsigned i = 0; i < 8; i++) {
        start(&callers[i], channel, METHOD_SILENT, (int64_t)(20 + 20 * i) * LULL_MS, 1);
    }
    for (unsigned i = 0; i < 8; i++) {
        join(&callers[i], LULL_CODE_DEADLINE_EXCEEDED);
    }
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_waiters_deadline_is_kept_by_whoever_polls)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    start(&callers[0], channel, METHOD_SILENT, 2 * LULL_SECOND, 1);
    start(&callers[1], channel, METHOD_SILENT, 50 * LULL_MS, 1);
    join(&callers[1], LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(callers[0].ended, 0);
    lull_channel_close(channel);
    join(&callers[0], LULL_CODE_UNAVAILABLE);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_close_ends_every_wait)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (unsigned i = 0; i < 16; i++) {
        start(&callers[i], channel, METHOD_SILENT, LULL_NEVER, 1);
    }
    lull_channel_close(channel);
    for (unsigned i = 0; i < 16; i++) {
        join(&callers[i], LULL_CODE_UNAVAILABLE);
    }
    lull_channel_unref(channel);
}
END_TEST

/*
 * Those who are answered together ask again in one write, which waits for the last of them. Some a deadline takes out again and again, and
 * at last there is a close: nobody waits for one that does not come.
 */
START_TEST(deadlines_and_a_close_among_callers_that_ask_together)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (unsigned i = 0; i < 24; i++) {
        if (i < 8) {
            start(&callers[i], channel, METHOD_ECHO, LULL_NEVER, rounds(300, 50));
        } else if (i < 16) {
            start(&callers[i], channel, METHOD_SILENT, (int64_t)(i - 7) * LULL_MS, rounds(20, 5));
        } else {
            start(&callers[i], channel, METHOD_SILENT, LULL_NEVER, 1);
        }
    }
    for (unsigned i = 0; i < 16; i++) {
        join(&callers[i], i < 8 ? LULL_CODE_OK : LULL_CODE_DEADLINE_EXCEEDED);
    }
    for (unsigned i = 16; i < 24; i++) {
        ck_assert_uint_eq(callers[i].ended, 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        start(&callers[i], channel, METHOD_ECHO, LULL_NEVER, 20000); /* more than come before the close */
    }
    while (callers[0].ended < 50) {
        (void)poll(NULL, 0, 1);
    }
    lull_channel_close(channel);
    for (unsigned i = 0; i < 24; i++) {
        if (i < 8 || i >= 16) {
            join(&callers[i], LULL_CODE_UNAVAILABLE);
        }
    }
    lull_channel_unref(channel);
}
END_TEST

/* ---- next to asynchronous calls, which are started and cancelled on any thread */

static _Atomic(unsigned) async_done;

static void count_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert(result->status.code == LULL_CODE_OK || result->status.code == LULL_CODE_CANCELLED);
    atomic_fetch_add(&async_done, 1);
}

static void *start_and_cancel(void *arg)
{
    struct caller *caller = arg;
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    for (unsigned i = 0; i < caller->calls; i++) {
        struct lull_call *call;
        ck_assert_int_eq(lull_call_unary(caller->channel, &options, lull_slice_static("x", 1),
                                         count_done, NULL, &call, NULL),
                         LULL_OK);
        if (i % 2 == 0) {
            lull_call_cancel(call);
            lull_call_cancel(call);
        }
        lull_call_unref(call);
        atomic_fetch_add(&caller->ended, 1);
    }
    return NULL;
}

START_TEST(blocking_callers_drive_what_others_start_and_cancel)
{
    unsigned many = rounds(1000, 100);
    struct lull_channel *channel = sync_channel(&served, NULL);
    async_done = 0;
    for (unsigned i = 0; i < 4; i++) {
        start(&callers[i], channel, METHOD_ECHO, LULL_NEVER, many / 2);
    }
    for (unsigned i = 4; i < 8; i++) {
        memset(&callers[i], 0, sizeof(callers[i]));
        callers[i].channel = channel;
        callers[i].calls = many;
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, start_and_cancel, &callers[i]),
                         0);
    }
    for (unsigned i = 0; i < 8; i++) {
        join(&callers[i], LULL_CODE_OK);
    }
    /* Nobody drives from here on; one caller more, and what is left gets its turns. */
    while (atomic_load(&async_done) < 4 * many) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    ck_assert_uint_eq(async_done, 4 * many);
    lull_channel_unref(channel);
}
END_TEST

/* ---- with somebody who drives */

static void *run_loop(void *arg)
{
    ck_assert_int_eq(lull_loop_run(arg), LULL_OK);
    return NULL;
}

START_TEST(a_thread_that_runs_the_loop_may_come_and_go)
{
    struct lull_loop *loop;
    pthread_t thread;
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    struct lull_channel *channel = sync_channel(&served, loop);
    start(&callers[0], channel, METHOD_ECHO, LULL_NEVER, rounds(300, 50));
    start(&callers[1], channel, METHOD_ECHO, LULL_NEVER, rounds(300, 50));
    for (unsigned i = 0; i < rounds(50, 10); i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, run_loop, loop), 0);
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
        lull_loop_stop(loop);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    join(&callers[0], LULL_CODE_OK);
    join(&callers[1], LULL_CODE_OK);
    lull_channel_unref(channel);
    lull_loop_free(loop);
}
END_TEST

START_TEST(rounds_of_the_loop_go_between_blocking_calls)
{
    struct lull_loop *loop;
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    struct lull_channel *channel = sync_channel(&served, loop);
    start(&callers[0], channel, METHOD_ECHO, LULL_NEVER, rounds(300, 50));
    while (atomic_load(&callers[0].ended) < callers[0].calls) {
        ck_assert_int_eq(lull_loop_run_once(loop, LULL_MS), LULL_OK);
        ck_assert_int_eq(lull_loop_dispatch(loop), LULL_OK);
        ck_assert_int_eq(lull_loop_flush(loop), LULL_OK);
    }
    join(&callers[0], LULL_CODE_OK);
    lull_channel_unref(channel);
    lull_loop_free(loop);
}
END_TEST

/* ---- where one must not block */

static int rc_inside;

static void block_inside(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct lull_call_options options;
    struct lull_sync_result inside;
    (void)call;
    (void)result;
    lull_call_options_init(&options, METHOD_ECHO);
    lull_sync_result_init(&inside);
    rc_inside = lull_sync_unary(ctx, &options, lull_slice_static("x", 1), &inside, NULL);
}

START_TEST(in_a_callback_nothing_blocks)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    rc_inside = -1;
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), block_inside,
                                     channel, NULL, NULL),
                     LULL_OK);
    while (rc_inside < 0) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    ck_assert_int_eq(rc_inside, LULL_RC_IN_TURN);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_forked_child_does_not_block_on_its_parents_channel)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct lull_call_options options;
        struct lull_sync_result result;
        lull_call_options_init(&options, METHOD_ECHO);
        lull_sync_result_init(&result);
        int rc = lull_sync_unary(channel, &options, lull_slice_static("x", 1), &result, NULL);
        lull_channel_unref(channel);
        _exit(rc == LULL_RC_UNSUPPORTED ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    lull_channel_unref(channel);
}
END_TEST

/* ---- births and deaths */

static void *make_and_unmake(void *arg)
{
    struct caller *caller = arg;
    for (unsigned i = 0; i < caller->calls; i++) {
        struct lull_channel *channel = sync_channel(&served, NULL);
        if (i % 4 != 0) {
            ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
        }
        lull_channel_unref(channel);
        atomic_fetch_add(&caller->ended, 1);
    }
    return NULL;
}

START_TEST(channels_with_loops_of_their_own_come_and_go)
{
    for (unsigned i = 0; i < 8; i++) {
        memset(&callers[i], 0, sizeof(callers[i]));
        callers[i].calls = rounds(40, 8);
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, make_and_unmake, &callers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        join(&callers[i], LULL_CODE_OK);
    }
}
END_TEST

START_TEST(a_handle_may_be_the_last_that_holds_a_channel_and_its_loop)
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_call_options options;
    struct lull_call *call;
    lull_call_options_init(&options, METHOD_ECHO);
    async_done = 0;
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), count_done, NULL,
                                     &call, NULL),
                     LULL_OK);
    while (atomic_load(&async_done) == 0) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    lull_channel_unref(channel);
    lull_call_unref(call);
}
END_TEST

static Suite *sync_suite(void)
{
    Suite *suite = suite_create("sync");
    TCase *cases = tcase_create("sync");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_channel_without_a_loop_is_enough);
    tcase_add_test(cases, a_call_costs_three_system_calls_and_one_sleep);
    tcase_add_test(cases, a_status_is_the_callers_own);
    tcase_add_test(cases, eight_callers_share_a_channel);
    tcase_add_test(cases, sixty_four_callers_share_a_channel);
    tcase_add_test(cases, the_poller_hands_over_when_it_leaves);
    tcase_add_test(cases, a_waiters_deadline_is_kept_by_whoever_polls);
    tcase_add_test(cases, a_close_ends_every_wait);
    tcase_add_test(cases, deadlines_and_a_close_among_callers_that_ask_together);
    tcase_add_test(cases, blocking_callers_drive_what_others_start_and_cancel);
    tcase_add_test(cases, a_thread_that_runs_the_loop_may_come_and_go);
    tcase_add_test(cases, rounds_of_the_loop_go_between_blocking_calls);
    tcase_add_test(cases, in_a_callback_nothing_blocks);
    tcase_add_test(cases, a_forked_child_does_not_block_on_its_parents_channel);
    tcase_add_test(cases, channels_with_loops_of_their_own_come_and_go);
    tcase_add_test(cases, a_handle_may_be_the_last_that_holds_a_channel_and_its_loop);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync", sync_suite)
