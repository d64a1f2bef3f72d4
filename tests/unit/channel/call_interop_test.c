/* SPDX-License-Identifier: MIT */
/*
 * Unary calls as the interoperability tests make them (scenarios 255, 261, 262, 274); 256 to 260, 266 to 268 are in call_kinds_test.c, 263
 * in percent_test.c, 264 and 265 in server_call_test.c. 269 asks for compressed messages, which there are not (README.md); that one which
 * comes nevertheless is refused is scenario 246, in call_stream_test.c.
 */
#include <string.h>

#include "lull/call.h"
#include "tests/support/check_main.h"
#include "told.h"

#define GRPC_OK ":status", "200", "content-type", "application/grpc"

static struct rig rig;
static struct server server;

/* What the last call was told. */
static struct {
    unsigned done;
    enum lull_code code;
    char message[100];
    size_t reply_len;
    char initial[100];
    uint8_t trailing[16];
    size_t trailing_len;
    size_t headers, trailers;
} heard;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    const struct lull_metadatum *item;
    (void)call;
    (void)ctx;
    memset(&heard, 0, sizeof(heard));
    heard.done = 1;
    heard.code = result->status.code;
    memcpy(heard.message, result->status.message, result->status.message_len);
    heard.reply_len = result->message.len;
    heard.headers = result->headers.count;
    heard.trailers = result->trailers.count;
    item = lull_metadata_find(&result->headers, "x-grpc-test-echo-initial", 0);
    if (item != NULL) {
        memcpy(heard.initial, item->value, item->value_len);
    }
    item = lull_metadata_find(&result->trailers, "x-grpc-test-echo-trailing-bin", 0);
    if (item != NULL) {
        heard.trailing_len = item->value_len;
        memcpy(heard.trailing, item->value, item->value_len);
    }
}

/* A call with this metadata and an empty message is sent; the peer has said nothing. */
static struct peer *begin(struct lull_metadatum *items, size_t count)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    struct lull_call_options options;
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    lull_call_options_init(&options, "/grpc.testing.TestService/EmptyCall");
    options.metadata.items = items;
    options.metadata.count = count;
    ck_assert_int_eq(lull_call_unary(rig.channel, &options, lull_slice_static("", 0), on_done, NULL, NULL, NULL), LULL_OK);
    memset(&heard, 0, sizeof(heard));
    rig_settle(&rig);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    ck_assert_uint_eq(server.streams[0].total, 0);
    ck_assert(server.streams[0].is_ended);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

/* scenario 255 */
START_TEST(an_empty_unary_call_is_ok)
{
    struct peer *peer = begin(NULL, 0);
    peer_headers(peer, 1, 0, GRPC_OK, NULL);
    server_send(peer, 1, "", 0);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    ck_assert_uint_eq(heard.done, 1);
    ck_assert_int_eq(heard.code, LULL_CODE_OK);
    ck_assert_uint_eq(heard.reply_len, 0);
    end();
}
END_TEST

/* scenario 261 */
START_TEST(custom_metadata_is_echoed_in_headers_and_trailers)
{
    struct lull_metadatum items[] = {
        lull_metadatum_text("x-grpc-test-echo-initial", "test_initial_metadata_value"),
        {"x-grpc-test-echo-trailing-bin", 29, "\xab\xab\xab", 3},
    };
    struct peer *peer = begin(items, 2);
    ck_assert_str_eq(peer_field(peer, 1, "x-grpc-test-echo-initial"), "test_initial_metadata_value");
    ck_assert_str_eq(peer_field(peer, 1, "x-grpc-test-echo-trailing-bin"), "q6ur");
    peer_headers(peer, 1, 0, GRPC_OK, "x-grpc-test-echo-initial", "test_initial_metadata_value", NULL);
    server_send(peer, 1, "", 0);
    peer_headers(peer, 1, FLAG_END_STREAM, "grpc-status", "0", "x-grpc-test-echo-trailing-bin", "q6ur", NULL);
    rig_settle(&rig);
    ck_assert_int_eq(heard.code, LULL_CODE_OK);
    ck_assert_str_eq(heard.initial, "test_initial_metadata_value");
    ck_assert_uint_eq(heard.trailing_len, 3);
    ck_assert_mem_eq(heard.trailing, "\xab\xab\xab", 3);
    ck_assert_uint_eq(heard.headers, 1);
    ck_assert_uint_eq(heard.trailers, 1);
    end();
}
END_TEST

/* scenario 262, with headers before it and as trailers alone */
START_TEST(a_status_and_its_message_come_as_they_are)
{
    struct peer *peer = begin(NULL, 0);
    if (_i == 0) {
        peer_headers(peer, 1, 0, GRPC_OK, NULL);
        peer_headers(peer, 1, FLAG_END_STREAM, "grpc-status", "2", "grpc-message", "test status message", NULL);
    } else {
        peer_headers(peer, 1, FLAG_END_STREAM, GRPC_OK, "grpc-status", "2", "grpc-message", "test status message", NULL);
    }
    rig_settle(&rig);
    ck_assert_int_eq(heard.code, LULL_CODE_UNKNOWN);
    ck_assert_str_eq(heard.message, "test status message");
    end();
}
END_TEST

/* PINGs that the client has acknowledged, each with the bytes it came with. */
static unsigned acknowledged;

static void ping(struct peer *peer)
{
    const uint8_t payload[8] = {'p', 'i', 'n', 'g', 0, 0, 0, (uint8_t)acknowledged};
    size_t before = peer->frame_count;
    peer_frame(peer, FRAME_PING, 0, 0, payload, 8);
    rig_settle(&rig);
    for (; before < peer->frame_count; before++) {
        const struct peer_frame *frame = &peer->frames[before];
        if (frame->type == FRAME_PING && frame->flags == FLAG_ACK) {
            ck_assert_mem_eq(frame->head, payload, 8);
            acknowledged++;
        }
    }
}

/* scenario 274 */
START_TEST(pings_about_headers_and_data_are_all_answered)
{
    struct peer *peer = begin(NULL, 0);
    acknowledged = 0;
    ping(peer);
    peer_headers(peer, 1, 0, GRPC_OK, NULL);
    ping(peer);
    ping(peer);
    server_send(peer, 1, "0123456789", 10);
    ping(peer);
    ck_assert_uint_eq(acknowledged, 4);
    ck_assert_uint_eq(heard.done, 0);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    ck_assert_int_eq(heard.code, LULL_CODE_OK);
    ck_assert_uint_eq(heard.reply_len, 10);
    peer_close(peer);
    rig_settle(&rig);
    ck_assert_uint_eq(acknowledged, 4);
    ck_assert_uint_eq(peer_count(peer, FRAME_PING), 0); /* and none of its own */
    end();
}
END_TEST

static Suite *call_interop_suite(void)
{
    Suite *suite = suite_create("call_interop");
    TCase *tcase = tcase_create("call_interop");
    tcase_add_test(tcase, an_empty_unary_call_is_ok);
    tcase_add_test(tcase, custom_metadata_is_echoed_in_headers_and_trailers);
    tcase_add_loop_test(tcase, a_status_and_its_message_come_as_they_are, 0, 2);
    tcase_add_test(tcase, pings_about_headers_and_data_are_all_answered);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_interop", call_interop_suite)
