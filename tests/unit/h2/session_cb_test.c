/* SPDX-License-Identifier: MIT */
/*
 * What a sequence of frames on one stream means (BEHAVIOUR 2.13): scenarios 229 to 241, 271 to 276, pain-cases C28.
 */
#include "h2/session_cb.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/frames.h"

#define S200 "\x88"
#define NO_STATUS                                                                                  \
    "\x0f\x10\x10"                                                                                 \
    "application/grpc"
#define HEAD(flags, len, payload) "\0\0" len "\1" flags "\0\0\0\1" payload
#define H_OK                      F6
#define H_1XX(code)               "\0\0\5\1\4\0\0\0\1\x08\3" code
#define RST(code)                 "\0\0\4\3\0\0\0\0\1\0\0\0" code

struct row {
    const char *name;
    const char *bytes;
    size_t len;
    unsigned headers, messages, trailers, data_ends;
    int http_status; /* of the headers, or of the trailers when those are all */
    enum h2_end kind;
    uint32_t code;
    unsigned resets; /* that we send */
    const char *text;
};

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct row rows[] = {
    {"in order", BYTES(F6 F7 F8), 1, 1, 1, 0, 200, H2_END_FINISHED, 0, 0, ""},
    {"trailers only (F13)", BYTES(F13), 0, 0, 1, 0, 503, H2_END_FINISHED, 0, 0, ""},
    {"no message", BYTES(F6 F8), 1, 0, 1, 0, 200, H2_END_FINISHED, 0, 0, ""},
    {"two messages", BYTES(F6 F7 F7 F8), 1, 2, 1, 0, 200, H2_END_FINISHED, 0, 0, ""},
    {"headers without :status", BYTES("\0\0\x13\1\4\0\0\0\1" NO_STATUS F8), 1, 0, 1, 0, -1,
     H2_END_FINISHED, 0, 0, ""},
    {"trailers only without :status", BYTES(F8), 0, 0, 1, 0, -1, H2_END_FINISHED, 0, 0, ""},
    {"1xx, 1xx, then 200", BYTES(H_1XX("100") H_1XX("101") F6 F7 F8), 1, 1, 1, 0, 200,
     H2_END_FINISHED, 0, 0, ""},
    {"1xx that ends the stream",
     BYTES("\0\0\5\1\5\0\0\0\1\x08\3"
           "103"),
     0, 0, 0, 0, 0, H2_END_PROTOCOL, 0, 0, "HTTP status 103 ended the stream"},
    {"headers twice", BYTES(F6 F6), 1, 0, 0, 0, 200, H2_END_PROTOCOL, 0, 1,
     "HEADERS twice, and the second one does not end the stream"},
    {"trailers without END_STREAM", BYTES(F6 F7 "\0\0\x0f\1\4\0\0\0\1\0\x0bgrpc-status\1\x30"), 1,
     1, 0, 0, 200, H2_END_PROTOCOL, 0, 1,
     "HEADERS twice, and the second one does not end the stream"},
    {"trailers with :status", BYTES(F6 F7 "\0\0\x10\1\5\0\0\0\1\x88\0\x0bgrpc-status\1\x30"), 1, 1,
     0, 0, 200, H2_END_PROTOCOL, 0, 1, "trailers with :status"},
    {"1xx after the headers", BYTES(F6 H_1XX("100")), 1, 0, 0, 0, 200, H2_END_PROTOCOL, 0, 1,
     "HEADERS twice, and the second one does not end the stream"},
    {"DATA first", BYTES(F7), 0, 0, 0, 0, 0, H2_END_PROTOCOL, 0, 1, "DATA before HEADERS"},
    {"empty DATA first", BYTES("\0\0\0\0\0\0\0\0\1"), 0, 0, 0, 0, 0, H2_END_PROTOCOL, 0, 1,
     "DATA before HEADERS"},
    {"DATA with END_STREAM first", BYTES("\0\0\0\0\1\0\0\0\1"), 0, 0, 0, 0, 0, H2_END_PROTOCOL, 0,
     1, "DATA before HEADERS"},
    {"DATA after 1xx", BYTES(H_1XX("100") F7), 0, 0, 0, 0, 0, H2_END_PROTOCOL, 0, 1,
     "DATA before HEADERS"},
    {"END_STREAM on DATA", BYTES(F6 "\0\0\7\0\1\0\0\0\1\0\0\0\0\2\x08\1"), 1, 1, 0, 1, 200,
     H2_END_FINISHED, 0, 0, ""},
    {"END_STREAM on empty DATA", BYTES(F6 F7 "\0\0\0\0\1\0\0\0\1"), 1, 1, 0, 1, 200,
     H2_END_FINISHED, 0, 0, ""},
    {"RST after headers", BYTES(F6 RST("\0")), 1, 0, 0, 0, 200, H2_END_RESET, 0, 0, ""},
    {"RST during DATA", BYTES(F6 "\0\0\6\0\0\0\0\0\1\0\0\0\0\2\x08" RST("\0")), 1, 0, 0, 0, 200,
     H2_END_RESET, 0, 0, ""},
    {"RST after DATA", BYTES(F6 F7 RST("\0")), 1, 1, 0, 0, 200, H2_END_RESET, 0, 0, ""},
    {"RST NO_ERROR after the end", BYTES(F6 F7 F8 RST("\0")), 1, 1, 1, 0, 200, H2_END_FINISHED, 0,
     0, ""},
    {"RST PROTOCOL_ERROR", BYTES(RST("\1")), 0, 0, 0, 0, 0, H2_END_RESET, 1, 0, ""},
    {"RST CANCEL", BYTES(RST("\x08")), 0, 0, 0, 0, 0, H2_END_RESET, 8, 0, ""},
    {"RST 99", BYTES(RST("\x63")), 0, 0, 0, 0, 0, H2_END_RESET, 99, 0, ""},
    {"RST REFUSED_STREAM (F11)", BYTES(F11), 0, 0, 0, 0, 0, H2_END_UNPROCESSED, 7, 0, ""},
    {"RST REFUSED_STREAM after headers", BYTES(F6 F11), 1, 0, 0, 0, 200, H2_END_RESET, 7, 0, ""},
    {"padded DATA", BYTES(F6 "\0\0\x0b\0\x08\0\0\0\1\3\0\0\0\0\2\x08\1\0\0\0" F8), 1, 1, 1, 0, 200,
     H2_END_FINISHED, 0, 0, ""},
    {"unknown frame between", BYTES(F6 "\0\0\3\x77\0\0\0\0\1abc" F7 F8), 1, 1, 1, 0, 200,
     H2_END_FINISHED, 0, 0, ""},
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static void check(const struct row *row, const struct heard *h)
{
    ck_assert_msg(h->closed == 1, "%s: not closed", row->name);
    ck_assert_msg(h->headers == row->headers && h->messages == row->messages &&
                      h->trailers == row->trailers && h->data_ends == row->data_ends,
                  "%s: told %u headers, %u messages, %u trailers, %u ends of data", row->name,
                  h->headers, h->messages, h->trailers, h->data_ends);
    ck_assert_msg(h->http_status == row->http_status, "%s: status %d", row->name, h->http_status);
    ck_assert_msg(h->end.kind == row->kind && h->end.code == row->code, "%s: end %d, code %u, %s",
                  row->name, h->end.kind, h->end.code, h->end.text);
    ck_assert_str_eq(h->end.text, row->text);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), row->resets);
    ck_assert_ptr_nonnull(t);
}

START_TEST(response_shape_has_one_meaning)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    say(rows[_i].bytes, rows[_i].len);
    run();
    check(&rows[_i], h);
    ck_assert_uint_eq(h->sent_last, 1);
    world_end();
}
END_TEST

START_TEST(response_byte_by_byte_means_the_same)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    for (size_t i = 0; i < rows[_i].len; i++) {
        say(rows[_i].bytes + i, 1);
        run();
    }
    check(&rows[_i], h);
    world_end();
}
END_TEST

START_TEST(connection_lives_on_after_each_shape)
{
    world_begin();
    (void)world_ready(2);
    say(rows[_i].bytes, rows[_i].len);
    say_answer(3);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(calls[1].messages, 1);
    ck_assert_str_eq(calls[1].grpc_status, "0");
    world_end();
}
END_TEST

/* C28 */
START_TEST(reply_that_is_not_grpc_is_told_raw)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h->wants_raw = true;
    SAY(F12);
    run();
    ck_assert_int_eq(h->http_status, 502);
    ck_assert_str_eq(h->content_type, "text/html");
    ck_assert_uint_eq(h->raw_len, 12);
    ck_assert_mem_eq(h->raw, "<h1>bad</h1>", 12);
    ck_assert_uint_eq(h->data_ends, 1);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

START_TEST(end_before_our_half_close_releases_the_stream)
{
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 200000);
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    SAY(F1);
    run();
    request.message = lull_slice_static(big, 200000);
    h = open_with(0, &request);
    run();
    ck_assert_uint_eq(h->sent, 1);
    ck_assert_uint_eq(h->sent_last, 0);
    SAY(F13);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert(h->end.was_finished);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 0);
    ck_assert_uint_eq(h2_transport_streams(t), 0);
    world_end();
    free(big);
}
END_TEST

/* C29 */
START_TEST(normal_ends_send_no_rst_stream)
{
    world_begin();
    SAY(F1);
    run();
    for (unsigned i = 0; i < 2000; i++) {
        (void)open_call(i);
        run();
        say_answer(2 * i + 1);
        run();
        ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
    }
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    world_end();
}
END_TEST

START_TEST(overrun_of_a_stream_window_is_that_streams_end)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    uint8_t *body = calloc(1, 16384);
    struct heard *h;
    options.stream_window_bytes = 20000;
    world_begin_as(&options, pipe, NULL);
    h = world_ready(1);
    SAY(F1A);
    SAY(F6);
    /* Stop taking bytes over, so that nothing is credited: the prefix never comes. */
    memcpy(body, "\0\0\1\0\0", 5);
    h->stream.raw = false;
    say_frame(0, 0, 1, body, 16384);
    say_frame(8, 0, 1, "\x7f\xff\xff\xff", 4);
    say_frame(8, 0, 1, "\x7f\xff\xff\xff", 4);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_str_eq(h->end.text, "the peer broke HTTP/2 on this stream: FLOW_CONTROL_ERROR");
    ck_assert_ptr_nonnull(t);
    world_end();
    free(body);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/session_cb");
    TCase *tc = tcase_create("session_cb");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, response_shape_has_one_meaning, 0, ROWS);
    tcase_add_loop_test(tc, response_byte_by_byte_means_the_same, 0, ROWS);
    tcase_add_loop_test(tc, connection_lives_on_after_each_shape, 0, ROWS);
    tcase_add_test(tc, reply_that_is_not_grpc_is_told_raw);
    tcase_add_test(tc, end_before_our_half_close_releases_the_stream);
    tcase_add_test(tc, normal_ends_send_no_rst_stream);
    tcase_add_test(tc, overrun_of_a_stream_window_is_that_streams_end);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/session_cb", suite)
