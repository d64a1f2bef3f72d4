/* SPDX-License-Identifier: MIT */
/*
 * The addresses of a channel: at hand from its birth, or asked for by name.
 *
 * Decides: when a name is asked for, and what an answer means for the channel. Called by channel.c, channel_queue.c and
 * channel_idle.c. Must not know DNS (net/resolver.h) or how addresses are dialled (subchannel.h). In context.
 *
 * A name is asked for when a connection is first needed and none of its addresses is known; again when a connection was lost or all
 * addresses have failed, not within 30 s of the query that gave the last good answer; and first of all after idle mode, with the
 * same exception if the addresses were any good. A query that fails is made again after the curve of the dials while no address is known, with the channel in
 * TRANSIENT_FAILURE; otherwise the addresses that are known stay (gRFC A62), and the next failed pass asks again.
 */
#ifndef CHANNEL_CHANNEL_RESOLVE_H
#define CHANNEL_CHANNEL_RESOLVE_H

#include <stdbool.h>

#include "lull/rc.h"

struct failure_facts;
struct lull_channel;
struct target;

/* Between a good answer's query and the next, and how long one may take. */
#define CHANNEL_RESOLVE_FLOOR_NS (30 * LULL_SECOND)
#define CHANNEL_RESOLVE_LIMIT_NS (10 * LULL_SECOND)

/* For a channel whose subchannel is set up. LULL_OK or LULL_RC_NOMEM. */
int channel_resolve_init(struct lull_channel *channel, const struct target *target);

/* The channel closes: nothing is asked any more. */
void channel_resolve_stop(struct lull_channel *channel);

/* Its memory goes. Not necessarily in context. */
void channel_resolve_fini(struct lull_channel *channel);

/* A connection is needed: dials, or asks for the addresses first. */
void channel_resolve_connect(struct lull_channel *channel);

/* A connection was lost, or no address could be reached: the addresses may be old. Legal with nghttp2 on the stack. */
void channel_resolve_refresh(struct lull_channel *channel);

/* One of the addresses is READY. */
void channel_resolve_on_ready(struct lull_channel *channel);

/* The application asked to forget the waits. */
void channel_resolve_reset_backoff(struct lull_channel *channel);

/* The channel has fallen idle: no query, no timer, no failure; the addresses are to be asked for before they are used again. */
void channel_resolve_fall_idle(struct lull_channel *channel);

/* True while those who wait for a connection wait for the name. */
bool channel_is_resolving(const struct lull_channel *channel);

/* What is known while that is so. */
void channel_resolve_facts(const struct lull_channel *channel, struct failure_facts *facts);

#endif
