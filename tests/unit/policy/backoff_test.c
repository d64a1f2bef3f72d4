/* SPDX-License-Identifier: MIT */
/* src/policy/backoff.c: the published schedules as tables, and random walks against a recomputation
 * from the whole history. */
#include "policy/backoff.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MS(x)       ((x)*LULL_MS)
#define NO_JITTER   0.5

static struct backoff plain(void)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.jitter = 0;
    backoff_init(&b, &options);
    return b;
}

static void assert_near_ms(struct lull_instant at, int64_t ms)
{
    int64_t off = at.ns - MS(ms);
    ck_assert_msg(off >= -MS(1) && off <= MS(1), "%lld ns is not %lld ms", (long long)at.ns,
                  (long long)ms);
}

/* pain-case C19 */
START_TEST(schedule_without_jitter_is_the_published_one)
{
    const int64_t starts_ms[] = {0,     1000,  2600,   5160,   9256,   15810, 26295,
                                 43073, 69916, 112866, 181585, 291536, 411536};
    for (int pass = 0; pass < 2; pass++) { /* jitter 0, and jitter 0.2 with the middle draw */
        struct backoff_options options;
        struct backoff b;
        backoff_options_init(&options);
        options.jitter = pass == 0 ? 0 : 0.2;
        backoff_init(&b, &options);
        struct lull_instant at = backoff_next_at(&b, lull_at(0));
        ck_assert_int_eq(at.ns, 0);
        for (size_t i = 0; i + 1 < COUNT(starts_ms); i++) {
            backoff_on_attempt_started(&b, at, NO_JITTER);
            at = backoff_on_failed(&b, lull_instant_add(at, MS(1)));
            assert_near_ms(at, starts_ms[i + 1]);
        }
    }
}
END_TEST

/* pain-case C19: attempt 6 gets SETTINGS and closes 10 ms later */
START_TEST(settings_bring_the_wait_back_to_its_first_value)
{
    struct backoff b = plain();
    struct lull_instant at = lull_at(0);
    for (int attempt = 1; attempt <= 5; attempt++) {
        backoff_on_attempt_started(&b, at, NO_JITTER);
        at = backoff_on_failed(&b, at);
    }
    assert_near_ms(at, 15810);
    backoff_on_attempt_started(&b, at, NO_JITTER);
    backoff_on_settings(&b);
    struct lull_instant seventh = backoff_on_connection_lost(&b, lull_instant_add(at, MS(10)));
    ck_assert_int_eq(lull_instant_diff(seventh, at), MS(800)); /* no call was completed */
    backoff_on_attempt_started(&b, seventh, NO_JITTER);
    struct lull_instant eighth = backoff_on_failed(&b, lull_instant_add(seventh, MS(1)));
    ck_assert_int_eq(lull_instant_diff(eighth, seventh), MS(1000));
}
END_TEST

/* BEHAVIOUR 2.8: TCP and TLS alone reset nothing */
START_TEST(connect_without_settings_does_not_reset)
{
    struct backoff b = plain();
    backoff_on_attempt_started(&b, lull_at(0), NO_JITTER);
    backoff_on_attempt_started(&b, backoff_on_failed(&b, lull_at(MS(900))), NO_JITTER);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(MS(1001))).ns, MS(2600));
}
END_TEST

/* pain-case C19, first variant */
START_TEST(server_that_greets_and_hangs_up_is_not_dialled_in_a_spin)
{
    struct backoff b = plain();
    struct lull_instant at = lull_at(0);
    int attempts = 0;
    while (at.ns < MS(60000)) {
        attempts++;
        backoff_on_attempt_started(&b, at, NO_JITTER);
        backoff_on_settings(&b);
        at = backoff_on_connection_lost(&b, lull_instant_add(at, MS(1)));
    }
    ck_assert_int_eq(attempts, 75);
}
END_TEST

START_TEST(connection_that_completed_a_call_is_replaced_at_once)
{
    struct backoff b = plain();
    backoff_on_attempt_started(&b, lull_at(0), NO_JITTER);
    backoff_on_settings(&b);
    backoff_on_call_completed(&b);
    ck_assert_int_eq(backoff_on_connection_lost(&b, lull_at(MS(5))).ns, MS(5));
    backoff_on_attempt_started(&b, lull_at(MS(5)), NO_JITTER); /* the merit is used up */
    backoff_on_settings(&b);
    ck_assert_int_eq(backoff_on_connection_lost(&b, lull_at(MS(6))).ns, MS(805));
}
END_TEST

/* pain-case C19, second variant */
START_TEST(first_waits_of_a_thousand_channels_spread_evenly)
{
    int buckets[10] = {0};
    uint32_t state = 1;
    struct backoff_options options;
    backoff_options_init(&options);
    for (int i = 0; i < 1000; i++) {
        struct backoff b;
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        backoff_init(&b, &options);
        backoff_on_attempt_started(&b, lull_at(0), (double)state / 4294967296.0);
        int64_t ns = backoff_on_failed(&b, lull_at(1)).ns;
        ck_assert(ns >= MS(800) && ns < MS(1200));
        buckets[(ns - MS(800)) / MS(40)]++;
    }
    for (size_t i = 0; i < COUNT(buckets); i++) {
        ck_assert_int_le(buckets[i], 150);
        ck_assert_int_ge(buckets[i], 50);
    }
}
END_TEST

START_TEST(jitter_comes_after_the_cap)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.initial_ns = 120 * LULL_SECOND;
    backoff_init(&b, &options);
    backoff_on_attempt_started(&b, lull_at(0), 0.0);
    ck_assert_int_eq(backoff_next_at(&b, lull_at(1)).ns, 96 * LULL_SECOND);
    struct lull_instant limit_at = backoff_on_attempt_started(&b, lull_at(0), 0.9999999999);
    ck_assert_int_gt(backoff_next_at(&b, lull_at(1)).ns, INT64_C(143999) * LULL_MS);
    ck_assert_int_le(limit_at.ns, 144 * LULL_SECOND);
}
END_TEST

/* scenario 161 */
START_TEST(wait_runs_from_the_start_of_the_attempt)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.initial_ns = 10;
    options.jitter = 0;
    options.spacing_ns = 0;
    backoff_init(&b, &options);
    backoff_on_attempt_started(&b, lull_at(100), NO_JITTER);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(107)).ns, 110);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(115)).ns, 115);
}
END_TEST

/* scenario 162 */
START_TEST(other_curves_follow_their_options)
{
    const struct {
        int64_t initial, max;
        double multiplier;
        int64_t waits[6];
    } rows[] = {
        {200, 200, 1.0, {200, 200, 200, 200, 200, 200}},
        {2000, 1000, 1.6, {1000, 1000, 1000, 1000, 1000, 1000}},
        {2000, 32000, 2.0, {2000, 4000, 8000, 16000, 32000, 32000}},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct backoff_options options;
        struct backoff b;
        backoff_options_init(&options);
        options.initial_ns = MS(rows[r].initial);
        options.max_ns = MS(rows[r].max);
        options.multiplier = rows[r].multiplier;
        options.jitter = 0;
        options.spacing_ns = 0;
        backoff_init(&b, &options);
        struct lull_instant at = lull_at(-MS(50000));
        for (size_t i = 0; i < 6; i++) {
            backoff_on_attempt_started(&b, at, NO_JITTER);
            struct lull_instant next = backoff_on_failed(&b, at);
            ck_assert_int_eq(lull_instant_diff(next, at), MS(rows[r].waits[i]));
            at = next;
        }
    }
}
END_TEST

/* scenario 172 */
START_TEST(server_that_refuses_for_540_seconds_sees_about_13_attempts)
{
    for (int draw = 0; draw <= 2; draw++) {
        struct backoff_options options;
        struct backoff b;
        int attempts = 0;
        backoff_options_init(&options);
        backoff_init(&b, &options);
        for (struct lull_instant at = lull_at(0); at.ns < 540 * LULL_SECOND; attempts++) {
            backoff_on_attempt_started(&b, at, draw == 0 ? 0.0 : draw == 1 ? 0.5 : 0.999);
            at = backoff_on_failed(&b, at);
        }
        ck_assert_int_ge(attempts, 13);
        ck_assert_int_le(attempts, 15);
    }
}
END_TEST

START_TEST(attempt_may_take_20_s_or_its_wait)
{
    struct backoff b = plain();
    struct lull_instant at = lull_at(7);
    int64_t wait_ns = LULL_SECOND;
    for (int i = 0; i < 14; i++) {
        struct lull_instant limit_at = backoff_on_attempt_started(&b, at, NO_JITTER);
        struct lull_instant next = backoff_on_failed(&b, at);
        int64_t want = lull_instant_diff(next, at) > 20 * LULL_SECOND ? lull_instant_diff(next, at)
                                                                      : 20 * LULL_SECOND;
        ck_assert_int_eq(lull_instant_diff(limit_at, at), want);
        ck_assert_int_ge(lull_instant_diff(next, at), wait_ns);
        wait_ns = lull_instant_diff(next, at);
        at = next;
    }
    ck_assert_int_eq(wait_ns, 120 * LULL_SECOND);
}
END_TEST

START_TEST(attempt_that_hit_its_limit_is_followed_at_once)
{
    struct backoff b = plain();
    struct lull_instant limit_at = backoff_on_attempt_started(&b, lull_at(0), NO_JITTER);
    ck_assert_int_eq(limit_at.ns, 20 * LULL_SECOND);
    ck_assert_int_eq(backoff_on_failed(&b, limit_at).ns, limit_at.ns);
}
END_TEST

START_TEST(reset_forgets_the_wait_and_keeps_the_spacing)
{
    struct backoff b = plain();
    ck_assert_int_eq(backoff_reset(&b, lull_at(3)).ns, 3); /* never dialled */
    backoff_on_attempt_started(&b, lull_at(0), NO_JITTER);
    backoff_on_attempt_started(&b, lull_at(MS(1000)), NO_JITTER);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(MS(1001))).ns, MS(2600));
    ck_assert_int_eq(backoff_reset(&b, lull_at(MS(1100))).ns, MS(1800));
    ck_assert_int_eq(backoff_reset(&b, lull_at(MS(2000))).ns, MS(2000));
    backoff_on_attempt_started(&b, lull_at(MS(2000)), NO_JITTER);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(MS(2001))).ns, MS(3000));
}
END_TEST

START_TEST(reset_during_an_attempt_is_about_the_next_one)
{
    struct backoff b = plain();
    backoff_on_attempt_started(&b, lull_at(0), NO_JITTER);
    backoff_on_attempt_started(&b, lull_at(MS(1000)), NO_JITTER);
    backoff_reset(&b, lull_at(MS(1500)));
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(MS(1900))).ns, MS(1900));
    backoff_on_attempt_started(&b, lull_at(MS(1900)), NO_JITTER);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(MS(1901))).ns, MS(2900));
}
END_TEST

/* Where no attempt has been there is nothing to keep away from, wherever the clock starts. */
START_TEST(first_attempt_may_start_at_once_at_the_beginning_of_time)
{
    struct backoff b;
    struct backoff_options options;
    backoff_options_init(&options);
    backoff_init(&b, &options);
    ck_assert_int_eq(backoff_next_at(&b, lull_at(INT64_MIN)).ns, INT64_MIN);
    ck_assert_int_eq(backoff_next_at(&b, lull_at(INT64_MIN + 1)).ns, INT64_MIN + 1);
}
END_TEST

START_TEST(waits_near_the_end_of_time_saturate)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.initial_ns = LULL_NEVER;
    options.max_ns = LULL_NEVER;
    backoff_init(&b, &options);
    for (int i = 0; i < 3; i++) {
        struct lull_instant limit_at =
            backoff_on_attempt_started(&b, lull_at(INT64_MAX - 10), 0.99);
        ck_assert_int_eq(limit_at.ns, LULL_NEVER);
        ck_assert_int_eq(backoff_next_at(&b, lull_at(INT64_MAX - 5)).ns, LULL_NEVER);
    }
}
END_TEST

/* The oracle: from the list of all facts, how many starts lie behind the last reset, and the curve
 * from its beginning. */
enum fact { START, SETTINGS, CALL, RESET };

struct event {
    enum fact fact;
    int64_t at;
    double unit;
};

#define MAX_EVENTS 400

static int64_t oracle(const struct event *log, size_t count, int64_t now)
{
    size_t start = count;
    size_t first = 0;
    bool waits = false;
    bool completed = false;
    for (size_t i = 0; i < count; i++) {
        if (log[i].fact == START) {
            start = i;
            waits = true;
            completed = false;
        } else if (log[i].fact == CALL) {
            completed = true;
        } else {
            first = i + 1;
            waits = false;
        }
    }
    int64_t at = now;
    if (start < count && waits) {
        double base = 1e9;
        for (size_t i = first; i < start; i++) {
            base = log[i].fact == START ? base * 1.6 : base;
        }
        base = base > 120e9 ? 120e9 : base;
        int64_t wait_at = log[start].at + (int64_t)(base * (0.8 + 0.4 * log[start].unit));
        at = wait_at > at ? wait_at : at;
    }
    if (start < count && !completed && log[start].at + MS(800) > at) {
        at = log[start].at + MS(800);
    }
    return at;
}

static void walk(uint32_t seed)
{
    static struct event log[MAX_EVENTS];
    struct backoff_options options;
    struct backoff b;
    uint32_t state = seed;
    int64_t now = -(int64_t)seed * LULL_SECOND;
    backoff_options_init(&options);
    backoff_init(&b, &options);
    for (size_t n = 0; n < MAX_EVENTS; n++) {
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        uint32_t roll = (state >> 8) % 20;
        double unit = (double)(state >> 16) / 65536.0;
        log[n].at = now;
        log[n].unit = unit;
        if (roll < 16) {
            log[n].fact = START;
            backoff_on_attempt_started(&b, lull_at(now), unit);
        } else if (roll == 16) {
            log[n].fact = RESET;
            backoff_reset(&b, lull_at(now));
        } else if (roll < 19) {
            log[n].fact = SETTINGS;
            backoff_on_settings(&b);
        } else {
            log[n].fact = CALL;
            backoff_on_call_completed(&b);
        }
        now += (int64_t)(state >> 12) * 1000;
        int64_t off = backoff_on_failed(&b, lull_at(now)).ns - oracle(log, n + 1, now);
        MUST_MSG(off >= -100 && off <= 100, "seed %u, fact %zu: off by %lld ns", seed, n,
                 (long long)off);
        now = state % 3 == 0 ? now : backoff_next_at(&b, lull_at(now)).ns;
    }
}

/* scenario 153: one wait a pass, counted from its start; RULINGS 10: the spacing from each address's own */
START_TEST(a_pass_over_several_addresses_has_one_wait)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.jitter = 0;
    backoff_init(&b, &options);
    ck_assert_int_eq(backoff_on_attempt_started(&b, lull_at(0), 0.5).ns, 20 * LULL_SECOND);
    ck_assert_int_eq(backoff_on_next_address(&b, lull_at(100 * LULL_MS)).ns, 20100 * LULL_MS);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(150 * LULL_MS)).ns, LULL_SECOND);
    /* The second pass: the last address late in it is not dialled again at once, though the wait is over. */
    ck_assert_int_eq(backoff_on_attempt_started(&b, lull_at(LULL_SECOND), 0.5).ns, 21 * LULL_SECOND);
    ck_assert_int_eq(backoff_on_next_address(&b, lull_at(21 * LULL_SECOND)).ns, 41 * LULL_SECOND);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(21 * LULL_SECOND)).ns, 21800 * LULL_MS);
}
END_TEST

START_TEST(other_addresses_are_not_waited_for)
{
    struct backoff_options options;
    struct backoff b;
    backoff_options_init(&options);
    options.jitter = 0;
    backoff_init(&b, &options);
    (void)backoff_on_attempt_started(&b, lull_at(0), 0.5);
    (void)backoff_on_attempt_started(&b, lull_at(LULL_SECOND), 0.5);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(LULL_SECOND)).ns, 2600 * LULL_MS);
    backoff_on_addresses_changed(&b, lull_at(INT64_MIN));
    ck_assert_int_eq(backoff_next_at(&b, lull_at(1100 * LULL_MS)).ns, 1100 * LULL_MS);
    /* One of them was dialled a moment ago. */
    backoff_on_addresses_changed(&b, lull_at(LULL_SECOND));
    ck_assert_int_eq(backoff_next_at(&b, lull_at(1100 * LULL_MS)).ns, 1800 * LULL_MS);
    (void)backoff_on_attempt_started(&b, lull_at(2 * LULL_SECOND), 0.5);
    ck_assert_int_eq(backoff_on_failed(&b, lull_at(2 * LULL_SECOND)).ns, 3 * LULL_SECOND);
}
END_TEST

START_TEST(random_walks_agree_with_the_whole_history)
{
    for (uint32_t seed = 1; seed <= 200; seed++) {
        walk(seed);
    }
}
END_TEST

static Suite *backoff_suite(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tc = tcase_create("backoff");
    tcase_add_test(tc, schedule_without_jitter_is_the_published_one);
    tcase_add_test(tc, settings_bring_the_wait_back_to_its_first_value);
    tcase_add_test(tc, connect_without_settings_does_not_reset);
    tcase_add_test(tc, server_that_greets_and_hangs_up_is_not_dialled_in_a_spin);
    tcase_add_test(tc, connection_that_completed_a_call_is_replaced_at_once);
    tcase_add_test(tc, first_waits_of_a_thousand_channels_spread_evenly);
    tcase_add_test(tc, jitter_comes_after_the_cap);
    tcase_add_test(tc, wait_runs_from_the_start_of_the_attempt);
    tcase_add_test(tc, other_curves_follow_their_options);
    tcase_add_test(tc, server_that_refuses_for_540_seconds_sees_about_13_attempts);
    tcase_add_test(tc, attempt_may_take_20_s_or_its_wait);
    tcase_add_test(tc, attempt_that_hit_its_limit_is_followed_at_once);
    tcase_add_test(tc, reset_forgets_the_wait_and_keeps_the_spacing);
    tcase_add_test(tc, reset_during_an_attempt_is_about_the_next_one);
    tcase_add_test(tc, first_attempt_may_start_at_once_at_the_beginning_of_time);
    tcase_add_test(tc, waits_near_the_end_of_time_saturate);
    tcase_add_test(tc, a_pass_over_several_addresses_has_one_wait);
    tcase_add_test(tc, other_addresses_are_not_waited_for);
    tcase_add_test(tc, random_walks_agree_with_the_whole_history);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("backoff", backoff_suite)
