/* SPDX-License-Identifier: MIT */
#include "base/invariant.h"

#include "tests/support/check_main.h"
#include "tests/support/death.h"

static void break_it(void)
{
    LULL_INVARIANT(1 + 1 == 3, "the sum is wrong");
}

START_TEST(a_broken_invariant_aborts_with_its_sentence_and_place)
{
    expect_death(break_it, "the sum is wrong");
    expect_death(break_it, "invariant_test.c:");
}
END_TEST

START_TEST(a_kept_invariant_evaluates_its_condition_once)
{
    int evaluated = 0;
    LULL_INVARIANT(++evaluated == 1, "never seen");
    ck_assert_int_eq(evaluated, 1);
}
END_TEST

static Suite *invariant_suite(void)
{
    Suite *suite = suite_create("invariant");
    TCase *tc = tcase_create("invariant");
    tcase_add_test(tc, a_broken_invariant_aborts_with_its_sentence_and_place);
    tcase_add_test(tc, a_kept_invariant_evaluates_its_condition_once);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("invariant", invariant_suite)
