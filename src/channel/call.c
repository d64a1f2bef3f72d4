/* SPDX-License-Identifier: MIT */
/*
 * The life of a call. See call.h and lull/call.h.
 */
#include "channel/call.h"

#include <string.h>

#include "base/invariant.h"
#include "base/rc.h"
#include "channel/call_cancel.h"
#include "channel/call_stream.h"
#include "exec/executor.h"

/* ---- references */

static void free_call(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    h2_stream_fini(&call->stream);
    lull_slice_unref(call->request);
    lull_slice_unref(call->message);
    call_arena_release(&channel->arenas, call->arena);
    lull_recycler_release(channel->recycler, call);
    channel_release(channel);
}

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    free_call(container_of(task, struct lull_call, dead));
}

void call_hold(struct lull_call *call)
{
    call->refs++;
}

void call_drop(struct lull_call *call)
{
    LULL_INVARIANT(call->refs > 0, "a call was given back more often than it was taken");
    if (--call->refs != 0) {
        return;
    }
    if (lull_executor_in_context(call->channel->executor)) {
        executor_post_dead(call->channel->executor, &call->dead);
    } else {
        free_call(call);
    }
}

void lull_call_ref(struct lull_call *call)
{
    if (call != NULL) {
        call_hold(call);
    }
}

void lull_call_unref(struct lull_call *call)
{
    if (call != NULL) {
        call_drop(call);
    }
}

uint64_t lull_call_id(const struct lull_call *call)
{
    return call->id;
}

const char *lull_call_peer(const struct lull_call *call)
{
    return call->arena->peer;
}

/* ---- where the time goes */

void call_set_phase(struct lull_call *call, enum lull_phase phase)
{
    struct lull_instant now = lull_executor_now(call->channel->executor);
    int64_t spent_ns = lull_instant_diff(now, call->phase_at);
    call->phase_ns[call->phase] = lull_duration_add(call->phase_ns[call->phase], spent_ns);
    call->phase = phase;
    call->phase_at = now;
}

void call_count_attempts(struct lull_call *call)
{
    const struct lull_channel *channel = call->channel;
    uint32_t counted = subchannel_is_attempting(&channel->subchannel) ? 1 : 0;
    /* In TRANSIENT_FAILURE the last attempt that failed is the call's business as well: it explains the state. */
    counted += channel->state == LULL_STATE_TRANSIENT_FAILURE ? 1 : 0;
    call->attempts_before = channel->subchannel.attempts - counted;
}

/* ---- the end */

static void collect_facts(const struct lull_call *call, const struct call_outcome *outcome,
                          struct failure_facts *facts)
{
    const struct lull_channel *channel = call->channel;
    const struct subchannel *sub = &channel->subchannel;
    struct lull_instant now = lull_executor_now(channel->executor);
    bool is_waiting = call->stage == CALL_WAITING;
    int http_status = call->response.http_status;
    *facts = (struct failure_facts){
        .code = outcome->code,
        .reason = outcome->reason,
        .phase = outcome->is_servers ? LULL_PHASE_DONE : call->phase,
        .address = call->arena->peer,
        .what = outcome->what,
        .sys_errno = outcome->sys_errno,
        .http_status = http_status == 200 || http_status < 0 ? 0 : http_status,
        .http2_error = outcome->http2_error,
        .attempts = is_waiting ? sub->attempts - call->attempts_before : call->attempts,
        .is_attempting = is_waiting && subchannel_is_attempting(sub),
        .elapsed_ns = lull_instant_diff(now, call->created_at),
        .phase_ns = call->phase_ns,
        .bytes_read = call->bytes_read,
        .next_attempt_after_ns = subchannel_next_attempt_after(sub, now),
    };
    if (is_waiting) {
        facts->address = sub->addr.text;
        facts->queued_before =
            call->phase == LULL_PHASE_QUEUED ? channel_queue_before(channel, call) : 0;
        if (sub->last_failure.reason[0] != '\0') {
            facts->last_attempt = sub->last_failure.reason;
        }
        if (facts->last_attempt != NULL && facts->sys_errno == 0 &&
            call->phase != LULL_PHASE_QUEUED) {
            facts->sys_errno = sub->last_failure.sys_errno;
        }
    }
}

static void set_status(struct lull_call *call, const struct call_outcome *outcome)
{
    struct call_arena *arena = call->arena;
    const char *servers = arena->message != NULL ? arena->message : "";
    call->status.code = outcome->code;
    call->status.failure = NULL;
    call->status.message = servers;
    call->status.message_len = arena->message_len;
    if (outcome->code == LULL_CODE_OK) {
        return;
    }
    struct failure_facts facts;
    collect_facts(call, outcome, &facts);
    call->status.failure = &arena->failure.record;
    if (outcome->is_servers) {
        failure_write_server(&arena->failure, &facts, servers);
        return;
    }
    failure_write(&arena->failure, &facts);
    call->status.message = arena->failure.message;
    call->status.message_len = strlen(arena->failure.message);
}

void call_end(struct lull_call *call, const struct call_outcome *outcome)
{
    if (call->stage == CALL_OVER) {
        return;
    }
    /* First what goes into the record: the bytes read, and the time in the phase it ends in. */
    call_stream_abandon(call);
    call_set_phase(call, call->phase);
    set_status(call, outcome);
    if (call->stage != CALL_OPEN) {
        call->channel->waiting_calls--;
    }
    call->stage = CALL_OVER;
    call_timeouts_stop(call);
    list_remove(&call->in_queue);
    list_remove(&call->in_calls);
    lull_executor_post(call->channel->executor, &call->work_task);
}

void call_end_unconnected(struct lull_call *call)
{
    struct call_outcome outcome = {
        .code = LULL_CODE_UNAVAILABLE,
        .reason = LULL_REASON_CONNECT,
        .http2_error = -1,
    };
    call_end(call, &outcome);
}

static void deliver(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    bool is_ok = call->status.code == LULL_CODE_OK;
    struct lull_unary_result result = {
        .size = sizeof(result),
        .status = call->status,
        .headers = metadata_list_view(&call->arena->headers),
        .trailers = metadata_list_view(&call->arena->trailers),
        .message = is_ok ? call->message : lull_slice_static(NULL, 0),
    };
    call->is_delivered = true;
    channel->counters->calls_closed++;
    TRACE(&channel->trace, LULL_EVENT_CALL_CLOSED, call->id, "%s",
          is_ok ? "OK" : call->arena->failure.line);

    call->done(call, &result, call->ctx);
    executor_on_user_returned(channel->executor);

    channel->live_calls--;
    lull_channel_unref(channel);
    call_drop(call);
}

static void run_work(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_call *call = container_of(task, struct lull_call, work_task);
    (void)executor;
    call_hold(call);
    if (call->has_stream_ref && !call->is_stream_open) {
        call->has_stream_ref = false;
        call_drop(call);
    }
    call_stream_judge(call);
    if (call->stage == CALL_OVER && !call->is_delivered) {
        /* call_end has posted this task again for nothing. */
        (void)lull_executor_unpost(call->channel->executor, &call->work_task);
        deliver(call);
    }
    call_drop(call);
}

/* ---- the beginning */

static void start(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    struct call_outcome outcome = {.http2_error = -1};
    list_push_back(&channel->calls, &call->in_calls);
    TRACE(&channel->trace, LULL_EVENT_CALL_STARTED, call->id, "%s", call->arena->method);
    if (channel_is_closed(channel)) {
        outcome.code = LULL_CODE_UNAVAILABLE;
        outcome.reason = LULL_REASON_CHANNEL_CLOSED;
        outcome.what = "channel closed";
    } else if (call->timeouts.is_expired_at_start) {
        outcome.code = LULL_CODE_DEADLINE_EXCEEDED;
        outcome.reason = LULL_REASON_DEADLINE;
        outcome.what = "the deadline had passed before the call started";
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

static void run_commands(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_call *call = container_of(task, struct lull_call, command_task);
    unsigned commands = atomic_exchange_explicit(&call->commands, 0, memory_order_acquire);
    (void)executor;
    if ((commands & CALL_COMMAND_CANCEL) != 0 && !call->timeouts.is_expired_at_start) {
        /* Before the start, if both came: then nothing is dialled and no frame is sent. */
        call_cancel(call);
    } else if ((commands & CALL_COMMAND_START) != 0) {
        start(call);
    }
    call_drop(call);
}

/* "/package.Service/Method" (PROTOCOL-HTTP2, Path): two slashes at least, and nothing that breaks a header. */
static bool is_method(const char *method)
{
    if (method == NULL || method[0] != '/' || strchr(method + 1, '/') == NULL) {
        return false;
    }
    for (const char *c = method; *c != '\0'; c++) {
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f) {
            return false;
        }
    }
    return true;
}

static int check(const struct lull_channel *channel, const struct lull_call_options *options,
                 struct lull_slice request, lull_unary_fn done, struct lull_error *error)
{
    if (channel == NULL || options == NULL || done == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL",
                       channel == NULL   ? "channel"
                       : options == NULL ? "options"
                                         : "done");
    }
    if (options->size != sizeof(*options)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option size is %zu, this library's is %zu: fill the options with "
                       "lull_call_options_init",
                       options->size, sizeof(*options));
    }
    if (!is_method(options->method)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "option method is not \"/package.Service/Method\": %s",
                       options->method != NULL ? options->method : "NULL");
    }
    int rc = lull_metadata_check(&options->metadata, error);
    if (rc != LULL_OK) {
        return rc;
    }
    if (channel_is_closed(channel)) {
        return rc_fail(error, LULL_RC_CLOSED, "the channel is closed");
    }
    if (request.len > channel->options.max_send_message_bytes) {
        return rc_fail(error, LULL_RC_LIMIT,
                       "request of %zu bytes, above max_send_message_bytes %u", request.len,
                       channel->options.max_send_message_bytes);
    }
    if (channel->waiting_calls >= channel->options.max_queued_calls) {
        return rc_fail(error, LULL_RC_LIMIT,
                       "%u calls are waiting, as many as max_queued_calls allows",
                       channel->waiting_calls);
    }
    return rc_ok(error);
}

/* A call with the library's reference, before its start; NULL: no memory. */
static struct lull_call *make_call(struct lull_channel *channel,
                                   const struct lull_call_options *options)
{
    struct lull_call *call = lull_recycler_claim(channel->recycler);
    if (call == NULL) {
        return NULL;
    }
    memset(call, 0, sizeof(*call));
    call->channel = channel;
    call->arena = call_arena_claim(&channel->arenas);
    if (call->arena == NULL) {
        lull_recycler_release(channel->recycler, call);
        return NULL;
    }
    size_t bytes_cap = call->arena->request.bytes_cap;
    if (call_arena_set_method(&channel->arenas, call->arena, options->method) != LULL_OK ||
        metadata_list_add_all(&call->arena->request, &options->metadata) != LULL_OK) {
        call_arena_release(&channel->arenas, call->arena);
        lull_recycler_release(channel->recycler, call);
        return NULL;
    }
    channel->counters->allocations += call->arena->request.bytes_cap != bytes_cap;
    list_init(&call->in_calls);
    list_init(&call->in_queue);
    lull_task_init(&call->command_task, run_commands);
    lull_task_init(&call->work_task, run_work);
    lull_task_init(&call->dead, run_dead);
    atomic_init(&call->commands, 0);
    call->stage = CALL_NEW;
    call->refs = 1;
    response_init(&call->response);
    return call;
}

int lull_call_unary(struct lull_channel *channel, const struct lull_call_options *options,
                    struct lull_slice request, lull_unary_fn done, void *ctx,
                    struct lull_call **out, struct lull_error *error)
{
    int rc = check(channel, options, request, done, error);
    if (rc != LULL_OK) {
        return rc;
    }
    struct lull_call *call = make_call(channel, options);
    if (call == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a call");
    }
    struct lull_instant now = lull_executor_now(channel->executor);
    call->id = ++channel->last_call_id;
    call->request = lull_slice_ref(request);
    call->max_recv_message_bytes = options->max_recv_message_bytes != 0
                                       ? options->max_recv_message_bytes
                                       : channel->options.max_recv_message_bytes;
    call->wait_for_ready = options->wait_for_ready;
    call->done = done;
    call->ctx = ctx;
    call->created_at = now;
    call->phase_at = now;
    call_timeouts_init(&call->timeouts, now, options);

    channel_hold(channel);
    lull_channel_ref(channel);
    channel->live_calls++;
    channel->waiting_calls++;
    channel->counters->calls_started++;
    if (out != NULL) {
        call_hold(call);
        *out = call;
    }
    call_command(call, CALL_COMMAND_START);
    return LULL_OK;
}
