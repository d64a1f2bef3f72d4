/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop where there is no epoll (configure --with-loop=poll): poll(2) and a pipe, opened when first needed.
 *
 * Decides: when to sleep, and for how long; what is heard before the turn. Called through the seam of lull/loop.h. Must not know who
 * watches what.
 *
 * Its timer is the poll's timeout, in whole milliseconds and rounded up. It is run, or driven by nobody: what it watches is a list
 * of this process and no descriptor, so it cannot be nested (lull_loop_fd is -1). A host that has a loop of its own fills a
 * lull_loop_ops instead.
 */
#ifndef LOOP_LOOP_POLL_H
#define LOOP_LOOP_POLL_H

#include <poll.h>

#include "loop/loop_pipe.h"
#include "lull/loop.h"

struct loop_poll {
    struct lull_loop base;
    const struct lull_allocator *allocator; /* of this struct and its lists */
    struct loop_pipe wake;
    struct lull_watch **watches; /* in no order; a watch's `host` is its place, from 1 */
    size_t count, capacity;
    struct pollfd *polled; /* what the poll sees: the pipe, then the watches as they were */
    size_t polled_capacity;
    size_t listed;           /* of `watches`, for the poll under way */
    unsigned listed_changes; /* `changes` then */
    unsigned changes;             /* of `watches`; atomic: another thread may run a turn while we sleep */
    struct lull_instant alarm_at; /* LULL_NEVER: none */
    unsigned char is_polling;     /* what is watched from now on needs a wake to be seen; atomic */
    unsigned char is_due;         /* a turn was asked for; atomic */
    bool is_alarm_due;            /* a turn was asked for by an alarm that was due when it was set */
};

#endif
