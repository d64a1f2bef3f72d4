/* SPDX-License-Identifier: MIT */
/*
 * Keeping the rest of a write. See unsent.h.
 */
#include "h2/unsent.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

struct unsent {
    const struct lull_allocator *allocator;
    struct io_piece pieces[IO_PIECES_MAX];
    struct lull_slice held[IO_PIECES_MAX];
    size_t first; /* pieces before it are gone */
    size_t count;
    uint8_t bytes[];
};

/* How much of pieces[i] is left when `*wrote` bytes of the pieces from i on are gone. */
static size_t left_of(const struct io_piece *piece, size_t *wrote)
{
    const size_t gone = piece->len < *wrote ? piece->len : *wrote;
    *wrote -= gone;
    return piece->len - gone;
}

static size_t bytes_to_copy(const struct io_piece *pieces, const struct lull_slice *held,
                            size_t count, size_t wrote)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t left = left_of(&pieces[i], &wrote);
        sum += held[i].slab == NULL ? left : 0;
    }
    return sum;
}

struct unsent *unsent_new(const struct lull_allocator *allocator, struct lull_counters *counters,
                          const struct io_piece *pieces, struct lull_slice *held, size_t count,
                          size_t wrote)
{
    struct unsent *unsent =
        mem_alloc(allocator, sizeof(*unsent) + bytes_to_copy(pieces, held, count, wrote));
    uint8_t *room;
    if (unsent == NULL) {
        for (size_t i = 0; i < count; i++) {
            lull_slice_unref(held[i]);
        }
        return NULL;
    }
    counters->allocations++;
    unsent->allocator = allocator;
    unsent->first = 0;
    unsent->count = 0;
    room = unsent->bytes;
    for (size_t i = 0; i < count; i++) {
        const size_t left = left_of(&pieces[i], &wrote);
        const uint8_t *from = (const uint8_t *)pieces[i].data + (pieces[i].len - left);
        if (left == 0) {
            lull_slice_unref(held[i]);
            continue;
        }
        if (held[i].slab == NULL) {
            memcpy(room, from, left);
            from = room;
            room += left;
        }
        unsent->pieces[unsent->count].data = from;
        unsent->pieces[unsent->count].len = left;
        unsent->held[unsent->count++] = held[i];
    }
    return unsent;
}

void unsent_free(struct unsent *unsent)
{
    if (unsent == NULL) {
        return;
    }
    for (size_t i = unsent->first; i < unsent->count; i++) {
        lull_slice_unref(unsent->held[i]);
    }
    mem_release(unsent->allocator, unsent);
}

enum io unsent_write(struct unsent *unsent, struct endpoint *endpoint, size_t *wrote)
{
    enum io io;
    size_t gone;
    *wrote = 0;
    io = endpoint_writev(endpoint, &unsent->pieces[unsent->first], unsent->count - unsent->first,
                         wrote);
    if (io != IO_OK) {
        *wrote = 0;
        return io;
    }
    gone = *wrote;
    while (unsent->first < unsent->count) {
        struct io_piece *piece = &unsent->pieces[unsent->first];
        const size_t left = left_of(piece, &gone);
        piece->data = (const uint8_t *)piece->data + (piece->len - left);
        piece->len = left;
        if (left != 0) {
            break;
        }
        lull_slice_unref(unsent->held[unsent->first++]);
    }
    return IO_OK;
}

bool unsent_is_empty(const struct unsent *unsent)
{
    return unsent->first == unsent->count;
}
