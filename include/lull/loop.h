/* SPDX-License-Identifier: MIT */
/**
 * @file loop.h
 * The loop seam, four verbs that a host's event loop owes us, and a small loop of our own that can
 * be run, nested as one fd, or replaced.
 *
 * Built-in loop, three ways to use it: lull_loop_run; or poll lull_loop_fd in your own loop and
 * call lull_loop_dispatch when it is readable; or fill a lull_loop_ops for yours. Nobody driving
 * means no progress, replies to pings included.
 *
 * "What drives", in all headers: lull_loop_run, _run_once, _dispatch and _flush, a host's lull_loop_on_alarm, lull_executor_turn and
 * _turn_now. Each runs turns, and no turn runs inside a turn: in a callback they return LULL_RC_IN_TURN. So do lull_executor_enter,
 * lull_loop_join and lull_sync_unary. Nor may a callback free its loop (lull_loop_free, _fini). All else may be called in one.
 */
#ifndef LULL_LOOP_H
#define LULL_LOOP_H

#include <lull/allocator.h>
#include <lull/clock.h>
#include <lull/executor.h>
#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_loop;
struct lull_loop_thread;
struct lull_watch;

/** What a file descriptor is watched for, and what it is ready for. Since 0.1. */
enum lull_io_want { LULL_WANT_NONE = 0, LULL_WANT_READ = 1, LULL_WANT_WRITE = 2 };

/** One watched file descriptor, embedded in its owner. Layout not stable before 1.0. Since 0.1. */
struct lull_watch {
    int fd;
    unsigned want;             /**< what is being watched now; kept by the library: a host need not */
    unsigned ready;            /**< what was reported and not yet taken by the owner */
    struct lull_task on_ready; /**< put on the executor's ready list by lull_watch_ready */
    void *host;                /**< for the loop's own use */
    struct lull_watch *next_watched;  /**< private */
    struct lull_watch **at_watched;   /**< private: where it stands in the loop's list, NULL: it is in none */
};

/** The seam. `soon` and `run_once` may be NULL. Called in context, except `run_once`, and `wake` on a thread that does not drive.
 * A turn inside a verb other than `run_once` is refused (LULL_RC_IN_TURN), and asked for again. Since 0.1. */
struct lull_loop_ops {
    /** Watch w->fd (level-triggered) for `want`, replacing what was wanted; NONE forgets it. 0 or
     * an errno. */
    int (*watch)(struct lull_loop *loop, struct lull_watch *w, unsigned want);
    /** Call lull_loop_on_alarm at `at` (LULL_NEVER: no alarm is needed). Replaces the last alarm. 0, or an errno when the host
     * refuses: then the last alarm stands, and what was to happen before it fails. Asked only when the next instant moved
     * earlier, or the last alarm is over. */
    int (*alarm)(struct lull_loop *loop, struct lull_instant at);
    /** Run a turn soon, asked for from any thread. */
    void (*wake)(struct lull_loop *loop);
    /** Run a turn before the host sleeps again, asked for on the driving thread. NULL: wake. */
    void (*soon)(struct lull_loop *loop);
    /** Wait for events up to `until` and run a turn. 0 or an errno. */
    int (*run_once)(struct lull_loop *loop, struct lull_instant until);
};

/** A loop. A host embeds this as its first field and calls lull_loop_init. Since 0.1. */
struct lull_loop {
    const struct lull_loop_ops *ops;
    struct lull_executor
        *executor; /**< made by lull_loop_init or lull_loop_new; owned by the loop */
    const char *name;
    unsigned char *fork_mark; /**< private */
    int owner_pid; /**< private: the process whose descriptors it has, 0: it has none yet; atomic */
    unsigned char is_stopping; /**< private: lull_loop_stop was called; atomic */
    struct lull_loop_thread *thread; /**< private: of lull_loop_start, in context */
    struct lull_watch *watched;      /**< private: what a forked child has to close */
};

/** Makes the executor of a host's loop. @param options [borrow, nullable]. @return as
 * lull_executor_new. Since 0.1. */
LULL_API int lull_loop_init(struct lull_loop *loop, const struct lull_loop_ops *ops,
                            const char *name, const struct lull_executor_options *options);

/** Runs the work that waits (frees, last callbacks), then frees the executor of a host's loop;
 * channels on it must be gone. Not in a callback. Since 0.1. */
LULL_API void lull_loop_fini(struct lull_loop *loop);

/** A host tells that w->fd is ready for `ready`; the owner runs in the next turn. Driving thread,
 * outside a turn or inside run_once. Since 0.1. */
LULL_API void lull_watch_ready(struct lull_loop *loop, struct lull_watch *w, unsigned ready);

/**
 * A host tells that its alarm went off: forgets the alarm that stands and runs a turn at the clock's now. Too early, too late,
 * once more, for an alarm that was replaced, or from inside `alarm` or a callback it is harmless: what is still needed is asked
 * for again, at the end of that turn or of the one under way. Turns for other reasons are lull_executor_turn_now's, and leave
 * the alarm standing.
 * @return LULL_OK, LULL_RC_IN_TURN inside a turn, LULL_RC_UNSUPPORTED in a forked child. Driving thread. Since 0.3.
 */
LULL_API int lull_loop_on_alarm(struct lull_loop *loop);

/** Makes the built-in loop (epoll, one timerfd, one eventfd, or poll and a pipe; opened when first needed). @param
 * options [borrow, nullable]. @param out [own]. @return LULL_OK or a code. Since 0.1. */
LULL_API int lull_loop_new(const struct lull_executor_options *options, struct lull_loop **out);

/**
 * Runs the work that waits (frees, last callbacks), then frees the built-in loop; channels on it
 * must be gone (asserted); NULL is harmless. A thread of lull_loop_start is joined first. In a child that was forked it only closes the child's
 * copies of the descriptors. Not in a callback. Since 0.1.
 */
LULL_API void lull_loop_free(struct lull_loop *loop);

/**
 * Runs turns until lull_loop_stop; a stop that came before it makes it return at once. @return
 * LULL_OK, LULL_RC_IN_TURN in a callback, LULL_RC_SYSTEM, LULL_RC_UNSUPPORTED (a host's loop
 * without run_once; a forked child's copy). Driving thread. Since 0.1.
 */
LULL_API int lull_loop_run(struct lull_loop *loop);

/**
 * Waits until something is ready or due, `timeout_ns` at most (0: not at all, LULL_NEVER: for
 * ever), and runs one turn.
 * @return as lull_loop_run. Driving thread. Since 0.1.
 */
LULL_API int lull_loop_run_once(struct lull_loop *loop, int64_t timeout_ns);

/** Makes lull_loop_run return after the turn under way. Any thread, callbacks and signal handlers
 * included. Since 0.1. */
LULL_API void lull_loop_stop(struct lull_loop *loop);

/**
 * Runs the built-in loop on a thread of its own, for progress while nobody calls: pings are answered, timers fire, an idle channel falls
 * idle. Callbacks come on that thread, or on one that blocks (sync.h). It has every signal blocked but those of its own faults.
 * lull_loop_stop ends its run, lull_loop_join takes it back, and lull_loop_free joins it first. The loop of a channel that has its own
 * (lull_channel_loop) may be started too, and is joined before the last reference to that channel is given back (asserted).
 * @return LULL_OK; LULL_RC_STATE (started already, and not joined), LULL_RC_UNSUPPORTED (a host's loop; a forked child's copy, in which
 *   it does not run), LULL_RC_NOMEM, LULL_RC_SYSTEM (no thread to be had). Any thread, callbacks included. Since 0.3.
 */
LULL_API int lull_loop_start(struct lull_loop *loop);

/**
 * Ends the thread of lull_loop_start after its turn under way and waits for that; it may have ended by lull_loop_stop before.
 * @return how its run ended: LULL_OK, or LULL_RC_SYSTEM (the loop could not be opened or polled). Else nothing was done:
 *   LULL_RC_STATE (not started, or another thread joins it), LULL_RC_IN_TURN in a callback, LULL_RC_UNSUPPORTED in a forked child. Any
 *   thread. Since 0.3.
 */
LULL_API int lull_loop_join(struct lull_loop *loop);

/**
 * One fd for a host's poll (level-triggered): readable when lull_loop_dispatch has work. Ask for it
 * before you first poll; what was started earlier makes it readable too. -1: a host's loop, a built-in one on poll (configure
 * --with-loop=poll; fill a lull_loop_ops there), or no descriptor is left (ask again). Driving thread. Since 0.1.
 */
LULL_API int lull_loop_fd(struct lull_loop *loop);

/** Handles all that is ready now, without waiting. @return as lull_loop_run. Driving thread. Since
 * 0.1. */
LULL_API int lull_loop_dispatch(struct lull_loop *loop);

/**
 * Puts what was started, sent or cancelled outside a turn on the wire, now. A quiet turn: it runs no callback of yours but trace
 * hooks, reads nothing and judges no timer; all that waits for the next turn, which the loop is asked for.
 * @return LULL_OK, LULL_RC_IN_TURN in a callback, LULL_RC_UNSUPPORTED in a forked child. Driving thread. Since 0.1.
 */
LULL_API int lull_loop_flush(struct lull_loop *loop);

/**
 * True in a child that was forked after the loop opened its descriptors, or after lull_loop_init. The kernel's side of them is
 * the parent's: the child closes its copies, writes nothing and changes no registration. For verbs of a host's loop, which ask
 * before they do. A load where the kernel helps. A child gives its copies back on one thread. If another thread of the parent was inside a
 * turn when the child was forked, that is all that happens: what was under way is left as it is, memory included. Any thread. Since 0.3.
 */
LULL_API bool lull_loop_is_forked(const struct lull_loop *loop);

/** Its executor [borrow], as long as the loop is there. Any thread. Since 0.1. */
LULL_API struct lull_executor *lull_loop_executor(const struct lull_loop *loop);

#ifdef __cplusplus
}
#endif

#endif
