/* SPDX-License-Identifier: MIT */
/* Deadline lanes (src/exec/lane.c), case by case. lane_oracle_test.c has the random operations, lane_edges_test.c who meets whom. */
#include "tests/unit/exec/lane_rig.h"
#include "time/timerq.h"

START_TEST(an_entry_expires_exactly_at_its_instant)
{
    join(0, 50);
    ck_assert_int_eq(w[0].entry.due_at.ns, 1050);
    lull_fake_clock_advance(&rig.clock, 49);
    ck_assert_uint_eq(w[0].runs, 0);
    lull_fake_clock_advance(&rig.clock, 1);
    ck_assert_uint_eq(w[0].runs, 1);
    ck_assert_int_eq(w[0].ran_at_ns, 1050);
    lull_fake_clock_advance(&rig.clock, 1000);
    ck_assert_uint_eq(w[0].runs, 1);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
}
END_TEST

START_TEST(entries_of_one_timeout_share_a_lane_and_one_timer)
{
    for (size_t i = 0; i < 100; i++) {
        join(i, 50);
        lull_fake_clock_advance(&rig.clock, 0);
    }
    ck_assert_uint_eq(lanes_count(), 1);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 1);
}
END_TEST

START_TEST(a_late_wake_expires_all_due_earliest_first)
{
    for (size_t i = 0; i < 5; i++) {
        join(i, 50);
        rig.clock.mono_at.ns += 10;
    }
    lull_fake_clock_jump(&rig.clock, 25); /* now 1075: due are those of 1050, 1060 and 1070 */
    ck_assert_uint_eq(order_count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(order[i], i);
    }
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 1080);
    lull_fake_clock_advance(&rig.clock, 15);
    ck_assert_uint_eq(order_count, 5);
    ck_assert_int_eq(w[4].ran_at_ns, 1090);
}
END_TEST

START_TEST(an_older_now_is_put_where_it_belongs)
{
    rig_enter(&rig);
    lane_join(&w[0].entry, lull_at(1010), 50);
    lane_join(&w[1].entry, lull_at(1005), 50);
    lane_join(&w[2].entry, lull_at(1007), 50);
    lane_join(&w[3].entry, lull_at(1010), 50); /* equal: behind */
    lane_join(&w[4].entry, lull_at(1007), 50); /* equal to one that is not the last: behind that */
    rig_leave(&rig);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 1055);
    lull_fake_clock_advance(&rig.clock, 100);
    ck_assert_uint_eq(order_count, 5);
    ck_assert_uint_eq(order[0], 1);
    ck_assert_uint_eq(order[1], 2);
    ck_assert_uint_eq(order[2], 4);
    ck_assert_uint_eq(order[3], 0);
    ck_assert_uint_eq(order[4], 3);
    ck_assert_int_eq(w[1].ran_at_ns, 1055);
}
END_TEST

START_TEST(a_hundred_thousand_joins_and_leaves_touch_the_queue_at_most_twice)
{
    const uint64_t allocations = rig_counters(&rig).allocations;
    for (int i = 0; i < 100000; i++) {
        join(0, 60 * LULL_SECOND);
        rig.clock.mono_at.ns += LULL_MS / 2;
        leave(0);
    }
    ck_assert_uint_le(rig_counters(&rig).timer_arms, 2);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, 0);
    /* The lane, its table of values, and the queue's growth for its slot, once. */
    ck_assert_uint_le(rig_counters(&rig).allocations, allocations + 3);
    ck_assert_uint_eq(w[0].runs, 0);
    lull_fake_clock_advance(&rig.clock, 120 * LULL_SECOND);
    ck_assert_uint_eq(w[0].runs, 0);
}
END_TEST

START_TEST(a_hundred_thousand_overlapping_calls_cost_an_early_wake_a_timeout)
{
    /* 100 in flight at any time, 0.5 ms apart, timeout 10 s: 50 s of traffic, five windows. */
    for (size_t i = 0; i < 100000; i++) {
        join(i % 100, 10 * LULL_SECOND);
        lull_fake_clock_advance(&rig.clock, LULL_MS / 2);
    }
    ck_assert_uint_le(rig_counters(&rig).timer_arms, 6);
    ck_assert_uint_eq(order_count, 0);
}
END_TEST

START_TEST(leaving_the_last_cancels_softly_and_the_next_join_pushes_out)
{
    join(0, 50);
    leave(0);
    ck_assert(!lane_entry_is_waiting(&w[0].entry));
    lull_fake_clock_advance(&rig.clock, 20);
    join(1, 50);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 1);
    lull_fake_clock_advance(&rig.clock, 49);
    ck_assert_uint_eq(order_count, 0);
    lull_fake_clock_advance(&rig.clock, 1);
    ck_assert_uint_eq(w[1].runs, 1);
    ck_assert_int_eq(w[1].ran_at_ns, 1070);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 2);
}
END_TEST

START_TEST(reopening_moves_the_entry_behind_the_others)
{
    join(0, 50);
    lull_fake_clock_advance(&rig.clock, 10);
    join(1, 50);
    lull_fake_clock_advance(&rig.clock, 10);
    rig_enter(&rig);
    lane_reopen(&w[0].entry, rig.clock.mono_at, 50);
    rig_leave(&rig);
    lull_fake_clock_advance(&rig.clock, 1000);
    ck_assert_uint_eq(order[0], 1);
    ck_assert_uint_eq(order[1], 0);
    ck_assert_int_eq(w[0].ran_at_ns, 1070);
    ck_assert_uint_eq(w[0].runs, 1);
}
END_TEST

START_TEST(an_absolute_instant_may_be_waited_for_and_replaced)
{
    rig_enter(&rig);
    lane_join_at(&w[0].entry, lull_at(1042));
    rig_leave(&rig);
    ck_assert_uint_eq(lanes_count(), 0);
    ck_assert(lane_entry_is_waiting(&w[0].entry));
    ck_assert_int_eq(w[0].entry.due_at.ns, 1042);
    lull_fake_clock_advance(&rig.clock, 42);
    ck_assert_int_eq(w[0].ran_at_ns, 1042);
    ck_assert(!lane_entry_is_waiting(&w[0].entry));
    rig_enter(&rig);
    lane_join_at(&w[0].entry, lull_at(2000));
    lane_join(&w[0].entry, rig.clock.mono_at, 5); /* replaces it */
    rig_leave(&rig);
    lull_fake_clock_advance(&rig.clock, 5000);
    ck_assert_uint_eq(w[0].runs, 2);
    ck_assert_int_eq(w[0].ran_at_ns, 1047);
}
END_TEST

START_TEST(absolute_instants_that_come_in_order_share_one_timer)
{
    rig_enter(&rig);
    for (size_t i = 0; i < 100; i++) {
        lane_join_at(&w[i].entry, lull_at(2000 + (int64_t)i));
    }
    /* A little before the last ones is near enough. */
    lane_join_at(&w[100].entry, lull_at(2099 - (int64_t)LANE_INSTANT_STEPS));
    rig_leave(&rig);
    ck_assert_uint_eq(lanes_count(), 0);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 1);
    leave(50);
    lull_fake_clock_advance(&rig.clock, 5000);
    ck_assert_uint_eq(order_count, 100);
    ck_assert_uint_eq(w[50].runs, 0);
    for (size_t i = 0; i < 100; i++) {
        ck_assert(i == 50 || w[i].ran_at_ns == 2000 + (int64_t)i);
    }
    ck_assert_int_eq(w[100].ran_at_ns, 2099 - (int64_t)LANE_INSTANT_STEPS);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, 0);
    rig_enter(&rig);
    executor_trim(rig.executor);
    rig_leave(&rig);
    ck_assert_ptr_null(executor_lanes(rig.executor)->instants);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
}
END_TEST

START_TEST(an_absolute_instant_far_before_the_last_ones_uses_the_entrys_own_timer)
{
    rig_enter(&rig);
    for (size_t i = 0; i < 100; i++) {
        lane_join_at(&w[i].entry, lull_at(2100 - (int64_t)i));
    }
    rig_leave(&rig);
    for (size_t i = 0; i < 100; i++) {
        ck_assert(lull_timer_is_armed(&w[i].entry.timer) == (i > LANE_INSTANT_STEPS));
    }
    lull_fake_clock_advance(&rig.clock, 5000);
    ck_assert_uint_eq(order_count, 100);
    for (size_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(order[i], 99 - i);
        ck_assert_int_eq(w[i].ran_at_ns, 2100 - (int64_t)i);
    }
}
END_TEST

START_TEST(never_joins_nothing)
{
    join(0, LULL_NEVER);
    join(1, INT64_MAX - 10); /* the sum saturates */
    rig_enter(&rig);
    lane_join_at(&w[2].entry, lull_at(LULL_NEVER));
    rig_leave(&rig);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(!lane_entry_is_waiting(&w[i].entry));
    }
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, 0);
    join(0, 50);
    join(0, LULL_NEVER); /* leaves */
    lull_fake_clock_advance(&rig.clock, 100);
    ck_assert_uint_eq(order_count, 0);
}
END_TEST

START_TEST(a_timeout_that_is_not_positive_is_due_at_once_but_never_inline)
{
    join(0, 0);
    join(1, -5);
    join(2, INT64_MIN);
    ck_assert_uint_eq(order_count, 0);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 1000);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(order_count, 3);
    ck_assert_int_eq(w[2].ran_at_ns, 1000);
}
END_TEST

static void join_again_at_once(struct waiter *waiter)
{
    if (waiter->runs < 5) {
        lane_join(&waiter->entry, lull_executor_now(rig.executor), 0);
        ck_assert(lane_entry_is_waiting(&waiter->entry));
    }
}

START_TEST(an_entry_that_joins_at_once_in_its_callback_waits_for_the_next_turn)
{
    w[0].also = join_again_at_once;
    join(0, 0);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_uint_eq(w[0].runs, 1);
    lull_fake_clock_settle(&rig.clock);
    ck_assert_uint_eq(w[0].runs, 5);
    ck_assert_uint_eq(rig_counters(&rig).turns, 5);
}
END_TEST

static void end_the_next_two(struct waiter *waiter)
{
    lane_leave(&waiter[1].entry);
    lane_entry_fini(&waiter[2].entry);
    lane_entry_fini(&waiter->entry);
}

START_TEST(a_callback_may_take_out_those_that_are_due_with_it)
{
    for (size_t i = 0; i < 5; i++) {
        join(i, 50);
    }
    w[0].also = end_the_next_two;
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 3);
    ck_assert_uint_eq(order[0], 0);
    ck_assert_uint_eq(order[1], 3);
    ck_assert_uint_eq(order[2], 4);
    ck_assert(!lane_entry_is_waiting(&w[1].entry));
}
END_TEST

static void trim_all(struct waiter *waiter)
{
    (void)waiter;
    executor_trim(rig.executor);
}

START_TEST(a_callback_may_trim_the_lane_that_is_firing)
{
    join(0, 50);
    join(1, 50);
    join(2, 70);
    w[0].also = trim_all;
    lull_fake_clock_advance(&rig.clock, 50);
    ck_assert_uint_eq(order_count, 2);
    ck_assert_uint_eq(lanes_count(), 1);
    lull_fake_clock_advance(&rig.clock, 20);
    ck_assert_uint_eq(w[2].runs, 1);
}
END_TEST

START_TEST(trim_frees_empty_lanes_and_their_timers)
{
    for (size_t i = 0; i < 50; i++) {
        join(i, (int64_t)i + 10);
    }
    for (size_t i = 1; i < 50; i++) {
        leave(i);
    }
    ck_assert_uint_eq(lanes_count(), 50);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 50);
    rig_enter(&rig);
    executor_trim(rig.executor);
    rig_leave(&rig);
    ck_assert_uint_eq(lanes_count(), 1);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    join(1, 10);
    join(2, 11);
    lull_fake_clock_advance(&rig.clock, 11);
    ck_assert_uint_eq(order_count, 3);
    rig_enter(&rig);
    executor_trim(rig.executor); /* RULINGS 3: what is idle holds no timer */
    rig_leave(&rig);
    ck_assert_uint_eq(lanes_count(), 0);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
}
END_TEST

START_TEST(sixty_four_values_have_lanes_and_more_use_their_own_timer)
{
    for (size_t i = 0; i < 100; i++) {
        join(i, (int64_t)i + 10);
    }
    ck_assert_uint_eq(lanes_count(), LANES_MAX);
    for (size_t i = 0; i < 64; i++) {
        ck_assert(!lull_timer_is_armed(&w[i].entry.timer));
    }
    for (size_t i = 64; i < 100; i++) {
        ck_assert(lull_timer_is_armed(&w[i].entry.timer));
        ck_assert(lane_entry_is_waiting(&w[i].entry));
    }
    leave(99);
    lull_fake_clock_advance(&rig.clock, 1000);
    ck_assert_uint_eq(order_count, 99);
    for (size_t i = 0; i < 99; i++) {
        ck_assert_uint_eq(order[i], i);
        ck_assert_int_eq(w[i].ran_at_ns, 1010 + (int64_t)i);
    }
}
END_TEST

START_TEST(an_empty_lane_is_given_to_another_value)
{
    for (size_t i = 0; i < 64; i++) {
        join(i, (int64_t)i + 10);
    }
    for (size_t i = 0; i < 64; i++) {
        leave(i);
    }
    /* Every lane gets its second chance, eight a join; then they are taken over. */
    size_t in_lanes = 0;
    for (size_t i = 64; i < 84; i++) {
        join(i, 5000 + (int64_t)i);
        in_lanes += !lull_timer_is_armed(&w[i].entry.timer);
    }
    ck_assert_uint_ge(in_lanes, 12);
    ck_assert_uint_eq(lanes_count(), LANES_MAX);
    lull_fake_clock_advance(&rig.clock, 10000);
    ck_assert_uint_eq(order_count, 20);
    for (size_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(order[i], i + 64);
        ck_assert_int_eq(w[i + 64].ran_at_ns, 1000 + 5000 + (int64_t)i + 64);
    }
}
END_TEST

START_TEST(a_value_in_steady_use_keeps_its_lane_among_ever_new_values)
{
    join(0, 7 * LULL_SECOND);
    /* Alone there, so beside the lane's head. */
    const struct list_node *head = w[0].entry.in_lane.next;
    ck_assert(!lull_timer_is_armed(&w[0].entry.timer));
    for (int64_t i = 0; i < 10000; i++) {
        join(0, 7 * LULL_SECOND);
        MUST(!lull_timer_is_armed(&w[0].entry.timer) && w[0].entry.in_lane.next == head);
        leave(0);
        join(1, 1000 + i);
        leave(1);
    }
    ck_assert_uint_eq(lanes_count(), LANES_MAX);
}
END_TEST

/* ---- no memory */

static bool is_poor;

static void *poor_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return is_poor ? NULL : malloc(size);
}

START_TEST(without_memory_for_a_lane_the_entry_uses_its_own_timer)
{
    struct lull_allocator allocator = *lull_allocator_system();
    struct lull_executor_options options;
    struct lull_executor *executor;
    struct waiter one, other;
    allocator.alloc = poor_alloc;
    is_poor = false;
    lull_executor_options_init(&options);
    options.clock = &rig.clock.base;
    options.allocator = &allocator;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    ck_assert_int_eq(lane_entry_init(&one.entry, executor, expired), LULL_OK);
    is_poor = true;
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    lane_join(&one.entry, lull_at(1000), 50);
    ck_assert(lull_timer_is_armed(&one.entry.timer));
    ck_assert_uint_eq(executor_lanes(executor)->count, 0);
    ck_assert(lane_entry_is_waiting(&one.entry));
    ck_assert_int_eq(lull_executor_next_at(executor).ns, 1050);
    /* Once there is memory there is a lane. */
    is_poor = false;
    lane_join(&one.entry, lull_at(1000), 50);
    ck_assert(!lull_timer_is_armed(&one.entry.timer));
    /* And an entry that gets no slot says so. */
    is_poor = true;
    struct waiter many[TIMERQ_SLOTS_MIN];
    int rc = LULL_OK;
    size_t made = 0;
    for (; made < TIMERQ_SLOTS_MIN && rc == LULL_OK; made++) {
        rc = lane_entry_init(&many[made].entry, executor, expired);
    }
    ck_assert_int_eq(rc, LULL_RC_NOMEM);
    for (size_t i = 0; i < made; i++) {
        lane_entry_fini(&many[i].entry); /* the failed one, too */
    }
    lane_entry_fini(&one.entry);
    lane_entry_fini(&other.entry); /* zeroed memory */
    lull_executor_leave(executor);
    lull_executor_free(executor);
}
END_TEST

static Suite *lane_suite(void)
{
    Suite *suite = suite_create("exec/lane");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 300);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, an_entry_expires_exactly_at_its_instant);
    tcase_add_test(cases, entries_of_one_timeout_share_a_lane_and_one_timer);
    tcase_add_test(cases, a_late_wake_expires_all_due_earliest_first);
    tcase_add_test(cases, an_older_now_is_put_where_it_belongs);
    tcase_add_test(cases, a_hundred_thousand_joins_and_leaves_touch_the_queue_at_most_twice);
    tcase_add_test(cases, a_hundred_thousand_overlapping_calls_cost_an_early_wake_a_timeout);
    tcase_add_test(cases, leaving_the_last_cancels_softly_and_the_next_join_pushes_out);
    tcase_add_test(cases, reopening_moves_the_entry_behind_the_others);
    tcase_add_test(cases, an_absolute_instant_may_be_waited_for_and_replaced);
    tcase_add_test(cases, absolute_instants_that_come_in_order_share_one_timer);
    tcase_add_test(cases, an_absolute_instant_far_before_the_last_ones_uses_the_entrys_own_timer);
    tcase_add_test(cases, never_joins_nothing);
    tcase_add_test(cases, a_timeout_that_is_not_positive_is_due_at_once_but_never_inline);
    tcase_add_test(cases, an_entry_that_joins_at_once_in_its_callback_waits_for_the_next_turn);
    tcase_add_test(cases, a_callback_may_take_out_those_that_are_due_with_it);
    tcase_add_test(cases, a_callback_may_trim_the_lane_that_is_firing);
    tcase_add_test(cases, trim_frees_empty_lanes_and_their_timers);
    tcase_add_test(cases, sixty_four_values_have_lanes_and_more_use_their_own_timer);
    tcase_add_test(cases, an_empty_lane_is_given_to_another_value);
    tcase_add_test(cases, a_value_in_steady_use_keeps_its_lane_among_ever_new_values);
    tcase_add_test(cases, without_memory_for_a_lane_the_entry_uses_its_own_timer);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("lane", lane_suite)
