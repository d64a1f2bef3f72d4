/* SPDX-License-Identifier: MIT */
/*
 * Waking a loop out of its poll from any thread: one eventfd.
 *
 * Decides: when a wake costs a write (once until the loop has looked). Called by the built-in loop
 * and, through it, by any thread. Must not know why.
 *
 * The eventfd is edge-triggered in the epoll: each write is an event, nobody has to read it back. To any other poll it is ready from the
 * first wake on; who lingers says first that it is not.
 */
#ifndef LOOP_LOOP_WAKE_H
#define LOOP_LOOP_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/trace.h"

struct loop_wake {
    int fd;               /* -1: not open; atomic */
    unsigned char is_set; /* asked for and not yet taken; atomic */
    uint64_t writes;      /* not yet counted; atomic */
};

void loop_wake_init(struct loop_wake *wake);

/* Makes the eventfd and puts it into the epoll with `wake` as its mark. 0 or an errno. */
int loop_wake_open(struct loop_wake *wake, int epoll_fd, struct lull_counters *counters);

/* Closes what is open. */
void loop_wake_close(struct loop_wake *wake);

/* Wakes the loop, or the poll that it is about to enter. Any thread, signal handlers too. */
void loop_wake_set(struct loop_wake *wake);

/* The loop has heard it; what was handed over before the wake is seen from here on. */
void loop_wake_take(struct loop_wake *wake, struct lull_counters *counters);

/* What was heard leaves the eventfd, which is ready from here on for a wake that is not. It is open. The thread that polls. */
void loop_wake_quieten(struct loop_wake *wake);

#endif
