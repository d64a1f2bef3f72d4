/* SPDX-License-Identifier: MIT */
/*
 * The system's allocator and the calls to any allocator. See mem.h and lull/allocator.h.
 */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *system_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void *system_resize(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    return realloc(memory, size);
}

static void system_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static const struct lull_allocator system_allocator = {
    .alloc = system_alloc,
    .resize = system_resize,
    .release = system_release,
    .ctx = NULL,
};

const struct lull_allocator *lull_allocator_system(void)
{
    return &system_allocator;
}

static const struct lull_allocator *pick(const struct lull_allocator *allocator)
{
    return allocator == NULL ? &system_allocator : allocator;
}

/* malloc(0) may answer NULL, which would read as "no memory". */
static size_t at_least_one(size_t size)
{
    return size == 0 ? 1 : size;
}

void *mem_alloc(const struct lull_allocator *allocator, size_t size)
{
    const struct lull_allocator *a = pick(allocator);
    return a->alloc(a->ctx, at_least_one(size));
}

void *mem_zeroed(const struct lull_allocator *allocator, size_t size)
{
    void *memory = mem_alloc(allocator, size);
    if (memory != NULL) {
        memset(memory, 0, at_least_one(size));
    }
    return memory;
}

void *mem_resize(const struct lull_allocator *allocator, void *memory, size_t size)
{
    const struct lull_allocator *a = pick(allocator);
    return a->resize(a->ctx, memory, at_least_one(size));
}

void *mem_resize_array(const struct lull_allocator *allocator, void *memory, size_t count,
                       size_t each)
{
    if (each != 0 && count > SIZE_MAX / each) {
        return NULL;
    }
    return mem_resize(allocator, memory, count * each);
}

void *mem_lines(const struct lull_allocator *allocator, size_t size, void **block)
{
    /* The line that begins before the block does, and the rest of the last one. */
    const size_t more = 2 * (MEM_LINE_BYTES - 1);
    char *memory = size > SIZE_MAX - more ? NULL : mem_alloc(allocator, size + more);
    *block = memory;
    return memory == NULL ? NULL : memory + (-(uintptr_t)memory & (MEM_LINE_BYTES - 1));
}

void mem_release(const struct lull_allocator *allocator, void *memory)
{
    const struct lull_allocator *a = pick(allocator);
    a->release(a->ctx, memory);
}
