/* SPDX-License-Identifier: MIT */
/*
 * An allocator that counts, and that fails when told to.
 *
 * Decides: nothing. Used by the tests of base/. Objects may be freed by any thread.
 */
#ifndef LULL_TESTS_SUPPORT_COUNTING_ALLOCATOR_H
#define LULL_TESTS_SUPPORT_COUNTING_ALLOCATOR_H

#include <stdatomic.h>
#include <stdlib.h>

#include "lull/allocator.h"

struct counting_allocator {
    struct lull_allocator base;
    atomic_long asked;     /* allocations and resizes */
    atomic_long live;      /* blocks not yet given back */
    atomic_long fail_from; /* the number of the first one that fails; -1: none does */
};

static inline bool counting_refuses(struct counting_allocator *counting)
{
    long number = atomic_fetch_add(&counting->asked, 1);
    long from = atomic_load(&counting->fail_from);
    return from >= 0 && number >= from;
}

static inline void *counting_alloc(void *ctx, size_t size)
{
    struct counting_allocator *counting = ctx;
    void *memory = counting_refuses(counting) ? NULL : malloc(size);
    if (memory != NULL) {
        atomic_fetch_add(&counting->live, 1);
    }
    return memory;
}

static inline void *counting_resize(void *ctx, void *memory, size_t size)
{
    struct counting_allocator *counting = ctx;
    void *resized = counting_refuses(counting) ? NULL : realloc(memory, size);
    if (resized != NULL && memory == NULL) {
        atomic_fetch_add(&counting->live, 1);
    }
    return resized;
}

static inline void counting_release(void *ctx, void *memory)
{
    struct counting_allocator *counting = ctx;
    if (memory != NULL) {
        atomic_fetch_sub(&counting->live, 1);
        free(memory);
    }
}

static inline void counting_init(struct counting_allocator *counting)
{
    counting->base.alloc = counting_alloc;
    counting->base.resize = counting_resize;
    counting->base.release = counting_release;
    counting->base.ctx = counting;
    atomic_init(&counting->asked, 0);
    atomic_init(&counting->live, 0);
    atomic_init(&counting->fail_from, -1);
}

/* From now on nothing more is given. */
static inline void counting_exhaust(struct counting_allocator *counting)
{
    atomic_store(&counting->fail_from, 0);
}

static inline void counting_replenish(struct counting_allocator *counting)
{
    atomic_store(&counting->fail_from, -1);
}

#endif
