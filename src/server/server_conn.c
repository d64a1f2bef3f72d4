/* SPDX-License-Identifier: MIT */
/*
 * See server_conn.h.
 */
#include "server/server_conn.h"

#include <string.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "net/endpoint.h"
#include "server/server.h"
#include "server/server_call.h"

#define H2_NO_ERROR 0x0u

static struct server_conn *conn_of(struct h2_transport *transport)
{
    return (struct server_conn *)h2_transport_owner(transport);
}

/* ---- references */

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    struct server_conn *conn = container_of(task, struct server_conn, dead);
    struct lull_server *server = conn->server;
    (void)executor;
    mem_release(server->allocator, conn);
    server_release(server);
}

void server_conn_hold(struct server_conn *conn)
{
    conn->refs++;
}

void server_conn_drop(struct server_conn *conn)
{
    LULL_INVARIANT(conn->refs > 0, "a connection was given back more often than it was taken");
    if (--conn->refs == 0) {
        executor_post_dead(conn->server->executor, &conn->dead);
    }
}

/* ---- facts of the transport */

static void on_settings(struct h2_transport *transport)
{
    server_age_on_greeted(conn_of(transport));
}

/* A client that goes says so, once for the log however often it does; its streams go on, and it closes. */
static void on_goaway(struct h2_transport *transport, uint32_t code, int32_t last_stream_id,
                      const uint8_t *debug, size_t debug_len)
{
    struct server_conn *conn = conn_of(transport);
    const bool is_news = !conn->says_goaway;
    (void)last_stream_id; /* a server opens none */
    conn->says_goaway = true;
    if (is_news && trace_wants(&conn->server->trace, LULL_EVENT_GOAWAY)) {
        char text[128];
        struct strbuf sb;
        strbuf_init(&sb, text, sizeof(text));
        status_goaway_text(&sb, code, debug, debug_len);
        trace_tell(&conn->server->trace, LULL_EVENT_GOAWAY, 0, "%s says %s", conn->peer, text);
    }
}

static void on_capacity(struct h2_transport *transport)
{
    (void)transport;
}

static void on_read(struct h2_transport *transport, struct lull_instant now)
{
    (void)transport;
    (void)now;
}

static struct h2_stream *on_stream(struct h2_transport *transport,
                                   const struct h2_incoming *incoming)
{
    struct lull_server_call *call = server_call_new(conn_of(transport), incoming);
    return call == NULL ? NULL : &call->stream;
}

static void on_reset(struct h2_transport *transport, int32_t stream_id, uint32_t code,
                     struct lull_instant now)
{
    (void)stream_id;
    (void)code;
    server_age_on_reset(conn_of(transport), now);
}

static void on_ping(struct h2_transport *transport, struct lull_instant now)
{
    server_age_on_ping(conn_of(transport), now);
}

static void on_closed(struct h2_transport *transport, const struct h2_transport_end *end)
{
    struct server_conn *conn = conn_of(transport);
    struct lull_server *server = conn->server;
    LULL_INVARIANT(list_is_empty(&conn->calls), "a connection ended before its streams");
    TRACE(&server->trace, LULL_EVENT_LOST, 0, "%s: %s", conn->peer, end->text);
    server_age_fini(conn);
    conn->transport = NULL;
    list_remove(&conn->in_conns);
    server->stats.connections--;
    server_on_conn_gone(server);
    server_conn_drop(conn);
}

static const struct h2_server_ops server_ops = {
    .transport =
        {
            .on_settings = on_settings,
            .on_goaway = on_goaway,
            .on_capacity = on_capacity,
            .on_read = on_read,
            .on_closed = on_closed,
        },
    .on_stream = on_stream,
    .on_reset = on_reset,
    .on_ping = on_ping,
};

/* ---- its beginning and its end */

static int start_transport(struct server_conn *conn, struct endpoint *endpoint)
{
    const struct lull_server_options *o = &conn->server->options;
    const struct h2_transport_options options = {
        .stream_window_bytes = o->stream_window_bytes,
        .connection_window_bytes = o->connection_window_bytes,
        .max_metadata_bytes = o->max_metadata_bytes,
        .max_streams = o->max_streams,
        .keepalive =
            {
                .time_ns = o->keepalive_time_ns,
                .timeout_ns = o->keepalive_timeout_ns,
                .without_calls = true,
            },
    };
    return h2_transport_new_server(conn->server->executor, endpoint, &options, &server_ops, conn,
                                   &conn->transport);
}

int server_conn_open(struct lull_server *server, struct endpoint *endpoint)
{
    struct server_conn *conn = (struct server_conn *)mem_zeroed(server->allocator, sizeof(*conn));
    if (conn == NULL) {
        return LULL_RC_NOMEM;
    }
    server->counters->allocations++;
    conn->server = server;
    list_init(&conn->in_conns);
    list_init(&conn->calls);
    lull_task_init(&conn->dead, run_dead);
    memcpy(conn->peer, endpoint->peer.text, sizeof(conn->peer));
    int rc = server_age_init(conn);
    if (rc == LULL_OK) {
        rc = start_transport(conn, endpoint);
        if (rc != LULL_OK) {
            server_age_fini(conn);
        }
    }
    if (rc != LULL_OK) {
        mem_release(server->allocator, conn);
        return rc;
    }
    conn->refs = 1;
    server_hold(server);
    list_push_back(&server->conns, &conn->in_conns);
    server->stats.connections++;
    server->stats.connections_made++;
    TRACE(&server->trace, LULL_EVENT_CONNECTED, 0, "%s", conn->peer);
    if (server->is_silent) {
        h2_transport_set_silent(conn->transport, true);
    }
    return LULL_OK;
}

void server_conn_close(struct server_conn *conn, const char *why)
{
    if (conn->transport != NULL) {
        h2_transport_close(conn->transport, H2_NO_ERROR, why);
    }
}
