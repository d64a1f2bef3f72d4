/* SPDX-License-Identifier: MIT */
/*
 * src/server/reset_police.c: a table of instants and verdicts.
 */
#include "server/reset_police.h"

#include "tests/support/check_main.h"

/* At `at`, so many resets are permitted, and then one is not. */
struct row {
    int64_t at_ns;
    int permitted;
};

static void run(const struct row *rows, size_t count, int64_t origin_ns)
{
    struct reset_police police;
    reset_police_init(&police, lull_at(origin_ns));
    for (size_t i = 0; i < count; i++) {
        const struct lull_instant now = lull_at(lull_duration_add(origin_ns, rows[i].at_ns));
        for (int n = 0; n < rows[i].permitted; n++) {
            ck_assert_msg(reset_police_permits(&police, now), "row %zu: reset %d was refused", i,
                          n);
        }
        ck_assert_msg(!reset_police_permits(&police, now), "row %zu: one more was permitted", i);
    }
}

START_TEST(a_burst_empties_the_bucket_and_time_fills_it)
{
    static const struct row rows[] = {
        {0, 1000},
        {LULL_SECOND / 33 - 1, 0},
        {LULL_SECOND / 33, 1},
        {LULL_SECOND / 33 + LULL_SECOND, 33},
        {40 * LULL_SECOND, 1000}, /* full again after 31 s, and no fuller */
        {80 * LULL_SECOND, 1000},
    };
    static const int64_t origins[] = {0, -5000 * LULL_SECOND, INT64_MIN + 1, 9000 * LULL_SECOND};
    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        run(rows, sizeof(rows) / sizeof(rows[0]), origins[i]);
    }
}
END_TEST

START_TEST(the_permitted_rate_goes_on_for_ever)
{
    struct reset_police police;
    reset_police_init(&police, lull_at(0));
    for (int64_t i = 0; i < 100000; i++) {
        ck_assert(reset_police_permits(&police, lull_at(i * (LULL_SECOND / 33))));
    }
}
END_TEST

START_TEST(twice_the_rate_ends_and_stays_ended_while_it_goes_on)
{
    struct reset_police police;
    int permitted = 0;
    reset_police_init(&police, lull_at(0));
    for (int64_t i = 0; i < 4000; i++) {
        permitted += reset_police_permits(&police, lull_at(i * (LULL_SECOND / 66)));
    }
    /* The bucket, and what came back in a minute. */
    ck_assert_int_ge(permitted, 1000 + 4000 / 2 - 2);
    ck_assert_int_le(permitted, 1000 + 4000 / 2 + 2);
}
END_TEST

START_TEST(a_clock_that_stands_or_goes_back_fills_nothing)
{
    struct reset_police police;
    reset_police_init(&police, lull_at(1000));
    for (int i = 0; i < 1000; i++) {
        ck_assert(reset_police_permits(&police, lull_at(1000 - i)));
    }
    ck_assert(!reset_police_permits(&police, lull_at(0)));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/reset_police");
    TCase *t = tcase_create("reset_police");
    tcase_add_test(t, a_burst_empties_the_bucket_and_time_fills_it);
    tcase_add_test(t, the_permitted_rate_goes_on_for_ever);
    tcase_add_test(t, twice_the_rate_ends_and_stays_ended_while_it_goes_on);
    tcase_add_test(t, a_clock_that_stands_or_goes_back_fills_nothing);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/reset_police", suite)
