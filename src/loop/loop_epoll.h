/* SPDX-License-Identifier: MIT */
/*
 * The built-in loop on Linux: one epoll, one timerfd, one eventfd, all opened when first needed.
 *
 * Decides: what is watched and how, and what is heard before the turn; the rest is loop_builtin's. Called through the seam
 * of lull/loop.h. Must not know who watches what.
 *
 * It is run (lull_loop_run, _run_once), or nested: once lull_loop_fd has been asked for, the loop
 * counts as asleep between two dispatches, and what a sleeper must hear makes that fd readable.
 */
#ifndef LOOP_LOOP_EPOLL_H
#define LOOP_LOOP_EPOLL_H

#include "loop/loop_alarm.h"
#include "loop/loop_builtin.h"
#include "loop/loop_wake.h"

struct loop_epoll {
    struct loop_builtin common; /* first */
    int epoll_fd;               /* -1: not open */
    struct loop_alarm alarm;
    struct loop_wake wake;
    bool is_inside; /* between the poll and the end of its turn: we look again before we sleep */
    bool is_nested; /* somebody polls epoll_fd */
};

#endif
