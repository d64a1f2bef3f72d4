/* SPDX-License-Identifier: MIT */
/*
 * What threads that cannot be in context do with a call: start it, send on it.
 *
 * Decides: what of a call such a thread may touch, which is this struct and the commands. Called by the public functions of a call when
 * executor_visit said no (another thread is in a turn, or the loop is a host's and this is not its thread). Must not know
 * streams. What is made here is allocated, for the recyclers are the executor's (RULINGS 26).
 *
 * Messages are pushed on a stack of the call's own, which whoever is next in context takes over before it does anything else with the
 * call: so what one thread sent comes in the order in which it was sent, whichever way it went.
 */
#ifndef CHANNEL_CALL_OUTSIDE_H
#define CHANNEL_CALL_OUTSIDE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lull/call.h"

struct call_message;
struct call_unary_start;

struct call_outside {
    _Atomic(struct call_message *) messages; /* newest first, linked by link.next */
    _Atomic(size_t) bytes;                   /* of these, prefixes included */
    _Atomic(size_t) queued;                  /* of the call's elsewhere, as it was last said */
    atomic_bool is_half_closed;              /* somebody asked for it */
    atomic_bool is_over;
    bool is_made_outside;     /* the call is no recycler's */
    bool is_sent_to;          /* some came here: what is queued is worth saying */
    uint32_t allocations;     /* not yet counted */
    struct lull_slice request; /* a unary call's, until it is known in context */
};

void call_outside_init(struct call_outside *outside);

/* As call_make and what follows it, and the channel is told by CALL_COMMAND_START alone. NULL: no memory. */
struct lull_call *call_outside_make(struct lull_channel *channel,
                                    const struct lull_call_options *options,
                                    const struct lull_call_handler *handler, void *ctx,
                                    const struct call_unary_start *unary);

/* The start of such a call has come: it is the channel's from here on. In context. */
void call_outside_adopt(struct lull_call *call);

/* lull_call_send there. */
int call_outside_send(struct lull_call *call, struct lull_slice message);

/* Takes over what was sent there. In context. */
void call_outside_take(struct lull_call *call);

/* True: messages were sent there, or a half-close. */
static inline bool call_outside_was_used(const struct call_outside *outside)
{
    return atomic_load_explicit(&outside->messages, memory_order_relaxed) != NULL ||
           atomic_load_explicit(&outside->is_half_closed, memory_order_relaxed);
}

/* How much is queued, for those who send there. In context. */
void call_outside_say_queued(struct lull_call *call);

#endif
