/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_call_verbs.c: what an application may say to a call, and when.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raw;
static uint8_t zeros[70000];

/* A call whose client speaks frames by hand and has not half-closed. */
static struct lull_server_call *begin(void)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    ck_assert_ptr_nonnull(rig.calls[0].call);
    return rig.calls[0].call;
}

static void stop(void)
{
    raw_fini(&raw);
    rig_fini(&rig);
}

static struct lull_slice bytes(size_t len)
{
    return lull_slice_static(zeros, len);
}

START_TEST(headers_go_once_and_before_the_rest)
{
    struct lull_server_call *call = begin();
    const struct lull_metadatum pair = lull_metadatum_text("x-a", "1");
    const struct lull_metadata metadata = {&pair, 1};
    ck_assert_int_eq(lull_server_call_respond_headers(call, &metadata), LULL_OK);
    ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_RC_STATE);
    rig_settle(&rig);
    ck_assert(raw_has_field(&raw, 1, 0, ":status: 200"));
    ck_assert(raw_has_field(&raw, 1, 0, "content-type: application/grpc"));
    ck_assert(raw_has_field(&raw, 1, 0, "x-a: 1"));
    ck_assert_ptr_null(raw_find(&raw, FRAME_DATA, 0));
    stop();
}
END_TEST

START_TEST(a_message_brings_its_headers_along)
{
    struct lull_server_call *call = begin();
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("abc", 3)), LULL_OK);
    ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_RC_STATE);
    rig_settle(&rig);
    ck_assert_ptr_nonnull(raw_find_on(&raw, FRAME_HEADERS, 1, 0));
    const struct raw_frame *data = raw_find_on(&raw, FRAME_DATA, 1, 0);
    ck_assert_ptr_nonnull(data);
    ck_assert_mem_eq(data->head, "\0\0\0\0\3abc", 8);
    stop();
}
END_TEST

START_TEST(a_finish_without_a_message_is_one_block)
{
    struct lull_server_call *call = begin();
    const struct lull_metadatum pair = lull_metadatum_text("x-t", "2");
    const struct lull_metadata metadata = {&pair, 1};
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_NOT_FOUND, "no \xc3\xa9", &metadata),
                     LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_RC_STATE);
    ck_assert_int_eq(lull_server_call_send(call, bytes(1)), LULL_RC_STATE);
    ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_RC_STATE);
    rig_settle(&rig);
    ck_assert(raw_has_field(&raw, 1, 0, ":status: 200"));
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-status: 5"));
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-message: no %C3%A9"));
    ck_assert(raw_has_field(&raw, 1, 0, "x-t: 2"));
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 1));
    /* The client was still sending. */
    ck_assert_uint_eq(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0)->code, 0);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_FINISHED);
    stop();
}
END_TEST

START_TEST(a_code_that_is_none_is_unknown)
{
    struct lull_server_call *call = begin();
    const int code = 4711;
    ck_assert_int_eq(lull_server_call_finish(call, (enum lull_code)code, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-status: 2"));
    stop();
}
END_TEST

START_TEST(metadata_that_is_not_legal_is_refused_and_nothing_is_sent)
{
    struct lull_server_call *call = begin();
    const struct lull_metadatum pair = lull_metadatum_text("grpc-status", "0");
    const struct lull_metadata metadata = {&pair, 1};
    ck_assert_int_eq(lull_server_call_respond_headers(call, &metadata), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, &metadata), LULL_RC_INVALID);
    rig_settle(&rig);
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 0));
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    stop();
}
END_TEST

START_TEST(a_full_queue_says_again_and_room_is_told_once)
{
    struct lull_server_call *call = begin();
    int taken = 0;
    /* The client's window is 65 535 bytes: what is above it stays in the queue. */
    for (; lull_server_call_send(call, bytes(10000)) == LULL_OK; taken++) {
        ck_assert_int_lt(taken, 100);
    }
    ck_assert_int_eq(taken, 7);
    ck_assert_int_eq(lull_server_call_send(call, bytes(1)), LULL_RC_AGAIN);
    rig_settle(&rig);
    /* Most of it went into the window. */
    ck_assert_uint_eq(rig.calls[0].writable, 1);
    while (lull_server_call_send(call, bytes(10000)) == LULL_OK) {
    }
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].writable, 1);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 0, "\0\1\0\0", 4);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 1, "\0\1\0\0", 4);
    ck_assert_uint_eq(rig.calls[0].writable, 2);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 0, "\0\1\0\0", 4);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 1, "\0\1\0\0", 4);
    ck_assert_uint_eq(rig.calls[0].writable, 2);
    stop();
}
END_TEST

START_TEST(the_status_waits_behind_what_is_queued)
{
    struct lull_server_call *call = begin();
    ck_assert_int_eq(lull_server_call_send(call, bytes(70000)), LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 1));
    ck_assert_uint_eq(rig.closed, 0);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 0, "\0\1\0\0", 4);
    raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, 1, "\0\1\0\0", 4);
    ck_assert(raw_has_field(&raw, 1, 1, "grpc-status: 0"));
    ck_assert_uint_eq(rig.closed, 1);
    stop();
}
END_TEST

START_TEST(a_message_above_the_limit_is_not_taken)
{
    rig_init(&rig);
    rig.options.max_send_message_bytes = 9;
    rig_open(&rig);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, bytes(10)), LULL_RC_LIMIT);
    ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, bytes(9)), LULL_OK);
    stop();
}
END_TEST

START_TEST(a_pause_holds_messages_and_half_close_and_keeps_their_order)
{
    rig_init(&rig);
    rig.pauses = true;
    rig_open(&rig);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_message(&raw, 1, "one", 3, false);
    raw_message(&raw, 1, "two", 3, true);
    ck_assert_uint_eq(rig.calls[0].begun, 1);
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    ck_assert_uint_eq(rig.calls[0].half_closed, 0);
    lull_server_call_pause(rig.calls[0].call);
    lull_server_call_resume(rig.calls[0].call);
    /* From a task, not inline. */
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].messages, 2);
    ck_assert_str_eq(rig.calls[0].last, "two");
    ck_assert_uint_eq(rig.calls[0].half_closed, 1);
    lull_server_call_resume(rig.calls[0].call);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].half_closed, 1);
    stop();
}
END_TEST

START_TEST(a_cancel_is_heard_in_a_pause_and_drops_what_is_held)
{
    rig_init(&rig);
    rig.pauses = true;
    rig_open(&rig);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_message(&raw, 1, "one", 3, false);
    raw_reset(&raw, 1, 8);
    ck_assert_uint_eq(rig.calls[0].closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_CANCELLED);
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    stop();
}
END_TEST

/* Counts in what it is given, and asks for another counter from then on. */
static unsigned counted[2];

static void count_call(struct lull_server_call *call, const struct lull_server_request *request,
                       void *ctx)
{
    (void)request;
    ++*(unsigned *)ctx;
    lull_server_call_set_ctx(call, &counted[1]);
}

static void count_half_close(struct lull_server_call *call, void *ctx)
{
    (void)call;
    ++*(unsigned *)ctx;
}

START_TEST(a_call_may_have_a_ctx_of_its_own)
{
    struct lull_server_handler handler;
    counted[0] = counted[1] = 0;
    rig_start(&rig, APP_HOLDS);
    lull_server_handler_init(&handler);
    handler.on_call = count_call;
    handler.on_half_closed = count_half_close;
    ck_assert_int_eq(lull_server_add(rig.server, "/other.Service/Method", &handler, &counted[0]),
                     LULL_OK);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, "/other.Service/Method", true, NULL);
    raw_request(&raw, 3, "/other.Service/Method", true, NULL);
    ck_assert_uint_eq(counted[0], 2);
    ck_assert_uint_eq(counted[1], 2);
    stop();
}
END_TEST

/* ---- more than one header block holds */

static char letters[70001];

static struct lull_metadatum long_pair(size_t len)
{
    memset(letters, 'v', sizeof(letters) - 1);
    letters[len] = '\0';
    return (struct lull_metadatum){"k", 1, letters, len};
}

/* nghttp2 would keep such a block to itself, and nobody would ever hear of the call. */
START_TEST(metadata_beyond_a_header_block_is_refused_and_the_call_goes_on)
{
    struct lull_server_call *call = begin();
    const struct lull_metadatum pair = long_pair(70000);
    const struct lull_metadata metadata = {&pair, 1};
    ck_assert_int_eq(lull_server_call_respond_headers(call, &metadata), LULL_RC_LIMIT);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, &metadata), LULL_RC_LIMIT);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_INTERNAL, letters, NULL),
                     LULL_RC_LIMIT);
    ck_assert_int_eq(lull_server_call_send(call, bytes(3)), LULL_OK);
    /* Behind a message that waits, and behind one that does not. */
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, &metadata), LULL_RC_LIMIT);
    rig_settle(&rig);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, letters, NULL), LULL_RC_LIMIT);
    ck_assert_uint_eq(rig.calls[0].closed, 0);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.calls[0].closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_FINISHED);
    ck_assert(raw_has_field(&raw, 1, 1, "grpc-status: 0"));
    stop();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_call_verbs");
    TCase *t = tcase_create("server_call_verbs");
    tcase_add_test(t, headers_go_once_and_before_the_rest);
    tcase_add_test(t, a_message_brings_its_headers_along);
    tcase_add_test(t, a_finish_without_a_message_is_one_block);
    tcase_add_test(t, a_code_that_is_none_is_unknown);
    tcase_add_test(t, metadata_that_is_not_legal_is_refused_and_nothing_is_sent);
    tcase_add_test(t, a_full_queue_says_again_and_room_is_told_once);
    tcase_add_test(t, the_status_waits_behind_what_is_queued);
    tcase_add_test(t, a_message_above_the_limit_is_not_taken);
    tcase_add_test(t, a_pause_holds_messages_and_half_close_and_keeps_their_order);
    tcase_add_test(t, a_cancel_is_heard_in_a_pause_and_drops_what_is_held);
    tcase_add_test(t, a_call_may_have_a_ctx_of_its_own);
    tcase_add_test(t, metadata_beyond_a_header_block_is_refused_and_the_call_goes_on);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_call_verbs", suite)
