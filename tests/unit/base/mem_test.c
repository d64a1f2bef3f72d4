/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"

START_TEST(null_means_the_system_allocator)
{
    char *memory = mem_alloc(NULL, 16);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 7, 16);
    memory = mem_resize(NULL, memory, 4096);
    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(memory[15], 7);
    mem_release(NULL, memory);
    mem_release(NULL, NULL);
    ck_assert(lull_allocator_system()->alloc != NULL);
    ck_assert_ptr_eq(lull_allocator_system(), lull_allocator_system());
}
END_TEST

static size_t last_size;

static void *note_size(void *ctx, size_t size)
{
    (void)ctx;
    last_size = size;
    return NULL;
}

static void *note_resize(void *ctx, void *memory, size_t size)
{
    (void)memory;
    return note_size(ctx, size);
}

START_TEST(the_allocator_never_sees_size_zero)
{
    struct lull_allocator noting = {note_size, note_resize, NULL, NULL};
    ck_assert_ptr_null(mem_alloc(&noting, 0));
    ck_assert_uint_eq(last_size, 1);
    last_size = 0;
    ck_assert_ptr_null(mem_zeroed(&noting, 0));
    ck_assert_uint_eq(last_size, 1);
    last_size = 0;
    ck_assert_ptr_null(mem_resize(&noting, NULL, 0));
    ck_assert_uint_eq(last_size, 1);
}
END_TEST

START_TEST(lines_begin_with_a_line)
{
    static const size_t sizes[] = {1, 63, 64, 65, 1000};
    struct counting_allocator counting;
    counting_init(&counting);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *block;
        unsigned char *memory = mem_lines(&counting.base, sizes[i], &block);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % MEM_LINE_BYTES, 0);
        ck_assert(memory >= (unsigned char *)block);
        memset(memory, 7, sizes[i]);
        mem_release(&counting.base, block);
    }
    void *none = &none;
    ck_assert_ptr_null(mem_lines(&counting.base, SIZE_MAX - 10, &none));
    ck_assert_ptr_null(none);
}
END_TEST

static size_t asked_for;
static char arena[512];
static size_t arena_at;

static void *from_arena(void *ctx, size_t size)
{
    (void)ctx;
    asked_for = size;
    return arena + arena_at;
}

START_TEST(lines_are_all_inside_of_the_block_wherever_that_begins)
{
    const struct lull_allocator fixed = {from_arena, NULL, NULL, NULL};
    for (arena_at = 0; arena_at < MEM_LINE_BYTES; arena_at++) {
        void *block;
        const char *memory = mem_lines(&fixed, 100, &block);
        ck_assert_ptr_eq(block, arena + arena_at);
        ck_assert((uintptr_t)memory % MEM_LINE_BYTES == 0 && memory >= arena + arena_at);
        ck_assert(memory + 2 * MEM_LINE_BYTES <= arena + arena_at + asked_for);
    }
}
END_TEST

START_TEST(zeroed_memory_is_zero)
{
    struct counting_allocator counting;
    counting_init(&counting);
    unsigned char *memory = mem_zeroed(&counting.base, 1000);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(memory[i], 0);
    }
    mem_release(&counting.base, memory);
    ck_assert_int_eq(counting.asked, 1);
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

START_TEST(an_array_that_does_not_fit_a_size_is_refused_unasked)
{
    struct counting_allocator counting;
    counting_init(&counting);
    ck_assert_ptr_null(mem_resize_array(&counting.base, NULL, SIZE_MAX / 8 + 1, 8));
    ck_assert_int_eq(counting.asked, 0);
    void *memory = mem_resize_array(&counting.base, NULL, 10, 8);
    ck_assert_ptr_nonnull(memory);
    counting_exhaust(&counting);
    ck_assert_ptr_null(mem_resize_array(&counting.base, memory, 20, 8));
    mem_release(&counting.base, memory);
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

static Suite *mem_suite(void)
{
    Suite *suite = suite_create("mem");
    TCase *tc = tcase_create("mem");
    tcase_add_test(tc, null_means_the_system_allocator);
    tcase_add_test(tc, the_allocator_never_sees_size_zero);
    tcase_add_test(tc, lines_begin_with_a_line);
    tcase_add_test(tc, lines_are_all_inside_of_the_block_wherever_that_begins);
    tcase_add_test(tc, zeroed_memory_is_zero);
    tcase_add_test(tc, an_array_that_does_not_fit_a_size_is_refused_unasked);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("mem", mem_suite)
