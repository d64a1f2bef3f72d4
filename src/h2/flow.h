/* SPDX-License-Identifier: MIT */
/*
 * Window credit for what was received (RFC 9113 section 5.2).
 *
 * Decides: when. The connection's window is credited as bytes arrive, so that a stream nobody reads starves no other. A stream's is
 * credited as they arrive too, so that a message larger than the window can, less what whole messages hold that the application has not
 * taken: a peer that is held back can send one window more and the message that begins in it. nghttp2 sends the updates, in half-window
 * steps. So what is held of a paused call is bounded by its stream's window, and of a connection by the windows of all its streams: the
 * connection's own window bounds what is under way, and withholding it would let one paused call stall the others. Called by session_cb.c and framing.c.
 */
#ifndef H2_FLOW_H
#define H2_FLOW_H

#include <stddef.h>

struct h2_stream;
struct h2_transport;

/* DATA came from the socket, for a live stream or not; and nghttp2 has been fed, so that its bytes are credited to the connection at once. */
void flow_on_received(struct h2_transport *t, size_t len);
void flow_on_fed(struct h2_transport *t);

/* So much of it is a live stream's; gives what credit can be given. */
void flow_on_arrived(struct h2_stream *stream, size_t len);

/* Whole messages of so many bytes, their prefixes included, are about to be told. */
void flow_on_messages(struct h2_stream *stream, size_t framed);

#endif
