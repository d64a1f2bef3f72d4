/* SPDX-License-Identifier: MIT */
#include "tests/support/check_main.h"
#include "tests/unit/h2/frames.h"

/* A block of literals without indexing, as the peer's HEADERS on stream 1. */
struct block {
    uint8_t bytes[60000];
    size_t len;
};

static struct block block;

static void add_int(uint8_t first, unsigned bits, size_t value)
{
    const size_t most = ((size_t)1 << bits) - 1;
    if (value < most) {
        block.bytes[block.len++] = (uint8_t)(first | value);
        return;
    }
    block.bytes[block.len++] = (uint8_t)(first | most);
    for (value -= most; value >= 128; value >>= 7) {
        block.bytes[block.len++] = (uint8_t)(value % 128 + 128);
    }
    block.bytes[block.len++] = (uint8_t)value;
}

static void add(const void *name, size_t name_len, const void *value, size_t value_len)
{
    block.bytes[block.len++] = 0;
    add_int(0, 7, name_len);
    memcpy(block.bytes + block.len, name, name_len);
    block.len += name_len;
    add_int(0, 7, value_len);
    memcpy(block.bytes + block.len, value, value_len);
    block.len += value_len;
}

static void add_text(const char *name, const char *value)
{
    add(name, strlen(name), value, strlen(value));
}

static struct heard *begin(void)
{
    block.len = 0;
    world_begin();
    return world_ready(1);
}

static void say_block(uint8_t flags)
{
    say_frame(1, flags, 1, block.bytes, block.len);
    block.len = 0;
}

/* What the last test's on_trailers saw: kept here because the list is borrowed. */
static char seen[512];

static void see(struct h2_stream *stream, int status, const struct metadata_list *list)
{
    struct lull_metadata view = metadata_list_view(list);
    char *to = seen;
    hear_trailers(stream, status, list);
    for (size_t i = 0; i < view.count; i++) {
        to += sprintf(to, "%s=", view.items[i].key);
        for (size_t k = 0; k < view.items[i].value_len; k++) {
            const uint8_t c = ((const uint8_t *)view.items[i].value)[k];
            to += sprintf(to, c >= 0x20 && c < 0x7f ? "%c" : "<%02x>", c);
        }
        to += sprintf(to, ";");
    }
}

static const struct h2_stream_ops seeing_ops = {
    .on_headers = hear_headers,
    .on_message = hear_message,
    .on_raw = hear_raw,
    .on_trailers = see,
    .on_end_of_data = hear_end_of_data,
    .on_sent = hear_sent,
    .on_closed = hear_closed,
};

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

/* ---- fields that HPACK remembers, and so do we */

static void add_lasting(const char *name, const char *value)
{
    const size_t at = block.len;
    add_text(name, value);
    block.bytes[at] = 0x40;
}

/* A static entry, or the nth newest of those above from 62 on. */
static void add_entry(unsigned index)
{
    add_int(0x80, 7, index);
}

#define STATUS_200 8

/* The answer that was put together, on the nth stream; what was seen of it. */
static const char *answer(unsigned n)
{
    struct heard *h = n == 0 ? &calls[0] : open_call(n);
    h->stream.ops = &seeing_ops;
    run();
    seen[0] = '\0';
    say_frame(1, END_BOTH, 2 * n + 1, block.bytes, block.len);
    block.len = 0;
    run();
    return seen;
}

START_TEST(field_that_comes_again_is_what_it_was)
{
    (void)begin();
    add_entry(STATUS_200);
    add_lasting("x-a", "one");
    add_lasting("x-b", "two");
    add_lasting("grpc-status", "0");
    ck_assert_str_eq(answer(0), "x-a=one;x-b=two;grpc-status=0;");
    for (unsigned n = 1; n < 4; n++) {
        add_entry(STATUS_200);
        add_entry(64);
        add_entry(63);
        add_entry(62);
        ck_assert_str_eq(answer(n), "x-a=one;x-b=two;grpc-status=0;");
        ck_assert_int_eq(calls[n].end.kind, H2_END_FINISHED);
        ck_assert_int_eq(calls[n].http_status, 200);
    }
    add_entry(STATUS_200);
    add_entry(63);
    add_text("x-c", "new, in a value that is long enough to ask for more memory than there was: 0123456789 0123456789 "
                    "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789");
    add_entry(64);
    add_entry(62);
    ck_assert_str_eq(answer(4), "x-b=two;x-c=new, in a value that is long enough to ask for more memory than there was: 0123456789 "
                                "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789;x-a=one;grpc-status=0;");
    world_end();
}
END_TEST

START_TEST(field_that_comes_again_is_a_fault_where_it_may_not_be)
{
    (void)begin();
    add_entry(STATUS_200);
    add_lasting("grpc-status", "0");
    (void)answer(0);
    add_entry(62);
    add_entry(STATUS_200);
    (void)answer(1);
    ck_assert_int_eq(calls[1].end.kind, H2_END_PROTOCOL);
    ck_assert_str_eq(calls[1].end.text, ":status where none may be");
    add_entry(STATUS_200);
    add_entry(STATUS_200);
    (void)answer(2);
    ck_assert_int_eq(calls[2].end.kind, H2_END_PROTOCOL);
    ck_assert_str_eq(calls[2].end.text, ":status where none may be");
    world_end();
}
END_TEST

START_TEST(field_that_comes_again_counts_against_the_limit)
{
    char value[201] = "";
    (void)begin();
    memset(value, 'v', 200);
    add_entry(STATUS_200);
    add_lasting("x-a", value);
    (void)answer(0);
    for (unsigned n = 1; n < 3; n++) { /* 42 of :status, 235 each */
        add_entry(STATUS_200);
        for (unsigned i = 0; i < 68 + n; i++) {
            add_entry(62);
        }
        (void)open_call(n);
        run();
        say_frame(1, END_BOTH, 2 * n + 1, block.bytes, block.len);
        block.len = 0;
        run();
    }
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_int_eq(calls[2].end.kind, H2_END_LIMIT);
    ck_assert_str_eq(calls[2].end.text, "metadata is over the limit of 16384 bytes (16257 had come, and a field that does not fit)");
    world_end();
}
END_TEST

START_TEST(more_fields_than_are_remembered_are_all_there)
{
    char expect[512] = "";
    (void)begin();
    add_entry(STATUS_200);
    for (int i = 0; i < 20; i++) {
        char name[8], value[8];
        (void)sprintf(name, "x-%d", i);
        (void)sprintf(value, "v%d", i);
        add_lasting(name, value);
        (void)sprintf(expect + strlen(expect), "%s=%s;", name, value);
    }
    ck_assert_str_eq(answer(0), expect);
    for (unsigned n = 1; n < 4; n++) {
        add_entry(STATUS_200);
        for (unsigned i = 0; i < 20; i++) {
            add_entry(81 - i);
        }
        ck_assert_str_eq(answer(n), expect);
    }
    world_end();
}
END_TEST

/* The peer empties its table between: buffers that are free again must not be taken for those that are remembered. */
START_TEST(fields_change_places_as_often_as_they_like)
{
    char expect[64];
    (void)begin();
    for (unsigned n = 0; n < 6; n++) {
        char value[8];
        (void)sprintf(value, "v%u", n);
        memcpy(block.bytes, "\x20\x3f\xe1\x1f", 4); /* size 0, and 4096 again */
        block.len = 4;
        add_entry(STATUS_200);
        add_lasting("x-a", value);
        add_lasting("date", value);
        add_entry(62);
        (void)sprintf(expect, "x-a=%s;date=%s;date=%s;", value, value, value);
        ck_assert_str_eq(answer(n), expect);
    }
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

/* ---- two connections of one executor, which remember in one place */

static struct h2_transport *other;
static struct endpoint *other_far;

/* What is said goes to the other one from here on. */
static void turn_to_the_other(void)
{
    struct h2_transport *const transport = t;
    struct endpoint *const far = far_end;
    t = other;
    far_end = other_far;
    other = transport;
    other_far = far;
}

static void begin_two(void)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    struct addr addr = {.text = "x"};
    struct endpoint *near;
    (void)begin();
    ck_assert_int_eq(endpoint_pipe_new(x, x, &addr, &addr, &pipe, &near, &other_far), 0);
    ck_assert_int_eq(h2_transport_new(x, near, &options, &transport_ops, NULL, &other), LULL_OK);
    turn_to_the_other();
    SAY(F1);
    run();
    turn_to_the_other();
}

static void end_one(void)
{
    h2_transport_close(t, 0, "one of two");
    run();
    endpoint_close(far_end);
    told.closed = 0;
    turn_to_the_other();
}

/* So many answers on the other connection, each with a field that nobody has seen, which push out what is remembered. */
static void others_answers(unsigned from, unsigned count)
{
    turn_to_the_other();
    for (unsigned i = 0; i < count; i++) {
        char value[8];
        (void)sprintf(value, "b%u", from + i);
        (void)open_call(from + i);
        run();
        add_entry(STATUS_200);
        add_lasting("x-b", value);
        say_frame(1, END_BOTH, 2 * i + 1, block.bytes, block.len);
        block.len = 0;
        run();
        ck_assert_int_eq(calls[from + i].end.kind, H2_END_FINISHED);
    }
    turn_to_the_other();
}

/* Between two frames of a block the other connection needs the place of a field that the block has, and then the peer empties its table. */
START_TEST(field_of_a_block_that_is_not_whole_stays_until_it_is)
{
    char bad[3900];
    begin_two();
    add_entry(STATUS_200);
    add_lasting("x-a", "one");
    ck_assert_str_eq(answer(0), "x-a=one;");
    open_call(1)->stream.ops = &seeing_ops;
    run();
    add_entry(STATUS_200);
    add_entry(62);
    say_frame(1, END_STREAM, 3, block.bytes, block.len);
    block.len = 0;
    run();
    others_answers(2, 60);
    memset(bad, 1, sizeof(bad)); /* is not kept, and leaves no room beside it */
    add("x-f", 3, bad, sizeof(bad));
    block.bytes[0] = 0x40;
    for (unsigned i = 0; i < 8; i++) {
        char value[8];
        (void)sprintf(value, "v-%u", i);
        add_lasting("x-c", value);
    }
    say_frame(9, END_HEADERS, 3, block.bytes, block.len);
    run();
    ck_assert_str_eq(seen, "x-a=one;x-c=v-0;x-c=v-1;x-c=v-2;x-c=v-3;x-c=v-4;x-c=v-5;x-c=v-6;x-c=v-7;");
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    turn_to_the_other();
    end_one();
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
    tcase_add_test(tc, field_that_comes_again_is_what_it_was);
    tcase_add_test(tc, field_that_comes_again_is_a_fault_where_it_may_not_be);
    tcase_add_test(tc, field_that_comes_again_counts_against_the_limit);
    tcase_add_test(tc, more_fields_than_are_remembered_are_all_there);
    tcase_add_test(tc, fields_change_places_as_often_as_they_like);
    tcase_add_test(tc, field_of_a_block_that_is_not_whole_stays_until_it_is);
    tcase_add_test(tc, flood_of_continuations_does_not_grow_memory);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/headers_in", suite)
