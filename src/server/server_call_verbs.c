/* SPDX-License-Identifier: MIT */
/*
 * What an application says to a call. See lull/server.h.
 *
 * Decides: which verb is legal when, and what it answers. Called by applications on the driving thread, in a turn or outside.
 */
#include "server/server_call.h"

#include "base/slice.h"
#include "channel/trace.h"
#include "exec/executor.h"
#include "h2/headers.h"
#include "h2/serving.h"
#include "lull/metadata.h"
#include "server/server.h"
#include "server/server_conn.h"

/* What stands against a verb of the answer. */
static int judge(const struct lull_server_call *call)
{
    if (call->is_over) {
        return LULL_RC_CLOSED;
    }
    return call->is_finishing ? LULL_RC_STATE : LULL_OK;
}

/* LULL_RC_LIMIT has no room for words: the trace has. */
static int note(const struct lull_server_call *call, int rc, const char *message,
                const struct lull_metadata *metadata)
{
    const struct headers_answer what = {.grpc_message = message, .metadata = metadata};
    if (rc == LULL_RC_LIMIT) {
        TRACE(&call->server->trace, LULL_EVENT_WARNING, call->id,
              "metadata is not taken: it makes a header block of %zu bytes and lull's own, at most "
              "%zu can be sent",
              headers_answer_bytes(&what), HEADERS_BLOCK_MAX_BYTES);
    }
    return rc;
}

static int respond(struct lull_server_call *call, const struct lull_metadata *headers)
{
    int rc = h2_stream_respond(&call->stream, headers);
    call->has_responded = call->has_responded || rc == LULL_OK;
    return rc;
}

int lull_server_call_respond_headers(struct lull_server_call *call,
                                     const struct lull_metadata *headers)
{
    int rc = judge(call);
    if (rc == LULL_OK && call->has_responded) {
        rc = LULL_RC_STATE;
    }
    if (rc == LULL_OK) {
        rc = note(call, lull_metadata_check(headers, NULL), NULL, headers);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    bool had_to_enter = executor_enter(call->server->executor);
    rc = note(call, respond(call, headers), NULL, headers);
    executor_leave(call->server->executor, had_to_enter);
    return rc;
}

int lull_server_call_send(struct lull_server_call *call, struct lull_slice message)
{
    int rc = judge(call);
    if (rc != LULL_OK) {
        return rc;
    }
    if (slice_points_nowhere(message)) {
        return LULL_RC_INVALID;
    }
    if (message.len > call->server->options.max_send_message_bytes) {
        return LULL_RC_LIMIT;
    }
    if (h2_stream_queued_bytes(&call->stream) >= LULL_SERVER_QUEUE_BYTES) {
        call->wants_room = true;
        return LULL_RC_AGAIN;
    }
    bool had_to_enter = executor_enter(call->server->executor);
    if (!call->has_responded) {
        rc = respond(call, NULL);
    }
    if (rc == LULL_OK) {
        rc = h2_stream_send(&call->stream, message, false);
    }
    executor_leave(call->server->executor, had_to_enter);
    return rc;
}

int lull_server_call_finish(struct lull_server_call *call, enum lull_code code, const char *message,
                            const struct lull_metadata *trailers)
{
    const unsigned status = (unsigned)code <= (unsigned)LULL_CODE_UNAUTHENTICATED
                                ? (unsigned)code
                                : (unsigned)LULL_CODE_UNKNOWN;
    int rc = judge(call);
    if (rc == LULL_OK) {
        rc = note(call, lull_metadata_check(trailers, NULL), message, trailers);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    bool had_to_enter = executor_enter(call->server->executor);
    /* What the stream tells from inside the verb is that of a call that is finishing. */
    call->is_finishing = true;
    rc = note(call, h2_stream_trailers(&call->stream, status, message, trailers), message, trailers);
    if (rc == LULL_OK) {
        server_call_drop_held(call);
    } else {
        call->is_finishing = false;
    }
    executor_leave(call->server->executor, had_to_enter);
    return rc;
}

void lull_server_call_pause(struct lull_server_call *call)
{
    call->is_paused = true;
}

void lull_server_call_resume(struct lull_server_call *call)
{
    if (!call->is_paused) {
        return;
    }
    call->is_paused = false;
    if (call->is_over) {
        return;
    }
    bool had_to_enter = executor_enter(call->server->executor);
    lull_executor_post(call->server->executor, &call->work);
    executor_leave(call->server->executor, had_to_enter);
}

void lull_server_call_set_ctx(struct lull_server_call *call, void *ctx)
{
    call->ctx = ctx;
}

struct lull_metadata lull_server_call_metadata(const struct lull_server_call *call)
{
    return metadata_list_view(&call->metadata);
}

const char *lull_server_call_method(const struct lull_server_call *call)
{
    return call->name;
}

const char *lull_server_call_peer(const struct lull_server_call *call)
{
    return call->conn->peer;
}

int64_t lull_server_call_left_ns(const struct lull_server_call *call)
{
    return lull_instant_diff(call->deadline_at, lull_executor_now(call->server->executor));
}

uint64_t lull_server_call_id(const struct lull_server_call *call)
{
    return call->id;
}
