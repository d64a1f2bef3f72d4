/* SPDX-License-Identifier: MIT */
/*
 * nghttp2's callbacks. See session_cb.h.
 *
 * A stream that we have parted from has no user data: every callback finds NULL and leaves it alone.
 */
#include "h2/session_cb.h"

#include "base/cold.h"
#include "base/strbuf.h"
#include "h2/answer.h"
#include "h2/flow.h"
#include "h2/inner.h"

static int result(const struct h2_transport *t)
{
    return t->is_out_of_memory ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* ---- receiving */

/* Of many streams the next one's owner is in no cache: asked for at once its lines come together, else one after the other. */
static void fetch_owner(const struct h2_stream *stream)
{
    const char *at = (const char *)stream;
    if (stream != NULL) {
        for (size_t i = 0; i < stream->ops->owner_bytes; i += CACHE_LINE_BYTES) {
            __builtin_prefetch(at + i, 1);
        }
    }
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_transport *t = user;
    (void)session;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        incoming_begin(t, frame->hd.stream_id);
        return 0;
    }
    t->incoming.id = 0;
    /* A PUSH_PROMISE has a block too, and its stream is the one that it promises something to. */
    struct h2_stream *stream = frame->hd.type == NGHTTP2_HEADERS ? transport_stream(t, frame->hd.stream_id) : NULL;
    if (t->open > MANY_STREAMS) {
        fetch_owner(stream);
    }
    headers_begin(t, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *user)
{
    struct h2_transport *t = user;
    (void)session;
    (void)frame;
    (void)flags;
    if (t->incoming.id != 0) {
        const nghttp2_vec key = nghttp2_rcbuf_get_buf(name);
        const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(value);
        incoming_on_field(t, key.base, key.len, bytes.base, bytes.len);
    } else {
        headers_on_field(t, name, value);
    }
    return result(t);
}

/*
 * A message cut short is a fault, but the trailers are told first, for the status they may have. The owner judges both together:
 * `report` is posted before whatever task on_trailers makes it post.
 */
static void on_last_block(struct h2_transport *t, struct h2_stream *stream)
{
    const bool is_cut = framing_is_cut(stream);
    stream->peer_ended = true;
    if (is_cut) {
        lull_executor_post(t->executor, &t->report);
    }
    if (transport_is_server(t)) {
        stream->ops->on_end_of_data(stream); /* gRPC has no trailers of requests */
    } else {
        stream->ops->on_trailers(stream, t->headers.http_status, &t->headers.block);
    }
    if (is_cut) {
        framing_fail_cut(stream);
    } else {
        stream_on_peer_ended(stream);
    }
}

/* A frame of the peer's that tells nothing else is a sign of life of the call all the same (RULINGS 14). */
static void tell_progress(struct h2_stream *stream)
{
    if (stream->ops->on_progress != NULL) {
        stream->ops->on_progress(stream);
    }
}

/* The block is whole (RFC 9113 section 8.1: [1xx]* headers, DATA, [trailers with END_STREAM]). */
static void on_block(struct h2_transport *t, const nghttp2_frame *frame)
{
    struct h2_stream *stream = t->headers.stream;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const bool is_first = stream != NULL && stream->headers_seen == 0;
    const bool is_interim =
        is_first && t->headers.http_status >= 100 && t->headers.http_status < 200;
    if (stream == NULL) {
        return;
    }
    t->headers.stream = NULL;
    if (is_interim && is_last) {
        stream->peer_ended = true;
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                    "HTTP status %d ended the stream", t->headers.http_status);
    } else if (is_interim) {
        tell_progress(stream);
    } else if (!is_first && !is_last) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                    "HEADERS twice, and the second one does not end the stream");
    } else if (!is_first && t->headers.http_status >= 0) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "trailers with :status");
    } else if (is_last) {
        on_last_block(t, stream);
    } else {
        stream->headers_seen++;
        t->headless--;
        stream->ops->on_headers(stream, t->headers.http_status, &t->headers.block);
    }
}

static void on_data_end(struct h2_stream *stream)
{
    stream->peer_ended = true;
    if (stream->headers_seen == 0) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "DATA before HEADERS");
    } else if (framing_is_cut(stream)) {
        framing_fail_cut(stream);
    } else {
        stream->ops->on_end_of_data(stream);
        stream_on_peer_ended(stream);
    }
}

/* All of it has come. One without a byte but padding had no chunk (on_data_chunk). */
static void on_data_frame(struct h2_stream *stream, const nghttp2_frame *frame)
{
    if (frame->hd.length == frame->data.padlen) {
        tell_progress(stream);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        on_data_end(stream);
    }
}

static void on_settings(struct h2_transport *t)
{
    t->peer_max_streams = nghttp2_session_get_remote_settings(
        t->session.nghttp2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (!t->has_settings) {
        t->has_settings = true;
        transport_on_standing(t, true);
        t->was_full = t->peer_max_streams == 0;
        t->ops->on_settings(t);
        return;
    }
    t->was_full = t->was_full || t->open >= t->peer_max_streams;
    transport_on_room(t);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream;
    (void)session;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (t->incoming.id != 0) {
            incoming_on_whole(t, (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
        } else {
            on_block(t, frame);
        }
        break;
    case NGHTTP2_DATA:
        stream = transport_stream(t, frame->hd.stream_id);
        if (stream != NULL) {
            on_data_frame(stream, frame);
        }
        break;
    case NGHTTP2_RST_STREAM:
        /* The reset itself comes as on_stream_close. */
        stream = transport_stream(t, frame->hd.stream_id);
        if (stream != NULL) {
            stream->was_reset = true;
        }
        serving_on_fault(t, frame->hd.stream_id, frame->rst_stream.error_code);
        break;
    case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            on_settings(t);
        }
        break;
    case NGHTTP2_GOAWAY:
        /* The streams that it leaves out are closed after this. */
        goaway_on_received(t, frame->goaway.last_stream_id, frame->goaway.error_code,
                           frame->goaway.opaque_data, frame->goaway.opaque_data_len);
        break;
    case NGHTTP2_PING:
        /* The peer's is answered by nghttp2, in this turn's flush. */
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
            ping_on_ack(t, frame->ping.opaque_data);
        } else if (transport_is_server(t) && t->server_ops->on_ping != NULL) {
            t->server_ops->on_ping(t, lull_executor_now(t->executor));
        }
        break;
    default:
        break;
    }
    return result(t);
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                         size_t len, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream = transport_stream(t, id);
    (void)flags;
    (void)session;
    flow_on_received(t, len);
    if (stream == NULL) {
        return result(t);
    }
    tell_progress(stream);
    if (stream->headers_seen == 0) {
        stream_fail(stream, H2_END_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "DATA before HEADERS");
    } else if (stream->raw) {
        stream->ops->on_raw(stream, bytes, len);
    } else {
        framing_on_data(stream, bytes, len);
    }
    flow_on_arrived(stream, len);
    return result(t);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream = transport_stream(t, id);
    (void)session;
    if (stream != NULL) {
        stream_on_closed(stream, code);
    }
    return result(t);
}

/* ---- sending */

static void on_our_end(struct h2_transport *t, struct h2_stream *stream, const nghttp2_frame *frame)
{
    if (stream != NULL) {
        send_on_request_end(stream, frame->hd.type == NGHTTP2_DATA);
    }
    if (transport_is_server(t)) {
        answer_on_ended(t, frame->hd.stream_id);
    }
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream;
    (void)session;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        stream = transport_stream(t, frame->hd.stream_id);
        if (stream != NULL && frame->hd.type == NGHTTP2_HEADERS) {
            send_on_headers(stream);
        }
        t->send.answers++;
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
            on_our_end(t, stream, frame);
        }
        break;
    case NGHTTP2_GOAWAY:
        /* The others are made by hand: this one is nghttp2's, or the last of a server's two. */
        send_on_own_goaway(t, &frame->goaway);
        break;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            ping_on_framed(t, frame->ping.opaque_data);
        }
        break;
    default:
        break;
    }
    return 0;
}

/* Too much for one block: a verb that could see it has refused it (headers.h), a request's own fields may still make it so. */
static void describe_unsent(const nghttp2_headers *frame, const char *whose, int error, char *text,
                            size_t size)
{
    struct strbuf sb;
    strbuf_init(&sb, text, size);
    if (error == NGHTTP2_ERR_FRAME_SIZE_ERROR) {
        strbuf_printf(&sb, "%s metadata is too large to be sent: a block of %zu bytes, at most %zu",
                      whose, headers_fields_bytes(frame->nva, frame->nvlen), HEADERS_BLOCK_MAX_BYTES);
    } else {
        strbuf_printf(&sb, "%s HEADERS could not be sent: %s", whose, nghttp2_strerror(error));
    }
}

/*
 * A block that nghttp2 will not send. It closes the stream of a request by itself after this; of an answer nothing would ever be heard,
 * on either side, so its stream is reset.
 */
LULL_COLD static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int error,
                             void *user)
{
    struct h2_transport *t = user;
    struct h2_stream *stream;
    char text[160];
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS) {
        return 0;
    }
    stream = transport_stream(t, frame->hd.stream_id);
    if (stream == NULL) {
        return 0;
    }
    describe_unsent(&frame->headers,
                    transport_is_server(t) ? "the answer's" : "the request's", error, text,
                    sizeof(text));
    if (transport_is_server(t)) {
        stream->has_trailers = true; /* a status cannot be told any more */
        stream_fail(stream, H2_END_LIMIT, NGHTTP2_INTERNAL_ERROR, "%s", text);
    } else if (error == NGHTTP2_ERR_FRAME_SIZE_ERROR) {
        stream_note_end(stream, H2_END_LIMIT, "%s", text);
    }
    return 0;
}

void session_cb_install(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_put_data);
}
