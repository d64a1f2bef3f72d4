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

/* What is watched for something stands in a list, in a child too. By loop_watch, for the list and out of it. */
void loop_fork_list(struct lull_loop *loop, struct lull_watch *w);
void loop_fork_unlist(struct lull_watch *w);

/* In a child: closes the copies of what is watched. */
void loop_fork_close(struct lull_loop *loop);

/* Gives the page back. */
void loop_fork_fini(struct lull_loop *loop);

#endif
