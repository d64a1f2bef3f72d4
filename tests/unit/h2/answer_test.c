/* SPDX-License-Identifier: MIT */
/* What a server says, in which order, and how its streams end. */
#include "h2/answer.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/serve_world.h"

static struct lull_metadata note(const char *value)
{
    static struct lull_metadatum items[2];
    static unsigned next;
    struct lull_metadata list;
    struct lull_metadatum *item = &items[next++ % 2];
    item->key = "note";
    item->key_len = 4;
    item->value = value;
    item->value_len = strlen(value);
    list.items = item;
    list.count = 1;
    return list;
}

START_TEST(unary_answer_is_one_write)
{
    const struct lull_metadata head = note("head");
    const struct lull_metadata tail = note("tail");
    struct sent_frame frame;
    struct fields fields;
    struct heard *h;
    unsigned before;
    serve_begin();
    serve_greet();
    h = ask(1);
    before = writes;
    ck_assert_int_eq(h2_stream_respond(&h->stream, &head), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("yes", 3), false), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, &tail), LULL_OK);
    run();
    ck_assert_uint_eq(writes - before, 1);
    fields = next_fields(1);
    ck_assert_str_eq(fields.status, "200");
    ck_assert_str_eq(fields.content_type, "application/grpc");
    ck_assert_str_eq(fields.note, "head");
    ck_assert_uint_eq(fields.count, 3);
    ck_assert(!fields.ends);
    ck_assert(sent_frame(0, 1, 0, &frame));
    ck_assert_uint_eq(frame.flags, 0);
    ck_assert_mem_eq(frame.payload, "\0\0\0\0\3yes", 8);
    fields = next_fields(1);
    ck_assert_str_eq(fields.grpc_status, "0");
    ck_assert_str_eq(fields.note, "tail");
    ck_assert_uint_eq(fields.count, 2);
    ck_assert(fields.ends);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert(h->end.was_finished);
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_uint_eq(sent_count(3, 1), 0);
    ck_assert_uint_eq(h2_transport_streams(t), 0);
    ck_assert_uint_eq(h2_transport_answers_sent(t), 3);
    serve_end();
}
END_TEST

START_TEST(trailers_only_is_one_block)
{
    const struct lull_metadata tail = note("why");
    struct fields fields;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 5,
                                        "no \xc3\xa9"
                                        "clair, 100%",
                                        &tail),
                     LULL_OK);
    run();
    fields = next_fields(1);
    ck_assert_str_eq(fields.status, "200");
    ck_assert_str_eq(fields.grpc_status, "5");
    ck_assert_str_eq(fields.grpc_message, "no %C3%A9clair, 100%25");
    ck_assert_str_eq(fields.note, "why");
    ck_assert(fields.ends);
    ck_assert_uint_eq(sent_count(0, 1), 0);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    serve_end();
}
END_TEST

START_TEST(headers_then_trailers_without_a_message)
{
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    if (_i == 1) {
        run();
        ck_assert_uint_eq(h->sent, 1);
    }
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 13, "broken", NULL), LULL_OK);
    run();
    ck_assert(!next_fields(1).ends);
    ck_assert_str_eq(next_fields(1).grpc_message, "broken");
    ck_assert_uint_eq(sent_count(0, 1), 0);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    serve_end();
}
END_TEST

/* The window is used up to the byte, and trailers need none. */
START_TEST(trailers_need_no_window)
{
    static uint8_t bytes[65530];
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 65530), false), LULL_OK);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 0);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    (void)next_fields(1);
    ck_assert(next_fields(1).ends);
    serve_end();
}
END_TEST

START_TEST(trailers_wait_for_what_is_queued)
{
    static uint8_t bytes[100000];
    const struct lull_metadata tail = note("kept");
    char text[] = "done";
    struct fields fields;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 100000), false), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 9, text, &tail), LULL_OK);
    memset(text, 'x', 4); /* it was copied */
    run();
    ck_assert_uint_eq(sent_count(1, 1), 1);
    ck_assert_uint_eq(h->closed, 0);
    say_frame32(8, 0, 100000);
    say_frame32(8, 1, 34470);
    run();
    (void)next_fields(1);
    fields = next_fields(1);
    ck_assert_str_eq(fields.grpc_status, "9");
    ck_assert_str_eq(fields.grpc_message, "done");
    ck_assert_str_eq(fields.note, "kept");
    ck_assert(fields.ends);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    serve_end();
}
END_TEST

/* Whole messages and a status that wait are dropped: in the turn they were queued in, and behind a window that is used up. */
START_TEST(cut_short_goes_ahead_of_what_is_queued)
{
    static uint8_t bytes[65530];
    struct fields fields;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    if (_i == 1) {
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 65530), false),
                         LULL_OK);
        run();
    }
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("yes", 3), false), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, "fine", NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_cut_short(&h->stream, 4, "late"), LULL_OK);
    ck_assert_int_eq(h2_stream_cut_short(&h->stream, 5, "it stands"), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(sent_count(0, 1) == 0, _i == 0);
    ck_assert(!next_fields(1).ends);
    fields = next_fields(1);
    ck_assert_str_eq(fields.grpc_status, "4");
    ck_assert_str_eq(fields.grpc_message, "late");
    ck_assert(fields.ends);
    ck_assert_int_eq(h2_stream_cut_short(&h->stream, 4, NULL), LULL_RC_CLOSED);
    serve_end();
}
END_TEST

/* Small messages that share memory are whole one by one: the window takes 65 525 bytes of the first, then one of 10 or 11 of each. */
START_TEST(cut_short_goes_ahead_of_small_messages_that_wait_behind_small_ones_that_went)
{
    static uint8_t bytes[65520];
    const bool is_cut = _i == 1;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 65520), false), LULL_OK);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(
            h2_stream_send(&h->stream, lull_slice_static("123456", is_cut ? 6 : 5), false),
            LULL_OK);
    }
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), is_cut ? 23 : 20);
    ck_assert_int_eq(h2_stream_cut_short(&h->stream, 4, "late"), is_cut ? LULL_RC_STATE : LULL_OK);
    if (is_cut) {
        h2_stream_reset(&h->stream, 8);
    }
    run();
    ck_assert_int_eq(h->end.kind, is_cut ? H2_END_LOCAL : H2_END_FINISHED);
    serve_end();
}
END_TEST

START_TEST(half_a_message_cannot_be_cut_short)
{
    static uint8_t bytes[65531];
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 65531), false), LULL_OK);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 1);
    ck_assert_int_eq(h2_stream_cut_short(&h->stream, 4, "late"), LULL_RC_STATE);
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 1);
    h2_stream_reset(&h->stream, 8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    serve_end();
}
END_TEST

START_TEST(verbs_out_of_order_say_state)
{
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_RC_STATE);
    run();
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_RC_CLOSED);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_RC_CLOSED);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_RC_CLOSED);
    ck_assert_uint_eq(h->closed, 1);
    serve_end();
}
END_TEST

/* RFC 9113 section 8.1: a client that still sends is told to stop, and that is no fault. */
START_TEST(early_answer_stops_the_client_without_blame)
{
    const struct block block = good_request();
    struct sent_frame frame;
    struct heard *h;
    serve_begin();
    serve_greet();
    say_block(1, &block, false);
    run();
    h = &calls[0];
    if (_i == 0) {
        ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_OK);
    }
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert(!h->end.was_finished);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 0);
    say_frame(0, END_STREAM, 1, MESSAGE_2, 7); /* was on its way */
    run();
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(h->closed, 1);
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(reset_of_the_client_ends_its_stream_and_is_told)
{
    static uint8_t bytes[100000];
    struct lull_slice message;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, sizeof(bytes), &message), LULL_OK);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, message, false), LULL_OK);
    if (_i == 1) {
        const struct lull_metadata tail = note("never");
        ck_assert_int_eq(h2_stream_trailers(&h->stream, 2, "never", &tail), LULL_OK);
    }
    run();
    say_frame32(3, 1, 8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_RESET);
    ck_assert_uint_eq(h->end.code, 8);
    ck_assert(h->end.was_finished); /* its END_STREAM came before */
    ck_assert_uint_eq(h->closed, 1);
    ck_assert(slab_is_sole(message.slab));
    ck_assert_uint_eq(resets, 1);
    ck_assert_uint_eq(reset_code, 8);
    lull_slice_unref(message);
    serve_end();
}
END_TEST

/* REFUSED_STREAM means nothing from a client. */
START_TEST(reset_in_the_same_read_as_the_request_is_told)
{
    const struct block block = good_request();
    serve_begin();
    serve_greet();
    say_block(1, &block, false);
    say_frame32(3, 1, 7);
    run();
    ck_assert_uint_eq(requests, 1);
    ck_assert_int_eq(calls[0].end.kind, H2_END_RESET);
    ck_assert_uint_eq(resets, 1);
    serve_end();
}
END_TEST

START_TEST(reset_by_the_owner_goes_out)
{
    struct sent_frame frame;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    h2_stream_reset(&h->stream, 2);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 2);
    serve_end();
}
END_TEST

/* A fault in what the client sends: it is told as a status. */
static const struct {
    const char *bytes;
    size_t len;
    bool ends;
    const char *grpc_status;
    enum h2_end kind;
} faults[] = {
    {"\7\0\0\0\0", 5, false, "13", H2_END_PROTOCOL},
    {"\1\0\0\0\1x", 6, false, "13", H2_END_PROTOCOL},
    {"\0\x7f\0\0\0", 5, false, "8", H2_END_LIMIT},
    {"\0\0\0\0\2x", 6, true, "13", H2_END_PROTOCOL},
    {"\0\0", 2, true, "13", H2_END_PROTOCOL},
};

#define FAULTS ((int)(sizeof(faults) / sizeof(faults[0])))

START_TEST(fault_of_the_client_is_answered_with_a_status)
{
    const struct block block = good_request();
    const bool has_responded = _i >= FAULTS;
    const int i = _i % FAULTS;
    struct fields fields;
    serve_begin();
    serve_greet();
    say_block(1, &block, false);
    run();
    if (has_responded) {
        ck_assert_int_eq(h2_stream_respond(&calls[0].stream, NULL), LULL_OK);
        run();
        (void)next_fields(1);
    }
    say_frame(0, faults[i].ends ? END_STREAM : 0, 1, faults[i].bytes, faults[i].len);
    run();
    ck_assert_uint_eq(calls[0].closed, 1);
    ck_assert_int_eq(calls[0].end.kind, faults[i].kind);
    fields = next_fields(1);
    ck_assert_str_eq(fields.grpc_status, faults[i].grpc_status);
    ck_assert_str_eq(fields.status, has_responded ? "" : "200");
    ck_assert_str_ne(fields.grpc_message, "");
    ck_assert(fields.ends);
    ck_assert_uint_eq(sent_count(3, 1), faults[i].ends ? 0 : 1);
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(steady_answers_allocate_nothing)
{
    struct lull_counters before = {.size = sizeof(before)};
    serve_begin();
    serve_greet();
    for (uint32_t i = 0; i < 40; i++) {
        struct heard *h = ask(2 * i + 1);
        ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("yes", 3), false), LULL_OK);
        ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
        run();
        ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
        if (i == 4) {
            before = world_counters();
        }
    }
    world_expect_no_memory(&before);
    serve_end();
}
END_TEST

START_TEST(loss_ends_streams_as_lost)
{
    static uint8_t bytes[100000];
    const struct lull_metadata tail = note("never");
    serve_begin();
    serve_greet();
    (void)ask(1);
    (void)ask(3);
    ck_assert_int_eq(h2_stream_respond(&calls[0].stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&calls[0].stream, lull_slice_static(bytes, 100000), false),
                     LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&calls[0].stream, 0, "x", &tail), LULL_OK);
    run();
    hang_up();
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    ck_assert_int_eq(calls[1].end.kind, H2_END_TRANSPORT);
    ck_assert_uint_eq(told.open_at_end, 0);
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    serve_end();
}
END_TEST

/* No verb lets one through, so it is put into nghttp2's hands: `_i` 0: the response's headers, 1: trailers behind them. */
START_TEST(block_that_cannot_be_sent_ends_its_stream_on_both_sides)
{
    static uint8_t name[] = "note";
    static uint8_t large[70000];
    nghttp2_nv fields[] = {{name, large, 4, sizeof(large), NGHTTP2_NV_FLAG_NONE}};
    struct sent_frame frame;
    struct heard *h;
    memset(large, 'v', sizeof(large));
    serve_begin();
    serve_greet();
    h = ask(1);
    if (_i == 0) {
        ck_assert_int_eq(nghttp2_submit_response(t->session.nghttp2, 1, fields, 1, NULL), 0);
    } else {
        ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
        run();
        ck_assert_int_eq(nghttp2_submit_trailer(t->session.nghttp2, 1, fields, 1), 0);
    }
    lull_executor_post(x, &t->flush);
    run();
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_int_eq(h->end.kind, H2_END_LIMIT);
    ck_assert_str_eq(h->end.text, "the answer's metadata is too large to be sent: a block of 70033 "
                                  "bytes, at most 65536");
    ck_assert(sent_frame(3, 1, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), NGHTTP2_INTERNAL_ERROR);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    ck_assert_uint_eq(h2_transport_streams(t), 0);
    /* And no other. */
    h = ask(3);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    serve_end();
}
END_TEST

/* The refusal and nghttp2 agree to the byte: 64 KiB less 17 for the block and 12 for each field, and our own three fields. */
START_TEST(largest_block_that_is_taken_is_sent)
{
    const size_t most = 65536 - 17 - (12 + 7 + 3) - (12 + 12 + 16) - (12 + 11 + 2) - (12 + 4);
    static char letters[65537];
    struct lull_metadata tail;
    struct heard *h;
    memset(letters, 'v', most + 1);
    serve_begin();
    serve_greet();
    h = ask(1);
    tail = note(letters);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 5, NULL, &tail), LULL_RC_LIMIT);
    letters[most] = '\0';
    tail = note(letters);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 5, NULL, &tail), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_gt(sent_count(9, 1), 2);
    serve_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/answer");
    TCase *tc = tcase_create("answer");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, unary_answer_is_one_write);
    tcase_add_test(tc, trailers_only_is_one_block);
    tcase_add_loop_test(tc, headers_then_trailers_without_a_message, 0, 2);
    tcase_add_test(tc, trailers_need_no_window);
    tcase_add_test(tc, trailers_wait_for_what_is_queued);
    tcase_add_loop_test(tc, cut_short_goes_ahead_of_what_is_queued, 0, 2);
    tcase_add_loop_test(
        tc, cut_short_goes_ahead_of_small_messages_that_wait_behind_small_ones_that_went, 0, 2);
    tcase_add_test(tc, half_a_message_cannot_be_cut_short);
    tcase_add_test(tc, verbs_out_of_order_say_state);
    tcase_add_loop_test(tc, early_answer_stops_the_client_without_blame, 0, 2);
    tcase_add_loop_test(tc, reset_of_the_client_ends_its_stream_and_is_told, 0, 2);
    tcase_add_test(tc, reset_in_the_same_read_as_the_request_is_told);
    tcase_add_test(tc, reset_by_the_owner_goes_out);
    tcase_add_loop_test(tc, fault_of_the_client_is_answered_with_a_status, 0, 2 * FAULTS);
    tcase_add_test(tc, steady_answers_allocate_nothing);
    tcase_add_test(tc, loss_ends_streams_as_lost);
    tcase_add_test(tc, largest_block_that_is_taken_is_sent);
    tcase_add_loop_test(tc, block_that_cannot_be_sent_ends_its_stream_on_both_sides, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/answer", suite)
