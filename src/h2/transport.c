/* SPDX-License-Identifier: MIT */
/*
 * The transport as an object: made, asked for streams, ended. See transport.h; what it is made of is in inner.h.
 *
 * Decides: when streams may be opened and when the connection is over. An end is decided where it is found and told by the `report`
 * task, after the ends of all streams; memory is freed in the free phase, nghttp2's session with it (HOUSE, Memory).
 */
#include "h2/transport.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "base/rc.h"
#include "base/strbuf.h"
#include "exec/linger.h"
#include "h2/inner.h"

/* Frames that may wait behind a socket that takes nothing. nghttp2 keeps those of a cancelled stream too, until their turn comes. */
#define BLOCKED_FRAMES 100

/* ---- tasks */

static void flush(struct lull_task *task, struct lull_executor *executor)
{
    struct h2_transport *t = container_of(task, struct h2_transport, flush);
    const uint64_t written_before = t->send.written_bytes;
    (void)executor;
    keepalive_glue_before_flush(t);
    send_flush(t);
    keepalive_glue_after_flush(t, written_before);
    ping_on_flushed(t);
}

static void report(struct lull_task *task, struct lull_executor *executor)
{
    struct h2_transport *t = container_of(task, struct h2_transport, report);
    struct list_node *node;
    while ((node = list_pop_front(&t->ended)) != NULL) {
        stream_tell(LIST_ENTRY(node, struct h2_stream, link));
    }
    if (t->is_lost && !t->is_told) {
        ping_tell(t);
        t->is_told = true;
        executor_post_dead(executor, &t->dead); /* before what the owner queues there: it may trim what the session leaves */
        t->ops->on_closed(t, &t->end);
    }
}

static void release(struct h2_transport *t)
{
    const struct lull_allocator *allocator = executor_allocator(t->executor);
    keepalive_glue_fini(t);
    headers_fini(t);
    session_fini(&t->session);
    send_fini(&t->send);
    incoming_fini(t);
    outbox_state_fini(&t->outbox);
    stock_leave(t->stock);
    mem_release(allocator, t);
}

static void die(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    release(container_of(task, struct h2_transport, dead));
}

/* ---- making */

static struct h2_transport *make(struct lull_executor *executor, struct endpoint *endpoint,
                                 const struct h2_transport_options *options)
{
    struct h2_transport *t = mem_zeroed(executor_allocator(executor), sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    executor_counters(executor)->allocations++;
    t->executor = executor;
    t->endpoint = endpoint;
    t->options = *options;
    memcpy(t->peer, endpoint->peer.text, sizeof(t->peer));
    list_init(&t->streams);
    list_init(&t->ended);
    lull_task_init(&t->flush, flush);
    lull_task_init(&t->report, report);
    lull_task_init(&t->dead, die);
    send_init(&t->send);
    recv_init(t);
    headers_init(t);
    incoming_init(t);
    ping_init(t);
    return t;
}

int transport_start(struct lull_executor *executor, struct endpoint *endpoint,
                    const struct h2_transport_options *options, const struct h2_transport_ops *ops,
                    const struct h2_server_ops *server_ops, void *owner, struct h2_transport **out)
{
    struct h2_transport *t = make(executor, endpoint, options);
    int rc;
    if (t == NULL) {
        return LULL_RC_NOMEM;
    }
    t->ops = ops;
    t->server_ops = server_ops;
    t->owner = owner;
    t->stock = stock_join(executor);
    rc = t->stock == NULL ? LULL_RC_NOMEM : session_init(t);
    if (rc == LULL_OK) {
        rc = keepalive_glue_init(t);
    }
    if (rc == LULL_OK) {
        const int err = endpoint_want(endpoint, LULL_WANT_READ);
        if (err != 0) {
            (void)endpoint_fail(endpoint, "watch", err);
            rc = LULL_RC_SYSTEM;
        }
    }
    if (rc != LULL_OK) {
        release(t);
        return rc;
    }
    endpoint->on_ready = recv_on_ready;
    endpoint->owner = t;
    executor_post_flush(executor, &t->flush);
    *out = t;
    return LULL_OK;
}

int h2_transport_new(struct lull_executor *executor, struct endpoint *endpoint,
                     const struct h2_transport_options *options, const struct h2_transport_ops *ops,
                     void *owner, struct h2_transport **out)
{
    return transport_start(executor, endpoint, options, ops, NULL, owner, out);
}

/* ---- asking */

void *h2_transport_owner(const struct h2_transport *transport)
{
    return transport->owner;
}

const char *h2_transport_peer(const struct h2_transport *transport)
{
    return transport->peer;
}

bool h2_transport_can_open(const struct h2_transport *transport)
{
    return transport->has_settings && !transport_is_server(transport) && !transport->is_lost &&
           !transport->goaway.is_seen && !transport->is_draining &&
           transport->open < transport->peer_max_streams;
}

bool h2_transport_is_blocked(const struct h2_transport *transport)
{
    return transport->send.unsent != NULL &&
           nghttp2_session_get_outbound_queue_size(transport->session.nghttp2) >= BLOCKED_FRAMES;
}

size_t h2_transport_streams(const struct h2_transport *transport)
{
    return transport->open;
}

uint64_t h2_transport_bytes_read(const struct h2_transport *transport)
{
    return transport->recv.bytes;
}

const char *h2_transport_last_timeout(const struct h2_transport *transport)
{
    return transport->headers.has_timeout ? transport->headers.timeout : "";
}

/* ---- streams */

/* The ids are used up (RFC 9113 section 5.1.1): this connection ends with its last stream. */
static void on_out_of_ids(struct h2_transport *t)
{
    t->is_out_of_ids = true;
    t->is_draining = true;
}

/* A new stream's queue has room for one message without memory from elsewhere: this does not fail. */
static void take_request(struct h2_transport *t, struct h2_stream *stream,
                         const struct h2_request *request)
{
    if (request->has_message) {
        (void)outbox_push(t, &stream->out, request->message);
    }
    stream->out.ends = request->ends;
}

static int submit(struct h2_transport *t, struct h2_stream *stream,
                  const struct h2_request *request)
{
    nghttp2_data_provider provider = {{0}, send_read_data};
    nghttp2_nv *fields;
    size_t count;
    int rc = headers_build(t, request, &fields, &count);
    if (rc != LULL_OK) {
        return rc;
    }
    stream->id = nghttp2_submit_request(t->session.nghttp2, NULL, fields, count, &provider, stream);
    if (stream->id < 0) {
        rc = stream->id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE ? LULL_RC_LIMIT : LULL_RC_NOMEM;
        stream->id = -1;
    }
    return rc;
}

int h2_transport_open(struct h2_transport *transport, struct h2_stream *stream,
                      const struct h2_request *request)
{
    struct h2_transport *t = transport;
    int rc;
    if (t->is_out_of_ids || request->message.len > UINT32_MAX) {
        return LULL_RC_LIMIT;
    }
    LULL_INVARIANT(h2_transport_can_open(t), "a stream is opened where none may be");
    LULL_INVARIANT(!t->session.is_busy, "a stream is opened while nghttp2 is on the stack");
    LULL_INVARIANT(stream->transport == NULL && stream->id == -1, "a stream is opened twice");
    rc = submit(t, stream, request);
    if (rc != LULL_OK) {
        if (rc == LULL_RC_LIMIT) {
            on_out_of_ids(t);
            executor_post_flush(t->executor, &t->flush); /* closes, if no stream is open */
        }
        return rc;
    }
    take_request(t, stream, request);
    stream->transport = t;
    list_push_back(&t->streams, &stream->link);
    t->open++;
    t->headless++;
    t->was_full = t->open >= t->peer_max_streams;
    keepalive_glue_on_stream_opened(t);
    if (nghttp2_session_get_next_stream_id(t->session.nghttp2) > INT32_MAX) {
        on_out_of_ids(t);
    }
    executor_post_flush(t->executor, &t->flush);
    return LULL_OK;
}

void transport_on_standing(struct h2_transport *t, bool stands)
{
    if (!transport_is_server(t)) {
        executor_linger(t->executor)->connections += stands ? 1u : -1u;
    }
}

void transport_on_room(struct h2_transport *t)
{
    if (t->was_full && h2_transport_can_open(t)) {
        t->was_full = false;
        t->ops->on_capacity(t);
    }
}

void h2_transport_read_now(struct h2_transport *transport)
{
    LULL_INVARIANT(!transport->session.is_busy,
                   "a read is asked for while nghttp2 is on the stack");
    if (transport->recv.read_turn != executor_turn_number(transport->executor) || transport->recv.again.queued) {
        recv_read(transport);
    }
}

void h2_transport_write_now(struct h2_transport *transport)
{
    LULL_INVARIANT(!transport->session.is_busy,
                   "a write is asked for while nghttp2 is on the stack");
    if (!transport->is_lost && lull_executor_unpost(transport->executor, &transport->flush)) {
        flush(&transport->flush, transport->executor);
    }
}

/* ---- ends */

static void set_end(struct h2_transport *t, enum h2_lost kind, int sys_errno, const char *text)
{
    struct h2_transport_end *end = &t->end;
    struct strbuf sb;
    end->kind = kind;
    end->sys_errno = sys_errno;
    end->before_settings = !t->has_settings;
    end->has_goaway = t->goaway.is_seen;
    end->goaway_code = t->goaway.code;
    end->bytes_read = t->recv.bytes;
    strbuf_init(&sb, end->text, sizeof(end->text));
    strbuf_add(&sb, text);
    if (t->goaway.is_seen) {
        strbuf_add(&sb, " after ");
        goaway_describe(&t->goaway, &sb);
    }
}

void transport_lose(struct h2_transport *t, enum h2_lost kind, int sys_errno, const char *text)
{
    struct list_node *node;
    if (t->is_lost) {
        return;
    }
    LULL_INVARIANT(!t->session.is_busy, "a transport is ended while nghttp2 is on the stack");
    t->is_lost = true;
    if (t->has_settings) {
        transport_on_standing(t, false);
    }
    set_end(t, kind, sys_errno, text);
    keepalive_glue_fini(t);
    ping_on_lost(t);
    (void)lull_executor_unpost(t->executor, &t->flush);
    (void)lull_executor_unpost(t->executor, &t->recv.again);
    t->endpoint->on_ready = NULL;
    endpoint_close(t->endpoint);
    t->endpoint = NULL;
    while ((node = list_first(&t->streams)) != NULL) {
        stream_on_lost(LIST_ENTRY(node, struct h2_stream, link), &t->end, text);
    }
    lull_executor_post(t->executor, &t->report);
}

void transport_lose_errno(struct h2_transport *t, int sys_errno, const char *what)
{
    struct lull_error error;
    (void)rc_fail_system(&error, sys_errno, "%s", what);
    transport_lose(t, H2_LOST_ERRNO, sys_errno, error.text);
}

void transport_lose_endpoint(struct h2_transport *t)
{
    char text[sizeof(t->end.text)];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    endpoint_failure_text(t->endpoint, &sb);
    keepalive_glue_explain(t, t->endpoint->sys_errno, &sb);
    transport_lose(t, H2_LOST_ERRNO, t->endpoint->sys_errno, text);
}

void transport_finish_if_drained(struct h2_transport *t)
{
    if (t->is_lost || t->open != 0 || (transport_is_server(t) && !send_is_through(t))) {
        return;
    }
    if (t->goaway.is_seen) {
        transport_lose(t, H2_LOST_GOAWAY, 0, "drained");
    } else if (t->is_draining) {
        if (!transport_is_server(t)) {
            goaway_write(t, NGHTTP2_NO_ERROR, "");
        }
        transport_lose(t, H2_LOST_LOCAL, 0,
                       t->is_out_of_ids ? "drained: stream ids are used up" : "drained");
    }
}

void h2_transport_close(struct h2_transport *transport, uint32_t code, const char *why)
{
    char text[sizeof(transport->end.text)];
    struct strbuf sb;
    if (transport->is_lost) {
        return;
    }
    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "closed by us: %s", why);
    goaway_write(transport, code, why);
    transport_lose(transport, H2_LOST_LOCAL, 0, text);
}

void h2_transport_drain(struct h2_transport *transport)
{
    LULL_INVARIANT(!transport->session.is_busy, "a drain while nghttp2 is on the stack");
    LULL_INVARIANT(!transport_is_server(transport), "a server drains by h2_transport_shutdown");
    transport->is_draining = true;
    transport_finish_if_drained(transport);
}
