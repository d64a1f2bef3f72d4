/* SPDX-License-Identifier: MIT */
/*
 * What a transport is made of, for the files of h2/ and nobody else.
 */
#ifndef H2_INNER_H
#define H2_INNER_H

#include "base/cold.h"
#include "base/list.h"
#include "exec/executor.h"
#include "h2/framing.h"
#include "h2/goaway.h"
#include "h2/headers.h"
#include "h2/incoming.h"
#include "h2/keepalive_glue.h"
#include "h2/outbox.h"
#include "h2/ping.h"
#include "h2/recv.h"
#include "h2/send.h"
#include "h2/serving.h"
#include "h2/session.h"
#include "h2/stock.h"
#include "h2/stream.h"
#include "h2/transport.h"

struct h2_transport {
    struct lull_executor *executor;
    struct endpoint *endpoint; /* NULL once lost */
    struct h2_transport_options options;
    const struct h2_transport_ops *ops;
    const struct h2_server_ops *server_ops; /* NULL: a client */
    void *owner;
    char peer[ADDR_TEXT_BYTES];

    struct h2_stock *stock;
    struct session session;
    struct send_state send;
    struct recv_state recv;
    struct headers_state headers;
    struct goaway_state goaway;
    struct ping_state ping;
    struct keepalive_glue keepalive;
    struct outbox_state outbox;
    struct incoming_state incoming;

    struct list_node streams; /* open, in the order of their ids */
    struct list_node ended;   /* their end is decided; `report` tells it */
    size_t open;              /* streams in `streams` */
    size_t headless;          /* of those, the ones whose response has not begun */
    uint32_t peer_max_streams;

    bool has_settings;
    bool is_draining;
    bool is_out_of_ids;
    bool is_out_of_memory; /* noted where nghttp2 is on the stack, acted on after it */
    bool was_full;         /* can_open was false for want of room: on_capacity is owed */
    bool is_silent;        /* servers: says nothing and hears nothing */
    bool is_lost;
    bool is_told; /* on_closed was called */

    struct h2_stream *recent; /* the last that was looked for; NULL: none, or it has left */
    struct lull_task flush;
    struct lull_task report;
    struct lull_task dead;
    struct h2_transport_end end;
};

/* From here on what belongs to the open streams fills more than a core's cache. */
#define MANY_STREAMS 128

#define CACHE_LINE_BYTES 64

static inline bool transport_is_server(const struct h2_transport *t)
{
    return t->server_ops != NULL;
}

/* nghttp2's stream of this id is ours; NULL: it is not, or we have parted. One frame's callbacks ask for the same one. */
static inline struct h2_stream *transport_stream(struct h2_transport *t, int32_t id)
{
    if (t->recent == NULL || t->recent->id != id) {
        t->recent = nghttp2_session_get_stream_user_data(t->session.nghttp2, id);
    }
    return t->recent;
}

/* Makes one, of either role; `server_ops` NULL: a client's. */
int transport_start(struct lull_executor *executor, struct endpoint *endpoint,
                    const struct h2_transport_options *options, const struct h2_transport_ops *ops,
                    const struct h2_server_ops *server_ops, void *owner, struct h2_transport **out);

/* Ends the transport: closes the endpoint, decides every stream's end, tells it all from a task. The first time counts. Not
 * while nghttp2 is on the stack. */
LULL_COLD void transport_lose(struct h2_transport *t, enum h2_lost kind, int sys_errno, const char *text);

/* The same with "what: the errno's words" as its text. */
LULL_COLD void transport_lose_errno(struct h2_transport *t, int sys_errno, const char *what);

/* The same for the endpoint's last IO_FAIL: "read failed: " and what it says. */
LULL_COLD void transport_lose_endpoint(struct h2_transport *t);

/* Ends it if it only waited for its last stream. As transport_lose. */
void transport_finish_if_drained(struct h2_transport *t);

/* serving.c: the peer has reset a stream, or made us end it by breaking the rules. A client's transport tells nobody. */
void serving_on_fault(struct h2_transport *t, int32_t stream_id, uint32_t code);

/* A client's connection stands (its SETTINGS came), or does so no more. */
void transport_on_standing(struct h2_transport *t, bool stands);

/* A stream has gone, or the peer's limit has moved. */
void transport_on_room(struct h2_transport *t);

/* ---- stream.c, the inner side */

/* Decides the end of an open stream and resets it with `rst_code`, unless both directions are over or it never left. */
LULL_COLD void stream_fail(struct h2_stream *stream, enum h2_end kind, uint32_t rst_code, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* The same for a stream that nghttp2 is about to close by itself, so that no reset is needed. */
LULL_COLD void stream_note_end(struct h2_stream *stream, enum h2_end kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The peer's END_STREAM was told: over, if nothing of the request is left to send; else the rest is called off (RFC 9113 section 8.1). */
void stream_on_peer_ended(struct h2_stream *stream);

/* nghttp2 has let go of it. Tells on_closed. */
void stream_on_closed(struct h2_stream *stream, uint32_t code);

/* The connection is gone, for the reason that `text` gives. Takes the stream out of the open ones; `report` tells. */
LULL_COLD void stream_on_lost(struct h2_stream *stream, const struct h2_transport_end *lost,
                    const char *text);

/* on_closed, and what the stream held is let go. */
void stream_tell(struct h2_stream *stream);

#endif
