/* SPDX-License-Identifier: MIT */
/*
 * The system's clock (lull/clock.h).
 *
 * Decides: which kernel clocks our two hands are. The monotonic hand is CLOCK_BOOTTIME where there
 * is one, because quiet time must count a suspend: a NAT forgets us while we sleep. The only file
 * that may name a clock call. Must not know: who asks.
 */
#include "lull/clock.h"

#include <time.h>

#include "base/invariant.h"

static int64_t from_timespec(const struct timespec *ts)
{
    return (int64_t)ts->tv_sec * LULL_SECOND + (int64_t)ts->tv_nsec;
}

static struct lull_instant system_now(struct lull_clock *clock)
{
    struct timespec ts;
    (void)clock;
#ifdef CLOCK_BOOTTIME
    /* A kernel either has it or has not: the two never mix within a process. */
    if (clock_gettime(CLOCK_BOOTTIME, &ts) == 0) {
        return lull_at(from_timespec(&ts));
    }
#endif
    LULL_INVARIANT(clock_gettime(CLOCK_MONOTONIC, &ts) == 0, "the system has no monotonic clock");
    return lull_at(from_timespec(&ts));
}

static int64_t system_wall_ns(struct lull_clock *clock)
{
    struct timespec ts;
    (void)clock;
    LULL_INVARIANT(clock_gettime(CLOCK_REALTIME, &ts) == 0, "the system has no wall clock");
    return from_timespec(&ts);
}

static const struct lull_clock_ops system_ops = {.now = system_now, .wall_ns = system_wall_ns};

struct lull_clock *lull_clock_system(void)
{
    static struct lull_clock clock = {.ops = &system_ops, .name = "system"};
    return &clock;
}
