/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <string.h>

#include "base/random.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

static struct counting_allocator counting;
static struct buf buf;

static void set_up(void)
{
    counting_init(&counting);
    buf_init(&buf, &counting.base, 0);
}

static void tear_down(void)
{
    buf_fini(&buf);
    ck_assert_int_eq(counting.live, 0);
}

START_TEST(bytes_come_out_in_the_order_they_went_in)
{
    ck_assert_uint_eq(buf_len(&buf), 0);
    ck_assert_int_eq(buf_append(&buf, "abc", 3), LULL_OK);
    ck_assert_int_eq(buf_append(&buf, NULL, 0), LULL_OK);
    ck_assert_int_eq(buf_append(&buf, "defg", 4), LULL_OK);
    ck_assert_uint_eq(buf_len(&buf), 7);
    ck_assert_mem_eq(buf_data(&buf), "abcdefg", 7);
    buf_consume(&buf, 2);
    ck_assert_mem_eq(buf_data(&buf), "cdefg", 5);
    buf_consume(&buf, 5);
    ck_assert_uint_eq(buf_len(&buf), 0);
}
END_TEST

START_TEST(an_unused_buf_has_asked_for_nothing)
{
    ck_assert_int_eq(buf_append(&buf, "", 0), LULL_OK);
    buf_consume(&buf, 0);
    buf_trim(&buf, 0);
    buf_reset(&buf);
    ck_assert_int_eq(counting.asked, 0);
}
END_TEST

START_TEST(reserved_room_counts_only_when_committed)
{
    uint8_t *room = NULL;
    ck_assert_int_eq(buf_reserve(&buf, 100, &room), LULL_OK);
    memset(room, 'x', 100);
    ck_assert_uint_eq(buf_len(&buf), 0);
    buf_commit(&buf, 3);
    ck_assert_uint_eq(buf_len(&buf), 3);
    ck_assert_mem_eq(buf_data(&buf), "xxx", 3);
    ck_assert_int_eq(buf_reserve(&buf, 0, &room), LULL_OK);
    ck_assert_ptr_eq(room, buf_data(&buf) + 3);
}
END_TEST

START_TEST(the_limit_is_exact_and_a_refusal_changes_nothing)
{
    uint8_t *room;
    buf.max_bytes = 10;
    ck_assert_int_eq(buf_append(&buf, "0123456789a", 11), LULL_RC_LIMIT);
    ck_assert_int_eq(counting.asked, 0);
    ck_assert_int_eq(buf_append(&buf, "0123456789", 10), LULL_OK);
    ck_assert_uint_eq(buf.cap, 10);
    ck_assert_int_eq(buf_append(&buf, "a", 1), LULL_RC_LIMIT);
    ck_assert_int_eq(buf_reserve(&buf, 1, &room), LULL_RC_LIMIT);
    buf_consume(&buf, 1);
    ck_assert_int_eq(buf_append(&buf, "a", 1), LULL_OK);
    ck_assert_mem_eq(buf_data(&buf), "123456789a", 10);
    ck_assert_uint_eq(buf.cap, 10);
    ck_assert_int_eq(counting.asked, 1);
}
END_TEST

START_TEST(no_memory_leaves_what_was_there)
{
    char long_text[200];
    uint8_t *room;
    memset(long_text, 'y', sizeof(long_text));
    ck_assert_int_eq(buf_append(&buf, "abc", 3), LULL_OK);
    counting_exhaust(&counting);
    ck_assert_int_eq(buf_append(&buf, long_text, sizeof(long_text)), LULL_RC_NOMEM);
    ck_assert_int_eq(buf_reserve(&buf, SIZE_MAX, &room), LULL_RC_NOMEM);
    ck_assert_uint_eq(buf_len(&buf), 3);
    ck_assert_mem_eq(buf_data(&buf), "abc", 3);
    counting_replenish(&counting);
    ck_assert_int_eq(buf_append(&buf, long_text, sizeof(long_text)), LULL_OK);
    ck_assert_uint_eq(buf_len(&buf), 203);
}
END_TEST

START_TEST(a_steady_stream_stops_allocating)
{
    uint8_t chunk[100];
    memset(chunk, 'z', sizeof(chunk));
    /* 1 000 bytes always stay queued, so the queue is never empty and the front always moves. */
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(buf_append(&buf, chunk, sizeof(chunk)), LULL_OK);
    }
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(buf_append(&buf, chunk, sizeof(chunk)), LULL_OK);
        buf_consume(&buf, sizeof(chunk));
    }
    long asked = counting.asked;
    for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(buf_append(&buf, chunk, sizeof(chunk)), LULL_OK);
        buf_consume(&buf, sizeof(chunk));
    }
    ck_assert_int_eq(counting.asked, asked);
    ck_assert_uint_le(buf.cap, 4 * 1100);
}
END_TEST

START_TEST(reset_keeps_the_memory_and_trim_gives_back_what_is_too_much)
{
    char text[1000] = {0};
    ck_assert_int_eq(buf_append(&buf, text, sizeof(text)), LULL_OK);
    buf_trim(&buf, 0);
    ck_assert_uint_eq(buf_len(&buf), 1000);
    buf_reset(&buf);
    ck_assert_uint_eq(buf_len(&buf), 0);
    buf_trim(&buf, 2000);
    ck_assert_int_eq(counting.live, 1);
    buf_trim(&buf, 500);
    ck_assert_int_eq(counting.live, 0);
    ck_assert_int_eq(buf_append(&buf, "again", 5), LULL_OK);
    ck_assert_mem_eq(buf_data(&buf), "again", 5);
}
END_TEST

/* The byte at position p of the stream is p * 31, however it was cut into appends and consumes. */
START_TEST(random_appends_and_consumes_agree_with_the_stream)
{
    struct lull_random_seeded random;
    uint64_t in = 0;
    uint64_t out = 0;
    lull_random_seed(&random, (uint64_t)_i);
    buf.max_bytes = _i % 2 == 0 ? 0 : 5000;
    for (int step = 0; step < 1000; step++) {
        size_t len = (size_t)(random.base.next(&random.base) % 700);
        if (random.base.next(&random.base) % 2 == 0) {
            uint8_t *room;
            int rc = buf_reserve(&buf, len, &room);
            if (rc == LULL_RC_LIMIT) {
                ck_assert_uint_gt(in - out + len, 5000);
                continue;
            }
            ck_assert_int_eq(rc, LULL_OK);
            for (size_t i = 0; i < len; i++) {
                room[i] = (uint8_t)(in++ * 31);
            }
            buf_commit(&buf, len);
        } else {
            len = len > buf_len(&buf) ? buf_len(&buf) : len;
            size_t wrong = 0;
            for (size_t i = 0; i < len; i++) {
                wrong += buf_data(&buf)[i] != (uint8_t)((out + i) * 31);
            }
            ck_assert_uint_eq(wrong, 0);
            out += len;
            buf_consume(&buf, len);
        }
        ck_assert_uint_eq(buf_len(&buf), in - out);
    }
    ck_assert(buf.max_bytes == 0 || buf.cap <= buf.max_bytes);
}
END_TEST

static void consume_too_much(void)
{
    buf_append(&buf, "abc", 3);
    buf_consume(&buf, 4);
}

static void commit_too_much(void)
{
    uint8_t *room;
    buf_reserve(&buf, 3, &room);
    buf_commit(&buf, buf.cap + 1);
}

START_TEST(taking_or_committing_too_much_is_a_fault_of_ours)
{
    expect_death(consume_too_much, "more was taken from a buf");
    expect_death(commit_too_much, "more was committed to a buf");
}
END_TEST

static Suite *buf_suite(void)
{
    Suite *suite = suite_create("buf");
    TCase *tc = tcase_create("buf");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, bytes_come_out_in_the_order_they_went_in);
    tcase_add_test(tc, an_unused_buf_has_asked_for_nothing);
    tcase_add_test(tc, reserved_room_counts_only_when_committed);
    tcase_add_test(tc, the_limit_is_exact_and_a_refusal_changes_nothing);
    tcase_add_test(tc, no_memory_leaves_what_was_there);
    tcase_add_test(tc, a_steady_stream_stops_allocating);
    tcase_add_test(tc, reset_keeps_the_memory_and_trim_gives_back_what_is_too_much);
    tcase_add_loop_test(tc, random_appends_and_consumes_agree_with_the_stream, 0, 8);
    tcase_add_test(tc, taking_or_committing_too_much_is_a_fault_of_ours);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("buf", buf_suite)
