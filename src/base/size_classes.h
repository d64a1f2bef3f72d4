/* SPDX-License-Identifier: MIT */
/*
 * Blocks of any size for a library that allocates small ones again and again: up to 512 bytes they come from recyclers, one a
 * class of sizes, larger ones straight from the allocator.
 *
 * Decides: the classes, and when a resize moves a block. Called by the executor, which owns one, and by h2/session.c, whose nghttp2
 * allocates here. Must not know what is in a block. The owner's thread, as with its recyclers.
 */
#ifndef BASE_SIZE_CLASSES_H
#define BASE_SIZE_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/allocator.h"

#define SIZE_CLASSES_COUNT 8

/* What comes from a recycler at most. */
#define SIZE_CLASSES_BYTES_MAX ((size_t)512)

struct lull_counters;
struct lull_recycler;

struct size_classes {
    const struct lull_allocator *allocator;
    struct lull_counters *counters;
    bool (*is_owner)(void *owner);
    void *owner;
    struct lull_recycler *of[SIZE_CLASSES_COUNT]; /* NULL before the first of its size */
};

/* `is_owner` and `owner` go to the recyclers (lull/recycler.h). [borrow] all of them. */
void size_classes_init(struct size_classes *classes, const struct lull_allocator *allocator,
                       struct lull_counters *counters, bool (*is_owner)(void *owner), void *owner);

/* Blocks still out are freed by nobody: there must be none. */
void size_classes_fini(struct size_classes *classes);

/* Gives what is kept back to the allocator, and the recyclers of which nothing is out. */
void size_classes_trim(struct size_classes *classes);

/* Gives back the recyclers of which nothing is out and that keep as many blocks as `least` or more, and these with them. */
void size_classes_drop_unused(struct size_classes *classes, unsigned least);

/* As malloc, calloc (of one), realloc and free, but for a size of 0, which is 1. NULL: no memory, and nothing has changed. */
void *size_classes_alloc(struct size_classes *classes, size_t size);
void *size_classes_zeroed(struct size_classes *classes, size_t size);
void *size_classes_resize(struct size_classes *classes, void *memory, size_t size);
void size_classes_release(struct size_classes *classes, void *memory);

#endif
