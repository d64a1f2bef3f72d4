/* SPDX-License-Identifier: MIT */
/*
 * The incoming side of a call. See call_receive.h and lull/call.h.
 *
 * The application may do anything in what is called here, ending the call included: every step looks again.
 */
#include "channel/call_receive.h"

#include "channel/call.h"
#include "channel/call_cancel.h"
#include "exec/executor.h"

void call_receive_init(struct call_receiving *receiving)
{
    call_messages_init(&receiving->messages);
    receiving->is_paused = false;
    receiving->is_headers_due = false;
}

/* True: it lies behind the last one that is held, and needs no node. */
static bool join(struct call_messages *messages, struct lull_slice message)
{
    if (call_messages_first(messages) == NULL) {
        return false;
    }
    struct call_message *last = LIST_ENTRY(messages->queue.prev, struct call_message, link);
    struct h2_run run = {last->payload, last->more};
    const bool is_joined = h2_run_join(&run, message);
    last->more = run.more;
    return is_joined;
}

int call_receive_push(struct lull_call *call, struct lull_slice message)
{
    if (join(&call->receiving.messages, message)) {
        return LULL_OK;
    }
    if (call_messages_push(call->channel->arenas, &call->receiving.messages, message) == NULL) {
        lull_slice_unref(message);
        return LULL_RC_NOMEM;
    }
    return LULL_OK;
}

int call_receive_push_run(struct lull_call *call, struct h2_run run)
{
    struct call_message *node =
        call_messages_push(call->channel->arenas, &call->receiving.messages, run.message);
    if (node == NULL) {
        lull_slice_unref(run.message);
        return LULL_RC_NOMEM;
    }
    node->more = run.more;
    return LULL_OK;
}

void call_receive_on_headers(struct lull_call *call)
{
    call->receiving.is_headers_due = call->handler.on_headers != NULL;
}

void call_receive_discard(struct lull_call *call)
{
    call->receiving.is_headers_due = false;
    call_messages_clear(call->channel->arenas, &call->receiving.messages);
}

static bool has_message(const struct lull_call *call)
{
    return call_messages_first(&call->receiving.messages) != NULL;
}

bool call_receive_has_some(const struct lull_call *call)
{
    return call->receiving.is_headers_due || (has_message(call) && !call->receiving.is_paused);
}

bool call_receive_is_holding(const struct lull_call *call)
{
    return call->receiving.is_headers_due || has_message(call);
}

/* ---- telling */

static void tell_headers(struct lull_call *call)
{
    struct lull_metadata headers = metadata_list_view(&call->arena->headers);
    call->receiving.is_headers_due = false;
    call->handler.on_headers(call, &headers, call->ctx);
    executor_on_user_returned(call->channel->executor);
}

/* What one burst has told so far. */
struct burst {
    struct lull_slice kept; /* a reference to the slab of the message at hand, or to none */
    unsigned messages;
    size_t bytes;
};

/* The message at hand, which is there until the one after it is taken, whatever the application does. True: more may be told. */
static inline bool tell(struct lull_call *call, struct burst *burst, struct lull_slice message)
{
    burst->messages++;
    burst->bytes += message.len;
    if (call->handler.on_message != NULL) {
        call->handler.on_message(call, message, call->ctx);
        executor_on_user_returned(call->channel->executor);
    }
    return burst->messages < CALL_RECEIVE_BURST && !call->receiving.is_paused;
}

/* All of a run but the last message of it, under one reference. */
static bool tell_run(struct lull_call *call, struct burst *burst, struct call_message *node)
{
    struct h2_run run = {node->payload, node->more};
    bool goes_on = true;
    if (burst->kept.slab != run.message.slab) {
        lull_slice_unref(burst->kept);
        burst->kept = lull_slice_ref(run.message);
    }
    while (goes_on) {
        const struct lull_slice message = run.message;
        if (!h2_run_next(&run)) {
            break;
        }
        node->payload.data = run.message.data;
        node->payload.len = run.message.len;
        node->more = run.more;
        goes_on = tell(call, burst, message) &&
                  call_messages_first(&call->receiving.messages) == node;
    }
    return goes_on;
}

static bool tell_last(struct lull_call *call, struct burst *burst, struct call_message *node)
{
    lull_slice_unref(burst->kept);
    burst->kept = call_messages_take(call->channel->arenas, &call->receiving.messages, node);
    return tell(call, burst, burst->kept);
}

static void tell_messages(struct lull_call *call)
{
    struct burst burst = {.kept = lull_slice_static(NULL, 0)};
    struct call_message *node;
    bool goes_on = !call->receiving.is_paused;
    while (goes_on && (node = call_messages_first(&call->receiving.messages)) != NULL) {
        goes_on = node->more > 0 ? tell_run(call, &burst, node) : tell_last(call, &burst, node);
    }
    if (burst.messages > 0) {
        /* The application has had them: the peer may send as much again. */
        h2_stream_consumed_all(&call->stream, burst.messages, burst.bytes);
        lull_slice_unref(burst.kept);
    }
}

void call_receive_tell(struct lull_call *call)
{
    if (call->receiving.is_headers_due) {
        tell_headers(call);
    }
    tell_messages(call);
    if (call_send_take_writable(call)) {
        call->handler.on_writable(call, call->ctx);
        executor_on_user_returned(call->channel->executor);
    }
}

/* ---- the application */

void call_receive_pause(struct lull_call *call)
{
    if (!call->is_unary && !call->receiving.is_paused) {
        call->receiving.is_paused = true;
        deadline_on_paused(&call->timeouts.deadline);
    }
}

bool call_receive_resume(struct lull_call *call)
{
    if (!call->receiving.is_paused) {
        return false;
    }
    call->receiving.is_paused = false;
    if (deadline_has_window(&call->timeouts.deadline)) {
        deadline_on_resumed(&call->timeouts.deadline,
                            lull_executor_now(call->channel->executor));
    }
    return has_message(call);
}

/* What this thread ordered before, and is still on its way, is overtaken. In context. */
static void overtake(struct lull_call *call)
{
    unsigned both = CALL_COMMAND_PAUSE | CALL_COMMAND_RESUME;
    if ((atomic_load_explicit(&call->commands, memory_order_relaxed) & both) != 0) {
        (void)atomic_fetch_and_explicit(&call->commands, ~both, memory_order_relaxed);
    }
}

void lull_call_pause(struct lull_call *call)
{
    struct lull_executor *executor = call->channel->executor;
    bool is_here = lull_executor_in_context(executor);
    if (!is_here && !executor_visit(executor)) {
        call_command_instead(call, CALL_COMMAND_PAUSE, CALL_COMMAND_RESUME);
        return;
    }
    overtake(call);
    call_receive_pause(call);
    if (!is_here) {
        executor_end_visit(executor);
    }
}

void lull_call_resume(struct lull_call *call)
{
    struct lull_executor *executor = call->channel->executor;
    bool is_here = lull_executor_in_context(executor);
    if (!is_here && !executor_visit(executor)) {
        call_command_instead(call, CALL_COMMAND_RESUME, CALL_COMMAND_PAUSE);
        return;
    }
    overtake(call);
    bool has_some = call_receive_resume(call);
    if (is_here) {
        if (has_some) {
            lull_executor_post(executor, &call->work_task);
        }
        return;
    }
    executor_end_visit(executor);
    if (has_some) {
        call_command(call, CALL_COMMAND_WORK);
    }
}
