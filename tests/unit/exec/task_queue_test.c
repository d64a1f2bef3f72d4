/* SPDX-License-Identifier: MIT */
/* The local queue of tasks (src/exec/task_queue.h). */
#include "exec/task_queue.h"

#include "tests/unit/exec/fixture.h"

static struct task_queue queue;
static struct lull_task a, b, c;

static void nothing(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
}

static void setup(void)
{
    task_queue_init(&queue);
    lull_task_init(&a, nothing);
    lull_task_init(&b, nothing);
    lull_task_init(&c, nothing);
}

START_TEST(tasks_come_out_in_the_order_of_pushing)
{
    ck_assert(task_queue_push(&queue, &a));
    ck_assert(task_queue_push(&queue, &b));
    ck_assert(task_queue_push(&queue, &c));
    ck_assert_ptr_eq(task_queue_pop(&queue), &a);
    ck_assert_ptr_eq(task_queue_pop(&queue), &b);
    ck_assert_ptr_eq(task_queue_pop(&queue), &c);
    ck_assert_ptr_null(task_queue_pop(&queue));
}
END_TEST

START_TEST(a_queued_task_stays_where_it_is)
{
    struct task_queue other;
    task_queue_init(&other);
    ck_assert(task_queue_push(&queue, &a));
    ck_assert(task_queue_push(&queue, &b));
    ck_assert(!task_queue_push(&queue, &a));
    ck_assert(!task_queue_push(&other, &a));
    ck_assert(task_queue_is_empty(&other));
    ck_assert_ptr_eq(task_queue_pop(&queue), &a);
    ck_assert(task_queue_push(&queue, &a)); /* out, so it may go in behind b */
    ck_assert_ptr_eq(task_queue_pop(&queue), &b);
    ck_assert_ptr_eq(task_queue_pop(&queue), &a);
}
END_TEST

START_TEST(one_from_the_middle_can_be_taken_out)
{
    (void)task_queue_push(&queue, &a);
    (void)task_queue_push(&queue, &b);
    (void)task_queue_push(&queue, &c);
    ck_assert(task_queue_remove(&b));
    ck_assert(!task_queue_remove(&b));
    ck_assert_ptr_eq(task_queue_pop(&queue), &a);
    ck_assert_ptr_eq(task_queue_pop(&queue), &c);
    ck_assert(task_queue_is_empty(&queue));
}
END_TEST

START_TEST(a_moved_queue_keeps_its_order_and_leaves_nothing_behind)
{
    struct task_queue to;
    (void)task_queue_push(&queue, &a);
    (void)task_queue_push(&queue, &b);
    task_queue_move(&to, &queue);
    ck_assert(task_queue_is_empty(&queue));
    (void)task_queue_push(&queue, &c);
    ck_assert(task_queue_remove(&a)); /* wherever it is now */
    ck_assert_ptr_eq(task_queue_pop(&to), &b);
    ck_assert_ptr_null(task_queue_pop(&to));
    ck_assert_ptr_eq(task_queue_pop(&queue), &c);
    task_queue_move(&to, &queue);
    ck_assert(task_queue_is_empty(&to));
}
END_TEST

static Suite *task_queue_suite(void)
{
    Suite *suite = suite_create("exec/task_queue");
    TCase *cases = tcase_create("cases");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, tasks_come_out_in_the_order_of_pushing);
    tcase_add_test(cases, a_queued_task_stays_where_it_is);
    tcase_add_test(cases, one_from_the_middle_can_be_taken_out);
    tcase_add_test(cases, a_moved_queue_keeps_its_order_and_leaves_nothing_behind);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("task_queue", task_queue_suite)
