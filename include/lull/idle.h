/* SPDX-License-Identifier: MIT */
/**
 * @file idle.h
 * When a channel falls idle: arithmetic only. Tell it when calls start and end; it answers what to
 * do and when to ask again. It holds no timer and reads no clock: keep one Rescheduler
 * (rescheduler.h), set it to `next_at` after every fact and ask lull_idle_on_timer when it expires.
 * A steady stream of calls then costs no timer-queue work.
 *
 * A call counts from its creation to its terminal event, while it is queued and when it fails at
 * once, too. The timeout runs from the end of the last call. Pings, resolver updates and bytes are
 * no activity.
 *
 * Nothing here can fail or allocate. Any thread, one at a time for one struct. Instants must not
 * run backwards.
 */
#ifndef LULL_IDLE_H
#define LULL_IDLE_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The idle timeout of a channel that was not told one, in ns. Since 0.1. */
#define LULL_IDLE_TIMEOUT_DEFAULT_NS (1800 * LULL_SECOND)

/** The shortest idle timeout without allow_short_timers, in ns. Since 0.1. */
#define LULL_IDLE_TIMEOUT_MIN_NS LULL_SECOND

/** What the owner must do now. Each order is given once. Since 0.1. */
enum lull_idle_action {
    LULL_IDLE_NONE = 0,  /**< nothing but setting the timer to next_at */
    LULL_IDLE_ENTER = 1, /**< fall idle: close what has no streams, and disarm the timer */
    LULL_IDLE_WAKE = 2   /**< leave idle: resolve and connect */
};

/** An answer: what to do, and when to ask on_timer (LULL_NEVER: not at all). Since 0.1. */
struct lull_idle_step {
    enum lull_idle_action action;
    struct lull_instant next_at;
};

/** The idle state of one channel. Fields are private. Layout not stable before 1.0. Since 0.1. */
struct lull_idle {
    int64_t timeout_ns;              /* effective; LULL_NEVER: off */
    struct lull_instant last_end_at; /* end of the last call, or the waking that no call caused */
    uint64_t calls;
    bool is_idle;
};

/**
 * Makes an idle channel without calls: the first call wakes it.
 * @param timeout_ns 0, negative or LULL_NEVER: it never falls idle by itself; else raised to
 * LULL_IDLE_TIMEOUT_MIN_NS
 * @param allow_short_timers no floor; for tests and demonstrations
 * Any thread. Since 0.1.
 */
LULL_API void lull_idle_init(struct lull_idle *idle, int64_t timeout_ns, bool allow_short_timers);

/** A call was created. Answers WAKE when the channel was idle; next_at is LULL_NEVER while calls
 * run. Any thread. Since 0.1. */
LULL_API struct lull_idle_step lull_idle_on_call_started(struct lull_idle *idle);

/** A call had its terminal event, whatever it was. An end without a start is ignored. Any thread.
 * Since 0.1. */
LULL_API struct lull_idle_step lull_idle_on_call_ended(struct lull_idle *idle,
                                                       struct lull_instant now);

/** The owner woke the channel without a call (somebody asked it to connect): counts as activity
 * when it was idle, else as nothing. Any thread. Since 0.1. */
LULL_API struct lull_idle_step lull_idle_on_woken(struct lull_idle *idle, struct lull_instant now);

/**
 * The owner entered idle by its own decision; after an ENTER it changes nothing. Calls that still
 * run go on and stay counted, the next one that starts wakes the channel. Calls that wait for a
 * connection at this moment need lull_idle_on_woken at once. Any thread. Since 0.1.
 */
LULL_API struct lull_idle_step lull_idle_on_entered_idle(struct lull_idle *idle);

/** The timer expired, perhaps early, late or for nothing. Answers ENTER when the timeout has passed
 * since the last call ended and none runs. Any thread. Since 0.1. */
LULL_API struct lull_idle_step lull_idle_on_timer(struct lull_idle *idle, struct lull_instant now);

/** When the channel falls idle if nothing happens: LULL_NEVER while calls run, when it is idle,
 * when the timeout is off. Any thread. Since 0.1. */
LULL_API struct lull_instant lull_idle_next_at(const struct lull_idle *idle);

/** What is left until then in ns: 0 when it is idle or overdue, LULL_NEVER while calls run or when
 * the timeout is off. Any thread. Since 0.1. */
LULL_API int64_t lull_idle_left_ns(const struct lull_idle *idle, struct lull_instant now);

/** The timeout that is in force after clamping, in ns; LULL_NEVER: off. Any thread. Since 0.1. */
LULL_API int64_t lull_idle_timeout_ns(const struct lull_idle *idle);

/** True from birth or falling idle until it is woken. Any thread. Since 0.1. */
LULL_API bool lull_idle_is_idle(const struct lull_idle *idle);

/** Calls created whose terminal event has not come. Any thread. Since 0.1. */
LULL_API uint64_t lull_idle_calls(const struct lull_idle *idle);

#ifdef __cplusplus
}
#endif

#endif
