/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls on a host's loop and a fake clock (src/sync/sync.c, sync_wait.c): whose thread may block, and when a wait ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lull/sync.h"
#include "tests/support/check_main.h"
#include "tests/unit/channel/rig.h"

static struct rig rig;
static struct lull_sync_result result;
static struct lull_error error;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    lull_sync_result_init(&result);
}

static void end(void)
{
    lull_sync_result_fini(&result);
    rig_fini(&rig);
}

static int block(int64_t timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    return lull_sync_unary(rig.channel, &options, lull_slice_static("x", 1), &result, &error);
}

/* ---- a host that can be run from inside: each round is a millisecond */

static struct lull_loop_ops ops;
static int round_error;

static int run_round(struct lull_loop *loop, struct lull_instant until)
{
    (void)loop;
    ck_assert_int_eq(until.ns, LULL_NEVER);
    if (round_error == 0) {
        rig_advance(&rig, LULL_MS);
    }
    return round_error;
}

static void make_runnable(void)
{
    ops = *rig.loop.ops;
    ops.run_once = run_round;
    rig.loop.ops = &ops;
    round_error = 0;
}

START_TEST(the_hosts_own_thread_runs_rounds_until_the_answer)
{
    begin();
    make_runnable();
    ck_assert_int_eq(block(LULL_SECOND), LULL_OK);
    ck_assert_int_eq(result.status.code, LULL_CODE_OK);
    ck_assert_uint_eq(result.message.len, 5);
    ck_assert_mem_eq(result.message.data, "hello", 5);
    end();
}
END_TEST

START_TEST(its_deadline_ends_the_wait_to_the_millisecond)
{
    begin();
    make_runnable();
    rig.on_request = rig_stay_silent;
    ck_assert_int_eq(block(250 * LULL_MS), LULL_OK);
    ck_assert_int_eq(result.status.code, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_int_eq(rig_now(&rig), 250 * LULL_MS);
    ck_assert_ptr_nonnull(result.status.failure);
    end();
}
END_TEST

START_TEST(a_loop_that_cannot_be_run_ends_the_call)
{
    begin();
    make_runnable();
    round_error = 24;
    ck_assert_int_eq(block(LULL_NEVER), LULL_RC_SYSTEM);
    ck_assert_int_eq(result.status.code, LULL_CODE_OK); /* empty as it was */
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 1);
    ck_assert_uint_eq(rig_counters(&rig).calls_closed, 1);
    end();
}
END_TEST

/* ---- a host that cannot */

START_TEST(the_hosts_own_thread_cannot_block_without_run_once)
{
    begin();
    ck_assert_int_eq(block(LULL_SECOND), LULL_RC_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "run_once"));
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 0);
    end();
}
END_TEST

static _Atomic(int) other_rc;

static void *block_elsewhere(void *arg)
{
    (void)arg;
    atomic_store(&other_rc, block(LULL_NEVER));
    return NULL;
}

START_TEST(another_thread_waits_for_the_host)
{
    pthread_t thread;
    begin();
    atomic_store(&other_rc, -1);
    ck_assert_int_eq(pthread_create(&thread, NULL, block_elsewhere, NULL), 0);
    while (atomic_load(&other_rc) < 0) {
        rig_settle(&rig);
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(other_rc, LULL_OK);
    ck_assert_int_eq(result.status.code, LULL_CODE_OK);
    end();
}
END_TEST

/* ---- arguments */

START_TEST(what_is_wrong_is_told_and_nothing_is_started)
{
    struct lull_call_options options;
    begin();
    make_runnable();
    lull_call_options_init(&options, "no method");
    ck_assert_int_eq(lull_sync_unary(rig.channel, &options, lull_slice_static("x", 1), &result, &error),
                     LULL_RC_INVALID);
    ck_assert_int_eq(lull_sync_unary(NULL, &options, lull_slice_static("x", 1), &result, &error),
                     LULL_RC_INVALID);
    ck_assert_int_eq(lull_sync_unary(rig.channel, &options, lull_slice_static("x", 1), NULL, &error),
                     LULL_RC_INVALID);
    result.size = 1;
    ck_assert_int_eq(block(LULL_SECOND), LULL_RC_INVALID);
    result.size = sizeof(result);
    lull_channel_close(rig.channel);
    ck_assert_int_eq(block(LULL_SECOND), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    ck_assert_int_eq(block(LULL_SECOND), LULL_RC_IN_TURN);
    lull_executor_leave(rig.executor);
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 0);
    end();
}
END_TEST

static Suite *sync_suite(void)
{
    Suite *suite = suite_create("sync/sync");
    TCase *cases = tcase_create("sync");
    tcase_add_test(cases, the_hosts_own_thread_runs_rounds_until_the_answer);
    tcase_add_test(cases, its_deadline_ends_the_wait_to_the_millisecond);
    tcase_add_test(cases, a_loop_that_cannot_be_run_ends_the_call);
    tcase_add_test(cases, the_hosts_own_thread_cannot_block_without_run_once);
    tcase_add_test(cases, another_thread_waits_for_the_host);
    tcase_add_test(cases, what_is_wrong_is_told_and_nothing_is_started);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_unit", sync_suite)
