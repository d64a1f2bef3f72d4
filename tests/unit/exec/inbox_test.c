/* SPDX-License-Identifier: MIT */
/* The inbox (src/exec/inbox.c), alone and with four submitting threads. */
#include "exec/inbox.h"

#include <pthread.h>

#include "tests/support/check_main.h"
#include "tests/support/must.h"

static struct inbox inbox;

static void nothing(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
}

static void setup(void)
{
    inbox_init(&inbox);
}

START_TEST(tasks_come_out_in_the_order_of_submitting)
{
    struct lull_task a, b, c;
    lull_task_init(&a, nothing);
    lull_task_init(&b, nothing);
    lull_task_init(&c, nothing);
    ck_assert(inbox_is_empty(&inbox));
    ck_assert_int_eq(inbox_push(&inbox, &a), INBOX_PUSHED_FIRST);
    ck_assert_int_eq(inbox_push(&inbox, &b), INBOX_PUSHED);
    ck_assert_int_eq(inbox_push(&inbox, &c), INBOX_PUSHED);
    ck_assert(!inbox_is_empty(&inbox));
    struct lull_task *taken = inbox_take(&inbox);
    ck_assert_ptr_eq(taken, &a);
    ck_assert_ptr_eq(taken->inbox_next, &b);
    ck_assert_ptr_eq(b.inbox_next, &c);
    ck_assert_ptr_null(c.inbox_next);
    ck_assert(inbox_is_empty(&inbox));
    ck_assert_ptr_null(inbox_take(&inbox));
}
END_TEST

START_TEST(one_that_is_submitted_stays_where_it_is_until_released)
{
    struct lull_task a, b;
    lull_task_init(&a, nothing);
    lull_task_init(&b, nothing);
    (void)inbox_push(&inbox, &a);
    (void)inbox_push(&inbox, &b);
    ck_assert_int_eq(inbox_push(&inbox, &a), INBOX_ALREADY);
    ck_assert_ptr_eq(inbox_take(&inbox), &a);
    ck_assert_int_eq(inbox_push(&inbox, &a), INBOX_ALREADY);
    inbox_release(&a);
    ck_assert_int_eq(inbox_push(&inbox, &a), INBOX_PUSHED_FIRST);
    ck_assert_ptr_eq(inbox_take(&inbox), &a);
    ck_assert_ptr_null(a.inbox_next);
}
END_TEST

/* ---- four threads: each submits its own tasks in order, and all submit one shared task */

#define THREADS 4
#define EACH    20000

struct numbered {
    struct lull_task task;
    uint32_t thread;
    uint32_t number;
};

static struct numbered numbered[THREADS][EACH];
static struct lull_task shared;
static uint32_t shared_value[THREADS]; /* plain: published by submitting `shared` */
static uint32_t shared_seen[THREADS];

static void *submit_all(void *arg)
{
    struct numbered *mine = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        mine[i].number = i;
        (void)inbox_push(&inbox, &mine[i].task);
    }
    return NULL;
}

START_TEST(each_threads_tasks_stay_in_order)
{
    pthread_t thread[THREADS];
    uint32_t next[THREADS] = {0};
    uint32_t taken = 0;
    for (uint32_t t = 0; t < THREADS; t++) {
        for (uint32_t i = 0; i < EACH; i++) {
            lull_task_init(&numbered[t][i].task, nothing);
            numbered[t][i].thread = t;
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        MUST(pthread_create(&thread[t], NULL, submit_all, numbered[t]) == 0);
    }
    while (taken < THREADS * EACH) {
        struct lull_task *task = inbox_take(&inbox);
        for (; task != NULL; taken++) {
            const struct numbered *n = (const struct numbered *)(const void *)task;
            struct lull_task *after = task->inbox_next;
            MUST(n->number == next[n->thread]);
            next[n->thread]++;
            inbox_release(task);
            task = after;
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        MUST(next[t] == EACH);
    }
    MUST(inbox_is_empty(&inbox));
}
END_TEST

struct publisher {
    uint32_t index;
    struct lull_task done;
};

static void *publish(void *arg)
{
    struct publisher *p = arg;
    for (uint32_t i = 1; i <= EACH; i++) {
        /* Every write is followed by a submit: whether it is the first or finds the task submitted
         * already, a later run must see the write. */
        __atomic_store_n(&shared_value[p->index], i, __ATOMIC_RELAXED);
        (void)inbox_push(&inbox, &shared);
    }
    (void)inbox_push(&inbox, &p->done);
    return NULL;
}

START_TEST(a_submit_that_finds_the_task_submitted_is_not_lost)
{
    pthread_t thread[THREADS];
    struct publisher publisher[THREADS];
    uint32_t done = 0;
    lull_task_init(&shared, nothing);
    for (uint32_t t = 0; t < THREADS; t++) {
        publisher[t].index = t;
        lull_task_init(&publisher[t].done, nothing);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        MUST(pthread_create(&thread[t], NULL, publish, &publisher[t]) == 0);
    }
    while (done < THREADS || !inbox_is_empty(&inbox)) {
        struct lull_task *task = inbox_take(&inbox);
        while (task != NULL) {
            struct lull_task *after = task->inbox_next;
            inbox_release(task);
            if (task == &shared) {
                for (uint32_t t = 0; t < THREADS; t++) {
                    shared_seen[t] = __atomic_load_n(&shared_value[t], __ATOMIC_RELAXED);
                }
            } else {
                done++;
            }
            task = after;
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        MUST(shared_seen[t] == EACH);
    }
}
END_TEST

static Suite *inbox_suite(void)
{
    Suite *suite = suite_create("exec/inbox");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, tasks_come_out_in_the_order_of_submitting);
    tcase_add_test(cases, one_that_is_submitted_stays_where_it_is_until_released);
    tcase_add_test(cases, each_threads_tasks_stay_in_order);
    tcase_add_test(cases, a_submit_that_finds_the_task_submitted_is_not_lost);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("inbox", inbox_suite)
