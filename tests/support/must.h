/* SPDX-License-Identifier: MIT */
/*
 * An assertion for inner loops. Check's own write a mark to its parent each time, passed or not; at
 * a million a test that is what the test spends its time on.
 */
#ifndef LULL_TESTS_UNIT_POLICY_MUST_H
#define LULL_TESTS_UNIT_POLICY_MUST_H

#include <check.h>

#define MUST(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

#endif
