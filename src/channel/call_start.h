/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a call: its arguments, its memory, its way to the channel's queue.
 *
 * Decides: which calls are refused at once, and what a command that was given outside a turn means. Called by the public starts
 * (lull_call_start here, lull_call_unary in call_unary.c). Must not know how a call goes on. Any thread:
 * one that can be in context makes a call from what the channel keeps, others from new memory (call_outside.c).
 */
#ifndef CHANNEL_CALL_START_H
#define CHANNEL_CALL_START_H

#include "base/cold.h"
#include "lull/call.h"

/* Options of another release, as ours in `room`. LULL_OK, or LULL_RC_INVALID with a text. */
LULL_COLD int call_options_take(const struct lull_call_options *options, struct lull_call_options *room,
                                struct lull_error *error);

/* *options [nullable] is of our size, at `room` if it was not. */
static inline int call_options_settle(const struct lull_call_options **options, struct lull_call_options *room,
                                      struct lull_error *error)
{
    if (*options == NULL || (*options)->size == sizeof(*room)) {
        return LULL_OK;
    }
    const int rc = call_options_take(*options, room, error);
    *options = room;
    return rc;
}

/* What every kind of call asks of its arguments. LULL_OK or a code with its text; nothing was made. */
int call_check(const struct lull_channel *channel, const struct lull_call_options *options,
               struct lull_error *error);

/* What a unary call has from its start. */
struct call_unary_start {
    lull_unary_fn done;
    struct lull_slice request; /* [ref] */
};

/* Makes a call and starts it, from a task; `unary` [nullable]. LULL_OK or LULL_RC_NOMEM. Any thread. */
int call_start(struct lull_channel *channel, const struct lull_call_options *options,
               const struct lull_call_handler *handler, void *ctx,
               const struct call_unary_start *unary, struct lull_call **out,
               struct lull_error *error);

/* Raw memory to a call with the library's reference, which the channel does not know of. Any thread. */
struct call_arena;
void call_set_up(struct lull_call *call, struct lull_channel *channel, struct call_arena *arena,
                 const struct lull_call_options *options);

/* The channel knows of it: it is counted, and holds the channel. In context. */
void call_count_in(struct lull_call *call);

#endif
