/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_call.c: what a call is told, in which order, and its one end. The client is src/channel's.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raw;

START_TEST(a_unary_call_comes_back)
{
    struct unary unary;
    rig_start(&rig, APP_ECHOES);
    unary_run(&unary, &rig, RIG_METHOD, "hello", LULL_CODE_OK);
    ck_assert_str_eq(unary.reply, "hello");
    const struct app_call *app = &rig.calls[0];
    ck_assert_str_eq(app->method, RIG_METHOD);
    ck_assert_str_eq(app->authority, RIG_TARGET);
    ck_assert_int_eq(app->left_ns, LULL_NEVER);
    ck_assert_uint_eq(app->messages, 1);
    ck_assert_uint_eq(app->half_closed, 1);
    ck_assert_int_eq(app->end, LULL_SERVER_END_FINISHED);
    ck_assert_str_eq(app->why, "");
    rig_fini(&rig);
}
END_TEST

START_TEST(an_empty_message_is_one)
{
    struct unary unary;
    rig_start(&rig, APP_ECHOES);
    unary_run(&unary, &rig, RIG_METHOD, "", LULL_CODE_OK);
    ck_assert_uint_eq(unary.reply_len, 0);
    ck_assert_uint_eq(rig.calls[0].messages, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_status_and_its_message_reach_the_client)
{
    struct unary unary;
    rig_start(&rig, APP_FAILS);
    unary_run(&unary, &rig, RIG_METHOD, "hello", LULL_CODE_INVALID_ARGUMENT);
    ck_assert_str_eq(unary.message, "no");
    /* It was finished in on_call: the message that came with it is nobody's. */
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    ck_assert_uint_eq(rig.calls[0].half_closed, 0);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_FINISHED);
    rig_fini(&rig);
}
END_TEST

/* scenarios 264, 265 */
START_TEST(an_unknown_method_is_unimplemented_and_tells_nobody)
{
    struct unary unary;
    rig_start(&rig, APP_ECHOES);
    unary_run(&unary, &rig, "/pkg.Service/Other", "hello", LULL_CODE_UNIMPLEMENTED);
    ck_assert_str_eq(unary.message, "unknown method /pkg.Service/Other");
    ck_assert_uint_eq(rig.begun, 0);
    ck_assert_uint_eq(rig_stats(&rig).calls_made, 1);
    ck_assert_uint_eq(rig_stats(&rig).calls, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(the_deadline_is_told_and_ends_the_call_at_both_ends)
{
    struct unary unary;
    rig_start(&rig, APP_HOLDS);
    unary_start(&unary, &rig, RIG_METHOD, "hello", 300 * LULL_MS);
    rig_settle(&rig);
    ck_assert_int_eq(rig.calls[0].left_ns, 300 * LULL_MS);
    ck_assert_int_eq(lull_server_call_left_ns(rig.calls[0].call), 300 * LULL_MS);
    rig_advance(&rig, 300 * LULL_MS - 1);
    ck_assert_uint_eq(rig.closed, 0);
    ck_assert_int_eq(lull_server_call_left_ns(rig.calls[0].call), 1);
    rig_advance(&rig, 1);
    unary_expect(&unary, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].closed_at_ns, 300 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

static void expect_status_4(uint32_t stream, size_t nth_headers)
{
    const struct raw_frame *headers = raw_find_on(&raw, FRAME_HEADERS, stream, nth_headers);
    ck_assert_ptr_nonnull(headers);
    ck_assert_uint_eq(headers->flags & FRAME_END_STREAM, FRAME_END_STREAM);
    ck_assert(raw_has_field(&raw, stream, nth_headers, "grpc-status: 4"));
    ck_assert(raw_has_field(&raw, stream, nth_headers, "grpc-message: the deadline passed"));
}

START_TEST(a_client_that_forgets_its_deadline_is_told_in_trailers_and_to_stop)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, "grpc-timeout", "50m", NULL);
    raw_message(&raw, 1, "abc", 3, false);
    rig_advance(&rig, 50 * LULL_MS - 1);
    ck_assert_uint_eq(rig.closed, 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_DEADLINE);
    ck_assert_str_eq(rig.calls[0].why, "the deadline passed");
    expect_status_4(1, 0);
    ck_assert_ptr_nonnull(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0));
    ck_assert_uint_eq(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0)->code, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

/* What is queued behind a closed window when the deadline passes. */
static const struct {
    size_t first; /* 0: no message */
    bool finishes;
    bool is_reset; /* CANCEL: the window holds a part of a message */
} queued[] = {
    {0, false, false},    {65530, false, false}, {65530, true, false},
    {70000, false, true}, {70000, true, true},
};

START_TEST(at_the_deadline_the_status_passes_closed_windows_unless_a_message_is_half_out)
{
    static const uint8_t zeros[70000];
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, true, "grpc-timeout", "50m", NULL);
    struct lull_server_call *call = rig.calls[0].call;
    ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_OK);
    if (queued[_i].first != 0) {
        /* 65 535 bytes are what the client takes; a prefix has five. */
        ck_assert_int_eq(lull_server_call_send(call, lull_slice_static(zeros, queued[_i].first)),
                         LULL_OK);
        rig_settle(&rig);
        ck_assert_int_eq(lull_server_call_send(call, lull_slice_static(zeros, 10)), LULL_OK);
    }
    if (queued[_i].finishes) {
        ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, "fine", NULL), LULL_OK);
    }
    rig_advance(&rig, 50 * LULL_MS - 1);
    ck_assert_uint_eq(rig.closed, 0);
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 1));
    rig_advance(&rig, 1);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_DEADLINE);
    if (queued[_i].is_reset) {
        ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 1));
        ck_assert_uint_eq(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0)->code, 8);
    } else {
        expect_status_4(1, 1);
        ck_assert_ptr_null(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0));
    }
    /* The stream is gone, the connection works. */
    ck_assert_uint_eq(rig_stats(&rig).calls, 0);
    raw_request(&raw, 3, RIG_METHOD, true, "grpc-timeout", "0n", NULL);
    expect_status_4(3, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_status_that_is_on_its_way_at_the_deadline_stands)
{
    /* The answer is given in the turn of the expiry, before it. */
    rig_start(&rig, APP_FAILS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, true, "grpc-timeout", "0n", NULL);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_DEADLINE);
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-status: 3"));
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_HEADERS, 1, 1));
    ck_assert_ptr_null(raw_find_on(&raw, FRAME_RST_STREAM, 1, 0));
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_deadline_that_has_passed_on_arrival_is_told_and_ended_in_one_turn)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, true, "grpc-timeout", "0n", NULL);
    ck_assert_uint_eq(rig.begun, 1);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].left_ns, 0);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_DEADLINE);
    expect_status_4(1, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_cancel_is_told)
{
    struct unary unary;
    rig_start_holding(&rig, &unary);
    lull_call_cancel(unary.call);
    rig_settle(&rig);
    unary_expect(&unary, LULL_CODE_CANCELLED);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_CANCELLED);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_call_that_is_taken_back_in_the_same_read_is_never_told)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    /* Both are there when the server reads again. */
    lull_server_set_silent(rig.server, true);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    raw_reset(&raw, 1, 8);
    lull_server_set_silent(rig.server, false);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.begun, 0);
    ck_assert_uint_eq(rig.closed, 0);
    ck_assert_uint_eq(rig_stats(&rig).calls_made, 1);
    ck_assert_uint_eq(rig_stats(&rig).calls, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_lost_connection_ends_its_calls)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_request(&raw, 3, RIG_METHOD, true, NULL);
    raw_close(&raw);
    ck_assert_uint_eq(rig.closed, 2);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LOST);
    ck_assert_int_eq(rig.calls[1].end, LULL_SERVER_END_LOST);
    ck_assert_uint_gt(strlen(rig.calls[0].why), 5);
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_message_over_the_limit_ends_its_call_alone)
{
    struct unary large;
    struct unary small;
    rig_init(&rig);
    rig.options.max_recv_message_bytes = 10;
    rig.way = APP_ECHOES;
    rig_open(&rig);
    unary_start(&large, &rig, RIG_METHOD, "01234567890", LULL_NEVER);
    unary_start(&small, &rig, RIG_METHOD, "0123456789", LULL_NEVER);
    rig_settle(&rig);
    ck_assert_uint_eq(large.done, 1);
    ck_assert_int_ne(large.code, LULL_CODE_OK);
    unary_expect(&small, LULL_CODE_OK);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LIMIT);
    ck_assert_uint_eq(rig.calls[0].messages, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_call_that_is_cut_within_a_message_ends_protocol)
{
    rig_start(&rig, APP_ECHOES);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    raw_frame(&raw, FRAME_DATA, FRAME_END_STREAM, 1, "\0\0\0\0\5ab", 7);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_PROTOCOL);
    ck_assert_uint_eq(rig.calls[0].half_closed, 0);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(metadata_comes_decoded_and_in_order)
{
    struct lull_metadatum pairs[] = {lull_metadatum_text("x-a", "1"),
                                     {"x-b-bin", 7, "\0\xff\x01", 3},
                                     lull_metadatum_text("x-a", "2")};
    struct lull_call_options options;
    struct unary unary;
    rig_start(&rig, APP_HOLDS);
    lull_call_options_init(&options, RIG_METHOD);
    options.metadata.items = pairs;
    options.metadata.count = 3;
    unary_start_with(&unary, &rig, &options, lull_slice_static("q", 1));
    rig_settle(&rig);
    struct lull_server_call *call = rig.calls[0].call;
    struct lull_metadata seen = lull_server_call_metadata(call);
    const struct lull_metadatum *binary = lull_metadata_find(&seen, "x-b-bin", 0);
    ck_assert_ptr_nonnull(binary);
    ck_assert_uint_eq(binary->value_len, 3);
    ck_assert_mem_eq(binary->value, "\0\xff\x01", 3);
    ck_assert_mem_eq(lull_metadata_find(&seen, "x-a", 1)->value, "2", 1);
    ck_assert_ptr_null(lull_metadata_find(&seen, "grpc-timeout", 0));
    ck_assert_str_ne(lull_server_call_peer(call), "");
    /* And the same pairs back, both ways. */
    ck_assert_int_eq(lull_server_call_respond_headers(call, &options.metadata), LULL_OK);
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("r", 1)), LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, "", &options.metadata), LULL_OK);
    rig_settle(&rig);
    unary_expect(&unary, LULL_CODE_OK);
    ck_assert_uint_eq(unary.headers, 3);
    ck_assert_uint_eq(unary.trailers, 3);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_thousand_calls_at_a_time)
{
    struct unary *unaries = calloc(1000, sizeof(*unaries));
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig_open(&rig);
    for (int i = 0; i < 1000; i++) {
        char *text = malloc(24);
        snprintf(text, 24, "call %d", i);
        unary_start(&unaries[i], &rig, RIG_METHOD, text, LULL_NEVER);
        rig_settle(&rig); /* its bytes are borrowed until it has left */
        free(text);
    }
    ck_assert_uint_eq(rig_stats(&rig).calls, 1000);
    ck_assert_uint_eq(rig_stats(&rig).connections_made, 1);
    for (int i = 999; i >= 0; i--) {
        struct lull_server_call *call = rig.calls[i].call;
        ck_assert_int_eq(lull_server_call_send(
                             call, lull_slice_static(rig.calls[i].last, strlen(rig.calls[i].last))),
                         LULL_OK);
        ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    }
    rig_settle(&rig);
    for (int i = 0; i < 1000; i++) {
        char text[24];
        snprintf(text, sizeof(text), "call %d", i);
        unary_expect(&unaries[i], LULL_CODE_OK);
        ck_assert_str_eq(unaries[i].reply, text);
    }
    free(unaries);
    rig_fini(&rig);
}
END_TEST

START_TEST(the_server_may_be_freed_in_any_callback)
{
    for (unsigned n = 1; n <= 4; n++) {
        struct unary unary;
        rig_init(&rig);
        rig.way = APP_ECHOES;
        rig.frees_in = n;
        rig_open(&rig);
        unary_start(&unary, &rig, RIG_METHOD, "hello", LULL_NEVER);
        /* The address refuses from then on, or it would name a server that is gone. */
        for (int i = 0; i < 20 && rig.server != NULL; i++) {
            rig_settle(&rig);
        }
        rig.host->refuse_errno = 111;
        ck_assert_uint_eq(rig.callbacks, n == 4 ? 4 : n + 1);
        ck_assert_uint_eq(rig.closed, 1);
        rig_advance(&rig, LULL_SECOND);
        ck_assert_uint_eq(unary.done, 1);
        rig_fini(&rig);
    }
}
END_TEST

START_TEST(a_held_handle_outlives_its_call)
{
    struct unary unary;
    rig_start_holding(&rig, &unary);
    struct lull_server_call *call = rig.calls[0].call;
    lull_server_call_ref(call);
    lull_call_cancel(unary.call);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("x", 1)), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_RC_CLOSED);
    lull_server_call_pause(call);
    lull_server_call_resume(call);
    ck_assert_str_eq(lull_server_call_method(call), RIG_METHOD);
    lull_server_call_unref(call);
    lull_server_call_unref(NULL);
    lull_server_call_ref(NULL);
    rig_fini(&rig);
}
END_TEST

START_TEST(every_end_has_a_name)
{
    ck_assert_str_eq(lull_server_end_name(LULL_SERVER_END_FINISHED), "FINISHED");
    ck_assert_str_eq(lull_server_end_name(LULL_SERVER_END_CLOSED), "CLOSED");
    ck_assert_str_eq(lull_server_end_name(LULL_SERVER_END_DEADLINE), "DEADLINE");
    ck_assert_str_eq(lull_server_end_name(99), "unknown");
    ck_assert_str_eq(lull_server_end_name(-1), "unknown");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_call");
    TCase *t = tcase_create("server_call");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_unary_call_comes_back);
    tcase_add_test(t, an_empty_message_is_one);
    tcase_add_test(t, a_status_and_its_message_reach_the_client);
    tcase_add_test(t, an_unknown_method_is_unimplemented_and_tells_nobody);
    tcase_add_test(t, the_deadline_is_told_and_ends_the_call_at_both_ends);
    tcase_add_test(t, a_client_that_forgets_its_deadline_is_told_in_trailers_and_to_stop);
    tcase_add_loop_test(
        t, at_the_deadline_the_status_passes_closed_windows_unless_a_message_is_half_out, 0,
        (int)(sizeof(queued) / sizeof(queued[0])));
    tcase_add_test(t, a_status_that_is_on_its_way_at_the_deadline_stands);
    tcase_add_test(t, a_deadline_that_has_passed_on_arrival_is_told_and_ended_in_one_turn);
    tcase_add_test(t, a_cancel_is_told);
    tcase_add_test(t, a_call_that_is_taken_back_in_the_same_read_is_never_told);
    tcase_add_test(t, a_lost_connection_ends_its_calls);
    tcase_add_test(t, a_message_over_the_limit_ends_its_call_alone);
    tcase_add_test(t, a_call_that_is_cut_within_a_message_ends_protocol);
    tcase_add_test(t, metadata_comes_decoded_and_in_order);
    tcase_add_test(t, a_thousand_calls_at_a_time);
    tcase_add_test(t, the_server_may_be_freed_in_any_callback);
    tcase_add_test(t, a_held_handle_outlives_its_call);
    tcase_add_test(t, every_end_has_a_name);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_call", suite)
