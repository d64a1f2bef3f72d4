/* SPDX-License-Identifier: MIT */
/*
 * What the layers above may ask of any loop beyond lull/loop.h.
 *
 * Decides: what NULL verbs mean. Called by net/, h2/ and channel/. Must not
 * know which loop it is.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "loop/loop_fork.h"
#include "lull/loop.h"
#include "lull/world.h"

/* `until` of run_once that never waits. */
#define LOOP_UNTIL_NOW INT64_MIN

/* lull_loop_init without the rule that a host's loop is taken for asleep between turns: for a loop
 * that says itself when it sleeps. */
int loop_init_telling(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                      const struct lull_executor_options *options);

/* A built-in loop that is freed when the last of its keepers goes (exec/executor.h); the caller is the first. */
int loop_new_kept(const struct lull_executor_options *options, struct lull_loop **out);

/* The same loop while this thread is on its way through it, out of context; NULL: nobody counts its keepers. */
struct lull_loop *loop_keep(struct lull_loop *loop);

/* What a channel or a server makes of its options: a copy of `given` [nullable] in *world, with one loop, `loop`'s or its own, else
 * `fallback` [nullable], and the clock of that loop. Two loops, two clocks or no loop: LULL_RC_INVALID and its reason. */
int loop_settle_world(const struct lull_world *given, struct lull_loop *loop, struct lull_loop *fallback,
                      struct lull_world *world, struct lull_error *error);

/* Gives it back [nullable]; the last one frees the loop. Out of context. */
void loop_unkeep(struct lull_loop *loop);

/* A channel gives back a loop of its own, if it has one, to whoever keeps it too: its thread was joined. */
void loop_unkeep_not_last(struct lull_loop *loop);

/* What waits on a loop [nullable] that nobody drives is done now: closing a channel takes no longer than that. A thread that polls does it
 * instead, and a turn that is under way is not waited for: whoever runs it comes by here before it leaves. In a
 * forked child there is nobody to wait for. Out of context. */
void loop_settle(struct lull_loop *loop);

/* In a child that was forked, where a loop's keepers may be threads that it does not have: closes the child's copies of all that is open,
 * and of the loop itself. What is freed later closes nothing twice. */
void loop_close_copies(struct lull_loop *loop);

/* lull_loop_run, which also returns when *is_ending (atomic, [nullable]) is set in context, the drivers are told and the loop is woken. */
int loop_run_until_ending(struct lull_loop *loop, const unsigned char *is_ending);

/* Before a poll, in context: drivers that wait for it hear that the loop is stopped. */
void loop_tell_stop(struct lull_loop *loop);

/* The one way to the verb `watch`: keeps w->want, so that no host has to. What is forgotten is wanted by nobody, whatever the host
 * says. 0 or an errno. */
static inline int loop_watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    const int err = loop->ops->watch(loop, w, want);

    if (err == 0 || want == LULL_WANT_NONE) {
        w->want = want;
        if (want == LULL_WANT_NONE && w->at_watched != NULL) {
            loop_fork_unlist(w);
        } else if (want != LULL_WANT_NONE && w->at_watched == NULL) {
            loop_fork_list(loop, w);
        }
    }
    return err;
}

/* Runs a turn before the host sleeps again. Driving thread. */
static inline void loop_soon(struct lull_loop *loop)
{
    if (loop->ops->soon != NULL) {
        loop->ops->soon(loop);
    } else {
        loop->ops->wake(loop);
    }
}

#endif
