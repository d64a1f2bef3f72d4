/* SPDX-License-Identifier: MIT */
#include "base/size_classes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lull/trace.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

static struct counting_allocator counting;
static struct lull_counters counters;
static struct size_classes classes;

static void set_up(void)
{
    counting_init(&counting);
    memset(&counters, 0, sizeof(counters));
    size_classes_init(&classes, &counting.base, &counters, NULL, NULL);
}

static void tear_down(void)
{
    size_classes_fini(&classes);
    ck_assert_int_eq(counting.live, 0);
    ck_assert_uint_eq(counters.allocations, (uint64_t)counting.asked);
#ifdef LULL_NO_POOL
    ck_assert_uint_eq(counters.pool_claims, counters.pool_misses);
#endif
}

static unsigned char *alloc(size_t size)
{
    unsigned char *block = size_classes_alloc(&classes, size);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % _Alignof(max_align_t), 0);
    memset(block, 0x5a, size);
    return block;
}

START_TEST(every_size_is_writable_and_comes_back)
{
    for (size_t size = 0; size <= 1100; size++) {
        unsigned char *a = alloc(size);
        unsigned char *b = alloc(size);
        if (size > 0) {
            memset(a, 1, size);
            ck_assert_uint_eq(b[0], 0x5a);
            ck_assert_uint_eq(b[size - 1], 0x5a);
        }
        size_classes_release(&classes, a);
        size_classes_release(&classes, b);
    }
    /* Up to 512 each is a claim, beyond none is. */
    ck_assert_uint_eq(counters.pool_claims, 2 * (SIZE_CLASSES_BYTES_MAX + 1));
#ifndef LULL_NO_POOL
    ck_assert_uint_eq(counters.pool_misses, 2 * SIZE_CLASSES_COUNT);
#endif
}
END_TEST

START_TEST(small_blocks_are_used_again_and_large_ones_go_back)
{
    size_classes_release(&classes, alloc(512));
    size_classes_release(&classes, alloc(513));
    const long asked = counting.asked;
    for (int i = 0; i < 100; i++) {
        size_classes_release(&classes, alloc(512));
    }
#ifndef LULL_NO_POOL
    ck_assert_int_eq(counting.asked, asked);
    ck_assert_int_eq(counting.live, 2);
#else
    ck_assert_int_eq(counting.asked, asked + 100);
    ck_assert_int_eq(counting.live, 1);
#endif
    size_classes_release(&classes, alloc(513));
    ck_assert_uint_eq(counters.pool_claims, 101);
}
END_TEST

START_TEST(zeroed_is_zero_though_the_block_was_used)
{
    static const unsigned char zeros[600];
    for (size_t size = 1; size <= 600; size += 37) {
        size_classes_release(&classes, alloc(size));
        unsigned char *block = size_classes_zeroed(&classes, size);
        ck_assert_ptr_nonnull(block);
        ck_assert_mem_eq(block, zeros, size);
        size_classes_release(&classes, block);
    }
}
END_TEST

/* The bytes of byte i of a block. */
static unsigned char byte(size_t i)
{
    return (unsigned char)(i * 7 + 1);
}

START_TEST(a_resize_keeps_the_bytes_from_any_size_to_any_other)
{
    static const size_t sizes[] = {0,   1,   31,  32,  33,  64,  96,  100, 128,  129,
                                   192, 256, 257, 384, 385, 511, 512, 513, 1000, 5000};
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const size_t common = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
            unsigned char *block = alloc(sizes[i]);
            for (size_t k = 0; k < sizes[i]; k++) {
                block[k] = byte(k);
            }
            block = size_classes_resize(&classes, block, sizes[j]);
            ck_assert_ptr_nonnull(block);
            for (size_t k = 0; k < common; k++) {
                ck_assert_uint_eq(block[k], byte(k));
            }
            memset(block, 0, sizes[j]);
            size_classes_release(&classes, block);
        }
    }
    unsigned char *fresh = size_classes_resize(&classes, NULL, 40);
    ck_assert_ptr_nonnull(fresh);
    memset(fresh, 1, 40);
    size_classes_release(&classes, fresh);
    size_classes_release(&classes, NULL);
}
END_TEST

START_TEST(a_resize_that_fits_does_not_move)
{
    unsigned char *block = alloc(97);
    ck_assert_ptr_eq(size_classes_resize(&classes, block, 128), block);
    ck_assert_ptr_eq(size_classes_resize(&classes, block, 1), block);
    unsigned char *moved = size_classes_resize(&classes, block, 129);
    ck_assert_ptr_ne(moved, block);
    size_classes_release(&classes, moved);
    ck_assert_uint_eq(counters.pool_claims, 2);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    unsigned char *small = alloc(100);
    unsigned char *large = alloc(1000);
    counting_exhaust(&counting);
    ck_assert_ptr_null(size_classes_alloc(&classes, 100));
    ck_assert_ptr_null(size_classes_alloc(&classes, 300)); /* not even the class's recycler */
    ck_assert_ptr_null(size_classes_zeroed(&classes, 300));
    ck_assert_ptr_null(size_classes_alloc(&classes, 1000));
    ck_assert_ptr_null(size_classes_resize(&classes, small, 200));
    ck_assert_ptr_null(size_classes_resize(&classes, small, 2000));
    ck_assert_ptr_null(size_classes_resize(&classes, large, 2000));
    ck_assert_ptr_null(size_classes_alloc(&classes, SIZE_MAX));
    ck_assert_ptr_null(size_classes_resize(&classes, large, SIZE_MAX));
    ck_assert_uint_eq(small[99], 0x5a);
    ck_assert_uint_eq(large[999], 0x5a);
    counting_replenish(&counting);
    size_classes_release(&classes, small);
    size_classes_release(&classes, large);
    counters.allocations = (uint64_t)counting.asked; /* a refusal is asked, and is no block */
}
END_TEST

START_TEST(a_trim_gives_all_idle_blocks_back)
{
    for (size_t size = 1; size <= 512; size += 10) {
        size_classes_release(&classes, alloc(size));
    }
    unsigned char *out = alloc(50);
    size_classes_trim(&classes);
    ck_assert_int_eq(counting.live, 2); /* the block that is out, and its recycler */
    out[49] = 1;
    size_classes_release(&classes, out);
    size_classes_trim(&classes);
    ck_assert_int_eq(counting.live, 0);
    size_classes_release(&classes, alloc(50));
    out = alloc(200);
#ifndef LULL_NO_POOL
    size_classes_drop_unused(&classes, 2);
    ck_assert_int_eq(counting.live, 4); /* one that is kept is not enough to go */
    size_classes_drop_unused(&classes, 1);
    ck_assert_int_eq(counting.live, 2);
#endif
    size_classes_drop_unused(&classes, 0);
    ck_assert_int_eq(counting.live, 2);
    size_classes_release(&classes, out);
}
END_TEST

#ifndef LULL_NO_POOL
static void release_twice(void)
{
    unsigned char *block = alloc(60);
    size_classes_release(&classes, block);
    size_classes_release(&classes, block);
}

START_TEST(a_second_release_traps_with_the_class)
{
    expect_death(release_twice, "recycler \"blocks to 64 bytes\": object ");
}
END_TEST
#endif

static Suite *size_classes_suite(void)
{
    Suite *suite = suite_create("size_classes");
    TCase *tc = tcase_create("size_classes");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, every_size_is_writable_and_comes_back);
    tcase_add_test(tc, small_blocks_are_used_again_and_large_ones_go_back);
    tcase_add_test(tc, zeroed_is_zero_though_the_block_was_used);
    tcase_add_test(tc, a_resize_keeps_the_bytes_from_any_size_to_any_other);
    tcase_add_test(tc, a_resize_that_fits_does_not_move);
    tcase_add_test(tc, without_memory_nothing_changes);
    tcase_add_test(tc, a_trim_gives_all_idle_blocks_back);
#ifndef LULL_NO_POOL
    tcase_add_test(tc, a_second_release_traps_with_the_class);
#endif
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("size_classes", size_classes_suite)
