/* SPDX-License-Identifier: MIT */
/*
 * Window credit for what was received (RFC 9113 section 5.2).
 *
 * Decides: when. The connection's window is credited as bytes arrive, so that a stream nobody reads starves no other; a stream's as
 * its bytes are taken over: for whole messages, into the assembly. nghttp2 sends the updates, in half-window steps. Called by
 * session_cb.c.
 */
#ifndef H2_FLOW_H
#define H2_FLOW_H

#include <stddef.h>

struct h2_stream;
struct h2_transport;

/* DATA came from the socket, for a live stream or not. */
void flow_on_received(struct h2_transport *t, size_t len);

/* So much of it was taken over. */
void flow_on_taken(struct h2_stream *stream, size_t len);

#endif
