/* SPDX-License-Identifier: MIT */
/*
 * Letting answers gather.
 *
 * Channels that share a loop ask their peers in one wake-up whether they live, and the answers trickle in: each would wake the loop. So the
 * loop lets them gather for LINGER_NS before it looks again.
 *
 * Decides: when nothing but answers to keepalive can come, so that nobody waits for what is let lie: two or more are awaited, no call is
 * under way, no PING of a user's, and all that is watched are connections of clients that stand (no server, no dial, no resolver, no descriptor of a
 * host's). What it costs: an answer is heard, and the round trip told, up to LINGER_NS later. An alarm, a wake and whoever comes by on another
 * thread end it. Called by h2/ (facts) and the built-in loops. In context, unless it says otherwise.
 */
#ifndef EXEC_LINGER_H
#define EXEC_LINGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "lull/types.h"

struct lull_executor;

#define LINGER_NS (8 * LULL_MS)

struct lingering {
    unsigned connections; /* of clients, that have had the server's SETTINGS and are not lost */
    unsigned awaited;     /* of these, with a PING of keepalive's that is not answered */
    unsigned asked;       /* PINGs that users have asked for and that are not answered */
    _Atomic(bool) is_on;  /* the loop does not look at its descriptors just now */
};

struct lingering *executor_linger(struct lull_executor *executor);

/* A loop that watches so many descriptors may linger; then it does, until it says linger_end. */
bool linger_begin(struct lull_executor *executor, size_t watches);

/* The loop looks again. Any thread, before it is in context. */
void linger_end(struct lull_executor *executor);

/* Somebody else is in context: what he does may want the loop to look. */
void linger_interrupt(struct lull_executor *executor);

#endif
