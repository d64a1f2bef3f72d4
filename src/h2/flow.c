/* SPDX-License-Identifier: MIT */
/*
 * Crediting the windows. See flow.h.
 */
#include "h2/flow.h"

#include "h2/inner.h"

void flow_on_received(struct h2_transport *t, size_t len)
{
    if (nghttp2_session_consume_connection(t->session.nghttp2, len) != 0) {
        t->is_out_of_memory = true;
    }
}

void flow_on_taken(struct h2_stream *stream, size_t len)
{
    struct h2_transport *t = stream->transport;
    /* A stream that has just been reset needs no window. */
    if (!stream->has_local_end &&
        nghttp2_session_consume_stream(t->session.nghttp2, stream->id, len) != 0) {
        t->is_out_of_memory = true;
    }
}
