/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_queue.c: the FIFO before MAX_CONCURRENT_STREAMS.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "channel/call.h"
#include "rig.h"
#include "tests/support/check_main.h"

#define MANY 150

static struct rig rig;
static struct rig_call calls[MANY];

static void begin(uint32_t limit, uint32_t max_queued_calls)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig.limit = limit;
    if (max_queued_calls != 0) {
        rig.options.max_queued_calls = max_queued_calls;
    }
    rig_open(&rig);
    memset(calls, 0, sizeof(calls));
}

/* scenario 249 */
START_TEST(calls_get_streams_in_order_with_what_is_left_of_their_time)
{
    begin(1, 0);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_call_with(&rig, &calls[1], 10 * LULL_SECOND, false);
    rig_call_with(&rig, &calls[2], 10 * LULL_SECOND, false);
    rig_advance(&rig, 4 * LULL_SECOND);
    struct peer *peer = rig_peer(&rig, 0);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 1);
    peer_answer(peer, 1, "a");
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 2);
    ck_assert_str_eq(peer_field(peer, 3, "grpc-timeout"), "6000000u");
    rig_advance(&rig, LULL_SECOND);
    peer_answer(peer, 3, "b");
    rig_settle(&rig);
    rig_expect(&calls[1], LULL_CODE_OK, 5 * LULL_SECOND);
    ck_assert_str_eq(calls[1].reply, "b");
    ck_assert_str_eq(peer_field(peer, 5, "grpc-timeout"), "5000000u");
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&calls[2], LULL_CODE_DEADLINE_EXCEEDED, 10 * LULL_SECOND);
    ck_assert_int_eq(calls[2].failure.phase_ns[LULL_PHASE_QUEUED], 5 * LULL_SECOND);
    rig_fini(&rig);
}
END_TEST

/* scenario 250 */
START_TEST(an_expiry_in_the_queue_sends_nothing_and_names_the_queue)
{
    begin(1, 0);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_call_with(&rig, &calls[1], 5 * LULL_SECOND, true);
    rig_call_with(&rig, &calls[2], LULL_SECOND, false);
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&calls[2], LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&calls[2],
                    "queued for a stream to 127.0.0.1:2379: its MAX_CONCURRENT_STREAMS is used up");
    rig_expect_text(&calls[2], "1 call before this one");
    ck_assert_int_eq(calls[2].failure.phase, LULL_PHASE_QUEUED);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 0);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_HEADERS, 1)->stream, 3);
    rig_fini(&rig);
}
END_TEST

/* scenario 252: silent on the limit means none; before the first SETTINGS nothing is opened at all */
START_TEST(a_peer_without_a_limit_gets_all_at_once)
{
    struct rig_step step = {.what = RIG_ACCEPT, .is_mute = true};
    begin(UINT32_MAX, 0);
    rig.steps[0] = step;
    for (size_t i = 0; i < MANY; i++) {
        rig_call_with(&rig, &calls[i], LULL_NEVER, false);
    }
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 0);
    peer_settings(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), MANY);
    ck_assert_uint_eq(rig.channel->waiting_calls, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 251's kind: a limit that falls only delays, a limit of 0 is legal and can be raised */
START_TEST(a_limit_may_fall_and_rise)
{
    begin(0, 0);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_call_with(&rig, &calls[1], LULL_NEVER, false);
    rig_advance(&rig, LULL_SECOND);
    struct peer *peer = rig_peer(&rig, 0);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 0);
    peer_settings_limit(peer, 1);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 1);
    peer_settings_limit(peer, 0);
    peer_answer(peer, 1, "x");
    rig_settle(&rig);
    rig_expect(&calls[0], LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 1);
    peer_settings_limit(peer, 5);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 2);
    rig_fini(&rig);
}
END_TEST

/* scenario 275: never two open streams */
START_TEST(a_limit_of_one_serves_many_calls_one_by_one)
{
    begin(1, 0);
    rig.on_request = rig_answer_hello;
    for (size_t i = 0; i < MANY; i++) {
        rig_call_with(&rig, &calls[i], 10 * LULL_SECOND, false);
    }
    rig_settle(&rig);
    for (size_t i = 0; i < MANY; i++) {
        rig_expect(&calls[i], LULL_CODE_OK, 0);
    }
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), MANY);
    rig_fini(&rig);
}
END_TEST

static int64_t order[MANY];
static size_t order_count;

static void remember(struct rig_call *call)
{
    order[order_count++] = call - calls;
}

/* scenario 288 */
START_TEST(queued_calls_expire_in_order_on_one_timer)
{
    begin(1, 0);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_settle(&rig);
    order_count = 0;
    for (size_t i = 1; i <= 100; i++) {
        calls[i].then = remember;
        rig_call_with(&rig, &calls[i], LULL_SECOND, false);
        rig_advance(&rig, LULL_MS);
        ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    }
    rig_advance(&rig, 5 * LULL_SECOND);
    ck_assert_uint_eq(order_count, 100);
    for (size_t i = 0; i < 100; i++) {
        ck_assert_int_eq(order[i], (int64_t)i + 1);
        rig_expect(&calls[i + 1], LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND + (int64_t)i * LULL_MS);
    }
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
    rig_fini(&rig);
}
END_TEST

static void never(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    ck_abort_msg("done of a call that was refused");
}

START_TEST(a_full_queue_refuses_the_call_with_its_limit)
{
    struct lull_call_options options;
    struct lull_error error;
    begin(1, 2);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_settle(&rig);
    rig_call_with(&rig, &calls[1], LULL_NEVER, false);
    rig_call_with(&rig, &calls[2], LULL_NEVER, false);
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(
        lull_call_unary(rig.channel, &options, lull_slice_static("", 0), never, NULL, NULL, &error),
        LULL_RC_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "max_queued_calls"));
    lull_call_cancel(calls[1].handle);
    rig_settle(&rig);
    rig_call_with(&rig, &calls[3], LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.channel->waiting_calls, 2);
    rig_fini(&rig);
}
END_TEST

/* scenario 184: TRANSIENT_FAILURE, which is sticky (gRFC A62) */
START_TEST(calls_that_do_not_wait_fail_at_once_while_the_server_is_away)
{
    struct rig_step refuse = {.what = RIG_REFUSE, .after_ns = LULL_MS, .sys_errno = ECONNREFUSED};
    struct rig_step hang = {.what = RIG_HANG};
    begin(UINT32_MAX, 0);
    rig.step_count = 0;
    rig_step(&rig, refuse);
    rig_step(&rig, hang);
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_call_with(&rig, &calls[1], LULL_NEVER, true);
    rig_advance(&rig, LULL_MS);
    rig_expect(&calls[0], LULL_CODE_UNAVAILABLE, LULL_MS);
    ck_assert_uint_eq(calls[1].done, 0);
    rig_call_with(&rig, &calls[2], LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&calls[2], LULL_CODE_UNAVAILABLE, LULL_MS);
    rig_expect_text(&calls[2], "(attempt 1 failed: connection refused; next in 999 ms)");
    /* Under the next attempt, which hangs, too. */
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_TRANSIENT_FAILURE);
    rig_call_with(&rig, &calls[3], LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&calls[3], LULL_CODE_UNAVAILABLE, 2 * LULL_SECOND + LULL_MS);
    rig_expect_text(&calls[3], "connection refused");
    ck_assert_int_eq(calls[3].failure.sys_errno, ECONNREFUSED);
    ck_assert_uint_eq(calls[1].done, 0);
    rig_fini(&rig);
}
END_TEST

/* A peer that reads nothing: what waits for its socket is bounded, the rest waits in our queue, where a cancel frees it. */
START_TEST(a_full_socket_takes_a_hundred_frames_and_no_more_calls)
{
    struct rig_step step = {.what = RIG_ACCEPT, .is_deaf = true};
    unsigned open = 0;
    memset(calls, 0, sizeof(calls));
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent; /* nor would an answer fit into its pipe */
    rig_open(&rig);
    for (size_t i = 0; i < MANY; i++) {
        rig_call_with(&rig, &calls[i], i == MANY - 1 ? LULL_SECOND : LULL_NEVER, true);
        rig_settle(&rig);
    }
    for (size_t i = 0; i < MANY; i++) {
        open += calls[i].handle->stage == CALL_OPEN;
        ck_assert(calls[i].handle->stage == CALL_OPEN || calls[i].handle->stage == CALL_WAITING);
    }
    /* One in the write that is stuck, and as many as make a hundred frames. */
    ck_assert_uint_ge(open, 50);
    ck_assert_uint_le(open, 102);
    ck_assert(h2_transport_is_blocked(rig.channel->subchannel.current->transport));
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&calls[MANY - 1], LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&calls[MANY - 1],
                    "queued for 127.0.0.1:2379, which does not take what was written already");
    lull_call_cancel(calls[MANY - 2].handle);
    rig_settle(&rig);
    rig_expect(&calls[MANY - 2], LULL_CODE_CANCELLED, LULL_SECOND);
    /* It reads: everything that was not given up goes out, in order. */
    ck_assert_int_eq(lull_executor_enter(rig.peers), LULL_OK);
    ck_assert_int_eq(endpoint_want(rig.attempts[0].server_end, LULL_WANT_READ), 0);
    lull_executor_leave(rig.peers);
    rig_settle(&rig);
    for (size_t i = 0; i < MANY - 2; i++) {
        ck_assert_int_eq(calls[i].handle->stage, CALL_OPEN);
    }
    ck_assert(!h2_transport_is_blocked(rig.channel->subchannel.current->transport));
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), MANY - 2);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_queue_suite(void)
{
    Suite *suite = suite_create("channel_queue");
    TCase *tcase = tcase_create("channel_queue");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, calls_get_streams_in_order_with_what_is_left_of_their_time);
    tcase_add_test(tcase, an_expiry_in_the_queue_sends_nothing_and_names_the_queue);
    tcase_add_test(tcase, a_peer_without_a_limit_gets_all_at_once);
    tcase_add_test(tcase, a_limit_may_fall_and_rise);
    tcase_add_test(tcase, a_limit_of_one_serves_many_calls_one_by_one);
    tcase_add_test(tcase, queued_calls_expire_in_order_on_one_timer);
    tcase_add_test(tcase, a_full_queue_refuses_the_call_with_its_limit);
    tcase_add_test(tcase, a_full_socket_takes_a_hundred_frames_and_no_more_calls);
    tcase_add_test(tcase, calls_that_do_not_wait_fail_at_once_while_the_server_is_away);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_queue", channel_queue_suite)
