/* SPDX-License-Identifier: MIT */
/*
 * Crediting the windows. See flow.h.
 */
#include "h2/flow.h"

#include "base/slice.h"
#include "h2/inner.h"

void flow_on_received(struct h2_transport *t, size_t len)
{
    t->recv.received += len;
}

void flow_on_fed(struct h2_transport *t)
{
    const size_t len = t->recv.received;
    t->recv.received = 0;
    if (len > 0 && nghttp2_session_consume_connection(t->session.nghttp2, len) != 0) {
        t->is_out_of_memory = true;
    }
}

/* What has arrived and is not held back. A stream that is over needs no window. */
static void credit(struct h2_stream *stream)
{
    struct h2_transport *t = stream->transport;
    const size_t give = stream->in_owed > stream->in_held ? stream->in_owed - stream->in_held : 0;
    if (give == 0 || stream->has_local_end || stream->peer_ended) {
        return;
    }
    stream->in_owed -= give;
    if (nghttp2_session_consume_stream(t->session.nghttp2, stream->id, give) != 0) {
        t->is_out_of_memory = true;
    }
}

void flow_on_arrived(struct h2_stream *stream, size_t len)
{
    stream->in_owed += len;
    credit(stream);
}

void flow_on_messages(struct h2_stream *stream, size_t framed)
{
    if (!stream->auto_consume) {
        stream->in_held += framed;
    }
}

void h2_stream_consumed(struct h2_stream *stream, size_t bytes)
{
    h2_stream_consumed_all(stream, 1, bytes);
}

void h2_stream_consumed_all(struct h2_stream *stream, unsigned messages, size_t bytes)
{
    struct h2_transport *t = stream->transport;
    const size_t held = messages * FRAMING_PREFIX_BYTES + bytes;
    if (t == NULL || stream->auto_consume) {
        return;
    }
    stream->in_held -= held < stream->in_held ? held : stream->in_held;
    if (stream->in_held == 0) {
        slab_unref(stream->in_pack);
        stream->in_pack = NULL;
    }
    credit(stream);
    if (!t->session.is_busy && !t->is_lost && nghttp2_session_want_write(t->session.nghttp2) != 0) {
        executor_post_flush(t->executor, &t->flush);
    }
}
