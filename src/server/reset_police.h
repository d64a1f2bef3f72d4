/* SPDX-License-Identifier: MIT */
/*
 * Decides, on a server's connection, whether the client takes back calls faster than an honest one would (CVE-2023-44487, "rapid
 * reset": HEADERS and RST_STREAM in turn cost the client nothing and the server a call each): arithmetic only, by the executor's clock.
 * nghttp2 has such a limit of its own by the real clock, which h2/ lifts where it can (RULINGS 25). Called by server_age.c. Must not know
 * frames or sockets.
 *
 * A bucket of tokens: each reset takes one, so many come back in a second. An empty one ends the connection. Both numbers are nghttp2's,
 * 1 000 and 33: a client that cancels a thousand calls at once, because a deadline they share has passed or its user has left, is honest.
 */
#ifndef SERVER_RESET_POLICE_H
#define SERVER_RESET_POLICE_H

#include <stdbool.h>

#include "lull/types.h"

#define RESET_POLICE_BURST  1000
#define RESET_POLICE_EACH_S 33

struct reset_police {
    int64_t tokens_ns;      /* each is worth 1 s / RESET_POLICE_EACH_S */
    struct lull_instant at; /* tokens_ns is as of then */
};

void reset_police_init(struct reset_police *police, struct lull_instant now);

/* A RST_STREAM came, or a fault of the client's made us end a stream (CVE-2025-8671). False: one too many, close; and so is each that follows before tokens have come back. */
bool reset_police_permits(struct reset_police *police, struct lull_instant now);

#endif
