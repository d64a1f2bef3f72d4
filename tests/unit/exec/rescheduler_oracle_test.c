/* SPDX-License-Identifier: MIT */
/* The Rescheduler (src/exec/rescheduler.c) under random operations, against a naive timer that is cancelled
 * and armed at every set: it runs at the same instants and arms no more often. */
#include "lull/rescheduler.h"

#include <stdio.h>

#include "lull/world.h"
#include "tests/unit/exec/fixture.h"

#define OPERATIONS 100000

struct ours {
    struct lull_rescheduler r;
    uint32_t runs;
    int64_t ran_at_ns;
};

/* The oracle. */
struct naive {
    bool is_set;
    int64_t run_at_ns;
    uint64_t arms;
    uint32_t runs;
    int64_t ran_at_ns;
};

static struct rig rig;
static struct lull_random_seeded chance;
static struct ours ours;
static struct naive naive;

static void expired(struct lull_rescheduler *r, struct lull_instant now)
{
    (void)r;
    ours.runs++;
    ours.ran_at_ns = now.ns;
}

static uint64_t pick(uint64_t below)
{
    return chance.base.next(&chance.base) % below;
}

static void set(void)
{
    const struct lull_instant at = lull_instant_add(rig.clock.mono_at, (int64_t)pick(60) - 2);
    rig_enter(&rig);
    lull_rescheduler_set(&ours.r, at);
    rig_leave(&rig);
    naive.run_at_ns = at.ns;
    naive.is_set = at.ns != LULL_NEVER;
    naive.arms += naive.is_set;
}

static void cancel(bool hard)
{
    rig_enter(&rig);
    if (hard) {
        lull_rescheduler_disarm(&ours.r);
        MUST(!lull_rescheduler_is_armed(&ours.r));
    } else {
        lull_rescheduler_cancel(&ours.r);
    }
    rig_leave(&rig);
    naive.is_set = false;
}

/* Moves time, step by step or in one late jump. */
static void pass_time(bool is_late)
{
    const int64_t by_ns = (int64_t)pick(25);
    const int64_t before_ns = rig.clock.mono_at.ns;
    if (is_late) {
        lull_fake_clock_jump(&rig.clock, by_ns);
    } else {
        lull_fake_clock_advance(&rig.clock, by_ns);
    }
    if (!naive.is_set || naive.run_at_ns > rig.clock.mono_at.ns) {
        return;
    }
    naive.is_set = false;
    naive.runs++;
    naive.ran_at_ns = naive.run_at_ns;
    if (is_late) {
        naive.ran_at_ns = rig.clock.mono_at.ns;
    } else if (naive.ran_at_ns < before_ns) {
        naive.ran_at_ns = before_ns; /* set for the past: at once */
    }
}

static void compare_with_naive(int64_t origin_ns, uint64_t seed)
{
    printf("rescheduler oracle: origin %lld seed %llu\n", (long long)origin_ns,
           (unsigned long long)seed);
    lull_random_seed(&chance, seed);
    memset(&ours, 0, sizeof(ours));
    memset(&naive, 0, sizeof(naive));
    rig_init(&rig, origin_ns);
    rig_enter(&rig);
    MUST(lull_rescheduler_init(&ours.r, rig.executor, expired) == LULL_OK);
    rig_leave(&rig);
    for (int i = 0; i < OPERATIONS; i++) {
        const uint64_t what = pick(10);
        if (what < 4) {
            set();
        } else if (what < 6) {
            cancel(what == 5);
        } else {
            pass_time(what == 9);
        }
        MUST(ours.runs == naive.runs);
        MUST(ours.ran_at_ns == naive.ran_at_ns);
        MUST(lull_rescheduler_is_enabled(&ours.r) == naive.is_set);
        MUST(rig_counters(&rig).timers_armed <= 1);
    }
    ck_assert_uint_le(rig_counters(&rig).timer_arms, naive.arms);
    ck_assert_uint_gt(naive.runs, 1000);
    rig_enter(&rig);
    lull_rescheduler_fini(&ours.r);
    rig_leave(&rig);
    rig_fini(&rig);
}

START_TEST(random_operations_from_zero_run_when_a_naive_timer_would)
{
    compare_with_naive(0, 11);
}
END_TEST

START_TEST(random_operations_from_a_negative_origin_do_too)
{
    compare_with_naive(-500000, 12);
}
END_TEST

/* RULINGS 1: into saturation, where every sum becomes LULL_NEVER and nothing fires early. */
START_TEST(random_operations_into_the_end_of_time_do_too)
{
    compare_with_naive(INT64_MAX - 300000, 13);
    ck_assert_int_lt(naive.ran_at_ns, LULL_NEVER);
}
END_TEST

static Suite *rescheduler_oracle_suite(void)
{
    Suite *suite = suite_create("exec/rescheduler_oracle");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 300);
    tcase_add_test(cases, random_operations_from_zero_run_when_a_naive_timer_would);
    tcase_add_test(cases, random_operations_from_a_negative_origin_do_too);
    tcase_add_test(cases, random_operations_into_the_end_of_time_do_too);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("rescheduler_oracle", rescheduler_oracle_suite)
