/* SPDX-License-Identifier: MIT */
/*
 * Waking a loop out of its poll from any thread, where there is no eventfd: a pipe.
 *
 * Decides: when a wake costs a write (once until the loop has looked). Called by loop_poll.c and, through it, by any thread. Must
 * not know why.
 */
#ifndef LOOP_LOOP_PIPE_H
#define LOOP_LOOP_PIPE_H

#include <stdint.h>

#include "lull/trace.h"

struct loop_pipe {
    int fds[2];           /* reading, writing; -1: not open; the second is atomic */
    unsigned char is_set; /* asked for and not yet taken; atomic */
    uint64_t writes;      /* not yet counted; atomic */
};

void loop_pipe_init(struct loop_pipe *wake);

/* Opens both ends. 0 or an errno. */
int loop_pipe_open(struct loop_pipe *wake, struct lull_counters *counters);

/* Closes what is open. */
void loop_pipe_close(struct loop_pipe *wake);

/* Makes the reading end readable, once. Any thread, signal handlers too. */
void loop_pipe_set(struct loop_pipe *wake);

/* The loop has heard it; what was handed over before the wake is seen from here on. */
void loop_pipe_take(struct loop_pipe *wake, struct lull_counters *counters);

#endif
