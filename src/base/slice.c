/* SPDX-License-Identifier: MIT */
/*
 * Counting references to bytes. See slice.h and lull/types.h.
 */
#include "base/slice.h"

#include <string.h>

#include "lull/rc.h"

#include "base/invariant.h"
#include "base/mem.h"

void slab_init(struct lull_slab *slab, uint8_t *bytes, size_t capacity,
               void (*release)(struct lull_slab *slab))
{
    atomic_init(&slab->refs, 1);
    slab->release = release;
    slab->bytes = bytes;
    slab->capacity = capacity;
    slab->allocator = NULL;
}

static void release_block(struct lull_slab *slab)
{
    mem_release(slab->allocator, slab);
}

struct lull_slab *slab_new(const struct lull_allocator *allocator, size_t capacity)
{
    struct lull_slab *slab;
    if (capacity > SIZE_MAX - sizeof(*slab)) {
        return NULL;
    }
    slab = mem_alloc(allocator, sizeof(*slab) + capacity);
    if (slab == NULL) {
        return NULL;
    }
    slab_init(slab, (uint8_t *)(slab + 1), capacity, release_block);
    slab->allocator = allocator;
    return slab;
}

struct lull_slab *slab_resize(struct lull_slab *slab, size_t capacity)
{
    LULL_INVARIANT(slab->release == release_block && slab_is_sole(slab),
                   "a slab that others see, or of other memory, is resized");
    if (capacity > SIZE_MAX - sizeof(*slab)) {
        return NULL;
    }
    slab = mem_resize(slab->allocator, slab, sizeof(*slab) + capacity);
    if (slab != NULL) {
        slab->bytes = (uint8_t *)(slab + 1);
        slab->capacity = capacity;
    }
    return slab;
}

struct lull_slab *slab_ref(struct lull_slab *slab)
{
    if (slab != NULL) {
        /* Nothing is read through the new reference that the old one did not allow: no ordering. */
        uint32_t before = atomic_fetch_add_explicit(&slab->refs, 1, memory_order_relaxed);
        LULL_INVARIANT(before > 0 && before < UINT32_MAX, "a slab was referenced after its end");
    }
    return slab;
}

void slab_unref(struct lull_slab *slab)
{
    if (slab == NULL) {
        return;
    }
    /* Release: our use of the bytes comes before; acquire: every other's use before the release
     * function. */
    uint32_t before = atomic_fetch_sub_explicit(&slab->refs, 1, memory_order_acq_rel);
    LULL_INVARIANT(before > 0, "a slab was given back too often");
    if (before == 1) {
        slab->release(slab);
    }
}

bool slab_is_sole(struct lull_slab *slab)
{
    return atomic_load_explicit(&slab->refs, memory_order_acquire) == 1;
}

struct lull_slice slab_slice(struct lull_slab *slab, size_t from, size_t len)
{
    struct lull_slice slice;
    LULL_INVARIANT(from <= slab->capacity && len <= slab->capacity - from,
                   "a slice leaves its slab");
    slice.data = slab->bytes + from;
    slice.len = len;
    slice.slab = slab_ref(slab);
    return slice;
}

struct lull_slice slice_part(struct lull_slice slice, size_t from, size_t len)
{
    LULL_INVARIANT(from <= slice.len && len <= slice.len - from, "a part leaves its slice");
    if (len != 0) {
        slice.data += from;
    }
    slice.len = len;
    return slice;
}

int lull_slice_copy(const struct lull_allocator *allocator, const void *data, size_t len,
                    struct lull_slice *out)
{
    struct lull_slab *slab;
    if (len == 0) {
        *out = lull_slice_static(NULL, 0);
        return LULL_OK;
    }
    if (data == NULL) {
        return LULL_RC_INVALID;
    }
    slab = slab_new(allocator, len);
    if (slab == NULL) {
        return LULL_RC_NOMEM;
    }
    memcpy(slab->bytes, data, len);
    out->data = slab->bytes;
    out->len = len;
    out->slab = slab;
    return LULL_OK;
}

struct lull_slice lull_slice_ref(struct lull_slice slice)
{
    slab_ref(slice.slab);
    return slice;
}

void lull_slice_unref(struct lull_slice slice)
{
    slab_unref(slice.slab);
}
