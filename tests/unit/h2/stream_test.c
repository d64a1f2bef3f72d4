/* SPDX-License-Identifier: MIT */
/* Resets and ends of one stream (BEHAVIOUR 2.11). */
#include "h2/stream.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/frames.h"

START_TEST(reset_sends_rst_stream_with_the_code)
{
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h2_stream_reset(&h->stream, 8);
    ck_assert_uint_eq(h->closed, 0); /* told from a task, never inline */
    ck_assert_uint_eq(h2_transport_streams(t), 0);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert_uint_eq(h->end.code, 8);
    ck_assert(h->end.has_code);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 8);
    world_end();
}
END_TEST

START_TEST(second_reset_does_nothing)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h2_stream_reset(&h->stream, 8);
    h2_stream_reset(&h->stream, 2);
    run();
    h2_stream_reset(&h->stream, 3);
    run();
    ck_assert_uint_eq(h->end.code, 8);
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 1);
    world_end();
}
END_TEST

/* BEHAVIOUR 2.16: nghttp2 pops the queued HEADERS and drops them. */
START_TEST(stream_reset_before_the_flush_leaves_no_bytes)
{
    size_t before;
    struct heard *h;
    world_begin();
    SAY(F1);
    run();
    before = out_len;
    h = open_call(0);
    h2_stream_reset(&h->stream, 8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert_uint_eq(h->sent, 0);
    ck_assert_uint_eq(out_len, before);
    world_end();
}
END_TEST

START_TEST(reset_of_one_of_many_before_the_flush_keeps_the_others)
{
    world_begin();
    SAY(F1);
    run();
    for (unsigned i = 0; i < 5; i++) {
        (void)open_call(i);
    }
    h2_stream_reset(&calls[0].stream, 8);
    h2_stream_reset(&calls[2].stream, 8);
    h2_stream_reset(&calls[4].stream, 8);
    run();
    ck_assert_uint_eq(sent_count(1, UINT32_MAX), 2);
    ck_assert_uint_eq(sent_count(1, 3) + sent_count(1, 7), 2);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    say_answer(3);
    say_answer(7);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_int_eq(calls[3].end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

/* The window between submit and flush, held open by a socket that takes nothing. */
START_TEST(stream_reset_while_the_socket_is_full_leaves_no_bytes)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 60000);
    struct heard *h;
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 60000);
    (void)open_with(0, &request);
    run();
    h = open_call(1);
    run(); /* stands behind what is unsent */
    ck_assert_uint_eq(h->sent, 0);
    h2_stream_reset(&h->stream, 8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    world_drain(true);
    run();
    ck_assert_uint_eq(calls[0].sent_last, 1);
    ck_assert_uint_eq(sent_count(1, 3), 0);
    ck_assert_uint_eq(sent_count(3, 3), 0);
    world_end();
    free(big);
}
END_TEST

START_TEST(reset_from_an_op_is_told_once_and_last)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h->reset_in_op = true;
    SAY(F6 F7 F8);
    run();
    ck_assert_uint_eq(h->headers, 1);
    ck_assert_uint_eq(h->messages, 0);
    ck_assert_uint_eq(h->trailers, 0);
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    world_end();
}
END_TEST

START_TEST(answer_that_crosses_our_reset_is_ignored)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h2_stream_reset(&h->stream, 8);
    run();
    say_answer(1);
    run();
    ck_assert_uint_eq(h->headers, 0);
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_ptr_nonnull(t);
    world_end();
}
END_TEST

START_TEST(reset_of_a_request_half_sent_stops_its_data)
{
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 200000);
    struct heard *h;
    world_begin();
    SAY(F1);
    run();
    request.message = lull_slice_static(big, 200000);
    h = open_with(0, &request);
    run();
    h2_stream_reset(&h->stream, 8);
    run();
    say_frame32(8, 0, 1000000);
    say_frame32(8, 1, 1000000);
    run();
    ck_assert_uint_lt(out_len, 70000);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    world_end();
    free(big);
}
END_TEST

START_TEST(end_by_reset_of_the_peer_frees_what_was_assembled)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    SAY(F6);
    say_frame(0, 0, 1, "\0\0\1\0\0abc", 8);
    SAY(F11);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_RESET);
    ck_assert_ptr_null(h->stream.in_slab);
    world_end();
}
END_TEST

START_TEST(stream_can_be_used_again_after_its_end)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    say_answer(1);
    run();
    h2_stream_fini(&h->stream);
    memset(h, 0, sizeof(*h));
    h = open_call(0);
    run();
    ck_assert_int_eq(h->stream.id, 3);
    say_answer(3);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/stream");
    TCase *tc = tcase_create("stream");
    tcase_add_test(tc, reset_sends_rst_stream_with_the_code);
    tcase_add_test(tc, second_reset_does_nothing);
    tcase_add_test(tc, stream_reset_before_the_flush_leaves_no_bytes);
    tcase_add_test(tc, reset_of_one_of_many_before_the_flush_keeps_the_others);
    tcase_add_test(tc, stream_reset_while_the_socket_is_full_leaves_no_bytes);
    tcase_add_test(tc, reset_from_an_op_is_told_once_and_last);
    tcase_add_test(tc, answer_that_crosses_our_reset_is_ignored);
    tcase_add_test(tc, reset_of_a_request_half_sent_stops_its_data);
    tcase_add_test(tc, end_by_reset_of_the_peer_frees_what_was_assembled);
    tcase_add_test(tc, stream_can_be_used_again_after_its_end);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/stream", suite)
