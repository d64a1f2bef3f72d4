/* SPDX-License-Identifier: MIT */
/*
 * Assertions for inner loops. Check's own write a mark to its parent each time, passed or not; at a million a test that is
 * what the test spends its time on.
 */
#ifndef LULL_TESTS_SUPPORT_MUST_H
#define LULL_TESTS_SUPPORT_MUST_H

#include <check.h>

/* With a text, as printf has it. */
#define MUST_MSG(condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

/* The condition is the text. */
#define MUST(condition) MUST_MSG(condition, "%s", #condition)

#endif
