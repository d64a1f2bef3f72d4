/* SPDX-License-Identifier: MIT */
/*
 * The three kinds of streams, as the interoperability tests make them (scenarios 256-260, 266-268, C03), and at length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

#define S LULL_SECOND

static struct rig rig;
static struct server server;
static struct told a;
static uint8_t block[400 * 1024];

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    memset(&a, 0, sizeof(a));
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

static void send_size(struct told *told, size_t size)
{
    ck_assert_int_eq(lull_call_send(told->handle, lull_slice_static(block, size)), LULL_OK);
}

/* ---- scenario 257 */

static void answer_with_total(struct peer *peer, struct server_stream *stream)
{
    char text[20];
    snprintf(text, sizeof(text), "%zu", stream->total);
    server_headers(peer, stream->id);
    server_send(peer, stream->id, text, strlen(text));
    peer_trailers(peer, stream->id, "0");
}

START_TEST(client_streaming_adds_up)
{
    begin();
    server.on_end = answer_with_total;
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    send_size(&a, 27182);
    send_size(&a, 8);
    send_size(&a, 1828);
    send_size(&a, 45904);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    ck_assert_str_eq(a.text, "74922,");
    ck_assert_uint_eq(server.streams[0].messages, 4);
    end();
}
END_TEST

/* ---- scenario 258 */

static const size_t sizes[4] = {31415, 9, 2653, 58979};

static void stream_sizes(struct peer *peer, struct server_stream *stream)
{
    server_headers(peer, stream->id);
    for (size_t i = 0; i < 3; i++) {
        server_send(peer, stream->id, block, sizes[i]);
    }
}

static size_t got[4];

static void note_size(struct told *told, char what)
{
    static size_t before;
    if (what == 'M') {
        before = told->messages == 1 ? 0 : before;
        got[told->messages - 1] = told->bytes - before;
        before = told->bytes;
    }
}

START_TEST(server_streaming_comes_in_sizes_as_they_were)
{
    begin();
    server.on_end = stream_sizes;
    rig_open(&rig);
    a.then = note_size;
    told_start(&rig, &a, NULL);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    server_send(rig_peer(&rig, 0), 1, block, sizes[3]); /* the pipe holds 64 KiB */
    peer_trailers(rig_peer(&rig, 0), 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMMMMC");
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(got[i], sizes[i]);
    }
    end();
}
END_TEST

/* ---- scenario 259 */

static void pong(struct peer *peer, struct server_stream *stream, const uint8_t *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    if (stream->messages == 1) {
        server_headers(peer, stream->id);
    }
    server_send(peer, stream->id, block, sizes[stream->messages - 1]);
}

static void end_ok(struct peer *peer, struct server_stream *stream)
{
    if (stream->messages == 0) {
        server_headers(peer, stream->id);
    }
    peer_trailers(peer, stream->id, "0");
}

static const size_t ping_sizes[4] = {27182, 8, 1828, 45904};

static void ping(struct told *told, char what)
{
    note_size(told, what);
    if (what == 'M' && told->messages < 4) {
        send_size(told, ping_sizes[told->messages]);
    } else if (what == 'M') {
        ck_assert_int_eq(lull_call_half_close(told->handle), LULL_OK);
    }
}

START_TEST(ping_pong_alternates)
{
    begin();
    server.on_message = pong;
    server.on_end = end_ok;
    rig_open(&rig);
    a.then = ping;
    told_start(&rig, &a, NULL);
    send_size(&a, ping_sizes[0]);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMMMMC");
    ck_assert_uint_eq(server.streams[0].total, 74922);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(got[i], sizes[i]);
    }
    end();
}
END_TEST

/* scenario 260 */
START_TEST(an_empty_stream_is_ok)
{
    begin();
    server.on_end = end_ok;
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HC");
    end();
}
END_TEST

/* scenario 256 */
static size_t large_len;

static void on_large(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    large_len = result->message.len;
}

static void answer_large(struct peer *peer, struct server_stream *stream)
{
    ck_assert_uint_eq(stream->total, 271828);
    server_headers(peer, stream->id);
    uint8_t prefix[5] = {0, 0, 314159 >> 16, (314159 >> 8) & 255, 314159 & 255};
    peer_frame(peer, FRAME_DATA, 0, stream->id, prefix, 5);
}

START_TEST(a_large_unary_call_goes_both_ways)
{
    struct lull_call_options options;
    size_t left = 314159;
    begin();
    server.on_end = answer_large;
    rig_open(&rig);
    lull_call_options_init(&options, "/a/b");
    large_len = 0;
    ck_assert_int_eq(lull_call_unary(rig.channel, &options, lull_slice_static(block, 271828),
                                     on_large, NULL, NULL, NULL),
                     LULL_OK);
    rig_settle(&rig);
    while (left > 0) {
        size_t part = left < 16384 ? left : 16384;
        peer_frame(rig_peer(&rig, 0), FRAME_DATA, 0, 1, block, part);
        left -= part;
        rig_settle(&rig);
    }
    peer_trailers(rig_peer(&rig, 0), 1, "0");
    rig_settle(&rig);
    ck_assert_uint_eq(large_len, 314159);
    end();
}
END_TEST

/* scenario 266 */
START_TEST(cancel_after_begin_is_cancelled)
{
    begin();
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "C");
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_RST, 0)->code, 8);
    end();
}
END_TEST

static void cancel_at_first(struct told *told, char what)
{
    if (what == 'M') {
        lull_call_cancel(told->handle);
    }
}

/* scenario 267 */
START_TEST(cancel_after_the_first_response_is_cancelled)
{
    begin();
    server.on_message = pong;
    rig_open(&rig);
    a.then = cancel_at_first;
    told_start(&rig, &a, NULL);
    send_size(&a, 27182);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "HMC");
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    end();
}
END_TEST

/* scenario 268 */
START_TEST(a_sleeping_server_runs_into_the_deadline)
{
    begin();
    rig_open(&rig);
    told_start_with(&rig, &a, LULL_MS, 0);
    send_size(&a, 27182);
    rig_advance(&rig, LULL_MS);
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(a.at_ns, LULL_MS);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 1, "grpc-timeout"), "1000000n");
    end();
}
END_TEST

START_TEST(a_status_before_the_half_close_is_the_end)
{
    begin();
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    send_size(&a, 10);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "enough");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

/* ---- at length */

static void echo(struct peer *peer, struct server_stream *stream, const uint8_t *bytes, size_t len)
{
    if (stream->messages == 1) {
        server_headers(peer, stream->id);
    }
    server_send(peer, stream->id, bytes, len);
}

static void go_on(struct told *told, char what)
{
    char text[16];
    if (what == 'M' && told->messages < 1000) {
        snprintf(text, sizeof(text), "%zu", told->messages);
        told_send(told, text);
    } else if (what == 'M') {
        ck_assert_int_eq(lull_call_half_close(told->handle), LULL_OK);
    }
}

START_TEST(a_thousand_messages_each_way_by_turns)
{
    begin();
    server.on_message = echo;
    server.on_end = end_ok;
    rig_open(&rig);
    a.then = go_on;
    told_start(&rig, &a, NULL);
    told_send(&a, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, NULL);
    ck_assert_uint_eq(a.messages, 1000);
    ck_assert_uint_eq(server.streams[0].messages, 1000);
    ck_assert_uint_eq(server.streams[0].total, 10 + 90 * 2 + 900 * 3);
    ck_assert_uint_eq(a.bytes, server.streams[0].total);
    end();
}
END_TEST

static void send_all(struct told *told, char what)
{
    while (told->tag < 1000 && what != 'C') {
        int rc = lull_call_send(told->handle, lull_slice_static(block, 700));
        if (rc != LULL_OK) {
            ck_assert_int_eq(rc, LULL_RC_AGAIN);
            return;
        }
        if (++told->tag == 1000) {
            ck_assert_int_eq(lull_call_half_close(told->handle), LULL_OK);
        }
    }
}

START_TEST(a_thousand_messages_each_way_at_once)
{
    begin();
    server.on_message = echo;
    server.on_end = end_ok;
    rig_open(&rig);
    a.then = send_all;
    told_start(&rig, &a, NULL);
    send_all(&a, ' ');
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, NULL);
    ck_assert_uint_eq(a.messages, 1000);
    ck_assert_uint_eq(a.bytes, 700 * 1000);
    end();
}
END_TEST

/* C03: idle mode is out of the question while a stream is open, however quiet */
START_TEST(an_open_stream_keeps_the_channel_out_of_idle)
{
    begin();
    rig.options.idle_timeout_ns = S;
    rig.options.allow_short_timers = true;
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    rig_advance_to(&rig, 10 * LULL_MS);
    server_headers(rig_peer(&rig, 0), 1);
    server_send(rig_peer(&rig, 0), 1, "x", 1);
    for (int64_t at = 1; at <= 10; at++) {
        rig_advance_to(&rig, at * S);
        ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    }
    peer_trailers(rig_peer(&rig, 0), 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    rig_advance_to(&rig, 11 * S - 1);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    rig_advance_to(&rig, 11 * S);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    end();
}
END_TEST

/* A call whose messages wait for the application is not over either (RULINGS 4). */
START_TEST(unread_messages_keep_the_channel_out_of_idle)
{
    begin();
    rig.options.idle_timeout_ns = S;
    rig.options.allow_short_timers = true;
    rig_open(&rig);
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    lull_call_pause(a.handle);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_advance_to(&rig, 10 * S);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    lull_call_resume(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    rig_advance_to(&rig, 11 * S);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    end();
}
END_TEST

static Suite *call_kinds_suite(void)
{
    Suite *suite = suite_create("call_kinds");
    TCase *tcase = tcase_create("call_kinds");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, client_streaming_adds_up);
    tcase_add_test(tcase, server_streaming_comes_in_sizes_as_they_were);
    tcase_add_test(tcase, ping_pong_alternates);
    tcase_add_test(tcase, an_empty_stream_is_ok);
    tcase_add_test(tcase, a_large_unary_call_goes_both_ways);
    tcase_add_test(tcase, cancel_after_begin_is_cancelled);
    tcase_add_test(tcase, cancel_after_the_first_response_is_cancelled);
    tcase_add_test(tcase, a_sleeping_server_runs_into_the_deadline);
    tcase_add_test(tcase, a_status_before_the_half_close_is_the_end);
    tcase_add_test(tcase, a_thousand_messages_each_way_by_turns);
    tcase_add_test(tcase, a_thousand_messages_each_way_at_once);
    tcase_add_test(tcase, an_open_stream_keeps_the_channel_out_of_idle);
    tcase_add_test(tcase, unread_messages_keep_the_channel_out_of_idle);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_kinds", call_kinds_suite)
