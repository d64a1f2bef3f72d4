/* SPDX-License-Identifier: MIT */
/**
 * @file allocator.h
 * Where memory comes from. A loop has one allocator; everything on that loop uses it.
 */
#ifndef LULL_ALLOCATOR_H
#define LULL_ALLOCATOR_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Three functions' worth of malloc. All may be called on any thread that uses the loop. Since 0.1.
 */
struct lull_allocator {
    void *(*alloc)(void *ctx, size_t size); /**< NULL when there is none; size is never 0 */
    void *(*resize)(void *ctx, void *memory, size_t size); /**< as realloc; memory may be NULL */
    void (*release)(void *ctx, void *memory);              /**< memory may be NULL */
    void *ctx;                                             /**< handed to each of them */
};

/** malloc, realloc and free. Static. Any thread. Since 0.1. */
LULL_API const struct lull_allocator *lull_allocator_system(void);

#ifdef __cplusplus
}
#endif

#endif
