/* SPDX-License-Identifier: MIT */
/*
 * src/policy/keepalive.c: the cases that were reported in public, stalls, clamps, and random walks
 * against an oracle that judges every instant from the whole history of the connection.
 */
#include "tests/unit/policy/keepalive_rows.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

/* pain-case C06 */
START_TEST(time_counts_from_the_last_byte_and_not_from_a_stale_timer)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},
        {0, OPENED, NONE, 20000},
        {12000, READ, NONE, 32000},
        {13000, READ, NONE, 33000},
        {13000, LAST_CLOSED, NONE, NEVER},
        {14000, OPENED, NONE, 33000},
        {20000, TIMER, NONE, 33000},
        {33000, TIMER, PING, 43000},
        {33010, READ, NONE, 53010},
        {33010, ACKED, NONE, 53010},
        {53010, TIMER, PING, 63010},
    };
    struct lull_keepalive k;
    make(&k, MS(20000), MS(10000), false);
    run_scaled(&k, LULL_MS, rows, COUNT(rows));
}
END_TEST

/* pain-case C07 */
START_TEST(call_after_a_quiet_spell_finds_the_dead_peer)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},        {0, OPENED, NONE, 30000},
        {1000, READ, NONE, 31000},   {1000, LAST_CLOSED, NONE, NEVER},
        {31000, TIMER, NONE, NEVER}, {40000, OPENED, PING, 60000},
        {60000, TIMER, DEAD, NEVER},
    };
    struct lull_keepalive k;
    make(&k, MS(30000), MS(20000), false);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    lull_keepalive_on_read(&k, lull_at(MS(1000)));
    ck_assert_int_eq(lull_keepalive_quiet_ns(&k, lull_at(MS(60000))), MS(59000));
    lull_keepalive_on_transport_closed(&k);
    ck_assert_int_eq(lull_keepalive_quiet_ns(&k, lull_at(MS(60000))), MS(59000));
    make(&k, MS(30000), MS(20000), false);
    run_scaled(&k, LULL_MS, rows, COUNT(rows));
}
END_TEST

/* pain-case C08 */
START_TEST(any_byte_answers_the_ping)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},        {0, OPENED, NONE, 10000},    {10000, TIMER, PING, 15000},
        {12000, READ, NONE, 22000},  {15000, TIMER, NONE, 22000}, {22000, TIMER, PING, 27000},
        {27000, TIMER, DEAD, NEVER},
    };
    struct lull_keepalive k;
    make(&k, MS(10000), MS(5000), false);
    run_scaled(&k, LULL_MS, rows, COUNT(rows));
}
END_TEST

/* BEHAVIOUR 2.5: a stopped process wakes with everything overdue */
START_TEST(stall_orders_the_ping_and_judges_it_later)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},        {0, OPENED, NONE, 1000},     {90000, TIMER, PING, 92000},
        {90000, TIMER, NONE, 92000}, {91999, TIMER, NONE, 92000}, {92000, TIMER, DEAD, NEVER},
    };
    RUN(false, rows);
}
END_TEST

START_TEST(timeout_counts_from_the_write_when_the_turn_was_long)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},        {0, OPENED, NONE, 1000},   {1000, TIMER, PING, 3000},
        {5000, WRITTEN, NONE, 7000}, {5001, TIMER, NONE, 7000}, {6000, WRITTEN, NONE, 7000},
        {7000, TIMER, DEAD, NEVER},
    };
    RUN(false, rows);
}
END_TEST

START_TEST(write_report_without_a_ping_or_after_its_answer_changes_nothing)
{
    const struct row rows[] = {
        {0, UP, NONE, 1000},         {10, WRITTEN, NONE, 1000},   {1000, TIMER, PING, 3000},
        {1100, READ, NONE, 2100},    {1200, WRITTEN, NONE, 2100}, {2100, TIMER, PING, 4100},
        {2200, WRITTEN, NONE, 4200},
    };
    RUN(true, rows);
}
END_TEST

/* pain-case C11 */
START_TEST(switched_off_it_never_pings)
{
    const int64_t off[] = {0, -1, INT64_MIN, LULL_NEVER};
    const struct row rows[] = {
        {0, UP, NONE, NEVER},           {0, OPENED, NONE, NEVER},
        {3600000, TIMER, NONE, NEVER},  {3600000, READ, NONE, NEVER},
        {9999999, OPENED, NONE, NEVER}, {9999999, LAST_CLOSED, NONE, NEVER},
    };
    for (size_t i = 0; i < COUNT(off); i++) {
        struct lull_keepalive k;
        make(&k, off[i], MS(5000), true);
        ck_assert_int_eq(lull_keepalive_time_ns(&k), LULL_NEVER);
        run_scaled(&k, LULL_MS, rows, COUNT(rows));
        ck_assert_int_eq(lull_keepalive_phase_of(&k), LULL_KEEPALIVE_RESTING);
        ck_assert_int_eq(lull_keepalive_write_timeout_ns(&k), 20 * LULL_SECOND);
    }
}
END_TEST

START_TEST(times_are_clamped_and_can_be_read_back)
{
    struct lull_keepalive k;
    struct lull_keepalive_options options;
    lull_keepalive_options_init(&options);
    options.time_ns = LULL_SECOND;
    options.timeout_ns = 1;
    ck_assert_int_eq(lull_keepalive_init(&k, &options), LULL_OK);
    ck_assert_int_eq(lull_keepalive_time_ns(&k), 10 * LULL_SECOND);
    ck_assert_int_eq(lull_keepalive_timeout_ns(&k), 10 * LULL_MS);
    ck_assert_int_eq(lull_keepalive_write_timeout_ns(&k), 10 * LULL_MS);
    options.allow_short_timers = true;
    ck_assert_int_eq(lull_keepalive_init(&k, &options), LULL_OK);
    ck_assert_int_eq(lull_keepalive_time_ns(&k), LULL_SECOND);
    ck_assert_int_eq(lull_keepalive_timeout_ns(&k), 1);
    options.timeout_ns = 0; /* a ping and its verdict in one turn must not be */
    ck_assert_int_eq(lull_keepalive_init(&k, &options), LULL_OK);
    ck_assert_int_eq(lull_keepalive_timeout_ns(&k), 1);
    options.size--;
    ck_assert_int_eq(lull_keepalive_init(&k, &options), LULL_RC_INVALID);
    ck_assert_int_eq(lull_keepalive_time_ns(&k), LULL_SECOND);
    ck_assert_int_eq(lull_keepalive_init(&k, NULL), LULL_OK);
    ck_assert_int_eq(lull_keepalive_time_ns(&k), LULL_NEVER);
    ck_assert_int_eq(lull_keepalive_timeout_ns(&k), 20 * LULL_SECOND);
}
END_TEST

START_TEST(infinite_timeout_pings_and_never_judges)
{
    struct lull_keepalive k;
    make(&k, 1000, LULL_NEVER, true);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    struct lull_keepalive_step step = lull_keepalive_on_timer(&k, lull_at(1000));
    ck_assert_int_eq(step.action, PING);
    ck_assert_int_eq(step.next_at.ns, NEVER);
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(INT64_MAX - 1)).action, NONE);
    ck_assert_int_eq(lull_keepalive_on_read(&k, lull_at(5000)).next_at.ns, 6000);
}
END_TEST

/* scenario 296, read as "saturates" (RULINGS 1) */
START_TEST(near_the_end_of_time_what_fits_comes_and_the_rest_is_never)
{
    struct lull_keepalive k;
    make(&k, 20, 20, true);
    lull_keepalive_on_transport_opened(&k, lull_at(INT64_MAX - 31));
    ck_assert_int_eq(lull_keepalive_next_at(&k).ns, INT64_MAX - 11);
    struct lull_keepalive_step step = lull_keepalive_on_timer(&k, lull_at(INT64_MAX - 11));
    ck_assert_int_eq(step.action, PING);
    ck_assert_int_eq(step.next_at.ns, NEVER); /* 9 behind it */
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(INT64_MAX - 1)).action, NONE);
    ck_assert_int_eq(lull_keepalive_on_read(&k, lull_at(INT64_MAX - 1)).next_at.ns, NEVER);
}
END_TEST

START_TEST(second_connection_starts_with_nothing_under_way)
{
    struct lull_keepalive k;
    struct lull_keepalive_stats stats;
    make(&k, 1000, 2000, false);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    lull_keepalive_on_stream_opened(&k, lull_at(0));
    lull_keepalive_on_timer(&k, lull_at(1000));
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(3000)).action, DEAD);
    ck_assert_int_eq(lull_keepalive_on_transport_opened(&k, lull_at(5000)).next_at.ns, NEVER);
    ck_assert_int_eq(lull_keepalive_on_stream_opened(&k, lull_at(5001)).next_at.ns, 6000);
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(6000)).action, PING);
    lull_keepalive_on_ping_acked(&k, lull_at(6003));
    lull_keepalive_stats(&k, &stats);
    ck_assert_int_eq(stats.rtt_ns, 3);
}
END_TEST

/* The oracle knows only a history of facts and answers for one instant by reading all of it. */
struct event {
    int64_t at;
    enum fact fact; /* TIMER stands for a ping sent */
};

#define WALK 1500

static enum lull_keepalive_action oracle(const struct event *log, size_t count, int64_t now,
                                         int64_t t, int64_t k, bool without_calls)
{
    int64_t last_read = 0;
    int64_t ping = -1;
    bool written = false;
    bool streams = false;
    for (size_t i = 0; i < count; i++) {
        if (log[i].fact == READ || log[i].fact == ACKED || log[i].fact == UP) {
            last_read = log[i].at;
            ping = -1;
        } else if (log[i].fact == OPENED || log[i].fact == LAST_CLOSED) {
            streams = log[i].fact == OPENED;
        } else if (log[i].fact == TIMER) {
            ping = log[i].at;
            written = false;
        } else if (log[i].fact == WRITTEN && ping >= 0 && !written) {
            ping = log[i].at;
            written = true;
        }
    }
    if (ping >= 0) {
        return now >= ping + k ? DEAD : NONE;
    }
    return (streams || without_calls) && now >= last_read + t ? PING : NONE;
}

static enum fact draw(uint32_t *state)
{
    static const enum fact facts[] = {READ, OPENED, LAST_CLOSED, WRITTEN, ACKED};
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    uint32_t roll = *state >> 20;
    return roll % 12 < COUNT(facts) ? facts[roll % 12] : TIMER;
}

static bool walk(uint32_t seed)
{
    static struct event log[3 * WALK];
    uint32_t state = seed;
    size_t count = 0;
    const int64_t t = 20 + seed % 30;
    const int64_t timeout = 10 + seed % 40;
    const bool without_calls = seed % 2 == 0;
    struct lull_keepalive k;
    make(&k, t, timeout, without_calls);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    log[count++] = (struct event){0, UP};
    for (int64_t now = 1; now < WALK; now += 1 + state % 7) {
        enum fact fact = draw(&state);
        enum lull_keepalive_action got = NONE;
        if (fact != TIMER) {
            got = tell(&k, fact, lull_at(now)).action;
            log[count++] = (struct event){now, fact};
        }
        if (got == NONE && lull_keepalive_next_at(&k).ns <= now) {
            got = lull_keepalive_on_timer(&k, lull_at(now)).action;
        }
        enum lull_keepalive_action want = oracle(log, count, now, t, timeout, without_calls);
        MUST_MSG(got == want, "seed %u at %lld: %d, not %d", seed, (long long)now, (int)got,
                 (int)want);
        if (got == PING) {
            log[count++] = (struct event){now, TIMER};
        } else if (got == DEAD) {
            return true;
        }
    }
    return false;
}

START_TEST(random_walks_agree_with_the_whole_history)
{
    int died = 0;
    for (uint32_t seed = 1; seed <= 400; seed++) {
        died += walk(seed);
    }
    ck_assert_int_gt(died, 20); /* the walk reaches both ends */
    ck_assert_int_lt(died, 380);
}
END_TEST

static Suite *keepalive_cases_suite(void)
{
    Suite *suite = suite_create("keepalive_cases");
    TCase *tc = tcase_create("keepalive_cases");
    tcase_add_test(tc, time_counts_from_the_last_byte_and_not_from_a_stale_timer);
    tcase_add_test(tc, call_after_a_quiet_spell_finds_the_dead_peer);
    tcase_add_test(tc, any_byte_answers_the_ping);
    tcase_add_test(tc, stall_orders_the_ping_and_judges_it_later);
    tcase_add_test(tc, timeout_counts_from_the_write_when_the_turn_was_long);
    tcase_add_test(tc, write_report_without_a_ping_or_after_its_answer_changes_nothing);
    tcase_add_test(tc, switched_off_it_never_pings);
    tcase_add_test(tc, times_are_clamped_and_can_be_read_back);
    tcase_add_test(tc, infinite_timeout_pings_and_never_judges);
    tcase_add_test(tc, near_the_end_of_time_what_fits_comes_and_the_rest_is_never);
    tcase_add_test(tc, second_connection_starts_with_nothing_under_way);
    tcase_add_test(tc, random_walks_agree_with_the_whole_history);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_cases", keepalive_cases_suite)
