/* SPDX-License-Identifier: MIT */
/*
 * src/policy/idle.c: tables of facts, and a random walk against a naive eager timer that is armed
 * at every end and cancelled at every start.
 */
#include "lull/idle.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#define NEVER       LULL_NEVER
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum fact { STARTED, ENDED, WOKEN, ENTERED, TIMER };

struct row {
    int64_t at_ms;
    enum fact fact;
    enum lull_idle_action action;
    int64_t next_ms; /* NEVER: none */
};

static int64_t ns_of(int64_t ms)
{
    return ms == NEVER ? NEVER : ms * LULL_MS;
}

static struct lull_idle_step tell(struct lull_idle *idle, enum fact fact, struct lull_instant now)
{
    switch (fact) {
    case STARTED:
        return lull_idle_on_call_started(idle);
    case ENDED:
        return lull_idle_on_call_ended(idle, now);
    case WOKEN:
        return lull_idle_on_woken(idle, now);
    case ENTERED:
        return lull_idle_on_entered_idle(idle);
    default:
        return lull_idle_on_timer(idle, now);
    }
}

/* Runs a table at three origins of the clock. */
static void run(int64_t timeout_ms, const struct row *rows, size_t count)
{
    const int64_t origins_ns[] = {0, -5000 * LULL_SECOND, INT64_C(1) << 62};
    for (size_t o = 0; o < COUNT(origins_ns); o++) {
        struct lull_idle idle;
        lull_idle_init(&idle, ns_of(timeout_ms), false);
        for (size_t i = 0; i < count; i++) {
            struct lull_instant now = lull_at(origins_ns[o] + ns_of(rows[i].at_ms));
            struct lull_idle_step step = tell(&idle, rows[i].fact, now);
            int64_t next_ns =
                rows[i].next_ms == NEVER ? NEVER : origins_ns[o] + ns_of(rows[i].next_ms);
            ck_assert_msg(step.action == rows[i].action, "row %zu: action %d", i, (int)step.action);
            ck_assert_msg(step.next_at.ns == next_ns, "row %zu: next_at %lld", i,
                          (long long)step.next_at.ns);
            ck_assert_int_eq(lull_idle_next_at(&idle).ns, next_ns);
        }
    }
}

/* scenario 70 */
START_TEST(fresh_channel_is_idle_and_wants_no_timer)
{
    struct lull_idle idle;
    lull_idle_init(&idle, LULL_IDLE_TIMEOUT_DEFAULT_NS, false);
    ck_assert(lull_idle_is_idle(&idle));
    ck_assert_int_eq(lull_idle_next_at(&idle).ns, NEVER);
    ck_assert_uint_eq(lull_idle_calls(&idle), 0);
    ck_assert_int_eq(lull_idle_timeout_ns(&idle), 30 * 60 * LULL_SECOND);
}
END_TEST

/* scenario 72 */
START_TEST(new_call_counts_the_timeout_from_its_own_end)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},     {0, ENDED, LULL_IDLE_NONE, 30000},
        {29000, STARTED, LULL_IDLE_NONE, NEVER}, {29000, ENDED, LULL_IDLE_NONE, 59000},
        {30000, TIMER, LULL_IDLE_NONE, 59000},   {58000, TIMER, LULL_IDLE_NONE, 59000},
        {59000, TIMER, LULL_IDLE_ENTER, NEVER},  {59000, TIMER, LULL_IDLE_NONE, NEVER},
    };
    run(30000, rows, COUNT(rows));
}
END_TEST

/* scenarios 73, 76, 98, 104; pain-case C03: queued or streaming, a call of any length holds
 * idleness off */
START_TEST(running_call_keeps_the_channel_awake)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},      {30000, TIMER, LULL_IDLE_NONE, NEVER},
        {60000, TIMER, LULL_IDLE_NONE, NEVER},    {60000, ENDED, LULL_IDLE_NONE, 90000},
        {89999, TIMER, LULL_IDLE_NONE, 90000},    {90000, TIMER, LULL_IDLE_ENTER, NEVER},
        {100000, STARTED, LULL_IDLE_WAKE, NEVER},
    };
    run(30000, rows, COUNT(rows));
}
END_TEST

/* scenario 74, 86: the channel reports the waking because a call still waits for a connection */
START_TEST(explicit_idle_with_a_waiting_call_wakes_again_and_stays_awake)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},    {10, ENTERED, LULL_IDLE_NONE, NEVER},
        {10, WOKEN, LULL_IDLE_NONE, NEVER},     {99999, TIMER, LULL_IDLE_NONE, NEVER},
        {99999, ENDED, LULL_IDLE_NONE, 129999},
    };
    run(30000, rows, COUNT(rows));
}
END_TEST

/* scenario 77, 90: a call survives an explicit entering; its end arms nothing; the next call wakes
 */
START_TEST(end_of_a_call_that_outlived_its_channel_arms_nothing)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},   {500, ENTERED, LULL_IDLE_NONE, NEVER},
        {600, STARTED, LULL_IDLE_WAKE, NEVER}, {700, ENTERED, LULL_IDLE_NONE, NEVER},
        {800, ENDED, LULL_IDLE_NONE, NEVER},   {900, ENDED, LULL_IDLE_NONE, NEVER},
        {1900, TIMER, LULL_IDLE_NONE, NEVER},  {2000, STARTED, LULL_IDLE_WAKE, NEVER},
        {2000, ENDED, LULL_IDLE_NONE, 3000},   {3000, TIMER, LULL_IDLE_ENTER, NEVER},
    };
    run(1000, rows, COUNT(rows));
}
END_TEST

/* scenario 81, 96, 102 */
START_TEST(switched_off_it_never_asks_for_a_timer)
{
    const int64_t off_ns[] = {0, -1, INT64_MIN, LULL_NEVER};
    for (size_t i = 0; i < COUNT(off_ns); i++) {
        struct lull_idle idle;
        lull_idle_init(&idle, off_ns[i], false);
        ck_assert_int_eq(lull_idle_timeout_ns(&idle), LULL_NEVER);
        ck_assert_int_eq(lull_idle_on_call_started(&idle).action, LULL_IDLE_WAKE);
        struct lull_idle_step step = lull_idle_on_call_ended(&idle, lull_at(5));
        ck_assert_int_eq(step.next_at.ns, NEVER);
        step = lull_idle_on_call_ended(&idle, lull_at(6)); /* extra ends are harmless */
        ck_assert_int_eq(step.next_at.ns, NEVER);
        step = lull_idle_on_timer(&idle, lull_at(INT64_MAX - 1));
        ck_assert_int_eq(step.action, LULL_IDLE_NONE);
        ck_assert(!lull_idle_is_idle(&idle));
        ck_assert_int_eq(lull_idle_left_ns(&idle, lull_at(7)), LULL_NEVER);
    }
}
END_TEST

START_TEST(end_without_a_start_does_not_let_a_running_call_sleep)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},  {1, ENDED, LULL_IDLE_NONE, 1001},
        {2, ENDED, LULL_IDLE_NONE, 1001},     {3, STARTED, LULL_IDLE_NONE, NEVER},
        {5000, TIMER, LULL_IDLE_NONE, NEVER},
    };
    run(1000, rows, COUNT(rows));
}
END_TEST

/* scenario 82, 97, 108: woken by a connect, without a call */
START_TEST(connect_without_a_call_falls_idle_after_the_timeout)
{
    const struct row rows[] = {
        {0, WOKEN, LULL_IDLE_NONE, 2000},
        {1500, WOKEN, LULL_IDLE_NONE, 2000},
        {2000, TIMER, LULL_IDLE_ENTER, NEVER},
        {2000, ENTERED, LULL_IDLE_NONE, NEVER},
    };
    run(2000, rows, COUNT(rows));
}
END_TEST

/* scenario 84, pain-case C05: a call that fails at once is activity, too */
START_TEST(call_that_fails_at_once_moves_the_instant)
{
    const struct row rows[] = {
        {0, STARTED, LULL_IDLE_WAKE, NEVER},     {1, ENDED, LULL_IDLE_NONE, 60001},
        {50000, STARTED, LULL_IDLE_NONE, NEVER}, {50000, ENDED, LULL_IDLE_NONE, 110000},
        {60001, TIMER, LULL_IDLE_NONE, 110000},  {110000, TIMER, LULL_IDLE_ENTER, NEVER},
    };
    run(60000, rows, COUNT(rows));
}
END_TEST

/* scenario 85 */
START_TEST(entering_twice_is_entering_once)
{
    const struct row rows[] = {
        {0, WOKEN, LULL_IDLE_NONE, 2000},
        {1000, ENTERED, LULL_IDLE_NONE, NEVER},
        {1001, ENTERED, LULL_IDLE_NONE, NEVER},
        {2000, TIMER, LULL_IDLE_NONE, NEVER},
    };
    run(2000, rows, COUNT(rows));
}
END_TEST

/* scenario 89 and 101: the call comes in the turn of the expiry, before and after it */
START_TEST(call_in_the_turn_of_the_expiry_is_never_lost)
{
    const struct row before[] = {
        {0, WOKEN, LULL_IDLE_NONE, 1000},
        {1000, STARTED, LULL_IDLE_NONE, NEVER},
        {1000, TIMER, LULL_IDLE_NONE, NEVER},
    };
    const struct row after[] = {
        {0, WOKEN, LULL_IDLE_NONE, 1000},
        {1000, TIMER, LULL_IDLE_ENTER, NEVER},
        {1000, STARTED, LULL_IDLE_WAKE, NEVER},
    };
    run(1000, before, COUNT(before));
    run(1000, after, COUNT(after));
}
END_TEST

/* scenario 100 */
START_TEST(hundred_starts_at_once_wake_once)
{
    struct lull_idle idle;
    int wakes = 0;
    lull_idle_init(&idle, LULL_SECOND, false);
    for (int i = 0; i < 100; i++) {
        wakes += lull_idle_on_call_started(&idle).action == LULL_IDLE_WAKE;
    }
    ck_assert_int_eq(wakes, 1);
    ck_assert_uint_eq(lull_idle_calls(&idle), 100);
    for (int i = 0; i < 99; i++) {
        ck_assert_int_eq(lull_idle_on_call_ended(&idle, lull_at(i)).next_at.ns, NEVER);
    }
    ck_assert_int_eq(lull_idle_on_call_ended(&idle, lull_at(99)).next_at.ns, LULL_SECOND + 99);
}
END_TEST

/* scenario 105 */
START_TEST(call_every_125_ms_keeps_it_awake)
{
    struct lull_idle idle;
    lull_idle_init(&idle, 500 * LULL_MS, true);
    for (int64_t ms = 0; ms <= 1500; ms += 125) {
        lull_idle_on_call_started(&idle);
        lull_idle_on_call_ended(&idle, lull_at(ns_of(ms)));
        ck_assert_int_eq(lull_idle_on_timer(&idle, lull_at(ns_of(ms + 124))).action,
                         LULL_IDLE_NONE);
    }
    ck_assert_int_eq(lull_idle_next_at(&idle).ns, ns_of(2000));
}
END_TEST

/* scenario 112 */
START_TEST(timeout_is_clamped_and_can_be_read_back)
{
    struct lull_idle idle;
    lull_idle_init(&idle, 50 * LULL_MS, false);
    ck_assert_int_eq(lull_idle_timeout_ns(&idle), LULL_SECOND);
    lull_idle_init(&idle, 50 * LULL_MS, true);
    ck_assert_int_eq(lull_idle_timeout_ns(&idle), 50 * LULL_MS);
    lull_idle_init(&idle, LULL_SECOND + 1, false);
    ck_assert_int_eq(lull_idle_timeout_ns(&idle), LULL_SECOND + 1);
    lull_idle_init(&idle, 1, true);
    ck_assert_int_eq(lull_idle_timeout_ns(&idle), 1);
}
END_TEST

START_TEST(what_is_left_can_be_read)
{
    struct lull_idle idle;
    lull_idle_init(&idle, 10 * LULL_SECOND, false);
    ck_assert_int_eq(lull_idle_left_ns(&idle, lull_at(0)), 0);
    lull_idle_on_call_started(&idle);
    ck_assert_int_eq(lull_idle_left_ns(&idle, lull_at(0)), LULL_NEVER);
    lull_idle_on_call_ended(&idle, lull_at(ns_of(1000)));
    ck_assert_int_eq(lull_idle_left_ns(&idle, lull_at(ns_of(4000))), 7 * LULL_SECOND);
    ck_assert_int_eq(lull_idle_left_ns(&idle, lull_at(ns_of(12000))), 0);
    ck_assert(!lull_idle_is_idle(&idle));
}
END_TEST

START_TEST(instant_beyond_the_end_of_time_saturates)
{
    struct lull_idle idle;
    lull_idle_init(&idle, LULL_NEVER - 1, false);
    lull_idle_on_call_started(&idle);
    ck_assert_int_eq(lull_idle_on_call_ended(&idle, lull_at(2)).next_at.ns, NEVER);
    ck_assert_int_eq(lull_idle_on_timer(&idle, lull_at(INT64_MAX - 1)).action, LULL_IDLE_NONE);
}
END_TEST

/* A walk of 4 000 ms in steps of 1 ms. The naive timer lives in one variable. */
static uint32_t dice(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 16;
}

static void walk(uint32_t seed)
{
    const int64_t timeout = 20; /* ms */
    uint32_t state = seed;
    uint64_t naive_calls = 0;
    int64_t naive_timer = NEVER;
    bool naive_idle = true;
    struct lull_idle idle;
    lull_idle_init(&idle, ns_of(timeout), true);
    for (int64_t ms = 0; ms < 4000; ms++) {
        struct lull_instant now = lull_at(ns_of(ms));
        uint32_t roll = dice(&state) % 100;
        if (roll < 6) {
            bool wakes = lull_idle_on_call_started(&idle).action == LULL_IDLE_WAKE;
            MUST_MSG(wakes == naive_idle, "seed %u, %lld ms", seed, (long long)ms);
            naive_idle = false;
            naive_calls++;
            naive_timer = NEVER;
        } else if (roll < 16 && naive_calls > 0) {
            lull_idle_on_call_ended(&idle, now);
            naive_calls--;
            naive_timer = naive_calls == 0 && !naive_idle ? ms + timeout : NEVER;
        } else if (roll == 16) {
            lull_idle_on_entered_idle(&idle);
            naive_idle = true;
            naive_timer = NEVER;
        } else if (roll == 17) {
            lull_idle_on_woken(&idle, now);
            naive_timer = naive_idle && naive_calls == 0 ? ms + timeout : naive_timer;
            naive_idle = false;
        }
        /* Asked at its own instants and, now and then, for nothing. */
        if (lull_idle_next_at(&idle).ns <= now.ns || dice(&state) % 10 == 0) {
            bool enters = lull_idle_on_timer(&idle, now).action == LULL_IDLE_ENTER;
            MUST_MSG(enters == (naive_timer == ms), "seed %u, %lld ms", seed, (long long)ms);
        }
        if (naive_timer == ms) {
            naive_idle = true;
            naive_timer = NEVER;
        }
        MUST_MSG(lull_idle_is_idle(&idle) == naive_idle, "seed %u, %lld ms", seed, (long long)ms);
        MUST_MSG(lull_idle_next_at(&idle).ns == ns_of(naive_timer), "seed %u, %lld ms", seed,
                 (long long)ms);
    }
}

START_TEST(random_walks_agree_with_an_eager_timer)
{
    for (uint32_t seed = 1; seed <= 200; seed++) {
        walk(seed);
    }
}
END_TEST

static Suite *idle_suite(void)
{
    Suite *suite = suite_create("idle");
    TCase *tc = tcase_create("idle");
    tcase_add_test(tc, fresh_channel_is_idle_and_wants_no_timer);
    tcase_add_test(tc, new_call_counts_the_timeout_from_its_own_end);
    tcase_add_test(tc, running_call_keeps_the_channel_awake);
    tcase_add_test(tc, explicit_idle_with_a_waiting_call_wakes_again_and_stays_awake);
    tcase_add_test(tc, end_of_a_call_that_outlived_its_channel_arms_nothing);
    tcase_add_test(tc, switched_off_it_never_asks_for_a_timer);
    tcase_add_test(tc, end_without_a_start_does_not_let_a_running_call_sleep);
    tcase_add_test(tc, connect_without_a_call_falls_idle_after_the_timeout);
    tcase_add_test(tc, call_that_fails_at_once_moves_the_instant);
    tcase_add_test(tc, entering_twice_is_entering_once);
    tcase_add_test(tc, call_in_the_turn_of_the_expiry_is_never_lost);
    tcase_add_test(tc, hundred_starts_at_once_wake_once);
    tcase_add_test(tc, call_every_125_ms_keeps_it_awake);
    tcase_add_test(tc, timeout_is_clamped_and_can_be_read_back);
    tcase_add_test(tc, what_is_left_can_be_read);
    tcase_add_test(tc, instant_beyond_the_end_of_time_saturates);
    tcase_add_test(tc, random_walks_agree_with_an_eager_timer);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("idle", idle_suite)
