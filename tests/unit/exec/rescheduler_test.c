/* SPDX-License-Identifier: MIT */
/* The Rescheduler (src/exec/rescheduler.c): scenarios 1 to 18, and what else its header promises;
 * rescheduler_oracle_test.c has the random operations. In the scenarios "serializer used" reads as
 * timer_fires, and "check queued" as a fact earlier in the turn in which the timer is due (RULINGS 2). */
#include "lull/rescheduler.h"

#include <signal.h>

#include "tests/unit/exec/fixture.h"

static struct rig rig;

struct owner {
    struct lull_rescheduler r;
    uint32_t runs;
    int64_t ran_at_ns;      /* the last run */
    int64_t again_after_ns; /* the callback sets again; LULL_NEVER: it does not */
    uint32_t armed_most;    /* timers in the queue when the callback left, at most */
    bool fini_inside;
};

static struct owner o;

static void expired(struct lull_rescheduler *r, struct lull_instant now)
{
    struct owner *owner = (struct owner *)(void *)r;
    owner->runs++;
    owner->ran_at_ns = now.ns;
    ck_assert(!lull_rescheduler_is_enabled(r));
    ck_assert(!lull_rescheduler_is_armed(r));
    if (owner->again_after_ns != LULL_NEVER) {
        lull_rescheduler_set(r, lull_instant_add(now, owner->again_after_ns));
    }
    if (owner->fini_inside) {
        lull_rescheduler_fini(r);
    }
    const uint64_t armed = rig_counters(&rig).timers_armed;
    owner->armed_most = armed > owner->armed_most ? (uint32_t)armed : owner->armed_most;
}

static void setup(void)
{
    rig_init(&rig, 0);
    memset(&o, 0, sizeof(o));
    o.again_after_ns = LULL_NEVER;
    rig_enter(&rig);
    ck_assert_int_eq(lull_rescheduler_init(&o.r, rig.executor, expired), LULL_OK);
    rig_leave(&rig);
}

static void teardown(void)
{
    rig_enter(&rig);
    lull_rescheduler_fini(&o.r);
    lull_rescheduler_fini(&o.r); /* harmless */
    rig_leave(&rig);
    rig_fini(&rig);
}

/* reschedule(after) of the scenarios. */
static void set_after(int64_t after_ns)
{
    rig_enter(&rig);
    lull_rescheduler_set(&o.r, lull_instant_add(lull_executor_now(rig.executor), after_ns));
    rig_leave(&rig);
}

static void cancel_softly(void)
{
    rig_enter(&rig);
    lull_rescheduler_cancel(&o.r);
    rig_leave(&rig);
}

static void cancel_hard(void)
{
    rig_enter(&rig);
    lull_rescheduler_disarm(&o.r);
    rig_leave(&rig);
}

static void advance_to(int64_t at_ns)
{
    lull_fake_clock_advance(&rig.clock, at_ns - rig.clock.mono_at.ns);
}

static void expect_counts(uint64_t arms, uint64_t disarms, uint64_t fires)
{
    const struct lull_counters c = rig_counters(&rig);
    ck_assert_uint_eq(c.timer_arms, arms);
    ck_assert_uint_eq(c.timer_disarms, disarms);
    ck_assert_uint_eq(c.timer_fires, fires);
}

static void expect_no_timer(void)
{
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
}

/* scenario 1 */
START_TEST(it_runs_exactly_at_its_deadline)
{
    set_after(1);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(o.runs, 0);
    ck_assert_int_eq(lull_rescheduler_run_at(&o.r).ns, 1);
    advance_to(1);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 1);
    ck_assert_int_eq(lull_rescheduler_run_at(&o.r).ns, LULL_NEVER);
    expect_no_timer();
}
END_TEST

/* scenario 2 */
START_TEST(soft_cancel_leaves_the_timer_to_die_quietly)
{
    set_after(1);
    cancel_softly();
    ck_assert(!lull_rescheduler_is_enabled(&o.r));
    ck_assert(lull_rescheduler_is_armed(&o.r));
    advance_to(1);
    ck_assert_uint_eq(o.runs, 0);
    expect_counts(1, 0, 1);
    expect_no_timer();
}
END_TEST

/* scenario 3 */
START_TEST(hard_cancel_takes_the_timer_out)
{
    set_after(1);
    cancel_hard();
    expect_no_timer();
    ck_assert_int_eq(lull_rescheduler_armed_at(&o.r).ns, LULL_NEVER);
    advance_to(1);
    ck_assert_uint_eq(o.runs, 0);
    expect_counts(1, 1, 0);
}
END_TEST

/* scenario 4 */
START_TEST(pushed_out_it_fires_early_and_arms_for_the_rest)
{
    set_after(1);
    set_after(50);
    advance_to(1);
    expect_counts(2, 0, 1);
    ck_assert_uint_eq(o.runs, 0);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    ck_assert_int_eq(lull_rescheduler_armed_at(&o.r).ns, 50);
    advance_to(51);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 50);
}
END_TEST

/* scenario 5 */
START_TEST(a_shorter_deadline_moves_the_timer)
{
    set_after(50);
    set_after(1);
    advance_to(1);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 1);
    expect_no_timer();
}
END_TEST

/* scenario 6 */
START_TEST(a_hundred_pushes_cost_two_arms_and_two_wakes)
{
    set_after(100);
    for (int64_t at = 1; at <= 99; at++) {
        advance_to(at);
        set_after(100);
    }
    advance_to(300);
    expect_counts(2, 0, 2);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 199);
}
END_TEST

/* scenario 8 */
START_TEST(set_after_a_soft_cancel_uses_the_armed_timer)
{
    set_after(10);
    cancel_softly();
    advance_to(5);
    set_after(20);
    advance_to(9);
    expect_counts(1, 0, 0);
    advance_to(10);
    expect_counts(2, 0, 1);
    ck_assert_int_eq(lull_rescheduler_armed_at(&o.r).ns, 25);
    advance_to(24);
    ck_assert_uint_eq(o.runs, 0);
    advance_to(25);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 25);
}
END_TEST

/* scenario 9 */
START_TEST(set_after_the_cancelled_timer_died_arms_anew)
{
    set_after(10);
    cancel_softly();
    advance_to(10);
    ck_assert(!lull_rescheduler_is_armed(&o.r));
    set_after(5);
    expect_counts(2, 0, 1);
    advance_to(15);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 15);
}
END_TEST

/* scenario 10 */
START_TEST(a_callback_that_sets_again_runs_for_ever_on_one_timer)
{
    o.again_after_ns = 7;
    set_after(7);
    for (uint32_t round = 1; round <= 20; round++) {
        advance_to((int64_t)round * 7);
        ck_assert_uint_eq(o.runs, round);
        ck_assert_int_eq(o.ran_at_ns, (int64_t)round * 7);
    }
    ck_assert_uint_eq(o.armed_most, 1);
    expect_counts(21, 0, 20);
}
END_TEST

/* scenario 12, in the armed-instant form of RULINGS 2 */
START_TEST(a_shorter_deadline_behind_the_armed_instant_touches_nothing)
{
    set_after(10);
    set_after(50);
    advance_to(5);
    set_after(15);
    ck_assert_int_eq(lull_rescheduler_run_at(&o.r).ns, 20);
    ck_assert_int_eq(lull_rescheduler_armed_at(&o.r).ns, 10);
    advance_to(19);
    ck_assert_uint_eq(o.runs, 0);
    advance_to(60);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 20);
    expect_counts(2, 0, 2);
}
END_TEST

/* What a task does in the very turn in which the timer is due, before the due pass. */
struct fact {
    struct lull_task task;
    bool disarm;
    int64_t set_after_ns; /* LULL_NEVER: it does not set */
};

static void run_fact(struct lull_task *task, struct lull_executor *executor)
{
    const struct fact *fact = (const struct fact *)(const void *)task;
    ck_assert(lull_rescheduler_is_armed(&o.r));
    if (fact->disarm) {
        lull_rescheduler_disarm(&o.r);
    }
    if (fact->set_after_ns != LULL_NEVER) {
        lull_rescheduler_set(&o.r,
                             lull_instant_add(lull_executor_now(executor), fact->set_after_ns));
    }
}

/* Moves to `at_ns` and runs one turn, with the fact in it. */
static void turn_with_fact(int64_t at_ns, bool disarm, int64_t set_after_ns)
{
    struct fact fact;
    lull_task_init(&fact.task, run_fact);
    fact.disarm = disarm;
    fact.set_after_ns = set_after_ns;
    (void)lull_executor_submit(rig.executor, &fact.task);
    /* The clock alone: its step would run the task on the way. */
    rig.clock.mono_at = lull_at(at_ns);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
}

/* scenario 13 */
START_TEST(a_shorter_deadline_set_in_the_turn_of_the_wake_leaves_one_timer)
{
    set_after(10);
    set_after(50);
    turn_with_fact(10, false, 5);
    ck_assert_uint_eq(o.runs, 0);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    advance_to(15);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 15);
    advance_to(100);
    ck_assert_uint_eq(o.runs, 1);
    expect_no_timer();
}
END_TEST

/* scenario 14 */
START_TEST(hard_cancel_in_the_turn_of_the_wake_wins)
{
    set_after(10);
    turn_with_fact(10, true, LULL_NEVER);
    ck_assert_uint_eq(o.runs, 0);
    expect_counts(1, 1, 0);
    expect_no_timer();
}
END_TEST

/* scenario 14, its variant */
START_TEST(hard_cancel_and_set_in_the_turn_of_the_wake_leave_one_timer)
{
    set_after(10);
    turn_with_fact(10, true, 7);
    ck_assert_uint_eq(o.runs, 0);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    advance_to(17);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 17);
    expect_no_timer();
}
END_TEST

/* scenario 16 */
START_TEST(a_deadline_at_the_end_of_time_never_fires_and_a_shorter_one_works)
{
    set_after(INT64_MAX);
    ck_assert(!lull_rescheduler_is_enabled(&o.r));
    advance_to(5);
    set_after(INT64_MAX - 1); /* saturates to LULL_NEVER */
    ck_assert(!lull_rescheduler_is_enabled(&o.r));
    set_after(INT64_MAX - 100);
    ck_assert(lull_rescheduler_is_enabled(&o.r));
    advance_to(INT64_C(1) << 60);
    ck_assert_uint_eq(o.runs, 0);
    expect_counts(1, 0, 0);
    set_after(3);
    advance_to((INT64_C(1) << 60) + 2);
    ck_assert_uint_eq(o.runs, 0);
    advance_to((INT64_C(1) << 60) + 3);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, (INT64_C(1) << 60) + 3);
    expect_no_timer();
}
END_TEST

/* scenarios 16, 296: the last instant there is before the end of time is kept to the nanosecond */
START_TEST(a_deadline_just_before_the_end_of_time_is_kept)
{
    advance_to(5);
    set_after(INT64_MAX - 6); /* one before LULL_NEVER */
    advance_to(INT64_MAX - 2);
    ck_assert_uint_eq(o.runs, 0);
    advance_to(INT64_MAX - 1);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, INT64_MAX - 1);
    expect_counts(1, 0, 1);
}
END_TEST

/* scenario 17 */
START_TEST(a_late_wake_runs_once)
{
    set_after(10);
    lull_fake_clock_jump(&rig.clock, 40);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 40);
    advance_to(100);
    ck_assert_uint_eq(o.runs, 1);
}
END_TEST

/* scenario 18 */
START_TEST(a_million_set_and_cancel_pairs_touch_the_queue_once)
{
    rig_enter(&rig);
    for (int64_t i = 0; i < 1000000; i++) {
        lull_rescheduler_set(&o.r, lull_at(1000 + i));
        lull_rescheduler_cancel(&o.r);
    }
    rig_leave(&rig);
    expect_counts(1, 0, 0);
    advance_to(2000);
    ck_assert_uint_eq(o.runs, 0);
    expect_counts(1, 0, 1);
}
END_TEST

START_TEST(later_set_does_not_touch_the_queue)
{
    set_after(10);
    set_after(10); /* equal is not before */
    set_after(11);
    set_after(1000000);
    expect_counts(1, 0, 0);
    ck_assert_int_eq(lull_rescheduler_armed_at(&o.r).ns, 10);
    ck_assert_int_eq(lull_rescheduler_run_at(&o.r).ns, 1000000);
}
END_TEST

START_TEST(zero_and_negative_are_due_at_once_but_never_inline)
{
    set_after(0);
    ck_assert_uint_eq(o.runs, 0);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(o.runs, 1);
    set_after(-100);
    ck_assert_uint_eq(o.runs, 1);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(o.runs, 2);
    ck_assert_int_eq(o.ran_at_ns, 0);
}
END_TEST

START_TEST(never_is_a_soft_cancel)
{
    set_after(10);
    rig_enter(&rig);
    lull_rescheduler_set(&o.r, lull_at(LULL_NEVER));
    rig_leave(&rig);
    ck_assert(!lull_rescheduler_is_enabled(&o.r));
    ck_assert(lull_rescheduler_is_armed(&o.r));
    advance_to(20);
    ck_assert_uint_eq(o.runs, 0);
}
END_TEST

START_TEST(the_callback_may_end_it)
{
    o.fini_inside = true;
    set_after(10);
    advance_to(20);
    ck_assert_uint_eq(o.runs, 1);
    expect_no_timer();
}
END_TEST

/* Another timer of the same pass, before ours, brings our deadline forward: we are due in it anyway. */
static void pull_in(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    lull_rescheduler_set(&o.r, lull_at(3));
}

START_TEST(a_shorter_deadline_set_within_the_due_pass_needs_no_arm)
{
    struct lull_timer before;
    rig_enter(&rig);
    ck_assert_int_eq(lull_timer_init(&before, rig.executor, pull_in), LULL_OK);
    lull_timer_arm(&before, lull_at(5));
    lull_rescheduler_set(&o.r, lull_at(6));
    lull_rescheduler_set(&o.r, lull_at(50));
    rig_leave(&rig);
    lull_fake_clock_jump(&rig.clock, 10);
    ck_assert_uint_eq(o.runs, 1);
    ck_assert_int_eq(o.ran_at_ns, 10);
    expect_counts(2, 0, 2);
    expect_no_timer();
    rig_enter(&rig);
    lull_timer_fini(&before);
    rig_leave(&rig);
}
END_TEST

START_TEST(set_outside_the_context_is_our_mistake)
{
    lull_rescheduler_set(&o.r, lull_at(5));
}
END_TEST

START_TEST(cancel_outside_the_context_is_our_mistake)
{
    lull_rescheduler_cancel(&o.r);
}
END_TEST

static Suite *rescheduler_suite(void)
{
    Suite *suite = suite_create("exec/rescheduler");
    TCase *cases = tcase_create("cases");
    const char *fork = getenv("CK_FORK");
    tcase_set_timeout(cases, 300);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, it_runs_exactly_at_its_deadline);
    tcase_add_test(cases, soft_cancel_leaves_the_timer_to_die_quietly);
    tcase_add_test(cases, hard_cancel_takes_the_timer_out);
    tcase_add_test(cases, pushed_out_it_fires_early_and_arms_for_the_rest);
    tcase_add_test(cases, a_shorter_deadline_moves_the_timer);
    tcase_add_test(cases, a_hundred_pushes_cost_two_arms_and_two_wakes);
    tcase_add_test(cases, set_after_a_soft_cancel_uses_the_armed_timer);
    tcase_add_test(cases, set_after_the_cancelled_timer_died_arms_anew);
    tcase_add_test(cases, a_callback_that_sets_again_runs_for_ever_on_one_timer);
    tcase_add_test(cases, a_shorter_deadline_behind_the_armed_instant_touches_nothing);
    tcase_add_test(cases, a_shorter_deadline_set_in_the_turn_of_the_wake_leaves_one_timer);
    tcase_add_test(cases, hard_cancel_in_the_turn_of_the_wake_wins);
    tcase_add_test(cases, hard_cancel_and_set_in_the_turn_of_the_wake_leave_one_timer);
    tcase_add_test(cases, a_deadline_at_the_end_of_time_never_fires_and_a_shorter_one_works);
    tcase_add_test(cases, a_deadline_just_before_the_end_of_time_is_kept);
    tcase_add_test(cases, a_late_wake_runs_once);
    tcase_add_test(cases, a_million_set_and_cancel_pairs_touch_the_queue_once);
    tcase_add_test(cases, later_set_does_not_touch_the_queue);
    tcase_add_test(cases, zero_and_negative_are_due_at_once_but_never_inline);
    tcase_add_test(cases, never_is_a_soft_cancel);
    tcase_add_test(cases, the_callback_may_end_it);
    tcase_add_test(cases, a_shorter_deadline_set_within_the_due_pass_needs_no_arm);
    if (fork == NULL || strcmp(fork, "no") != 0) {
        tcase_add_test_raise_signal(cases, set_outside_the_context_is_our_mistake, SIGABRT);
        tcase_add_test_raise_signal(cases, cancel_outside_the_context_is_our_mistake, SIGABRT);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("rescheduler", rescheduler_suite)
