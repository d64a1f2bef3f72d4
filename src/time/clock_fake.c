/* SPDX-License-Identifier: MIT */
/*
 * The fake clock (lull/clock.h).
 *
 * Decides: in which order the driven things run when a test moves time. Stepping stops at each due
 * instant on the way; a jump makes everything late. Called by tests and simulations, one thread.
 * Must not know: executors; it drives whatever gives it the two functions.
 */
#include "lull/clock.h"

#include <string.h>

/* Turns that one settle runs at most, so that a task that always posts itself ends. */
#define SETTLE_TURNS_MAX 100000u

static struct lull_instant fake_now(struct lull_clock *clock)
{
    struct lull_fake_clock *fake = (struct lull_fake_clock *)(void *)clock;
    __atomic_fetch_add(&fake->reads, 1, __ATOMIC_RELAXED); /* a start on another thread reads it too */
    return fake->mono_at;
}

static int64_t fake_wall_ns(struct lull_clock *clock)
{
    const struct lull_fake_clock *fake = (const struct lull_fake_clock *)(const void *)clock;
    return fake->wall_ns;
}

static const struct lull_clock_ops fake_ops = {.now = fake_now, .wall_ns = fake_wall_ns};

/* A clock never shows LULL_NEVER: what waits for ever must stay later than every now. */
static int64_t short_of_never(int64_t ns)
{
    return ns == LULL_NEVER ? LULL_NEVER - 1 : ns;
}

void lull_fake_clock_init(struct lull_fake_clock *clock, int64_t mono_ns, int64_t wall_ns)
{
    memset(clock, 0, sizeof(*clock));
    clock->base.ops = &fake_ops;
    clock->base.name = "fake";
    clock->mono_at = lull_at(short_of_never(mono_ns));
    clock->wall_ns = wall_ns;
}

int lull_fake_clock_drive(struct lull_fake_clock *clock, struct lull_instant (*next_at)(void *ctx),
                          void (*turn)(void *ctx, struct lull_instant now), void *ctx)
{
    if (clock->driven_count == LULL_FAKE_CLOCK_DRIVEN) {
        return LULL_RC_LIMIT;
    }
    clock->driven[clock->driven_count].next_at = next_at;
    clock->driven[clock->driven_count].turn = turn;
    clock->driven[clock->driven_count].ctx = ctx;
    clock->driven_count++;
    return LULL_OK;
}

void lull_fake_clock_drop(struct lull_fake_clock *clock, void *ctx)
{
    for (size_t i = 0; i < clock->driven_count; i++) {
        if (clock->driven[i].ctx == ctx) {
            clock->driven_count--;
            memmove(&clock->driven[i], &clock->driven[i + 1],
                    (clock->driven_count - i) * sizeof(clock->driven[0]));
            return;
        }
    }
}

/* The first instant at which something driven is due; LULL_NEVER when nothing is. */
static struct lull_instant earliest(struct lull_fake_clock *clock)
{
    struct lull_instant first = lull_at(LULL_NEVER);
    for (size_t i = 0; i < clock->driven_count; i++) {
        const struct lull_instant at = clock->driven[i].next_at(clock->driven[i].ctx);
        if (lull_instant_before(at, first)) {
            first = at;
        }
    }
    return first;
}

/* Moves the hands to `target`, not backwards. */
static void move_to(struct lull_fake_clock *clock, struct lull_instant target)
{
    if (lull_instant_before(clock->mono_at, target)) {
        const int64_t by_ns = lull_instant_diff(target, clock->mono_at);
        clock->wall_ns = short_of_never(lull_duration_add(clock->wall_ns, by_ns));
        clock->mono_at = target;
    }
}

/* One turn each for what is due now, in the order of driving, until nothing is. */
static void run_due(struct lull_fake_clock *clock)
{
    uint32_t turns = 0;
    bool ran = true;
    while (ran) {
        ran = false;
        /* A turn may drop or add what is driven: look at the count each time. */
        for (size_t i = 0; i < clock->driven_count; i++) {
            const struct lull_instant at = clock->driven[i].next_at(clock->driven[i].ctx);
            if (at.ns > clock->mono_at.ns) {
                continue;
            }
            if (turns++ == SETTLE_TURNS_MAX) {
                return;
            }
            clock->driven[i].turn(clock->driven[i].ctx, clock->mono_at);
            ran = true;
        }
    }
}

/* True when this call is the outermost; inside a turn time passes without another turn. */
static bool begin(struct lull_fake_clock *clock)
{
    const bool outermost = !clock->running;
    clock->running = true;
    return outermost;
}

void lull_fake_clock_advance(struct lull_fake_clock *clock, int64_t by_ns)
{
    if (by_ns < 0) {
        return;
    }
    const struct lull_instant target =
        lull_at(short_of_never(lull_duration_add(clock->mono_at.ns, by_ns)));
    if (!begin(clock)) {
        move_to(clock, target);
        return;
    }
    run_due(clock);
    for (;;) {
        const struct lull_instant next = earliest(clock);
        /* Still due now: a task that always posts itself. It must not stop time. */
        if (next.ns > target.ns || next.ns <= clock->mono_at.ns) {
            break;
        }
        move_to(clock, next);
        run_due(clock);
    }
    if (lull_instant_before(clock->mono_at, target)) {
        move_to(clock, target);
        run_due(clock);
    }
    clock->running = false;
}

void lull_fake_clock_jump(struct lull_fake_clock *clock, int64_t by_ns)
{
    if (by_ns < 0) {
        return;
    }
    move_to(clock, lull_at(short_of_never(lull_duration_add(clock->mono_at.ns, by_ns))));
    lull_fake_clock_settle(clock);
}

void lull_fake_clock_settle(struct lull_fake_clock *clock)
{
    if (begin(clock)) {
        run_due(clock);
        clock->running = false;
    }
}

void lull_fake_clock_set_wall(struct lull_fake_clock *clock, int64_t wall_ns)
{
    clock->wall_ns = wall_ns;
}
