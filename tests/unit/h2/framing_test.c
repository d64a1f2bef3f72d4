/* SPDX-License-Identifier: MIT */
#include "h2/framing.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/frames.h"

static void say_data(const void *bytes, size_t len)
{
    say_frame(0, 0, 1, bytes, len);
}

#define SAY_DATA(literal) say_data(literal, sizeof(literal) - 1)

static struct heard *begin(void)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    SAY(F6);
    return h;
}

START_TEST(prefix_is_a_flag_and_a_big_endian_length)
{
    uint8_t prefix[FRAMING_PREFIX_BYTES];
    framing_prefix(prefix, 0x01020304u);
    ck_assert_mem_eq(prefix, "\0\1\2\3\4", 5);
}
END_TEST

START_TEST(message_cut_at_every_byte_is_put_together)
{
    static const char bytes[] = "\0\0\0\0\4abcd\0\0\0\0\0\0\0\0\0\2xy";
    const size_t len = sizeof(bytes) - 1;
    struct heard *h = begin();
    say_data(bytes, (size_t)_i);
    say_data(bytes + _i, len - (size_t)_i);
    run();
    ck_assert_uint_eq(h->messages, 3);
    ck_assert_uint_eq(h->bytes, 6);
    ck_assert_mem_eq(h->message, "xy", 2);
    SAY(F8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

START_TEST(message_byte_by_byte_is_put_together)
{
    static const char bytes[] = "\0\0\0\0\2hi";
    struct heard *h = begin();
    for (size_t i = 0; i < 7; i++) {
        say_data(&bytes[i], 1);
        run();
    }
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_mem_eq(h->message, "hi", 2);
    world_end();
}
END_TEST

START_TEST(empty_message_is_a_message)
{
    struct heard *h = begin();
    SAY_DATA("\0\0\0\0\0");
    run();
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_uint_eq(h->message_len, 0);
    world_end();
}
END_TEST

/* scenario 246 */
static const struct {
    const char *bytes;
    size_t len;
    enum h2_end kind;
    const char *text;
} faults[] = {
    {"\2\0\0\0\1a", 6, H2_END_PROTOCOL, "message flag byte is 2, neither 0 nor 1"},
    {"\xff\0\0\0\1a", 6, H2_END_PROTOCOL, "message flag byte is 255, neither 0 nor 1"},
    {"\1\0\0\0\1a", 6, H2_END_PROTOCOL, "compressed message without grpc-encoding"},
    {"\0\0\x40\0\1", 5, H2_END_LIMIT,
     "message of 4194305 bytes is over the limit of 4194304 bytes"},
    {"\0\xff\xff\xff\xff", 5, H2_END_LIMIT,
     "message of 4294967295 bytes is over the limit of 4194304 bytes"},
};

START_TEST(bad_prefix_ends_the_stream_alone)
{
    struct heard *h = begin();
    (void)open_call(1);
    run();
    say_data(faults[_i].bytes, faults[_i].len);
    say_answer(3);
    run();
    ck_assert_uint_eq(h->messages, 0);
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_int_eq(h->end.kind, faults[_i].kind);
    ck_assert_str_eq(h->end.text, faults[_i].text);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_ptr_nonnull(t);
    world_end();
}
END_TEST

START_TEST(limit_itself_is_allowed)
{
    struct heard *h = begin();
    SAY_DATA("\0\0\x40\0\0");
    run();
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_uint_eq(h->stream.in_len, 4194304);
    world_end();
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} cuts[] = {
    {"\0\0\0\0\4ab", 7, "end of stream in the middle of a message (2 of 4 bytes)"},
    {"\0\0\0\0\4", 5, "end of stream in the middle of a message (0 of 4 bytes)"},
    {"\0\0\0\0\1", 5, "end of stream in the middle of a message (0 of 1 byte)"},
    {"\0\0\0\0\1a\0\0", 8,
     "end of stream in the middle of a message (2 of the 5 bytes of its prefix)"},
};

START_TEST(end_within_a_message_is_told_with_both_numbers)
{
    struct heard *h = begin();
    say_data(cuts[_i].bytes, cuts[_i].len);
    SAY(F8);
    run();
    /* The trailers are told all the same: their status may be the real cause. */
    ck_assert_uint_eq(h->trailers, 1);
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert(h->end.was_finished);
    ck_assert_str_eq(h->end.text, cuts[_i].text);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    world_end();
}
END_TEST

START_TEST(cut_is_told_before_tasks_of_on_trailers_though_we_still_send)
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
    SAY(F6);
    SAY_DATA("\0\0\0\0\1a\0\0\0\0\4ab");
    SAY(F8);
    h->probe.run = probe_closed;
    run();
    ck_assert_uint_eq(h->trailers, 1);
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_uint_eq(h->closed_at_probe, 1);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    world_end();
    free(big);
}
END_TEST

START_TEST(end_on_data_within_a_message_is_told)
{
    struct heard *h = begin();
    say_frame(0, END_STREAM, 1, "\0\0\0\0\4ab", 7);
    run();
    ck_assert_uint_eq(h->data_ends, 0);
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    world_end();
}
END_TEST

START_TEST(reset_from_on_message_stops_the_cutting)
{
    struct heard *h = begin();
    run();
    h->reset_in_op = true;
    SAY_DATA("\0\0\0\0\1a\0\0\0\0\1b");
    run();
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    world_end();
}
END_TEST

START_TEST(memory_follows_what_came_and_not_what_was_promised)
{
    static uint8_t bytes[16384];
    struct heard *h = begin();
    SAY_DATA("\0\0\2\0\0"); /* 128 KiB */
    run();
    ck_assert_uint_eq(slab_capacity(h->stream.in_slab), 64 * 1024);
    for (int i = 0; i < 8; i++) {
        memset(bytes, 'a' + i, sizeof(bytes));
        say_data(bytes, sizeof(bytes));
        run();
    }
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_uint_eq(h->bytes, 128 * 1024);
    world_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/framing");
    TCase *tc = tcase_create("framing");
    tcase_add_test(tc, prefix_is_a_flag_and_a_big_endian_length);
    tcase_add_loop_test(tc, message_cut_at_every_byte_is_put_together, 0, 22);
    tcase_add_test(tc, message_byte_by_byte_is_put_together);
    tcase_add_test(tc, empty_message_is_a_message);
    tcase_add_loop_test(tc, bad_prefix_ends_the_stream_alone, 0, 5);
    tcase_add_test(tc, limit_itself_is_allowed);
    tcase_add_loop_test(tc, end_within_a_message_is_told_with_both_numbers, 0, 3);
    tcase_add_test(tc, cut_is_told_before_tasks_of_on_trailers_though_we_still_send);
    tcase_add_test(tc, end_on_data_within_a_message_is_told);
    tcase_add_test(tc, reset_from_on_message_stops_the_cutting);
    tcase_add_test(tc, memory_follows_what_came_and_not_what_was_promised);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/framing", suite)
