/* SPDX-License-Identifier: MIT */
/*
 * Putting messages together. See framing.h.
 */
#include "h2/framing.h"

#include <string.h>

#include "base/slice.h"
#include "base/strbuf.h"
#include "h2/flow.h"
#include "h2/inner.h"
#include "h2/slabs.h"

/* Messages up to here come in slabs that are used again; how many of those are kept. */
#define SMALL_BYTES ((size_t)512)
#define SMALL_KEEP  256 /* a turn's responses, before the application has seen the first */

/* What is asked for when a longer message begins; then so many times as much each time that it is full. Small steps copy more often, and
 * leave the allocator with pieces that it gives back to the system and faults in again for the next message. */
#define FIRST_BYTES ((size_t)64 * 1024)
#define GROWTH      4

/* Small messages that lie whole in one piece of DATA are copied as they lie, so many at a time. */
#define RUN_BYTES ((size_t)4096)
#define RUN_KEEP  64

static struct lull_slab *new_slab(struct h2_transport *t, size_t len)
{
    struct lull_slab *slab;
    if (len <= SMALL_BYTES) {
        return slabs_claim(t, &t->stock->small, "h2 message", SMALL_BYTES, SMALL_KEEP);
    }
    slab = slab_new(executor_allocator(t->executor), len);
    executor_counters(t->executor)->allocations += slab != NULL;
    return slab;
}

/* The message is whole. */
static void deliver(struct h2_stream *stream)
{
    struct lull_slice message = lull_slice_static(NULL, 0);
    if (stream->in_slab != NULL) {
        message.data = slab_bytes(stream->in_slab) + stream->in_at;
        message.len = stream->in_len;
        message.slab = stream->in_slab; /* our reference goes with it */
    }
    stream->in_slab = NULL;
    stream->in_prefix_len = 0;
    stream->in_at = 0;
    stream->in_len = 0;
    stream->in_done = 0;
    flow_on_messages(stream, FRAMING_PREFIX_BYTES + message.len);
    stream->ops->on_message(stream, message);
}

bool h2_run_join(struct h2_run *run, struct lull_slice message)
{
    if (message.slab == NULL || message.slab != run->message.slab ||
        message.data !=
            run->message.data + run->message.len + run->more + FRAMING_PREFIX_BYTES) {
        return false;
    }
    run->more += FRAMING_PREFIX_BYTES + message.len;
    lull_slice_unref(message);
    return true;
}

bool h2_run_take(struct h2_run *run, struct lull_slice *message)
{
    *message = run->message;
    if (!h2_run_next(run)) {
        return false;
    }
    (void)lull_slice_ref(*message);
    return true;
}

/* Small messages that come while others are held lie behind one another, prefixes between them, so that a run can hold them. */
static struct lull_slab *pack(struct h2_stream *stream, size_t len)
{
    size_t at = stream->in_packed + FRAMING_PREFIX_BYTES;
    if (stream->in_pack == NULL || at + len > SMALL_BYTES) {
        slab_unref(stream->in_pack);
        stream->in_pack = new_slab(stream->transport, len);
        at = 0;
    } else {
        framing_prefix(slab_bytes(stream->in_pack) + stream->in_packed, (uint32_t)len);
    }
    stream->in_at = at;
    stream->in_packed = at + len;
    return slab_ref(stream->in_pack);
}

static struct lull_slab *place(struct h2_stream *stream, size_t len)
{
    if (len <= SMALL_BYTES && stream->in_held > 0) {
        return pack(stream, len);
    }
    return new_slab(stream->transport, len < FIRST_BYTES ? len : FIRST_BYTES);
}

/* The prefix is whole: judged before a byte is asked for. */
static void begin(struct h2_stream *stream)
{
    const uint8_t flag = stream->in_prefix[0];
    const uint32_t len = framing_length(stream->in_prefix);
    if (flag > 1) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                    "message flag byte is %u, neither 0 nor 1", (unsigned)flag);
        return;
    }
    if (flag == 1) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                    "compressed message without grpc-encoding");
        return;
    }
    if (len > stream->max_message_bytes) {
        stream_fail(stream, H2_END_LIMIT, NGHTTP2_CANCEL,
                    "message of %u byte%s is over the limit of %u byte%s", (unsigned)len, plural_s(len),
                    (unsigned)stream->max_message_bytes, plural_s(stream->max_message_bytes));
        return;
    }
    stream->in_len = len;
    stream->in_done = 0;
    if (len == 0 && stream->in_held == 0) {
        deliver(stream);
        return;
    }
    stream->in_slab = place(stream, len);
    if (stream->in_slab != NULL && len == 0) {
        deliver(stream);
    } else if (stream->in_slab == NULL) {
        stream_fail(stream, H2_END_LIMIT, NGHTTP2_CANCEL, "no memory for a message of %u bytes",
                    (unsigned)len);
    }
}

/* Takes what is missing of the prefix; returns how much that was. */
static size_t take_prefix(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    size_t taken = FRAMING_PREFIX_BYTES - (size_t)stream->in_prefix_len;
    taken = taken < len ? taken : len;
    memcpy(stream->in_prefix + stream->in_prefix_len, bytes, taken);
    stream->in_prefix_len = (uint8_t)(stream->in_prefix_len + taken);
    if (stream->in_prefix_len == FRAMING_PREFIX_BYTES) {
        begin(stream);
    }
    return taken;
}

/* A length is only a promise: memory follows what has come of it. Where there is none, the stream has ended. */
static bool grow(struct h2_stream *stream)
{
    const size_t came = slab_capacity(stream->in_slab);
    const size_t capacity = came < stream->in_len / GROWTH ? GROWTH * came : stream->in_len;
    struct lull_slab *slab = slab_resize(stream->in_slab, capacity);
    if (slab == NULL) {
        stream_fail(stream, H2_END_LIMIT, NGHTTP2_CANCEL, "no memory for a message of %zu bytes",
                    stream->in_len);
        return false;
    }
    executor_counters(stream->transport->executor)->allocations++;
    stream->in_slab = slab;
    return true;
}

static size_t take_message(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    if (stream->in_at == 0 && stream->in_done == slab_capacity(stream->in_slab) && !grow(stream)) {
        return len;
    }
    size_t taken = slab_capacity(stream->in_slab) - stream->in_at - stream->in_done;
    if (taken > stream->in_len - stream->in_done) {
        taken = stream->in_len - stream->in_done; /* a small slab is longer than its message */
    }
    taken = taken < len ? taken : len;
    memcpy(slab_bytes(stream->in_slab) + stream->in_at + stream->in_done, bytes, taken);
    stream->in_done += taken;
    if (stream->in_done == stream->in_len) {
        deliver(stream);
    }
    return taken;
}

/* Bytes of whole small messages at the front, `most` at most. What is wrong or not whole is left to begin. */
static size_t measure_run(const struct h2_stream *stream, const uint8_t *bytes, size_t most, unsigned *count)
{
    const uint32_t longest = stream->max_message_bytes < SMALL_BYTES ? stream->max_message_bytes : (uint32_t)SMALL_BYTES;
    size_t left = most;
    unsigned whole = 0;
    while (left >= FRAMING_PREFIX_BYTES) {
        const uint32_t len = framing_length(bytes);
        if (bytes[0] != 0 || len > longest || len > left - FRAMING_PREFIX_BYTES) {
            break;
        }
        bytes += FRAMING_PREFIX_BYTES + len;
        left -= FRAMING_PREFIX_BYTES + len;
        whole++;
    }
    *count = whole;
    return most - left;
}

/*
 * Several messages in one step, for an owner that holds what came anyway. A slab is at least half full, so that what is held takes
 * memory of the order of what came. Returns the bytes taken; 0: the messages go one by one.
 */
static size_t take_run(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    struct h2_transport *t = stream->transport;
    struct lull_slab *slab = NULL;
    struct h2_run run;
    unsigned count = 0;
    size_t taken;
    if (stream->auto_consume || stream->ops->on_run == NULL || len < SMALL_BYTES / 2) {
        return 0;
    }
    taken = measure_run(stream, bytes, len < RUN_BYTES ? len : RUN_BYTES, &count);
    if (taken < RUN_BYTES / 2) {
        taken = measure_run(stream, bytes, taken < SMALL_BYTES ? taken : SMALL_BYTES, &count);
    }
    if (count < 2 || taken < SMALL_BYTES / 2) {
        return 0;
    }
    slab = taken <= SMALL_BYTES ? new_slab(t, taken) : slabs_claim(t, &t->stock->runs, "h2 messages", RUN_BYTES, RUN_KEEP);
    if (slab == NULL) {
        return 0;
    }
    memcpy(slab_bytes(slab), bytes, taken);
    run.message.data = slab_bytes(slab) + FRAMING_PREFIX_BYTES;
    run.message.len = framing_length(bytes);
    run.message.slab = slab;
    run.more = taken - FRAMING_PREFIX_BYTES - run.message.len;
    flow_on_messages(stream, taken);
    stream->ops->on_run(stream, run, count);
    return taken;
}

void framing_on_data(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    /* Any op may end the stream. */
    while (len > 0 && !stream->has_local_end) {
        size_t taken = stream->in_slab == NULL && stream->in_prefix_len == 0 ? take_run(stream, bytes, len) : 0;
        if (taken == 0) {
            taken = stream->in_slab == NULL ? take_prefix(stream, bytes, len)
                                            : take_message(stream, bytes, len);
        }
        bytes += taken;
        len -= taken;
    }
}

bool framing_is_cut(const struct h2_stream *stream)
{
    return !stream->raw && stream->in_prefix_len != 0;
}

void framing_fail_cut(struct h2_stream *stream)
{
    /* A server has ended by itself and need not be blamed; a client waits for an answer. */
    const uint32_t code =
        transport_is_server(stream->transport) ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_NO_ERROR;
    if (stream->in_prefix_len < FRAMING_PREFIX_BYTES) {
        stream_fail(stream, H2_END_PROTOCOL, code,
                    "end of stream in the middle of a message (%u of the %u bytes of its prefix)",
                    (unsigned)stream->in_prefix_len, (unsigned)FRAMING_PREFIX_BYTES);
    } else {
        stream_fail(stream, H2_END_PROTOCOL, code,
                    "end of stream in the middle of a message (%zu of %zu byte%s)", stream->in_done,
                    stream->in_len, plural_s(stream->in_len));
    }
}
