/* SPDX-License-Identifier: MIT */
/*
 * Whose loop is it after a fork? (RULINGS 27)
 *
 * Decides: how a child is told from the process that opened the loop's descriptors: by a page that the kernel empties in a child
 * (MADV_WIPEONFORK, Linux 4.14), so that asking is a load; by the process id where there is no such page. Called by loop.c and the loops.
 */
#ifndef LOOP_LOOP_FORK_H
#define LOOP_LOOP_FORK_H

#include "lull/loop.h"

/* This process has the loop's descriptors from now on. Cannot fail: without a page the question costs a system call. */
void loop_fork_own(struct lull_loop *loop);

/* Gives the page back. */
void loop_fork_fini(struct lull_loop *loop);

#endif
