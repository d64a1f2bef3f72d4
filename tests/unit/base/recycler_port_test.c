/* SPDX-License-Identifier: MIT */
/*
 * src/base/recycler_port.c on one thread: paths, counts, both orders of the end, misuse. The threads are in recycler_threads_test.c.
 */
#include "lull/recycler.h"

#include <string.h>

#include "lull/trace.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

#define OBJECT_BYTES ((size_t)100)

static struct counting_allocator counting;
static struct lull_counters counters;
static struct lull_recycler *recycler;
static struct lull_recycler_port *port;

static void make(void)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.keep = 8;
    options.allocator = &counting.base;
    options.counters = &counters;
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
}

static struct lull_recycler_port *new_port(uint32_t capacity)
{
    struct lull_recycler_port *made = NULL;
    ck_assert_int_eq(lull_recycler_port_new(recycler, capacity, &made), LULL_OK);
    ck_assert_ptr_nonnull(made);
    return made;
}

static void set_up(void)
{
    counting_init(&counting);
    memset(&counters, 0, sizeof(counters));
    recycler = NULL;
    make();
    port = new_port(4);
}

static void tear_down(void)
{
    lull_recycler_port_free(port);
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
    ck_assert_uint_eq(now.claims, now.claims_local + now.claims_foreign + now.claims_port +
                                      now.claims_allocated);
    ck_assert_uint_eq(now.claims,
                      now.in_use + now.releases + now.releases_foreign + now.releases_port);
    ck_assert_uint_eq(counters.pool_claims, now.claims);
    ck_assert_uint_eq(counters.pool_misses, now.claims_allocated);
    ck_assert_uint_eq(counters.allocations, (uint64_t)counting.asked);
    return now;
}

START_TEST(nonsense_is_refused_and_null_is_harmless)
{
    struct lull_recycler_port *out = NULL;
    ck_assert_int_eq(lull_recycler_port_new(NULL, 4, &out), LULL_RC_INVALID);
    ck_assert_int_eq(lull_recycler_port_new(recycler, 4, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(lull_recycler_port_new(recycler, (1u << 24) + 1, &out), LULL_RC_INVALID);
    ck_assert_ptr_null(out);
    lull_recycler_port_free(NULL);
    lull_recycler_port_release(port, NULL);
    ck_assert_uint_eq(stats().ports, 1);
    ck_assert_uint_eq(stats().claims, 0);
}
END_TEST

START_TEST(no_memory_for_a_port_is_told)
{
    struct lull_recycler_port *out = NULL;
    counting_exhaust(&counting);
    ck_assert_int_eq(lull_recycler_port_new(recycler, 4, &out), LULL_RC_NOMEM);
    ck_assert_ptr_null(out);
    counting_replenish(&counting);
    struct lull_recycler_stats now = {.size = sizeof(now)};
    lull_recycler_stats(recycler, &now);
    ck_assert_uint_eq(now.ports, 1);
}
END_TEST

START_TEST(a_steady_claim_and_release_by_a_port_does_not_allocate)
{
    for (int i = 0; i < 1000; i++) {
        lull_recycler_port_release(port, claim());
    }
    struct lull_recycler_stats now = stats();
    ck_assert_uint_eq(now.claims, 1000);
#ifndef LULL_NO_POOL
    ck_assert_uint_eq(now.claims_allocated, 1);
    ck_assert_uint_eq(now.claims_port, 999);
    ck_assert_uint_eq(now.releases_port, 999);
    ck_assert_uint_eq(now.in_use, 1); /* in the port, not looked at yet */
    ck_assert_int_eq(counting.asked, 3);
    lull_recycler_trim(recycler);
    ck_assert_uint_eq(stats().releases_port, 1000);
    ck_assert_int_eq(counting.live, 2);
#else
    ck_assert_uint_eq(now.claims_allocated, 1000);
    ck_assert_int_eq(counting.live, 2);
#endif
    ck_assert_uint_eq(stats().in_use, 0);
}
END_TEST

#ifndef LULL_NO_POOL
START_TEST(claims_look_local_then_into_ports_then_at_the_list_then_to_the_allocator)
{
    void *local = claim();
    void *by_port = claim();
    void *by_list = claim();
    lull_recycler_release_foreign(recycler, by_list);
    lull_recycler_port_release(port, by_port);
    lull_recycler_release(recycler, local);
    ck_assert_ptr_eq(claim(), local);
    ck_assert_ptr_eq(claim(), by_port);
    ck_assert_ptr_eq(claim(), by_list);
    void *fourth = claim();
    struct lull_recycler_stats now = stats();
    ck_assert_uint_eq(now.claims_local, 1);
    ck_assert_uint_eq(now.claims_port, 1);
    ck_assert_uint_eq(now.claims_foreign, 1);
    ck_assert_uint_eq(now.claims_allocated, 4);
    lull_recycler_release(recycler, local);
    lull_recycler_release(recycler, by_port);
    lull_recycler_release(recycler, by_list);
    lull_recycler_release(recycler, fourth);
}
END_TEST

START_TEST(a_full_port_hands_on_to_the_shared_list)
{
    void *objects[7];
    for (int i = 0; i < 7; i++) {
        objects[i] = claim();
    }
    for (int i = 0; i < 7; i++) {
        lull_recycler_port_release(port, objects[i]);
    }
    ck_assert_uint_eq(stats().ports_full, 3);
    lull_recycler_release(recycler, claim());
    ck_assert_uint_eq(stats().claims_port, 1);
    ck_assert_uint_eq(stats().releases_port, 4);
    lull_recycler_trim(recycler);
    ck_assert_uint_eq(stats().releases_foreign, 3);
    ck_assert_uint_eq(stats().in_use, 0);
    ck_assert_int_eq(counting.live, 2);
    /* There is room again. */
    lull_recycler_port_release(port, claim());
    ck_assert_uint_eq(stats().ports_full, 3);
}
END_TEST

START_TEST(a_capacity_is_rounded_up_and_has_a_default)
{
    static const uint32_t rows[][2] = {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {0, 256}};
    void *objects[300];
    lull_recycler_port_free(port);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const uint64_t full = stats().ports_full;
        port = new_port(rows[row][0]);
        for (int i = 0; i < 300; i++) {
            objects[i] = claim();
        }
        for (int i = 0; i < 300; i++) {
            lull_recycler_port_release(port, objects[i]);
        }
        ck_assert_uint_eq(stats().ports_full - full, 300 - rows[row][1]);
        lull_recycler_port_free(port);
        lull_recycler_trim(recycler);
        ck_assert_uint_eq(stats().in_use, 0);
    }
    port = NULL;
}
END_TEST

START_TEST(no_more_than_keep_are_kept_of_what_comes_by_a_port)
{
    void *objects[20];
    lull_recycler_port_free(port);
    port = new_port(32);
    for (int i = 0; i < 20; i++) {
        objects[i] = claim();
    }
    for (int i = 0; i < 20; i++) {
        lull_recycler_port_release(port, objects[i]);
    }
    lull_recycler_release(recycler, claim());
    ck_assert_uint_eq(stats().kept, 8);
    ck_assert_uint_eq(stats().dropped, 12);
    ck_assert_int_eq(counting.live, 2 + 8);
}
END_TEST
#endif

START_TEST(a_port_may_be_freed_first_and_what_is_in_it_is_not_lost)
{
    void *object = claim();
    lull_recycler_port_release(port, object);
    lull_recycler_port_free(port);
    port = NULL;
#ifndef LULL_NO_POOL
    ck_assert_ptr_eq(claim(), object);
    ck_assert_uint_eq(stats().claims_port, 1);
    ck_assert_uint_eq(stats().ports, 0); /* the collecting freed it */
    lull_recycler_release(recycler, object);
#endif
    lull_recycler_trim(recycler);
    ck_assert_uint_eq(stats().ports, 0);
    ck_assert_int_eq(counting.live, 1);
}
END_TEST

START_TEST(ports_of_threads_that_went_do_not_pile_up)
{
    for (int i = 0; i < 100; i++) {
        struct lull_recycler_port *next = new_port(4);
        lull_recycler_port_release(next, claim());
        lull_recycler_port_free(next);
        ck_assert_uint_le(stats().ports, 2);
    }
    ck_assert_int_le(counting.live, 1 + 2 + 8);
}
END_TEST

START_TEST(a_port_freed_and_not_collected_goes_with_the_recycler)
{
    lull_recycler_port_release(port, claim());
    lull_recycler_port_free(port);
    port = NULL;
    lull_recycler_free(recycler);
    recycler = NULL;
    ck_assert_int_eq(counting.live, 0);
}
END_TEST

/* Which of the three goes last: the port, an object by the port, an object by the list. */
START_TEST(the_recycler_may_be_freed_first)
{
    void *in_it = claim();
    void *here = claim();
    void *there = claim();
    lull_recycler_port_release(port, in_it);
    lull_recycler_free(recycler);
    /* The recycler, the port and two objects. */
    ck_assert_int_eq(counting.live, 4);
    if (_i == 0) {
        lull_recycler_port_release(port, here);
        lull_recycler_release_foreign(recycler, there);
        ck_assert_int_eq(counting.live, 2);
        lull_recycler_port_free(port);
    } else if (_i == 1) {
        lull_recycler_port_free(port);
        ck_assert_int_eq(counting.live, 3);
        lull_recycler_release_foreign(recycler, here);
        lull_recycler_release(recycler, there);
    } else {
        lull_recycler_port_release(port, here);
        lull_recycler_port_free(port);
        ck_assert_int_eq(counting.live, 2);
        lull_recycler_release_foreign(recycler, there);
    }
    ck_assert_int_eq(counting.live, 0);
    recycler = NULL;
    port = NULL;
}
END_TEST

/* ---- misuse */

/* What a double release does where objects are not kept is the allocator's to say. */
#ifndef LULL_NO_POOL
static void by_port(void *object)
{
    lull_recycler_port_release(port, object);
}

static void by_owner(void *object)
{
    lull_recycler_release(recycler, object);
}

static void by_owner_unguarded(void *object)
{
    lull_recycler_release_unguarded(recycler, object);
}

static void by_list(void *object)
{
    lull_recycler_release_foreign(recycler, object);
}

static void (*const pairs[][2])(void *object) = {
    {by_port, by_port},  {by_port, by_owner}, {by_port, by_owner_unguarded}, {by_port, by_list},
    {by_owner, by_port}, {by_list, by_port},  {by_owner_unguarded, by_port},
};
static int pair;

static void release_twice(void)
{
    void *object = claim();
    pairs[pair][0](object);
    pairs[pair][1](object);
}

START_TEST(a_second_release_traps_whichever_way_it_comes)
{
    pair = _i;
    expect_death(release_twice, "recycler \"streams\": object ");
    expect_death(release_twice, " released twice");
}
END_TEST

static void release_by_a_freed_port(void)
{
    void *object = claim();
    lull_recycler_port_free(port);
    lull_recycler_port_release(port, object);
}

static void free_a_port_twice(void)
{
    lull_recycler_port_free(port);
    lull_recycler_port_free(port);
}

START_TEST(a_freed_port_traps_until_the_owner_has_noticed)
{
    expect_death(release_by_a_freed_port, "released by a port that was freed");
    expect_death(free_a_port_twice, "a port was freed twice");
}
END_TEST
#endif

static void release_to_another(void)
{
    void *object = claim();
    make();
    lull_recycler_port_free(port);
    port = new_port(4);
    lull_recycler_port_release(port, object);
}

START_TEST(another_recyclers_object_traps)
{
    expect_death(release_to_another, " belongs to another recycler");
}
END_TEST

static void port_after_free(void)
{
    claim();
    lull_recycler_free(recycler);
    (void)new_port(4);
}

START_TEST(a_port_of_a_freed_recycler_traps)
{
    expect_death(port_after_free, "a port of a recycler that was freed");
}
END_TEST

static Suite *recycler_port_suite(void)
{
    Suite *suite = suite_create("recycler_port");
    TCase *tc = tcase_create("recycler_port");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, nonsense_is_refused_and_null_is_harmless);
    tcase_add_test(tc, no_memory_for_a_port_is_told);
    tcase_add_test(tc, a_steady_claim_and_release_by_a_port_does_not_allocate);
#ifndef LULL_NO_POOL
    tcase_add_test(tc, claims_look_local_then_into_ports_then_at_the_list_then_to_the_allocator);
    tcase_add_test(tc, a_full_port_hands_on_to_the_shared_list);
    tcase_add_test(tc, a_capacity_is_rounded_up_and_has_a_default);
    tcase_add_test(tc, no_more_than_keep_are_kept_of_what_comes_by_a_port);
#endif
    tcase_add_test(tc, a_port_may_be_freed_first_and_what_is_in_it_is_not_lost);
    tcase_add_test(tc, ports_of_threads_that_went_do_not_pile_up);
    tcase_add_test(tc, a_port_freed_and_not_collected_goes_with_the_recycler);
    tcase_add_loop_test(tc, the_recycler_may_be_freed_first, 0, 3);
#ifndef LULL_NO_POOL
    tcase_add_loop_test(tc, a_second_release_traps_whichever_way_it_comes, 0,
                        (int)(sizeof(pairs) / sizeof(pairs[0])));
    tcase_add_test(tc, a_freed_port_traps_until_the_owner_has_noticed);
#endif
    tcase_add_test(tc, another_recyclers_object_traps);
    tcase_add_test(tc, a_port_of_a_freed_recycler_traps);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler_port", recycler_port_suite)
