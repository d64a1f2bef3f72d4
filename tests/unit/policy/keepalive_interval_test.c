/* SPDX-License-Identifier: MIT */
/* src/policy/keepalive_interval.c: doubling, decay, saturation, and what counts as too_many_pings.
 */
#include "lull/keepalive.h"

#include "tests/support/check_main.h"

#include <string.h>

#define S   LULL_SECOND
#define DAY LULL_KEEPALIVE_DECAY_NS

static int64_t strike(struct lull_keepalive_interval *interval, int64_t used_ns, int64_t now_ns)
{
    lull_keepalive_interval_on_too_many_pings(interval, used_ns, lull_at(now_ns));
    return lull_keepalive_interval_ns(interval, lull_at(now_ns));
}

/* pain-case C10 */
START_TEST(four_strikes_on_four_connections_double_four_times)
{
    struct lull_keepalive_interval interval;
    const int64_t origins[] = {0, -100 * DAY, INT64_C(1) << 62};
    for (size_t o = 0; o < 3; o++) {
        int64_t now = origins[o];
        lull_keepalive_interval_init(&interval, 10 * S, false);
        for (int64_t want = 20; want <= 160; want *= 2) {
            int64_t used = lull_keepalive_interval_ns(&interval, lull_at(now));
            now += 60 * S;
            ck_assert_int_eq(strike(&interval, used, now), want * S);
        }
    }
}
END_TEST

/* scenario 142 */
START_TEST(connections_that_share_a_time_double_it_once)
{
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, 8, true);
    ck_assert_int_eq(strike(&interval, 8, 0), 16);
    ck_assert_int_eq(strike(&interval, 8, 1), 16);
    ck_assert_int_eq(strike(&interval, 16, 2), 32);
    ck_assert_int_eq(strike(&interval, 8, 3), 32); /* an old connection's word never shortens */
}
END_TEST

/* pain-case C10, variant */
START_TEST(off_stays_off)
{
    const int64_t off[] = {LULL_NEVER, 0, -1};
    for (size_t i = 0; i < 3; i++) {
        struct lull_keepalive_interval interval;
        lull_keepalive_interval_init(&interval, off[i], false);
        for (int n = 0; n < 64; n++) {
            ck_assert_int_eq(strike(&interval, LULL_NEVER, n * S), LULL_NEVER);
        }
        ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(1000 * DAY)), LULL_NEVER);
    }
}
END_TEST

START_TEST(doubling_saturates_short_of_never_and_decays_from_there)
{
    struct lull_keepalive_interval interval;
    int64_t used = 10 * S;
    lull_keepalive_interval_init(&interval, used, false);
    for (int n = 0; n < 64; n++) {
        int64_t next = strike(&interval, used, 5);
        ck_assert_int_ge(next, used);
        ck_assert_int_lt(next, LULL_NEVER);
        used = next;
    }
    ck_assert_int_eq(used, LULL_NEVER - 1);
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(5 + DAY)), (LULL_NEVER - 1) / 2);
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(5 + 64 * DAY)), 10 * S);
}
END_TEST

/* RULINGS 9 */
START_TEST(each_day_without_a_strike_halves_toward_the_configured_time)
{
    const struct {
        int64_t at;
        int64_t want_s;
    } rows[] = {{0, 80},       {DAY - 1, 80}, {DAY, 40},     {2 * DAY - 1, 40},
                {2 * DAY, 20}, {3 * DAY, 10}, {4 * DAY, 10}, {400 * DAY, 10}};
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, 10 * S, false);
    strike(&interval, 10 * S, 0);
    strike(&interval, 20 * S, 0);
    strike(&interval, 40 * S, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(rows[i].at)),
                         rows[i].want_s * S);
    }
}
END_TEST

START_TEST(strike_after_a_decay_starts_the_day_anew)
{
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, 10 * S, false);
    strike(&interval, 10 * S, 0);
    strike(&interval, 20 * S, 0); /* 40 s */
    ck_assert_int_eq(strike(&interval, 10 * S, DAY + 7),
                     20 * S); /* decayed to 20, and 10 doubled is 20 */
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(2 * DAY + 6)), 20 * S);
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(2 * DAY + 7)), 10 * S);
}
END_TEST

START_TEST(configured_time_is_clamped)
{
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, 1, false);
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(0)), 10 * S);
    lull_keepalive_interval_init(&interval, 1, true);
    ck_assert_int_eq(lull_keepalive_interval_ns(&interval, lull_at(0)), 1);
}
END_TEST

START_TEST(only_the_exact_goaway_counts)
{
    const char words[] = "too_many_pings";
    const size_t len = sizeof(words) - 1;
    ck_assert(lull_keepalive_is_too_many_pings(0xb, words, len));
    ck_assert(!lull_keepalive_is_too_many_pings(0x0, words, len));
    ck_assert(!lull_keepalive_is_too_many_pings(0xb, words, len + 1)); /* its NUL */
    ck_assert(!lull_keepalive_is_too_many_pings(0xb, words, len - 1));
    ck_assert(!lull_keepalive_is_too_many_pings(0xb, "too_many_pingz", len));
    ck_assert(!lull_keepalive_is_too_many_pings(0xb, "\xff\xfe_many_pings", len));
    ck_assert(!lull_keepalive_is_too_many_pings(0xb, NULL, 0));
}
END_TEST

static Suite *keepalive_interval_suite(void)
{
    Suite *suite = suite_create("keepalive_interval");
    TCase *tc = tcase_create("keepalive_interval");
    tcase_add_test(tc, four_strikes_on_four_connections_double_four_times);
    tcase_add_test(tc, connections_that_share_a_time_double_it_once);
    tcase_add_test(tc, off_stays_off);
    tcase_add_test(tc, doubling_saturates_short_of_never_and_decays_from_there);
    tcase_add_test(tc, each_day_without_a_strike_halves_toward_the_configured_time);
    tcase_add_test(tc, strike_after_a_decay_starts_the_day_anew);
    tcase_add_test(tc, configured_time_is_clamped);
    tcase_add_test(tc, only_the_exact_goaway_counts);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_interval", keepalive_interval_suite)
