/* SPDX-License-Identifier: MIT */
/*
 * A queue of bytes in one growing block.
 *
 * Decides: when bytes are moved to the front and when the block grows. Called where bytes are
 * assembled (messages, unsent output). Must not know what they mean. Taking from the front is a
 * move of an index; bytes are moved only over at least as many that were taken before, so the cost
 * stays linear. A buf that is used again and again stops allocating.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "lull/allocator.h"
#include "lull/rc.h"

struct buf {
    const struct lull_allocator *allocator; /* NULL: the system's */
    uint8_t *bytes;
    size_t head; /* first byte in the queue */
    size_t tail; /* past the last one */
    size_t cap;
    size_t max_bytes; /* the queue never holds more; 0: no limit */
};

/* Allocates nothing. `max_bytes` 0: no limit. */
void buf_init(struct buf *buf, const struct lull_allocator *allocator, size_t max_bytes);
void buf_fini(struct buf *buf);

/* Empties it and keeps the memory. */
void buf_reset(struct buf *buf);

/* Gives the memory back when the buf is empty and the block is larger than `keep_bytes`. */
void buf_trim(struct buf *buf, size_t keep_bytes);

/* LULL_OK, LULL_RC_NOMEM, or LULL_RC_LIMIT when it would hold more than max_bytes; nothing changes
 * on failure. */
int buf_append(struct buf *buf, const void *bytes, size_t len);

/* Room for `len` bytes at `*out`, to be written and then counted by buf_commit; codes as
 * buf_append. */
int buf_reserve(struct buf *buf, size_t len, uint8_t **out);

/* Counts `len` bytes that were written to the room of the last buf_reserve. */
void buf_commit(struct buf *buf, size_t len);

/* Takes `len` bytes, of those there are, from the front. */
void buf_consume(struct buf *buf, size_t len);

/* What is in the queue, in one piece; valid until the next reserve, append, reset, trim or fini. */
static inline const uint8_t *buf_data(const struct buf *buf)
{
    return buf->bytes == NULL ? NULL : buf->bytes + buf->head;
}

static inline size_t buf_len(const struct buf *buf)
{
    return buf->tail - buf->head;
}

#endif
