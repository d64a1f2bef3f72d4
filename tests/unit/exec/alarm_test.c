/* SPDX-License-Identifier: MIT */
/* The executor's dealings with its loop (src/exec/alarm.c), with a scripted loop (RULINGS 18). */
#include "exec/executor.h"

#include <errno.h>
#include <pthread.h>

#include "lull/timer.h"
#include "tests/unit/exec/fixture.h"

static struct rig rig;
static struct scripted_loop loop;
static struct lull_timer t[2];
static uint32_t fired;
static struct lull_task task;
static uint32_t ran;

static void expired(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    fired++;
}

static void run(struct lull_task *run_task, struct lull_executor *executor)
{
    (void)run_task;
    (void)executor;
    ran++;
}

static void setup(void)
{
    rig_init(&rig, 0);
    fired = 0;
    ran = 0;
    lull_task_init(&task, run);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(lull_timer_init(&t[i], rig.executor, expired), LULL_OK);
    }
    scripted_init(&loop, &scripted_ops, rig.executor);
}

static void teardown(void)
{
    rig_enter(&rig);
    for (size_t i = 0; i < 2; i++) {
        lull_timer_fini(&t[i]);
    }
    rig_leave(&rig);
    rig_fini(&rig);
}

static void arm(size_t i, int64_t at_ns)
{
    rig_enter(&rig);
    lull_timer_arm(&t[i], lull_at(at_ns));
    rig_leave(&rig);
}

static void turn_at(int64_t at_ns)
{
    rig.clock.mono_at = lull_at(at_ns);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(at_ns)), LULL_OK);
}

static void expect(uint32_t alarms, int64_t alarm_at_ns)
{
    ck_assert_uint_eq(loop.alarms, alarms);
    ck_assert_int_eq(loop.alarm_at.ns, alarm_at_ns);
    ck_assert_uint_eq(rig_counters(&rig).alarms, alarms);
}

START_TEST(an_alarm_is_asked_only_when_the_next_instant_moves_earlier)
{
    arm(0, 50);
    expect(1, 50);
    arm(1, 60); /* later: no */
    arm(0, 55); /* pushed out: no, 50 costs an early turn */
    expect(1, 50);
    arm(0, 20);
    expect(2, 20);
    turn_at(10); /* some other reason for a turn */
    expect(2, 20);
    turn_at(20);
    ck_assert_uint_eq(fired, 1);
    expect(3, 60);
    turn_at(60);
    ck_assert_uint_eq(fired, 2);
    expect(3, 60); /* nothing is left to wait for */
}
END_TEST

START_TEST(an_alarm_that_comes_early_is_asked_for_again)
{
    arm(0, 50);
    executor_on_alarm_gone(rig.executor);
    turn_at(30);
    ck_assert_uint_eq(fired, 0);
    expect(2, 50);
    executor_on_alarm_gone(rig.executor);
    turn_at(50);
    ck_assert_uint_eq(fired, 1);
    expect(2, 50);
}
END_TEST

START_TEST(an_alarm_that_comes_late_or_twice_is_harmless)
{
    arm(0, 50);
    arm(1, 80);
    executor_on_alarm_gone(rig.executor);
    turn_at(70);
    ck_assert_uint_eq(fired, 1);
    expect(2, 80);
    executor_on_alarm_gone(rig.executor); /* the same once more, stale: we cannot know */
    turn_at(70);
    ck_assert_uint_eq(fired, 1);
    expect(3, 80);
    turn_at(80);
    ck_assert_uint_eq(fired, 2);
}
END_TEST

START_TEST(an_overdue_alarm_is_not_counted_on)
{
    arm(0, 50);
    arm(1, 90);
    turn_at(60); /* readiness, before the host delivers the alarm of 50 */
    ck_assert_uint_eq(fired, 1);
    expect(2, 90);
}
END_TEST

static int rc_inside;

static void turn_inside_alarm(struct scripted_loop *scripted)
{
    scripted->inside_alarm = NULL;
    rc_inside = lull_executor_turn(rig.executor, lull_at(50));
}

START_TEST(an_alarm_that_calls_back_inside_runs_no_turn_but_asks_for_one)
{
    loop.inside_alarm = turn_inside_alarm;
    rc_inside = LULL_OK;
    arm(0, 50);
    ck_assert_int_eq(rc_inside, LULL_RC_IN_TURN);
    ck_assert_uint_eq(fired, 0);
    ck_assert_uint_eq(loop.soons, 1);
    turn_at(10);
    expect(2, 50); /* the first was used up */
    turn_at(50);
    ck_assert_uint_eq(fired, 1);
}
END_TEST

static int rc_in_turn;

static void tell_alarm(struct lull_task *run_task, struct lull_executor *executor)
{
    (void)run_task;
    rc_in_turn = executor_turn_by_alarm(executor);
}

START_TEST(an_alarm_told_inside_a_turn_is_asked_for_again_at_its_end)
{
    struct lull_task telling;
    lull_task_init(&telling, tell_alarm);
    arm(0, 50);
    ck_assert(lull_executor_submit(rig.executor, &telling));
    turn_at(10);
    ck_assert_int_eq(rc_in_turn, LULL_RC_IN_TURN);
    expect(2, 50);
    turn_at(20); /* for another reason */
    expect(2, 50);
    rig.clock.mono_at = lull_at(50);
    ck_assert_int_eq(executor_turn_by_alarm(rig.executor), LULL_OK);
    ck_assert_uint_eq(fired, 1);
    expect(2, 50);
}
END_TEST

static void told_inside_alarm(struct scripted_loop *scripted)
{
    scripted->inside_alarm = NULL;
    rc_inside = executor_turn_by_alarm(rig.executor);
}

START_TEST(an_alarm_told_inside_alarm_is_asked_for_again_soon)
{
    loop.inside_alarm = told_inside_alarm;
    arm(0, 50);
    ck_assert_int_eq(rc_inside, LULL_RC_IN_TURN);
    ck_assert_uint_eq(loop.soons, 1);
    turn_at(10);
    expect(2, 50);
}
END_TEST

static void gone_inside_alarm(struct scripted_loop *scripted)
{
    scripted->inside_alarm = NULL;
    executor_on_alarm_gone(rig.executor);
}

START_TEST(an_alarm_used_up_inside_a_turns_end_is_asked_for_again)
{
    arm(0, 50);
    arm(1, 60);
    loop.inside_alarm = gone_inside_alarm;
    turn_at(50);
    ck_assert_uint_eq(fired, 1);
    ck_assert_uint_eq(loop.soons, 1);
    expect(2, 60);
    turn_at(55);
    expect(3, 60);
}
END_TEST

static void submit_inside_alarm(struct scripted_loop *scripted)
{
    scripted->inside_alarm = NULL;
    ck_assert(lull_executor_submit(rig.executor, &task));
}

START_TEST(a_submit_inside_alarm_is_not_stranded)
{
    loop.inside_alarm = submit_inside_alarm;
    arm(0, 50);
    ck_assert_uint_eq(loop.soons, 1);
    turn_at(1);
    ck_assert_uint_eq(ran, 1);
}
END_TEST

START_TEST(a_refused_alarm_is_asked_for_again_every_turn)
{
    loop.refuse_with = ENOMEM;
    arm(0, 50);
    ck_assert(executor_is_alarm_refused(rig.executor));
    ck_assert_uint_eq(loop.soons, 1); /* after a visit nobody else would ask again */
    turn_at(1);
    turn_at(2);
    ck_assert_uint_eq(loop.soons, 1);
    ck_assert_uint_eq(loop.alarms, 3);
    loop.refuse_with = 0;
    turn_at(3);
    ck_assert(!executor_is_alarm_refused(rig.executor));
    expect(4, 50);
    turn_at(4);
    expect(4, 50);
}
END_TEST

START_TEST(a_refused_alarm_leaves_the_earlier_one_standing)
{
    arm(0, 50);
    arm(1, 30);
    expect(2, 30);
    loop.refuse_with = ENOMEM;
    rig_enter(&rig);
    lull_timer_disarm(&t[1]);
    rig_leave(&rig);
    ck_assert_uint_eq(loop.alarms, 2); /* 30 stands: nothing to ask */
    arm(1, 20);
    ck_assert_uint_eq(loop.alarms, 3);
    ck_assert(executor_is_alarm_refused(rig.executor));
    /* The one of 30 comes: an early or late turn is all it costs. */
    loop.refuse_with = 0;
    turn_at(30);
    ck_assert_uint_eq(fired, 1);
    expect(4, 50);
}
END_TEST

START_TEST(work_left_by_a_turn_asks_for_an_alarm_now)
{
    arm(0, 50);
    ck_assert(lull_executor_submit(rig.executor, &task));
    turn_at(7);
    ck_assert_uint_eq(ran, 1);
    expect(1, 50);
    rig_enter(&rig);
    lull_executor_post(rig.executor, &task);
    rig_leave(&rig);
    expect(2, 7); /* the clock's now, not some instant long ago */
    turn_at(7);
    ck_assert_uint_eq(ran, 2);
    expect(3, 50);
}
END_TEST

START_TEST(leaving_without_a_change_asks_for_nothing_and_reads_no_clock)
{
    rig_enter(&rig);
    rig_leave(&rig);
    ck_assert_uint_eq(loop.alarms, 0);
    ck_assert_uint_eq(rig.clock.reads, 0);
}
END_TEST

START_TEST(freeing_takes_a_standing_alarm_back)
{
    struct lull_executor_options options;
    struct lull_executor *executor;
    struct scripted_loop other;
    struct lull_timer timer;
    lull_executor_options_init(&options);
    options.clock = &rig.clock.base;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    scripted_init(&other, &scripted_ops, executor);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&timer, executor, expired), LULL_OK);
    lull_timer_arm(&timer, lull_at(9));
    lull_executor_leave(executor);
    ck_assert_int_eq(other.alarm_at.ns, 9);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    lull_timer_fini(&timer);
    lull_executor_leave(executor);
    lull_executor_free(executor);
    ck_assert_int_eq(other.alarm_at.ns, LULL_NEVER);
    ck_assert_uint_eq(other.alarms, 2);
}
END_TEST

/* RULINGS 18: fini reaches an alarm that is over here and still to come there. */
START_TEST(an_alarm_that_is_late_is_taken_back_as_well)
{
    arm(0, 50);
    turn_at(60); /* readiness, before the host delivers the alarm of 50 */
    expect(1, 50);
    executor_set_loop(rig.executor, NULL);
    ck_assert_int_eq(loop.alarm_at.ns, LULL_NEVER);
}
END_TEST

/* ---- wake and soon */

START_TEST(a_submit_on_the_driving_thread_asks_soon_once_a_turn)
{
    struct lull_task second;
    lull_task_init(&second, run);
    ck_assert(lull_executor_submit(rig.executor, &task));
    ck_assert(lull_executor_submit(rig.executor, &second));
    ck_assert_uint_eq(loop.soons, 1);
    ck_assert_uint_eq(atomic_load(&loop.wakes), 0);
    turn_at(0);
    ck_assert_uint_eq(ran, 2);
    ck_assert(lull_executor_submit(rig.executor, &task));
    ck_assert_uint_eq(loop.soons, 2);
}
END_TEST

START_TEST(a_loop_without_soon_is_woken_instead)
{
    scripted_init(&loop, &scripted_ops_without_soon, rig.executor);
    ck_assert(lull_executor_submit(rig.executor, &task));
    ck_assert_uint_eq(loop.soons, 0);
    ck_assert_uint_eq(atomic_load(&loop.wakes), 1);
}
END_TEST

START_TEST(a_submit_in_context_asks_for_nothing_the_turns_end_will)
{
    rig_enter(&rig);
    ck_assert(lull_executor_submit(rig.executor, &task));
    ck_assert_uint_eq(loop.soons + loop.alarms, 0);
    rig_leave(&rig);
    ck_assert_uint_eq(loop.soons, 0);
    ck_assert_uint_eq(loop.alarms, 1);
}
END_TEST

static void *submit_elsewhere(void *arg)
{
    (void)arg;
    (void)lull_executor_submit(rig.executor, &task);
    return NULL;
}

static void submit_from_another_thread(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(another_threads_submit_wakes_only_a_loop_that_sleeps)
{
    submit_from_another_thread();
    ck_assert_uint_eq(atomic_load(&loop.wakes), 0);
    ck_assert(!executor_sleep(rig.executor)); /* but the loop must not sleep now */
    turn_at(0);
    ck_assert_uint_eq(ran, 1);
    ck_assert(executor_sleep(rig.executor));
    submit_from_another_thread();
    ck_assert_uint_eq(atomic_load(&loop.wakes), 1);
    executor_awake(rig.executor);
    turn_at(0);
    ck_assert_uint_eq(ran, 2);
}
END_TEST

START_TEST(one_sleep_is_woken_once)
{
    ck_assert(executor_sleep(rig.executor));
    submit_from_another_thread();
    turn_at(0); /* taken before the loop says that it is awake */
    submit_from_another_thread();
    ck_assert_uint_eq(atomic_load(&loop.wakes), 1);
    executor_awake(rig.executor);
    ck_assert(!executor_sleep(rig.executor));
}
END_TEST

START_TEST(a_silent_host_is_woken_by_the_first_submit_after_each_turn)
{
    executor_set_loop_silent(rig.executor);
    submit_from_another_thread();
    submit_from_another_thread();
    ck_assert_uint_eq(atomic_load(&loop.wakes), 1);
    turn_at(0);
    ck_assert_uint_eq(ran, 1);
    submit_from_another_thread();
    ck_assert_uint_eq(atomic_load(&loop.wakes), 2);
}
END_TEST

START_TEST(a_ready_endpoint_asks_soon_only_of_a_loop_that_sleeps)
{
    executor_post_ready(rig.executor, &task);
    ck_assert_uint_eq(loop.soons, 0); /* the loop itself is about to run the turn */
    turn_at(0);
    ck_assert(executor_sleep(rig.executor));
    executor_post_ready(rig.executor, &task);
    ck_assert_uint_eq(loop.soons, 1);
    turn_at(0);
    ck_assert_uint_eq(ran, 2);
}
END_TEST

START_TEST(another_loop_starts_afresh)
{
    struct scripted_loop other;
    arm(0, 50);
    scripted_init(&other, &scripted_ops, rig.executor);
    ck_assert_int_eq(loop.alarm_at.ns, LULL_NEVER);
    ck_assert_ptr_eq(executor_loop(rig.executor), &other.base);
    turn_at(1);
    ck_assert_int_eq(other.alarm_at.ns, 50);
    executor_set_loop(rig.executor, NULL);
    ck_assert_int_eq(other.alarm_at.ns, LULL_NEVER);
}
END_TEST

static Suite *alarm_suite(void)
{
    Suite *suite = suite_create("exec/alarm");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, an_alarm_is_asked_only_when_the_next_instant_moves_earlier);
    tcase_add_test(cases, an_alarm_that_comes_early_is_asked_for_again);
    tcase_add_test(cases, an_alarm_that_comes_late_or_twice_is_harmless);
    tcase_add_test(cases, an_overdue_alarm_is_not_counted_on);
    tcase_add_test(cases, an_alarm_that_calls_back_inside_runs_no_turn_but_asks_for_one);
    tcase_add_test(cases, an_alarm_told_inside_a_turn_is_asked_for_again_at_its_end);
    tcase_add_test(cases, an_alarm_told_inside_alarm_is_asked_for_again_soon);
    tcase_add_test(cases, an_alarm_used_up_inside_a_turns_end_is_asked_for_again);
    tcase_add_test(cases, a_submit_inside_alarm_is_not_stranded);
    tcase_add_test(cases, a_refused_alarm_is_asked_for_again_every_turn);
    tcase_add_test(cases, a_refused_alarm_leaves_the_earlier_one_standing);
    tcase_add_test(cases, work_left_by_a_turn_asks_for_an_alarm_now);
    tcase_add_test(cases, leaving_without_a_change_asks_for_nothing_and_reads_no_clock);
    tcase_add_test(cases, freeing_takes_a_standing_alarm_back);
    tcase_add_test(cases, an_alarm_that_is_late_is_taken_back_as_well);
    tcase_add_test(cases, a_submit_on_the_driving_thread_asks_soon_once_a_turn);
    tcase_add_test(cases, a_loop_without_soon_is_woken_instead);
    tcase_add_test(cases, a_submit_in_context_asks_for_nothing_the_turns_end_will);
    tcase_add_test(cases, another_threads_submit_wakes_only_a_loop_that_sleeps);
    tcase_add_test(cases, one_sleep_is_woken_once);
    tcase_add_test(cases, a_silent_host_is_woken_by_the_first_submit_after_each_turn);
    tcase_add_test(cases, a_ready_endpoint_asks_soon_only_of_a_loop_that_sleeps);
    tcase_add_test(cases, another_loop_starts_afresh);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("alarm", alarm_suite)
