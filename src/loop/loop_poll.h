/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop where there is no epoll (configure --with-loop=poll): poll(2) and a pipe, opened when first needed.
 *
 * Decides: what is watched and how, and what is heard before the turn; the rest is loop_builtin's. Called through the seam of lull/loop.h. Must not know who
 * watches what.
 *
 * Its timer is the poll's timeout, in whole milliseconds and rounded up. It is run, or driven by nobody: what it watches is a list
 * of this process and no descriptor, so it cannot be nested (lull_loop_fd is -1). A host that has a loop of its own fills a
 * lull_loop_ops instead.
 */
#ifndef LOOP_LOOP_POLL_H
#define LOOP_LOOP_POLL_H

#include <poll.h>

#include "loop/loop_builtin.h"
#include "loop/loop_pipe.h"

struct loop_poll {
    struct loop_builtin common; /* first; its allocator is that of the lists, too */
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
};

#endif
