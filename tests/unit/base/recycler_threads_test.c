/* SPDX-License-Identifier: MIT */
/*
 * The recycler and other threads. Meant for TSan as well.
 */
#include "lull/recycler.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

#define OBJECT_BYTES ((size_t)100)

static struct counting_allocator counting;
static struct lull_recycler *recycler;

static void make(void)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.keep = 4;
    options.allocator = &counting.base;
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
}

static void set_up(void)
{
    counting_init(&counting);
    recycler = NULL;
    make();
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

/* What a double release does where objects are not kept is the allocator's to say. */
#ifndef LULL_NO_POOL
static void *release_in_the_race(void *object)
{
    lull_recycler_release_foreign(recycler, object);
    return NULL;
}

static void race_to_release(void)
{
    pthread_t threads[2];
    void *object = claim();
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, release_in_the_race, object);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

START_TEST(the_loser_of_two_racing_releases_traps)
{
    for (int i = 0; i < 20; i++) {
        expect_death(race_to_release, " released twice");
    }
}
END_TEST
#endif

#define RELEASERS 4
#define ROUNDS    500

/* A slot a thread: the owner puts an object in, the thread takes it out and gives it back. */
static _Atomic(void *) slots[RELEASERS];
static atomic_bool is_over;

static void *give_back(void *arg)
{
    _Atomic(void *) *slot = arg;
    uintptr_t released = 0;
    while (true) {
        /* Over is read before the slot: what was put in before the end is still seen. */
        bool was_over = atomic_load(&is_over);
        unsigned char *object = atomic_exchange(slot, NULL);
        if (object != NULL) {
            ck_assert_int_eq(object[0], 0xaa);
            memset(object, 0x55, OBJECT_BYTES);
            lull_recycler_release_foreign(recycler, object);
            released++;
        } else if (was_over) {
            return (void *)released;
        } else {
            sched_yield();
        }
    }
}

static uintptr_t run_releasers(int rounds, bool is_freed_first)
{
    pthread_t threads[RELEASERS];
    uintptr_t total = 0;
    atomic_store(&is_over, false);
    for (int i = 0; i < RELEASERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, give_back, &slots[i]), 0);
    }
    for (int given = 0; given < rounds * RELEASERS;) {
        _Atomic(void *) *slot = &slots[given % RELEASERS];
        if (atomic_load(slot) == NULL) {
            atomic_store(slot, claim());
            given++;
        } else {
            sched_yield();
        }
    }
    if (is_freed_first) {
        lull_recycler_free(recycler);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < RELEASERS; i++) {
        void *released = NULL;
        pthread_join(threads[i], &released);
        total += (uintptr_t)released;
    }
    return total;
}

START_TEST(four_threads_give_back_and_not_one_object_is_lost)
{
    ck_assert_uint_eq(run_releasers(ROUNDS, false), ROUNDS * RELEASERS);
    lull_recycler_trim(recycler);
    struct lull_recycler_stats now;
    lull_recycler_stats(recycler, &now);
    ck_assert_uint_eq(now.claims, ROUNDS * RELEASERS);
    ck_assert_uint_eq(now.releases_foreign, ROUNDS * RELEASERS);
    ck_assert_uint_eq(now.in_use, 0);
    ck_assert_int_eq(counting.live, 1);
}
END_TEST

START_TEST(a_recycler_may_be_freed_while_four_threads_give_back)
{
    /* The slots are nearly full when the recycler goes: its end races with the last releases. */
    for (int i = 0; i < 10; i++) {
        if (recycler == NULL) {
            make();
        }
        ck_assert_uint_eq(run_releasers(20, true), 20 * RELEASERS);
        ck_assert_int_eq(counting.live, 0);
        recycler = NULL;
    }
}
END_TEST

static Suite *recycler_threads_suite(void)
{
    Suite *suite = suite_create("recycler_threads");
    TCase *tc = tcase_create("recycler_threads");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
#ifndef LULL_NO_POOL
    tcase_add_test(tc, the_loser_of_two_racing_releases_traps);
#endif
    tcase_add_test(tc, four_threads_give_back_and_not_one_object_is_lost);
    tcase_add_test(tc, a_recycler_may_be_freed_while_four_threads_give_back);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler_threads", recycler_threads_suite)
