/* SPDX-License-Identifier: MIT */
/*
 * The idle arithmetic on a Rescheduler, an executor and the fake clock: what a channel's glue does,
 * without a channel. The counters prove that a steady stream of calls costs no timer-queue work.
 */
#include "lull/clock.h"
#include "lull/executor.h"
#include "lull/idle.h"
#include "lull/rescheduler.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#define MS(x)       ((x)*LULL_MS)
#define MAX_ENTERED 8

/* An owner: fact in, action out, next_at to the Rescheduler. */
struct owner {
    struct lull_rescheduler wake; /* first field: the callback casts back */
    struct lull_idle idle;
    struct lull_fake_clock clock;
    struct lull_executor *executor;
    int64_t origin_ns;
    int64_t entered_ms[MAX_ENTERED];
    int entered;
    int woken;
    uint64_t armed_after_entering;
};

static void carry_out(struct owner *owner, struct lull_idle_step step, struct lull_instant now)
{
    if (step.action == LULL_IDLE_ENTER) {
        ck_assert_int_lt(owner->entered, MAX_ENTERED);
        ck_assert_int_eq((now.ns - owner->origin_ns) % LULL_MS, 0);
        owner->entered_ms[owner->entered++] = (now.ns - owner->origin_ns) / LULL_MS;
        lull_rescheduler_disarm(&owner->wake); /* RULINGS 3: an idle channel holds no timer */
        struct lull_counters counters = {.size = sizeof(counters)};
        lull_executor_counters(owner->executor, &counters);
        owner->armed_after_entering += counters.timers_armed;
        return;
    }
    owner->woken += step.action == LULL_IDLE_WAKE;
    lull_rescheduler_set(&owner->wake, step.next_at);
}

static void idle_expired(struct lull_rescheduler *rescheduler, struct lull_instant now)
{
    struct owner *owner = (struct owner *)(void *)rescheduler;
    carry_out(owner, lull_idle_on_timer(&owner->idle, now), now);
}

static void open_owner(struct owner *owner, int64_t origin_ns, int64_t timeout_ns)
{
    struct lull_executor_options options;
    *owner = (struct owner){.origin_ns = origin_ns};
    lull_fake_clock_init(&owner->clock, origin_ns, 0);
    lull_executor_options_init(&options);
    options.clock = &owner->clock.base;
    ck_assert_int_eq(lull_executor_new(&options, &owner->executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(owner->executor, &owner->clock), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(owner->executor), LULL_OK);
    ck_assert_int_eq(lull_rescheduler_init(&owner->wake, owner->executor, idle_expired), LULL_OK);
    lull_executor_leave(owner->executor);
    lull_idle_init(&owner->idle, timeout_ns, false);
}

static void close_owner(struct owner *owner)
{
    ck_assert_int_eq(lull_executor_enter(owner->executor), LULL_OK);
    lull_rescheduler_fini(&owner->wake);
    lull_executor_leave(owner->executor);
    lull_fake_clock_drop(&owner->clock, owner->executor);
    lull_executor_free(owner->executor);
}

static void start_call(struct owner *owner)
{
    MUST_MSG(lull_executor_enter(owner->executor) == LULL_OK, "inside a turn");
    carry_out(owner, lull_idle_on_call_started(&owner->idle), lull_executor_now(owner->executor));
    lull_executor_leave(owner->executor);
}

static void end_call(struct owner *owner)
{
    MUST_MSG(lull_executor_enter(owner->executor) == LULL_OK, "inside a turn");
    struct lull_instant now = lull_executor_now(owner->executor);
    carry_out(owner, lull_idle_on_call_ended(&owner->idle, now), now);
    lull_executor_leave(owner->executor);
}

static void advance_to(struct owner *owner, int64_t ms)
{
    lull_fake_clock_advance(&owner->clock,
                            owner->origin_ns + MS(ms) - lull_clock_now(&owner->clock.base).ns);
}

static struct lull_counters counters_of(const struct owner *owner)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(owner->executor, &counters);
    return counters;
}

static const int64_t origins_ns[] = {0, -1000000 * LULL_SECOND, INT64_C(1) << 62};

/* pain-case C02 */
START_TEST(ten_thousand_calls_cost_two_arms_and_no_cancel)
{
    struct owner owner;
    open_owner(&owner, origins_ns[_i], MS(60000));
    for (int64_t i = 0; i < 10000; i++) {
        advance_to(&owner, 5 * i);
        if (i > 0) {
            end_call(&owner);
        }
        start_call(&owner);
    }
    advance_to(&owner, 50000);
    end_call(&owner);
    ck_assert_uint_eq(counters_of(&owner).timer_arms, 1);
    ck_assert_int_eq(lull_rescheduler_armed_at(&owner.wake).ns, owner.origin_ns + MS(60005));
    ck_assert_int_eq(lull_rescheduler_run_at(&owner.wake).ns, owner.origin_ns + MS(110000));

    advance_to(&owner, 60005);
    ck_assert_uint_eq(counters_of(&owner).timer_arms, 2);
    ck_assert_int_eq(lull_rescheduler_armed_at(&owner.wake).ns, owner.origin_ns + MS(110000));

    lull_fake_clock_advance(&owner.clock, MS(49995) - 1);
    ck_assert_int_eq(owner.entered, 0);
    lull_fake_clock_advance(&owner.clock, 1);
    ck_assert_int_eq(owner.entered, 1);
    ck_assert_int_eq(owner.entered_ms[0], 110000);

    struct lull_counters counters = counters_of(&owner);
    ck_assert_uint_eq(counters.timer_arms, 2);
    ck_assert_uint_eq(counters.timer_disarms, 0);
    ck_assert_uint_eq(counters.timer_fires, 2);
    ck_assert_uint_eq(counters.timers_armed, 0);
    ck_assert_int_eq(owner.woken, 1);
    close_owner(&owner);
}
END_TEST

/* pain-case C01 */
START_TEST(every_cycle_ends_idle_not_only_the_first)
{
    struct owner owner;
    open_owner(&owner, origins_ns[_i], MS(60000));
    for (int64_t k = 0; k < 5; k++) {
        advance_to(&owner, k * 200000);
        start_call(&owner);
        advance_to(&owner, k * 200000 + 1000);
        end_call(&owner);
    }
    advance_to(&owner, 1000000);
    ck_assert_int_eq(owner.entered, 5);
    ck_assert_int_eq(owner.woken, 5);
    for (int k = 0; k < 5; k++) {
        ck_assert_int_eq(owner.entered_ms[k], 61000 + k * 200000);
    }
    ck_assert_uint_eq(owner.armed_after_entering, 0);
    ck_assert_uint_eq(counters_of(&owner).timer_arms, 5);
    ck_assert_uint_eq(counters_of(&owner).timer_disarms, 0);
    ck_assert_int_eq(lull_executor_next_at(owner.executor).ns, LULL_NEVER);
    close_owner(&owner);
}
END_TEST

/* pain-case C03's arithmetic: a call that outlasts the armed timer lets it die quietly */
START_TEST(long_call_lets_the_armed_timer_die_and_its_end_arms_anew)
{
    struct owner owner;
    open_owner(&owner, origins_ns[_i], MS(1000));
    start_call(&owner);
    end_call(&owner);
    start_call(&owner);
    advance_to(&owner, 10000);
    ck_assert_int_eq(owner.entered, 0);
    ck_assert_uint_eq(counters_of(&owner).timers_armed, 0);
    end_call(&owner);
    advance_to(&owner, 20000);
    ck_assert_int_eq(owner.entered, 1);
    ck_assert_int_eq(owner.entered_ms[0], 11000);
    ck_assert_uint_eq(counters_of(&owner).timer_arms, 2);
    ck_assert_uint_eq(counters_of(&owner).timer_disarms, 0);
    close_owner(&owner);
}
END_TEST

/* scenario 92: explicit, in the middle of a wait: the hard cancel is counted and nothing is left */
START_TEST(explicit_idle_takes_the_armed_timer_out)
{
    struct owner owner;
    open_owner(&owner, origins_ns[_i], MS(1000));
    start_call(&owner);
    end_call(&owner);
    ck_assert_uint_eq(counters_of(&owner).timers_armed, 1);
    ck_assert_int_eq(lull_executor_enter(owner.executor), LULL_OK);
    ck_assert_int_eq(lull_idle_on_entered_idle(&owner.idle).next_at.ns, LULL_NEVER);
    lull_rescheduler_disarm(&owner.wake);
    lull_executor_leave(owner.executor);
    advance_to(&owner, 10000);
    ck_assert_int_eq(owner.entered, 0);
    ck_assert_uint_eq(counters_of(&owner).timer_disarms, 1);
    ck_assert_uint_eq(counters_of(&owner).timers_armed, 0);
    ck_assert_uint_eq(counters_of(&owner).timer_fires, 0);
    close_owner(&owner);
}
END_TEST

static Suite *idle_rescheduler_suite(void)
{
    Suite *suite = suite_create("idle_rescheduler");
    TCase *tc = tcase_create("idle_rescheduler");
    tcase_add_loop_test(tc, ten_thousand_calls_cost_two_arms_and_no_cancel, 0, 3);
    tcase_add_loop_test(tc, every_cycle_ends_idle_not_only_the_first, 0, 3);
    tcase_add_loop_test(tc, long_call_lets_the_armed_timer_die_and_its_end_arms_anew, 0, 3);
    tcase_add_loop_test(tc, explicit_idle_takes_the_armed_timer_out, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("idle_rescheduler", idle_rescheduler_suite)
