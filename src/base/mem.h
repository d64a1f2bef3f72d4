/* SPDX-License-Identifier: MIT */
/*
 * Asking an allocator for memory.
 *
 * Decides: what NULL as an allocator means (the system's) and that sizes are never 0 and never
 * wrap. Called by whoever owns memory. Counts nothing: a caller that has lull_counters adds to
 * `allocations` itself. The public side is lull/allocator.h.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "lull/allocator.h"

/* `allocator` may be NULL everywhere: the system's. All return NULL when there is no memory. */
void *mem_alloc(const struct lull_allocator *allocator, size_t size);

/* The same, filled with zeros. */
void *mem_zeroed(const struct lull_allocator *allocator, size_t size);

/* As realloc: `memory` may be NULL; on NULL the old block is untouched. */
void *mem_resize(const struct lull_allocator *allocator, void *memory, size_t size);

/* The same for `count` elements of `each` bytes; NULL too when the product does not fit a size_t.
 */
void *mem_resize_array(const struct lull_allocator *allocator, void *memory, size_t count,
                       size_t each);

/* What processors hand to each other. */
#define MEM_LINE_BYTES ((size_t)64)

/*
 * As mem_alloc, but in cache lines of its own, from the start of the first one: for what one thread writes all the time, lest it wait for
 * whoever has the neighbour. `*block` is what goes to mem_release.
 */
void *mem_lines(const struct lull_allocator *allocator, size_t size, void **block);

/* `memory` may be NULL. */
void mem_release(const struct lull_allocator *allocator, void *memory);

#endif
