/* SPDX-License-Identifier: MIT */
/*
 * One HTTP/2 stream that carries gRPC-framed messages, neutral of role: a client's call and a server's call are both its owners. It
 * knows frames, lengths and limits; it does not know status codes of gRPC, deadlines or retries.
 *
 * Facts are told while nghttp2 is on the stack, so an owner's op only records and posts a task; the only functions of this page
 * it may call from an op are h2_stream_reset, h2_stream_consumed and the readers. All in context.
 */
#ifndef H2_STREAM_H
#define H2_STREAM_H

#include "base/list.h"
#include "base/metadata.h"
#include "base/slice.h"
#include "h2/outbox.h"
#include "lull/types.h"

#include <stdint.h>

struct answer;
struct h2_stream;
struct h2_transport;

/* Why a stream is over. Exactly one of these reaches on_closed. */
enum h2_end {
    H2_END_FINISHED, /* both directions ended in order (END_STREAM from the peer was seen) */
    H2_END_RESET, /* the peer sent RST_STREAM; code has its error code; was_finished: after END_STREAM */
    H2_END_LOCAL, /* h2_stream_reset by the owner */
    H2_END_PROTOCOL, /* the peer broke HTTP/2 or the message framing; text says how; we have reset it */
    H2_END_LIMIT, /* a message or metadata over our limit; text says which; we have reset it */
    H2_END_NOT_SENT, /* the HEADERS never left: connection gone or GOAWAY first; may go elsewhere unseen */
    H2_END_UNPROCESSED, /* GOAWAY left it out (last-stream-id below it), or RST REFUSED_STREAM: the server did nothing with it */
    H2_END_TRANSPORT    /* the connection was lost under it; the transport's own end says why */
};

struct h2_stream_end {
    enum h2_end kind;
    uint32_t code; /* HTTP/2 error code where there was one */
    bool has_code;
    bool was_finished; /* the peer's END_STREAM had been seen before */
    int sys_errno;     /* for H2_END_TRANSPORT */
    bool is_peer_dead; /* for H2_END_TRANSPORT: given up by keepalive or the write timeout */
    char text[160];    /* what happened, readable; "" when there is nothing to add */
};

/* Messages that lie one behind another in a slab, as one thing to hold: many small ones take no more than they took on the wire. */
struct h2_run {
    struct lull_slice message; /* the next one; the run's reference to the slab */
    size_t more;               /* bytes behind it, messages with their prefixes */
};

struct h2_stream_ops {
    /* A header block that is not the last of the stream. `http_status` is -1 when there was no `:status`. 1xx are not told. Borrowed. */
    void (*on_headers)(struct h2_stream *stream, int http_status,
                       const struct metadata_list *headers);
    /* One whole message, [own] by the callee. */
    void (*on_message)(struct h2_stream *stream, struct lull_slice message);
    /* [nullable] `count` small messages at once [own], of a stream without auto_consume; NULL: one by one, by on_message. */
    void (*on_run)(struct h2_stream *stream, struct h2_run run, unsigned count);
    /* Bytes of a DATA frame while the owner said the response is not gRPC (h2_stream_take_raw); for error texts. */
    void (*on_raw)(struct h2_stream *stream, const uint8_t *bytes, size_t len);
    /* The header block that ends the stream; on a stream without on_headers before it is "trailers-only". Borrowed.
     * Told though the last message was cut; on_closed (H2_END_PROTOCOL, was_finished) is then told before any task that this op posts. */
    void (*on_trailers)(struct h2_stream *stream, int http_status,
                        const struct metadata_list *trailers);
    /* END_STREAM came on DATA: no trailers will follow. */
    void (*on_end_of_data)(struct h2_stream *stream);
    /* The request's HEADERS were handed to the socket (is_last: the last byte of the request too). */
    void (*on_sent)(struct h2_stream *stream, bool is_last);
    /* Exactly once, last; the stream may be reused or freed after the turn's free phase. */
    void (*on_closed)(struct h2_stream *stream, const struct h2_stream_end *end);
    /* [nullable] What is queued fell below H2_STREAM_ROOM_BYTES after it had been at H2_STREAM_FULL_BYTES or more. */
    void (*on_writable)(struct h2_stream *stream);
    /* [nullable] DATA came, be it empty, before what is in it is told, or HEADERS of a 1xx: for those who time the peer's silence. */
    void (*on_progress)(struct h2_stream *stream);
    size_t owner_bytes; /* of the object that begins with the stream, which these ops go over; 0: not said */
};

/* h2_stream_queued_bytes from which an owner should stop sending, and below which on_writable is told. */
#define H2_STREAM_FULL_BYTES OUTBOX_FULL_BYTES
#define H2_STREAM_ROOM_BYTES ((size_t)32 * 1024)

/* Embedded in its owner; set up by h2_stream_init, given to h2_transport_open. Fields belong to h2/. */
struct h2_stream {
    const struct h2_stream_ops *ops;
    struct h2_transport *transport; /* NULL before open and after on_closed */
    struct list_node link;          /* in the transport's list of streams */
    int32_t id;                     /* -1 before HEADERS were submitted */
    uint32_t max_message_bytes;     /* judged on the prefix, before buffering */
    unsigned headers_seen;          /* header blocks of the response, without 1xx */
    /* sending */
    bool headers_pulled;             /* nghttp2 has made the frame; it may still wait in our own output */
    bool request_pulled;             /* END_STREAM too */
    bool headers_sent, request_sent; /* handed to the socket */
    bool has_responded;              /* server: the response's HEADERS are nghttp2's */
    bool has_trailers; /* server: so are the trailers, or they wait in `out` and `answer` */
    /* receiving, and ends */
    bool auto_consume; /* see h2_stream_init */
    bool peer_ended, raw, closed;
    bool was_reset; /* the peer's RST_STREAM came */
    bool
        has_local_end; /* `end` is decided: what on_closed will say; nothing else is told before it */

    uint64_t headers_end_at; /* where they end in the connection's output, counted in bytes */
    uint64_t request_end_at;
    struct list_node headers_link; /* waits until the socket has taken that much */
    struct list_node request_link;
    struct outbox out; /* messages that no frame has yet, and the half-close behind them */
    struct list_node writable_link; /* on_writable is owed */
    struct answer *answer;          /* server: trailers that wait for the queue to empty */
    unsigned grpc_status;           /* server: of the trailers */

    uint8_t in_prefix[5];
    uint8_t in_prefix_len;
    size_t in_owed; /* bytes that came and were not credited */
    size_t in_held; /* bytes of whole messages, prefixes too, that the application has not taken */
    struct lull_slab *in_slab; /* assembly */
    size_t in_at;              /* where the message begins in it */
    size_t in_len;
    size_t in_done;
    struct lull_slab *in_pack; /* held messages that are small share it; NULL when none is held */
    size_t in_packed;
    struct h2_stream_end end; /* its text is the last */
};

/* True: the message [own, then] is the run's now, because it lies right behind. False: it needs a run of its own. */
bool h2_run_join(struct h2_run *run, struct lull_slice message);

/* The next message of the run, under the run's reference. False: there is none, and nothing changed. */
static inline bool h2_run_next(struct h2_run *run)
{
    if (run->more == 0) {
        return false;
    }
    const uint8_t *prefix = run->message.data + run->message.len;
    run->message.data = prefix + FRAMING_PREFIX_BYTES;
    run->message.len = framing_length(prefix);
    run->more -= FRAMING_PREFIX_BYTES + run->message.len;
    return true;
}

/* Takes the next message [own]. True: there are more, each with a reference of its own. */
bool h2_run_take(struct h2_run *run, struct lull_slice *message);

/*
 * Both sides. `auto_consume` is true from here: each message counts as taken when it was told, which is right for unary calls. An
 * owner that holds back its peer sets it to false before the stream is opened (a server: in on_stream) and calls h2_stream_consumed.
 */
void h2_stream_init(struct h2_stream *stream, const struct h2_stream_ops *ops,
                    uint32_t max_message_bytes);

/* Frees what it still holds (assembly, queue). Not while open. */
void h2_stream_fini(struct h2_stream *stream);

/* RST_STREAM(code) if HEADERS are on the way, nothing on the wire if not; on_closed(H2_END_LOCAL) follows, this turn or the next. */
void h2_stream_reset(struct h2_stream *stream, uint32_t code);

/*
 * Queues one whole message; it goes out in this turn's flush, as far as the windows allow. `ends`: half-close behind it, as
 * h2_stream_end would (clients). There is no limit here: the owner asks h2_stream_queued_bytes. LULL_OK; LULL_RC_NOMEM; LULL_RC_LIMIT
 * when no prefix of 32 bits can tell its length; LULL_RC_STATE after the half-close or the trailers, and on a server before
 * h2_stream_respond; LULL_RC_CLOSED when the stream is over or was never opened. On failure nothing is queued. Not from an op.
 */
int h2_stream_send(struct h2_stream *stream, struct lull_slice message /* [ref] */, bool ends);

/* Half-close behind what is queued (clients; a server ends by h2_stream_trailers). Codes as h2_stream_send. Not from an op. */
int h2_stream_end(struct h2_stream *stream);

/* Bytes of messages, prefixes included, that no frame has yet. A blocked socket adds at most 65 KiB and a frame to them. */
static inline size_t h2_stream_queued_bytes(const struct h2_stream *stream)
{
    return stream->out.bytes;
}

/* h2_stream_send in one step, where a small message [copied] goes behind another. False: h2_stream_send it is. */
static inline bool h2_stream_add(struct h2_stream *stream, struct lull_slice message)
{
    return outbox_add(&stream->out, message.data, message.len);
}

/*
 * The application has taken one message of so many payload bytes: one call for each message told, on a stream without auto_consume.
 * Gives the stream's window its credit; until then the peer can send one window more, and the message that began in it. Harmless
 * on a stream that is over. Also from an op.
 */
void h2_stream_consumed(struct h2_stream *stream, size_t bytes);

/* The same for several messages at once, of so many payload bytes together. */
void h2_stream_consumed_all(struct h2_stream *stream, unsigned messages, size_t bytes);

/* From on_headers: the body is no gRPC; hand its bytes to on_raw instead of cutting messages. */
void h2_stream_take_raw(struct h2_stream *stream);

#endif
