/* SPDX-License-Identifier: MIT */
/*
 * Queueing messages. See outbox.h, and stream.h for the verbs of an owner.
 */
#include "h2/outbox.h"

#include <string.h>

#include "base/invariant.h"
#include "base/slice.h"
#include "h2/inner.h"
#include "h2/slabs.h"
#include "lull/recycler.h"

/* Nodes that a transport keeps: 64 KiB of messages of 60 bytes. */
#define NODES_KEEP 1024

/*
 * Small messages behind another one are copied into a pack, so that a frame takes many at once. A long pack is longer than
 * OUTBOX_LONG_BYTES: it goes to the socket from where it is. Packs are begun as far as what is queued fills a part of them: one that a
 * larger message follows stays as empty as it is, and a peer that does not read leaves it there.
 */
#define PACK_BYTES       ((size_t)1024) /* takes any small message */
#define LONG_PACK_BYTES  ((size_t)8192)
#define PACKS_KEEP       64
#define LONG_PACKS_KEEP  16
#define QUEUED_MAX_TIMES ((size_t)4) /* memory of packs by bytes queued */

void outbox_init(struct outbox *outbox)
{
    list_init(&outbox->messages);
    list_init(&outbox->first.link);
    outbox->has_first = false;
    outbox->ends = false;
    outbox->waits = false;
    outbox->was_full = false;
    outbox->bytes = 0;
    outbox->room = 0;
    outbox->pack_bytes = 0;
}

void outbox_state_fini(struct outbox_state *state)
{
    lull_recycler_free(state->nodes);
    lull_recycler_free(state->packs);
    lull_recycler_free(state->long_packs);
    state->nodes = NULL;
    state->packs = NULL;
    state->long_packs = NULL;
}

/* ---- nodes */

static struct outbox_message *claim(struct h2_transport *t, struct outbox *outbox)
{
    struct lull_recycler_options options;
    if (!outbox->has_first) {
        outbox->has_first = true;
        return &outbox->first;
    }
    if (t->outbox.nodes == NULL) {
        lull_recycler_options_init(&options, "h2 outgoing message", sizeof(struct outbox_message));
        options.keep = NODES_KEEP;
        options.allocator = executor_allocator(t->executor);
        options.counters = executor_counters(t->executor);
        options.is_owner = executor_is_owner;
        options.owner = t->executor;
        if (lull_recycler_new(&options, &t->outbox.nodes) != LULL_OK) {
            return NULL;
        }
    }
    return lull_recycler_claim(t->outbox.nodes);
}

static void release(struct h2_transport *t, struct outbox *outbox, struct outbox_message *message)
{
    list_remove(&message->link);
    if (list_is_empty(&outbox->messages)) {
        outbox_seal(outbox);
    }
    if (message->prefix_len == 0) {
        outbox->pack_bytes -= slab_capacity(message->payload.slab);
    }
    lull_slice_unref(message->payload);
    if (message == &outbox->first) {
        outbox->has_first = false;
    } else {
        /* unguarded: the message was just taken out of the queue it was in, and nothing else points at it. */
        lull_recycler_release_unguarded(t->outbox.nodes, message);
    }
}

static struct lull_slab *claim_pack(struct h2_transport *t, const struct outbox *outbox)
{
    const size_t most = QUEUED_MAX_TIMES * outbox->bytes;
    if (outbox->pack_bytes + LONG_PACK_BYTES <= most) {
        return slabs_claim(t, &t->outbox.long_packs, "h2 outgoing messages", LONG_PACK_BYTES,
                           LONG_PACKS_KEEP);
    }
    return outbox->pack_bytes > most ? NULL
                                     : slabs_claim(t, &t->outbox.packs, "h2 few outgoing messages",
                                                   PACK_BYTES, PACKS_KEEP);
}

/* An empty pack. False: a node of the message's own; packs take enough, or there is no memory for one. */
static bool begin_pack(struct h2_transport *t, struct outbox *outbox, struct outbox_message *node)
{
    struct lull_slab *slab = claim_pack(t, outbox);
    if (slab == NULL) {
        return false;
    }
    outbox->pack_bytes += slab_capacity(slab);
    node->payload.data = slab_bytes(slab);
    node->payload.len = 0;
    node->payload.slab = slab;
    node->prefix_len = 0;
    outbox->pack = node;
    outbox->room_at = slab_bytes(slab);
    outbox->room = slab_capacity(slab);
    return true;
}

static int push_node(struct h2_transport *t, struct outbox *outbox, struct lull_slice message)
{
    const bool is_behind_another =
        message.len <= OUTBOX_SMALL_BYTES && !list_is_empty(&outbox->messages);
    struct outbox_message *node = claim(t, outbox);
    if (node == NULL) {
        return LULL_RC_NOMEM;
    }
    outbox_seal(outbox);
    const bool is_pack = is_behind_another && begin_pack(t, outbox, node);
    node->done = 0;
    list_init(&node->link);
    list_push_back(&outbox->messages, &node->link);
    if (is_pack) {
        (void)outbox_add(outbox, message.data, message.len);
        return LULL_OK;
    }
    node->payload = lull_slice_ref(message);
    node->prefix_len = FRAMING_PREFIX_BYTES;
    framing_prefix(node->prefix, (uint32_t)message.len);
    outbox->bytes += FRAMING_PREFIX_BYTES + message.len;
    outbox->was_full = outbox->was_full || outbox->bytes >= OUTBOX_FULL_BYTES;
    return LULL_OK;
}

int outbox_push(struct h2_transport *t, struct outbox *outbox, struct lull_slice message)
{
    return outbox_add(outbox, message.data, message.len) ? LULL_OK
                                                         : push_node(t, outbox, message);
}

void outbox_clear(struct h2_transport *t, struct outbox *outbox)
{
    struct list_node *node;
    while ((node = list_first(&outbox->messages)) != NULL) {
        release(t, outbox, LIST_ENTRY(node, struct outbox_message, link));
    }
    outbox->bytes = 0;
    outbox->was_full = false;
}

/* ---- frames */

bool outbox_has_begun(const struct outbox *outbox)
{
    struct list_node *node = list_first(&outbox->messages);
    const struct outbox_message *message;
    size_t at = 0;
    if (node == NULL) {
        return false;
    }
    message = LIST_ENTRY(node, struct outbox_message, link);
    while (message->prefix_len == 0 && at < message->done) {
        at += FRAMING_PREFIX_BYTES + framing_length(message->payload.data + at);
    }
    return message->done != at;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The run at `done` of a message; len 0: none is left. */
static struct outbox_run run_of(const struct outbox_message *message, size_t done, size_t most)
{
    struct outbox_run run = {.is_payload = done >= message->prefix_len};
    if (!run.is_payload) {
        run.data = message->prefix + done;
        run.len = min(message->prefix_len - done, most);
        return run;
    }
    done -= message->prefix_len;
    run.len = min(message->payload.len - done, most);
    run.payload = slice_part(message->payload, done, run.len);
    run.data = run.payload.data;
    return run;
}

size_t outbox_copy_short(struct h2_transport *t, struct outbox *outbox, uint8_t *into, size_t most)
{
    struct list_node *node;
    size_t copied = 0;
    while (copied < most && (node = list_first(&outbox->messages)) != NULL) {
        struct outbox_message *message = LIST_ENTRY(node, struct outbox_message, link);
        const size_t prefix = message->prefix_len;
        const size_t len = min(prefix + message->payload.len - message->done, most - copied);
        const size_t from = message->done;
        const size_t of_prefix = from < prefix ? min(prefix - from, len) : 0;
        if (message->payload.len >= OUTBOX_LONG_BYTES) {
            break;
        }
        if (of_prefix > 0) {
            memcpy(into + copied, message->prefix + from, of_prefix);
        }
        if (len > of_prefix) {
            memcpy(into + copied + of_prefix, message->payload.data + (from + of_prefix - prefix),
                   len - of_prefix);
        }
        outbox_take(t, outbox, len);
        copied += len;
    }
    return copied;
}

struct outbox_run outbox_run(const struct outbox *outbox, size_t most)
{
    struct list_node *node = list_first(&outbox->messages);
    const struct outbox_message *message;
    LULL_INVARIANT(node != NULL, "a frame asks for more than is queued");
    message = LIST_ENTRY(node, struct outbox_message, link);
    return run_of(message, message->done, most);
}

void outbox_take(struct h2_transport *t, struct outbox *outbox, size_t len)
{
    struct outbox_message *message =
        LIST_ENTRY(list_first(&outbox->messages), struct outbox_message, link);
    message->done += len;
    outbox->bytes -= len;
    if (message->done == message->prefix_len + message->payload.len) {
        release(t, outbox, message);
    }
}

/* ---- an owner's verbs */

static int judge(const struct h2_stream *stream)
{
    if (stream->transport == NULL || stream->has_local_end) {
        return LULL_RC_CLOSED;
    }
    if (stream->out.ends || (transport_is_server(stream->transport) && !stream->has_responded)) {
        return LULL_RC_STATE;
    }
    return LULL_OK;
}

void outbox_wake(struct h2_stream *stream)
{
    struct h2_transport *t = stream->transport;
    LULL_INVARIANT(!t->session.is_busy, "a message is sent while nghttp2 is on the stack");
    if (stream->out.waits) {
        stream->out.waits = false;
        if (nghttp2_session_resume_data(t->session.nghttp2, stream->id) != 0) {
            t->is_out_of_memory = true; /* the flush ends the transport */
        }
    }
    executor_post_flush(t->executor, &t->flush);
}

int h2_stream_send(struct h2_stream *stream, struct lull_slice message, bool ends)
{
    if (!ends && h2_stream_add(stream, message)) {
        return LULL_OK;
    }
    int rc = judge(stream);
    if (rc == LULL_OK && message.len > UINT32_MAX) {
        rc = LULL_RC_LIMIT;
    }
    if (rc == LULL_OK) {
        rc = outbox_push(stream->transport, &stream->out, message);
    }
    if (rc == LULL_OK) {
        if (ends && !transport_is_server(stream->transport)) {
            stream->out.ends = true;
            outbox_seal(&stream->out);
        }
        outbox_wake(stream);
    }
    return rc;
}

int h2_stream_end(struct h2_stream *stream)
{
    int rc = judge(stream);
    if (rc == LULL_OK && transport_is_server(stream->transport)) {
        rc = LULL_RC_STATE;
    }
    if (rc == LULL_OK) {
        stream->out.ends = true;
        outbox_seal(&stream->out);
        outbox_wake(stream);
    }
    return rc;
}
