/* SPDX-License-Identifier: MIT */
#include "tests/support/check_main.h"
#include "tests/unit/h2/blocks.h"

static void say_block(uint8_t flags)
{
    say_frame(1, flags, 1, block.bytes, block.len);
    block.len = 0;
}

static const struct {
    const char *name;
    const char *value;
    size_t value_len;
    const char *expect;
} values[] = {
    {"x-a", "  padded\t ", 10, "x-a=padded;"},
    {"x-a", "", 0, "x-a=;"},
    {"x-a", "in side", 7, "x-a=in side;"},
    {"x-a", "bad\x01", 4, ""},
    {"x-a", "\xc3\xa4", 2, ""},
    {"x-a", "nul\0l", 5, ""},
    {"grpc-message", "na\xc3\xafve", 6, "grpc-message=na<c3><af>ve;"},
    {"a-bin", "q6ur", 4, "a-bin=<ab><ab><ab>;"},
    {"a-bin", "AA==", 4, "a-bin=<00>;"},
    {"a-bin", "AA,BB==", 7, "a-bin=<00>;a-bin=<04>;"},
    {"a-bin", "", 0, "a-bin=;"},
};

/* scenarios 244 and 245 */
START_TEST(value_is_trimmed_decoded_or_dropped)
{
    struct heard *h = begin();
    h->stream.ops = &seeing_ops;
    add_text(":status", "200");
    add(values[_i].name, strlen(values[_i].name), values[_i].value, values[_i].value_len);
    add_text("grpc-status", "0");
    say_block(END_BOTH);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_msg(strncmp(seen, values[_i].expect, strlen(values[_i].expect)) == 0 &&
                      strcmp(seen + strlen(values[_i].expect), "grpc-status=0;") == 0,
                  "%s", seen);
    world_end();
}
END_TEST

static const struct {
    const char *name;
    size_t name_len;
    const char *value;
    const char *text;
} faults[] = {
    {"X-Upper", 7, "v", "malformed header name \"X-Upper\""},
    {"", 0, "v", "malformed header name \"\""},
    {"a b", 3, "v", "malformed header name \"a b\""},
    {"a\xff", 2, "v", "malformed header name \"a\\xff\""},
    {":other", 6, "v", "malformed header name \":other\""},
    {":status", 7, "200", ":status where none may be"},
    {"a-bin", 5, "****", "bad base64 in \"a-bin\""},
    {"a-bin", 5, "A", "bad base64 in \"a-bin\""},
};

START_TEST(malformed_field_ends_the_stream_alone)
{
    struct heard *h = begin();
    (void)open_call(1);
    run();
    add_text(":status", "200");
    add(faults[_i].name, faults[_i].name_len, faults[_i].value, strlen(faults[_i].value));
    add_text("x-later", "1");
    say_block(END_HEADERS);
    say_answer(3);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_str_eq(h->end.text, faults[_i].text);
    ck_assert_uint_eq(h->headers, 0);
    ck_assert_uint_eq(sent_count(3, 1), 1);
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

static const char *const bad_status[] = {"", "2", "20", "2000", "2x0", "20x", "099", "-20", "+20"};

START_TEST(malformed_status_ends_the_stream)
{
    struct heard *h = begin();
    add_text(":status", bad_status[_i]);
    say_block(END_HEADERS);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(h->end.text, "malformed :status \""));
    world_end();
}
END_TEST

START_TEST(status_after_other_fields_ends_the_stream)
{
    struct heard *h = begin();
    add_text("x-a", "1");
    add_text(":status", "200");
    say_block(END_HEADERS);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    world_end();
}
END_TEST

/* scenario 248: each field weighs name + value + 32; the limit is 16 384 and ":status" counts too. */
static void say_weight(size_t weight)
{
    static char value[20000];
    memset(value, 'v', sizeof(value));
    add_text(":status", "200"); /* 42 */
    add("x-a", 3, value, weight - 42 - 35);
    say_frame(1, 0, 1, block.bytes, 9000);
    say_frame(9, END_HEADERS, 1, block.bytes + 9000, block.len - 9000);
    block.len = 0;
}

START_TEST(metadata_up_to_the_limit_is_kept)
{
    struct heard *h = begin();
    say_weight(16384);
    run();
    ck_assert_uint_eq(h->headers, 1);
    ck_assert_uint_eq(h->closed, 0);
    world_end();
}
END_TEST

START_TEST(metadata_over_the_limit_ends_the_stream_alone)
{
    struct heard *h = begin();
    (void)open_call(1);
    run();
    say_weight(16385);
    say_answer(3); /* HPACK's table must have stayed in step */
    run();
    ck_assert_int_eq(h->end.kind, H2_END_LIMIT);
    ck_assert_str_eq(h->end.text,
                     "metadata is over the limit of 16384 bytes (42 had come, and a field that does not fit)");
    ck_assert_uint_eq(sent_count(3, 1), 1);
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

START_TEST(hpack_is_decoded_on_for_a_stream_that_failed)
{
    struct heard *h = begin();
    (void)open_call(1);
    run();
    add_text(":status", "200");
    add_text("Bad", "1");
    block.bytes[block.len++] = 0x40; /* literal with indexing: later blocks refer to it */
    block.bytes[block.len++] = 3;
    memcpy(block.bytes + block.len, "x-a\3abc", 7);
    block.len += 7;
    say_block(END_HEADERS);
    say_frame(1, END_BOTH, 3, "\x88\xbe\0\x0bgrpc-status\1\x30", 17);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_PROTOCOL);
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(calls[1].pairs, 2);
    world_end();
}
END_TEST

START_TEST(flood_of_continuations_does_not_grow_memory)
{
    struct heard *h = begin();
    struct metadata_list *list = &t->headers.block;
    add_text(":status", "200");
    say_block(0);
    for (int i = 0; i < 200 && t != NULL; i++) {
        for (int k = 0; k < 100; k++) {
            add_text("x-flood", "0123456789");
        }
        say_frame(9, 0, 1, block.bytes, block.len);
        block.len = 0;
        run();
        if (t != NULL) {
            ck_assert_uint_le(list->bytes_cap, 65536);
        }
    }
    ck_assert_uint_eq(h->closed, 1);
    ck_assert(h->end.kind == H2_END_LIMIT || h->end.kind == H2_END_TRANSPORT);
    world_end();
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static Suite *suite(void)
{
    Suite *s = suite_create("h2/headers_in");
    TCase *tc = tcase_create("headers_in");
    tcase_add_loop_test(tc, value_is_trimmed_decoded_or_dropped, 0, COUNT(values));
    tcase_add_loop_test(tc, malformed_field_ends_the_stream_alone, 0, COUNT(faults));
    tcase_add_loop_test(tc, malformed_status_ends_the_stream, 0, COUNT(bad_status));
    tcase_add_test(tc, status_after_other_fields_ends_the_stream);
    tcase_add_test(tc, metadata_up_to_the_limit_is_kept);
    tcase_add_test(tc, metadata_over_the_limit_ends_the_stream_alone);
    tcase_add_test(tc, hpack_is_decoded_on_for_a_stream_that_failed);
    tcase_add_test(tc, flood_of_continuations_does_not_grow_memory);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/headers_in", suite)
