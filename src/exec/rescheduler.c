/* SPDX-License-Identifier: MIT */
/*
 * The Rescheduler (lull/rescheduler.h).
 *
 * Decides: when the timer queue is touched at all. The deadline is a field; the timer stands at or
 * before it, and when it fires early it is armed for what is left. A new deadline is compared with
 * the armed instant, not with the old deadline (RULINGS 2): the runs are the same, and a
 * cancellation is traded for an early wake-up. Used by the glue files, one per policy, in context.
 *
 * A due timer runs inside the turn, so "fired but not run yet" lasts only within one due pass, where
 * the queue still lets it be disarmed: no generation has to tell a stale firing from a good one.
 */
#include "exec/rescheduler.h"

#include "base/container.h"
#include "base/invariant.h"
#include "exec/executor_parts.h"
#include "time/timerq.h"

static inline bool may_touch(const struct lull_rescheduler *r)
{
    return r->timer.executor != NULL && executor_is_here(r->timer.executor);
}

static void fired(struct lull_timer *timer, struct lull_instant now)
{
    struct lull_rescheduler *r = container_of(timer, struct lull_rescheduler, timer);
    if (lull_instant_before(now, r->run_at)) {
        /* So a soft-cancelled timer dies. */
        if (r->run_at.ns != LULL_NEVER) {
            timerq_arm(&timer->executor->timers, timer, r->run_at);
        }
        return;
    }
    r->run_at = lull_at(LULL_NEVER);
    /* The last use of r: the callback may fini it. */
    r->expired(r, now);
}

int lull_rescheduler_init(struct lull_rescheduler *r, struct lull_executor *executor,
                          lull_rescheduler_fn expired)
{
    r->run_at = lull_at(LULL_NEVER);
    r->expired = expired;
    return lull_timer_init(&r->timer, executor, fired);
}

void lull_rescheduler_fini(struct lull_rescheduler *r)
{
    lull_timer_fini(&r->timer);
    r->run_at = lull_at(LULL_NEVER);
}

void lull_rescheduler_set(struct lull_rescheduler *r, struct lull_instant at)
{
    LULL_INVARIANT(may_touch(r), "a Rescheduler is set outside the context (lull_executor_enter)");
    /* LULL_NEVER is before nothing, and is what a soft cancel stores. */
    rescheduler_set(r, at);
}

void lull_rescheduler_cancel(struct lull_rescheduler *r)
{
    LULL_INVARIANT(may_touch(r), "a Rescheduler is cancelled outside the context (lull_executor_enter)");
    rescheduler_cancel(r);
}

void lull_rescheduler_disarm(struct lull_rescheduler *r)
{
    LULL_INVARIANT(may_touch(r), "a Rescheduler is disarmed outside the context (lull_executor_enter)");
    r->run_at = lull_at(LULL_NEVER);
    timerq_disarm(&r->timer.executor->timers, &r->timer);
}

bool lull_rescheduler_is_enabled(const struct lull_rescheduler *r)
{
    return r->timer.executor != NULL && r->run_at.ns != LULL_NEVER;
}

bool lull_rescheduler_is_armed(const struct lull_rescheduler *r)
{
    return lull_timer_is_armed(&r->timer);
}

struct lull_instant lull_rescheduler_run_at(const struct lull_rescheduler *r)
{
    return lull_rescheduler_is_enabled(r) ? r->run_at : lull_at(LULL_NEVER);
}

struct lull_instant lull_rescheduler_armed_at(const struct lull_rescheduler *r)
{
    return lull_timer_is_armed(&r->timer) ? r->timer.at : lull_at(LULL_NEVER);
}
