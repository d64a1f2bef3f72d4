/* SPDX-License-Identifier: MIT */
/*
 * What the layers above may ask of any loop beyond lull/loop.h.
 *
 * Decides: what a fork means and what NULL verbs mean. Called by net/, h2/ and channel/. Must not
 * know which loop it is.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "lull/loop.h"

/* `until` of run_once that never waits. */
#define LOOP_UNTIL_NOW INT64_MIN

/*
 * True in a child that was forked after the loop opened its descriptors. The kernel's side of them
 * is the parent's: the child closes its copies, writes nothing and changes no registration. A load
 * where the kernel helps (loop_fork.h). Any thread.
 */
bool loop_is_forked(const struct lull_loop *loop);

/* lull_loop_init without the rule that a host's loop is taken for asleep between turns: for a loop
 * that says itself when it sleeps. */
int loop_init_telling(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                      const struct lull_executor_options *options);

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
