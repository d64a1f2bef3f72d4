/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls while nobody drives (src/sync/sync_wait.c): a caller is back behind its deadline, whatever became of the thread that
 * polls. Against a server on another thread, over the loopback.
 */
#include "tests/integ/sync_late_support.h"

#define CALLERS 8

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
static _Atomic(unsigned) callers_back;

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

static void join_late(unsigned count, const char *what, const char *where)
{
    for (unsigned i = 0; i < count; i++) {
        join(&callers[i], LULL_CODE_DEADLINE_EXCEEDED);
        expect_late(callers[i].line, what, where);
        ck_assert_msg(strstr(callers[i].line, callers[i].method) != NULL, "%s", callers[i].line);
    }
}

START_TEST(a_call_made_while_the_poller_is_in_a_callback_ends_at_its_deadline)
{
    start_call(hold);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    wait_for(&is_held);
    for (unsigned i = 0; i < CALLERS; i++) {
        start(&callers[i], METHOD_ECHO, (int64_t)(10 + 10 * i) * LULL_MS);
    }
    join_late(CALLERS, IN_A_CALLBACK, "before anything was done");
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* They sleep for the poller when it stops to drive. */
START_TEST(a_call_that_waits_when_the_poller_enters_a_callback_ends_at_its_deadline)
{
    start_driving();
    for (unsigned i = 0; i < CALLERS; i++) {
        start(&callers[i], METHOD_SILENT, 4 * LULL_SECOND);
    }
    wait_for_calls(CALLERS);
    ck_assert_uint_eq(callers_back, 0);
    start_call(hold);
    wait_for(&is_held);
    join_late(CALLERS, IN_A_CALLBACK, "the call was waiting for the response of 127.0.0.1:");
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
    join_late(2, IN_A_CALLBACK, "before anything was done");
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
    join_late(1, IN_A_CALLBACK, "before anything was done");
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
    join_late(2, ELSEWHERE, "before anything was done");
    drive_two_to_their_ends(&host);
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
