/* SPDX-License-Identifier: MIT */
#include "lull/recycler.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lull/trace.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#endif
#if defined(HAS_ASAN) && !defined(LULL_NO_POOL)
#include <sanitizer/asan_interface.h>
#endif

#define OBJECT_BYTES ((size_t)100)

static struct counting_allocator counting;
static struct lull_counters counters;
static struct lull_recycler *recycler;

static void make(uint32_t keep)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.keep = keep;
    options.allocator = &counting.base;
    options.counters = &counters;
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
}

static void set_up(void)
{
    counting_init(&counting);
    memset(&counters, 0, sizeof(counters));
    recycler = NULL;
    make(4);
}

static void tear_down(void)
{
    lull_recycler_free(recycler);
    ck_assert_int_eq(counting.live, 0);
}

static void *claim(void)
{
    void *object = lull_recycler_claim(recycler);
    ck_assert_ptr_nonnull(object);
    memset(object, 0xaa, OBJECT_BYTES);
    return object;
}

static struct lull_recycler_stats stats(void)
{
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    ck_assert_uint_eq(now.claims, now.claims_local + now.claims_foreign + now.claims_allocated);
    ck_assert_uint_eq(now.claims, now.in_use + now.releases + now.releases_foreign);
    return now;
}

/* Every path's arithmetic holds with and without the pool. */
static void check_counters(void)
{
    struct lull_recycler_stats now = stats();
    ck_assert_uint_eq(counters.pool_claims, now.claims);
    ck_assert_uint_eq(counters.pool_misses, now.claims_allocated);
    ck_assert_uint_eq(counters.allocations, now.claims_allocated + 1);
    ck_assert_uint_eq(counters.allocations, (uint64_t)counting.asked);
#ifdef LULL_NO_POOL
    ck_assert_uint_eq(counters.pool_claims, counters.pool_misses);
    ck_assert_uint_eq(now.kept, 0);
    ck_assert_int_eq(counting.live, (long)now.in_use + 1);
#else
    ck_assert_int_eq(counting.live, (long)(now.claims_allocated - now.dropped) + 1);
#endif
}

START_TEST(objects_are_aligned_writable_and_apart)
{
    unsigned char *objects[10];
    for (int i = 0; i < 10; i++) {
        objects[i] = claim();
        ck_assert_uint_eq((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        memset(objects[i], i, OBJECT_BYTES);
    }
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(objects[i][0], i);
        ck_assert_int_eq(objects[i][OBJECT_BYTES - 1], i);
        lull_recycler_release(recycler, objects[i]);
    }
    check_counters();
}
END_TEST

START_TEST(nonsense_options_are_refused)
{
    struct lull_recycler_options options;
    struct lull_recycler *out = NULL;
    lull_recycler_options_init(&options, "x", 8);
    ck_assert_int_eq(lull_recycler_new(NULL, &out), LULL_RC_INVALID);
    ck_assert_int_eq(lull_recycler_new(&options, NULL), LULL_RC_INVALID);
    options.size = 0;
    ck_assert_int_eq(lull_recycler_new(&options, &out), LULL_RC_INVALID);
    lull_recycler_options_init(&options, NULL, 8);
    ck_assert_int_eq(lull_recycler_new(&options, &out), LULL_RC_INVALID);
    lull_recycler_options_init(&options, "x", 0);
    ck_assert_int_eq(lull_recycler_new(&options, &out), LULL_RC_INVALID);
    lull_recycler_options_init(&options, "x", SIZE_MAX);
    ck_assert_int_eq(lull_recycler_new(&options, &out), LULL_RC_INVALID);
    ck_assert_ptr_null(out);
}
END_TEST

START_TEST(no_memory_is_told_and_counts_nothing)
{
    struct lull_recycler_options options;
    struct lull_recycler *out = NULL;
    counting_exhaust(&counting);
    lull_recycler_options_init(&options, "x", 8);
    options.allocator = &counting.base;
    ck_assert_int_eq(lull_recycler_new(&options, &out), LULL_RC_NOMEM);
    ck_assert_ptr_null(out);
    ck_assert_ptr_null(lull_recycler_claim(recycler));
    ck_assert_uint_eq(counters.pool_claims, 0);
    ck_assert_uint_eq(stats().claims, 0);
    counting_replenish(&counting);
    lull_recycler_release(recycler, claim());
}
END_TEST

START_TEST(null_is_harmless)
{
    lull_recycler_release(recycler, NULL);
    lull_recycler_release_unguarded(recycler, NULL);
    lull_recycler_release_foreign(recycler, NULL);
    lull_recycler_free(NULL);
    ck_assert_uint_eq(stats().releases, 0);
}
END_TEST

START_TEST(an_object_can_be_small_and_nobody_has_to_count)
{
    struct lull_recycler_options options;
    struct lull_recycler *small = NULL;
    lull_recycler_options_init(&options, "small", 1);
    ck_assert_int_eq(lull_recycler_new(&options, &small), LULL_OK);
    for (int i = 0; i < 3; i++) {
        char *object = lull_recycler_claim(small);
        *object = 'x';
        lull_recycler_release_unguarded(small, object);
    }
    lull_recycler_free(small);
}
END_TEST

static void release_guarded(void *object)
{
    lull_recycler_release(recycler, object);
}

static void release_unguarded(void *object)
{
    lull_recycler_release_unguarded(recycler, object);
}

static void release_foreign(void *object)
{
    lull_recycler_release_foreign(recycler, object);
}

/* The three ways to give an object back. */
static void (*const ways[])(void *object) = {release_guarded, release_unguarded, release_foreign};

START_TEST(a_steady_claim_and_release_does_not_allocate)
{
    ways[_i](claim());
    for (int i = 0; i < 1000; i++) {
        ways[_i](claim());
    }
    check_counters();
#ifndef LULL_NO_POOL
    ck_assert_uint_eq(counters.pool_claims, 1001);
    ck_assert_uint_eq(counters.pool_misses, 1);
    ck_assert_int_eq(counting.asked, 2);
#endif
}
END_TEST

START_TEST(counts_are_copied_as_far_as_the_callers_size_says)
{
    struct lull_recycler_stats now;
    lull_recycler_release(recycler, claim());
    const size_t sizes[] = {0, sizeof(size_t) - 1, offsetof(struct lull_recycler_stats, releases),
                            sizeof(now)};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(&now, 0xee, sizeof(now));
        now.size = sizes[i];
        lull_recycler_stats(recycler, &now);
        ck_assert_uint_eq(now.size, sizes[i]);
        ck_assert_uint_eq(now.claims == 1, i >= 2);
        ck_assert_uint_eq(now.releases == UINT64_C(0xeeeeeeeeeeeeeeee), i < 3);
        ck_assert_uint_eq(now.ports == UINT64_C(0xeeeeeeeeeeeeeeee), i < 3);
    }
    /* A caller of tomorrow: what we know is filled, and he is told how much that is. */
    struct {
        struct lull_recycler_stats known;
        uint64_t unknown;
    } later = {.known.size = sizeof(later), .unknown = 7};
    lull_recycler_stats(recycler, &later.known);
    ck_assert_uint_eq(later.known.size, sizeof(now));
    ck_assert_uint_eq(later.known.claims, 1);
    ck_assert_uint_eq(later.unknown, 7);
}
END_TEST

#ifndef LULL_NO_POOL
START_TEST(the_last_object_back_is_the_first_out)
{
    void *a = claim();
    void *b = claim();
    lull_recycler_release(recycler, a);
    lull_recycler_release_unguarded(recycler, b);
    ck_assert_ptr_eq(claim(), b);
    ck_assert_ptr_eq(claim(), a);
    ck_assert_uint_eq(stats().claims_local, 2);
    lull_recycler_release(recycler, a);
    lull_recycler_release(recycler, b);
}
END_TEST

START_TEST(no_more_than_keep_are_kept)
{
    void *objects[10];
    for (int i = 0; i < 10; i++) {
        objects[i] = claim();
    }
    ck_assert_uint_eq(stats().in_use, 10);
    for (int i = 0; i < 10; i++) {
        ways[_i](objects[i]);
    }
    /* Foreign ones are looked at when the owner has none left. */
    if (_i == 2) {
        ck_assert_uint_eq(stats().kept, 0);
        ck_assert_uint_eq(stats().in_use, 10);
        lull_recycler_release(recycler, claim());
        ck_assert_uint_eq(stats().claims_foreign, 1);
        ck_assert_uint_eq(stats().releases_foreign, 10);
    }
    ck_assert_uint_eq(stats().kept, 4);
    ck_assert_uint_eq(stats().dropped, 6);
    ck_assert_uint_eq(stats().in_use, 0);
    ck_assert_int_eq(counting.live, 1 + 4);
    check_counters();
}
END_TEST

START_TEST(claims_look_local_then_foreign_then_to_the_allocator)
{
    void *local = claim();
    void *foreign = claim();
    lull_recycler_release_foreign(recycler, foreign);
    lull_recycler_release(recycler, local);
    ck_assert_ptr_eq(claim(), local);
    ck_assert_ptr_eq(claim(), foreign);
    void *third = claim();
    struct lull_recycler_stats now = stats();
    ck_assert_uint_eq(now.claims_local, 1);
    ck_assert_uint_eq(now.claims_foreign, 1);
    ck_assert_uint_eq(now.claims_allocated, 3);
    lull_recycler_release(recycler, local);
    lull_recycler_release(recycler, foreign);
    lull_recycler_release(recycler, third);
}
END_TEST

#ifdef HAS_ASAN
START_TEST(an_idle_object_may_not_be_touched)
{
    char *object = claim();
    ways[_i](object);
    ck_assert_int_eq(__asan_address_is_poisoned(object), 1);
    ck_assert_int_eq(__asan_address_is_poisoned(object + OBJECT_BYTES - 1), 1);
    ck_assert_ptr_eq(claim(), object);
    ck_assert_int_eq(__asan_address_is_poisoned(object), 0);
    ck_assert_int_eq(__asan_address_is_poisoned(object + OBJECT_BYTES - 1), 0);
    lull_recycler_release(recycler, object);
}
END_TEST
#endif

START_TEST(trim_gives_everything_kept_back)
{
    void *a = claim();
    void *b = claim();
    void *c = claim();
    lull_recycler_release(recycler, a);
    lull_recycler_release_foreign(recycler, b);
    lull_recycler_trim(recycler);
    ck_assert_int_eq(counting.live, 2);
    ck_assert_uint_eq(stats().kept, 0);
    ck_assert_uint_eq(stats().dropped, 2);
    ck_assert_uint_eq(stats().in_use, 1);
    lull_recycler_release(recycler, c);
}
END_TEST
#endif

START_TEST(an_object_that_outlives_the_recycler_is_freed_by_its_release)
{
    void *kept = claim();
    void *here = claim();
    void *there = claim();
    void *collected = claim();
    lull_recycler_release(recycler, kept);
    lull_recycler_release_foreign(recycler, collected);
    lull_recycler_free(recycler);
    ck_assert_int_eq(counting.live, 3);
    memset(here, 1, OBJECT_BYTES);
    memset(there, 1, OBJECT_BYTES);
    uint64_t allocations = counters.allocations;
    if (_i == 0) {
        lull_recycler_release(recycler, here);
        ck_assert_int_eq(counting.live, 2);
        lull_recycler_release_foreign(recycler, there);
    } else {
        lull_recycler_release_foreign(recycler, there);
        ck_assert_int_eq(counting.live, 2);
        lull_recycler_release_unguarded(recycler, here);
    }
    ck_assert_int_eq(counting.live, 0);
    ck_assert_uint_eq(counters.allocations, allocations);
    recycler = NULL;
}
END_TEST

/* What a double release does where objects are not kept is the allocator's to say. */
#ifndef LULL_NO_POOL
static void (*first_way)(void *object);
static void (*second_way)(void *object);

static void release_twice(void)
{
    void *object = claim();
    first_way(object);
    second_way(object);
}

START_TEST(a_second_release_traps_with_the_recyclers_name)
{
    first_way = ways[_i / 3];
    second_way = ways[_i % 3];
    expect_death(release_twice, "recycler \"streams\": object ");
    expect_death(release_twice, " released twice");
}
END_TEST
#endif

static void (*wrong_way)(void *object);

static void release_to_another(void)
{
    struct lull_recycler *mine = recycler;
    void *object = claim();
    make(4);
    ck_assert_ptr_ne(recycler, mine);
    wrong_way(object);
}

START_TEST(another_recyclers_object_traps)
{
    wrong_way = ways[_i];
    expect_death(release_to_another, " belongs to another recycler");
}
END_TEST

static void free_twice(void)
{
    claim();
    lull_recycler_free(recycler);
    lull_recycler_free(recycler);
}

static void claim_after_free(void)
{
    claim();
    lull_recycler_free(recycler);
    lull_recycler_claim(recycler);
}

START_TEST(using_a_freed_recycler_traps_while_objects_are_out)
{
    expect_death(free_twice, "a recycler was freed twice");
    expect_death(claim_after_free, "claimed from a recycler that was freed");
}
END_TEST

static Suite *recycler_suite(void)
{
    Suite *suite = suite_create("recycler");
    TCase *tc = tcase_create("recycler");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, objects_are_aligned_writable_and_apart);
    tcase_add_test(tc, nonsense_options_are_refused);
    tcase_add_test(tc, no_memory_is_told_and_counts_nothing);
    tcase_add_test(tc, null_is_harmless);
    tcase_add_test(tc, an_object_can_be_small_and_nobody_has_to_count);
    tcase_add_loop_test(tc, a_steady_claim_and_release_does_not_allocate, 0, 3);
    tcase_add_test(tc, counts_are_copied_as_far_as_the_callers_size_says);
#ifndef LULL_NO_POOL
    tcase_add_test(tc, the_last_object_back_is_the_first_out);
    tcase_add_loop_test(tc, no_more_than_keep_are_kept, 0, 3);
    tcase_add_test(tc, claims_look_local_then_foreign_then_to_the_allocator);
#ifdef HAS_ASAN
    tcase_add_loop_test(tc, an_idle_object_may_not_be_touched, 0, 3);
#endif
    tcase_add_test(tc, trim_gives_everything_kept_back);
    tcase_add_loop_test(tc, a_second_release_traps_with_the_recyclers_name, 0, 9);
#endif
    tcase_add_loop_test(tc, an_object_that_outlives_the_recycler_is_freed_by_its_release, 0, 2);
    tcase_add_loop_test(tc, another_recyclers_object_traps, 0, 3);
    tcase_add_test(tc, using_a_freed_recycler_traps_while_objects_are_out);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler", recycler_suite)
