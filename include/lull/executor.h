/* SPDX-License-Identifier: MIT */
/**
 * @file executor.h
 * The serializing channel executor: everything that belongs to one loop happens in its turns, one
 * after another, each with one `now`. It owns the timer queue, the inbox and the counters. It needs
 * no thread and no loop of ours: whoever drives it asks `next_at` and calls `turn`.
 *
 * "In context" means: inside a turn of this executor, on the thread that runs it, or between
 * lull_executor_enter and _leave.
 */
#ifndef LULL_EXECUTOR_H
#define LULL_EXECUTOR_H

#include <lull/allocator.h>
#include <lull/clock.h>
#include <lull/rc.h>
#include <lull/trace.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_executor;
struct lull_loop;
struct lull_task;

/** Called in the task phase of a turn, with the turn's executor. Since 0.1. */
typedef void (*lull_task_fn)(struct lull_task *task, struct lull_executor *executor);

/** A piece of work, embedded in its owner. Fields are private. Layout not stable before 1.0. Since
 * 0.1. */
struct lull_task {
    lull_task_fn run;
    struct lull_task *prev;
    struct lull_task *next;
    struct lull_task *inbox_next;
    unsigned char queued;    /* in a local list; touched in context only */
    unsigned char submitted; /* in the inbox; atomic exchange */
    unsigned char quiet;     /* the library's own, calls nobody back: lull_loop_flush runs it */
};

/** Makes a task of raw memory. Cannot fail. Since 0.1. */
LULL_API void lull_task_init(struct lull_task *task, lull_task_fn run);

/** Options of an executor. Fill with lull_executor_options_init. In a struct of another release, from
 * 0.3, what is missing has its default, and what this one does not know has to be zero. Since 0.1. */
struct lull_executor_options {
    size_t size;
    struct lull_clock *clock;               /**< [borrow, nullable] NULL: the system's */
    const struct lull_allocator *allocator; /**< [borrow, nullable] NULL: the system's */
    uint32_t task_budget;                   /**< tasks a turn; 0: 1 024 */
};

/** Fills in the defaults. Since 0.1. */
static inline void lull_executor_options_init(struct lull_executor_options *options)
{
    options->size = sizeof(*options);
    options->clock = NULL;
    options->allocator = NULL;
    options->task_budget = 0;
}

/**
 * Makes an executor.
 * @param options [borrow, nullable] NULL: all defaults
 * @param out receives the executor, owned by the caller
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID (a size of no release, or a
 * later one's that asks for what this one does not have). Since 0.1.
 */
LULL_API int lull_executor_new(const struct lull_executor_options *options,
                               struct lull_executor **out);

/** Frees it. Every timer on it must be fini'd and no turn may run (asserted). NULL is harmless.
 * Since 0.1. */
LULL_API void lull_executor_free(struct lull_executor *executor);

/** When the next turn is due: not later than the clock's now when work is waiting, LULL_NEVER when
 * there is none. Driving thread. Since 0.1. */
LULL_API struct lull_instant lull_executor_next_at(struct lull_executor *executor);

/**
 * Runs one turn: inbox, ready endpoints, tasks, due timers, tasks, flushes, the dead.
 * @param now the instant that all of it sees; the caller has just read it from the executor's clock
 * @return LULL_OK, or LULL_RC_IN_TURN inside a turn. Driving thread. Since 0.1.
 */
LULL_API int lull_executor_turn(struct lull_executor *executor, struct lull_instant now);

/** Runs one turn at the clock's now, whether or not anything is due. As lull_executor_turn. Since
 * 0.1. */
LULL_API int lull_executor_turn_now(struct lull_executor *executor);

/**
 * Enters the context outside a turn, to set up timers and post tasks; runs nothing. @return
 * LULL_OK, or LULL_RC_IN_TURN when a turn runs or somebody is inside. Driving thread. Since 0.1.
 */
LULL_API int lull_executor_enter(struct lull_executor *executor);

/** Leaves what lull_executor_enter entered, and tells the loop when the next turn moved earlier.
 * Since 0.1. */
LULL_API void lull_executor_leave(struct lull_executor *executor);

/** True in context, on this thread. Any thread. Since 0.1. */
LULL_API bool lull_executor_in_context(const struct lull_executor *executor);

/** Queues a task behind those already queued; it runs in this turn if the budget allows, never
 * inline. One that is queued stays where it is. Cannot fail. In context. Since 0.1. */
LULL_API void lull_executor_post(struct lull_executor *executor, struct lull_task *task);

/** Takes a posted task back. @return true when it was queued and will not run. In context. Since
 * 0.1. */
LULL_API bool lull_executor_unpost(struct lull_executor *executor, struct lull_task *task);

/**
 * Hands a task over from any thread and wakes the loop if it sleeps. One that is submitted and not
 * yet taken stays where it is.
 * @return true when this call submitted it. Cannot fail. Any thread. Since 0.1.
 */
LULL_API bool lull_executor_submit(struct lull_executor *executor, struct lull_task *task);

/** The turn's now in context (read again after a user callback returned), the clock's now elsewhere
 * on the driving thread. Since 0.1. */
LULL_API struct lull_instant lull_executor_now(struct lull_executor *executor);

/** The clock it goes by. Since 0.1. */
LULL_API struct lull_clock *lull_executor_clock(const struct lull_executor *executor);

/** Copies the counters. @param out its `size` says how much of it may be filled. Driving thread.
 * Since 0.1. */
LULL_API void lull_executor_counters(const struct lull_executor *executor,
                                     struct lull_counters *out);

/** Lets a fake clock drive it (clock.h). @return as lull_fake_clock_drive. Since 0.1. */
LULL_API int lull_executor_attach(struct lull_executor *executor, struct lull_fake_clock *clock);

#ifdef __cplusplus
}
#endif

#endif
