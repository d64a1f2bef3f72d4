/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of calls. See call_timeouts.h.
 */
#include "channel/call_timeouts.h"

#include "channel/call.h"
#include "channel/call_stream.h"

/*
 * RULINGS 23: calls with one timeout that start together send one string, since a value that varies costs HPACK its
 * table. So what is left is rounded up to the whole timeout when less than one part in 128 of it is gone; the server then
 * gives up a little after us, never before.
 */
#define WIRE_ROUNDING 128

static void expired(struct lane_entry *entry, struct lull_instant now)
{
    struct lull_call *call = container_of(entry, struct lull_call, timeouts.entry);
    if (call->is_stream_open) {
        /* Before a timer condemns a peer, what has come already is heard (HOUSE, the turn). */
        h2_transport_read_now(call->connection->transport);
    }
    call_stream_judge(call);
    struct deadline_step step = deadline_on_timer(&call->timeouts.deadline, now);
    struct call_outcome outcome = {.http2_error = -1};
    switch (step.action) {
    case DEADLINE_REARM:
        lane_join_at(entry, step.next_at);
        break;
    case DEADLINE_REACHED:
    case DEADLINE_READ_TIMEOUT:
        outcome.code = LULL_CODE_DEADLINE_EXCEEDED;
        outcome.reason =
            step.action == DEADLINE_REACHED ? LULL_REASON_DEADLINE : LULL_REASON_READ_TIMEOUT;
        call_end(call, &outcome);
        break;
    default:
        break;
    }
}

void call_timeouts_init(struct call_timeouts *timeouts, struct lull_instant created_at,
                        const struct lull_call_options *options)
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
    (void)deadline_init(&timeouts->deadline, created_at, timeout_at, LULL_NEVER);
    timeouts->has_entry = false;
}

int call_timeouts_start(struct lull_call *call)
{
    struct call_timeouts *t = &call->timeouts;
    if (t->deadline.deadline_at.ns == LULL_NEVER) {
        return LULL_OK;
    }
    int rc = lane_entry_init(&t->entry, call->channel->executor, expired);
    if (rc != LULL_OK) {
        return rc;
    }
    t->has_entry = true;
    if (t->timeout_ns != LULL_NEVER) {
        /* From the creation, which may have been before this turn. */
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
