/* SPDX-License-Identifier: MIT */
/*
 * The facts of a call's stream: recorded here, told by server_call.c from a task. See server_call.h.
 */
#include "server/server_call.h"

#include "base/container.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "server/server.h"
#include "server/server_conn.h"

static struct lull_server_call *call_of(struct h2_stream *stream)
{
    return container_of(stream, struct lull_server_call, stream);
}

static void post(struct lull_server_call *call)
{
    lull_executor_post(call->server->executor, &call->work);
}

/* ---- messages */

struct lull_slice server_call_take_held(struct lull_server_call *call)
{
    struct server_held *held = LIST_ENTRY(list_first(&call->held), struct server_held, link);
    struct lull_slice message;
    if (h2_run_take(&held->run, &message)) {
        return message;
    }
    list_remove(&held->link);
    /* unguarded: it was just popped off the only queue it is ever in. */
    lull_recycler_release_unguarded(call->server->held_store, held);
    return message;
}

void server_call_drop_held(struct lull_server_call *call)
{
    while (!list_is_empty(&call->held)) {
        lull_slice_unref(server_call_take_held(call));
    }
}

static void on_message(struct h2_stream *stream, struct lull_slice message)
{
    struct lull_server_call *call = call_of(stream);
    struct server_held *held;
    if (call->is_over || call->is_finishing) {
        lull_slice_unref(message);
        return;
    }
    if (!list_is_empty(&call->held)) {
        held = LIST_ENTRY(call->held.prev, struct server_held, link);
        if (h2_run_join(&held->run, message)) {
            post(call);
            return;
        }
    }
    held = (struct server_held *)lull_recycler_claim(call->server->held_store);
    if (held == NULL) {
        lull_slice_unref(message);
        server_call_end(call, LULL_SERVER_END_LIMIT, "no memory for a message");
        return;
    }
    held->run.message = message;
    held->run.more = 0;
    list_init(&held->link);
    list_push_back(&call->held, &held->link);
    post(call);
}

static void on_end_of_data(struct h2_stream *stream)
{
    struct lull_server_call *call = call_of(stream);
    call->is_half_closed = true;
    post(call);
}

/* A client's trailers mean nothing to gRPC, but end its side as END_STREAM on DATA does. */
static void on_trailers(struct h2_stream *stream, int http_status,
                        const struct metadata_list *trailers)
{
    (void)http_status;
    (void)trailers;
    on_end_of_data(stream);
}

/* ---- the rest */

static void on_headers(struct h2_stream *stream, int http_status,
                       const struct metadata_list *headers)
{
    (void)stream;
    (void)http_status;
    (void)headers;
}

static void on_raw(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    (void)stream;
    (void)bytes;
    (void)len;
}

static void on_sent(struct h2_stream *stream, bool is_last)
{
    (void)stream;
    (void)is_last;
}

static void on_writable(struct h2_stream *stream)
{
    struct lull_server_call *call = call_of(stream);
    if (call->wants_room) {
        call->wants_room = false;
        call->has_room = true;
        post(call);
    }
}

/* Which of our ends a stream's is, and the line that says so where the stream has none. */
static enum lull_server_end end_of(const struct lull_server_call *call,
                                   const struct h2_stream_end *end, const char **text)
{
    switch (end->kind) {
    case H2_END_FINISHED:
        *text = "";
        return call->is_finishing ? LULL_SERVER_END_FINISHED : LULL_SERVER_END_PROTOCOL;
    case H2_END_RESET:
        *text = "the client took the call back";
        return LULL_SERVER_END_CANCELLED;
    case H2_END_LIMIT:
        *text = "a limit was passed";
        return LULL_SERVER_END_LIMIT;
    case H2_END_PROTOCOL:
        *text = "the client broke the protocol";
        return LULL_SERVER_END_PROTOCOL;
    default:
        *text = call->server->is_closed ? "the server was closed" : "the connection was lost";
        return call->server->is_closed ? LULL_SERVER_END_CLOSED : LULL_SERVER_END_LOST;
    }
}

static void on_closed(struct h2_stream *stream, const struct h2_stream_end *end)
{
    struct lull_server_call *call = call_of(stream);
    const char *text;
    const enum lull_server_end why = end_of(call, end, &text);
    call->is_stream_open = false;
    list_remove(&call->in_calls);
    server_age_on_stream_closed(call->conn);
    server_call_end(call, why,
                    end->text[0] != '\0' && why != LULL_SERVER_END_CLOSED ? end->text : text);
    post(call);
}

const struct h2_stream_ops server_call_stream_ops = {
    .on_headers = on_headers,
    .on_message = on_message,
    .on_raw = on_raw,
    .on_trailers = on_trailers,
    .on_end_of_data = on_end_of_data,
    .on_sent = on_sent,
    .on_closed = on_closed,
    .on_writable = on_writable,
};
