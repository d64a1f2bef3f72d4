/* SPDX-License-Identifier: MIT */
#include "base/slice.h"

#include <pthread.h>
#include <string.h>

#include "lull/rc.h"
#include "lull/recycler.h"

#include "base/container.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

START_TEST(a_copy_has_its_own_bytes_until_the_last_reference)
{
    struct counting_allocator counting;
    struct lull_slice a;
    struct lull_slice b;
    char text[] = "hello";
    counting_init(&counting);
    ck_assert_int_eq(lull_slice_copy(&counting.base, text, 5, &a), LULL_OK);
    ck_assert_int_eq(counting.asked, 1);
    text[0] = 'j';
    ck_assert_uint_eq(a.len, 5);
    ck_assert_mem_eq(a.data, "hello", 5);
    b = lull_slice_ref(a);
    ck_assert_ptr_eq(b.data, a.data);
    lull_slice_unref(a);
    ck_assert_int_eq(counting.live, 1);
    ck_assert_mem_eq(b.data, "hello", 5);
    lull_slice_unref(b);
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

START_TEST(a_copy_of_nothing_costs_nothing)
{
    struct counting_allocator counting;
    struct lull_slice slice;
    counting_init(&counting);
    ck_assert_int_eq(lull_slice_copy(&counting.base, NULL, 0, &slice), LULL_OK);
    ck_assert_uint_eq(slice.len, 0);
    lull_slice_unref(lull_slice_ref(slice));
    lull_slice_unref(slice);
    ck_assert_int_eq(counting.asked, 0);
}
END_TEST

START_TEST(no_memory_leaves_the_slice_alone)
{
    struct counting_allocator counting;
    struct lull_slice slice = lull_slice_static("before", 6);
    counting_init(&counting);
    counting_exhaust(&counting);
    ck_assert_int_eq(lull_slice_copy(&counting.base, "x", 1, &slice), LULL_RC_NOMEM);
    ck_assert_mem_eq(slice.data, "before", 6);
    ck_assert_ptr_null(slab_new(&counting.base, SIZE_MAX));
}
END_TEST

START_TEST(a_static_slice_is_not_counted)
{
    struct lull_slice slice = lull_slice_static("text", 4);
    ck_assert_ptr_null(slice.slab);
    lull_slice_unref(slice);
    lull_slice_unref(slice);
    ck_assert_mem_eq(lull_slice_ref(slice).data, "text", 4);
}
END_TEST

START_TEST(slices_of_a_slab_keep_it)
{
    struct counting_allocator counting;
    counting_init(&counting);
    struct lull_slab *slab = slab_new(&counting.base, 100);
    ck_assert_uint_eq(slab_capacity(slab), 100);
    memset(slab_bytes(slab), 'a', 100);
    ck_assert(slab_is_sole(slab));
    struct lull_slice whole = slab_slice(slab, 0, 100);
    struct lull_slice none = slab_slice(slab, 100, 0);
    ck_assert(!slab_is_sole(slab));
    struct lull_slice part = slice_part(whole, 10, 20);
    ck_assert_ptr_eq(part.data, slab_bytes(slab) + 10);
    ck_assert_uint_eq(part.len, 20);
    slab_unref(slab);
    lull_slice_unref(none);
    ck_assert_int_eq(counting.live, 1);
    ck_assert(slab_is_sole(slab));
    lull_slice_unref(whole);
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

/* What a transport does: a slab in a recycler's object, given back by the last thread. */
struct carved {
    struct lull_slab slab;
    struct lull_recycler *recycler;
    uint8_t bytes[256];
};

static void release_carved(struct lull_slab *slab)
{
    struct carved *carved = container_of(slab, struct carved, slab);
    lull_recycler_release_foreign(carved->recycler, carved);
}

static struct carved *carve(struct lull_recycler *recycler)
{
    struct carved *carved = lull_recycler_claim(recycler);
    carved->recycler = recycler;
    slab_init(&carved->slab, carved->bytes, sizeof(carved->bytes), release_carved);
    return carved;
}

static void *unref_on_thread(void *arg)
{
    struct carved *carved = arg;
    /* Each thread reads the bytes up to its last moment. */
    uint8_t first = slab_bytes(&carved->slab)[0];
    slab_unref(&carved->slab);
    return first == 42 ? arg : NULL;
}

START_TEST(a_slab_that_grows_keeps_its_bytes)
{
    struct counting_allocator counting;
    struct lull_slab *slab;
    counting_init(&counting);
    slab = slab_new(&counting.base, 5);
    memcpy(slab_bytes(slab), "hello", 5);
    slab = slab_resize(slab, 100000);
    ck_assert_uint_eq(slab_capacity(slab), 100000);
    ck_assert_mem_eq(slab_bytes(slab), "hello", 5);
    memset(slab_bytes(slab) + 5, 1, 100000 - 5);
    ck_assert_int_eq(counting.live, 1);
    counting_exhaust(&counting);
    ck_assert_ptr_null(slab_resize(slab, 200000));
    ck_assert_ptr_null(slab_resize(slab, SIZE_MAX));
    ck_assert_uint_eq(slab_capacity(slab), 100000);
    ck_assert_mem_eq(slab_bytes(slab), "hello", 5);
    slab_unref(slab);
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

START_TEST(a_carved_slab_goes_back_once_whichever_thread_is_last)
{
    struct lull_recycler_options options;
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    struct lull_recycler *recycler = NULL;
    pthread_t threads[3];
    lull_recycler_options_init(&options, "slabs", sizeof(struct carved));
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
    for (int round = 0; round < 50; round++) {
        struct carved *carved = carve(recycler);
        carved->bytes[0] = 42;
        for (int i = 0; i < 3; i++) {
            slab_ref(&carved->slab);
            ck_assert_int_eq(pthread_create(&threads[i], NULL, unref_on_thread, carved), 0);
        }
        slab_unref(&carved->slab);
        for (int i = 0; i < 3; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            ck_assert_ptr_eq(result, carved);
        }
    }
    lull_recycler_trim(recycler);
    lull_recycler_stats(recycler, &stats);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.releases_foreign, 50);
    lull_recycler_free(recycler);
}
END_TEST

static void keep_for_ever(struct lull_slab *slab)
{
    (void)slab;
}

static void unref_twice(void)
{
    static uint8_t bytes[8];
    struct lull_slab slab;
    slab_init(&slab, bytes, sizeof(bytes), keep_for_ever);
    slab_unref(&slab);
    slab_unref(&slab);
}

static void ref_after_the_end(void)
{
    static uint8_t bytes[8];
    struct lull_slab slab;
    slab_init(&slab, bytes, sizeof(bytes), keep_for_ever);
    slab_unref(&slab);
    slab_ref(&slab);
}

static void leave_the_slice(void)
{
    slice_part(lull_slice_static("abc", 3), 2, 2);
}

static void leave_the_slab(void)
{
    static uint8_t bytes[8];
    struct lull_slab slab;
    slab_init(&slab, bytes, sizeof(bytes), keep_for_ever);
    slab_slice(&slab, 9, 0);
}

static void resize_what_others_see(void)
{
    struct lull_slab *slab = slab_new(NULL, 8);
    slab_ref(slab);
    (void)slab_resize(slab, 16);
}

static void resize_other_memory(void)
{
    static uint8_t bytes[8];
    struct lull_slab slab;
    slab_init(&slab, bytes, sizeof(bytes), keep_for_ever);
    (void)slab_resize(&slab, 16);
}

START_TEST(faults_of_ours_are_caught)
{
    expect_death(unref_twice, "given back too often");
    expect_death(ref_after_the_end, "referenced after its end");
    expect_death(leave_the_slice, "a part leaves its slice");
    expect_death(leave_the_slab, "a slice leaves its slab");
    expect_death(resize_what_others_see, "is resized");
    expect_death(resize_other_memory, "is resized");
}
END_TEST

static Suite *slice_suite(void)
{
    Suite *suite = suite_create("slice");
    TCase *tc = tcase_create("slice");
    tcase_add_test(tc, a_copy_has_its_own_bytes_until_the_last_reference);
    tcase_add_test(tc, a_copy_of_nothing_costs_nothing);
    tcase_add_test(tc, no_memory_leaves_the_slice_alone);
    tcase_add_test(tc, a_static_slice_is_not_counted);
    tcase_add_test(tc, slices_of_a_slab_keep_it);
    tcase_add_test(tc, a_slab_that_grows_keeps_its_bytes);
    tcase_add_test(tc, a_carved_slab_goes_back_once_whichever_thread_is_last);
    tcase_add_test(tc, faults_of_ours_are_caught);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("slice", slice_suite)
