/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop as a host of adapter_support.h: making and dropping loops, and what the host calls between its turns. How they are
 * driven is the test's own: adapter_own_test runs them, adapter_nested_test polls their descriptors.
 */
#ifndef TESTS_INTEG_ADAPTER_BUILTIN_H
#define TESTS_INTEG_ADAPTER_BUILTIN_H

#include "tests/integ/adapter_support.h"

#define LOOPS_MOST 4

static struct lull_loop *loops[LOOPS_MOST];
static size_t count;
static struct lull_loop *given_up; /* in a callback of lull's, where lull_loop_free is not allowed */
static void (*own_fn)(void);

static void open_host(void)
{
    count = 0;
    given_up = NULL;
    own_fn = NULL;
}

static void close_host(void)
{
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(given_up);
}

static int make(const struct lull_executor_options *options, struct lull_loop **out)
{
    const int rc = lull_loop_new(options, out);

    if (rc == LULL_OK) {
        ck_assert_uint_lt(count, LOOPS_MOST);
        loops[count++] = *out;
    }
    return rc;
}

static void drop(struct lull_loop *which)
{
    if (which != NULL && lull_executor_in_context(lull_loop_executor(which))) {
        given_up = which;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (loops[i] == which) {
            loops[i] = loops[--count];
        }
    }
    lull_loop_free(which);
}

static void drop_given_up(void)
{
    if (given_up != NULL && !lull_executor_in_context(lull_loop_executor(given_up))) {
        struct lull_loop *which = given_up;

        given_up = NULL;
        drop(which);
    }
}

/* A callback of the host's is whatever it does between its turns. */
static bool call_own(void)
{
    void (*fn)(void) = own_fn;

    own_fn = NULL;
    if (fn != NULL) {
        fn();
    }
    return fn != NULL;
}

static void call_back(void (*fn)(void))
{
    own_fn = fn;
}

#endif
