/* SPDX-License-Identifier: MIT */
/* Deadline lanes (src/exec/lane.c) under random operations, inside callbacks too, against a naive oracle
 * that looks at every entry. */
#include "exec/lane.h"

#include <stdio.h>

#include "lull/world.h"
#include "tests/unit/exec/fixture.h"
#include "tests/support/rounds.h"

#define ENTRIES 200

/* An entry, and what the oracle expects of it. */
struct waiter {
    struct lane_entry entry;
    int64_t expect_ns; /* LULL_NEVER: it waits for nothing */
    int64_t joined_ns; /* when it joined */
};

static struct rig rig;
static struct waiter w[ENTRIES];
static size_t expiries;
static struct lull_random_seeded chance;
static bool is_stepping;
static int64_t values_count;

static uint64_t pick(uint64_t below)
{
    return chance.base.next(&chance.base) % below;
}

/* One random change of one random entry, noted for the oracle. */
static void change(void)
{
    struct waiter *waiter = &w[pick(ENTRIES)];
    const struct lull_instant now = lull_executor_now(rig.executor);
    const uint64_t what = pick(16);
    const int64_t after_ns = (int64_t)pick((uint64_t)values_count) * 13;
    waiter->expect_ns = LULL_NEVER;
    waiter->joined_ns = now.ns;
    if (what < 9) {
        waiter->expect_ns = lull_instant_add(now, after_ns).ns;
        lane_join(&waiter->entry, now, after_ns);
    } else if (what < 11) {
        waiter->expect_ns = lull_instant_add(now, after_ns).ns;
        lane_reopen(&waiter->entry, now, after_ns);
    } else if (what == 11) {
        waiter->expect_ns = lull_instant_add(now, (int64_t)pick(300) - 20).ns;
        lane_join_at(&waiter->entry, lull_at(waiter->expect_ns));
    } else if (what == 12) {
        lane_entry_fini(&waiter->entry);
        MUST(lane_entry_init(&waiter->entry, rig.executor, waiter->entry.expired) == LULL_OK);
    } else {
        lane_leave(&waiter->entry);
    }
}

static void expired(struct lane_entry *entry, struct lull_instant now)
{
    struct waiter *waiter = (struct waiter *)(void *)entry;
    MUST(waiter->expect_ns != LULL_NEVER);
    MUST(waiter->expect_ns <= now.ns);
    if (is_stepping) {
        /* Exactly then; at once, when it joined for the past. */
        const int64_t due_ns =
            waiter->expect_ns > waiter->joined_ns ? waiter->expect_ns : waiter->joined_ns;
        MUST(due_ns == now.ns);
    }
    waiter->expect_ns = LULL_NEVER;
    expiries++;
    for (uint64_t n = pick(3); n > 0; n--) {
        change();
    }
}

static void check_all(void)
{
    uint64_t waiting = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        const bool waits = w[i].expect_ns != LULL_NEVER;
        MUST(lane_entry_is_waiting(&w[i].entry) == waits);
        MUST(w[i].entry.due_at.ns == w[i].expect_ns);
        MUST(!waits || w[i].expect_ns > rig.clock.mono_at.ns);
        waiting += waits;
    }
    const struct lanes *lanes = executor_lanes(rig.executor);
    MUST(lanes->count <= LANES_MAX);
    MUST(list_is_empty(&lanes->expiring));
    MUST(waiting == 0 || lull_executor_next_at(rig.executor).ns != LULL_NEVER);
}

static void run_against_oracle(int64_t origin_ns, uint64_t seed, int64_t values, bool stepping)
{
    printf("lane oracle: origin %lld seed %llu values %lld\n", (long long)origin_ns,
           (unsigned long long)seed, (long long)values);
    rig_init(&rig, origin_ns);
    expiries = 0;
    rig_enter(&rig);
    for (size_t i = 0; i < ENTRIES; i++) {
        w[i].expect_ns = LULL_NEVER;
        ck_assert_int_eq(lane_entry_init(&w[i].entry, rig.executor, expired), LULL_OK);
    }
    rig_leave(&rig);
    lull_random_seed(&chance, seed);
    is_stepping = stepping;
    values_count = values;
    for (int round = 0; round < (int)test_rounds(20000, 4000); round++) {
        rig_enter(&rig);
        for (uint64_t n = pick(6); n > 0; n--) {
            change();
        }
        rig_leave(&rig);
        if (stepping) {
            lull_fake_clock_advance(&rig.clock, (int64_t)pick(30));
        } else {
            lull_fake_clock_jump(&rig.clock, (int64_t)pick(30));
        }
        check_all();
    }
    ck_assert_uint_gt(expiries, 1000);
    rig_enter(&rig);
    for (size_t i = 0; i < ENTRIES; i++) {
        lane_entry_fini(&w[i].entry);
    }
    rig_leave(&rig);
    ck_assert_uint_le(rig_counters(&rig).timers_armed, executor_lanes(rig.executor)->count + 1);
    rig_fini(&rig);
}

START_TEST(random_operations_expire_when_a_naive_list_would)
{
    run_against_oracle(0, 21, 5, true);
    run_against_oracle(0, 22, 5, false);
    run_against_oracle(-300000, 23, 64, true);
}
END_TEST

START_TEST(random_operations_with_more_values_than_lanes_do_too)
{
    run_against_oracle(0, 24, 150, true);
    run_against_oracle(-300000, 25, 150, false);
    run_against_oracle(INT64_MAX - 200000, 26, 100, true); /* into saturation */
}
END_TEST

static Suite *lane_oracle_suite(void)
{
    Suite *suite = suite_create("exec/lane_oracle");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 300);
    tcase_add_test(cases, random_operations_expire_when_a_naive_list_would);
    tcase_add_test(cases, random_operations_with_more_values_than_lanes_do_too);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("lane_oracle", lane_oracle_suite)
