/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop on Linux: one epoll, one timerfd, one eventfd, all opened when first needed.
 *
 * Decides: when to sleep, and for how long; what is heard before the turn. Called through the seam
 * of lull/loop.h. Must not know who watches what.
 *
 * It is run (lull_loop_run, _run_once), or nested: once lull_loop_fd has been asked for, the loop
 * counts as asleep between two dispatches, and what a sleeper must hear makes that fd readable.
 */
#ifndef LOOP_LOOP_EPOLL_H
#define LOOP_LOOP_EPOLL_H

#include "loop/loop_alarm.h"
#include "loop/loop_wake.h"
#include "lull/loop.h"

struct loop_epoll {
    struct lull_loop base;
    const struct lull_allocator *allocator; /* of this struct */
    int epoll_fd;                           /* -1: not open */
    struct loop_alarm alarm;
    struct loop_wake wake;
    bool is_inside; /* between the poll and the end of its turn: we look again before we sleep */
    bool is_nested; /* somebody polls epoll_fd */
    unsigned char
        is_due; /* a turn was asked for by `soon`; atomic, for the driver may just be changing */
    bool is_alarm_due; /* a turn was asked for by an alarm that was due when it was set */
};

/* The built-in loop behind `loop`; NULL: it is a host's. */
struct loop_epoll *loop_epoll_of(struct lull_loop *loop);

#endif
