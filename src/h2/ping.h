/* SPDX-License-Identifier: MIT */
/*
 * PINGs of ours (RFC 9113 section 6.7): those that a user asks for, keepalive's, and the one that marks the end of a drain.
 *
 * Decides: which PINGs go on the wire and which acknowledgement answers which. All users who ask while a PING of theirs is out share
 * it; keepalive joins it too. Each kind has a payload of its own with a number in it, so an ACK of anybody else's payload, or the same
 * ACK twice, answers nothing. The peer's PINGs are answered by nghttp2. Must not know when a ping is due. All in context.
 */
#ifndef H2_PING_H
#define H2_PING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "lull/executor.h"
#include "lull/types.h"

struct h2_ping;
struct h2_transport;

/* ---- for owners of a transport */

/*
 * Told from a task, once. `rtt_ns` is how long the PING was on its way, from the socket's taking it to its ACK; negative: no answer will
 * come, and `why` says so (valid for the call; NULL when answered). It may free the ping, ask again, and call any verb of the transport.
 */
typedef void (*h2_ping_fn)(struct h2_ping *ping, int64_t rtt_ns, const char *why);

/* Somebody who waits for an ACK; embedded in its owner. */
struct h2_ping {
    struct list_node link; /* waits in its kind's list, or answered in `told` */
    h2_ping_fn on_done;
    int64_t rtt_ns;
};

struct h2_ping_stats {
    uint64_t sent;       /* PINGs without the ACK flag that were framed, of all kinds */
    uint64_t acked;      /* of these, answered */
    uint64_t late;       /* of these, past the keepalive timeout, or after a newer one had gone */
    int64_t last_rtt_ns; /* LULL_NEVER: none measured yet */
    int64_t min_rtt_ns;
    int64_t max_rtt_ns;
};

void h2_ping_init(struct h2_ping *ping, h2_ping_fn on_done);

/* Waits for the ACK of the user's PING that is out, or sends one in this turn's flush. LULL_OK; on failure (LULL_RC_CLOSED,
 * LULL_RC_NOMEM) it is told nothing. Not while it waits already, not from an op. */
int h2_transport_ping(struct h2_transport *transport, struct h2_ping *ping);

/* Is told nothing any more. Harmless when it does not wait. */
void h2_ping_cancel(struct h2_ping *ping);

/* Also after the end, from on_closed. */
void h2_transport_ping_stats(const struct h2_transport *transport, struct h2_ping_stats *out);

/*
 * [nullable] Somebody who wants to know of each PING: `rtt_ns` negative: one was framed; else one was answered in so long. Told while
 * nghttp2 may be on the stack: it records and posts. NULL at first.
 */
void h2_transport_watch_pings(struct h2_transport *transport,
                              void (*on_ping)(struct h2_transport *transport, int64_t rtt_ns));

/* ---- for the files of h2/ */

enum ping_kind { PING_KEEPALIVE, PING_USER, PING_DRAIN };
#define PING_KINDS 3

#define PING_BYTES 8

/* The newest PING of a kind. */
struct ping_slot {
    enum {
        PING_NONE,   /* none is out */
        PING_HELD,   /* a drain's, until its notice is framed */
        PING_QUEUED, /* nghttp2 has it */
        PING_FRAMED, /* it waits in our own output */
        PING_WRITTEN /* the socket has it */
    } state;
    uint32_t serial;          /* its number; counts from 1 */
    uint32_t acked_serial;    /* the newest that was answered */
    uint64_t end_at;          /* where it ends in the connection's output */
    struct lull_instant at;   /* when it was written */
    struct list_node waiters; /* struct h2_ping */
};

struct ping_state {
    struct ping_slot slots[PING_KINDS];
    unsigned unwritten;        /* slots that are queued or framed */
    bool has_keepalive_joined; /* the user's PING is keepalive's, too */
    struct list_node told;     /* answered or failed; `tell` tells them */
    struct lull_task tell;
    struct h2_ping_stats stats;
    void (*on_ping)(struct h2_transport *transport, int64_t rtt_ns);
};

void ping_init(struct h2_transport *t);

/* Keepalive wants one on the wire: none is added to one that it may join. */
void ping_for_keepalive(struct h2_transport *t);

/*
 * As h2_transport_ping with a PING of its own kind, right behind the notice of goaway.h: for a server that wants to know when
 * that has arrived (RFC 9113 section 6.8). Sent at once, it would overtake the GOAWAY, and its ACK would say nothing.
 */
int ping_for_drain(struct h2_transport *t, struct h2_ping *ping);

/* The notice has been framed. nghttp2 is not on the stack. */
void ping_on_notice_framed(struct h2_transport *t);

/* True when keepalive's PING, or the one it joined, has not reached the socket. */
bool ping_is_keepalive_stuck(const struct h2_transport *t);

/* nghttp2 has framed a PING of ours. */
void ping_on_framed(struct h2_transport *t, const uint8_t payload[PING_BYTES]);

/* A flush is over: those that the socket has taken count from now. */
void ping_on_flushed(struct h2_transport *t);

/* An ACK came, of whatever payload. */
void ping_on_ack(struct h2_transport *t, const uint8_t payload[PING_BYTES]);

/* The transport is lost: all who wait will be told from a task. */
void ping_on_lost(struct h2_transport *t);

/* Tells those that are due now; in a task, and before the transport's own end is told. */
void ping_tell(struct h2_transport *t);

#endif
