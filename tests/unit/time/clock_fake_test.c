/* SPDX-License-Identifier: MIT */
/* The fake clock (src/time/clock_fake.c), driving small things that note when they ran. */
#include "lull/clock.h"

#include <string.h>

#include "tests/support/check_main.h"

#define LOG_MAX 64

struct ran {
    int who;
    int64_t at_ns;
};

static struct ran ran_log[LOG_MAX];
static size_t ran_count;
static struct lull_fake_clock hand;

/* A thing with a list of due instants; each turn takes all that are due. */
struct thing {
    int who;
    int64_t due_ns[8];
    size_t due_count;
    int64_t again_after_ns; /* every turn adds one due so much later; LULL_NEVER: none */
    int64_t takes_ns;       /* a turn moves the clock so far */
    bool drops_itself;
    uint32_t turns;
};

static struct lull_instant thing_next_at(void *ctx)
{
    const struct thing *thing = ctx;
    int64_t first = LULL_NEVER;
    for (size_t i = 0; i < thing->due_count; i++) {
        first = thing->due_ns[i] < first ? thing->due_ns[i] : first;
    }
    return lull_at(first);
}

static void thing_turn(void *ctx, struct lull_instant now)
{
    struct thing *thing = ctx;
    size_t kept = 0;
    thing->turns++;
    for (size_t i = 0; i < thing->due_count; i++) {
        if (thing->due_ns[i] > now.ns) {
            thing->due_ns[kept++] = thing->due_ns[i];
        }
    }
    thing->due_count = kept;
    if (ran_count < LOG_MAX) {
        ran_log[ran_count++] = (struct ran){thing->who, now.ns};
    }
    if (thing->again_after_ns != LULL_NEVER) {
        thing->due_ns[thing->due_count++] = now.ns + thing->again_after_ns;
    }
    if (thing->takes_ns > 0) {
        lull_fake_clock_advance(&hand, thing->takes_ns);
    }
    if (thing->drops_itself) {
        lull_fake_clock_drop(&hand, thing);
    }
}

static struct thing make(int who)
{
    struct thing thing;
    memset(&thing, 0, sizeof(thing));
    thing.who = who;
    thing.again_after_ns = LULL_NEVER;
    return thing;
}

static void drive(struct thing *thing)
{
    ck_assert_int_eq(lull_fake_clock_drive(&hand, thing_next_at, thing_turn, thing), LULL_OK);
}

static void due(struct thing *thing, int64_t at_ns)
{
    thing->due_ns[thing->due_count++] = at_ns;
}

static void setup(void)
{
    ran_count = 0;
    lull_fake_clock_init(&hand, 0, 1000);
}

static void expect(size_t i, int who, int64_t at_ns)
{
    ck_assert_uint_lt(i, ran_count);
    ck_assert_int_eq(ran_log[i].who, who);
    ck_assert_int_eq(ran_log[i].at_ns, at_ns);
}

START_TEST(advance_stops_at_each_due_instant_in_order)
{
    struct thing a = make(1), b = make(2);
    due(&a, 30);
    due(&a, 10);
    due(&b, 20);
    drive(&a);
    drive(&b);
    lull_fake_clock_advance(&hand, 25);
    ck_assert_uint_eq(ran_count, 2);
    expect(0, 1, 10);
    expect(1, 2, 20);
    ck_assert_int_eq(hand.mono_at.ns, 25);
    lull_fake_clock_advance(&hand, 100);
    ck_assert_uint_eq(ran_count, 3);
    expect(2, 1, 30);
    ck_assert_int_eq(hand.mono_at.ns, 125);
    ck_assert_int_eq(hand.wall_ns, 1125);
}
END_TEST

START_TEST(advance_runs_what_is_due_exactly_at_its_end)
{
    struct thing a = make(1);
    due(&a, 10);
    drive(&a);
    lull_fake_clock_advance(&hand, 9);
    ck_assert_uint_eq(ran_count, 0);
    lull_fake_clock_advance(&hand, 1);
    expect(0, 1, 10);
}
END_TEST

START_TEST(work_made_on_the_way_runs_on_the_way)
{
    struct thing a = make(1);
    due(&a, 7);
    a.again_after_ns = 7;
    drive(&a);
    lull_fake_clock_advance(&hand, 30);
    ck_assert_uint_eq(ran_count, 4);
    expect(3, 1, 28);
}
END_TEST

START_TEST(advance_by_zero_runs_what_is_due_now)
{
    struct thing a = make(1);
    due(&a, 0);
    drive(&a);
    ck_assert_uint_eq(ran_count, 0); /* never inline */
    lull_fake_clock_advance(&hand, 0);
    expect(0, 1, 0);
}
END_TEST

START_TEST(a_negative_advance_does_nothing)
{
    struct thing a = make(1);
    due(&a, 0);
    drive(&a);
    lull_fake_clock_advance(&hand, -1);
    lull_fake_clock_jump(&hand, -1);
    ck_assert_uint_eq(ran_count, 0);
    ck_assert_int_eq(hand.mono_at.ns, 0);
    ck_assert_int_eq(hand.wall_ns, 1000);
}
END_TEST

START_TEST(a_jump_makes_everything_late)
{
    struct thing a = make(1), b = make(2);
    due(&a, 10);
    due(&a, 20);
    due(&b, 15);
    drive(&a);
    drive(&b);
    lull_fake_clock_jump(&hand, 100);
    ck_assert_uint_eq(ran_count, 2);
    expect(0, 1, 100);
    expect(1, 2, 100);
    ck_assert_int_eq(hand.wall_ns, 1100);
}
END_TEST

START_TEST(settle_runs_until_nothing_is_due_and_moves_no_hand)
{
    struct thing a = make(1), b = make(2);
    due(&a, 0);
    due(&b, 0);
    due(&b, 1);
    drive(&a);
    drive(&b);
    lull_fake_clock_settle(&hand);
    ck_assert_uint_eq(ran_count, 2);
    ck_assert_int_eq(hand.mono_at.ns, 0);
    ck_assert_uint_eq(b.due_count, 1);
}
END_TEST

START_TEST(settle_ends_although_something_is_always_due)
{
    struct thing a = make(1);
    due(&a, 0);
    a.again_after_ns = 0;
    drive(&a);
    lull_fake_clock_settle(&hand);
    ck_assert_uint_eq(a.turns, 100000);
    lull_fake_clock_advance(&hand, 10); /* and time can still be moved */
    ck_assert_int_eq(hand.mono_at.ns, 10);
}
END_TEST

START_TEST(time_moved_inside_a_turn_runs_no_other_turn)
{
    struct thing a = make(1), b = make(2);
    due(&a, 10);
    a.takes_ns = 50;
    due(&b, 20);
    drive(&a);
    drive(&b);
    lull_fake_clock_advance(&hand, 30);
    ck_assert_uint_eq(ran_count, 2);
    expect(0, 1, 10);
    expect(1, 2, 60); /* late: the turn of the other took 50 */
    ck_assert_int_eq(hand.mono_at.ns, 60);
}
END_TEST

START_TEST(hands_saturate_short_of_never)
{
    struct thing a = make(1);
    a.due_count = 0;
    lull_fake_clock_init(&hand, INT64_MAX - 10, INT64_MAX - 10);
    drive(&a);
    lull_fake_clock_advance(&hand, 1000);
    ck_assert_int_eq(hand.mono_at.ns, LULL_NEVER - 1);
    ck_assert_int_eq(hand.wall_ns, INT64_MAX - 1);
    lull_fake_clock_jump(&hand, INT64_MAX);
    ck_assert_int_eq(hand.mono_at.ns, LULL_NEVER - 1);
    ck_assert_uint_eq(ran_count, 0); /* never is never */
    lull_fake_clock_init(&hand, INT64_MAX, 0);
    ck_assert_int_eq(lull_clock_now(&hand.base).ns, LULL_NEVER - 1);
}
END_TEST

START_TEST(a_negative_origin_steps_through_zero)
{
    struct thing a = make(1);
    lull_fake_clock_init(&hand, -50, 0);
    due(&a, -10);
    due(&a, 0);
    due(&a, 10);
    drive(&a);
    lull_fake_clock_advance(&hand, 100);
    ck_assert_uint_eq(ran_count, 3);
    expect(0, 1, -10);
    expect(1, 1, 0);
    expect(2, 1, 10);
    ck_assert_int_eq(hand.mono_at.ns, 50);
}
END_TEST

/* C15: only what looks at the wall hand sees an administrator's change. */
START_TEST(setting_the_wall_hand_leaves_the_monotonic_hand)
{
    struct thing a = make(1);
    due(&a, 10);
    drive(&a);
    lull_fake_clock_set_wall(&hand, -86400);
    ck_assert_int_eq(lull_clock_wall_ns(&hand.base), -86400);
    ck_assert_int_eq(lull_clock_now(&hand.base).ns, 0);
    lull_fake_clock_advance(&hand, 9);
    ck_assert_uint_eq(ran_count, 0);
    lull_fake_clock_advance(&hand, 1);
    expect(0, 1, 10);
}
END_TEST

START_TEST(reads_of_the_monotonic_hand_are_counted)
{
    (void)lull_clock_now(&hand.base);
    (void)lull_clock_now(&hand.base);
    (void)lull_clock_wall_ns(&hand.base);
    ck_assert_uint_eq(hand.reads, 2);
}
END_TEST

START_TEST(so_many_and_no_more_can_be_driven)
{
    struct thing many[LULL_FAKE_CLOCK_DRIVEN + 1];
    for (int i = 0; i <= LULL_FAKE_CLOCK_DRIVEN; i++) {
        many[i] = make(i);
    }
    for (int i = 0; i < LULL_FAKE_CLOCK_DRIVEN; i++) {
        drive(&many[i]);
    }
    ck_assert_int_eq(
        lull_fake_clock_drive(&hand, thing_next_at, thing_turn, &many[LULL_FAKE_CLOCK_DRIVEN]),
        LULL_RC_LIMIT);
    lull_fake_clock_drop(&hand, &many[3]);
    lull_fake_clock_drop(&hand, &many[3]);
    drive(&many[LULL_FAKE_CLOCK_DRIVEN]);
    due(&many[3], 1);
    due(&many[LULL_FAKE_CLOCK_DRIVEN], 1);
    lull_fake_clock_advance(&hand, 1);
    ck_assert_uint_eq(ran_count, 1);
    expect(0, LULL_FAKE_CLOCK_DRIVEN, 1);
}
END_TEST

START_TEST(a_turn_may_drop_what_is_driven)
{
    struct thing a = make(1), b = make(2);
    due(&a, 5);
    due(&a, 6);
    a.drops_itself = true;
    due(&b, 5);
    drive(&a);
    drive(&b);
    lull_fake_clock_advance(&hand, 10);
    ck_assert_uint_eq(ran_count, 2);
    expect(0, 1, 5);
    expect(1, 2, 5);
    ck_assert_uint_eq(hand.driven_count, 1);
}
END_TEST

static Suite *clock_fake_suite(void)
{
    Suite *suite = suite_create("time/clock_fake");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, advance_stops_at_each_due_instant_in_order);
    tcase_add_test(cases, advance_runs_what_is_due_exactly_at_its_end);
    tcase_add_test(cases, work_made_on_the_way_runs_on_the_way);
    tcase_add_test(cases, advance_by_zero_runs_what_is_due_now);
    tcase_add_test(cases, a_negative_advance_does_nothing);
    tcase_add_test(cases, a_jump_makes_everything_late);
    tcase_add_test(cases, settle_runs_until_nothing_is_due_and_moves_no_hand);
    tcase_add_test(cases, settle_ends_although_something_is_always_due);
    tcase_add_test(cases, time_moved_inside_a_turn_runs_no_other_turn);
    tcase_add_test(cases, hands_saturate_short_of_never);
    tcase_add_test(cases, a_negative_origin_steps_through_zero);
    tcase_add_test(cases, setting_the_wall_hand_leaves_the_monotonic_hand);
    tcase_add_test(cases, reads_of_the_monotonic_hand_are_counted);
    tcase_add_test(cases, so_many_and_no_more_can_be_driven);
    tcase_add_test(cases, a_turn_may_drop_what_is_driven);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("clock_fake", clock_fake_suite)
