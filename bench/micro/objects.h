/* SPDX-License-Identifier: MIT */
/*
 * The rows of the family "recycler": what has objects of one size again and again, on one thread and across two.
 *
 * Decides: what is done between a claim and a release. Called by objects_lull.c and objects_malloc.c, each of which makes
 * the loops by including objects_loops.h once a variant, so that nothing but its calls stands in them.
 */
#ifndef BENCH_MICRO_OBJECTS_H
#define BENCH_MICRO_OBJECTS_H

#include "micro.h"

#define OBJECTS_IN_FLIGHT 64

/* Objects that are on their way from one thread to the other at most. */
#define OBJECTS_ON_THE_WAY 1024

/* The loops of one variant. */
struct objects_loops {
    micro_fn pair;         /* claim, touch, release */
    micro_fn flight;       /* the same, 64 at a time */
    micro_fn work;         /* the same as flight, with work between the operations */
    micro_fn cross;        /* claimed here, released there */
    micro_fn cross_work;   /* the same, with work between the claims */
    void (*there)(void *); /* the other thread's release; NULL: no cross row */
};

/* `bytes` is what the row's name says. */
void objects_rows(const char *variant, const struct objects_loops *loops, size_t bytes);
void objects_cross_row(const char *variant, const struct objects_loops *loops, size_t bytes);

/* Hands an object to the other thread, waiting while too many are on the way. */
void objects_send(void *object);

/* Waits until the other thread has all. */
void objects_settle(void);

#endif
