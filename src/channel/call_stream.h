/* SPDX-License-Identifier: MIT */
/*
 * A call's stream: opening it, recording what comes, and judging it.
 *
 * Decides: when the response decides the call, and whether a call that failed unseen goes back to the queue (transparent
 * retry, gRFC A6). Called by the queue (open), by h2/ (the facts) and by call.c (the judgement, from a task). Must
 * not know who dials. In context.
 */
#ifndef CHANNEL_CALL_STREAM_H
#define CHANNEL_CALL_STREAM_H

#include <stdbool.h>

struct connection;
struct lull_call;

/* Makes `stream` and `response` as they are before the first byte. The call's limits are known. */
void call_stream_set_up(struct lull_call *call);

/*
 * Opens the stream of a call that has just left the queue. False: the connection takes no more (its ids are used up), nothing
 * changed. True: it is open, or the call is over.
 */
bool call_stream_open(struct lull_call *call, struct connection *connection);

/* True when the response is decided, or the peer has gone, and the judgement is still to come. Also outside the context. */
bool call_stream_is_ending(const struct lull_call *call);

/* Judges what was recorded, if that is decided: the call ends, or goes back to the queue. From a task. */
void call_stream_judge(struct lull_call *call);

/* The call is over: what is still open is reset, unless it ends by itself. Harmless without a stream. */
void call_stream_abandon(struct lull_call *call);

#endif
