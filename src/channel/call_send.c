/* SPDX-License-Identifier: MIT */
/*
 * The outgoing side of a call. See call_send.h and lull/call.h.
 */
#include "channel/call_send.h"

#include "base/slice.h"
#include "channel/call.h"
#include "channel/call_cancel.h"
#include "channel/call_stream.h"
#include "exec/executor.h"

/* A message's prefix on the wire (PROTOCOL-HTTP2, Length-Prefixed-Message). */
#define PREFIX_BYTES ((size_t)5)

void call_send_init(struct call_sending *sending)
{
    *sending = (struct call_sending){.waiting = NULL};
    call_messages_init(&sending->messages);
}

static size_t cost(struct lull_slice message)
{
    return message.len + sizeof(struct call_message);
}

static void count_kept(struct lull_call *call, struct lull_slice message)
{
    call->sending.kept_bytes += cost(message);
    call->channel->replay_bytes += cost(message);
}

static void uncount_kept(struct lull_call *call, struct lull_slice message)
{
    call->sending.kept_bytes -= cost(message);
    call->channel->replay_bytes -= cost(message);
}

static void forget(struct lull_call *call, struct call_message *message)
{
    struct lull_slice payload =
        call_messages_take(call->channel->arenas, &call->sending.messages, message);
    uncount_kept(call, payload);
    lull_slice_unref(payload);
}

/* Puts a message at the end of those that are here; NULL: no memory. */
static struct call_message *keep(struct lull_call *call, struct lull_slice message)
{
    struct call_message *kept = call_messages_push(call->channel->arenas, &call->sending.messages,
                                                   lull_slice_ref(message));
    if (kept == NULL) {
        lull_slice_unref(message);
        return NULL;
    }
    count_kept(call, message);
    return kept;
}

static int wait_here(struct lull_call *call, struct lull_slice message)
{
    struct call_sending *s = &call->sending;
    struct call_message *kept = keep(call, message);
    if (kept == NULL) {
        return LULL_RC_NOMEM;
    }
    s->waiting = s->waiting != NULL ? s->waiting : kept;
    s->waiting_bytes += message.len + PREFIX_BYTES;
    return LULL_OK;
}

void call_send_accept(struct lull_call *call, struct call_message *message)
{
    struct call_sending *s = &call->sending;
    call_messages_append(&s->messages, message);
    count_kept(call, message->payload);
    if (call->stage == CALL_OVER || s->is_half_closed) {
        forget(call, message);
        return;
    }
    s->waiting = s->waiting != NULL ? s->waiting : message;
    s->waiting_bytes += message->payload.len + PREFIX_BYTES;
}

void call_send_on_half_close(struct lull_call *call)
{
    call->sending.is_half_closed = true;
}

void call_send_on_told_to_wait(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    s->wants_writable = true;
    s->is_end_due = call->stage == CALL_OVER;
    if (call_send_queued(call) < H2_STREAM_FULL_BYTES) {
        s->is_writable_due = true;
        lull_executor_post(call->channel->executor, &call->work_task);
    }
}

void call_send_whole(struct lull_call *call, struct lull_slice message)
{
    (void)wait_here(call, message);
    call->sending.is_half_closed = true;
    atomic_store_explicit(&call->outside.is_half_closed, true, memory_order_relaxed);
}

size_t call_send_queued(const struct lull_call *call)
{
    size_t queued = call->sending.waiting_bytes;
    return call->is_stream_open ? queued + h2_stream_queued_bytes(&call->stream) : queued;
}

/* ---- replay */

void call_send_commit(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    struct call_message *message;
    if (s->is_committed) {
        return;
    }
    s->is_committed = true;
    while ((message = call_messages_first(&s->messages)) != s->waiting) {
        forget(call, message);
    }
}

/* Too much is kept to be sent again: no more of it. Before the HEADERS have left keeping it costs nothing, the stream has it too. */
static void judge_kept(struct lull_call *call)
{
    if (call->stream.headers_sent &&
        (call->sending.kept_bytes > CALL_REPLAY_BYTES ||
         call->channel->replay_bytes > CALL_REPLAY_CHANNEL_BYTES)) {
        call_send_commit(call);
    }
}

void call_send_on_headers_sent(struct lull_call *call)
{
    judge_kept(call);
}

void call_send_rewind(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    struct call_message *message = call_messages_first(&s->messages);
    s->waiting = message;
    s->waiting_bytes = 0;
    s->is_half_close_given = false;
    s->is_writable_due = false;
    for (; message != NULL; message = call_messages_next(&s->messages, message)) {
        s->waiting_bytes += message->payload.len + PREFIX_BYTES;
    }
}

void call_send_clear(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    struct call_message *message;
    while ((message = call_messages_first(&s->messages)) != NULL) {
        forget(call, message);
    }
    s->waiting = NULL;
    s->waiting_bytes = 0;
    s->is_end_due = s->wants_writable;
    s->wants_writable = false;
    s->is_writable_due = false;
}

/* ---- giving messages to the stream */

/* The first that waits was given. */
static void on_given(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    struct call_message *given = s->waiting;
    s->waiting_bytes -= given->payload.len + PREFIX_BYTES;
    s->waiting = call_messages_next(&s->messages, given);
    if (s->is_committed) {
        forget(call, given);
    }
}

static int give_waiting(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    int rc = LULL_OK;
    while (rc == LULL_OK && s->waiting != NULL) {
        rc = h2_stream_send(&call->stream, s->waiting->payload, false);
        if (rc == LULL_OK) {
            on_given(call);
        }
    }
    /* Nothing is framed before the flush: the end goes on the last message's frame. */
    if (rc == LULL_OK && s->is_half_closed && !s->is_half_close_given) {
        rc = h2_stream_end(&call->stream);
        s->is_half_close_given = rc == LULL_OK;
    }
    /* A stream that is over already keeps nothing from waiting: its end tells what becomes of the call. */
    return rc == LULL_RC_NOMEM ? rc : LULL_OK;
}

void call_send_fill(const struct lull_call *call, struct h2_request *request)
{
    const struct call_sending *s = &call->sending;
    bool is_last = s->waiting == NULL || call_messages_next(&s->messages, s->waiting) == NULL;
    request->has_message = s->waiting != NULL;
    request->message = s->waiting != NULL ? s->waiting->payload : lull_slice_static(NULL, 0);
    request->ends = s->is_half_closed && is_last;
}

int call_send_on_opened(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    if (s->waiting != NULL) {
        on_given(call);
    }
    s->is_half_close_given = s->is_half_closed && s->waiting == NULL;
    return give_waiting(call);
}

void call_send_pump(struct lull_call *call)
{
    if (call->stage != CALL_OPEN || !call->is_stream_open) {
        return;
    }
    if (give_waiting(call) != LULL_OK) {
        struct call_outcome outcome = {
            .code = LULL_CODE_RESOURCE_EXHAUSTED,
            .reason = LULL_REASON_INTERNAL,
            .what = "no memory to send a message",
            .http2_error = -1,
        };
        call_end(call, &outcome);
        return;
    }
    judge_kept(call);
}

/* ---- on_writable */

bool call_send_on_room(struct lull_call *call)
{
    call_outside_say_queued(call);
    call->sending.is_writable_due = call->sending.wants_writable;
    return call->sending.is_writable_due;
}

bool call_send_take_writable(struct lull_call *call)
{
    struct call_sending *s = &call->sending;
    if (s->is_end_due) {
        s->is_end_due = false;
        return !s->is_half_closed && call_receive_is_holding(call) &&
               call->handler.on_writable != NULL;
    }
    if (!s->is_writable_due || s->is_half_closed || call->stage != CALL_OPEN ||
        !call->is_stream_open || call_stream_is_ending(call)) {
        return false;
    }
    s->is_writable_due = false;
    if (call_send_queued(call) >= H2_STREAM_FULL_BYTES) {
        return false; /* filled again meanwhile: the stream will tell again */
    }
    s->wants_writable = false;
    return call->handler.on_writable != NULL;
}

/* ---- the application */

/* Straight to the stream, nothing waits before it. */
static int send_now(struct lull_call *call, struct lull_slice message)
{
    int rc = h2_stream_send(&call->stream, message, false);
    if (rc == LULL_RC_CLOSED || rc == LULL_RC_STATE) {
        /* The stream is over and nobody was told yet. If the server has not seen the call the message goes with the next try. */
        return response_has_begun(&call->response) ? LULL_RC_CLOSED : wait_here(call, message);
    }
    if (rc != LULL_OK || call->sending.is_committed) {
        return rc;
    }
    if (keep(call, message) == NULL) {
        call_send_commit(call); /* it was sent; only a second try is lost */
    }
    judge_kept(call);
    return LULL_OK;
}

/* In context; in a visit nothing goes to the stream, which is for a turn. */
static int take_message(struct lull_call *call, struct lull_slice message, bool is_visit)
{
    struct call_sending *s = &call->sending;
    call_outside_take(call);
    if (call->stage == CALL_OVER || call_stream_is_ending(call)) {
        return LULL_RC_CLOSED;
    }
    if (s->is_half_closed ||
        atomic_load_explicit(&call->outside.is_half_closed, memory_order_relaxed)) {
        return LULL_RC_STATE;
    }
    if (slice_points_nowhere(message)) {
        return LULL_RC_INVALID;
    }
    if (message.len > call->channel->options.max_send_message_bytes) {
        return LULL_RC_LIMIT;
    }
    if (call_send_queued(call) >= H2_STREAM_FULL_BYTES) {
        s->wants_writable = true;
        return LULL_RC_AGAIN;
    }
    if (!is_visit && call->stage == CALL_OPEN && call->is_stream_open && s->waiting == NULL) {
        return send_now(call, message);
    }
    int rc = wait_here(call, message);
    if (rc == LULL_OK && !is_visit) {
        call_send_pump(call);
    }
    return rc;
}

/* What take_message does with most messages of a steady sender: a small one goes behind another, nothing is kept and nothing waits. */
static inline bool add_message(struct lull_call *call, struct lull_slice message)
{
    const struct call_sending *s = &call->sending;
    return s->is_committed && s->waiting == NULL && call->stage == CALL_OPEN &&
           response_goes_on(&call->response) && !call_outside_was_used(&call->outside) &&
           message.data != NULL &&
           message.len <= call->channel->options.max_send_message_bytes &&
           h2_stream_queued_bytes(&call->stream) < H2_STREAM_FULL_BYTES &&
           h2_stream_add(&call->stream, message);
}

int lull_call_send(struct lull_call *call, struct lull_slice message)
{
    struct lull_executor *executor = call->channel->executor;
    if (executor_is_here(executor)) {
        return add_message(call, message) ? LULL_OK : take_message(call, message, false);
    }
    if (!executor_visit(executor)) {
        return call_outside_send(call, message);
    }
    int rc = take_message(call, message, true);
    bool is_open = call->stage == CALL_OPEN;
    executor_end_visit(executor);
    if (rc == LULL_OK && is_open) {
        call_command(call, CALL_COMMAND_SEND);
    }
    return rc;
}

/* In context: LULL_OK and `is_news` when it is to be said to a stream. */
static int half_close(struct lull_call *call, bool *is_news)
{
    struct call_sending *s = &call->sending;
    call_outside_take(call);
    *is_news = false;
    if (call->stage == CALL_OVER) {
        return LULL_RC_CLOSED;
    }
    atomic_store_explicit(&call->outside.is_half_closed, true, memory_order_relaxed);
    if (!s->is_half_closed) {
        s->is_half_closed = true;
        *is_news = call->stage == CALL_OPEN;
    }
    return LULL_OK;
}

int lull_call_half_close(struct lull_call *call)
{
    struct lull_executor *executor = call->channel->executor;
    bool is_news;
    if (lull_executor_in_context(executor)) {
        int rc = half_close(call, &is_news);
        call_send_pump(call);
        return rc;
    }
    if (!executor_visit(executor)) {
        if (atomic_load_explicit(&call->outside.is_over, memory_order_relaxed)) {
            return LULL_RC_CLOSED;
        }
        atomic_store_explicit(&call->outside.is_half_closed, true, memory_order_relaxed);
        call_command(call, CALL_COMMAND_HALF_CLOSE);
        return LULL_OK;
    }
    int rc = half_close(call, &is_news);
    executor_end_visit(executor);
    if (is_news) {
        call_command(call, CALL_COMMAND_SEND);
    }
    return rc;
}
