/* SPDX-License-Identifier: MIT */
#include "h2/unsent.h"

#include <string.h>

#include "base/slice.h"
#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"

static uint8_t written[64];
static size_t written_len;
static size_t takes; /* the endpoint takes so many bytes a write */
static enum io answer;

static enum io take(struct endpoint *endpoint, const struct io_piece *pieces, size_t count,
                    size_t *wrote)
{
    (void)endpoint;
    *wrote = 0;
    for (size_t i = 0; i < count && answer == IO_OK; i++) {
        size_t n = pieces[i].len < takes - *wrote ? pieces[i].len : takes - *wrote;
        memcpy(written + written_len, pieces[i].data, n);
        written_len += n;
        *wrote += n;
    }
    return answer;
}

static const struct endpoint_ops ops = {.writev = take};

/* "abc" in the shared buffer, "DEFG" counted, "" , "hi" in memory without a count. */
struct setting {
    struct counting_allocator memory;
    struct lull_counters counters;
    uint8_t shared[3];
    char loose[3];
    struct lull_slice payload;
    struct io_piece pieces[3];
    struct lull_slice held[3];
    struct endpoint endpoint;
};

static void set_up(struct setting *set)
{
    memset(set, 0, sizeof(*set));
    counting_init(&set->memory);
    memcpy(set->shared, "abc", 3);
    memcpy(set->loose, "hi", 2);
    ck_assert_int_eq(lull_slice_copy(&set->memory.base, "DEFG", 4, &set->payload), LULL_OK);
    set->pieces[0] = (struct io_piece){set->shared, 3};
    set->pieces[1] = (struct io_piece){set->payload.data, 4};
    set->pieces[2] = (struct io_piece){set->loose, 2};
    set->held[1] = lull_slice_ref(set->payload);
    set->held[2] = lull_slice_static(set->loose, 2);
    set->endpoint.ops = &ops;
    written_len = 0;
    answer = IO_OK;
}

START_TEST(rest_is_written_in_any_portions)
{
    static const char whole[] = "abcDEFGhi";
    const size_t gone = (size_t)_i / 9;
    struct setting set;
    struct unsent *unsent;
    size_t wrote;
    set_up(&set);
    takes = (size_t)_i % 9 + 1;
    unsent = unsent_new(&set.memory.base, &set.counters, set.pieces, set.held, 3, gone);
    ck_assert_ptr_nonnull(unsent);
    /* The shared buffer and the loose memory are the next user's now. */
    memset(set.shared, '?', sizeof(set.shared));
    memset(set.loose, '?', sizeof(set.loose));
    while (!unsent_is_empty(unsent)) {
        ck_assert_int_eq(unsent_write(unsent, &set.endpoint, &wrote), IO_OK);
        ck_assert_uint_le(wrote, takes);
    }
    ck_assert_uint_eq(written_len, 9 - gone);
    ck_assert_mem_eq(written, whole + gone, written_len);
    ck_assert(slab_is_sole(set.payload.slab));
    unsent_free(unsent);
    lull_slice_unref(set.payload);
    ck_assert_int_eq(set.memory.live, 0);
}
END_TEST

START_TEST(again_keeps_all_of_it)
{
    struct setting set;
    struct unsent *unsent;
    size_t wrote = 7;
    set_up(&set);
    unsent = unsent_new(&set.memory.base, &set.counters, set.pieces, set.held, 3, 4);
    answer = IO_AGAIN;
    ck_assert_int_eq(unsent_write(unsent, &set.endpoint, &wrote), IO_AGAIN);
    ck_assert_uint_eq(wrote, 0);
    answer = IO_OK;
    takes = 64;
    ck_assert_int_eq(unsent_write(unsent, &set.endpoint, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 5);
    ck_assert_mem_eq(written, "EFGhi", 5);
    unsent_free(unsent);
    lull_slice_unref(set.payload);
    ck_assert_int_eq(set.memory.live, 0);
}
END_TEST

START_TEST(free_lets_go_of_what_was_not_written)
{
    struct setting set;
    set_up(&set);
    unsent_free(unsent_new(&set.memory.base, &set.counters, set.pieces, set.held, 3, 1));
    unsent_free(NULL);
    ck_assert(slab_is_sole(set.payload.slab));
    lull_slice_unref(set.payload);
    ck_assert_int_eq(set.memory.live, 0);
}
END_TEST

START_TEST(no_memory_gives_the_references_back)
{
    struct setting set;
    set_up(&set);
    counting_exhaust(&set.memory);
    ck_assert_ptr_null(unsent_new(&set.memory.base, &set.counters, set.pieces, set.held, 3, 1));
    ck_assert(slab_is_sole(set.payload.slab));
    lull_slice_unref(set.payload);
    ck_assert_uint_eq(set.counters.allocations, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/unsent");
    TCase *tc = tcase_create("unsent");
    tcase_add_loop_test(tc, rest_is_written_in_any_portions, 0, 81);
    tcase_add_test(tc, again_keeps_all_of_it);
    tcase_add_test(tc, free_lets_go_of_what_was_not_written);
    tcase_add_test(tc, no_memory_gives_the_references_back);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/unsent", suite)
