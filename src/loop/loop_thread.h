/* SPDX-License-Identifier: MIT */
/*
 * A thread that runs a loop (lull_loop_start, lull_loop_join).
 *
 * Decides: how such a thread is made and taken back. Called by applications, and by the ends of loops and channels. Must not know what a
 * run is made of.
 */
#ifndef LOOP_LOOP_THREAD_H
#define LOOP_LOOP_THREAD_H

struct lull_loop;

/* A loop ends: joins its thread, if there is one. Out of context. */
void loop_thread_end(struct lull_loop *loop);

#endif
