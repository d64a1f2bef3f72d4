/* SPDX-License-Identifier: MIT */
/* Fields of responses that HPACK remembers, and so do we (src/h2/headers_in.c). */
#include "h2/headers.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/blocks.h"

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
        char name[16], value[16];
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

/* A name that stands in the table, and a value that does not. */
static void add_lasting_named(unsigned index, const char *value)
{
    const size_t len = strlen(value);
    add_int(0x40, 6, index);
    add_int(0, 7, len);
    memcpy(block.bytes + block.len, value, len);
    block.len += len;
}

/* HPACK gives the same buffer for the name; only the value's says that it is another field. And the reverse. */
START_TEST(value_that_changes_under_the_same_name_is_the_new_one)
{
    (void)begin();
    add_entry(STATUS_200);
    add_lasting("x-a", "one");
    ck_assert_str_eq(answer(0), "x-a=one;");
    add_entry(STATUS_200);
    add_lasting_named(62, "two");
    ck_assert_str_eq(answer(1), "x-a=two;");
    add_entry(STATUS_200);
    add_entry(62);
    add_entry(63);
    add_entry(62);
    ck_assert_str_eq(answer(2), "x-a=two;x-a=one;x-a=two;");
    add_lasting_named(STATUS_200, "404");
    add_entry(62);
    (void)answer(3);
    ck_assert_str_eq(calls[3].end.text, ":status where none may be");
    add_entry(62);
    (void)answer(4);
    ck_assert_int_eq(calls[4].http_status, 404);
    add_entry(STATUS_200);
    add_entry(63);
    ck_assert_str_eq(answer(5), "x-a=two;");
    ck_assert_int_eq(calls[5].http_status, 200);
    world_end();
}
END_TEST

/* What is not kept as it came is looked at each time: trimmed, decoded, dropped or told of as the first time. */
START_TEST(value_that_is_not_kept_as_it_came_is_so_every_time)
{
    (void)begin();
    add_entry(STATUS_200);
    add_lasting("x-a", " padded ");
    add_lasting("a-bin", "q6ur");
    add_lasting("x-c", "bad\x01");
    add_lasting("x-d", "good");
    ck_assert_str_eq(answer(0), "x-a=padded;a-bin=<ab><ab><ab>;x-d=good;");
    for (unsigned n = 1; n < 4; n++) {
        add_entry(STATUS_200);
        for (unsigned i = 0; i < 4; i++) {
            add_entry(65 - i);
        }
        ck_assert_str_eq(answer(n), "x-a=padded;a-bin=<ab><ab><ab>;x-d=good;");
        ck_assert_int_eq(calls[n].end.kind, H2_END_FINISHED);
    }
    add_entry(STATUS_200);
    add_lasting_named(64, "****"); /* a-bin again */
    (void)answer(4);
    ck_assert_str_eq(calls[4].end.text, "bad base64 in \"a-bin\"");
    add_entry(STATUS_200);
    add_entry(62);
    (void)answer(5);
    ck_assert_str_eq(calls[5].end.text, "bad base64 in \"a-bin\"");
    add_entry(STATUS_200);
    add_entry(66);
    add_entry(63);
    ck_assert_str_eq(answer(6), "x-a=padded;x-d=good;");
    world_end();
}
END_TEST

/* A peer must not have us hold large buffers that its table has let go of. */
START_TEST(large_value_behind_a_remembered_one_is_told_and_not_held)
{
    static char large[3001];
    (void)begin();
    memset(large, 'v', sizeof(large) - 1);
    add_entry(STATUS_200);
    add_lasting("x-a", "one");
    ck_assert_str_eq(answer(0), "x-a=one;");
    const unsigned count = t->stock->known.count;
    for (unsigned n = 1; n < 4; n++) {
        struct heard *h = open_call(n);
        run();
        add_entry(STATUS_200);
        if (n == 1) {
            add_lasting_named(62, large);
        } else {
            add_entry(62);
        }
        say_frame(1, END_BOTH, 2 * n + 1, block.bytes, block.len);
        block.len = 0;
        run();
        ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
        ck_assert_uint_eq(h->pairs, 1);
        ck_assert_uint_eq(t->stock->known.count, count);
    }
    add_entry(STATUS_200);
    add_entry(63);
    ck_assert_str_eq(answer(4), "x-a=one;");
    world_end();
}
END_TEST

/* Some value of this name, not less than `least`, is remembered. */
static bool is_remembered(const char *name, const char *least)
{
    const struct headers_known *known = &t->stock->known;
    for (unsigned i = 0; i < known->count; i++) {
        const struct lull_metadatum *item = &known->fields[i].item;
        if (strcmp(item->key, name) == 0 && strcmp(item->value, least) >= 0) {
            return true;
        }
    }
    return false;
}

/* Whatever a peer says, what is remembered of it takes no more than there are places. */
START_TEST(fields_that_are_pushed_out_are_let_go)
{
    struct lull_counters before = {0};
    (void)begin();
    for (unsigned n = 0; n < 1500; n++) {
        char value[8];
        if (n == 700) {
            before = world_counters();
        }
        (void)sprintf(value, "%04u", n);
        add_entry(STATUS_200);
        add_lasting("x-a", value);
        (void)answer(n);
        ck_assert_uint_le(t->stock->known.count, HEADERS_KNOWN);
    }
    world_expect_no_memory(&before);
    ck_assert(is_remembered("x-a", "1470")); /* these have taken the places of those */
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
    if (t != NULL) {
        h2_transport_close(t, 0, "one of two");
    }
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

/* A stream may be open for days: what its headers had is kept for it no longer than they come in. */
START_TEST(field_of_a_block_that_is_whole_makes_room_though_its_stream_goes_on)
{
    begin_two();
    calls[0].stream.ops = &seeing_ops;
    add_entry(STATUS_200);
    add_lasting("x-a", "one");
    say_frame(1, END_HEADERS, 1, block.bytes, block.len);
    block.len = 0;
    run();
    ck_assert_uint_eq(calls[0].headers, 1);
    ck_assert(is_remembered("x-a", "one"));
    others_answers(2, 60);
    ck_assert(!is_remembered("x-a", ""));
    say_trailers(1);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    turn_to_the_other();
    end_one();
    world_end();
}
END_TEST

/* A connection that ends, with GOAWAY or without, takes what is remembered of it along; the one behind it starts with an empty table. */
START_TEST(what_is_remembered_of_a_connection_ends_with_it)
{
    const struct headers_known *known;
    begin_two();
    known = &t->stock->known;
    for (unsigned n = 0; n < 2; n++) {
        add_entry(STATUS_200);
        if (n == 0) {
            add_lasting("x-a", "one");
            add_lasting("x-c", "three");
        } else {
            add_entry(63);
            add_entry(62);
        }
        ck_assert_str_eq(answer(n), "x-a=one;x-c=three;");
    }
    others_answers(2, 3);
    const struct h2_transport *const first = t;
    const unsigned before = known->count;
    say_goaway(3, 0, "");
    run();
    ck_assert_ptr_null(t); /* nothing kept it */
    end_one();
    ck_assert_uint_lt(known->count, before);
    ck_assert_uint_ge(known->count, 3);
    for (unsigned i = 0; i < known->count; i++) {
        ck_assert(known->fields[i].owner != first);
    }
    open_call(10)->stream.ops = &seeing_ops; /* on the other one, whose entries are others */
    run();
    add_entry(STATUS_200);
    add_entry(62);
    add_entry(63);
    say_frame(1, END_BOTH, 7, block.bytes, block.len);
    run();
    ck_assert_str_eq(seen, "x-b=b4;x-b=b3;");
    world_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/known_fields");
    TCase *tc = tcase_create("known_fields");
    tcase_add_test(tc, field_that_comes_again_is_what_it_was);
    tcase_add_test(tc, field_that_comes_again_is_a_fault_where_it_may_not_be);
    tcase_add_test(tc, field_that_comes_again_counts_against_the_limit);
    tcase_add_test(tc, more_fields_than_are_remembered_are_all_there);
    tcase_add_test(tc, fields_change_places_as_often_as_they_like);
    tcase_add_test(tc, value_that_changes_under_the_same_name_is_the_new_one);
    tcase_add_test(tc, value_that_is_not_kept_as_it_came_is_so_every_time);
    tcase_add_test(tc, large_value_behind_a_remembered_one_is_told_and_not_held);
    tcase_add_test(tc, fields_that_are_pushed_out_are_let_go);
    tcase_add_test(tc, field_of_a_block_that_is_not_whole_stays_until_it_is);
    tcase_add_test(tc, field_of_a_block_that_is_whole_makes_room_though_its_stream_goes_on);
    tcase_add_test(tc, what_is_remembered_of_a_connection_ends_with_it);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/known_fields", suite)
