/* SPDX-License-Identifier: MIT */
/* The system's clock (src/time/clock_monotonic.c). It cannot be tested without reading it; nothing here
 * waits or depends on how fast it runs. */
#include "lull/clock.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

START_TEST(the_monotonic_hand_never_runs_backwards)
{
    struct lull_clock *clock = lull_clock_system();
    struct lull_instant last = lull_clock_now(clock);
    for (int i = 0; i < 100000; i++) {
        const struct lull_instant now = lull_clock_now(clock);
        MUST(!lull_instant_before(now, last));
        last = now;
    }
    MUST(last.ns > 0);
}
END_TEST

START_TEST(the_wall_hand_is_after_this_was_written)
{
    const int64_t in_2025_ns = INT64_C(1735689600) * LULL_SECOND;
    ck_assert_int_gt(lull_clock_wall_ns(lull_clock_system()), in_2025_ns);
}
END_TEST

START_TEST(there_is_one_system_clock_and_it_has_a_name)
{
    ck_assert_ptr_eq(lull_clock_system(), lull_clock_system());
    ck_assert_str_eq(lull_clock_system()->name, "system");
}
END_TEST

static Suite *clock_monotonic_suite(void)
{
    Suite *suite = suite_create("time/clock_monotonic");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, the_monotonic_hand_never_runs_backwards);
    tcase_add_test(cases, the_wall_hand_is_after_this_was_written);
    tcase_add_test(cases, there_is_one_system_clock_and_it_has_a_name);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("clock_monotonic", clock_monotonic_suite)
