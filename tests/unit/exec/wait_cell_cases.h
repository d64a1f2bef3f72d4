/* SPDX-License-Identifier: MIT */
/* The facts about src/exec/wait_cell.c, for both of its ways to sleep. Nothing here waits for time: the other thread wakes us. */
#ifndef TESTS_UNIT_EXEC_WAIT_CELL_CASES_H
#define TESTS_UNIT_EXEC_WAIT_CELL_CASES_H

#include <pthread.h>

#include "exec/wait_cell.h"
#include "lull/types.h"
#include "tests/support/check_main.h"

START_TEST(it_starts_at_zero_and_keeps_what_is_set)
{
    struct wait_cell cell;
    wait_cell_init(&cell);
    ck_assert_uint_eq(wait_cell_read(&cell), 0);
    wait_cell_set(&cell, 4);
    wait_cell_set(&cell, 1);
    ck_assert_uint_eq(wait_cell_read(&cell), 5);
    wait_cell_bump(&cell);
    ck_assert_uint_eq(wait_cell_read(&cell), 6);
    wait_cell_fini(&cell);
}
END_TEST

START_TEST(another_word_than_was_seen_is_not_waited_for)
{
    struct wait_cell cell;
    wait_cell_init(&cell);
    wait_cell_set(&cell, 1);
    ck_assert(wait_cell_wait(&cell, 0, LULL_NEVER));
    ck_assert(wait_cell_wait(&cell, 0, LULL_HOUR));
    wait_cell_fini(&cell);
}
END_TEST

START_TEST(no_time_is_over_at_once)
{
    struct wait_cell cell;
    wait_cell_init(&cell);
    ck_assert(!wait_cell_wait(&cell, 0, 0));
    ck_assert(!wait_cell_wait(&cell, 0, -1));
    ck_assert(!wait_cell_wait(&cell, 0, 1));
    wait_cell_fini(&cell);
}
END_TEST

struct duo {
    struct wait_cell there, back;
};

static void *answer(void *arg)
{
    struct duo *duo = arg;
    for (uint32_t i = 0; i < 1000; i++) {
        while (wait_cell_read(&duo->there) == i) {
            (void)wait_cell_wait(&duo->there, i, LULL_NEVER);
        }
        wait_cell_bump(&duo->back);
    }
    return NULL;
}

START_TEST(two_threads_wake_each_other_a_thousand_times)
{
    pthread_t thread;
    struct duo duo;
    wait_cell_init(&duo.there);
    wait_cell_init(&duo.back);
    ck_assert_int_eq(pthread_create(&thread, NULL, answer, &duo), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        wait_cell_bump(&duo.there);
        while (wait_cell_read(&duo.back) == i) {
            (void)wait_cell_wait(&duo.back, i, LULL_HOUR);
        }
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(wait_cell_read(&duo.back), 1000);
    wait_cell_fini(&duo.there);
    wait_cell_fini(&duo.back);
}
END_TEST

#define LOCKERS   4
#define LOCKED_TO 20000u

struct locked {
    struct wait_cell lock;
    unsigned count; /* plain: the lock is what keeps it */
};

static void *count_up(void *arg)
{
    struct locked *locked = arg;
    for (unsigned i = 0; i < LOCKED_TO; i++) {
        wait_cell_lock(&locked->lock);
        locked->count++;
        wait_cell_unlock(&locked->lock);
    }
    return NULL;
}

START_TEST(a_lock_lets_one_thread_in_at_a_time)
{
    pthread_t threads[LOCKERS];
    struct locked locked = {.count = 0};
    wait_cell_init(&locked.lock);
    for (int i = 0; i < LOCKERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, &locked), 0);
    }
    for (int i = 0; i < LOCKERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    ck_assert_uint_eq(locked.count, LOCKERS * LOCKED_TO);
    ck_assert_uint_eq(wait_cell_read(&locked.lock), 0);
    wait_cell_fini(&locked.lock);
}
END_TEST

static Suite *wait_cell_suite(void)
{
    Suite *suite = suite_create("exec/wait_cell");
    TCase *cases = tcase_create("wait_cell");
    tcase_add_test(cases, it_starts_at_zero_and_keeps_what_is_set);
    tcase_add_test(cases, another_word_than_was_seen_is_not_waited_for);
    tcase_add_test(cases, no_time_is_over_at_once);
    tcase_add_test(cases, two_threads_wake_each_other_a_thousand_times);
    tcase_add_test(cases, a_lock_lets_one_thread_in_at_a_time);
    suite_add_tcase(suite, cases);
    return suite;
}

#endif
