/* SPDX-License-Identifier: MIT */
/*
 * What the timers of one implementation stand at, for all alike. Also valid C++.
 */
#ifndef BENCH_MICRO_TIMERS_H
#define BENCH_MICRO_TIMERS_H

#include <stdlib.h>
#include <string.h>

#include "micro.h"

#define TIMERS_SECOND INT64_C(1000000000)

/* A deadline that is pushed out stands so far away. */
#define PUSH_AFTER_NS (30 * TIMERS_SECOND)

/* Where a `now` of ours starts: where the system's clock is, for implementations that compare with it. */
static inline int64_t timers_origin_ns(void)
{
    return micro_now_ns();
}

/* The others stand between 10 and 60 s away. */
static inline int64_t others_after_ns(size_t which)
{
    return 10 * TIMERS_SECOND + (int64_t)((which * 2654435761u) % 50000u) * 1000000;
}

/* The two timeouts of an attempt; values differ by 10 ms. */
static inline int64_t window_ns(size_t value)
{
    return 10 * TIMERS_SECOND + (int64_t)value * 10000000;
}

static inline int64_t deadline_ns(size_t value)
{
    return 60 * TIMERS_SECOND + (int64_t)value * 10000000;
}

/* From a cache line on, so that all runs and all subjects have the same of them. */
static inline void *timers_memory(size_t count, size_t bytes)
{
    const size_t line_bytes = 64;
    const size_t all = (count * bytes + line_bytes - 1) / line_bytes * line_bytes;
    void *memory = aligned_alloc(line_bytes, all);
    MICRO_MUST(memory != NULL);
    memset(memory, 0, all);
    return memory;
}

#endif
