/* SPDX-License-Identifier: MIT */
/*
 * The main() of every Check program in tests/.
 *
 * Decides: how a suite is run and which exit status it gives. Every test program under tests/unit,
 * tests/sim and tests/integ ends with one LULL_TEST_MAIN line; the build and `quickstart` read the
 * "Checks: a, Failures: b, Errors: c" line that Check prints. Must not know: what is tested.
 *
 *     static Suite *timerq_suite(void);
 *     ...
 *     LULL_TEST_MAIN("timerq", timerq_suite)
 *
 * Verbosity, fork mode and filters come from Check's own variables (CK_VERBOSITY, CK_FORK,
 * CK_RUN_CASE).
 */
#ifndef LULL_TESTS_SUPPORT_CHECK_MAIN_H
#define LULL_TESTS_SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static int check_main_run(const char *name, Suite *(*suite_fn)(void))
{
    SRunner *runner = srunner_create(suite_fn());
    srunner_run_all(runner, CK_ENV);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);

    /* A suite that lost its cases (or whose filter matched none) must not look like a pass. */
    if (ran == 0) {
        fprintf(stderr, "%s: no check ran\n", name);
        return EXIT_FAILURE;
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define LULL_TEST_MAIN(name, suite_fn)                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        return check_main_run((name), (suite_fn));                                                 \
    }

#endif
