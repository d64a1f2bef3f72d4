/* SPDX-License-Identifier: MIT */
/**
 * @file timer.h
 * One timer in an executor's timer queue. Arming and disarming cannot fail: the queue's slot is
 * reserved by init. Most users want a Rescheduler (rescheduler.h), which arms far less often.
 *
 * "In context": in a callback of its executor, or between lull_executor_enter and _leave
 * (executor.h).
 */
#ifndef LULL_TIMER_H
#define LULL_TIMER_H

#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_executor;
struct lull_timer;

/** Called in a turn of the timer's executor, once per arming, never before the armed instant. Since
 * 0.1. */
typedef void (*lull_timer_fn)(struct lull_timer *timer, struct lull_instant now);

/** A timer, embedded in what it times. Fields are private. Layout not stable before 1.0. Since 0.1.
 */
struct lull_timer {
    struct lull_instant at;         /* LULL_NEVER: not armed */
    struct lull_executor *executor; /* NULL before init and after fini */
    uint32_t slot;                  /* index in the heap, or one of the marks in time/timerq.h */
    uint64_t seq;                   /* order among equal instants; of a due one, what comes before it */
    struct lull_timer *next;        /* of the list of due timers */
    lull_timer_fn expired;
};

/**
 * Makes a timer of zeroed or raw memory and reserves its slot.
 * @param executor [borrow] outlives the timer
 * @param expired what to call; may arm, disarm and fini this and other timers
 * @return LULL_OK or LULL_RC_NOMEM. In context (executor.h) or before the executor's first turn.
 * Since 0.1.
 */
LULL_API int lull_timer_init(struct lull_timer *timer, struct lull_executor *executor,
                             lull_timer_fn expired);

/** Disarms and gives the slot back. Harmless on zeroed memory and the second time. In context.
 * Since 0.1. */
LULL_API void lull_timer_fini(struct lull_timer *timer);

/** Arms for `at`, replacing an earlier arming; LULL_NEVER disarms. An instant in the past is due
 * next turn. In context. Since 0.1. */
LULL_API void lull_timer_arm(struct lull_timer *timer, struct lull_instant at);

/** Takes the timer out of the queue at once; it does not fire, even when it was due in this very
 * turn. In context. Since 0.1. */
LULL_API void lull_timer_disarm(struct lull_timer *timer);

/** True from arming until it fires or is disarmed. In context. Since 0.1. */
LULL_API bool lull_timer_is_armed(const struct lull_timer *timer);

#ifdef __cplusplus
}
#endif

#endif
