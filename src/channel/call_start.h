/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a call: its arguments, its memory, its way to the channel's queue.
 *
 * Decides: which calls are refused at once, and what a command that was given outside a turn means. Called by the public starts
 * (lull_call_start here, lull_call_unary in call_unary.c). Must not know how a call goes on. Driving thread.
 */
#ifndef CHANNEL_CALL_START_H
#define CHANNEL_CALL_START_H

#include "lull/call.h"

/* What every kind of call asks of its arguments. LULL_OK or a code with its text; nothing was made. */
int call_check(const struct lull_channel *channel, const struct lull_call_options *options,
               struct lull_error *error);

/* A call with the library's reference, not yet started; NULL: no memory. */
struct lull_call *call_make(struct lull_channel *channel, const struct lull_call_options *options,
                            const struct lull_call_handler *handler, void *ctx);

/* Starts it, from a task; `out` [nullable] receives a reference. Cannot fail. */
void call_launch(struct lull_call *call, struct lull_call **out);

#endif
