/* SPDX-License-Identifier: MIT */
/*
 * Decides when a channel falls idle and which call wakes it. Called by the channel's idle glue (and
 * by users with a transport of their own), which owns the Rescheduler. Must not know transports,
 * resolvers or why a call ended.
 *
 * There is no timer operation on the path of a call: a start answers LULL_NEVER (a soft cancel) and
 * an end answers an instant further out than the one armed (one store). grpc-java #4297 is why.
 */
#include "lull/idle.h"

static struct lull_idle_step rest(const struct lull_idle *idle)
{
    struct lull_idle_step step = {LULL_IDLE_NONE, lull_idle_next_at(idle)};
    return step;
}

static struct lull_idle_step order(enum lull_idle_action action)
{
    struct lull_idle_step step = {action, lull_at(LULL_NEVER)};
    return step;
}

void lull_idle_init(struct lull_idle *idle, int64_t timeout_ns, bool allow_short_timers)
{
    if (timeout_ns <= 0) {
        timeout_ns = LULL_NEVER;
    } else if (timeout_ns < LULL_IDLE_TIMEOUT_MIN_NS && !allow_short_timers) {
        timeout_ns = LULL_IDLE_TIMEOUT_MIN_NS;
    }
    idle->timeout_ns = timeout_ns;
    idle->last_end_at = lull_at(INT64_MIN);
    idle->calls = 0;
    idle->is_idle = true;
}

struct lull_idle_step lull_idle_on_call_started(struct lull_idle *idle)
{
    idle->calls++;
    if (idle->is_idle) {
        /* Also when calls survived an explicit entering: they keep their streams, this one needs a
         * new connection. */
        idle->is_idle = false;
        return order(LULL_IDLE_WAKE);
    }
    return rest(idle);
}

struct lull_idle_step lull_idle_on_call_ended(struct lull_idle *idle, struct lull_instant now)
{
    if (idle->calls > 0) {
        idle->calls--;
        idle->last_end_at = now;
    }
    return rest(idle);
}

struct lull_idle_step lull_idle_on_woken(struct lull_idle *idle, struct lull_instant now)
{
    if (idle->is_idle) {
        idle->is_idle = false;
        idle->last_end_at = now;
    }
    return rest(idle);
}

struct lull_idle_step lull_idle_on_entered_idle(struct lull_idle *idle)
{
    idle->is_idle = true;
    return rest(idle);
}

struct lull_idle_step lull_idle_on_timer(struct lull_idle *idle, struct lull_instant now)
{
    struct lull_instant due_at = lull_idle_next_at(idle);
    if (due_at.ns == LULL_NEVER || lull_instant_before(now, due_at)) {
        return rest(idle);
    }
    idle->is_idle = true;
    return order(LULL_IDLE_ENTER);
}

struct lull_instant lull_idle_next_at(const struct lull_idle *idle)
{
    if (idle->is_idle || idle->calls > 0) {
        return lull_at(LULL_NEVER);
    }
    return lull_instant_add(idle->last_end_at, idle->timeout_ns);
}

int64_t lull_idle_left_ns(const struct lull_idle *idle, struct lull_instant now)
{
    if (idle->is_idle) {
        return 0;
    }
    int64_t left_ns = lull_instant_diff(lull_idle_next_at(idle), now);
    return left_ns > 0 ? left_ns : 0;
}

int64_t lull_idle_timeout_ns(const struct lull_idle *idle)
{
    return idle->timeout_ns;
}

bool lull_idle_is_idle(const struct lull_idle *idle)
{
    return idle->is_idle;
}

uint64_t lull_idle_calls(const struct lull_idle *idle)
{
    return idle->calls;
}
