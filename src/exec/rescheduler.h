/* SPDX-License-Identifier: MIT */
/*
 * The Rescheduler's hot path for the files of exec/ that have asserted the context already.
 *
 * Decides: what lull/rescheduler.h says about set and soft cancel. Called by rescheduler.c and
 * lane.c.
 */
#ifndef EXEC_RESCHEDULER_H
#define EXEC_RESCHEDULER_H

#include "exec/executor_parts.h"
#include "lull/rescheduler.h"
#include "time/timerq.h"

static inline void rescheduler_cancel(struct lull_rescheduler *r)
{
    r->run_at = lull_at(LULL_NEVER);
}

/* `at` is not LULL_NEVER. */
static inline void rescheduler_set(struct lull_rescheduler *r, struct lull_instant at)
{
    r->run_at = at;
    /* The armed instant is LULL_NEVER while nothing is armed. One that is due in the pass under way
     * fires in it: nothing is sooner. */
    if (lull_instant_before(at, r->timer.at) && r->timer.slot != TIMERQ_SLOT_DUE) {
        timerq_arm(&r->timer.executor->timers, &r->timer, at);
    }
}

#endif
