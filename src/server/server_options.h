/* SPDX-License-Identifier: MIT */
/*
 * The options of a server: defaults, clamps, and what is refused.
 *
 * Decides: which values a server goes by. Called once a server, by lull_server_new. Must not know what a server does with them; it
 * looks at no world. The public side is lull/server.h.
 */
#ifndef SERVER_SERVER_OPTIONS_H
#define SERVER_SERVER_OPTIONS_H

#include "lull/server.h"

/* The smallest windows that make sense: a frame, and what RFC 9113 section 6.9.2 starts a connection with. */
#define SERVER_STREAM_WINDOW_FLOOR     16384u
#define SERVER_CONNECTION_WINDOW_FLOOR 65535u

/* A request's own fields must fit, with room for some of the application's. */
#define SERVER_METADATA_FLOOR 1024u

/*
 * Fills `out` with the options in force; pointers are taken over as they are. LULL_OK, or LULL_RC_INVALID with a text that names the
 * option.
 */
int server_options_resolve(const struct lull_server_options *given, struct lull_server_options *out,
                           struct lull_error *error);

#endif
