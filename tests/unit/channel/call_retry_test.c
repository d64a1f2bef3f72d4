/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_stream.c and channel_queue.c: GOAWAY, refusals and transparent retries (gRFC A6, RULINGS 20).
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call a, b, c;

#define F2_PING   "00 00 08 06 00 00 00 00 00 01 02 03 04 05 06 07 08"
#define F3_GOAWAY "00 00 08 07 00 00 00 00 00 7f ff ff ff 00 00 00 00"
#define F4_GOAWAY "00 00 08 07 00 00 00 00 00 00 00 00 01 00 00 00 00"

static struct peer *begin(uint32_t limit)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig.limit = limit;
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&c, 0, sizeof(c));
    rig_call_with(&rig, &a, LULL_NEVER, false);
    rig_settle(&rig);
    /* Past the spacing, so that what comes next is not held back by it. */
    rig_advance_to(&rig, LULL_SECOND);
    return rig_peer(&rig, 0);
}

static bool has_ping_ack(const struct peer *peer)
{
    for (size_t i = 0; i < peer->frame_count; i++) {
        if (peer->frames[i].type == FRAME_PING && (peer->frames[i].flags & FLAG_ACK) != 0) {
            return true;
        }
    }
    return false;
}

/* C21, scenario 218 */
START_TEST(a_goaway_in_two_steps_is_not_seen_by_anybody)
{
    struct peer *old = begin(UINT32_MAX);
    peer_send_hex(old, F3_GOAWAY);
    peer_send_hex(old, F2_PING);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    rig.on_request = rig_answer_hello;
    rig_call_with(&rig, &b, LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert(has_ping_ack(old));
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert_int_eq(rig.attempts[1].at_ns, LULL_SECOND);
    rig_expect(&b, LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(peer_count(old, FRAME_HEADERS), 1);
    peer_send_hex(old, F4_GOAWAY);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(a.done, 0);
    ck_assert(!old->is_eof);
    peer_answer(old, 1, "x");
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_OK, 2 * LULL_SECOND);
    ck_assert(old->is_eof);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

static const struct peer_frame *request(const struct peer *peer, uint32_t stream, uint8_t type)
{
    for (size_t i = 0; i < peer->frame_count; i++) {
        if (peer->frames[i].type == type && peer->frames[i].stream == stream) {
            return &peer->frames[i];
        }
    }
    ck_abort_msg("no frame of type %u on stream %u", type, stream);
    return NULL;
}

/* C22, scenarios 214 and 217 */
START_TEST(unprocessed_calls_move_and_processed_ones_do_not)
{
    struct peer *old = begin(2);
    rig_call_with(&rig, &b, LULL_NEVER, false);
    rig_call_with(&rig, &c, LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(old, FRAME_HEADERS), 2);
    rig.on_request = rig_answer_hello;
    peer_send_hex(old, F4_GOAWAY);
    peer_answer(old, 1, "x");
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_OK, LULL_SECOND);
    rig_expect(&b, LULL_CODE_OK, LULL_SECOND);
    rig_expect(&c, LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    /* Replayed once, byte for byte, in its old place. */
    const struct peer_frame *first = request(old, 3, FRAME_HEADERS);
    const struct peer_frame *second = request(rig_peer(&rig, 1), 1, FRAME_HEADERS);
    ck_assert_str_eq(first->headers, second->headers);
    first = request(old, 3, FRAME_DATA);
    second = request(rig_peer(&rig, 1), 1, FRAME_DATA);
    ck_assert_uint_eq(first->len, second->len);
    ck_assert_mem_eq(first->head, second->head, first->len);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 1), FRAME_HEADERS), 2);
    ck_assert_uint_eq(peer_count(old, FRAME_RST), 0);
    rig_fini(&rig);
}
END_TEST

/* C22, variant; scenario 225 */
START_TEST(a_refused_call_is_replayed_once)
{
    struct peer *peer = begin(UINT32_MAX);
    rig_call_with(&rig, &b, LULL_NEVER, false);
    rig_settle(&rig);
    peer_rst(peer, 3, 7);
    rig_settle(&rig);
    ck_assert_uint_eq(b.done, 0);
    ck_assert_uint_eq(peer_count_on(peer, FRAME_HEADERS, 5), 1);
    ck_assert_str_eq(peer_field(peer, 5, ":path"), "/pkg.Service/Method");
    peer_rst(peer, 5, 7);
    rig_settle(&rig);
    rig_expect(&b, LULL_CODE_UNAVAILABLE, LULL_SECOND);
    ck_assert_int_eq(b.failure.http2_error, 7);
    ck_assert_int_eq(b.failure.reason, LULL_REASON_RESET);
    rig_expect_text(&b, "REFUSED_STREAM");
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_refusal_after_headers_is_no_refusal)
{
    struct peer *peer = begin(UINT32_MAX);
    peer_headers(peer, 1, 0, ":status", "200", "content-type", "application/grpc", NULL);
    peer_rst(peer, 1, 7);
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, LULL_SECOND);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 1);
    rig_fini(&rig);
}
END_TEST

/* C22, variant; scenario 222 */
START_TEST(a_connection_closed_without_goaway_replays_nothing)
{
    struct peer *peer = begin(UINT32_MAX);
    peer_close(peer);
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, LULL_SECOND);
    ck_assert_int_eq(a.failure.reason, LULL_REASON_TRANSPORT);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

/* scenario 222 */
START_TEST(a_close_after_goaway_names_the_goaway)
{
    struct peer *peer = begin(UINT32_MAX);
    peer_goaway(peer, 1, 11, "calm down");
    rig_settle(&rig);
    ck_assert_uint_eq(a.done, 0);
    peer_close(peer);
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, LULL_SECOND);
    rig_expect_text(&a, "GOAWAY(ENHANCE_YOUR_CALM");
    rig_expect_text(&a, "calm down");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_GOAWAY);
    ck_assert_int_eq(a.failure.http2_error, 11);
    ck_assert(rig_has_traced(&rig, "GOAWAY(ENHANCE_YOUR_CALM, \"calm down\"), last stream 1"));
    rig_fini(&rig);
}
END_TEST

/* scenario 216, RULINGS 20: left out is left out, whatever the code; with debug data that is no text (scenario 145) */
START_TEST(a_goaway_with_an_error_code_leaves_calls_out_too)
{
    struct peer *peer = begin(UINT32_MAX);
    rig.on_request = rig_answer_hello;
    peer_goaway(peer, 0, 8, "\xff\xfe");
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_second_goaway_that_leaves_it_out_surfaces)
{
    struct peer *peer = begin(UINT32_MAX);
    peer_goaway(peer, 0, 0, "");
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(a.done, 0);
    ck_assert_uint_eq(rig.attempt_count, 2);
    peer_goaway(rig_peer(&rig, 1), 0, 0, "");
    rig_settle(&rig);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, 2 * LULL_SECOND);
    ck_assert_int_eq(a.failure.reason, LULL_REASON_GOAWAY);
    ck_assert_int_eq(a.failure.http2_error, 0);
    rig_expect_text(&a, "GOAWAY(NO_ERROR)");
    rig_fini(&rig);
}
END_TEST

/*
 * Connections that become READY, take nothing, and close 100 us later: a request that was handed to one has not left.
 * After `closers` of them (0: all) one that works.
 */
static void open_to_closers(int64_t backoff_ns, size_t closers)
{
    struct rig_step closes = {
        .what = RIG_ACCEPT, .is_deaf = true, .closes_after_ns = 100 * LULL_US};
    struct rig_step accepts = {.what = RIG_ACCEPT};
    memset(&a, 0, sizeof(a));
    rig_init(&rig);
    rig_step(&rig, closes);
    for (size_t i = 1; i < closers; i++) {
        rig_step(&rig, closes);
    }
    if (closers != 0) {
        rig_step(&rig, accepts);
    }
    rig.options.allow_short_timers = true;
    rig.options.backoff_initial_ns = backoff_ns;
    rig_open(&rig);
    rig_call_with(&rig, &a, LULL_NEVER, false);
}

static size_t count_traced(const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < rig.trace_count; i++) {
        count += strstr(rig.trace[i], part) != NULL;
    }
    return count;
}

/* scenario 224 */
START_TEST(a_call_that_was_never_sent_goes_elsewhere_unseen)
{
    open_to_closers(LULL_SECOND, 5);
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&a, LULL_CODE_OK, 4 * LULL_SECOND); /* five spacings of 800 ms */
    ck_assert_uint_eq(rig.attempt_count, 6);
    ck_assert_uint_eq(count_traced(": stream 1,"), 6); /* it was handed to each */
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 5), FRAME_HEADERS), 1);
    rig_fini(&rig);
}
END_TEST

/* scenario 224: the cap */
START_TEST(a_thousand_retries_are_enough)
{
    open_to_closers(LULL_MS, 0);
    rig_advance(&rig, 3 * LULL_SECOND);
    ck_assert_uint_eq(a.done, 1);
    ck_assert_int_eq(a.code, LULL_CODE_INTERNAL);
    rig_expect_text(&a, "too many transparent retries");
    ck_assert_uint_eq(rig.attempt_count, 1001);
    rig_fini(&rig);
}
END_TEST

/* scenario 204's kind: no attempt is made past the deadline */
START_TEST(the_deadline_ends_retries)
{
    struct rig_step closes = {.what = RIG_ACCEPT, .closes = true};
    memset(&a, 0, sizeof(a));
    rig_init(&rig);
    rig_step(&rig, closes);
    rig_open(&rig);
    rig_call_with(&rig, &a, 2 * LULL_SECOND, false);
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, 2 * LULL_SECOND);
    rig_expect_text(&a, "(attempt 3 failed: write failed");
    ck_assert_uint_eq(rig.attempt_count, 3); /* 0, 0.8, 1.6; nobody wants the one at 2.4 */
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *call_retry_suite(void)
{
    Suite *suite = suite_create("call_retry");
    TCase *tcase = tcase_create("call_retry");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_goaway_in_two_steps_is_not_seen_by_anybody);
    tcase_add_test(tcase, unprocessed_calls_move_and_processed_ones_do_not);
    tcase_add_test(tcase, a_refused_call_is_replayed_once);
    tcase_add_test(tcase, a_refusal_after_headers_is_no_refusal);
    tcase_add_test(tcase, a_connection_closed_without_goaway_replays_nothing);
    tcase_add_test(tcase, a_close_after_goaway_names_the_goaway);
    tcase_add_test(tcase, a_goaway_with_an_error_code_leaves_calls_out_too);
    tcase_add_test(tcase, a_second_goaway_that_leaves_it_out_surfaces);
    tcase_add_test(tcase, a_call_that_was_never_sent_goes_elsewhere_unseen);
    tcase_add_test(tcase, a_thousand_retries_are_enough);
    tcase_add_test(tcase, the_deadline_ends_retries);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_retry", call_retry_suite)
