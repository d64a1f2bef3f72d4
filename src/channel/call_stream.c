/* SPDX-License-Identifier: MIT */
/*
 * The stream of a call. See call_stream.h.
 *
 * The ops run with nghttp2 on the stack, so they record and post `work_task`, which judges. A status whose trailers were
 * parsed decides the call there and then: it leaves its lane, so that no expiry later in the turn, or in the next,
 * can turn an answer that is here into a failure (RULINGS 19).
 */
#include "channel/call_stream.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/call_unary.h"
#include "exec/executor.h"

/* What HTTP/2 calls it when the application gives a stream up (RFC 9113 section 7). */
#define H2_CANCEL 0x8u

#define TEXT_BYTES 512

static struct lull_call *call_of(struct h2_stream *stream)
{
    return container_of(stream, struct lull_call, stream);
}

/* Something was recorded that the work task must look at. */
static void note(struct lull_call *call)
{
    lull_executor_post(call->channel->executor, &call->work_task);
}

/* There is no memory for something of the response: the call ends by that, and what comes behind it is not told. */
static void lose(struct lull_call *call, const char *what)
{
    call->response.lost = call->response.lost != NULL ? call->response.lost : what;
    note(call);
}

/* Copies what is the application's of a block; LULL_OK or LULL_RC_NOMEM. */
static int keep_metadata(struct lull_call *call, struct metadata_list *to,
                         const struct lull_metadata *from)
{
    size_t bytes_cap = to->bytes_cap;
    size_t items_cap = to->items_cap;
    call->arena->has_metadata = true;
    metadata_list_reset(to);
    for (size_t i = 0; i < from->count; i++) {
        const struct lull_metadatum *item = &from->items[i];
        if (response_is_protocol_header(item)) {
            continue;
        }
        int rc = metadata_list_add(to, item->key, item->key_len, item->value, item->value_len);
        if (rc != LULL_OK) {
            return rc;
        }
    }
    bool has_grown = to->bytes_cap != bytes_cap || to->items_cap != items_cap;
    call->channel->counters->allocations += has_grown ? 1 : 0;
    return LULL_OK;
}

static void on_headers(struct h2_stream *stream, int http_status,
                       const struct metadata_list *headers)
{
    struct lull_call *call = call_of(stream);
    struct lull_metadata view = metadata_list_view(headers);
    if (call->stage == CALL_OVER) {
        return;
    }
    bool is_first = !call->response.has_headers;
    response_on_headers(&call->response, http_status, &view);
    if (!is_first) {
        note(call);
        return;
    }
    call_set_phase(call, LULL_PHASE_READING);
    call_timeouts_on_byte(call);
    call_send_commit(call);
    TRACE(&call->channel->trace, LULL_EVENT_CALL_HEADERS, call->id, ":status %d, %zu field%s",
          http_status, headers->count, plural_s(headers->count));
    if (call->response.customs > 0 && keep_metadata(call, &call->arena->headers, &view) != LULL_OK) {
        metadata_list_reset(&call->arena->headers);
        lose(call, "the response's headers");
        return;
    }
    if (!call->response.is_grpc) {
        h2_stream_take_raw(stream);
    } else if (http_status >= 0) {
        call_receive_on_headers(call);
    }
    if (call_receive_has_some(call)) {
        note(call);
    }
}

static void on_message(struct h2_stream *stream, struct lull_slice message)
{
    struct lull_call *call = call_of(stream);
    if (call->stage == CALL_OVER || call->response.lost != NULL) {
        lull_slice_unref(message);
        return;
    }
    TRACE(&call->channel->trace, LULL_EVENT_CALL_MESSAGE, call->id, "%zu byte%s", message.len, plural_s(message.len));
    call->response.messages++;
    if (call->is_unary) {
        call_unary_collect(call, message);
        return;
    }
    if (call_receive_push(call, message) != LULL_OK) {
        lose(call, "a message");
    } else if (!call->receiving.is_paused) {
        note(call);
    }
}

static void trace_run(struct lull_call *call, struct h2_run run)
{
    do {
        TRACE(&call->channel->trace, LULL_EVENT_CALL_MESSAGE, call->id, "%zu byte%s", run.message.len,
              plural_s(run.message.len));
    } while (h2_run_next(&run));
}

static void on_run(struct h2_stream *stream, struct h2_run run, unsigned count)
{
    struct lull_call *call = call_of(stream);
    if (call->stage == CALL_OVER || call->response.lost != NULL) {
        lull_slice_unref(run.message);
        return;
    }
    if (trace_wants(&call->channel->trace, LULL_EVENT_CALL_MESSAGE)) {
        trace_run(call, run);
    }
    call->response.messages += count;
    if (call_receive_push_run(call, run) != LULL_OK) {
        lose(call, "a message");
    } else if (!call->receiving.is_paused) {
        note(call);
    }
}

static void on_progress(struct h2_stream *stream)
{
    call_timeouts_on_byte(call_of(stream));
}

static void on_raw(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    struct lull_call *call = call_of(stream);
    response_on_raw(&call->response, bytes, len);
    if (response_is_decided(&call->response)) {
        note(call);
    }
}

static void on_trailers(struct h2_stream *stream, int http_status,
                        const struct metadata_list *trailers)
{
    struct lull_call *call = call_of(stream);
    struct lull_metadata view = metadata_list_view(trailers);
    if (call->stage == CALL_OVER) {
        return;
    }
    response_on_trailers(&call->response, http_status, &view);
    call_send_commit(call);
    const struct lull_metadatum *message = call->response.message;
    if (message != NULL) {
        /* Without memory the code still counts. */
        (void)call_arena_set_message(call->channel->arenas, call->arena, message->value,
                                     message->value_len);
    }
    if (call->response.customs > 0 && keep_metadata(call, &call->arena->trailers, &view) != LULL_OK) {
        metadata_list_reset(&call->arena->trailers);
        lose(call, "the trailers");
    }
    if (response_has_verdict_of_server(&call->response)) {
        call_timeouts_stop(call);
        subchannel_on_call_completed(&call->channel->subchannel, call->connection);
    }
    note(call);
}

static void on_end_of_data(struct h2_stream *stream)
{
    struct lull_call *call = call_of(stream);
    call->response.has_end_of_data = true;
    note(call);
}

/* The request is out, as far as it has to be for the server to answer. */
static void on_request_out(struct lull_call *call)
{
    call->is_sent = true;
    call->bytes_read_at_sent = h2_transport_bytes_read(call->connection->transport);
    if (call->phase == LULL_PHASE_SENDING) {
        call_set_phase(call, LULL_PHASE_WAITING);
    }
    call_timeouts_on_request_out(call);
}

static void on_sent(struct h2_stream *stream, bool is_last)
{
    struct lull_call *call = call_of(stream);
    if (call->stage != CALL_OPEN) {
        return;
    }
    /* The first time it is the HEADERS: while the application still sends, the server may answer from here on (RULINGS 14). */
    if (!call->is_sent && (is_last || !call->sending.is_half_closed)) {
        on_request_out(call);
    }
    call_send_on_headers_sent(call);
}

static void on_writable(struct h2_stream *stream)
{
    struct lull_call *call = call_of(stream);
    if (call_send_on_room(call)) {
        note(call);
    }
}

static void take_bytes_read(struct lull_call *call)
{
    if (call->is_sent && call->connection != NULL) {
        call->bytes_read =
            h2_transport_bytes_read(call->connection->transport) - call->bytes_read_at_sent;
    }
}

/* A GOAWAY had come, and what happened to the stream follows from it. The text of the end has to name it. */
static void note_goaway(struct lull_call *call, struct h2_stream_end *end)
{
    const struct connection *connection = call->connection;
    call->has_goaway =
        connection->has_goaway && (end->kind == H2_END_TRANSPORT || end->kind == H2_END_NOT_SENT ||
                                   end->kind == H2_END_UNPROCESSED);
    if (!call->has_goaway || end->kind != H2_END_TRANSPORT) {
        return;
    }
    size_t len = strlen(end->text);
    struct strbuf sb;
    strbuf_init(&sb, end->text + len, sizeof(end->text) - len);
    strbuf_printf(&sb, " after %s", connection->goaway_text);
}

/* Few ends have a text. */
static void keep_end(struct h2_stream_end *to, const struct h2_stream_end *end)
{
    memcpy(to, end, offsetof(struct h2_stream_end, text));
    if (end->text[0] != '\0') {
        memcpy(to->text, end->text, sizeof(to->text));
    }
}

static void on_closed(struct h2_stream *stream, const struct h2_stream_end *end)
{
    struct lull_call *call = call_of(stream);
    keep_end(&call->response.end, end);
    call->response.is_closed = true;
    if (call->stage == CALL_OPEN) {
        take_bytes_read(call);
        note_goaway(call, &call->response.end);
    }
    /* The transport may be gone before the work task runs. */
    call->connection = NULL;
    call->is_stream_open = false;
    call->stream_closed_turn = executor_turn_number(call->channel->executor);
    note(call);
}

static const struct h2_stream_ops stream_ops = {
    .on_headers = on_headers,
    .on_message = on_message,
    .on_run = on_run,
    .on_raw = on_raw,
    .on_trailers = on_trailers,
    .on_end_of_data = on_end_of_data,
    .on_sent = on_sent,
    .on_closed = on_closed,
    .on_writable = on_writable,
    .on_progress = on_progress,
    .owner_bytes = sizeof(struct lull_call),
};

/* ---- opening */

void call_stream_set_up(struct lull_call *call)
{
    response_init(&call->response, false);
    h2_stream_init(&call->stream, &stream_ops, call->max_recv_message_bytes);
}

/* It goes back to the queue, as if it had never left. */
static void set_up_again(struct lull_call *call)
{
    h2_stream_fini(&call->stream);
    call_stream_set_up(call);
    call->connection = NULL;
}

static void on_opened(struct lull_call *call, const struct connection *connection)
{
    struct strbuf sb;
    size_t waiting_bytes = call->sending.waiting_bytes;
    call->stage = CALL_OPEN;
    call->is_stream_open = true;
    call->attempts = connection->subchannel->attempts - call->attempts_before;
    call_set_phase(call, LULL_PHASE_SENDING);
    strbuf_init(&sb, call->arena->peer, sizeof(call->arena->peer));
    strbuf_add(&sb, h2_transport_peer(connection->transport));
    const char *timeout = h2_transport_last_timeout(connection->transport);
    TRACE(&call->channel->trace, LULL_EVENT_CALL_SENT, call->id,
          "%s: stream %" PRId32 "%s%s, %zu byte%s", call->arena->peer, call->stream.id,
          *timeout != '\0' ? ", grpc-timeout " : "", timeout, waiting_bytes,
          plural_s(waiting_bytes));
    if (call_send_on_opened(call) != LULL_OK) {
        struct call_outcome outcome = {
            .code = LULL_CODE_RESOURCE_EXHAUSTED,
            .reason = LULL_REASON_INTERNAL,
            .what = "no memory to send a message",
            .http2_error = -1,
        };
        call_end(call, &outcome);
    }
}

bool call_stream_open(struct lull_call *call, struct connection *connection)
{
    struct lull_instant now = executor_fresh_now(call->channel->executor);
    struct call_outcome outcome = {.http2_error = -1};
    int64_t left_ns = call_timeouts_left(call, now);
    if (left_ns <= 0) {
        outcome.code = LULL_CODE_DEADLINE_EXCEEDED;
        outcome.reason = LULL_REASON_DEADLINE;
        call_end(call, &outcome);
        return true;
    }
    struct lull_metadata metadata = call_arena_view(call->arena, &call->arena->request);
    struct h2_request request = {
        .path = call->arena->method,
        .timeout_ns = call_timeouts_for_wire(call, left_ns),
        .metadata = &metadata,
    };
    call->response.is_unary = call->is_unary;
    call->stream.auto_consume = call->is_unary;
    call->connection = connection;
    call->is_sent = false;
    call->has_goaway = false;
    call->bytes_read = 0;
    call_send_fill(call, &request);
    switch (h2_transport_open(connection->transport, &call->stream, &request)) {
    case LULL_OK:
        on_opened(call, connection);
        return true;
    case LULL_RC_LIMIT:
        call->connection = NULL;
        return false;
    default:
        call->connection = NULL;
        outcome.code = LULL_CODE_RESOURCE_EXHAUSTED;
        outcome.reason = LULL_REASON_INTERNAL;
        outcome.what = "no memory to open a stream";
        call_end(call, &outcome);
        return true;
    }
}

/* ---- judging */

/* Nothing came, and the server did nothing with it. */
static bool is_unseen(const struct response *r)
{
    return r->is_closed && !response_has_begun(r) &&
           (r->end.kind == H2_END_UNPROCESSED || r->end.kind == H2_END_NOT_SENT);
}

/* The server did not see the call, or says that it did nothing with it: true when the call went back to the queue. */
static bool retry(struct lull_call *call)
{
    const struct response *r = &call->response;
    if (!is_unseen(r) || call->sending.is_committed) {
        return false;
    }
    if (r->end.kind == H2_END_UNPROCESSED) {
        if (call->was_refused) {
            return false;
        }
        call->was_refused = true;
    } else {
        if (call->retries == CALL_RETRIES_MAX) {
            struct call_outcome outcome = {
                .code = LULL_CODE_INTERNAL,
                .reason = LULL_REASON_TRANSPORT,
                .what = "too many transparent retries: 1000 connections were lost before the "
                        "request left",
                .http2_error = -1,
            };
            call_end(call, &outcome);
            return true;
        }
        call->retries++;
    }
    set_up_again(call);
    call_send_rewind(call);
    call_timeouts_on_attempt_over(call);
    channel_enqueue(call->channel, call);
    return true;
}

bool call_stream_is_ending(const struct lull_call *call)
{
    const struct response *r = &call->response;
    return call->stage == CALL_OPEN && response_is_decided(r) &&
           (response_has_begun(r) || !r->is_closed);
}

void call_stream_judge(struct lull_call *call)
{
    char text[TEXT_BYTES];
    struct strbuf sb;
    if (call->stage != CALL_OPEN || !response_is_decided(&call->response) || retry(call)) {
        return;
    }
    strbuf_init(&sb, text, sizeof(text));
    struct verdict verdict = response_judge(&call->response, &sb);
    if (call->sending.is_committed && is_unseen(&call->response)) {
        strbuf_add(&sb, "; not sent elsewhere: more had been sent than is kept for that");
    }
    struct call_outcome outcome = {
        .code = verdict.code,
        .reason = call->has_goaway && verdict.reason != LULL_REASON_SERVER ? LULL_REASON_GOAWAY
                                                                           : verdict.reason,
        .what = verdict.is_servers ? NULL : text,
        .sys_errno = call->response.is_closed ? call->response.end.sys_errno : 0,
        .http2_error = verdict.http2_error,
        .is_servers = verdict.is_servers,
        .is_peers = true,
    };
    if (call->has_goaway && outcome.http2_error < 0 && call->response.end.has_code) {
        outcome.http2_error = (int64_t)call->response.end.code;
    }
    if (verdict.code == LULL_CODE_CANCELLED && !verdict.is_servers &&
        call_timeouts_left(call, lull_executor_now(call->channel->executor)) <= 0) {
        /* The server ran out of our time a little before us and said so by RST_STREAM(CANCEL). */
        outcome.code = LULL_CODE_DEADLINE_EXCEEDED;
        outcome.reason = LULL_REASON_DEADLINE;
    }
    take_bytes_read(call);
    call_end(call, &outcome);
}

void call_stream_abandon(struct lull_call *call)
{
    if (!call->is_stream_open) {
        return;
    }
    take_bytes_read(call);
    /* One that the peer has ended goes by itself, without a frame. */
    if (!call->stream.peer_ended) {
        h2_stream_reset(&call->stream, H2_CANCEL);
    }
}
