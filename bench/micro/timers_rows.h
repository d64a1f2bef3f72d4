/* SPDX-License-Identifier: MIT */
/*
 * The rows of the families "push" and "attempt", the same for each implementation of timers. Also valid C++.
 *
 * Included once, behind what an implementation says of itself as static inline functions, so that nothing but the
 * implementation's own calls stands in the loops:
 *
 *     void subject_open(size_t others, size_t values)     `others` + 2 timers, numbers 0 and 1 not armed, the others armed between 10
 *                                                         and 60 s from now (subject_others_after_ns)
 *     void subject_close(void)
 *     void subject_inside(void (*fn)(void))               calls fn where its cached time is valid
 *     void subject_push(size_t which, int64_t now_ns)     timer `which` now fires PUSH_AFTER_NS later
 *     void subject_arm_two(size_t value, int64_t now_ns)  an attempt's read window and deadline, subject_window_ns and
 *     void subject_cancel_two(void)                       subject_deadline_ns of `value`, armed and cancelled
 *     uint64_t subject_queue_ops(void)                    all so far, if SUBJECT_COUNTS
 *     bool subject_can(size_t others)
 *
 * `now` is at hand in every row: it moves on by 100 ns an operation, and nobody reads a clock.
 */
#ifndef BENCH_MICRO_TIMERS_ROWS_H
#define BENCH_MICRO_TIMERS_ROWS_H

#include "timers.h"

static struct {
    size_t others;
    size_t values;
    int64_t now_ns;
    uint32_t random;
} rows;

static inline int64_t next_now(void)
{
    return rows.now_ns += 100;
}

static void push_hot(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        subject_push(0, next_now());
        MICRO_BARRIER();
    }
}

static void empty_hot(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        (void)next_now();
        MICRO_BARRIER();
    }
}

static void push_random(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        subject_push(2 + micro_below(micro_random(&rows.random), rows.others), next_now());
        MICRO_BARRIER();
    }
}

static void empty_random(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        MICRO_USE(2 + micro_below(micro_random(&rows.random), rows.others));
        (void)next_now();
        MICRO_BARRIER();
    }
}

static void push_between_work(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        micro_work();
        subject_push(2 + micro_below(micro_random(&rows.random), rows.others), next_now());
        MICRO_BARRIER();
    }
}

static void work_alone(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        micro_work();
        MICRO_USE(2 + micro_below(micro_random(&rows.random), rows.others));
        (void)next_now();
        MICRO_BARRIER();
    }
}

static void arm_and_cancel(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        subject_arm_two(i & (rows.values - 1), next_now());
        MICRO_BARRIER();
        subject_cancel_two();
        MICRO_BARRIER();
    }
}

static void empty_attempt(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        MICRO_USE(i & (rows.values - 1));
        (void)next_now();
        MICRO_BARRIER();
        MICRO_BARRIER();
    }
}

static void arm_and_cancel_between_work(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        micro_work();
        subject_arm_two(i & (rows.values - 1), next_now());
        MICRO_BARRIER();
        subject_cancel_two();
        MICRO_BARRIER();
    }
}

static void attempt_work_alone(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        micro_work();
        MICRO_USE(i & (rows.values - 1));
        (void)next_now();
        MICRO_BARRIER();
        MICRO_BARRIER();
    }
}

#ifdef SUBJECT_COUNTS

/* By the counters, not by the clock: what a thousand operations did to the timer queue, an operation's share of it. */
static double queue_ops_of(micro_fn fn)
{
    const size_t count = 1024;
    fn(NULL, count); /* the first arms */
    const uint64_t before = subject_queue_ops();
    fn(NULL, count);
    return (double)(subject_queue_ops() - before) / (double)count;
}

#define ROW_COUNTERS(row, others, fn) micro_line_at((row), (others), "queue_ops", queue_ops_of(fn))

#else
#define ROW_COUNTERS(row, others, fn) ((void)0)
#endif

static void measure_row(const char *row, micro_fn fn, micro_fn empty)
{
    fn(NULL, 64); /* as far as the first arming */
    micro_lines_at(row, rows.others, micro_measure(fn, empty, NULL));
    ROW_COUNTERS(row, rows.others, fn);
}

static void push_rows(void)
{
    /* Each of them once, since one that stands behind its new instant has to be moved. */
    for (size_t i = 0; i < rows.others; i++) {
        subject_push(2 + i, next_now());
    }
    measure_row("hot", push_hot, empty_hot);
    measure_row("random", push_random, empty_random);
    measure_row("work", push_between_work, work_alone);
}

static void attempt_rows(void)
{
    const bool is_one = rows.values == 1;
    measure_row(is_one ? "one" : "64-values", arm_and_cancel, empty_attempt);
    measure_row(is_one ? "work" : "64-work", arm_and_cancel_between_work, attempt_work_alone);
}

static void measure_with(size_t others, size_t values, void (*all)(void))
{
    if (!subject_can(others)) {
        return;
    }
    rows.others = others;
    rows.values = values;
    rows.random = 2463534242u;
    rows.now_ns = timers_origin_ns();
    subject_open(others, values);
    subject_inside(all);
    subject_close();
}

/* main: `push` or `attempt`, and {seconds}. */
static int run_rows(int argc, char **argv, const char *variant)
{
    static const size_t others[] = {1, 1000, 100000};
    const bool is_push = argc > 1 && strcmp(argv[1], "push") == 0;
    if (argc < 2 || (!is_push && strcmp(argv[1], "attempt") != 0)) {
        micro_fail("usage: push|attempt [SECONDS]");
    }
    micro_set_names(argv[1], variant);
    micro_plan(argc > 2 ? argv[2] : NULL, is_push ? 9 : 12);
    for (size_t i = 0; i < (micro_is_once() ? 2 : sizeof(others) / sizeof(others[0])); i++) {
        if (is_push) {
            measure_with(others[i], 1, push_rows);
        } else {
            measure_with(others[i], 1, attempt_rows);
            measure_with(others[i], 64, attempt_rows);
        }
    }
    return 0;
}

#endif
