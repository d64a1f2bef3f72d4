/* SPDX-License-Identifier: MIT */
/*
 * The timeouts of a call: its one entry in a deadline lane.
 *
 * Decides: when a call has used up its time, and what `grpc-timeout` says. The arithmetic is policy/deadline's, the waiting is
 * exec/lane's; this file is the glue between them and the call. Called by the call. Must not know streams. In context.
 */
#ifndef CHANNEL_CALL_TIMEOUTS_H
#define CHANNEL_CALL_TIMEOUTS_H

#include "exec/lane.h"
#include "policy/deadline.h"

struct lull_call;
struct lull_call_options;

struct call_timeouts {
    struct lane_entry entry;
    struct deadline deadline;
    struct lull_instant created_at;
    int64_t timeout_ns; /* from created_at; LULL_NEVER: none */
    bool is_expired_at_start;
    bool has_entry;
};

/* Any time before the start: fixes the deadline, the earlier of the two of `options`. Driving thread. */
void call_timeouts_init(struct call_timeouts *timeouts, struct lull_instant created_at,
                        const struct lull_call_options *options);

/* Joins a lane. LULL_OK or LULL_RC_NOMEM (no slot in the timer queue). */
int call_timeouts_start(struct lull_call *call);

/* Leaves it: the call has its status, or will have it without us. Harmless the second time and before the start. */
void call_timeouts_stop(struct lull_call *call);

/* What is left of the deadline, not positive when it has passed, LULL_NEVER when there is none. */
int64_t call_timeouts_left(const struct lull_call *call, struct lull_instant now);

/* What `grpc-timeout` says of what is left (> 0). */
int64_t call_timeouts_for_wire(const struct lull_call *call, int64_t left_ns);

#endif
