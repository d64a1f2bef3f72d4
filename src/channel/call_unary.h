/* SPDX-License-Identifier: MIT */
/*
 * A unary call: a call whose handler is ours and collects.
 *
 * Decides: what of a response a unary caller gets: its first message, under an OK. How many messages there may be is judged with
 * the rest of the response (response.c). Called by call_stream.c for each message that came. The public side is lull_call_unary of
 * lull/call.h. In context.
 */
#ifndef CHANNEL_CALL_UNARY_H
#define CHANNEL_CALL_UNARY_H

#include "lull/types.h"

struct lull_call;

/* A message came [own]: the first is kept, more are only counted. Legal with nghttp2 on the stack. */
void call_unary_collect(struct lull_call *call, struct lull_slice message);

#endif
