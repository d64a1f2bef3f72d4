/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_send.c: the queue, its limit, half-close, and what is kept to be sent again.
 */
#include "channel/call_send.h"

#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a, b;
static uint8_t block[1024 * 1024];

static void begin_with(struct rig_step step)
{
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
}

static struct peer *begin_open(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    begin_with(step);
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

static int send_bytes(struct told *told, size_t len)
{
    return lull_call_send(told->handle, lull_slice_static(block, len));
}

/* Sends 1 KiB at a time until it is told to wait; how many were taken. */
static unsigned fill(struct told *told)
{
    unsigned taken = 0;
    int rc;
    while ((rc = send_bytes(told, 1024)) == LULL_OK) {
        taken++;
        ck_assert_uint_lt(taken, 10000);
    }
    ck_assert_int_eq(rc, LULL_RC_AGAIN);
    return taken;
}

START_TEST(messages_sent_before_there_is_a_connection_leave_in_order)
{
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = LULL_SECOND};
    begin_with(step);
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    told_send(&a, "before");
    rig_settle(&rig);
    told_send(&a, "connecting");
    rig_advance(&rig, LULL_SECOND);
    told_send(&a, "open");
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 3);
    const struct peer_frame *data = peer_find(rig_peer(&rig, 0), FRAME_DATA, 0);
    ck_assert_mem_eq(data->head, "\0\0\0\0\6before\0\0\0\0\12connecting", 26);
    ck_assert_uint_eq(data->len, 26);
    end();
}
END_TEST

START_TEST(the_queue_is_counted_before_the_stream_is_open)
{
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = LULL_SECOND};
    begin_with(step);
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    /* 64 messages with their prefixes are over 64 KiB. */
    ck_assert_uint_eq(fill(&a), 64);
    rig_settle(&rig);
    ck_assert_int_eq(send_bytes(&a, 0), LULL_RC_AGAIN);
    ck_assert_str_eq(a.order, "");
    rig_advance(&rig, LULL_SECOND);
    ck_assert_str_eq(a.order, "W");
    ck_assert_uint_eq(server.streams[0].messages, 64);
    ck_assert_int_eq(send_bytes(&a, 1), LULL_OK);
    end();
}
END_TEST

START_TEST(empty_messages_fill_the_queue_too)
{
    struct rig_step step = {.what = RIG_HANG};
    unsigned taken = 0;
    begin_with(step);
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    while (send_bytes(&a, 0) == LULL_OK) {
        taken++;
    }
    ck_assert_uint_eq(taken, 65536 / 5 + 1);
    end();
}
END_TEST

/* Back-pressure: the peer gives no credit, 64 KiB of its window are used, then 64 KiB are queued. */
START_TEST(again_at_64_kib_and_writable_below_half)
{
    struct peer *peer = begin_open();
    server.credits = false;
    ck_assert_uint_eq(fill(&a), 64);
    rig_settle(&rig);
    /* All but what is over the window has left: there is room. */
    ck_assert_str_eq(a.order, "W");
    ck_assert_uint_ge(fill(&a), 63);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "W");
    size_t queued = h2_stream_queued_bytes(&a.handle->stream);
    ck_assert_uint_ge(queued, 65536);
    server_credit(peer, 1, (uint32_t)(queued - 32768));
    rig_settle(&rig);
    ck_assert_uint_eq(h2_stream_queued_bytes(&a.handle->stream), 32768);
    ck_assert_str_eq(a.order, "W"); /* half is not below half */
    ck_assert_int_eq(send_bytes(&a, 1024), LULL_OK);
    server_credit(peer, 1, 1024 + 5 + 1);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "WW");
    end();
}
END_TEST

START_TEST(nobody_who_was_not_told_to_wait_is_told_to_go_on)
{
    struct peer *peer = begin_open();
    server.credits = false;
    ck_assert_int_eq(send_bytes(&a, 200 * 1024), LULL_OK);
    rig_settle(&rig);
    server_credit(peer, 1, 300 * 1024);
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    ck_assert_str_eq(a.order, "");
    end();
}
END_TEST

static void send_until_again(struct told *told, char what)
{
    if (what == 'W' && told->tag > 0) {
        told->tag--;
        (void)fill(told);
    }
}

START_TEST(a_sender_that_lives_on_writable_gets_all_through)
{
    struct peer *peer = begin_open();
    a.then = send_until_again;
    a.tag = 100;
    (void)fill(&a);
    rig_settle(&rig);
    ck_assert_uint_eq(a.tag, 0);
    ck_assert_uint_eq(a.events, 101);
    ck_assert_uint_ge(server.streams[0].messages, 101 * 32);
    ck_assert_uint_eq(server.streams[0].total, server.streams[0].messages * 1024);
    (void)peer;
    end();
}
END_TEST

START_TEST(messages_of_one_turn_are_one_write)
{
    struct peer *peer = begin_open();
    uint64_t reads = peer->reads;
    for (int i = 0; i < 50; i++) {
        told_send(&a, "small");
    }
    rig_settle(&rig);
    ck_assert_uint_eq(peer->reads - reads, 1);
    ck_assert_uint_eq(server.streams[0].messages, 50);
    ck_assert_uint_eq(peer_count(peer, FRAME_DATA), 1); /* one frame holds them all */
    end();
}
END_TEST

START_TEST(after_the_half_close_nothing_is_sent)
{
    struct peer *peer = begin_open();
    told_send(&a, "last");
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    ck_assert_int_eq(send_bytes(&a, 1), LULL_RC_STATE);
    rig_settle(&rig);
    ck_assert_int_eq(send_bytes(&a, 1), LULL_RC_STATE);
    ck_assert_uint_eq(peer_count(peer, FRAME_DATA), 1); /* the end is on the last message */
    ck_assert(server.streams[0].is_ended);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    end();
}
END_TEST

START_TEST(a_half_close_alone_is_an_empty_frame)
{
    struct peer *peer = begin_open();
    told_send(&a, "last");
    rig_settle(&rig);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(peer, FRAME_DATA), 2);
    ck_assert_uint_eq(peer_find(peer, FRAME_DATA, 1)->len, 0);
    ck_assert(server.streams[0].is_ended);
    end();
}
END_TEST

START_TEST(a_message_over_the_limit_is_not_taken)
{
    (void)begin_open();
    rig.channel->options.max_send_message_bytes = 10;
    ck_assert_int_eq(send_bytes(&a, 11), LULL_RC_LIMIT);
    ck_assert_int_eq(send_bytes(&a, 10), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    end();
}
END_TEST

START_TEST(nothing_is_taken_after_the_end)
{
    struct peer *peer = begin_open();
    a.keeps_handle = true;
    peer_answer(peer, 1, "x");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    ck_assert_int_eq(send_bytes(&a, 1), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_RC_CLOSED);
    lull_call_unref(a.handle);
    end();
}
END_TEST

static void send_into_the_end(struct told *told, char what)
{
    if (what != 'C') {
        ck_assert_int_eq(send_bytes(told, 1), LULL_RC_CLOSED);
    }
}

/* The server has answered without the rest: the call is over, the stream is let go with NO_ERROR (RFC 9113 section 8.1). */
START_TEST(a_server_that_closes_early_stops_the_sender)
{
    struct peer *peer = begin_open();
    server.credits = false;
    (void)fill(&a);
    rig_settle(&rig);
    (void)fill(&a);
    rig_settle(&rig);
    a.then = send_into_the_end;
    server_headers(peer, 1);
    server_send(peer, 1, "enough", 6);
    peer_trailers(peer, 1, "9");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_FAILED_PRECONDITION, "WHMC");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_SERVER);
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 1);
    ck_assert_uint_eq(peer_find(peer, FRAME_RST, 0)->code, 0);
    end();
}
END_TEST

/* b's message and a's end came in one read: a's end is known when b's callback runs, and not told yet. */
static void send_on_a(struct told *told, char what)
{
    (void)told;
    if (what == 'M') {
        ck_assert_uint_eq(a.closed, 0);
        ck_assert_int_eq(send_bytes(&a, 1), LULL_RC_CLOSED);
    }
}

START_TEST(a_call_whose_end_has_just_come_takes_nothing)
{
    struct peer *peer = begin_open();
    b.then = send_on_a;
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    server_headers(peer, 1);
    server_headers(peer, 3);
    rig_settle(&rig);
    server_send(peer, 3, "m", 1);
    peer_rst(peer, 1, 2);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_INTERNAL, "HC");
    ck_assert_str_eq(b.order, "HM");
    end();
}
END_TEST

static unsigned given_back;

static void give_back(struct lull_slab *slab)
{
    (void)slab;
    given_back++;
}

/* RULINGS 22 */
START_TEST(messages_are_kept_by_reference_until_the_response_begins)
{
    struct peer *peer = begin_open();
    struct lull_slab slab;
    uint8_t bytes[] = "abc";
    given_back = 0;
    slab_init(&slab, bytes, 3, give_back);
    struct lull_slice slice = slab_slice(&slab, 0, 3);
    slab_unref(&slab);
    ck_assert_int_eq(lull_call_send(a.handle, slice), LULL_OK);
    lull_slice_unref(slice);
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    ck_assert_uint_eq(given_back, 0);
    ck_assert_uint_gt(rig.channel->replay_bytes, 0);
    server_headers(peer, 1);
    rig_settle(&rig);
    ck_assert_uint_eq(given_back, 1);
    ck_assert_uint_eq(rig.channel->replay_bytes, 0);
    end();
}
END_TEST

/* ---- transparent retry (RULINGS 22) */

START_TEST(a_refused_stream_goes_out_again_with_all_that_was_sent)
{
    struct peer *peer = begin_open();
    told_send(&a, "one");
    rig_settle(&rig);
    told_send(&a, "two");
    rig_settle(&rig);
    peer_rst(peer, 1, 7);
    rig_settle(&rig);
    told_send(&a, "three");
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(a.closed, 0);
    ck_assert_uint_eq(server.streams[1].id, 3);
    ck_assert_uint_eq(server.streams[1].messages, 3);
    ck_assert_uint_eq(server.streams[1].total, 11);
    ck_assert(server.streams[1].is_ended);
    peer_answer(peer, 3, "x");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

/* What is sent between the end of a stream and the news of it is not lost either. */
static void send_on_the_other(struct told *told, char what)
{
    (void)told;
    if (what == 'H') {
        told_send(&a, "late");
    }
}

START_TEST(a_message_sent_in_the_turn_of_the_refusal_goes_with_the_next_try)
{
    struct peer *peer = begin_open();
    told_send(&a, "early");
    told_start(&rig, &b, NULL);
    b.then = send_on_the_other;
    rig_settle(&rig);
    server_headers(peer, 3);
    peer_rst(peer, 1, 7);
    rig_settle(&rig);
    ck_assert_uint_eq(a.closed, 0);
    ck_assert_uint_eq(server.streams[1].id, 5);
    ck_assert_uint_eq(server.streams[1].messages, 2);
    end();
}
END_TEST

START_TEST(a_refusal_after_256_kib_is_the_end)
{
    struct peer *peer = begin_open();
    ck_assert_int_eq(send_bytes(&a, 200 * 1024), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    ck_assert_int_eq(send_bytes(&b, CALL_REPLAY_BYTES), LULL_OK);
    rig_settle(&rig);
    peer_rst(peer, 1, 7);
    peer_rst(peer, 3, 7);
    rig_settle(&rig);
    ck_assert_uint_eq(a.closed, 0); /* it moved */
    told_expect(&b, LULL_CODE_UNAVAILABLE, "C");
    told_expect_text(&b, "not sent elsewhere");
    end();
}
END_TEST

START_TEST(all_calls_of_a_channel_keep_16_mib_together)
{
    static struct told many[90];
    struct peer *peer = begin_open();
    memset(many, 0, sizeof(many));
    for (size_t i = 0; i < 90; i++) {
        told_start(&rig, &many[i], NULL);
        rig_settle(&rig);
        ck_assert_int_eq(send_bytes(&many[i], 200 * 1024), LULL_OK);
        rig_settle(&rig);
        ck_assert_uint_le(rig.channel->replay_bytes, CALL_REPLAY_CHANNEL_BYTES);
    }
    ck_assert_uint_gt(rig.channel->replay_bytes, CALL_REPLAY_CHANNEL_BYTES - 210 * 1024);
    peer_rst(peer, 3, 7);
    peer_rst(peer, 3 + 2 * 89, 7);
    rig_settle(&rig);
    ck_assert_uint_eq(many[0].closed, 0);
    told_expect(&many[89], LULL_CODE_UNAVAILABLE, "C");
    end();
}
END_TEST

/* Not one byte of it has left: keeping it is free, however large it is. The pipes hold 40 bytes and close. */
START_TEST(a_large_message_that_never_left_goes_elsewhere)
{
    struct rig_step closes = {
        .what = RIG_ACCEPT, .is_deaf = true, .closes_after_ns = 100 * LULL_US};
    struct rig_step accepts = {.what = RIG_ACCEPT};
    begin_with(closes);
    rig_step(&rig, closes);
    rig_step(&rig, accepts);
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    if (_i == 1) {
        rig_settle(&rig); /* it has a stream, whose HEADERS are stuck */
        ck_assert_int_eq(a.handle->stage, CALL_OPEN);
    }
    ck_assert_int_eq(send_bytes(&a, 500 * 1024), LULL_OK);
    ck_assert_int_eq(send_bytes(&a, 1), LULL_RC_AGAIN);
    rig_advance(&rig, 10 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 3);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    ck_assert_uint_eq(server.streams[0].total, 500 * 1024);
    ck_assert_str_eq(a.order, "W");
    ck_assert_int_eq(send_bytes(&a, 1), LULL_OK);
    end();
}
END_TEST

START_TEST(nothing_is_sent_again_once_headers_came)
{
    struct peer *peer = begin_open();
    told_send(&a, "one");
    rig_settle(&rig);
    server_headers(peer, 1);
    peer_goaway(peer, 0, 0, "");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_UNAVAILABLE, "HC");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_GOAWAY);
    ck_assert_uint_eq(rig.attempt_count, 1);
    end();
}
END_TEST

START_TEST(a_unary_call_sends_what_it_has_and_no_more)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    struct rig_call unary = {0};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    rig_call_with(&rig, &unary, LULL_NEVER, false);
    ck_assert_int_eq(lull_call_send(unary.handle, lull_slice_static("x", 1)), LULL_RC_STATE);
    ck_assert_int_eq(lull_call_half_close(unary.handle), LULL_OK);
    rig_settle(&rig);
    ck_assert_int_eq(lull_call_send(unary.handle, lull_slice_static("x", 1)), LULL_RC_STATE);
    peer_answer(rig_peer(&rig, 0), 1, "y");
    rig_settle(&rig);
    rig_expect(&unary, LULL_CODE_OK, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *call_send_suite(void)
{
    Suite *suite = suite_create("call_send");
    TCase *tcase = tcase_create("call_send");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, messages_sent_before_there_is_a_connection_leave_in_order);
    tcase_add_test(tcase, the_queue_is_counted_before_the_stream_is_open);
    tcase_add_test(tcase, empty_messages_fill_the_queue_too);
    tcase_add_test(tcase, again_at_64_kib_and_writable_below_half);
    tcase_add_test(tcase, nobody_who_was_not_told_to_wait_is_told_to_go_on);
    tcase_add_test(tcase, a_sender_that_lives_on_writable_gets_all_through);
    tcase_add_test(tcase, messages_of_one_turn_are_one_write);
    tcase_add_test(tcase, after_the_half_close_nothing_is_sent);
    tcase_add_test(tcase, a_half_close_alone_is_an_empty_frame);
    tcase_add_test(tcase, a_message_over_the_limit_is_not_taken);
    tcase_add_test(tcase, nothing_is_taken_after_the_end);
    tcase_add_test(tcase, a_server_that_closes_early_stops_the_sender);
    tcase_add_test(tcase, messages_are_kept_by_reference_until_the_response_begins);
    tcase_add_test(tcase, a_refused_stream_goes_out_again_with_all_that_was_sent);
    tcase_add_test(tcase, a_message_sent_in_the_turn_of_the_refusal_goes_with_the_next_try);
    tcase_add_test(tcase, a_refusal_after_256_kib_is_the_end);
    tcase_add_test(tcase, all_calls_of_a_channel_keep_16_mib_together);
    tcase_add_loop_test(tcase, a_large_message_that_never_left_goes_elsewhere, 0, 2);
    tcase_add_test(tcase, a_call_whose_end_has_just_come_takes_nothing);
    tcase_add_test(tcase, nothing_is_sent_again_once_headers_came);
    tcase_add_test(tcase, a_unary_call_sends_what_it_has_and_no_more);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_send", call_send_suite)
