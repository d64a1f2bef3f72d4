/* SPDX-License-Identifier: MIT */
/*
 * The options of a channel: defaults, clamps, and what is refused.
 *
 * Decides: which values a channel goes by. Called once a channel, by lull_channel_new. Must not know what
 * a channel does with them; it copies no strings and looks at no world. The public side is lull/channel.h.
 */
#ifndef CHANNEL_OPTIONS_H
#define CHANNEL_OPTIONS_H

#include "lull/channel.h"

/* Floors of times, without allow_short_timers. */
#define OPTIONS_MIN_CONNECT_FLOOR_NS (10 * LULL_MS)
#define OPTIONS_BACKOFF_FLOOR_NS     (100 * LULL_MS)

/* The smallest windows that make sense: a frame, and what RFC 9113 section 6.9.2 starts a connection with. */
#define OPTIONS_STREAM_WINDOW_FLOOR     16384u
#define OPTIONS_CONNECTION_WINDOW_FLOOR 65535u

/* A response's ":status", "content-type" and "grpc-status" must fit, with room for a message. */
#define OPTIONS_METADATA_FLOOR 1024u

/*
 * Fills `out` with the options in force; pointers are taken over as they are. LULL_OK, or LULL_RC_INVALID
 * with a text that names the option.
 */
int options_resolve(const struct lull_channel_options *given, struct lull_channel_options *out,
                    struct lull_error *error);

#endif
