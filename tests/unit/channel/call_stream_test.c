/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_stream.c: responses as they come over the wire.
 */
#include <errno.h>
#include <string.h>

#include "lull/version.h"
#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call;

/* A call on stream 1 that was sent; the peer has said nothing. */
static struct peer *begin_sent(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    memset(&call, 0, sizeof(call));
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count_on(rig_peer(&rig, 0), FRAME_HEADERS, 1), 1);
    return rig_peer(&rig, 0);
}

static void headers_ok(struct peer *peer)
{
    peer_headers(peer, 1, 0, ":status", "200", "content-type", "application/grpc", NULL);
}

static void expect(enum lull_code code, const char *part)
{
    rig_settle(&rig);
    rig_expect(&call, code, 0);
    if (part != NULL) {
        rig_expect_text(&call, part);
    }
    rig_fini(&rig);
}

/* ---- each sends its response on stream 1 */

static void send_500_with_grpc_type(struct peer *peer)
{
    peer_headers(peer, 1, 0, ":status", "500", "content-type", "application/grpc", NULL);
    peer_message(peer, 1, "x", 1, 0);
    peer_trailers(peer, 1, "0");
}

static void send_without_status(struct peer *peer)
{
    peer_headers(peer, 1, 0, "content-type", "application/grpc", NULL);
    peer_trailers(peer, 1, "0");
}

static void send_1xx_first(struct peer *peer)
{
    peer_headers(peer, 1, 0, ":status", "100", NULL);
    peer_headers(peer, 1, 0, ":status", "101", NULL);
    peer_answer(peer, 1, "x");
}

static void send_headers_twice(struct peer *peer)
{
    headers_ok(peer);
    headers_ok(peer);
    peer_trailers(peer, 1, "0");
}

static void send_data_first(struct peer *peer)
{
    peer_message(peer, 1, "x", 1, 0);
    headers_ok(peer);
    peer_trailers(peer, 1, "0");
}

static void send_trailers_only_401(struct peer *peer)
{
    peer_headers(peer, 1, FLAG_END_STREAM, ":status", "401", "content-type", "application/grpc",
                 NULL);
}

static void send_trailers_only_431(struct peer *peer)
{
    peer_headers(peer, 1, FLAG_END_STREAM, ":status", "431", NULL);
}

static void send_trailers_only_without_http_status(struct peer *peer)
{
    peer_headers(peer, 1, FLAG_END_STREAM, "content-type", "application/grpc", "grpc-status", "0",
                 NULL);
}

static void send_end_on_data(struct peer *peer)
{
    headers_ok(peer);
    peer_message(peer, 1, "x", 1, FLAG_END_STREAM);
}

static void send_answer_then_rst(struct peer *peer)
{
    peer_answer(peer, 1, "x");
    peer_rst(peer, 1, 0);
}

static void send_rst_after_headers(struct peer *peer)
{
    headers_ok(peer);
    peer_rst(peer, 1, 0);
}

static void send_rst_after_data(struct peer *peer)
{
    headers_ok(peer);
    peer_message(peer, 1, "x", 1, 0);
    peer_rst(peer, 1, 0);
}

static void send_cut_message(struct peer *peer)
{
    static const uint8_t half[] = {0, 0, 0, 0, 9, 'h', 'a'};
    headers_ok(peer);
    peer_frame(peer, FRAME_DATA, 0, 1, half, sizeof(half));
    peer_trailers(peer, 1, "0");
}

static void send_no_message(struct peer *peer)
{
    headers_ok(peer);
    peer_trailers(peer, 1, "0");
}

static void send_two_messages(struct peer *peer)
{
    headers_ok(peer);
    peer_message(peer, 1, "x", 1, 0);
    peer_message(peer, 1, "y", 1, 0);
    peer_trailers(peer, 1, "0");
}

static void send_no_grpc_status(struct peer *peer)
{
    headers_ok(peer);
    peer_message(peer, 1, "x", 1, 0);
    peer_headers(peer, 1, FLAG_END_STREAM, "x-other", "1", NULL);
}

static void send_flag_2(struct peer *peer)
{
    static const uint8_t bad[] = {2, 0, 0, 0, 1, 'x'};
    headers_ok(peer);
    peer_frame(peer, FRAME_DATA, 0, 1, bad, sizeof(bad));
}

static void send_compressed(struct peer *peer)
{
    static const uint8_t bad[] = {1, 0, 0, 0, 1, 'x'};
    headers_ok(peer);
    peer_frame(peer, FRAME_DATA, 0, 1, bad, sizeof(bad));
}

static void send_too_long(struct peer *peer)
{
    static const uint8_t prefix[] = {0, 0, 0x40, 0, 1}; /* 4 MiB + 1 */
    headers_ok(peer);
    peer_frame(peer, FRAME_DATA, 0, 1, prefix, sizeof(prefix));
}

static void send_bad_base64(struct peer *peer)
{
    peer_headers(peer, 1, 0, ":status", "200", "content-type", "application/grpc", "x-bin", "!",
                 NULL);
}

/* C28: F12 and F13 */
static void send_f12(struct peer *peer)
{
    peer_send_hex(peer,
                  "00 00 11 01 04 00 00 00 01 08 03 35 30 32 0f 10 09 74 65 78 74 2f 68 74 6d 6c");
    peer_send_hex(peer, "00 00 0c 00 01 00 00 00 01 3c 68 31 3e 62 61 64 3c 2f 68 31 3e");
}

static void send_f13(struct peer *peer)
{
    peer_send_hex(
        peer,
        "00 00 46 01 05 00 00 00 01 08 03 35 30 33 0f 10 10 61 70 70 6c 69 63 61 74 69 6f 6e 2f"
        "67 72 70 63 00 0b 67 72 70 63 2d 73 74 61 74 75 73 02 31 34 00 0c 67 72 70 63 2d 6d 65"
        "73 73 61 67 65 0f 75 70 73 74 72 65 61 6d 25 32 30 64 6f 77 6e");
}

static const struct {
    const char *name;
    void (*send)(struct peer *peer);
    enum lull_code code;
    const char *text;
} shapes[] = {
    {"scenario 229", send_500_with_grpc_type, LULL_CODE_OK, NULL},
    {"scenario 230", send_without_status, LULL_CODE_INTERNAL, ":status"},
    {"scenario 232", send_1xx_first, LULL_CODE_OK, NULL},
    {"scenario 233", send_headers_twice, LULL_CODE_INTERNAL, ""},
    {"scenario 234", send_data_first, LULL_CODE_INTERNAL, "DATA"},
    {"scenario 236", send_trailers_only_401, LULL_CODE_UNAUTHENTICATED, "401"},
    {"scenario 237", send_trailers_only_431, LULL_CODE_INTERNAL, "431"},
    {"scenario 238", send_trailers_only_without_http_status, LULL_CODE_INTERNAL, ":status"},
    {"scenario 240", send_end_on_data, LULL_CODE_INTERNAL, "without sending trailers"},
    {"scenario 241", send_answer_then_rst, LULL_CODE_OK, NULL},
    {"scenario 271", send_rst_after_headers, LULL_CODE_INTERNAL, "NO_ERROR"},
    {"scenario 273", send_rst_after_data, LULL_CODE_INTERNAL, "NO_ERROR"},
    {"a message cut under status OK", send_cut_message, LULL_CODE_INTERNAL, "middle of a message"},
    {"no message under status OK", send_no_message, LULL_CODE_INTERNAL, "0 messages"},
    {"two messages under status OK", send_two_messages, LULL_CODE_INTERNAL, "2 messages"},
    {"trailers without grpc-status", send_no_grpc_status, LULL_CODE_UNKNOWN, "no grpc-status"},
    {"scenario 246, flag 2", send_flag_2, LULL_CODE_INTERNAL, "flag"},
    {"scenario 246, compressed", send_compressed, LULL_CODE_INTERNAL, "compressed"},
    {"scenario 246, too long", send_too_long, LULL_CODE_RESOURCE_EXHAUSTED, "4194305"},
    {"bad base64", send_bad_base64, LULL_CODE_INTERNAL, "base64"},
    {"C28 F12: status", send_f12, LULL_CODE_UNAVAILABLE, "502"},
    {"C28 F12: type", send_f12, LULL_CODE_UNAVAILABLE, "text/html"},
    {"C28 F12: body", send_f12, LULL_CODE_UNAVAILABLE, "<h1>bad</h1>"},
    {"C28 F13", send_f13, LULL_CODE_UNAVAILABLE, "upstream down"},
};

START_TEST(each_response_shape_ends_the_call_as_the_table_says)
{
    struct peer *peer = begin_sent();
    shapes[_i].send(peer);
    expect(shapes[_i].code, shapes[_i].text);
}
END_TEST

START_TEST(the_servers_status_comes_as_it_is)
{
    struct peer *peer = begin_sent();
    headers_ok(peer);
    peer_headers(peer, 1, FLAG_END_STREAM, "grpc-status", "5", "grpc-message", "no %E4%BD%A0 100%",
                 "x-a", "1", NULL);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_NOT_FOUND, 0);
    ck_assert_str_eq(call.message, "no \xe4\xbd\xa0 100%");
    ck_assert_int_eq(call.failure.reason, LULL_REASON_SERVER);
    ck_assert_int_eq(call.failure.phase, LULL_PHASE_DONE);
    ck_assert_int_eq(call.failure.http2_error, -1);
    ck_assert_uint_eq(call.trailers, 1);
    ck_assert_str_eq(call.reply, "");
    rig_fini(&rig);
}
END_TEST

START_TEST(metadata_goes_both_ways)
{
    struct lull_metadatum sent[] = {lull_metadatum_text("x-one", "1"),
                                    {"x-two-bin", 9, "\x00\xff", 2}};
    struct lull_call_options options;
    struct peer *peer = begin_sent();
    peer_answer(peer, 1, "x");
    rig_settle(&rig);
    lull_call_options_init(&options, "/pkg.Service/Other");
    options.metadata.items = sent;
    options.metadata.count = 2;
    rig_call(&rig, &call, &options);
    memset(sent, 0, sizeof(sent)); /* it was copied */
    rig_settle(&rig);
    ck_assert_str_eq(peer_field(peer, 3, "x-one"), "1");
    ck_assert_str_eq(peer_field(peer, 3, "x-two-bin"), "AP8");
    ck_assert_str_eq(peer_field(peer, 3, ":path"), "/pkg.Service/Other");
    ck_assert_str_eq(peer_field(peer, 3, ":authority"), RIG_TARGET);
    ck_assert_ptr_nonnull(strstr(peer_field(peer, 3, "user-agent"), "grpc-c-lull/" LULL_VERSION));
    peer_headers(peer, 3, 0, ":status", "200", "content-type", "application/grpc", "x-h", "1",
                 "x-h", "2", NULL);
    peer_message(peer, 3, "yes", 3, 0);
    peer_headers(peer, 3, FLAG_END_STREAM, "grpc-status", "0", "x-t", "3", NULL);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_str_eq(call.reply, "yes");
    ck_assert_uint_eq(call.headers, 2);
    ck_assert_uint_eq(call.trailers, 1);
    rig_fini(&rig);
}
END_TEST

/* scenario 248 */
START_TEST(metadata_over_the_limit_ends_one_call_only)
{
    struct rig_call next = {0};
    struct rig_step step = {.what = RIG_ACCEPT};
    char big[1500];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig.options.max_metadata_bytes = 1024;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_call_with(&rig, &next, LULL_NEVER, false);
    rig_settle(&rig);
    peer_headers(rig_peer(&rig, 0), 1, 0, ":status", "200", "content-type", "application/grpc",
                 "x-a", big, NULL);
    peer_answer(rig_peer(&rig, 0), 3, "x");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_RESOURCE_EXHAUSTED, 0);
    rig_expect_text(&call, "1024");
    ck_assert_int_eq(call.failure.reason, LULL_REASON_LIMIT);
    rig_expect(&next, LULL_CODE_OK, 0);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_lost_connection_under_a_call_is_told)
{
    struct peer *peer = begin_sent();
    headers_ok(peer);
    rig_settle(&rig);
    peer_close(peer);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 0);
    ck_assert_int_eq(call.failure.reason, LULL_REASON_TRANSPORT);
    ck_assert_str_eq(call.address, RIG_TARGET);
    ck_assert_uint_gt(call.failure.bytes_read, 0);
    ck_assert_uint_eq(rig.attempt_count, 1); /* the server saw it: not replayed */
    rig_fini(&rig);
}
END_TEST

START_TEST(a_broken_connection_tells_its_errno)
{
    (void)begin_sent();
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    endpoint_pipe_break(rig.attempts[0].client_end, ECONNRESET);
    lull_executor_leave(rig.executor);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 0);
    ck_assert_int_eq(call.failure.sys_errno, ECONNRESET);
    ck_assert_ptr_nonnull(strstr(call.line, "onnection reset"));
    rig_fini(&rig);
}
END_TEST

/* A page that never ends is not waited for. */
START_TEST(an_endless_page_is_cut_short)
{
    uint8_t page[300];
    struct peer *peer = begin_sent();
    memset(page, 'p', sizeof(page));
    peer_headers(peer, 1, 0, ":status", "404", "content-type", "text/plain", NULL);
    peer_frame(peer, FRAME_DATA, 0, 1, page, sizeof(page));
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_UNIMPLEMENTED, 0);
    ck_assert_int_eq(call.failure.http_status, 404);
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 1);
    rig_fini(&rig);
}
END_TEST

/* C29 */
START_TEST(finished_calls_reset_nothing)
{
    struct peer *peer = begin_sent();
    peer_answer(peer, 1, "x");
    peer->on_request = rig_answer_hello;
    for (int i = 0; i < 2000; i++) {
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_OK, 0);
        rig_call_with(&rig, &call, LULL_SECOND, false);
    }
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 2001);
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 0);
    rig_fini(&rig);
}
END_TEST

static Suite *call_stream_suite(void)
{
    Suite *suite = suite_create("call_stream");
    TCase *tcase = tcase_create("call_stream");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, each_response_shape_ends_the_call_as_the_table_says, 0,
                        (int)(sizeof(shapes) / sizeof(shapes[0])));
    tcase_add_test(tcase, the_servers_status_comes_as_it_is);
    tcase_add_test(tcase, metadata_goes_both_ways);
    tcase_add_test(tcase, metadata_over_the_limit_ends_one_call_only);
    tcase_add_test(tcase, a_lost_connection_under_a_call_is_told);
    tcase_add_test(tcase, a_broken_connection_tells_its_errno);
    tcase_add_test(tcase, an_endless_page_is_cut_short);
    tcase_add_test(tcase, finished_calls_reset_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_stream", call_stream_suite)
