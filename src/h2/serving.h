/* SPDX-License-Identifier: MIT */
/*
 * The server's role of a transport: requests come in as streams, answers go out. The rest (drain, close, reads, stats) is transport.h's.
 * It tells its owner facts; whom to serve, for how long, and which peer pings or resets too much is the owner's business. All in
 * context.
 */
#ifndef H2_SERVING_H
#define H2_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/metadata.h"
#include "h2/stream.h"
#include "h2/transport.h"

/* A request that passed: POST, application/grpc, te: trailers. All of it is borrowed for the op. */
struct h2_incoming {
    int32_t stream_id;
    const char *path;      /* starts with '/' */
    const char *authority; /* :authority, else host; "" when there was none */
    int64_t timeout_ns;    /* grpc-timeout; LULL_NEVER: none */
    /* Without what is told here, te and content-type; "-bin" values are decoded. */
    const struct metadata_list *metadata;
    bool ends; /* half-closed with its HEADERS: no message will come. on_end_of_data follows too */
};

/*
 * Told while nghttp2 may be on the stack, all but on_closed and on_stream's handler tasks: an op records and posts, and calls none of
 * the verbs of transport.h and serving.h.
 */
struct h2_server_ops {
    struct h2_transport_ops transport; /* on_capacity is never told; on_goaway: the client's */
    /*
     * A request. Returns a stream that h2_stream_init set up, open from now on until its on_closed; NULL: it is refused
     * (REFUSED_STREAM: the client knows that nothing was done).
     */
    struct h2_stream *(*on_stream)(struct h2_transport *transport,
                                   const struct h2_incoming *incoming);
    /*
     * [nullable] A RST_STREAM came, for a stream of the owner's or not; its on_closed follows. Or the peer broke the rules on a stream so
     * that we end it: that costs the peer as little (CVE-2025-8671), and is told the same way. For the owner's police.
     */
    void (*on_reset)(struct h2_transport *transport, int32_t stream_id, uint32_t code,
                     struct lull_instant now);
    /* [nullable] A PING came (no acknowledgement); its answer goes in this turn's flush. */
    void (*on_ping)(struct h2_transport *transport, struct lull_instant now);
};

/* As h2_transport_new, for a connection that was accepted. Nothing is asked of `options` that says "clients". */
int h2_transport_new_server(struct lull_executor *executor, struct endpoint *endpoint,
                            const struct h2_transport_options *options,
                            const struct h2_server_ops *ops, void *owner,
                            struct h2_transport **out);

/*
 * Goes in order: GOAWAY with the largest id and a PING at once; when that is answered, or h2_transport_shutdown_now is called first, a
 * GOAWAY with the last id that was taken; when the last stream has ended and all is written, the transport closes, H2_LOST_LOCAL.
 * NO_ERROR and the debug data `why`, cut, both. The second time nothing happens. LULL_OK or LULL_RC_NOMEM.
 */
int h2_transport_shutdown(struct h2_transport *transport, const char *why);

/* The second GOAWAY without waiting for the answer: for the owner's timer. Harmless when it has gone, or before h2_transport_shutdown. */
int h2_transport_shutdown_now(struct h2_transport *transport);

/*
 * Silent: reads nothing, writes nothing, PINGs stay without an answer, and the connection stays up: a process that hangs. Not silent
 * any more, it goes on where it stopped. h2_transport_close closes without a word.
 */
void h2_transport_set_silent(struct h2_transport *transport, bool is_silent);

/* HEADERS and DATA frames sent: a peer's PINGs in between are no offence. */
uint64_t h2_transport_answers_sent(const struct h2_transport *transport);

/*
 * The response's HEADERS: ":status 200", content-type, and `headers` [nullable], checked by lull_metadata_check. Once, before the first
 * message. LULL_OK, LULL_RC_NOMEM, LULL_RC_LIMIT when the block is larger than can be sent (headers.h), LULL_RC_STATE the second time or after the trailers, LULL_RC_CLOSED when the stream is over. Not from
 * an op.
 */
int h2_stream_respond(struct h2_stream *stream, const struct lull_metadata *headers);

/*
 * Ends the stream behind what is queued: grpc-status, grpc-message (any bytes; NULL or "": none) and `trailers` [nullable]. Without
 * h2_stream_respond before it, one block with all of it (Trailers-Only). A client that has not half-closed is told to stop
 * (RST_STREAM NO_ERROR). Then on_closed follows, H2_END_FINISHED, when the last frame was made. Codes as h2_stream_respond.
 */
int h2_stream_trailers(struct h2_stream *stream, unsigned grpc_status, const char *grpc_message,
                       const struct lull_metadata *trailers);

/*
 * Ends the stream with this status ahead of what is queued, which is dropped, trailers that wait included: they pass closed windows.
 * Trailers that nghttp2 has already stand. LULL_RC_STATE: a message is half out, and only a reset is left. Codes as h2_stream_trailers.
 */
int h2_stream_cut_short(struct h2_stream *stream, unsigned grpc_status, const char *grpc_message);

#endif
