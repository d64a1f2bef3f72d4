/* SPDX-License-Identifier: MIT */
/*
 * The phases and instants of conn_age.h: idleness, age, drain, grace. Called by the server's glue.
 * Must not know chance (the draw is an argument), frames or why a stream ended.
 *
 * A stream's opening and end are a count and a store: the timer is left where it is and looks again
 * when it expires.
 */
#include "policy/conn_age.h"

/* A9: a tenth either way. */
#define AGE_JITTER 0.1

static int64_t jittered(int64_t ns, double unit)
{
    if (ns == LULL_NEVER) {
        return LULL_NEVER;
    }
    double product = (double)ns * (1.0 + AGE_JITTER * (2.0 * unit - 1.0)) + 0.5;
    /* LULL_NEVER rounds to 2^63, the first value that does not fit. */
    return product < (double)LULL_NEVER ? (int64_t)product : LULL_NEVER;
}

static struct lull_instant earlier(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(b, a) ? b : a;
}

static struct lull_instant later(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(a, b) ? b : a;
}

/* A limit that may be off, by 0 or less, and has a floor. */
static int64_t effective_ns(int64_t ns, bool allow_short_timers)
{
    if (ns <= 0) {
        return LULL_NEVER;
    }
    return ns < CONN_AGE_MIN_NS && !allow_short_timers ? CONN_AGE_MIN_NS : ns;
}

static int64_t grace_or_never(int64_t ns)
{
    return ns < 0 ? LULL_NEVER : ns;
}

static struct lull_instant idle_at(const struct conn_age *age)
{
    if (age->streams > 0) {
        return lull_at(LULL_NEVER);
    }
    return lull_instant_add(age->idle_from, age->options.max_idle_ns);
}

static struct conn_age_step answer(const struct conn_age *age, enum conn_age_action action)
{
    struct conn_age_step step = {action, conn_age_next_at(age)};
    return step;
}

static struct conn_age_step drain(struct conn_age *age, enum conn_age_reason reason,
                                  struct lull_instant now)
{
    age->phase = CONN_AGE_DRAINING;
    age->reason = reason;
    age->drain_at = now;
    age->close_at = lull_instant_add(later(age->age_at, now), age->options.max_age_grace_ns);
    return answer(age, CONN_AGE_DRAIN);
}

static struct conn_age_step close_now(struct conn_age *age, enum conn_age_action action)
{
    age->phase = CONN_AGE_CLOSED;
    return answer(age, action);
}

static struct conn_age_step last_goaway(struct conn_age *age, struct lull_instant now)
{
    if (age->streams == 0 || !lull_instant_before(now, age->close_at)) {
        return close_now(age, CONN_AGE_GOAWAY_AND_CLOSE);
    }
    age->phase = CONN_AGE_DRAINED;
    return answer(age, CONN_AGE_LAST_GOAWAY);
}

void conn_age_options_init(struct conn_age_options *options)
{
    options->max_idle_ns = LULL_NEVER;
    options->max_age_ns = LULL_NEVER;
    options->max_age_grace_ns = LULL_NEVER;
    options->drain_limit_ns = CONN_AGE_DRAIN_LIMIT_DEFAULT_NS;
    options->allow_short_timers = false;
}

void conn_age_init(struct conn_age *age, const struct conn_age_options *options)
{
    age->options = *options;
    age->options.max_idle_ns = effective_ns(options->max_idle_ns, options->allow_short_timers);
    age->options.max_age_ns = effective_ns(options->max_age_ns, options->allow_short_timers);
    age->options.max_age_grace_ns = grace_or_never(options->max_age_grace_ns);
    age->options.drain_limit_ns = options->drain_limit_ns > 0 ? options->drain_limit_ns : 0;
    age->age_at = lull_at(LULL_NEVER);
    age->idle_from = lull_at(INT64_MIN);
    age->drain_at = lull_at(INT64_MIN);
    age->close_at = lull_at(LULL_NEVER);
    age->streams = 0;
    age->phase = CONN_AGE_CLOSED;
    age->reason = CONN_AGE_NOT_DRAINING;
}

struct conn_age_step conn_age_on_opened(struct conn_age *age, double unit, struct lull_instant now)
{
    age->phase = CONN_AGE_OPEN;
    age->idle_from = now;
    age->age_at = lull_instant_add(now, jittered(age->options.max_age_ns, unit));
    return answer(age, CONN_AGE_NONE);
}

struct conn_age_step conn_age_on_closed(struct conn_age *age)
{
    return close_now(age, CONN_AGE_NONE);
}

struct conn_age_step conn_age_on_stream_opened(struct conn_age *age)
{
    age->streams++;
    return answer(age, CONN_AGE_NONE);
}

struct conn_age_step conn_age_on_stream_closed(struct conn_age *age, struct lull_instant now)
{
    if (age->streams > 0) {
        age->streams--;
        age->idle_from = now;
        if (age->streams == 0 && age->phase == CONN_AGE_DRAINED) {
            return close_now(age, CONN_AGE_CLOSE);
        }
    }
    return answer(age, CONN_AGE_NONE);
}

struct conn_age_step conn_age_on_drain_acked(struct conn_age *age, struct lull_instant now)
{
    if (age->phase != CONN_AGE_DRAINING) {
        return answer(age, CONN_AGE_NONE);
    }
    return last_goaway(age, now);
}

struct conn_age_step conn_age_on_shutdown(struct conn_age *age, int64_t grace_ns,
                                          struct lull_instant now)
{
    const struct lull_instant wanted_at = lull_instant_add(now, grace_or_never(grace_ns));
    const bool was_open = age->phase == CONN_AGE_OPEN;
    if (was_open) {
        (void)drain(age, CONN_AGE_SHUTDOWN, now);
    }
    age->close_at = earlier(age->close_at, wanted_at);
    return was_open ? answer(age, CONN_AGE_DRAIN) : conn_age_on_timer(age, now);
}

struct conn_age_step conn_age_on_timer(struct conn_age *age, struct lull_instant now)
{
    struct lull_instant due_at = conn_age_next_at(age);
    if (due_at.ns == LULL_NEVER || lull_instant_before(now, due_at)) {
        return answer(age, CONN_AGE_NONE);
    }
    switch (age->phase) {
    case CONN_AGE_OPEN: {
        bool is_idle_first = lull_instant_before(idle_at(age), age->age_at);
        return drain(age, is_idle_first ? CONN_AGE_MAX_IDLE : CONN_AGE_MAX_AGE, now);
    }
    case CONN_AGE_DRAINING:
        return last_goaway(age, now);
    default:
        return close_now(age, CONN_AGE_CLOSE);
    }
}

struct lull_instant conn_age_next_at(const struct conn_age *age)
{
    switch (age->phase) {
    case CONN_AGE_OPEN:
        return earlier(idle_at(age), age->age_at);
    case CONN_AGE_DRAINING:
        return earlier(lull_instant_add(age->drain_at, age->options.drain_limit_ns), age->close_at);
    case CONN_AGE_DRAINED:
        return age->close_at;
    default:
        return lull_at(LULL_NEVER);
    }
}

const char *conn_age_reason_text(enum conn_age_reason reason)
{
    switch (reason) {
    case CONN_AGE_MAX_IDLE:
        return "max_idle";
    case CONN_AGE_MAX_AGE:
        return "max_age";
    case CONN_AGE_SHUTDOWN:
        return "shutdown";
    default:
        return "";
    }
}
