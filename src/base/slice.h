/* SPDX-License-Identifier: MIT */
/*
 * The counted memory behind slices.
 *
 * Decides: when a slab's bytes are given back, and to whom (the release function of each slab).
 * Called by h2/ (received messages, kept requests) and by applications through lull_slice_*. Must
 * not know where the memory came from.
 *
 * A slab can live in any memory: embed it in a struct that comes from a recycler, call slab_init,
 * and let `release` find that struct by container_of and give it back. References may be taken and
 * given back on any thread, so `release` runs on the thread that gave the last one back: a
 * recycler's object must then go by lull_recycler_release_foreign, unless it is known that the slab
 * never left the owner's thread. What was written to the bytes before a reference was given back is
 * seen by `release`.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/allocator.h"
#include "lull/types.h"

struct lull_slab {
    _Atomic uint32_t refs;
    void (*release)(struct lull_slab *slab); /* on the last reference; any thread */
    uint8_t *bytes;
    size_t capacity; /* bytes */
    const struct lull_allocator
        *allocator; /* of slab_new's slabs; others may use it as they like */
};

/* Starts a slab over `bytes` with one reference. */
void slab_init(struct lull_slab *slab, uint8_t *bytes, size_t capacity,
               void (*release)(struct lull_slab *slab));

/* A slab and its bytes in one block, with one reference; NULL when there is no memory. `allocator`
 * NULL: the system's. */
struct lull_slab *slab_new(const struct lull_allocator *allocator, size_t capacity);

/* The slab with another capacity; it and its bytes may have moved. For the only reference to a slab of slab_new's. NULL when there is no
 * memory: the old one is untouched. */
struct lull_slab *slab_resize(struct lull_slab *slab, size_t capacity);

/* Any thread. `slab` may be NULL. slab_ref returns its argument. */
struct lull_slab *slab_ref(struct lull_slab *slab);
void slab_unref(struct lull_slab *slab);

/* True when the caller's reference is the only one: the bytes may be written again. */
bool slab_is_sole(struct lull_slab *slab);

/* A slice of a slab, with a reference of its own. */
struct lull_slice slab_slice(struct lull_slab *slab, size_t from, size_t len);

/* A part of a slice; takes no reference. */
struct lull_slice slice_part(struct lull_slice slice, size_t from, size_t len);

/* It says that it has bytes, and not where: nobody can read it. */
static inline bool slice_points_nowhere(struct lull_slice slice)
{
    return slice.data == NULL && slice.len != 0;
}

static inline uint8_t *slab_bytes(struct lull_slab *slab)
{
    return slab->bytes;
}

static inline size_t slab_capacity(const struct lull_slab *slab)
{
    return slab->capacity;
}

#endif
