/* SPDX-License-Identifier: MIT */
/*
 * Starting calls. See call_start.h and lull/call.h.
 */
#include "channel/call_start.h"

#include <stddef.h>
#include <string.h>

#include "base/method.h"
#include "base/rc.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/call_cancel.h"
#include "channel/call_stream.h"
#include "channel/channel_idle.h"
#include "exec/executor.h"
#include "h2/headers.h"

/* Of a method that is refused. */
#define METHOD_SHOWN_BYTES 30

/* Which of the two options it was. */
static const char *expired_text(int64_t timeout_ns)
{
    return timeout_ns == LULL_NEVER ? "the deadline had passed before the call started: deadline_at was not ahead"
           : timeout_ns == 0        ? "the deadline had passed before the call started: timeout_ns was 0"
                                    : "the deadline had passed before the call started: timeout_ns was negative";
}

static void start(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    struct call_outcome outcome = {.http2_error = -1};
    list_push_back(&channel->calls, &call->in_calls);
    TRACE(&channel->trace, LULL_EVENT_CALL_STARTED, call->id, "%s", call->arena->method);
    if (channel_is_closed(channel)) {
        outcome.code = LULL_CODE_UNAVAILABLE;
        outcome.reason = channel->closed_for;
        outcome.what = channel_closed_text(channel);
    } else if (call->timeouts.is_expired_at_start) {
        outcome.code = LULL_CODE_DEADLINE_EXCEEDED;
        outcome.reason = LULL_REASON_DEADLINE;
        outcome.what = expired_text(call->timeouts.timeout_ns);
    } else if (call_timeouts_start(call) != LULL_OK) {
        outcome.code = LULL_CODE_RESOURCE_EXHAUSTED;
        outcome.reason = LULL_REASON_INTERNAL;
        outcome.what = "no memory for the call's timer";
    } else {
        channel_enqueue(channel, call);
        return;
    }
    call_end(call, &outcome);
}

/* What changes the call and nothing else yet: messages before the half-close behind them. */
static void run_orders(struct lull_call *call, unsigned commands)
{
    call_outside_take(call);
    if ((commands & CALL_COMMAND_HALF_CLOSE) != 0) {
        call_send_on_half_close(call);
    }
    if ((commands & CALL_COMMAND_PAUSE) != 0) {
        call_receive_pause(call);
    }
    if ((commands & CALL_COMMAND_RESUME) != 0 && call_receive_resume(call)) {
        lull_executor_post(call->channel->executor, &call->work_task);
    }
}

static void run_commands(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_call *call = container_of(task, struct lull_call, command_task);
    unsigned commands = atomic_exchange_explicit(&call->commands, 0, memory_order_acquire);
    if ((commands & CALL_COMMAND_START) != 0 && call->outside.is_made_outside) {
        call_outside_adopt(call);
    }
    run_orders(call, commands);
    if (call->is_delivered) {
        /* Given before the end, come behind it. There is nothing left to do, and nothing that holds the call for work that were posted. */
        call_drop(call);
        return;
    }
    if ((commands & CALL_COMMAND_CANCEL) != 0 && !call->timeouts.is_expired_at_start) {
        /* Before the start, if both came: then nothing is dialled and no frame is sent. */
        call_cancel(call);
    } else if ((commands & CALL_COMMAND_START) != 0) {
        start(call);
    }
    if ((commands & (CALL_COMMAND_SEND | CALL_COMMAND_HALF_CLOSE)) != 0) {
        call_send_pump(call);
    }
    if ((commands & CALL_COMMAND_WRITABLE) != 0) {
        call_send_on_told_to_wait(call);
    }
    if ((commands & CALL_COMMAND_WORK) != 0) {
        lull_executor_post(executor, &call->work_task);
    }
    if ((commands & CALL_COMMAND_START) == 0) {
        call_drop(call); /* the order's; a start has none */
    }
}

int call_options_take(const struct lull_call_options *options, struct lull_call_options *room,
                      struct lull_error *error)
{
    static const struct sized kind = {SIZED_UP_TO(struct lull_call_options, read_timeout_ns), sizeof(*options), "option",
                                      "the options with lull_call_options_init"};
    lull_call_options_init(room, NULL);
    return sized_take(&kind, room, options, error);
}

static LULL_COLD int take_handler(const struct lull_call_handler *handler, struct lull_call_handler *taken,
                                  struct lull_error *error)
{
    static const struct sized kind = {SIZED_UP_TO(struct lull_call_handler, on_closed), sizeof(*handler), "handler",
                                      "it with lull_call_handler_init"};
    lull_call_handler_init(taken);
    return sized_take(&kind, taken, handler, error);
}

int call_check(const struct lull_channel *channel, const struct lull_call_options *options,
               struct lull_error *error)
{
    if (channel == NULL || options == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL",
                       channel == NULL ? "channel" : "options");
    }
    const char *fault = method_fault(options->method);
    if (fault != NULL) {
        char shown[4 * METHOD_SHOWN_BYTES + 40] = "";
        struct strbuf sb;
        strbuf_init(&sb, shown, sizeof(shown));
        if (options->method != NULL) {
            strbuf_quoted(&sb, options->method, strlen(options->method), METHOD_SHOWN_BYTES);
            strbuf_add(&sb, " ");
        }
        return rc_fail(error, LULL_RC_INVALID,
                       "option method %s%s: it is written \"/package.Service/Method\"", shown, fault);
    }
    if (options->read_timeout_ns < 0) {
        return rc_fail(error, LULL_RC_INVALID, "option read_timeout_ns is negative");
    }
    int rc = metadata_check(&options->metadata, strlen(options->method), error);
    if (rc != LULL_OK) {
        return rc;
    }
    if (channel_is_closing(channel)) {
        return rc_fail(error, LULL_RC_CLOSED, "%s", channel_closed_text(channel));
    }
    uint32_t waiting = atomic_load_explicit(&channel->waiting_calls, memory_order_relaxed) +
                       atomic_load_explicit(&channel->starting_calls, memory_order_relaxed);
    if (waiting >= channel->options.max_queued_calls) {
        return rc_fail(error, LULL_RC_LIMIT,
                       "%u %s waiting, as many as max_queued_calls allows", waiting,
                       waiting == 1 ? "call is" : "calls are");
    }
    return rc_ok(error);
}

static void take_options(struct lull_call *call, const struct lull_call_options *options)
{
    struct lull_channel *channel = call->channel;
    const struct lull_channel_options *defaults = &channel->options;
    struct lull_instant now = lull_executor_now(channel->executor);
    call->id = atomic_fetch_add_explicit(&channel->last_call_id, 1, memory_order_relaxed) + 1;
    call->max_recv_message_bytes = options->max_recv_message_bytes != 0
                                       ? options->max_recv_message_bytes
                                       : defaults->max_recv_message_bytes;
    call->wait_for_ready = options->wait_for_ready;
    call->created_at = now;
    call->phase_at = now;
    call_timeouts_init(&call->timeouts, now, options, defaults->read_timeout_ns);
}

void call_set_up(struct lull_call *call, struct lull_channel *channel, struct call_arena *arena,
                 const struct lull_call_options *options)
{
    memset(&call->channel, 0,
           offsetof(struct lull_call, response) - offsetof(struct lull_call, channel));
    call->channel = channel;
    call->arena = arena;
    list_init(&call->in_calls);
    list_init(&call->in_queue);
    lull_task_init(&call->command_task, run_commands);
    executor_task_set_quiet(&call->command_task);
    call_set_up_tasks(call);
    atomic_init(&call->commands, 0);
    atomic_init(&call->refs, 1);
    atomic_init(&call->is_taken, false);
    call->stage = CALL_NEW;
    call_outside_init(&call->outside);
    call_send_init(&call->sending);
    call_receive_init(&call->receiving);
    take_options(call, options);
    call_stream_set_up(call);
}

void call_count_in(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    channel_hold(channel);
    channel_idle_on_call_started(channel);
    channel_count_waiting(channel, 1);
    channel->counters->calls_started++;
}

/* In context. */
static struct lull_call *make(struct lull_channel *channel, const struct lull_call_options *options,
                              const struct lull_call_handler *handler, void *ctx,
                              const struct call_unary_start *unary)
{
    struct lull_call *call = lull_recycler_claim(channel->recycler);
    if (call == NULL) {
        return NULL;
    }
    struct call_arena *arena = call_arena_claim(channel->arenas);
    if (arena == NULL) {
        lull_recycler_release(channel->recycler, call);
        return NULL;
    }
    if (call_arena_set_method(channel->arenas, arena, options->method) != LULL_OK ||
        call_arena_set_request(channel->arenas, arena, &options->metadata) != LULL_OK) {
        call_arena_release(channel->arenas, arena);
        lull_recycler_release(channel->recycler, call);
        return NULL;
    }
    call_set_up(call, channel, arena, options);
    call->handler = *handler;
    call->ctx = ctx;
    if (unary != NULL) {
        call->is_unary = true;
        call->done = unary->done;
        call_send_whole(call, unary->request);
    }
    channel_ref(channel);
    call_count_in(call);
    return call;
}

/* Where this thread can. */
static struct lull_call *make_somewhere(struct lull_channel *channel,
                                        const struct lull_call_options *options,
                                        const struct lull_call_handler *handler, void *ctx,
                                        const struct call_unary_start *unary)
{
    struct lull_executor *executor = channel->executor;
    if (lull_executor_in_context(executor)) {
        return make(channel, options, handler, ctx, unary);
    }
    if (!executor_visit(executor)) {
        return call_outside_make(channel, options, handler, ctx, unary);
    }
    struct lull_call *call = make(channel, options, handler, ctx, unary);
    executor_end_visit(executor);
    return call;
}

int call_start(struct lull_channel *channel, const struct lull_call_options *options,
               const struct lull_call_handler *handler, void *ctx,
               const struct call_unary_start *unary, struct lull_call **out,
               struct lull_error *error)
{
    struct lull_call *call = make_somewhere(channel, options, handler, ctx, unary);
    if (call == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a call");
    }
    if (out != NULL) {
        call_hold(call);
        *out = call;
    }
    call_command(call, CALL_COMMAND_START);
    return LULL_OK;
}

int lull_call_start(struct lull_channel *channel, const struct lull_call_options *options,
                    const struct lull_call_handler *handler, void *ctx, struct lull_call **out,
                    struct lull_error *error)
{
    if (handler == NULL || handler->on_closed == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL",
                       handler == NULL ? "handler" : "the handler's on_closed");
    }
    struct lull_call_options room;
    struct lull_call_handler taken;
    int rc = LULL_OK;
    if (handler->size != sizeof(*handler)) {
        rc = take_handler(handler, &taken, error);
        handler = &taken;
    }
    if (rc == LULL_OK) {
        rc = call_options_settle(&options, &room, error);
    }
    if (rc == LULL_OK) {
        rc = call_check(channel, options, error);
    }
    return rc != LULL_OK ? rc : call_start(channel, options, handler, ctx, NULL, out, error);
}
