/* SPDX-License-Identifier: MIT */
/*
 * A pipe on a fake clock, for the tests of endpoint_pipe: one executor (or two), both ends, and
 * what was told to them. One world a program.
 */
#ifndef TESTS_UNIT_NET_PIPE_WORLD_H
#define TESTS_UNIT_NET_PIPE_WORLD_H

#include <check.h>
#include <string.h>

#include "exec/executor.h"
#include "lull/clock.h"
#include "net/endpoint_pipe.h"

/* One clock, one executor (or two), one pipe, and what was told to each end. */
static struct lull_fake_clock clock_;
static struct lull_executor *x;
static struct endpoint *a, *b;
static struct addr a_addr, b_addr;

struct heard {
    int told;
    unsigned ready;
};
static struct heard heard_a, heard_b;

static inline void hear(struct endpoint *end, unsigned ready)
{
    struct heard *heard = (struct heard *)end->owner;

    heard->told++;
    heard->ready = ready;
}

/* As hear, once: a level-triggered end that is not used up would be told for ever. */
static inline void hear_once(struct endpoint *end, unsigned ready)
{
    hear(end, ready);
    ck_assert_int_eq(endpoint_want(end, LULL_WANT_NONE), 0);
}

static inline void begin_on_two(struct pipe_options options, struct lull_executor **second)
{
    struct lull_executor_options executor_options;

    lull_fake_clock_init(&clock_, 0, 0);
    lull_executor_options_init(&executor_options);
    executor_options.clock = &clock_.base;
    ck_assert_int_eq(lull_executor_new(&executor_options, &x), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(x, &clock_), LULL_OK);
    if (second != &x) {
        ck_assert_int_eq(lull_executor_new(&executor_options, second), LULL_OK);
        ck_assert_int_eq(lull_executor_attach(*second, &clock_), LULL_OK);
    }
    ck_assert(addr_from_ip(&a_addr, "10.0.0.2", 80));
    ck_assert(addr_from_ip(&b_addr, "10.0.0.1", 50000));
    memset(&heard_a, 0, sizeof(heard_a));
    memset(&heard_b, 0, sizeof(heard_b));
    ck_assert_int_eq(endpoint_pipe_new(x, *second, &a_addr, &b_addr, &options, &a, &b), 0);
    a->owner = &heard_a;
    b->owner = &heard_b;
    a->on_ready = hear_once;
    b->on_ready = hear_once;
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

static inline void begin(struct pipe_options options)
{
    begin_on_two(options, &x);
}

/* Out of the context, every turn that is due, and in again. */
static inline void run(void)
{
    lull_executor_leave(x);
    lull_fake_clock_settle(&clock_);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

static inline void end(void)
{
    endpoint_close(a);
    endpoint_close(b);
    run();
    lull_executor_leave(x);
    lull_executor_free(x);
}

#endif
