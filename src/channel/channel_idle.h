/* SPDX-License-Identifier: MIT */
/*
 * Idle mode of a channel: lull/idle.h's arithmetic on one Rescheduler (RULINGS 3-5; BEHAVIOUR 2.4).
 *
 * Decides: what entering and leaving idle mode mean for a channel. Nobody else touches its idle timer. Called by channel.c, and
 * by call.c, which reports the beginning and the end of every call. Must not know what a call does in between.
 *
 * Idle mode is not the state IDLE: a READY channel whose server said goodbye is in that state too, and its timer goes on. A
 * channel in idle mode has no timer, no descriptor, no session, no error and no backoff to wait out. It keeps the keepalive time
 * that a server made it double, and the 800 ms between two dials to one address (RULINGS 10).
 */
#ifndef CHANNEL_CHANNEL_IDLE_H
#define CHANNEL_CHANNEL_IDLE_H

#include "lull/types.h"

struct lull_channel;

/* A channel is born in idle mode. LULL_OK or LULL_RC_NOMEM. In context. */
int channel_idle_init(struct lull_channel *channel);

/* The channel closes: the timer is given back. Later facts only count. In context. */
void channel_idle_stop(struct lull_channel *channel);

/* A call was created, whatever becomes of it. Touches no timer: it need not be in context. Driving thread. */
void channel_idle_on_call_started(struct lull_channel *channel);

/*
 * A call is over, and its last callback has returned. `ended_at` is when that callback was called: what the application did in it
 * is no activity, and the clock need not be read again. In context, without nghttp2 on the stack.
 */
void channel_idle_on_call_ended(struct lull_channel *channel, struct lull_instant ended_at);

/*
 * A call waits for a stream and no connection has one: a connection is made if none is or is on its way. Most calls woke the channel
 * when they were created; one that outlived the entering of idle mode and comes back from its connection wakes it here. In
 * context, without nghttp2 on the stack.
 */
void channel_idle_on_call_waits(struct lull_channel *channel);

/* A connection is gone, for whatever reason. In context. */
void channel_idle_on_connection_gone(struct lull_channel *channel);

/* Somebody wants a connection without a call. In context. */
void channel_idle_on_connect_asked(struct lull_channel *channel);

#endif
