/* SPDX-License-Identifier: MIT */
/*
 * Decides, on a server's connection, whether the client pings too often (gRFC A8, "Server
 * Enforcement"): arithmetic only. One struct a connection, told of frames and streams by the
 * server's glue, which writes the GOAWAY and closes. Must not know frames, sockets or who pings
 * why: keepalive, bandwidth probes and users all count. It needs no timer.
 *
 * A ping is valid when the permit interval has passed since the last valid one, else a strike; more
 * strikes than are tolerated end the connection. The interval is permit_ns; two hours, TCP's own,
 * while there are no streams and permit_without_calls is off. Sending HEADERS (trailers included)
 * or DATA forgives everything.
 *
 * grpc-java, Go and C++ each bend A8 here. This is A8's reading:
 *  - "Last valid" starts in the infinite past, so the first ping is free. (Java: at the connection's
 *    creation, so an early first ping is a strike and an early third one dies.)
 *  - What is sent puts "last valid" back to the infinite past, so the next ping is free again. (Java:
 *    back to the creation, so in a connection's first interval a ping right after DATA is a strike.)
 *  - Only a valid ping moves it. (Go, C++: each ping does, so that a client which pings at 0.8 of the
 *    interval has strikes only. Here every other one of its pings is valid.)
 *  - A valid ping forgives no strike.
 * One thing A8 leaves open and Java fills: no interval is longer than two hours, or a connection
 * with calls would be allowed less than one without.
 */
#ifndef POLICY_PING_POLICE_H
#define POLICY_PING_POLICE_H

#include "lull/types.h"

#define PING_POLICE_PERMIT_DEFAULT_NS (300 * LULL_SECOND)
#define PING_POLICE_PERMIT_MAX_NS     (7200 * LULL_SECOND)
#define PING_POLICE_STRIKES_DEFAULT   2

/* Debug data of the GOAWAY, byte for byte; its code is ENHANCE_YOUR_CALM. */
#define PING_POLICE_GOAWAY_DEBUG "too_many_pings"

struct ping_police_options {
    int64_t permit_ns;         /* clamped to 0 .. PING_POLICE_PERMIT_MAX_NS */
    int max_strikes;           /* tolerated; 0 and less: any number */
    bool permit_without_calls; /* permit_ns holds without streams, too */
};

/* 5 minutes, 2 strikes, only with calls. */
void ping_police_options_init(struct ping_police_options *options);

enum ping_police_action {
    PING_POLICE_NONE,   /* valid; or the connection is being closed already */
    PING_POLICE_STRIKE, /* answer it like any other; worth a trace */
    PING_POLICE_CLOSE   /* GOAWAY(ENHANCE_YOUR_CALM, "too_many_pings"), and close at once, calls or
                           not: that is how the author of the client learns of it. Said once */
};

/* The owner may read any field. */
struct ping_police {
    struct ping_police_options options; /* effective */
    struct lull_instant last_valid_at;  /* INT64_MIN: the infinite past */
    uint64_t strikes;                   /* since something was sent */
    bool has_streams;
    bool is_closed; /* CLOSE was said */
};

/* Copies the options and clamps them. The connection has no streams and no past. */
void ping_police_init(struct ping_police *police, const struct ping_police_options *options);

/* A PING came from the peer. An ack is none. */
enum ping_police_action ping_police_on_ping(struct ping_police *police, struct lull_instant now);

/* We sent HEADERS or DATA, on any stream. */
void ping_police_on_sent(struct ping_police *police);

/* A stream was opened (each one, or only the first: it makes no difference). */
void ping_police_on_stream_opened(struct ping_police *police);

/* No stream is left. */
void ping_police_on_last_stream_closed(struct ping_police *police);

/* From when on a ping is valid, the streams being as they are; INT64_MIN: at any time. Nothing is
 * due then: for traces. */
struct lull_instant ping_police_permit_at(const struct ping_police *police);

#endif
