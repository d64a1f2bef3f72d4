/* SPDX-License-Identifier: MIT */
/* Who is told of a refused alarm, and when (src/exec/refusal.c, RULINGS 18). */
#include "exec/refusal.h"

#include <errno.h>

#include "lull/timer.h"
#include "tests/unit/exec/fixture.h"

static struct rig rig;
static struct scripted_loop loop;
static struct lull_timer timer;
static struct refusal_watch first, second;
static struct lull_task task;
static unsigned told, ran;
static struct lull_instant standing_at;
static bool posts;

static void expired(struct lull_timer *fired, struct lull_instant now)
{
    (void)fired;
    (void)now;
}

static void run(struct lull_task *run_task, struct lull_executor *executor)
{
    (void)run_task;
    (void)executor;
    ran++;
}

static void refused(struct refusal_watch *watch, struct lull_instant standing)
{
    (void)watch;
    told++;
    standing_at = standing;
    ck_assert(lull_executor_in_context(rig.executor));
    if (posts) {
        lull_executor_post(rig.executor, &task);
    }
}

static void setup(void)
{
    rig_init(&rig, 0);
    told = 0;
    ran = 0;
    posts = false;
    lull_task_init(&task, run);
    ck_assert_int_eq(lull_timer_init(&timer, rig.executor, expired), LULL_OK);
    scripted_init(&loop, &scripted_ops, rig.executor);
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    refusal_watch_start(&first, rig.executor, refused);
}

static void teardown(void)
{
    rig_enter(&rig);
    lull_timer_fini(&timer);
    rig_leave(&rig);
    rig_fini(&rig);
}

static void arm(int64_t at_ns)
{
    rig_enter(&rig);
    lull_timer_arm(&timer, lull_at(at_ns));
    rig_leave(&rig);
}

static void turn(void)
{
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
}

START_TEST(an_alarm_that_is_accepted_is_nobodys_business)
{
    arm(50);
    turn();
    ck_assert_uint_eq(told, 0);
}
END_TEST

START_TEST(a_refusal_is_told_in_the_turn_that_asked)
{
    refusal_watch_start(&second, rig.executor, refused);
    loop.refuse_with = ENOMEM;
    arm(50);
    ck_assert_uint_eq(told, 0); /* a visit asks too, but tells nothing: the next turn asks again */
    turn();
    ck_assert_uint_eq(told, 2);
    ck_assert_int_eq(standing_at.ns, LULL_NEVER);
    turn();
    ck_assert_uint_eq(told, 4);
    loop.refuse_with = 0;
    turn();
    ck_assert_uint_eq(told, 4);
}
END_TEST

START_TEST(what_it_posts_runs_before_the_turn_ends_and_the_loop_is_asked_once_more)
{
    loop.refuse_with = ENOMEM;
    posts = true;
    arm(50);
    const uint32_t alarms = loop.alarms;
    turn();
    ck_assert_uint_ge(ran, 1);
    ck_assert_uint_le(ran, 3);
    ck_assert_uint_eq(loop.alarms, alarms + 1 + ran);
}
END_TEST

START_TEST(the_alarm_that_stands_is_named)
{
    arm(100);
    loop.refuse_with = ENOMEM;
    arm(50);
    turn();
    ck_assert_uint_eq(told, 1);
    ck_assert_int_eq(standing_at.ns, 100);
}
END_TEST

START_TEST(who_has_stopped_is_not_told)
{
    refusal_watch_stop(&first);
    refusal_watch_stop(&first);
    refusal_watch_stop(&second); /* never started */
    loop.refuse_with = ENOMEM;
    arm(50);
    turn();
    ck_assert_uint_eq(told, 0);
}
END_TEST

static Suite *refusal_suite(void)
{
    Suite *suite = suite_create("refusal");
    TCase *tcase = tcase_create("refusal");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_alarm_that_is_accepted_is_nobodys_business);
    tcase_add_test(tcase, a_refusal_is_told_in_the_turn_that_asked);
    tcase_add_test(tcase, what_it_posts_runs_before_the_turn_ends_and_the_loop_is_asked_once_more);
    tcase_add_test(tcase, the_alarm_that_stands_is_named);
    tcase_add_test(tcase, who_has_stopped_is_not_told);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("refusal", refusal_suite)
