/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_cancel.c: what a cancel does where a call stands.
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call, other;

static void begin(uint32_t limit)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig.limit = limit;
    rig_open(&rig);
    memset(&call, 0, sizeof(call));
    memset(&other, 0, sizeof(other));
}

/* scenario 198, as near as a unary call comes to it: cancelled before its start was looked at */
START_TEST(before_the_start_nothing_is_dialled)
{
    begin(UINT32_MAX);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    lull_call_cancel(call.handle);
    lull_call_cancel(call.handle);
    ck_assert_uint_eq(call.done, 0);
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 0);
    ck_assert_uint_eq(rig.channel->waiting_calls, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 208 */
START_TEST(while_it_waits_for_a_connection_no_frame_is_sent)
{
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = LULL_SECOND};
    begin(UINT32_MAX);
    rig.steps[0] = step;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance(&rig, 10 * LULL_MS);
    lull_call_cancel(call.handle);
    rig_advance(&rig, 2 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_CANCELLED, 10 * LULL_MS);
    rig_expect_text(&call, "cancelled by the application while connecting to 127.0.0.1:2379");
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 0);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 0);
    ck_assert_uint_eq(lull_idle_calls(&rig.channel->idle), 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 209 */
START_TEST(once_it_was_sent_one_reset_follows)
{
    begin(UINT32_MAX);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance(&rig, LULL_MS);
    struct lull_call *handle = call.handle;
    lull_call_ref(handle);
    lull_call_cancel(handle);
    lull_call_cancel(handle);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, LULL_MS);
    ck_assert_int_eq(call.failure.reason, LULL_REASON_CANCELLED);
    lull_call_cancel(handle); /* after done */
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_RST, 0)->code, 8);
    ck_assert_str_eq(lull_call_peer(handle), RIG_TARGET);
    ck_assert_uint_eq(lull_call_id(handle), 1);
    lull_call_unref(handle);
    rig_fini(&rig);
}
END_TEST

/* scenario 210 */
START_TEST(in_the_queue_no_frame_is_sent_and_the_slot_goes_to_the_next)
{
    struct rig_call third = {0};
    begin(1);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_call_with(&rig, &third, LULL_NEVER, false);
    rig_settle(&rig);
    lull_call_cancel(call.handle);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, 0);
    rig_expect_text(&call, "queued for a stream to 127.0.0.1:2379");
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&other, LULL_CODE_OK, 0);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 2);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_HEADERS, 1)->stream,
                      3); /* no id was burnt */
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 0);
    peer_answer(rig_peer(&rig, 0), 3, "y");
    rig_settle(&rig);
    rig_expect(&third, LULL_CODE_OK, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 197 */
START_TEST(a_cancel_takes_the_deadline_with_it)
{
    begin(UINT32_MAX);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance(&rig, LULL_MS);
    lull_call_cancel(call.handle);
    rig_advance(&rig, 3 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_CANCELLED, LULL_MS);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_fini(&rig);
}
END_TEST

/* RULINGS 19: a command posted before an expiry wins over it */
START_TEST(a_cancel_before_the_turn_of_the_deadline_wins)
{
    begin(UINT32_MAX);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_settle(&rig);
    lull_call_cancel(call.handle);
    rig.clock.mono_at.ns += 2 * LULL_SECOND;
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, 2 * LULL_SECOND);
    rig_fini(&rig);
}
END_TEST

static void cancel_other(struct rig_call *done)
{
    (void)done;
    if (other.handle != NULL) {
        lull_call_cancel(other.handle);
    }
    ck_assert_uint_eq(other.done, 0); /* never inline */
}

START_TEST(a_callback_may_cancel_another_call)
{
    begin(UINT32_MAX);
    call.then = cancel_other;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    rig_expect(&other, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(peer_count_on(rig_peer(&rig, 0), FRAME_RST, 3), 1);
    rig_fini(&rig);
}
END_TEST

static void start_and_cancel(struct rig_call *done)
{
    rig_call_with(done->rig, &other, LULL_NEVER, false);
    lull_call_cancel(other.handle);
}

START_TEST(a_call_started_and_cancelled_in_one_callback_leaves_no_trace_on_the_wire)
{
    begin(UINT32_MAX);
    call.then = start_and_cancel;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&other, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(null_is_harmless)
{
    lull_call_cancel(NULL);
    lull_call_ref(NULL);
    lull_call_unref(NULL);
    begin(UINT32_MAX);
    rig_fini(&rig);
    ck_assert_uint_eq(call.done, 0);
}
END_TEST

static Suite *call_cancel_suite(void)
{
    Suite *suite = suite_create("call_cancel");
    TCase *tcase = tcase_create("call_cancel");
    tcase_add_test(tcase, before_the_start_nothing_is_dialled);
    tcase_add_test(tcase, while_it_waits_for_a_connection_no_frame_is_sent);
    tcase_add_test(tcase, once_it_was_sent_one_reset_follows);
    tcase_add_test(tcase, in_the_queue_no_frame_is_sent_and_the_slot_goes_to_the_next);
    tcase_add_test(tcase, a_cancel_takes_the_deadline_with_it);
    tcase_add_test(tcase, a_cancel_before_the_turn_of_the_deadline_wins);
    tcase_add_test(tcase, a_callback_may_cancel_another_call);
    tcase_add_test(tcase, a_call_started_and_cancelled_in_one_callback_leaves_no_trace_on_the_wire);
    tcase_add_test(tcase, null_is_harmless);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_cancel", call_cancel_suite)
