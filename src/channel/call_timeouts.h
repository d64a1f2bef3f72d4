/* SPDX-License-Identifier: MIT */
/*
 * The timeouts of a call, its deadline and its read timeout, on one entry in a deadline lane (RULINGS 14-17).
 *
 * Decides: when a call has used up its time, and what `grpc-timeout` says. The arithmetic is policy/deadline's, the waiting is
 * exec/lane's; this file is the glue between them and the call. Called by the call. Must not know streams. In context.
 *
 * The entry stands at the end of a whole window, or at the deadline if there is no window that could matter. Bytes are stores;
 * when it fires, it asks the policy and stands again where that says, once a window at most.
 */
#ifndef CHANNEL_CALL_TIMEOUTS_H
#define CHANNEL_CALL_TIMEOUTS_H

#include "exec/lane.h"
#include "policy/deadline.h"

struct lull_call;
struct lull_call_options;
struct lull_channel;

struct call_timeouts {
    struct lane_entry entry;
    struct deadline deadline;
    struct lull_instant created_at;
    int64_t timeout_ns; /* from created_at; LULL_NEVER: none */
    bool is_expired_at_start;
    bool has_entry;
};

/*
 * Any time before the start: fixes the deadline, the earlier of the two of `options`, and the read timeout, the call's own or
 * the channel's. Driving thread.
 */
void call_timeouts_init(struct call_timeouts *timeouts, struct lull_instant created_at,
                        const struct lull_call_options *options, int64_t channel_read_timeout_ns);

/* Joins a lane. LULL_OK or LULL_RC_NOMEM (no slot in the timer queue). */
int call_timeouts_start(struct lull_call *call);

/* Leaves it: the call has its status, or will have it without us. Harmless the second time and before the start. */
void call_timeouts_stop(struct lull_call *call);

/* The request is out: the read window opens. */
void call_timeouts_on_request_out(struct lull_call *call);

/* HEADERS or DATA of the call's stream came: it starts again. */
void call_timeouts_on_byte(struct lull_call *call);

/* The attempt is over and another one waits for its stream: it is closed, the entry stays. */
void call_timeouts_on_attempt_over(struct lull_call *call);

/*
 * From now on until channel_timeouts_stop: when the host's loop refuses an alarm, the channel's calls that counted on it fail
 * (RULINGS 18). Driving thread, both.
 */
void channel_timeouts_start(struct lull_channel *channel);

/* Harmless the second time and without a start. */
void channel_timeouts_stop(struct lull_channel *channel);

/* What is left of the deadline, not positive when it has passed, LULL_NEVER when there is none. */
int64_t call_timeouts_left(const struct lull_call *call, struct lull_instant now);

/* What `grpc-timeout` says of what is left (> 0). */
int64_t call_timeouts_for_wire(const struct lull_call *call, int64_t left_ns);

#endif
