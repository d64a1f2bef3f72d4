/* SPDX-License-Identifier: MIT */
/* Timers of an executor (src/exec/timer.c), and the timer scenarios of §3.2. */
#include "lull/timer.h"

#include <signal.h>

#include "tests/unit/exec/fixture.h"

static struct rig rig;

struct probe {
    struct lull_timer timer;
    uint32_t runs;
    int64_t ran_at_ns;
    int64_t again_after_ns; /* > 0: the callback arms again */
    struct lull_timer *disarms;
    struct lull_timer *ends;
};

static struct probe p, q;

static void expired(struct lull_timer *timer, struct lull_instant now)
{
    struct probe *probe = (struct probe *)(void *)timer;
    probe->runs++;
    probe->ran_at_ns = now.ns;
    ck_assert(!lull_timer_is_armed(timer)); /* not pending after its start */
    ck_assert(lull_executor_in_context(rig.executor));
    if (probe->again_after_ns > 0) {
        lull_timer_arm(timer, lull_instant_add(now, probe->again_after_ns));
    }
    if (probe->disarms != NULL) {
        lull_timer_disarm(probe->disarms);
    }
    if (probe->ends != NULL) {
        lull_timer_fini(probe->ends);
    }
}

static void setup(void)
{
    rig_init(&rig, 1000);
    memset(&p, 0, sizeof(p));
    memset(&q, 0, sizeof(q));
    /* Before the first turn no context is needed. */
    ck_assert_int_eq(lull_timer_init(&p.timer, rig.executor, expired), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&q.timer, rig.executor, expired), LULL_OK);
}

static void teardown(void)
{
    rig_enter(&rig);
    lull_timer_fini(&p.timer);
    lull_timer_fini(&p.timer);
    lull_timer_fini(&q.timer);
    rig_leave(&rig);
    rig_fini(&rig);
}

/* schedule(t, after) of the scenarios. */
static void schedule(struct probe *probe, int64_t after_ns)
{
    rig_enter(&rig);
    lull_timer_arm(&probe->timer, lull_instant_add(lull_executor_now(rig.executor), after_ns));
    rig_leave(&rig);
}

/* scenario 24 */
START_TEST(a_scheduled_timer_is_pending_until_it_runs)
{
    schedule(&p, 110);
    ck_assert_int_eq(lull_instant_diff(lull_executor_next_at(rig.executor), rig.clock.mono_at),
                     110);
    ck_assert(lull_timer_is_armed(&p.timer));
    ck_assert_uint_eq(p.runs, 0);
    lull_fake_clock_advance(&rig.clock, 109);
    ck_assert_uint_eq(p.runs, 0);
    lull_fake_clock_advance(&rig.clock, 1);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert(!lull_timer_is_armed(&p.timer));
}
END_TEST

/* scenario 25 */
START_TEST(a_timer_of_ten_seconds_runs_after_ten_seconds)
{
    schedule(&p, 10 * LULL_SECOND);
    lull_fake_clock_advance(&rig.clock, 10 * LULL_SECOND);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert_int_eq(p.ran_at_ns, 1000 + 10 * LULL_SECOND);
}
END_TEST

/* scenario 26: the fixed delay is the callback arming again */
START_TEST(a_fixed_delay_is_a_callback_that_arms_again)
{
    p.again_after_ns = 10 * LULL_SECOND;
    schedule(&p, 10 * LULL_SECOND);
    lull_fake_clock_advance(&rig.clock, 10 * LULL_SECOND);
    ck_assert_uint_eq(p.runs, 1); /* `expired` saw it not pending */
    lull_fake_clock_advance(&rig.clock, 30 * LULL_SECOND);
    ck_assert_uint_eq(p.runs, 4);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
}
END_TEST

/* scenario 28 */
START_TEST(a_cancelled_timer_is_not_pending_and_never_runs)
{
    schedule(&p, 110);
    rig_enter(&rig);
    lull_timer_disarm(&p.timer);
    ck_assert(!lull_timer_is_armed(&p.timer));
    rig_leave(&rig);
    lull_fake_clock_advance(&rig.clock, 1000);
    ck_assert_uint_eq(p.runs, 0);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, 1);
}
END_TEST

/* scenario 29, the timer's side: both are due, the first to run cancels the second */
START_TEST(cancel_wins_over_an_expiry_of_the_same_pass)
{
    struct probe third;
    memset(&third, 0, sizeof(third));
    rig_enter(&rig);
    ck_assert_int_eq(lull_timer_init(&third.timer, rig.executor, expired), LULL_OK);
    rig_leave(&rig);
    p.disarms = &q.timer;
    schedule(&p, 5);
    schedule(&q, 6);
    schedule(&third, 7);
    lull_fake_clock_jump(&rig.clock, 10);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert_uint_eq(q.runs, 0);
    ck_assert_uint_eq(third.runs, 1);
    ck_assert_uint_eq(rig_counters(&rig).turns, 1);
    rig_enter(&rig);
    lull_timer_fini(&third.timer);
    rig_leave(&rig);
}
END_TEST

START_TEST(a_callback_may_end_itself_and_another_due_timer)
{
    p.ends = &q.timer;
    schedule(&p, 5);
    schedule(&q, 6);
    q.ends = NULL;
    lull_fake_clock_jump(&rig.clock, 10);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert_uint_eq(q.runs, 0);
    p.ends = &p.timer;
    schedule(&p, 5);
    lull_fake_clock_advance(&rig.clock, 10);
    ck_assert_uint_eq(p.runs, 2);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
}
END_TEST

START_TEST(armed_in_the_past_it_is_due_in_the_next_turn)
{
    schedule(&p, -500);
    ck_assert_uint_eq(p.runs, 0);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert_int_eq(p.ran_at_ns, 1000);
}
END_TEST

START_TEST(armed_by_its_own_callback_for_now_it_waits_for_the_next_turn)
{
    /* A period of 1 under a jump of 3: one run a turn, each in a turn of its own. */
    p.again_after_ns = 1;
    schedule(&p, 1);
    lull_fake_clock_jump(&rig.clock, 3);
    ck_assert_uint_eq(p.runs, 1);
    ck_assert_uint_eq(rig_counters(&rig).turns, 1);
    ck_assert_int_eq(p.timer.at.ns, 1004);
}
END_TEST

START_TEST(never_disarms)
{
    schedule(&p, 5);
    rig_enter(&rig);
    lull_timer_arm(&p.timer, lull_at(LULL_NEVER));
    rig_leave(&rig);
    ck_assert(!lull_timer_is_armed(&p.timer));
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
}
END_TEST

START_TEST(zeroed_memory_is_not_armed_and_can_be_ended)
{
    struct lull_timer raw;
    memset(&raw, 0, sizeof(raw));
    ck_assert(!lull_timer_is_armed(&raw));
    lull_timer_fini(&raw);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, 0);
}
END_TEST

START_TEST(arming_outside_the_context_is_our_mistake)
{
    lull_timer_arm(&p.timer, lull_at(5));
}
END_TEST

START_TEST(making_outside_the_context_after_a_turn_is_our_mistake)
{
    struct lull_timer late;
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    (void)lull_timer_init(&late, rig.executor, expired);
}
END_TEST

START_TEST(freeing_the_executor_under_a_timer_is_our_mistake)
{
    lull_executor_free(rig.executor);
}
END_TEST

static Suite *timer_suite(void)
{
    Suite *suite = suite_create("exec/timer");
    TCase *cases = tcase_create("cases");
    const char *fork = getenv("CK_FORK");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_scheduled_timer_is_pending_until_it_runs);
    tcase_add_test(cases, a_timer_of_ten_seconds_runs_after_ten_seconds);
    tcase_add_test(cases, a_fixed_delay_is_a_callback_that_arms_again);
    tcase_add_test(cases, a_cancelled_timer_is_not_pending_and_never_runs);
    tcase_add_test(cases, cancel_wins_over_an_expiry_of_the_same_pass);
    tcase_add_test(cases, a_callback_may_end_itself_and_another_due_timer);
    tcase_add_test(cases, armed_in_the_past_it_is_due_in_the_next_turn);
    tcase_add_test(cases, armed_by_its_own_callback_for_now_it_waits_for_the_next_turn);
    tcase_add_test(cases, never_disarms);
    tcase_add_test(cases, zeroed_memory_is_not_armed_and_can_be_ended);
    if (fork == NULL || strcmp(fork, "no") != 0) {
        tcase_add_test_raise_signal(cases, arming_outside_the_context_is_our_mistake, SIGABRT);
        tcase_add_test_raise_signal(cases, making_outside_the_context_after_a_turn_is_our_mistake,
                                    SIGABRT);
        tcase_add_test_raise_signal(cases, freeing_the_executor_under_a_timer_is_our_mistake,
                                    SIGABRT);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("timer", timer_suite)
