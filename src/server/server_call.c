/* SPDX-License-Identifier: MIT */
/*
 * The life of a server's call. See server_call.h and lull/server.h.
 */
#include "server/server_call.h"

#include <inttypes.h>
#include <string.h>

#include "base/cold.h"
#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "exec/executor.h"
#include "h2/serving.h"
#include "server/server.h"
#include "server/server_conn.h"

/* RFC 9113 section 7. */
#define H2_INTERNAL_ERROR 0x2u
#define H2_CANCEL         0x8u

/* So many messages are told in a row before other tasks have their turn. */
#define TOLD_IN_A_ROW 64

const char *lull_server_end_name(int end)
{
    static const char *const names[] = {"FINISHED", "CANCELLED", "DEADLINE", "LOST",
                                        "PROTOCOL", "LIMIT",     "CLOSED"};
    return end < 0 || (size_t)end >= sizeof(names) / sizeof(names[0]) ? "unknown" : names[end];
}

/* ---- references */

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_server_call *call = container_of(task, struct lull_server_call, dead);
    struct lull_server *server = call->server;
    struct server_conn *conn = call->conn;
    (void)executor;
    server_call_drop_held(call);
    h2_stream_fini(&call->stream);
    metadata_list_fini(&call->metadata);
    mem_release(server->allocator, call->name);
    lull_recycler_release(server->call_store, call);
    server_conn_drop(conn);
    server_release(server);
}

void server_call_hold(struct lull_server_call *call)
{
    call->refs++;
}

void server_call_drop(struct lull_server_call *call)
{
    struct lull_server *server = call->server;
    LULL_INVARIANT(call->refs > 0, "a call was given back more often than it was taken");
    if (--call->refs == 0) {
        bool had_to_enter = executor_enter(server->executor);
        (void)lull_executor_unpost(server->executor, &call->work);
        executor_post_dead(server->executor, &call->dead);
        executor_leave(server->executor, had_to_enter);
    }
}

void lull_server_call_ref(struct lull_server_call *call)
{
    if (call != NULL) {
        server_call_hold(call);
    }
}

void lull_server_call_unref(struct lull_server_call *call)
{
    if (call != NULL) {
        server_call_drop(call);
    }
}

/* ---- the end */

/* A deadline is told in trailers: a client whose own clock is a little behind takes a reset for a cancel. */
static void end_stream(struct lull_server_call *call, enum lull_server_end end, const char *why)
{
    if (end != LULL_SERVER_END_DEADLINE ||
        h2_stream_cut_short(&call->stream, LULL_CODE_DEADLINE_EXCEEDED, why) != LULL_OK) {
        h2_stream_reset(&call->stream,
                        end == LULL_SERVER_END_LIMIT ? H2_INTERNAL_ERROR : H2_CANCEL);
    }
}

void server_call_end(struct lull_server_call *call, enum lull_server_end end, const char *why)
{
    struct strbuf sb;
    if (call->is_over) {
        return;
    }
    call->is_over = true;
    call->end = end;
    strbuf_init(&sb, call->why, sizeof(call->why));
    strbuf_add(&sb, why);
    lane_entry_fini(&call->deadline);
    server_call_drop_held(call);
    if (call->is_stream_open) {
        end_stream(call, end, why);
    }
    lull_executor_post(call->server->executor, &call->work);
}

LULL_COLD static void expired(struct lane_entry *entry, struct lull_instant now)
{
    struct lull_server_call *call = container_of(entry, struct lull_server_call, deadline);
    (void)now;
    if (call->conn->transport != NULL) {
        /* What the client said before its time was up counts (HOUSE, Reading). */
        h2_transport_read_now(call->conn->transport);
    }
    server_call_end(call, LULL_SERVER_END_DEADLINE, "the deadline passed");
}

/* ---- what is told, in order; a callback may do anything but free the call, which `run_work` holds */

static void user_returned(struct lull_server_call *call)
{
    executor_on_user_returned(call->server->executor);
}

static void refuse_unknown(struct lull_server_call *call)
{
    char text[200];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "unknown method %s", call->name);
    call->is_finishing = true;
    if (h2_stream_trailers(&call->stream, LULL_CODE_UNIMPLEMENTED, text, NULL) != LULL_OK) {
        server_call_end(call, LULL_SERVER_END_LIMIT, "no memory for the answer");
    }
}

static void tell_call(struct lull_server_call *call)
{
    const struct lull_server_request request = {
        .size = sizeof(request),
        .method = call->name,
        .authority = call->authority,
        .metadata = metadata_list_view(&call->metadata),
        .left_ns = lull_server_call_left_ns(call),
    };
    call->is_told = true;
    TRACE(&call->server->trace, LULL_EVENT_CALL_STARTED, call->id, "%s from %s", call->name,
          call->conn->peer);
    if (call->method == NULL) {
        refuse_unknown(call);
    } else if (call->method->handler.on_call != NULL) {
        call->method->handler.on_call(call, &request, call->ctx);
        user_returned(call);
    }
}

static void tell_message(struct lull_server_call *call)
{
    struct lull_slice message = server_call_take_held(call);
    h2_stream_consumed(&call->stream, message.len);
    if (call->method->handler.on_message != NULL) {
        call->method->handler.on_message(call, message, call->ctx);
        user_returned(call);
    }
    lull_slice_unref(message);
}

static bool is_hearing(const struct lull_server_call *call)
{
    return !call->is_over && !call->is_finishing && !call->is_paused;
}

static void tell_what_came(struct lull_server_call *call)
{
    int told = 0;
    while (is_hearing(call) && !list_is_empty(&call->held)) {
        if (told++ == TOLD_IN_A_ROW) {
            lull_executor_post(call->server->executor, &call->work);
            return;
        }
        tell_message(call);
    }
    if (is_hearing(call) && call->is_half_closed && !call->is_half_closed_told) {
        call->is_half_closed_told = true;
        if (call->method->handler.on_half_closed != NULL) {
            call->method->handler.on_half_closed(call, call->ctx);
            user_returned(call);
        }
    }
}

static void tell_room(struct lull_server_call *call)
{
    if (!call->has_room || call->is_over || call->is_finishing) {
        return;
    }
    call->has_room = false;
    if (call->method->handler.on_writable != NULL) {
        call->method->handler.on_writable(call, call->ctx);
        user_returned(call);
    }
}

/* A call that was over before anybody was told of it is not told at all. */
static void tell_end(struct lull_server_call *call)
{
    struct lull_server *server = call->server;
    call->is_closed_told = true;
    server->stats.calls--;
    if (call->is_told) {
        TRACE(&server->trace, LULL_EVENT_CALL_CLOSED, call->id, "%s%s%s",
              lull_server_end_name((int)call->end), call->why[0] == '\0' ? "" : ": ", call->why);
    }
    if (call->is_told && call->method != NULL && call->method->handler.on_closed != NULL) {
        call->method->handler.on_closed(call, call->end, call->why, call->ctx);
        user_returned(call);
    }
    server_call_drop(call);
}

static void run_work(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_server_call *call = container_of(task, struct lull_server_call, work);
    (void)executor;
    server_call_hold(call);
    if (!call->is_told && !call->is_over) {
        tell_call(call);
    }
    tell_what_came(call);
    tell_room(call);
    if (call->is_over && !call->is_closed_told) {
        tell_end(call);
    }
    if (call->has_stream_ref && !call->is_stream_open) {
        call->has_stream_ref = false;
        server_call_drop(call);
    }
    server_call_drop(call);
}

/* ---- the beginning */

static int copy_request(struct lull_server_call *call, const struct h2_incoming *incoming)
{
    const struct lull_allocator *allocator = call->server->allocator;
    const size_t path_size = strlen(incoming->path) + 1;
    const size_t authority_size = strlen(incoming->authority) + 1;
    const struct lull_metadata metadata = metadata_list_view(incoming->metadata);
    int rc;
    call->name = (char *)mem_alloc(allocator, path_size + authority_size);
    if (call->name == NULL) {
        return LULL_RC_NOMEM;
    }
    memcpy(call->name, incoming->path, path_size);
    memcpy(call->name + path_size, incoming->authority, authority_size);
    call->authority = call->name + path_size;
    metadata_list_init(&call->metadata, allocator, 0);
    rc = metadata_list_add_all(&call->metadata, &metadata);
    if (rc == LULL_OK) {
        rc = lane_entry_init(&call->deadline, call->server->executor, expired);
    }
    if (rc != LULL_OK) {
        metadata_list_fini(&call->metadata);
        mem_release(allocator, call->name);
    }
    return rc;
}

struct lull_server_call *server_call_new(struct server_conn *conn,
                                         const struct h2_incoming *incoming)
{
    struct lull_server *server = conn->server;
    const struct lull_instant now = lull_executor_now(server->executor);
    struct lull_server_call *call;
    if (server->is_closed) {
        return NULL;
    }
    call = (struct lull_server_call *)lull_recycler_claim(server->call_store);
    if (call == NULL) {
        return NULL;
    }
    memset(call, 0, sizeof(*call));
    call->server = server;
    call->conn = conn;
    if (copy_request(call, incoming) != LULL_OK) {
        lull_recycler_release(server->call_store, call);
        return NULL;
    }
    list_init(&call->held);
    list_init(&call->in_calls);
    lull_task_init(&call->work, run_work);
    lull_task_init(&call->dead, run_dead);
    h2_stream_init(&call->stream, &server_call_stream_ops, server->options.max_recv_message_bytes);
    call->stream.auto_consume = false;
    call->method = server_find_method(server, call->name);
    call->ctx = call->method != NULL ? call->method->ctx : NULL;
    call->id = ++server->stats.calls_made;
    call->is_stream_open = call->has_stream_ref = true;
    call->refs = 2;
    call->deadline_at = lull_instant_add(now, incoming->timeout_ns);
    lane_join(&call->deadline, now, incoming->timeout_ns);
    server->stats.calls++;
    server_hold(server);
    server_conn_hold(conn);
    list_push_back(&conn->calls, &call->in_calls);
    server_age_on_stream_opened(conn);
    lull_executor_post(server->executor, &call->work);
    return call;
}
