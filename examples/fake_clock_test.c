/* SPDX-License-Identifier: MIT */
/*
 * A Check test as an application would write it: its own sleeper on lull's idle policy and Rescheduler, half an hour of silence in
 * microseconds. Build: cc fake_clock_test.c $(pkg-config --cflags --libs lull check)
 */
#include <lull/lull.h>

#include <check.h>
#include <stdlib.h>

/* What is under test: something that sleeps after 30 minutes without work. */
struct sleeper {
    struct lull_idle idle;
    struct lull_rescheduler timer;
};

static void expired(struct lull_rescheduler *timer, struct lull_instant now)
{
    struct sleeper *s = (struct sleeper *)((char *)timer - offsetof(struct sleeper, timer));

    lull_rescheduler_set(timer, lull_idle_on_timer(&s->idle, now).next_at);
}

static struct lull_fake_clock clock_;
static struct lull_executor *executor;
static struct sleeper sleeper;

static void work(void)
{
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    lull_rescheduler_set(&sleeper.timer, lull_idle_on_call_started(&sleeper.idle).next_at);
    lull_rescheduler_set(&sleeper.timer, lull_idle_on_call_ended(&sleeper.idle, lull_executor_now(executor)).next_at);
    lull_executor_leave(executor);
}

static void set_up(void)
{
    struct lull_executor_options options;

    lull_fake_clock_init(&clock_, 0, 0);
    lull_executor_options_init(&options);
    options.clock = &clock_.base;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(executor, &clock_), LULL_OK);
    lull_idle_init(&sleeper.idle, 30 * LULL_MINUTE, false);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    ck_assert_int_eq(lull_rescheduler_init(&sleeper.timer, executor, expired), LULL_OK);
    lull_executor_leave(executor);
}

static void tear_down(void)
{
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    lull_rescheduler_fini(&sleeper.timer);
    lull_executor_leave(executor);
    lull_executor_free(executor);
}

START_TEST(sleeps_half_an_hour_after_the_last_work)
{
    work();
    lull_fake_clock_advance(&clock_, 29 * LULL_MINUTE + 59 * LULL_SECOND);
    ck_assert(!lull_idle_is_idle(&sleeper.idle)); /* 29 min 59 s: awake */
    lull_fake_clock_advance(&clock_, LULL_SECOND);
    ck_assert(lull_idle_is_idle(&sleeper.idle)); /* one second more: asleep */
}
END_TEST

START_TEST(a_week_of_work_every_minute_arms_one_timer_per_half_hour)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    for (int minute = 0; minute < 7 * 24 * 60; minute++) {
        work();
        lull_fake_clock_advance(&clock_, LULL_MINUTE);
    }
    lull_executor_counters(executor, &counters);
    ck_assert(!lull_idle_is_idle(&sleeper.idle));
    ck_assert_uint_le(counters.timer_arms, 7 * 24 * 2 * 30 / 29 + 1);
    ck_assert_uint_eq(counters.timer_disarms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fake_clock");
    TCase *tcase = tcase_create("sleeper");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, sleeps_half_an_hour_after_the_last_work);
    tcase_add_test(tcase, a_week_of_work_every_minute_arms_one_timer_per_half_hour);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
