/* SPDX-License-Identifier: MIT */
/**
 * @file rescheduler.h
 * A deadline that is pushed out far more often than it is reached. One timer stays armed; pushing
 * the deadline out is one store; when the timer fires early it re-arms for what is left.
 *
 * "In context": in a callback of its executor, or between lull_executor_enter and _leave
 * (executor.h).
 */
#ifndef LULL_RESCHEDULER_H
#define LULL_RESCHEDULER_H

#include <lull/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_rescheduler;

/** Called in a turn, once per time the deadline is reached; not enabled any more, so it may set
 * again. Since 0.1. */
typedef void (*lull_rescheduler_fn)(struct lull_rescheduler *rescheduler, struct lull_instant now);

/** A Rescheduler, embedded in its owner. Fields are private. Layout not stable before 1.0. Since
 * 0.1. */
struct lull_rescheduler {
    struct lull_instant run_at; /* LULL_NEVER: not enabled. Beside the timer's first fields: a push looks at no more */
    struct lull_timer timer;
    lull_rescheduler_fn expired;
};

/** Reserves its timer. @param executor [borrow] outlives it. @return LULL_OK or LULL_RC_NOMEM. As
 * lull_timer_init. Since 0.1. */
LULL_API int lull_rescheduler_init(struct lull_rescheduler *r, struct lull_executor *executor,
                                   lull_rescheduler_fn expired);

/** Disarms and gives the timer back. Harmless on zeroed memory and the second time. In context.
 * Since 0.1. */
LULL_API void lull_rescheduler_fini(struct lull_rescheduler *r);

/**
 * Sets the deadline and enables it. Touches the timer queue only when nothing is armed or `at`
 * comes before the armed instant. LULL_NEVER is a soft cancel. In context (asserted). Since 0.1.
 */
LULL_API void lull_rescheduler_set(struct lull_rescheduler *r, struct lull_instant at);

/** Soft cancel: it will not run; the armed timer is left to the next set, or dies quietly when it
 * fires. In context. Since 0.1. */
LULL_API void lull_rescheduler_cancel(struct lull_rescheduler *r);

/** Hard cancel: it will not run and its timer leaves the queue now. In context. Since 0.1. */
LULL_API void lull_rescheduler_disarm(struct lull_rescheduler *r);

/** True while a deadline is set that has not been reached. In context. Since 0.1. */
LULL_API bool lull_rescheduler_is_enabled(const struct lull_rescheduler *r);

/** True while its timer is in the queue, enabled or not. In context. Since 0.1. */
LULL_API bool lull_rescheduler_is_armed(const struct lull_rescheduler *r);

/** The deadline, LULL_NEVER when not enabled. In context. Since 0.1. */
LULL_API struct lull_instant lull_rescheduler_run_at(const struct lull_rescheduler *r);

/** The instant its timer is armed for, LULL_NEVER when not armed. In context. Since 0.1. */
LULL_API struct lull_instant lull_rescheduler_armed_at(const struct lull_rescheduler *r);

#ifdef __cplusplus
}
#endif

#endif
