/* SPDX-License-Identifier: MIT */
/*
 * src/policy/conn_age.c from DRAIN to the close: tables of facts, and random walks whose promises
 * (order, once, bounds) are kept in variables of their own.
 */
#include "tests/unit/policy/conn_age_rows.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

static const struct limits only_idle = {123, NEVER, NEVER, 20};
static const struct limits only_age = {NEVER, 100, 10, 20};
static const struct limits patient_age = {NEVER, 100, 50, 20};
static const struct limits nothing = {NEVER, NEVER, NEVER, 20};

/* BEHAVIOUR 2.9: a connection without streams is drained, too (Go: closed at once). What crosses
 * the first GOAWAY on the wire is served. */
START_TEST(stream_that_crossed_the_first_goaway_is_served_to_its_end)
{
    const struct row rows[] = {
        {0, UP, NONE, 123},         {123, TIMER, DRAIN, 143},   {124, OPENED, NONE, 143},
        {125, ACKED, LAST, NEVER},  {9999, TIMER, NONE, NEVER}, {9999, ENDED, CLOSE, NEVER},
        {9999, TIMER, NONE, NEVER},
    };
    RUN(only_idle, CONN_AGE_MAX_IDLE, rows);
}
END_TEST

/* scenario 221: with a grace that never ends no call is cut, those of the window included */
START_TEST(age_without_grace_limit_fails_no_call)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},          {60, OPENED, NONE, 100},   {100, TIMER, DRAIN, 120},
        {105, OPENED, NONE, 120},    {110, ACKED, LAST, NEVER}, {1060, ENDED, NONE, NEVER},
        {1105, ENDED, CLOSE, NEVER},
    };
    RUN(((struct limits){NEVER, 100, NEVER, 20}), CONN_AGE_MAX_AGE, rows);
}
END_TEST

START_TEST(peer_that_does_not_ack_gets_the_second_goaway_after_the_limit)
{
    const struct row busy[] = {
        {0, UP, NONE, 100},         {0, OPENED, NONE, 100},  {100, TIMER, DRAIN, 120},
        {119, TIMER, NONE, 120},    {120, TIMER, LAST, 150}, {121, ACKED, NONE, 150}, /* late */
        {125, ENDED, CLOSE, NEVER},
    };
    const struct row quiet[] = {
        {0, UP, NONE, 100},
        {100, TIMER, DRAIN, 120},
        {120, TIMER, FINISH, NEVER},
        {120, ACKED, NONE, NEVER},
    };
    RUN(patient_age, CONN_AGE_MAX_AGE, busy);
    RUN(patient_age, CONN_AGE_MAX_AGE, quiet);
}
END_TEST

/* A9: the grace is what comes on top of the age, whatever the peer answers. */
START_TEST(peer_that_does_not_ack_gets_no_more_than_the_grace)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},        {0, OPENED, NONE, 100},      {100, TIMER, DRAIN, 110},
        {109, TIMER, NONE, 110},   {110, TIMER, FINISH, NEVER}, {110, ACKED, NONE, NEVER},
        {110, ENDED, NONE, NEVER},
    };
    const struct row shut_down[] = {
        {0, UP, NONE, NEVER},  {1, OPENED, NONE, NEVER},   {7, SHUTDOWN, DRAIN, 57},
        {56, TIMER, NONE, 57}, {57, TIMER, FINISH, NEVER},
    };
    RUN(only_age, CONN_AGE_MAX_AGE, rows);
    RUN(((struct limits){NEVER, NEVER, NEVER, 70}), CONN_AGE_SHUTDOWN, shut_down);
}
END_TEST

START_TEST(ack_in_the_turn_of_the_limit_in_both_orders)
{
    const struct row ack_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},  {100, TIMER, DRAIN, 120},
        {120, ACKED, LAST, 150}, {120, TIMER, NONE, 150},
    };
    const struct row timer_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},  {100, TIMER, DRAIN, 120},
        {120, TIMER, LAST, 150}, {120, ACKED, NONE, 150},
    };
    RUN(patient_age, CONN_AGE_MAX_AGE, ack_first);
    RUN(patient_age, CONN_AGE_MAX_AGE, timer_first);
}
END_TEST

START_TEST(last_end_in_the_turn_of_the_graces_end_in_both_orders)
{
    const struct row end_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},     {100, TIMER, DRAIN, 110},
        {100, ACKED, LAST, 110}, {110, ENDED, CLOSE, NEVER}, {110, TIMER, NONE, NEVER},
    };
    const struct row timer_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},     {100, TIMER, DRAIN, 110},
        {100, ACKED, LAST, 110}, {110, TIMER, CLOSE, NEVER}, {110, ENDED, NONE, NEVER},
    };
    RUN(only_age, CONN_AGE_MAX_AGE, end_first);
    RUN(only_age, CONN_AGE_MAX_AGE, timer_first);
}
END_TEST

START_TEST(ack_and_last_end_of_one_turn_in_both_orders)
{
    const struct row end_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},      {100, TIMER, DRAIN, 110},
        {105, ENDED, NONE, 110}, {105, ACKED, FINISH, NEVER},
    };
    const struct row ack_first[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},     {100, TIMER, DRAIN, 110},
        {105, ACKED, LAST, 110}, {105, ENDED, CLOSE, NEVER},
    };
    RUN(only_age, CONN_AGE_MAX_AGE, end_first);
    RUN(only_age, CONN_AGE_MAX_AGE, ack_first);
}
END_TEST

START_TEST(no_grace_closes_right_behind_the_first_goaway)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},
        {0, OPENED, NONE, 100},
        {100, TIMER, DRAIN, 100},
        {100, TIMER, FINISH, NEVER},
    };
    const struct row shut_down[] = {
        {0, UP, NONE, NEVER},      {1, OPENED, NONE, NEVER}, {7, HALT, DRAIN, 7},
        {7, TIMER, FINISH, NEVER}, {8, ACKED, NONE, NEVER},
    };
    RUN(((struct limits){NEVER, 100, 0, 20}), CONN_AGE_MAX_AGE, rows);
    RUN(nothing, CONN_AGE_SHUTDOWN, shut_down);
}
END_TEST

/* A stall of the whole process: the peer is told before its time runs. */
START_TEST(late_timers_take_one_step_each_and_count_from_it)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},          {0, OPENED, NONE, 100},    {5000, TIMER, DRAIN, 5020},
        {5000, TIMER, NONE, 5020},   {5030, TIMER, LAST, 5050}, {5030, TIMER, NONE, 5050},
        {9000, TIMER, CLOSE, NEVER},
    };
    RUN(patient_age, CONN_AGE_MAX_AGE, rows);
}
END_TEST

/* Streams that slipped into a drain for idleness live as long as max_age would have let them. */
START_TEST(age_bounds_a_drain_for_idleness)
{
    const struct row rows[] = {
        {0, UP, NONE, 30},      {30, TIMER, DRAIN, 50},  {31, OPENED, NONE, 50},
        {32, ACKED, LAST, 110}, {109, TIMER, NONE, 110}, {110, TIMER, CLOSE, NEVER},
    };
    RUN(((struct limits){30, 100, 10, 20}), CONN_AGE_MAX_IDLE, rows);
}
END_TEST

START_TEST(shutdown_drains_and_gives_its_own_grace)
{
    const struct row busy[] = {
        {0, UP, NONE, NEVER},    {1, OPENED, NONE, NEVER}, {7, SHUTDOWN, DRAIN, 27},
        {8, SHUTDOWN, NONE, 27}, {9, ACKED, LAST, 57},     {57, TIMER, CLOSE, NEVER},
    };
    const struct row quiet[] = {
        {0, UP, NONE, NEVER}, {7, SHUTDOWN, DRAIN, 27}, {9, ACKED, FINISH, NEVER}};
    const struct row halted[] = {
        {0, UP, NONE, NEVER},     {1, OPENED, NONE, NEVER},   {7, SHUTDOWN, DRAIN, 27},
        {8, HALT, FINISH, NEVER}, {8, SHUTDOWN, NONE, NEVER}, {9, ACKED, NONE, NEVER},
    };
    RUN(nothing, CONN_AGE_SHUTDOWN, busy);
    RUN(nothing, CONN_AGE_SHUTDOWN, quiet);
    RUN(nothing, CONN_AGE_SHUTDOWN, halted);
}
END_TEST

START_TEST(shutdown_after_the_second_goaway_counts_from_itself)
{
    const struct row later[] = {
        {0, UP, NONE, 30},          {30, TIMER, DRAIN, 50},     {31, OPENED, NONE, 50},
        {32, ACKED, LAST, NEVER},   {900, SHUTDOWN, NONE, 950}, {930, SHUTDOWN, NONE, 950},
        {950, TIMER, CLOSE, NEVER},
    };
    const struct row at_once[] = {
        {0, UP, NONE, 30},        {30, TIMER, DRAIN, 50},    {31, OPENED, NONE, 50},
        {32, ACKED, LAST, NEVER}, {900, HALT, CLOSE, NEVER}, {900, HALT, NONE, NEVER},
    };
    RUN(((struct limits){30, NEVER, NEVER, 20}), CONN_AGE_MAX_IDLE, later);
    RUN(((struct limits){30, NEVER, NEVER, 20}), CONN_AGE_MAX_IDLE, at_once);
}
END_TEST

START_TEST(shutdown_does_not_lengthen_the_grace_of_age)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},      {0, OPENED, NONE, 100},     {99, SHUTDOWN, DRAIN, 110},
        {101, ACKED, LAST, 110}, {102, SHUTDOWN, NONE, 110},
    };
    RUN(only_age, CONN_AGE_SHUTDOWN, rows);
}
END_TEST

START_TEST(shutdown_in_the_turn_of_the_age_in_both_orders)
{
    const struct row age_first[] = {
        {0, UP, NONE, 100}, {100, TIMER, DRAIN, 110}, {100, SHUTDOWN, NONE, 110}};
    const struct row shutdown_first[] = {
        {0, UP, NONE, 100}, {100, SHUTDOWN, DRAIN, 110}, {100, TIMER, NONE, 110}};
    RUN(only_age, CONN_AGE_MAX_AGE, age_first);
    RUN(only_age, CONN_AGE_SHUTDOWN, shutdown_first);
}
END_TEST

START_TEST(nothing_follows_the_end_of_the_connection)
{
    const struct row rows[] = {
        {0, TIMER, NONE, NEVER},   {0, SHUTDOWN, NONE, NEVER}, /* before the opening */
        {0, UP, NONE, 30},         {10, DOWN, NONE, NEVER},    {30, TIMER, NONE, NEVER},
        {31, OPENED, NONE, NEVER}, {32, ENDED, NONE, NEVER},   {33, ENDED, NONE, NEVER},
        {34, ACKED, NONE, NEVER},  {35, HALT, NONE, NEVER},    {36, TIMER, NONE, NEVER},
    };
    RUN(((struct limits){30, 40, 10, 20}), CONN_AGE_NOT_DRAINING, rows);
}
END_TEST

START_TEST(stray_facts_change_nothing)
{
    const struct row rows[] = {
        {0, UP, NONE, 123},    {5, ENDED, NONE, 123}, /* without an opening */
        {6, ACKED, NONE, 123}, {7, OPENED, NONE, NEVER}, {8, ENDED, NONE, 131},
        {9, ENDED, NONE, 131}, {131, TIMER, DRAIN, 151},
    };
    RUN(only_idle, CONN_AGE_MAX_IDLE, rows);
}
END_TEST

START_TEST(limit_of_zero_and_of_never)
{
    const struct row at_once[] = {
        {0, UP, NONE, 100},
        {0, OPENED, NONE, 100},
        {100, TIMER, DRAIN, 100},
        {100, TIMER, LAST, 110},
    };
    const struct row patient[] = {
        {0, UP, NONE, 100},          {0, OPENED, NONE, 100},      {100, TIMER, DRAIN, NEVER},
        {99999, TIMER, NONE, NEVER}, {99999, ACKED, LAST, NEVER},
    };
    RUN(((struct limits){NEVER, 100, 10, 0}), CONN_AGE_MAX_AGE, at_once);
    RUN(((struct limits){NEVER, 100, NEVER, NEVER}), CONN_AGE_MAX_AGE, patient);
}
END_TEST

/* Random walks in ms. The promises are kept in variables of their own. */
static uint32_t dice(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 16;
}

struct watch {
    int64_t drained_ms; /* DRAIN; -1: not yet */
    int64_t last_ms;    /* the second GOAWAY */
    int64_t closed_ms;
    int64_t quiet_from_ms; /* -1: streams */
    uint64_t streams;
    int64_t grace_ms; /* the shortest of those that hold */
};

static void observe(struct watch *w, enum conn_age_action action, int64_t ms, uint32_t seed)
{
    if (action == NONE) {
        return;
    }
    MUST_MSG(w->closed_ms < 0, "seed %u, %lld ms: an order after the close", seed, (long long)ms);
    if (action == DRAIN) {
        MUST_MSG(w->drained_ms < 0, "seed %u, %lld ms: two drains", seed, (long long)ms);
        w->drained_ms = ms;
    }
    if (action == LAST || action == FINISH) {
        MUST_MSG(w->drained_ms >= 0 && w->last_ms < 0, "seed %u, %lld ms: goaway", seed,
                 (long long)ms);
        MUST_MSG(ms <= w->drained_ms + 20, "seed %u, %lld ms: limit", seed, (long long)ms);
        MUST_MSG(action == FINISH || w->streams > 0, "seed %u, %lld ms: stays", seed,
                 (long long)ms);
        w->last_ms = ms;
    }
    if (action == FINISH || action == CLOSE) {
        MUST_MSG(w->last_ms >= 0, "seed %u, %lld ms: closed without goaway", seed, (long long)ms);
        MUST_MSG(w->streams == 0 || w->grace_ms != NEVER, "seed %u, %lld ms: cut", seed,
                 (long long)ms);
        w->closed_ms = ms;
    }
}

static void walk(uint32_t seed)
{
    uint32_t state = seed;
    bool has_grace = dice(&state) % 2 == 0;
    const struct limits limits = {40, 400, has_grace ? 60 : NEVER, 20};
    struct conn_age_options options = options_of(limits, LULL_MS);
    struct conn_age age;
    struct watch w = {-1, -1, -1, 0, 0, limits.grace};
    conn_age_init(&age, &options);
    conn_age_on_opened(&age, NO_JITTER, lull_at(0));
    for (int64_t ms = 0; ms < 1000 && w.closed_ms < 0; ms++) {
        struct lull_instant now = lull_at(MS(ms));
        uint32_t roll = dice(&state) % 200;
        if (roll < 12 && w.last_ms < 0) {
            w.streams++;
            w.quiet_from_ms = -1;
            observe(&w, conn_age_on_stream_opened(&age).action, ms, seed);
        } else if (roll < 24 && w.streams > 0) {
            w.streams--;
            w.quiet_from_ms = w.streams == 0 ? ms : -1;
            observe(&w, conn_age_on_stream_closed(&age, now).action, ms, seed);
            MUST_MSG(w.last_ms < 0 || w.streams > 0 || w.closed_ms == ms, "seed %u: lingers", seed);
        } else if (roll < 34) {
            observe(&w, conn_age_on_drain_acked(&age, now).action, ms, seed);
            MUST_MSG(w.drained_ms < 0 || w.last_ms >= 0, "seed %u: ack unheard", seed);
        } else if (roll == 34 && seed % 4 == 0) {
            w.grace_ms = w.grace_ms < 30 ? w.grace_ms : 30;
            observe(&w, conn_age_on_shutdown(&age, MS(30), now).action, ms, seed);
            MUST_MSG(w.drained_ms >= 0, "seed %u: shutdown unheard", seed);
        }
        if (conn_age_next_at(&age).ns <= now.ns || dice(&state) % 10 == 0) {
            bool is_due = w.quiet_from_ms >= 0 && ms >= w.quiet_from_ms + limits.idle;
            bool is_open = w.drained_ms < 0;
            observe(&w, conn_age_on_timer(&age, now).action, ms, seed);
            MUST_MSG(!is_open || (w.drained_ms >= 0) == (is_due || ms >= limits.age),
                     "seed %u, %lld ms: drain", seed, (long long)ms);
        }
    }
    MUST_MSG(w.drained_ms >= 0 && w.last_ms >= 0, "seed %u: never drained", seed);
    MUST_MSG(!has_grace || (w.closed_ms >= 0 && w.closed_ms <= 400 + 60), "seed %u: lives", seed);
}

START_TEST(random_walks_keep_order_and_bounds)
{
    for (uint32_t seed = 1; seed <= 1000; seed++) {
        walk(seed);
    }
}
END_TEST

static Suite *conn_age_drain_suite(void)
{
    Suite *suite = suite_create("conn_age_drain");
    TCase *tc = tcase_create("conn_age_drain");
    tcase_add_test(tc, stream_that_crossed_the_first_goaway_is_served_to_its_end);
    tcase_add_test(tc, age_without_grace_limit_fails_no_call);
    tcase_add_test(tc, peer_that_does_not_ack_gets_the_second_goaway_after_the_limit);
    tcase_add_test(tc, peer_that_does_not_ack_gets_no_more_than_the_grace);
    tcase_add_test(tc, ack_in_the_turn_of_the_limit_in_both_orders);
    tcase_add_test(tc, last_end_in_the_turn_of_the_graces_end_in_both_orders);
    tcase_add_test(tc, ack_and_last_end_of_one_turn_in_both_orders);
    tcase_add_test(tc, no_grace_closes_right_behind_the_first_goaway);
    tcase_add_test(tc, late_timers_take_one_step_each_and_count_from_it);
    tcase_add_test(tc, age_bounds_a_drain_for_idleness);
    tcase_add_test(tc, shutdown_drains_and_gives_its_own_grace);
    tcase_add_test(tc, shutdown_after_the_second_goaway_counts_from_itself);
    tcase_add_test(tc, shutdown_does_not_lengthen_the_grace_of_age);
    tcase_add_test(tc, shutdown_in_the_turn_of_the_age_in_both_orders);
    tcase_add_test(tc, nothing_follows_the_end_of_the_connection);
    tcase_add_test(tc, stray_facts_change_nothing);
    tcase_add_test(tc, limit_of_zero_and_of_never);
    tcase_add_test(tc, random_walks_keep_order_and_bounds);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("conn_age_drain", conn_age_drain_suite)
