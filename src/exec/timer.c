/* SPDX-License-Identifier: MIT */
/*
 * Timers of an executor (lull/timer.h).
 *
 * Decides: that timers are touched in context only. The order among them is the timer queue's
 * affair (time/timerq.h), their running the turn's.
 */
#include "lull/timer.h"

#include <string.h>

#include "base/cold.h"
#include "base/invariant.h"
#include "exec/executor_parts.h"
#include "time/timerq.h"

static inline bool may_touch(const struct lull_timer *timer)
{
    return timer->executor != NULL && executor_is_here(timer->executor);
}

/* Apart, so that a timer whose slot is there saves no registers for it. */
static LULL_NOT_INLINE int reserve(struct lull_timer *timer)
{
    const int rc = timerq_reserve(&timer->executor->timers);
    if (rc != LULL_OK) {
        timer->executor = NULL;
    }
    return rc;
}

int lull_timer_init(struct lull_timer *timer, struct lull_executor *executor, lull_timer_fn expired)
{
    LULL_INVARIANT(executor_is_here(executor) || executor->counters.turns == 0,
                   "a timer is made outside the context");
    memset(timer, 0, sizeof(*timer));
    timer->slot = TIMERQ_SLOT_IDLE;
    timer->at = lull_at(LULL_NEVER);
    timer->expired = expired;
    timer->executor = executor;
    return timerq_reserve_at_hand(&executor->timers) ? LULL_OK : reserve(timer);
}

void lull_timer_fini(struct lull_timer *timer)
{
    if (timer->executor == NULL) {
        return;
    }
    LULL_INVARIANT(may_touch(timer), "a timer is ended outside the context");
    if (timerq_is_armed(timer)) {
        timerq_disarm(&timer->executor->timers, timer);
    }
    timerq_unreserve(&timer->executor->timers);
    timer->executor = NULL;
}

void lull_timer_arm(struct lull_timer *timer, struct lull_instant at)
{
    LULL_INVARIANT(may_touch(timer), "a timer is armed outside the context");
    if (at.ns == LULL_NEVER) {
        timerq_disarm(&timer->executor->timers, timer);
    } else {
        timerq_arm(&timer->executor->timers, timer, at);
    }
}

void lull_timer_disarm(struct lull_timer *timer)
{
    LULL_INVARIANT(may_touch(timer), "a timer is disarmed outside the context");
    timerq_disarm(&timer->executor->timers, timer);
}

bool lull_timer_is_armed(const struct lull_timer *timer)
{
    return timer->executor != NULL && timerq_is_armed(timer);
}
