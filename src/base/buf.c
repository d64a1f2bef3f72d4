/* SPDX-License-Identifier: MIT */
/*
 * A queue of bytes in one growing block. See buf.h.
 */
#include "base/buf.h"

#include <stdbool.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"

/* The smallest block: below that the allocator's own overhead is larger. */
#define FIRST_BYTES ((size_t)64)

void buf_init(struct buf *buf, const struct lull_allocator *allocator, size_t max_bytes)
{
    buf->allocator = allocator;
    buf->bytes = NULL;
    buf->head = 0;
    buf->tail = 0;
    buf->cap = 0;
    buf->max_bytes = max_bytes;
}

void buf_fini(struct buf *buf)
{
    mem_release(buf->allocator, buf->bytes);
    buf_init(buf, buf->allocator, buf->max_bytes);
}

void buf_reset(struct buf *buf)
{
    buf->head = 0;
    buf->tail = 0;
}

void buf_trim(struct buf *buf, size_t keep_bytes)
{
    if (buf_len(buf) == 0 && buf->cap > keep_bytes) {
        buf_fini(buf);
    }
}

/* The next capacity for a queue of `need` bytes: twice the old one, but not past the limit. */
static size_t next_capacity(const struct buf *buf, size_t need)
{
    size_t cap = buf->cap > SIZE_MAX / 2 ? SIZE_MAX : buf->cap * 2;
    if (cap < FIRST_BYTES) {
        cap = FIRST_BYTES;
    }
    if (buf->max_bytes != 0 && cap > buf->max_bytes) {
        cap = buf->max_bytes;
    }
    return cap < need ? need : cap;
}

/* Makes the block hold `need` bytes from the front of the queue on. */
static int make_room(struct buf *buf, size_t need)
{
    size_t live = buf_len(buf);
    bool is_full_grown = buf->max_bytes != 0 && buf->cap >= buf->max_bytes;
    /* Moving less than was taken since the last move keeps the cost of a byte constant. */
    if (need <= buf->cap && (buf->head >= live || is_full_grown)) {
        memmove(buf->bytes, buf->bytes + buf->head, live);
    } else {
        size_t cap = next_capacity(buf, need);
        uint8_t *bytes = mem_alloc(buf->allocator, cap);
        if (bytes == NULL) {
            return LULL_RC_NOMEM;
        }
        if (live != 0) {
            memcpy(bytes, buf->bytes + buf->head, live);
        }
        mem_release(buf->allocator, buf->bytes);
        buf->bytes = bytes;
        buf->cap = cap;
    }
    buf->head = 0;
    buf->tail = live;
    return LULL_OK;
}

int buf_reserve(struct buf *buf, size_t len, uint8_t **out)
{
    size_t live = buf_len(buf);
    if (len > SIZE_MAX - live) {
        return LULL_RC_NOMEM;
    }
    if (buf->max_bytes != 0 && live + len > buf->max_bytes) {
        return LULL_RC_LIMIT;
    }
    if (buf->bytes == NULL || buf->cap - buf->tail < len) {
        int rc = make_room(buf, live + len);
        if (rc != LULL_OK) {
            return rc;
        }
    }
    *out = buf->bytes + buf->tail;
    return LULL_OK;
}

void buf_commit(struct buf *buf, size_t len)
{
    LULL_INVARIANT(len <= buf->cap - buf->tail, "more was committed to a buf than was reserved");
    buf->tail += len;
}

int buf_append(struct buf *buf, const void *bytes, size_t len)
{
    uint8_t *room;
    int rc;
    if (len == 0) {
        return LULL_OK;
    }
    rc = buf_reserve(buf, len, &room);
    if (rc == LULL_OK) {
        memcpy(room, bytes, len);
        buf_commit(buf, len);
    }
    return rc;
}

void buf_consume(struct buf *buf, size_t len)
{
    LULL_INVARIANT(len <= buf_len(buf), "more was taken from a buf than it holds");
    buf->head += len;
    if (buf->head == buf->tail) {
        buf_reset(buf);
    }
}
