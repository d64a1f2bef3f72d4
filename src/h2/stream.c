/* SPDX-License-Identifier: MIT */
/*
 * A stream's life from h2_transport_open to on_closed, and above all its end. See stream.h.
 *
 * Decides: which enum h2_end an end is. Exactly one is told. Ends that we make (a reset, a fault found here) leave nghttp2 at once
 * and are told by the transport's `report` task; ends that nghttp2 makes are told while it closes the stream.
 */
#include "h2/stream.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/invariant.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "h2/answer.h"
#include "h2/flow.h"
#include "h2/inner.h"

void h2_stream_init(struct h2_stream *stream, const struct h2_stream_ops *ops,
                    uint32_t max_message_bytes)
{
    memset(stream, 0, offsetof(struct h2_stream, end.text));
    stream->end.text[0] = '\0';
    stream->ops = ops;
    stream->id = -1;
    stream->max_message_bytes = max_message_bytes;
    list_init(&stream->link);
    list_init(&stream->headers_link);
    list_init(&stream->request_link);
    list_init(&stream->writable_link);
    outbox_init(&stream->out);
    stream->auto_consume = true;
}

/* Lets go of what it holds of messages. */
static void drop_messages(struct h2_stream *stream)
{
    outbox_clear(stream->transport, &stream->out);
    answer_drop(stream);
    slab_unref(stream->in_slab);
    stream->in_slab = NULL;
    slab_unref(stream->in_pack);
    stream->in_pack = NULL;
}

void h2_stream_fini(struct h2_stream *stream)
{
    LULL_INVARIANT(stream->transport == NULL, "a stream is freed while it is open");
    drop_messages(stream);
}

/* Out of every list of the transport but, perhaps soon, the ended ones. */
static void leave(struct h2_stream *stream)
{
    struct h2_transport *t = stream->transport;
    list_remove(&stream->link);
    t->open--;
    t->headless -= stream->headers_seen == 0;
    send_forget(t, stream);
    headers_forget(t, stream);
    t->recent = NULL;
    if (t->open == 0) {
        keepalive_glue_on_last_stream_closed(t);
    }
}

static void end_text(struct h2_stream *stream, const char *format, va_list args)
{
    struct strbuf sb;
    strbuf_init(&sb, stream->end.text, sizeof(stream->end.text));
    strbuf_vprintf(&sb, format, args);
}

static void set_end(struct h2_stream *stream, enum h2_end kind)
{
    stream->end.kind = kind;
    stream->end.was_finished = stream->peer_ended;
    stream->has_local_end = true;
    outbox_seal(&stream->out);
}

static void set_code(struct h2_stream *stream, uint32_t code)
{
    stream->end.code = code;
    stream->end.has_code = true;
}

/* Takes it away from nghttp2. A server tells its client what was wrong, as long as its side is open. */
static void let_go(struct h2_stream *stream, uint32_t rst_code)
{
    struct h2_transport *t = stream->transport;
    (void)nghttp2_session_set_stream_user_data(t->session.nghttp2, stream->id, NULL);
    if (transport_is_server(t) && stream->end.kind != H2_END_LOCAL && !stream->has_trailers) {
        answer_fault(stream,
                     stream->end.kind == H2_END_LIMIT ? LULL_CODE_RESOURCE_EXHAUSTED
                                                      : LULL_CODE_INTERNAL,
                     stream->end.text);
    } else if (nghttp2_submit_rst_stream(t->session.nghttp2, NGHTTP2_FLAG_NONE, stream->id,
                                         rst_code) != 0) {
        t->is_out_of_memory = true;
    }
}

/*
 * The end of an open stream is decided. One that is over in both directions is closed by nghttp2 when it comes back from telling
 * so, and told then. Every other is taken away from nghttp2: RST_STREAM goes out only if HEADERS do, for nghttp2 drops a request whose
 * HEADERS still wait in its queue.
 */
static void part(struct h2_stream *stream, uint32_t rst_code)
{
    struct h2_transport *t = stream->transport;
    if (stream->peer_ended && stream->request_pulled) {
        return;
    }
    let_go(stream, rst_code);
    leave(stream);
    list_push_back(&t->ended, &stream->link);
    lull_executor_post(t->executor, &t->report);
    executor_post_flush(t->executor, &t->flush);
    transport_on_room(t);
}

void stream_fail(struct h2_stream *stream, enum h2_end kind, uint32_t rst_code, const char *format,
                 ...)
{
    va_list args;
    if (stream->has_local_end) {
        return;
    }
    va_start(args, format);
    end_text(stream, format, args);
    va_end(args);
    set_end(stream, kind);
    if (kind == H2_END_PROTOCOL || kind == H2_END_LIMIT) {
        serving_on_fault(stream->transport, stream->id, rst_code);
    }
    part(stream, rst_code);
}

void stream_note_end(struct h2_stream *stream, enum h2_end kind, const char *format, ...)
{
    va_list args;
    if (stream->has_local_end) {
        return;
    }
    va_start(args, format);
    end_text(stream, format, args);
    va_end(args);
    set_end(stream, kind);
}

void h2_stream_reset(struct h2_stream *stream, uint32_t code)
{
    if (stream->transport == NULL || stream->has_local_end) {
        return;
    }
    set_end(stream, H2_END_LOCAL);
    set_code(stream, code);
    part(stream, code);
}

void stream_on_peer_ended(struct h2_stream *stream)
{
    if (stream->has_local_end || stream->request_pulled || transport_is_server(stream->transport)) {
        return;
    }
    /* RFC 9113 section 8.1: the server has answered without the rest of the request. NO_ERROR lets it go. */
    set_end(stream, H2_END_FINISHED);
    part(stream, NGHTTP2_NO_ERROR);
}

void h2_stream_take_raw(struct h2_stream *stream)
{
    stream->raw = true;
}

/* Left out by GOAWAY: whatever its code (RULINGS 20). */
static void end_by_goaway(struct h2_stream *stream)
{
    const struct h2_transport *t = stream->transport;
    struct strbuf sb;
    set_end(stream, stream->headers_sent ? H2_END_UNPROCESSED : H2_END_NOT_SENT);
    set_code(stream, t->goaway.code);
    strbuf_init(&sb, stream->end.text, sizeof(stream->end.text));
    goaway_describe(&t->goaway, &sb);
}

/* REFUSED_STREAM says that nothing was done (RFC 9113 section 8.7), unless an answer had begun all the same. */
static void end_by_reset(struct h2_stream *stream, uint32_t code)
{
    /* (A server has seen the request's HEADERS.) */
    const bool is_refused = code == NGHTTP2_REFUSED_STREAM && stream->headers_seen == 0;
    set_end(stream, is_refused ? H2_END_UNPROCESSED : H2_END_RESET);
    set_code(stream, code);
}

/* nghttp2 found a fault that is the stream's alone (a window overrun) and has reset it. */
static void end_by_session(struct h2_stream *stream, uint32_t code)
{
    struct strbuf sb;
    set_end(stream, H2_END_PROTOCOL);
    set_code(stream, code);
    serving_on_fault(stream->transport, stream->id, code);
    strbuf_init(&sb, stream->end.text, sizeof(stream->end.text));
    strbuf_printf(&sb, "the peer broke HTTP/2 on this stream: %s", status_h2_error_name(code));
}

void stream_on_closed(struct h2_stream *stream, uint32_t code)
{
    struct h2_transport *t = stream->transport;
    /* A client has what it asked for when the server has ended; a server is through when it has. */
    const bool is_finished = transport_is_server(t) ? stream->request_pulled : stream->peer_ended;
    if (!stream->has_local_end) {
        if (is_finished) {
            set_end(stream, H2_END_FINISHED);
        } else if (stream->was_reset) {
            end_by_reset(stream, code);
        } else if (!transport_is_server(t) && t->goaway.is_seen &&
                   stream->id > t->goaway.last_stream_id) {
            end_by_goaway(stream);
        } else if (!transport_is_server(t) && !stream->headers_pulled) {
            set_end(stream, H2_END_NOT_SENT);
        } else {
            end_by_session(stream, code);
        }
    }
    leave(stream);
    stream_tell(stream);
    transport_on_room(t);
}

void stream_on_lost(struct h2_stream *stream, const struct h2_transport_end *lost, const char *text)
{
    struct h2_transport *t = stream->transport;
    struct strbuf sb;
    set_end(stream,
            stream->headers_sent || transport_is_server(t) ? H2_END_TRANSPORT : H2_END_NOT_SENT);
    stream->end.sys_errno = lost->sys_errno;
    stream->end.is_peer_dead =
        lost->kind == H2_LOST_KEEPALIVE ||
        (lost->kind == H2_LOST_ERRNO && keepalive_glue_has_given_up(lost->sys_errno));
    if (lost->has_goaway) {
        set_code(stream, lost->goaway_code);
    }
    strbuf_init(&sb, stream->end.text, sizeof(stream->end.text));
    strbuf_add(&sb, text);
    leave(stream);
    list_push_back(&t->ended, &stream->link);
}

void stream_tell(struct h2_stream *stream)
{
    stream->closed = true;
    drop_messages(stream);
    stream->ops->on_closed(stream, &stream->end);
    stream->transport = NULL;
}
