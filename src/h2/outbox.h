/* SPDX-License-Identifier: MIT */
/*
 * The messages of a stream that no frame has yet, in order.
 *
 * Decides: how they are kept, so that a steady sender allocates nothing: the first is inside the stream, further ones are nodes from a
 * recycler of the transport, or, if they are small and not alone, bytes of a pack, framed already; and what of them goes into one frame. Called by transport.c, stream.c and send.c. Must not know sockets
 * or batches.
 */
#ifndef H2_OUTBOX_H
#define H2_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "h2/framing.h"
#include "lull/types.h"

struct h2_stream;
struct h2_transport;
struct lull_recycler;

/* From here a run of payload bytes goes from the message's own memory. */
#define OUTBOX_LONG_BYTES ((size_t)4096)

/* Up to here a message that is not alone is copied. */
#define OUTBOX_SMALL_BYTES ((size_t)512)

/* What is queued is too much from here on. */
#define OUTBOX_FULL_BYTES ((size_t)64 * 1024)

struct outbox_message {
    struct list_node link;
    struct lull_slice payload;
    size_t done; /* bytes of prefix and payload that frames have */
    uint8_t prefix[FRAMING_PREFIX_BYTES];
    uint8_t prefix_len; /* 0: a pack, whose payload is small messages with their prefixes */
};

struct outbox {
    struct list_node messages;
    struct outbox_message first;
    bool has_first; /* `first` is in use */
    bool ends;      /* nothing will follow */
    bool waits;     /* nghttp2 was told that there is nothing yet, and asks no more */
    bool was_full;  /* on_writable is owed when there is room */
    size_t bytes;   /* that no frame has */
    uint8_t *room_at;            /* where the next small message goes, */
    size_t room;                 /* how many bytes there are, 0: it is not that simple, */
    struct outbox_message *pack; /* and in which pack, the last message: see outbox_add */
    size_t pack_bytes; /* of memory in packs */
};

/* A transport's stores. */
struct outbox_state {
    struct lull_recycler *nodes; /* NULL before the first use */
    struct lull_recycler *packs; /* the slabs of packs; NULL before the first */
    struct lull_recycler *long_packs;
};

/* A piece of the queue that is one piece of memory. */
struct outbox_run {
    const uint8_t *data;
    size_t len;
    struct lull_slice
        payload; /* the part of a message it is, no reference taken; without a slab: a prefix, or static */
    bool is_payload;
};

void outbox_init(struct outbox *outbox);

/*
 * Copies a small message behind the one before it, where most of those go that are sent together. While there is room the stream
 * is open to more, and nghttp2 knows that it has something to send: neither needs to be asked. False: outbox_push.
 */
static inline bool outbox_add(struct outbox *outbox, const uint8_t *data, size_t len)
{
    if (len > OUTBOX_SMALL_BYTES || FRAMING_PREFIX_BYTES + len > outbox->room) {
        return false;
    }
    framing_prefix(outbox->room_at, (uint32_t)len);
    if (len > 0) {
        memcpy(outbox->room_at + FRAMING_PREFIX_BYTES, data, len);
    }
    len += FRAMING_PREFIX_BYTES;
    outbox->room_at += len;
    outbox->room -= len;
    outbox->pack->payload.len += len;
    outbox->bytes += len;
    outbox->was_full = outbox->was_full || outbox->bytes >= OUTBOX_FULL_BYTES;
    return true;
}

/* Nothing follows what is queued: there is no room from here on. */
static inline void outbox_seal(struct outbox *outbox)
{
    outbox->room = 0;
}

/* Puts a message [ref, or copied] at the end. LULL_OK or LULL_RC_NOMEM. Its length fits a prefix. */
int outbox_push(struct h2_transport *t, struct outbox *outbox, struct lull_slice message);

/* There is more to ask for: nghttp2 asks again, in this turn's flush. Not while it is on the stack. */
void outbox_wake(struct h2_stream *stream);

/* Lets go of everything. */
void outbox_clear(struct h2_transport *t, struct outbox *outbox);

/* Frames have some bytes of a message, and not all: nothing can stand before the rest of it. */
bool outbox_has_begun(const struct outbox *outbox);

/* A frame has the next bytes, `most` at most, as far as they are of short messages: they are copied. 0: a long one is next. */
size_t outbox_copy_short(struct h2_transport *t, struct outbox *outbox, uint8_t *into, size_t most);

/* The first run, of `most` bytes at most. There is one. */
struct outbox_run outbox_run(const struct outbox *outbox, size_t most);

/* A frame has the first `len` bytes of that run. */
void outbox_take(struct h2_transport *t, struct outbox *outbox, size_t len);

void outbox_state_fini(struct outbox_state *state);

#endif
