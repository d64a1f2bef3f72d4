/* SPDX-License-Identifier: MIT */
/*
 * The life of a call. See call.h and lull/call.h.
 */
#include "channel/call.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "channel/call_stream.h"
#include "channel/channel_idle.h"
#include "channel/channel_resolve.h"
#include "exec/executor.h"
#include "loop/loop.h"

/* ---- references */

static void free_call(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    h2_stream_fini(&call->stream);
    lull_slice_unref(call->message);
    call_arena_release(channel->arenas, call->arena);
    if (call->outside.is_made_outside) {
        mem_release(channel->allocator, call);
    } else {
        lull_recycler_release(channel->recycler, call);
    }
    channel_release(channel);
}

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    free_call(container_of(task, struct lull_call, dead));
}

void call_hold(struct lull_call *call)
{
    (void)atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
}

void call_drop(struct lull_call *call)
{
    struct lull_executor *executor = call->channel->executor;
    bool had_to_enter;
    /* Acquire: what others did with the call is over before it is freed. */
    unsigned before = atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel);
    LULL_INVARIANT(before > 0, "a call was given back more often than it was taken");
    if (before != 1) {
        return;
    }
    if (lull_executor_in_context(executor)) {
        executor_post_dead(executor, &call->dead);
        return;
    }
    /* It may be the last that held a channel with a loop of its own. */
    struct lull_loop *kept = loop_keep(call->channel->world.loop);
    if (executor_try_enter(executor, &had_to_enter)) {
        free_call(call);
        executor_leave(executor, true);
    } else {
        (void)lull_executor_submit(executor, &call->dead);
        loop_settle(kept);
    }
    loop_unkeep(kept);
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
    struct lull_instant now = executor_fresh_now(call->channel->executor);
    if (now.ns != call->phase_at.ns) {
        int64_t spent_ns = lull_instant_diff(now, call->phase_at);
        call->phase_ns[call->phase] = lull_duration_add(call->phase_ns[call->phase], spent_ns);
        call->phase_at = now;
    }
    __atomic_store_n(&call->phase, phase, __ATOMIC_RELAXED);
}

void call_count_attempts(struct lull_call *call)
{
    const struct lull_channel *channel = call->channel;
    uint32_t counted = subchannel_is_attempting(&channel->subchannel) ? 1 : 0;
    /* In TRANSIENT_FAILURE the last attempt that failed is the call's business as well: it explains the state. */
    counted += channel->state == LULL_STATE_TRANSIENT_FAILURE ? 1 : 0;
    /* It may be a name that failed: then nothing was dialled. */
    if (counted > channel->subchannel.attempts || channel_is_resolving(channel)) {
        counted = 0;
    }
    call->attempts_before = channel->subchannel.attempts - counted;
}

/* ---- the end */

static enum lull_phase phase_of(enum subchannel_reach reach)
{
    switch (reach) {
    case REACHED_GREETING:
        return LULL_PHASE_SETTINGS;
    case REACHED_HANDSHAKE:
        return LULL_PHASE_HANDSHAKE;
    default:
        return LULL_PHASE_CONNECTING;
    }
}

/* It explains why there is no connection. */
static void add_last_failure(const struct lull_call *call, struct failure_facts *facts)
{
    const struct subchannel_failure *last = subchannel_last_failure(&call->channel->subchannel);
    facts->last_attempt = last->reason;
    facts->broke_in = phase_of(last->reach);
    facts->broke_at = last->address;
    if (facts->sys_errno == 0 && call->phase != LULL_PHASE_QUEUED) {
        facts->sys_errno = last->sys_errno;
    }
}

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
        .broke_in = call->phase,
        .method = call->arena->method,
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
        .window_ns = call->timeouts.deadline.window_ns,
        .quiet_ns = lull_instant_diff(now, call->timeouts.deadline.last_byte_at),
        .next_attempt_after_ns = subchannel_next_attempt_after(sub, now),
    };
    if (is_waiting) {
        facts->address = subchannel_address_text(sub);
        facts->so_far = subchannel_so_far(sub)->reason;
        facts->queued_before =
            call->phase == LULL_PHASE_QUEUED ? channel_queue_before(channel, call) : 0;
        const struct connection *ready = subchannel_ready_connection(&channel->subchannel);
        facts->is_blocked = ready != NULL && h2_transport_is_blocked(ready->transport);
        facts->is_at_limit = ready != NULL && !h2_transport_can_open(ready->transport);
        if (channel_is_resolving(channel)) {
            channel_resolve_facts(channel, facts);
        } else if (subchannel_last_failure(sub)->reason[0] != '\0') {
            add_last_failure(call, facts);
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

/* Over already, but the application is still to be told of messages, or that it is. */
static void end_again(struct lull_call *call, const struct call_outcome *outcome)
{
    if (!outcome->is_peers && call_receive_is_holding(call)) {
        call_receive_discard(call);
        lull_executor_post(call->channel->executor, &call->work_task);
    }
}

void call_end(struct lull_call *call, const struct call_outcome *outcome)
{
    if (call->stage == CALL_OVER) {
        end_again(call, outcome);
        return;
    }
    /* First what goes into the record: the bytes read, and the time in the phase it ends in. */
    call_stream_abandon(call);
    call_set_phase(call, call->phase);
    set_status(call, outcome);
    if (call->stage != CALL_OPEN) {
        channel_count_waiting(call->channel, -1);
    }
    call->stage = CALL_OVER;
    atomic_store_explicit(&call->outside.is_over, true, memory_order_relaxed);
    call_timeouts_stop(call);
    list_remove(&call->in_queue);
    call_send_clear(call);
    if (!outcome->is_peers) {
        call_receive_discard(call);
    }
    lull_executor_post(call->channel->executor, &call->work_task);
}

void call_end_unconnected(struct lull_call *call)
{
    const struct lull_channel *channel = call->channel;
    struct call_outcome outcome = {
        .code = LULL_CODE_UNAVAILABLE,
        .reason = channel_is_resolving(channel)              ? LULL_REASON_RESOLVE
                  : subchannel_last_failure(&channel->subchannel)->is_tls ? LULL_REASON_TLS
                                                             : LULL_REASON_CONNECT,
        .http2_error = -1,
    };
    call_end(call, &outcome);
}

/* The last thing the application hears of it. */
static void tell_closed(struct lull_call *call)
{
    struct lull_channel *channel = call->channel;
    struct lull_metadata trailers = call_arena_view(call->arena, &call->arena->trailers);
    bool is_ok = call->status.code == LULL_CODE_OK;
    struct lull_instant ended_at = executor_fresh_now(channel->executor);
    call->is_delivered = true;
    list_remove(&call->in_calls);
    channel->counters->calls_closed++;
    TRACE(&channel->trace, LULL_EVENT_CALL_CLOSED, call->id, "%s",
          is_ok ? "OK" : call->arena->failure.line);

    call->handler.on_closed(call, &call->status, &trailers, call->ctx);
    executor_on_user_returned(channel->executor);

    channel_idle_on_call_ended(channel, ended_at);
    channel_unref(channel);
    /* The library's reference; a stream that is still open keeps it. */
    call->has_stream_ref = call->is_stream_open;
    if (!call->is_stream_open) {
        call_drop(call);
    }
}

static void run_work(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_call *call = container_of(task, struct lull_call, work_task);
    if (call->has_stream_ref && !call->is_stream_open) {
        /* The last reference may be gone, and the memory is there until the free phase. */
        call->has_stream_ref = false;
        call_drop(call);
        return;
    }
    call_stream_judge(call);
    call_receive_tell(call);
    if (call_receive_has_some(call)) {
        lull_executor_post(executor, task); /* after the others */
    } else if (call->stage == CALL_OVER && !call->is_delivered && !call_receive_is_holding(call)) {
        /* call_end has posted this task again for nothing. */
        (void)lull_executor_unpost(executor, task);
        tell_closed(call);
    }
}

void call_set_up_tasks(struct lull_call *call)
{
    lull_task_init(&call->work_task, run_work);
    lull_task_init(&call->dead, run_dead);
    executor_task_set_quiet(&call->dead); /* it may come by the inbox */
}
