/* SPDX-License-Identifier: MIT */
/*
 * How many rounds a test does that has very many: fewer when LULL_TEST_FEWER is set, as under valgrind, where they take minutes.
 * The assertions stay the same.
 */
#ifndef LULL_TESTS_SUPPORT_ROUNDS_H
#define LULL_TESTS_SUPPORT_ROUNDS_H

#include <stdlib.h>

static inline unsigned test_rounds(unsigned many, unsigned fewer)
{
    return getenv("LULL_TEST_FEWER") != NULL ? fewer : many;
}

#endif
