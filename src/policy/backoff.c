/* SPDX-License-Identifier: MIT */
/*
 * The curve and the three brakes of backoff.h: the wait, the attempt's limit, the spacing. Called
 * by the subchannel. Must not know chance (the draw is an argument) or why an attempt failed.
 */
#include "policy/backoff.h"

/* ns times a factor, rounded to the nearest and kept within [0, LULL_NEVER]. */
static int64_t scale(int64_t ns, double factor)
{
    double product = (double)ns * factor + 0.5;
    if (product >= (double)LULL_NEVER) { /* rounds to 2^63, the first value that does not fit */
        return LULL_NEVER;
    }
    return product > 0 ? (int64_t)product : 0;
}

static int64_t capped(const struct backoff_options *options, int64_t base_ns)
{
    return base_ns < options->max_ns ? base_ns : options->max_ns;
}

static int64_t jittered(const struct backoff *b, double unit)
{
    if (b->options.jitter <= 0) {
        return b->base_ns;
    }
    return scale(b->base_ns, 1.0 + b->options.jitter * (2.0 * unit - 1.0));
}

static struct lull_instant later(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(a, b) ? b : a;
}

static void forget_wait(struct backoff *b)
{
    b->base_ns = capped(&b->options, b->options.initial_ns);
    b->wait_at = lull_at(INT64_MIN);
}

void backoff_options_init(struct backoff_options *options)
{
    options->initial_ns = LULL_SECOND;
    options->max_ns = 120 * LULL_SECOND;
    options->multiplier = 1.6;
    options->jitter = 0.2;
    options->min_connect_ns = 20 * LULL_SECOND;
    options->spacing_ns = 800 * LULL_MS;
}

void backoff_init(struct backoff *backoff, const struct backoff_options *options)
{
    backoff->options = *options;
    backoff->started_at = lull_at(INT64_MIN);
    backoff->limit_at = lull_at(LULL_NEVER);
    backoff->has_completed_call = true; /* no attempt that the first one would have to keep away from */
    forget_wait(backoff);
}

struct lull_instant backoff_on_attempt_started(struct backoff *backoff, struct lull_instant now,
                                               double unit)
{
    backoff->started_at = now;
    backoff->wait_at = lull_instant_add(now, jittered(backoff, unit));
    backoff->limit_at =
        later(backoff->wait_at, lull_instant_add(now, backoff->options.min_connect_ns));
    backoff->base_ns =
        capped(&backoff->options, scale(backoff->base_ns, backoff->options.multiplier));
    backoff->has_completed_call = false;
    return backoff->limit_at;
}

struct lull_instant backoff_on_next_address(struct backoff *backoff, struct lull_instant now)
{
    backoff->started_at = now;
    backoff->limit_at =
        later(backoff->wait_at, lull_instant_add(now, backoff->options.min_connect_ns));
    return backoff->limit_at;
}

void backoff_on_addresses_changed(struct backoff *backoff, struct lull_instant last_at)
{
    backoff->started_at = last_at;
    forget_wait(backoff);
}

struct lull_instant backoff_on_failed(struct backoff *backoff, struct lull_instant now)
{
    return backoff_next_at(backoff, now);
}

void backoff_on_settings(struct backoff *backoff)
{
    forget_wait(backoff);
}

void backoff_on_call_completed(struct backoff *backoff)
{
    backoff->has_completed_call = true;
}

struct lull_instant backoff_on_connection_lost(struct backoff *backoff, struct lull_instant now)
{
    return backoff_next_at(backoff, now);
}

struct lull_instant backoff_reset(struct backoff *backoff, struct lull_instant now)
{
    forget_wait(backoff);
    return backoff_next_at(backoff, now);
}

struct lull_instant backoff_next_at(const struct backoff *backoff, struct lull_instant now)
{
    struct lull_instant at = later(now, backoff->wait_at);
    if (backoff->has_completed_call) {
        return at;
    }
    return later(at, lull_instant_add(backoff->started_at, backoff->options.spacing_ns));
}
