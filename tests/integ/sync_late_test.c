/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls while nobody drives (src/sync/sync_wait.c): a caller is back behind its deadline, whatever became of the thread that
 * polls. Against a server on another thread, over the loopback. Whoever does not come back holds the case until its timeout: what
 * keeps the driver from driving waits for the callers.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/integ/sync_support.h"
#include "tests/support/poll_host.h"

#define CALLERS 8

static struct sync_server served;
static struct lull_loop *loop;
static struct lull_channel *channel;
static _Atomic(bool) is_driven, is_held, may_go;
static _Atomic(unsigned) held_done, callers_back;

static void set_up(void)
{
    sync_server_start(&served);
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    channel = sync_channel(&served, loop);
    atomic_store(&is_driven, false);
    atomic_store(&is_held, false);
    atomic_store(&may_go, false);
    atomic_store(&held_done, 0);
    atomic_store(&callers_back, 0);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    lull_loop_free(loop);
    sync_server_stop(&served);
}

/* Until something that another thread does has come about; the case's own timeout is the limit. */
static void wait_for(const _Atomic(bool) *flag)
{
    while (!atomic_load(flag)) {
        (void)poll(NULL, 0, 1);
    }
}

/* A callback that does not return. */
static void hold(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    atomic_store(&is_held, true);
    wait_for(&may_go);
    atomic_fetch_add(&held_done, 1);
}

static void start_call(lull_unary_fn done)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), done, NULL, NULL, NULL), LULL_OK);
}

static void note(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    atomic_store(&is_driven, true);
}

/* The loop's thread polls from now on, and no caller does. */
static void start_driving(void)
{
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_call(note);
    wait_for(&is_driven);
}

/* ---- callers */

struct caller {
    pthread_t thread;
    struct lull_channel *channel;
    const char *method;
    int64_t timeout_ns;
    enum lull_code code;
    char line[400];
};

static struct caller callers[CALLERS];

static void *call_on(void *arg)
{
    struct caller *caller = arg;
    struct lull_call_options options;
    struct lull_sync_result result;
    lull_call_options_init(&options, caller->method);
    options.timeout_ns = caller->timeout_ns;
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_unary(caller->channel, &options, lull_slice_static("ping", 4), &result, NULL), LULL_OK);
    caller->code = result.status.code;
    caller->line[0] = '\0';
    if (result.status.failure != NULL) {
        strncat(caller->line, result.status.failure->line, sizeof(caller->line) - 1);
        ck_assert_int_ge(result.status.failure->elapsed_ns, caller->timeout_ns);
    }
    lull_sync_result_fini(&result);
    atomic_fetch_add(&callers_back, 1);
    return NULL;
}

static void start(struct caller *caller, const char *method, int64_t timeout_ns)
{
    caller->channel = channel;
    caller->method = method;
    caller->timeout_ns = timeout_ns;
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, call_on, caller), 0);
}

static void join(struct caller *caller, enum lull_code code)
{
    ck_assert_int_eq(pthread_join(caller->thread, NULL), 0);
    ck_assert_msg(caller->code == code, "%s", caller->line);
}

static void join_late(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        join(&callers[i], LULL_CODE_DEADLINE_EXCEEDED);
        ck_assert_msg(strstr(callers[i].line, "nobody drove the loop") != NULL, "%s", callers[i].line);
        ck_assert_msg(strstr(callers[i].line, callers[i].method) != NULL, "%s", callers[i].line);
    }
}

/* The poller goes on as if nothing had been: the calls that were left have their ends, and new ones are made. */
static void let_go(void)
{
    atomic_store(&may_go, true);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    ck_assert_uint_eq(held_done, 1);
}

START_TEST(a_call_made_while_the_poller_is_in_a_callback_ends_at_its_deadline)
{
    start_call(hold);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    wait_for(&is_held);
    for (unsigned i = 0; i < CALLERS; i++) {
        start(&callers[i], METHOD_ECHO, (int64_t)(10 + 10 * i) * LULL_MS);
    }
    join_late(CALLERS);
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

static uint64_t calls_under_way(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(channel, &stats);
    return stats.calls;
}

/* They sleep for the poller when it stops to drive. */
START_TEST(a_call_that_waits_when_the_poller_enters_a_callback_ends_at_its_deadline)
{
    start_driving();
    for (unsigned i = 0; i < CALLERS; i++) {
        start(&callers[i], METHOD_SILENT, 4 * LULL_SECOND);
    }
    while (calls_under_way() < CALLERS) {
        ck_assert_uint_eq(callers_back, 0);
        (void)poll(NULL, 0, 1);
    }
    start_call(hold);
    wait_for(&is_held);
    join_late(CALLERS);
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* One that blocks is the poller, and runs somebody else's callback. */
START_TEST(the_same_when_the_poller_is_a_caller)
{
    start_call(hold);
    start(&callers[7], METHOD_ECHO, LULL_NEVER);
    wait_for(&is_held);
    start(&callers[0], METHOD_ECHO, 20 * LULL_MS);
    start(&callers[1], METHOD_SILENT, 30 * LULL_MS);
    join_late(2);
    let_go();
    join(&callers[7], LULL_CODE_OK);
}
END_TEST

/* The last that holds a channel may be who came back late. */
START_TEST(a_channel_may_be_given_back_while_its_poller_is_in_a_callback)
{
    struct lull_channel *other = sync_channel(&served, loop);
    struct lull_channel *kept = channel;
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_call(hold);
    wait_for(&is_held);
    channel = other;
    start(&callers[0], METHOD_ECHO, 10 * LULL_MS);
    join_late(1);
    lull_channel_unref(other);
    channel = kept;
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- the poller comes and goes, and deadlines pass meanwhile: every caller is told once, late or not */

static void *call_often(void *arg)
{
    struct caller *caller = arg;
    for (unsigned i = 0; i < 40; i++) {
        caller->timeout_ns = (int64_t)(1 + i % 7) * LULL_MS;
        (void)call_on(caller);
        ck_assert(caller->code == LULL_CODE_OK || caller->code == LULL_CODE_DEADLINE_EXCEEDED);
    }
    return NULL;
}

static void nap(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    /* About as long as a caller waits behind its deadline, so that both ends meet. */
    (void)poll(NULL, 0, 100 + (int)(atomic_fetch_add(&held_done, 1) % 10));
}

START_TEST(the_late_end_and_the_callers_own_meet)
{
    start_driving();
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].channel = channel;
        callers[i].method = METHOD_ECHO;
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        start_call(nap);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
    }
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- a host's loop whose thread is elsewhere */

START_TEST(a_host_that_does_not_drive_keeps_nobody_for_ever)
{
    struct poll_host host;
    poll_host_init(&host, 0, 0, 1);
    struct lull_channel *mine = channel;
    channel = sync_channel(&served, &host.loop);
    start(&callers[0], METHOD_ECHO, 10 * LULL_MS);
    start(&callers[1], METHOD_SILENT, 20 * LULL_MS);
    join_late(2);
    /* It drives again: their ends come, to nobody. */
    for (struct lull_counters counters = {.calls_closed = 0}; counters.calls_closed < 2;) {
        poll_host_round(&host, LULL_MS);
        counters.size = sizeof(counters);
        lull_executor_counters(lull_loop_executor(&host.loop), &counters);
    }
    lull_channel_unref(channel);
    poll_host_round(&host, LULL_MS);
    poll_host_fini(&host);
    channel = mine;
}
END_TEST

static Suite *sync_late_suite(void)
{
    Suite *suite = suite_create("sync_late");
    TCase *cases = tcase_create("sync_late");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_call_made_while_the_poller_is_in_a_callback_ends_at_its_deadline);
    tcase_add_test(cases, a_call_that_waits_when_the_poller_enters_a_callback_ends_at_its_deadline);
    tcase_add_test(cases, the_same_when_the_poller_is_a_caller);
    tcase_add_test(cases, a_channel_may_be_given_back_while_its_poller_is_in_a_callback);
    tcase_add_test(cases, the_late_end_and_the_callers_own_meet);
    tcase_add_test(cases, a_host_that_does_not_drive_keeps_nobody_for_ever);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_late", sync_late_suite)
