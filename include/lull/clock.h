/* SPDX-License-Identifier: MIT */
/**
 * @file clock.h
 * The clock is a seam with two hands: a monotonic one, which every timer goes by, and a wall clock,
 * which only certificates and log stamps look at. The fake clock moves only when it is told to.
 */
#ifndef LULL_CLOCK_H
#define LULL_CLOCK_H

#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_clock;
struct lull_executor;

/** What a clock can be asked. Since 0.1. */
struct lull_clock_ops {
    struct lull_instant (*now)(
        struct lull_clock *clock); /**< never runs backwards; counts suspend where the OS can */
    int64_t (*wall_ns)(struct lull_clock *clock); /**< ns since 1970-01-01 UTC; may jump */
};

/** A clock. Make your own by embedding this as the first field. Since 0.1. */
struct lull_clock {
    const struct lull_clock_ops *ops;
    const char *name; /**< for logs */
};

/** The instant this clock shows. Any thread for the system's clock. Since 0.1. */
static inline struct lull_instant lull_clock_now(struct lull_clock *clock)
{
    return clock->ops->now(clock);
}

/** The wall time this clock shows, in ns since 1970-01-01 UTC. Since 0.1. */
static inline int64_t lull_clock_wall_ns(struct lull_clock *clock)
{
    return clock->ops->wall_ns(clock);
}

/** The system's clock: CLOCK_BOOTTIME where there is one, else CLOCK_MONOTONIC. Static. Any thread.
 * Since 0.1. */
LULL_API struct lull_clock *lull_clock_system(void);

/** The most executors that one fake clock drives. Since 0.1. */
#define LULL_FAKE_CLOCK_DRIVEN 16

/**
 * A clock for tests. Executors attached to it (lull_executor_attach; an executor that merely reads
 * this clock is not driven) are driven by lull_fake_clock_advance: it steps from due instant to due
 * instant, in order, and runs a turn at each. Layout not stable before 1.0. One thread. Since 0.1.
 */
struct lull_fake_clock {
    struct lull_clock base;
    struct lull_instant mono_at;
    int64_t wall_ns;
    uint64_t reads; /**< how often the monotonic hand was read */
    struct {
        struct lull_instant (*next_at)(void *ctx);
        void (*turn)(void *ctx, struct lull_instant now);
        void *ctx;
    } driven[LULL_FAKE_CLOCK_DRIVEN];
    size_t driven_count;
    bool running; /**< inside a turn: moving time runs no other turn */
};

/** Sets the two hands. @param mono_ns where the monotonic hand starts; tests use 0, negative and
 * large origins. Since 0.1. */
LULL_API void lull_fake_clock_init(struct lull_fake_clock *clock, int64_t mono_ns, int64_t wall_ns);

/**
 * Lets the clock drive something: an executor by the two functions of executor.h
 * (lull_executor_attach does it), or any other.
 * @param next_at says when the next turn is due (LULL_NEVER: none; not later than now: at once)
 * @param turn runs one turn
 * @return LULL_OK, or LULL_RC_LIMIT when LULL_FAKE_CLOCK_DRIVEN are driven already. Since 0.1.
 */
LULL_API int lull_fake_clock_drive(struct lull_fake_clock *clock,
                                   struct lull_instant (*next_at)(void *ctx),
                                   void (*turn)(void *ctx, struct lull_instant now), void *ctx);

/** Stops driving what was attached with this ctx; nothing happens when there is none. Since 0.1. */
LULL_API void lull_fake_clock_drop(struct lull_fake_clock *clock, void *ctx);

/**
 * Moves both hands `by_ns` on (negative: nothing happens), stopping at every due instant on the way
 * to run the turns due there, and runs what is due at the end, zero-delay work included. Saturates
 * short of LULL_NEVER. Since 0.1.
 */
LULL_API void lull_fake_clock_advance(struct lull_fake_clock *clock, int64_t by_ns);

/** Moves both hands `by_ns` on in one jump, then runs what is due: every timer on the way is late.
 * Since 0.1. */
LULL_API void lull_fake_clock_jump(struct lull_fake_clock *clock, int64_t by_ns);

/** Runs turns until nothing is due now (at most 100 000: a task that always posts itself ends
 * there). Since 0.1. */
LULL_API void lull_fake_clock_settle(struct lull_fake_clock *clock);

/** Moves the wall hand alone, either way, as an administrator would. Since 0.1. */
LULL_API void lull_fake_clock_set_wall(struct lull_fake_clock *clock, int64_t wall_ns);

#ifdef __cplusplus
}
#endif

#endif
