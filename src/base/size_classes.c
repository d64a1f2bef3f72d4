/* SPDX-License-Identifier: MIT */
/*
 * Blocks by classes of sizes. See size_classes.h.
 *
 * Each block has the header of a recycler's object before it; a block of the allocator's has NULL there. So a block knows where it
 * goes back to, and its class is found by its recycler.
 */
#include "base/size_classes.h"

#include <string.h>

#include "base/mem.h"
#include "base/recycler_parts.h"
#include "lull/recycler.h"
#include "lull/trace.h"

/* Steps of the table below. */
#define STEP_BYTES 32

static const struct {
    size_t bytes;
    const char *name;
} kinds[SIZE_CLASSES_COUNT] = {
    {32, "blocks to 32 bytes"},   {64, "blocks to 64 bytes"},   {96, "blocks to 96 bytes"},
    {128, "blocks to 128 bytes"}, {192, "blocks to 192 bytes"}, {256, "blocks to 256 bytes"},
    {384, "blocks to 384 bytes"}, {512, "blocks to 512 bytes"},
};

/* The class of (size + 31) / 32. */
static const unsigned char class_of[SIZE_CLASSES_BYTES_MAX / STEP_BYTES + 1] = {
    0, 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7};

void size_classes_init(struct size_classes *classes, const struct lull_allocator *allocator,
                       struct lull_counters *counters, bool (*is_owner)(void *owner), void *owner)
{
    memset(classes, 0, sizeof(*classes));
    classes->allocator = allocator;
    classes->counters = counters;
    classes->is_owner = is_owner;
    classes->owner = owner;
}

void size_classes_fini(struct size_classes *classes)
{
    for (unsigned i = 0; i < SIZE_CLASSES_COUNT; i++) {
        lull_recycler_free(classes->of[i]);
        classes->of[i] = NULL;
    }
}

void size_classes_trim(struct size_classes *classes)
{
    for (unsigned i = 0; i < SIZE_CLASSES_COUNT; i++) {
        if (classes->of[i] != NULL) {
            lull_recycler_trim(classes->of[i]);
        }
    }
    size_classes_drop_unused(classes, 0);
}

void size_classes_drop_unused(struct size_classes *classes, unsigned least)
{
    for (unsigned i = 0; i < SIZE_CLASSES_COUNT; i++) {
        struct lull_recycler_stats stats = {.size = sizeof(stats), .in_use = 1};
        if (classes->of[i] != NULL && classes->of[i]->pushes - classes->of[i]->pops >= least) {
            lull_recycler_stats(classes->of[i], &stats);
        }
        if (stats.in_use == 0) {
            lull_recycler_free(classes->of[i]);
            classes->of[i] = NULL;
        }
    }
}

/* ---- large blocks: the allocator's */

static struct recycled *count(struct size_classes *classes, struct recycled *recycled)
{
    classes->counters->allocations += recycled != NULL;
    return recycled;
}

static void *alloc_large(struct size_classes *classes, size_t size)
{
    struct recycled *recycled;
    if (size > SIZE_MAX - sizeof(*recycled)) {
        return NULL;
    }
    recycled = count(classes, mem_alloc(classes->allocator, sizeof(*recycled) + size));
    if (recycled == NULL) {
        return NULL;
    }
    recycled->recycler = NULL;
    return recycled_object(recycled);
}

/* A block that is large stays so, however small it becomes. */
static void *resize_large(struct size_classes *classes, struct recycled *recycled, size_t size)
{
    struct recycled *resized;
    if (size > SIZE_MAX - sizeof(*recycled)) {
        return NULL;
    }
    resized = count(classes, mem_resize(classes->allocator, recycled, sizeof(*recycled) + size));
    return resized == NULL ? NULL : recycled_object(resized);
}

/* ---- small blocks */

static struct lull_recycler *make(struct size_classes *classes, unsigned number)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, kinds[number].name, kinds[number].bytes);
    options.allocator = classes->allocator;
    options.counters = classes->counters;
    options.is_owner = classes->is_owner;
    options.owner = classes->owner;
    (void)lull_recycler_new(&options, &classes->of[number]);
    return classes->of[number];
}

void *size_classes_alloc(struct size_classes *classes, size_t size)
{
    struct lull_recycler *recycler;
    unsigned number;
    if (size > SIZE_CLASSES_BYTES_MAX) {
        return alloc_large(classes, size);
    }
    number = class_of[(size + STEP_BYTES - 1) / STEP_BYTES];
    recycler = classes->of[number];
    if (recycler == NULL && (recycler = make(classes, number)) == NULL) {
        return NULL;
    }
    return recycler_claim(recycler);
}

void *size_classes_zeroed(struct size_classes *classes, size_t size)
{
    void *memory = size_classes_alloc(classes, size);
    if (memory != NULL) {
        memset(memory, 0, size);
    }
    return memory;
}

/* What fits into a block of this recycler, which is one of ours. */
static size_t room_of(const struct size_classes *classes, const struct lull_recycler *recycler)
{
    unsigned number = 0;
    while (classes->of[number] != recycler) {
        number++;
    }
    return kinds[number].bytes;
}

void *size_classes_resize(struct size_classes *classes, void *memory, size_t size)
{
    struct recycled *recycled;
    size_t room;
    void *moved;
    if (memory == NULL) {
        return size_classes_alloc(classes, size);
    }
    recycled = recycled_of(memory);
    if (recycled->recycler == NULL) {
        return resize_large(classes, recycled, size);
    }
    room = room_of(classes, recycled->recycler);
    if (size <= room) {
        return memory;
    }
    moved = size_classes_alloc(classes, size);
    if (moved != NULL) {
        memcpy(moved, memory, room);
        size_classes_release(classes, memory);
    }
    return moved;
}

void size_classes_release(struct size_classes *classes, void *memory)
{
    struct recycled *recycled;
    if (memory == NULL) {
        return;
    }
    recycled = recycled_of(memory);
    if (recycled->recycler == NULL) {
        mem_release(classes->allocator, recycled);
        return;
    }
    /* unguarded: a block belongs to one nghttp2 session, which is used by the thread in context alone and frees it once. */
    recycler_release_unguarded(recycled->recycler, memory);
}
