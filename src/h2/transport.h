/* SPDX-License-Identifier: MIT */
/*
 * One HTTP/2 connection: an endpoint, an nghttp2 session and the streams on it. Reads once per readiness, writes once per turn.
 * It tells its owner (a subchannel or a server) facts; whether to dial again is not its business. All in context.
 */
#ifndef H2_TRANSPORT_H
#define H2_TRANSPORT_H

#include "base/cold.h"
#include "base/metadata.h"
#include "h2/stream.h"
#include "lull/executor.h"
#include "lull/metadata.h"
#include "net/endpoint.h"

/* How a connection ended, or how an attempt failed. */
struct h2_transport_end {
    enum h2_lost {
        H2_LOST_EOF,      /* the peer closed */
        H2_LOST_ERRNO,    /* read or write failed; sys_errno */
        H2_LOST_PROTOCOL, /* no HTTP/2 (garbage, HTTP/1.1), or broken HTTP/2; text quotes what came */
        H2_LOST_GOAWAY,   /* drained after GOAWAY */
        H2_LOST_LOCAL,    /* h2_transport_close */
        H2_LOST_KEEPALIVE, /* no byte came within the timeout after a PING; text says since when */
        H2_LOST_NOMEM
    } kind;
    int sys_errno;
    bool before_settings; /* the server's first SETTINGS had not come */
    uint32_t goaway_code; /* when a GOAWAY was seen */
    bool has_goaway;
    uint64_t bytes_read;
    char text[256]; /* readable, never empty */
};

/* Told while nghttp2 may be on the stack, all but on_closed: an op records and posts, and calls none of this page's verbs. */
struct h2_transport_ops {
    /* The server's first SETTINGS came; streams may be opened. */
    void (*on_settings)(struct h2_transport *transport);
    /* GOAWAY: no more streams; those not left out go on. debug is the peer's bytes, not terminated. */
    void (*on_goaway)(struct h2_transport *transport, uint32_t code, int32_t last_stream_id,
                      const uint8_t *debug, size_t debug_len);
    /* h2_transport_can_open turned true again (a stream ended, the limit was raised). */
    void (*on_capacity)(struct h2_transport *transport);
    /* Bytes came from the socket: life (keepalive). */
    void (*on_read)(struct h2_transport *transport, struct lull_instant now);
    /* Over; every stream has had its on_closed. Told from a task. The transport frees itself in the free phase. */
    void (*on_closed)(struct h2_transport *transport, const struct h2_transport_end *end);
};

struct h2_transport_options {
    uint32_t stream_window_bytes;
    uint32_t connection_window_bytes;
    uint32_t max_metadata_bytes; /* advertised as SETTINGS_MAX_HEADER_LIST_SIZE */
    uint32_t max_streams;   /* servers: advertised as MAX_CONCURRENT_STREAMS; 0: no limit is told */
    const char *scheme;     /* clients: "http" or "https" */
    const char *authority;  /* clients: [borrow] outlives the transport */
    const char *user_agent; /* clients: [borrow] outlives the transport */
    struct {
        int64_t time_ns;    /* effective (lull_keepalive_interval_ns); 0 or LULL_NEVER: off */
        int64_t timeout_ns; /* effective; 0: 20 s */
        bool without_calls; /* a server's: true */
        bool
            is_system_off; /* the owner has turned the system's own probes off (endpoint_system_keepalive) */
    } keepalive;
};

/*
 * Takes a connected endpoint [own], queues the preface and SETTINGS for this turn's flush. role: client. On failure (LULL_RC_NOMEM,
 * LULL_RC_SYSTEM when the endpoint cannot be watched) the endpoint is still the caller's.
 */
LULL_COLD int h2_transport_new(struct lull_executor *executor, struct endpoint *endpoint,
                     const struct h2_transport_options *options, const struct h2_transport_ops *ops,
                     void *owner, struct h2_transport **out);

void *h2_transport_owner(const struct h2_transport *transport);
/* Its address, readable. */
const char *h2_transport_peer(const struct h2_transport *transport);

/* True when a stream opened now would go out at once: SETTINGS came, no GOAWAY, fewer open than the peer's limit. */
bool h2_transport_can_open(const struct h2_transport *transport);
/*
 * True while the socket takes nothing and many frames wait for it: a stream opened now would only wait in memory, and stay there when it
 * is cancelled. on_capacity follows when the socket takes bytes again.
 */
bool h2_transport_is_blocked(const struct h2_transport *transport);
size_t h2_transport_streams(const struct h2_transport *transport);
uint64_t h2_transport_bytes_read(const struct h2_transport *transport);

/* What a client's stream starts with. */
struct h2_request {
    const char *path;
    const char *authority; /* [nullable] NULL: the transport's */
    int64_t timeout_ns;    /* what is left now; LULL_NEVER: no grpc-timeout */
    const struct lull_metadata
        *metadata;             /* [nullable] checked by lull_metadata_check; -bin is encoded here */
    struct lull_slice message; /* [ref] the first message, if has_message (unary: the only one) */
    bool has_message;          /* unary: true */
    bool ends;                 /* half-close behind it (unary: true); else more can be sent */
};

/*
 * Opens a stream; h2_transport_can_open must hold. Everything goes out in this turn's flush, as far as the window allows. LULL_OK,
 * LULL_RC_NOMEM, LULL_RC_LIMIT (stream ids used up: the transport drains; or a message that no prefix of 32 bits can tell). On failure no
 * op is called.
 */
int h2_transport_open(struct h2_transport *transport, struct h2_stream *stream,
                      const struct h2_request *request);

/* The text last sent as grpc-timeout, for traces; "" when none. Valid until the next open. */
const char *h2_transport_last_timeout(const struct h2_transport *transport);

/*
 * GOAWAY(code) best effort in one last write, then closes; open streams end H2_END_TRANSPORT (or _NOT_SENT). on_closed follows
 * from a task with H2_LOST_LOCAL. The second time nothing happens.
 */
void h2_transport_close(struct h2_transport *transport, uint32_t code, const char *why);

/*
 * One non-blocking read now, unless this turn has read all there was already: for a timer that is about to condemn the peer or a call (HOUSE,
 * Reading). What comes is told as ever; the end of a stream or of the transport may be among it. Not from an op.
 */
void h2_transport_read_now(struct h2_transport *transport);

/* This turn's flush now, if one is due: for who is about to close. May end the transport. Not from an op. */
void h2_transport_write_now(struct h2_transport *transport);

/* No more streams from us: closes when the last one ends (at once when there is none). */
void h2_transport_drain(struct h2_transport *transport);

#endif
