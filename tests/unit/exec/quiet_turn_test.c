/* SPDX-License-Identifier: MIT */
/* Quiet turns (src/exec/turn.c): what they run, what they leave, and what they owe. */
#include "exec/executor.h"

#include "lull/timer.h"
#include "tests/unit/exec/fixture.h"
#include "tests/unit/exec/step.h"

static struct rig rig;
static struct lull_timer due;

static void say_due(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    say("due");
}

static void setup(void)
{
    rig_init(&rig, 0);
    memset(said, 0, sizeof(said));
    ck_assert_int_eq(lull_timer_init(&due, rig.executor, say_due), LULL_OK);
}

static void teardown(void)
{
    rig_enter(&rig);
    lull_timer_fini(&due);
    rig_leave(&rig);
    rig_fini(&rig);
}

static void turn_at(int64_t at_ns)
{
    rig.clock.mono_at = lull_at(at_ns);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(at_ns)), LULL_OK);
}

static bool is_quiet(void)
{
    return lull_executor_next_at(rig.executor).ns == LULL_NEVER;
}

static void quiet_turn(void)
{
    ck_assert_int_eq(executor_quiet_turn(rig.executor), LULL_OK);
}

START_TEST(a_quiet_turn_runs_quiet_tasks_and_flushes_and_leaves_the_rest_in_order)
{
    struct step other1 = step("other1"), other2 = step("other2"), other3 = step("other3");
    struct step quiet = step("quiet"), pump = step("pump"), flush = step("flush");
    struct step ready = step("ready"), dead = step("dead");
    executor_task_set_quiet(&quiet.task);
    executor_task_set_quiet(&pump.task);
    quiet.posts = &pump;
    pump.posts = &other3;
    pump.posts_flush = &flush;
    flush.posts_dead = &dead;
    rig_enter(&rig);
    lull_executor_post(rig.executor, &other1.task);
    executor_post_ready(rig.executor, &ready.task);
    lull_timer_arm(&due, lull_at(0)); /* due */
    rig_leave(&rig);
    ck_assert(lull_executor_submit(rig.executor, &other2.task));
    ck_assert(lull_executor_submit(rig.executor, &quiet.task));
    quiet_turn();
    ck_assert_str_eq(said, "quiet pump flush");
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 0);
    ck_assert(!is_quiet());
    said[0] = 0;
    turn_at(0);
    ck_assert_str_eq(said, "ready other1 other2 other3 due dead");
    ck_assert(is_quiet());
}
END_TEST

START_TEST(a_quiet_turn_asks_for_the_turn_that_it_owes_and_for_no_other)
{
    struct scripted_loop loop;
    struct step quiet = step("quiet"), other = step("other");
    scripted_init(&loop, &scripted_ops, rig.executor);
    executor_task_set_quiet(&quiet.task);
    ck_assert(lull_executor_submit(rig.executor, &quiet.task));
    ck_assert_uint_eq(loop.soons, 1);
    quiet_turn();
    turn_at(0);
    quiet_turn(); /* with nothing to do */
    ck_assert_uint_eq(loop.soons, 1);
    quiet.posts = &other;
    quiet.arms = &due;
    rig_enter(&rig);
    (void)lull_executor_submit(rig.executor, &quiet.task);
    rig_leave(&rig);
    quiet_turn();
    ck_assert_str_eq(said, "quiet quiet");
    ck_assert_uint_eq(loop.soons, 2);
    ck_assert_int_eq(loop.alarm_at.ns, 0);
    turn_at(0);
    ck_assert_str_eq(said, "quiet quiet other due");
    executor_set_loop(rig.executor, NULL);
}
END_TEST

START_TEST(a_quiet_turn_whose_alarm_is_refused_asks_for_a_turn_that_can_tell)
{
    struct scripted_loop loop;
    struct step quiet = step("quiet");
    executor_task_set_quiet(&quiet.task);
    quiet.arms = &due;
    ck_assert(lull_executor_submit(rig.executor, &quiet.task));
    scripted_init(&loop, &scripted_ops, rig.executor);
    loop.refuse_with = 12;
    quiet_turn();
    ck_assert_uint_eq(loop.alarms, 1);
    ck_assert_uint_eq(loop.soons, 1);
    ck_assert(executor_is_alarm_refused(rig.executor));
    executor_set_loop(rig.executor, NULL);
}
END_TEST

static void flush_inside(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    ck_assert_int_eq(executor_quiet_turn(executor), LULL_RC_IN_TURN);
    say("refused");
}

START_TEST(a_quiet_turn_inside_a_turn_is_refused)
{
    struct lull_task task;
    lull_task_init(&task, flush_inside);
    ck_assert(lull_executor_submit(rig.executor, &task));
    turn_at(0);
    ck_assert_str_eq(said, "refused");
}
END_TEST

START_TEST(a_quiet_task_that_posts_for_ever_does_not_hold_a_quiet_turn)
{
    struct step quiet = step("");
    executor_task_set_quiet(&quiet.task);
    quiet.posts = &quiet;
    ck_assert(lull_executor_submit(rig.executor, &quiet.task));
    quiet_turn();
    ck_assert(!is_quiet());
    rig_enter(&rig);
    ck_assert(lull_executor_unpost(rig.executor, &quiet.task));
    rig_leave(&rig);
}
END_TEST

static Suite *quiet_turn_suite(void)
{
    Suite *suite = suite_create("exec/quiet_turn");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_quiet_turn_runs_quiet_tasks_and_flushes_and_leaves_the_rest_in_order);
    tcase_add_test(cases, a_quiet_turn_asks_for_the_turn_that_it_owes_and_for_no_other);
    tcase_add_test(cases, a_quiet_turn_whose_alarm_is_refused_asks_for_a_turn_that_can_tell);
    tcase_add_test(cases, a_quiet_turn_inside_a_turn_is_refused);
    tcase_add_test(cases, a_quiet_task_that_posts_for_ever_does_not_hold_a_quiet_turn);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("quiet_turn", quiet_turn_suite)
