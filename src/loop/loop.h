/* SPDX-License-Identifier: MIT */
/*
 * What the layers above may ask of any loop beyond lull/loop.h.
 *
 * Decides: what NULL verbs mean. Called by net/, h2/ and channel/. Must not
 * know which loop it is.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "lull/loop.h"

/* `until` of run_once that never waits. */
#define LOOP_UNTIL_NOW INT64_MIN

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
