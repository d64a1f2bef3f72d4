/* SPDX-License-Identifier: MIT */
/*
 * A server's answers (grpc/doc/PROTOCOL-HTTP2.md, Responses). The owner's verbs, h2_stream_respond and h2_stream_trailers, are in
 * h2/serving.h.
 *
 * Decides: when trailers go: nghttp2 would send them before DATA that it has not asked for yet, so they wait until the queue is empty, but
 * no longer, for trailers need no window. Called by incoming.c, send.c and stream.c.
 */
#ifndef H2_ANSWER_H
#define H2_ANSWER_H

#include <stdint.h>

struct h2_stream;
struct h2_transport;
struct headers_answer;

/* Ends a stream that is nobody's with one block. While nghttp2 is on the stack. */
void answer_plain(struct h2_transport *t, int32_t id, const struct headers_answer *answer);

/*
 * Ends a stream of the owner's for a fault of its client, saying what: a status says more than a reset. What is queued is called off.
 * Also while nghttp2 is on the stack.
 */
void answer_fault(struct h2_stream *stream, unsigned grpc_status, const char *text);

/* The frame being made has the last of the queue: the trailers go behind it. */
void answer_on_last_data(struct h2_stream *stream);

/* nghttp2 has made the frame that ends our side: a client that still sends is told that nobody listens (RFC 9113 section 8.1). */
void answer_on_ended(struct h2_transport *t, int32_t id);

/* The stream is over: what waited is let go. */
void answer_drop(struct h2_stream *stream);

#endif
