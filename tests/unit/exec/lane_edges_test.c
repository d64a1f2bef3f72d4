/* SPDX-License-Identifier: MIT */
/* Deadline lanes (src/exec/lane.c) where two things meet: expiry and another's leaving, a lane's end and its value, time's end. */
#include "lull/world.h"
#include "tests/unit/exec/lane_rig.h"

/* scenario 296, read as "saturates" (RULINGS 1): before the end of time each is kept, in order; what would be at it or behind it never comes */
START_TEST(at_the_end_of_time_the_first_are_kept_and_the_others_never_come)
{
    start(INT64_MAX - 30);
    join(0, 10); /* makes the lane, which the others find as the last one used */
    join(1, 10);
    lull_fake_clock_advance(&rig.clock, 19); /* 11 are left */
    ck_assert_uint_eq(order_count, 2);
    join(2, 10); /* one before LULL_NEVER */
    ck_assert_int_eq(w[2].entry.due_at.ns, INT64_MAX - 1);
    rig_enter(&rig);
    lane_join_at(&w[3].entry, lull_at(INT64_MAX - 5));
    lane_join(&w[4].entry, lull_at(INT64_MAX - 10), 10); /* LULL_NEVER to the nanosecond */
    lane_join(&w[5].entry, lull_at(INT64_MAX - 9), 10);  /* and behind it */
    lane_join(&w[6].entry, lull_at(INT64_MAX - 10), 20);
    rig_leave(&rig);
    for (size_t i = 4; i < 7; i++) {
        ck_assert(!lane_entry_is_waiting(&w[i].entry));
    }
    lull_fake_clock_advance(&rig.clock, 9);
    ck_assert_uint_eq(order_count, 3);
    ck_assert_uint_eq(order[2], 3);
    lull_fake_clock_advance(&rig.clock, 100);
    ck_assert_uint_eq(order_count, 4);
    ck_assert_uint_eq(order[3], 2);
    ck_assert_int_eq(w[2].ran_at_ns, INT64_MAX - 1);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
}
END_TEST

static void end_the_next(struct waiter *waiter)
{
    lane_leave(&waiter[1].entry);
}

/* Alone in the list of those that expire it has that list's head on both sides, which is no lane's. */
START_TEST(the_last_of_those_due_may_be_taken_out_by_the_one_before)
{
    join(0, 50);
    join(1, 50);
    join(2, 90);
    w[0].also = end_the_next;
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 1);
    join(1, 50);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 1090);
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 3);
    ck_assert_int_eq(w[2].ran_at_ns, 1090);
    ck_assert_int_eq(w[1].ran_at_ns, 1100);
}
END_TEST

/* A lane that those which expire have left is empty, and may be another value's before the last of them ran. */
static void take_over_every_lane(struct waiter *waiter)
{
    (void)waiter;
    for (size_t i = 64; i < 164; i++) {
        lane_join(&w[i].entry, lull_executor_now(rig.executor), 10000 + (int64_t)i);
    }
    lane_leave(&w[2].entry);
}

START_TEST(a_lane_may_be_given_to_another_value_while_its_entries_expire)
{
    for (size_t i = 3; i < LANES_MAX + 2; i++) {
        join(i, 5000 + (int64_t)i);
    }
    for (size_t i = 0; i < 3; i++) {
        join(i, 50);
    }
    for (size_t i = 3; i < LANES_MAX + 2; i++) {
        leave(i);
    }
    ck_assert_uint_eq(lanes_count(), LANES_MAX);
    w[0].also = take_over_every_lane;
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 2); /* 0 and 1; 2 was taken out */
    ck_assert_uint_eq(order[1], 1);
    join(2, 50); /* and 50 is a timeout like any other */
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 3);
    ck_assert_int_eq(w[2].ran_at_ns, 1100);
    lull_fake_clock_advance(&rig.clock, 20000);
    ck_assert_uint_eq(order_count, 103);
    for (size_t i = 64; i < 164; i++) {
        ck_assert_uint_eq(order[3 + i - 64], i);
        ck_assert_int_eq(w[i].ran_at_ns, 1050 + 10000 + (int64_t)i);
    }
}
END_TEST

/* A callback of the user's, as far as the executor's time goes. */
static void take_seven(struct waiter *waiter)
{
    (void)waiter;
    rig.clock.mono_at.ns += 7;
    executor_on_user_returned(rig.executor);
}

START_TEST(who_expires_behind_a_callback_that_took_its_time_is_told_the_time)
{
    for (size_t i = 0; i < 3; i++) {
        join(i, 50);
    }
    w[0].also = take_seven;
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_int_eq(w[0].ran_at_ns, 1050);
    ck_assert_int_eq(w[1].ran_at_ns, 1057);
    ck_assert_int_eq(w[2].ran_at_ns, 1057);
}
END_TEST

static void trim(void)
{
    rig_enter(&rig);
    executor_trim(rig.executor);
    rig_leave(&rig);
}

START_TEST(a_value_whose_lane_was_freed_gets_another)
{
    join(0, 50);
    leave(0);
    trim();
    ck_assert_uint_eq(lanes_count(), 0);
    join(0, 50); /* the last value that was joined with */
    ck_assert_uint_eq(lanes_count(), 1);
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(w[0].runs, 1);
}
END_TEST

/* Whatever lanes go, each that is left is found by its value: a second entry stands beside the first. */
START_TEST(lanes_that_are_left_are_found_by_their_values)
{
    struct lull_random_seeded chance;
    lull_random_seed(&chance, 7);
    for (int round = 0; round < 200; round++) {
        int64_t values[LANES_MAX];
        for (size_t i = 0; i < LANES_MAX; i++) {
            values[i] = LULL_SECOND + (int64_t)(chance.base.next(&chance.base) % 1000000) * LULL_US + (int64_t)i;
            join(i, values[i]);
        }
        for (size_t i = 0; i < LANES_MAX; i++) {
            if (chance.base.next(&chance.base) % 2 == 0) {
                leave(i);
            }
        }
        trim();
        const uint32_t lanes = lanes_count();
        for (size_t i = 0; i < LANES_MAX; i++) {
            if (lane_entry_is_waiting(&w[i].entry)) {
                join(100, values[i]);
                MUST(w[100].entry.in_lane.prev == &w[i].entry.in_lane || w[100].entry.in_lane.next == &w[i].entry.in_lane);
                leave(100);
                leave(i);
            }
        }
        MUST(lanes_count() == lanes);
        trim();
    }
}
END_TEST

/* RULINGS 3, for the lane of absolute instants as well */
START_TEST(empty_lanes_may_be_disarmed)
{
    rig_enter(&rig);
    lane_join_at(&w[0].entry, lull_at(2000));
    lane_join(&w[1].entry, rig.clock.mono_at, 50);
    lane_join(&w[2].entry, rig.clock.mono_at, 60);
    lane_leave(&w[0].entry);
    lane_leave(&w[1].entry);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 3);
    lanes_disarm_empty(executor_lanes(rig.executor));
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    rig_leave(&rig);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 1060);
}
END_TEST

static Suite *lane_edges_suite(void)
{
    Suite *suite = suite_create("exec/lane_edges");
    TCase *end = tcase_create("the end of time");
    TCase *cases = tcase_create("cases");
    tcase_add_checked_fixture(end, NULL, teardown);
    tcase_add_test(end, at_the_end_of_time_the_first_are_kept_and_the_others_never_come);
    suite_add_tcase(suite, end);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_last_of_those_due_may_be_taken_out_by_the_one_before);
    tcase_add_test(cases, a_lane_may_be_given_to_another_value_while_its_entries_expire);
    tcase_add_test(cases, who_expires_behind_a_callback_that_took_its_time_is_told_the_time);
    tcase_add_test(cases, a_value_whose_lane_was_freed_gets_another);
    tcase_add_test(cases, lanes_that_are_left_are_found_by_their_values);
    tcase_add_test(cases, empty_lanes_may_be_disarmed);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("lane_edges", lane_edges_suite)
