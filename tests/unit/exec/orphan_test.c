/* SPDX-License-Identifier: MIT */
/* An executor whose thread does not exist (src/exec/orphan.c). The other thread exists here, and has entered for good; the answer that a
 * child's loop would give is ours. */
#include "exec/orphan.h"

#include <pthread.h>

#include "exec/executor.h"
#include "tests/unit/exec/fixture.h"

static bool is_child;
static unsigned ran;

static bool ask(const struct lull_loop *loop)
{
    (void)loop;
    return is_child;
}

static int no_watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    (void)loop;
    (void)w;
    (void)want;
    return 0;
}

static int no_alarm(struct lull_loop *loop, struct lull_instant at)
{
    (void)loop;
    (void)at;
    return 0;
}

static void no_wake(struct lull_loop *loop)
{
    (void)loop;
}

static const struct lull_loop_ops ops = {.watch = no_watch, .alarm = no_alarm, .wake = no_wake};
static struct lull_loop loop = {.ops = &ops, .name = "none"};
static struct rig rig;

static void *enter_for_good(void *arg)
{
    ck_assert_int_eq(lull_executor_enter(arg), LULL_OK);
    return NULL;
}

static void count_run(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    ran++;
}

static void begin(void)
{
    pthread_t other;
    rig_init(&rig, 0);
    executor_set_loop(rig.executor, &loop);
    executor_set_fork_question(rig.executor, ask);
    is_child = false;
    ran = 0;
    ck_assert_int_eq(pthread_create(&other, NULL, enter_for_good, rig.executor), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

/* Nobody gives the context back: it is freed by taking it over. */
static void end(void)
{
    is_child = true;
    rig_fini(&rig);
}

START_TEST(in_the_parent_the_other_thread_is_there)
{
    begin();
    ck_assert(!executor_is_orphan(rig.executor));
    ck_assert(!executor_visit(rig.executor));
    ck_assert(!executor_take_within(rig.executor, 1));
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_RC_IN_TURN);
    ck_assert(!executor_is_orphan(rig.executor));
    end();
}
END_TEST

START_TEST(in_a_child_nobody_waits_for_it_and_nothing_runs)
{
    struct lull_task task;
    begin();
    lull_task_init(&task, count_run);
    is_child = true;
    ck_assert(executor_is_orphan(rig.executor));
    executor_take(rig.executor);
    ck_assert(lull_executor_in_context(rig.executor));
    lull_executor_post(rig.executor, &task);
    lull_executor_leave(rig.executor);
    ck_assert(executor_is_orphan(rig.executor));
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_int_eq(executor_quiet_turn(rig.executor), LULL_OK);
    ck_assert(executor_take_between_turns(rig.executor));
    executor_end_visit(rig.executor);
    ck_assert_uint_eq(ran, 0);
    end();
}
END_TEST

START_TEST(whoever_enters_in_the_child_is_not_taken_for_it)
{
    begin();
    is_child = true;
    ck_assert(executor_visit(rig.executor));
    ck_assert(!executor_visit(rig.executor)); /* this thread is in it already */
    executor_end_visit(rig.executor);
    ck_assert(executor_visit(rig.executor));
    executor_end_visit(rig.executor);
    end();
}
END_TEST

static Suite *orphan_suite(void)
{
    Suite *suite = suite_create("exec/orphan");
    TCase *cases = tcase_create("orphan");
    tcase_add_test(cases, in_the_parent_the_other_thread_is_there);
    tcase_add_test(cases, in_a_child_nobody_waits_for_it_and_nothing_runs);
    tcase_add_test(cases, whoever_enters_in_the_child_is_not_taken_for_it);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("orphan", orphan_suite)
