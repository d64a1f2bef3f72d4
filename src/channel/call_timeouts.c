/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of calls. See call_timeouts.h.
 */
#include "channel/call_timeouts.h"

#include "base/cold.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/call_stream.h"

/*
 * RULINGS 23: calls with one timeout that start together send one string, since a value that varies costs HPACK its
 * table. So what is left is rounded up to the whole timeout when less than one part in 128 of it is gone; the server then
 * gives up a little after us, never before.
 */
#define WIRE_ROUNDING 128

/* The entry stands at `at`. Whole windows from now stand in the lane of those, what is left of others in that of instants. */
static void stand_at(struct call_timeouts *t, struct lull_instant now, struct lull_instant at)
{
    if (deadline_is_window_later(&t->deadline, now, at)) {
        lane_join(&t->entry, now, t->deadline.window_ns);
    } else {
        lane_join_at(&t->entry, at);
    }
}

static void end_by(struct lull_call *call, enum lull_reason reason)
{
    struct call_outcome outcome = {
        .code = LULL_CODE_DEADLINE_EXCEEDED,
        .reason = reason,
        .http2_error = -1,
    };
    call_end(call, &outcome);
}

static void report_pause(const struct lull_call *call)
{
    if (trace_wants(&call->channel->trace, LULL_EVENT_WARNING)) {
        char window[40];
        struct strbuf sb;
        strbuf_init(&sb, window, sizeof(window));
        strbuf_duration(&sb, call->timeouts.deadline.window_ns);
        trace_tell(&call->channel->trace, LULL_EVENT_WARNING, call->id,
                   "reading is paused for %d read timeouts of %s: the server is not timed",
                   DEADLINE_PAUSE_REPORT_WINDOWS, window);
    }
}

static bool condemns(struct deadline_step step)
{
    return step.action == DEADLINE_REACHED || step.action == DEADLINE_READ_TIMEOUT;
}

LULL_COLD static void expired(struct lane_entry *entry, struct lull_instant now)
{
    struct lull_call *call = container_of(entry, struct lull_call, timeouts.entry);
    struct call_timeouts *t = &call->timeouts;
    struct deadline_step step = deadline_on_timer(&t->deadline, now);
    if (condemns(step)) {
        if (call->is_stream_open) {
            /* Before a timer condemns a peer, what has come already is heard (HOUSE, the turn). */
            h2_transport_read_now(call->connection->transport);
        }
        call_stream_judge(call);
        step = deadline_on_timer(&t->deadline, now);
    }
    if (step.report_pause) {
        report_pause(call);
    }
    switch (step.action) {
    case DEADLINE_REARM:
        stand_at(t, now, step.next_at);
        break;
    case DEADLINE_REACHED:
        end_by(call, LULL_REASON_DEADLINE);
        break;
    case DEADLINE_READ_TIMEOUT:
        end_by(call, LULL_REASON_READ_TIMEOUT);
        break;
    default:
        break;
    }
}

void call_timeouts_init(struct call_timeouts *timeouts, struct lull_instant created_at,
                        const struct lull_call_options *options, int64_t channel_read_timeout_ns)
{
    struct lull_instant deadline_at = options->deadline_at;
    int64_t timeout_ns = options->timeout_ns;
    struct lull_instant timeout_at = lull_instant_add(created_at, timeout_ns);
    if (!lull_instant_before(timeout_at, deadline_at) && deadline_at.ns != LULL_NEVER) {
        /* The absolute one is not later: as if it were all there is. */
        timeout_ns = LULL_NEVER;
        timeout_at = deadline_at;
    }
    timeouts->created_at = created_at;
    timeouts->timeout_ns = timeout_ns;
    timeouts->is_expired_at_start =
        timeout_at.ns != LULL_NEVER && !lull_instant_before(created_at, timeout_at);
    (void)deadline_init(&timeouts->deadline, created_at, timeout_at,
                        deadline_window_of(channel_read_timeout_ns, options->read_timeout_ns));
    timeouts->has_entry = false;
}

int call_timeouts_start(struct lull_call *call)
{
    struct call_timeouts *t = &call->timeouts;
    bool has_window = deadline_has_window(&t->deadline);
    if (t->deadline.deadline_at.ns == LULL_NEVER && !has_window) {
        return LULL_OK;
    }
    int rc = lane_entry_init(&t->entry, call->channel->executor, expired);
    if (rc != LULL_OK) {
        return rc;
    }
    t->has_entry = true;
    /* From the creation, which may have been before this turn. The window opens later than that, so it cannot end before. */
    if (has_window) {
        lane_join(&t->entry, t->created_at, t->deadline.window_ns);
    } else if (t->timeout_ns != LULL_NEVER) {
        lane_join(&t->entry, t->created_at, t->timeout_ns);
    } else {
        lane_join_at(&t->entry, t->deadline.deadline_at);
    }
    return LULL_OK;
}

void call_timeouts_stop(struct lull_call *call)
{
    struct call_timeouts *t = &call->timeouts;
    t->deadline.is_done = true;
    if (t->has_entry) {
        lane_entry_fini(&t->entry);
        t->has_entry = false;
    }
}

void call_timeouts_on_request_out(struct lull_call *call)
{
    struct call_timeouts *t = &call->timeouts;
    if (!t->has_entry || !deadline_has_window(&t->deadline)) {
        return;
    }
    struct lull_instant now = lull_executor_now(call->channel->executor);
    struct lull_instant look_at = deadline_on_window_opened(&t->deadline, now);
    /* It stands there already, or before, unless it fired while the call waited for its stream. */
    if (lull_instant_before(look_at, t->entry.due_at)) {
        stand_at(t, now, look_at);
    }
}

void call_timeouts_on_byte(struct lull_call *call)
{
    struct call_timeouts *t = &call->timeouts;
    if (deadline_has_window(&t->deadline)) {
        deadline_on_byte(&t->deadline, lull_executor_now(call->channel->executor));
    }
}

void call_timeouts_on_attempt_over(struct lull_call *call)
{
    deadline_on_attempt_over(&call->timeouts.deadline);
}

/* ---- a loop that refuses its alarms */

static void on_refused(struct refusal_watch *watch, struct lull_instant standing_at)
{
    struct lull_channel *channel = container_of(watch, struct lull_channel, refusal);
    struct call_outcome outcome = {
        .code = LULL_CODE_INTERNAL,
        .reason = LULL_REASON_INTERNAL,
        .what = "host loop refused the alarm",
        .http2_error = -1,
    };
    LIST_FOR_EACH_SAFE(node, after, &channel->calls)
    {
        struct lull_call *call = LIST_ENTRY(node, struct lull_call, in_calls);
        const struct call_timeouts *t = &call->timeouts;
        if (t->has_entry && lull_instant_before(t->entry.due_at, standing_at)) {
            call_end(call, &outcome);
        }
    }
}

void channel_timeouts_start(struct lull_channel *channel)
{
    refusal_watch_start(&channel->refusal, channel->executor, on_refused);
}

void channel_timeouts_stop(struct lull_channel *channel)
{
    refusal_watch_stop(&channel->refusal);
}

int64_t call_timeouts_left(const struct lull_call *call, struct lull_instant now)
{
    const struct call_timeouts *t = &call->timeouts;
    if (t->timeout_ns != LULL_NEVER) {
        /* Not by the instant, which may have saturated: a timeout of 292 years is still one that is sent. */
        return lull_duration_add(t->timeout_ns, -lull_instant_diff(now, t->created_at));
    }
    return lull_instant_diff(t->deadline.deadline_at, now);
}

int64_t call_timeouts_for_wire(const struct lull_call *call, int64_t left_ns)
{
    int64_t timeout_ns = call->timeouts.timeout_ns;
    if (left_ns == LULL_NEVER || timeout_ns == LULL_NEVER) {
        return left_ns;
    }
    return timeout_ns - left_ns <= timeout_ns / WIRE_ROUNDING ? timeout_ns : left_ns;
}
