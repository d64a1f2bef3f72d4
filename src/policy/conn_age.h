/* SPDX-License-Identifier: MIT */
/*
 * Decides when a server lets a connection go and in which steps (gRFC A9; RFC 9113 section 6.8):
 * arithmetic only. One struct a connection, told of streams by the server's glue, which draws the
 * random number, writes the frames and keeps one Rescheduler at `next_at`. Must not know frames,
 * sockets or calls.
 *
 * A drain begins when there was no stream for max_idle (counted from the end of the last one, else
 * from the opening), when the connection is older than max_age (with calls or without), or when the
 * server shuts down; the earliest gives the reason, age before idle when they meet. Then:
 *
 *     DRAIN             GOAWAY(2^31-1) and a PING: "no new streams, please"; all that come are served
 *     its ack, or drain_limit after DRAIN, or the grace over:
 *     LAST_GOAWAY       GOAWAY(highest stream served): what crossed the first one has arrived
 *     no stream left, or the grace over:
 *     CLOSE
 *
 * Where the implementations differ:
 *  - With no stream the drain is the same (grpc-java; Go closes at once): a call that crossed the
 *    first GOAWAY on the wire is served and not failed. That streams are gone before the ack ends
 *    nothing, therefore. A client that has no use for the connection closes it itself.
 *  - The grace counts from DRAIN (A9: after max_age; as Go), so that a client that does not ack cannot
 *    put off its end; and from max_age at the earliest: a drain for idleness gives streams that slipped
 *    in the time they would have had. So a connection lives for max_age + grace at most.
 *  - Jitter of 10 % either way is on max_age alone (A9; C++ has it on max_idle, too).
 *  - The limit is 10 s (grpc-java; Go 5 s, C++ 20 s).
 */
#ifndef POLICY_CONN_AGE_H
#define POLICY_CONN_AGE_H

#include "lull/types.h"

/* The shortest max_idle and max_age without allow_short_timers. */
#define CONN_AGE_MIN_NS                 LULL_SECOND
#define CONN_AGE_DRAIN_LIMIT_DEFAULT_NS (10 * LULL_SECOND)

struct conn_age_options {
    int64_t max_idle_ns;      /* 0, negative or LULL_NEVER: off; else raised to CONN_AGE_MIN_NS */
    int64_t max_age_ns;       /* the same, before jitter */
    int64_t max_age_grace_ns; /* 0: none; negative or LULL_NEVER: streams may take for ever */
    int64_t drain_limit_ns;   /* the wait for the ack; negative: none; LULL_NEVER: no limit */
    bool allow_short_timers;  /* no floors; for tests and demonstrations */
};

/* All off; limit 10 s. */
void conn_age_options_init(struct conn_age_options *options);

enum conn_age_action {
    CONN_AGE_NONE,             /* nothing but setting the timer to next_at */
    CONN_AGE_DRAIN,            /* GOAWAY(NO_ERROR, 2^31-1, reason) and a PING of its own payload */
    CONN_AGE_LAST_GOAWAY,      /* GOAWAY(NO_ERROR, highest stream served, reason) */
    CONN_AGE_GOAWAY_AND_CLOSE, /* the same, then close: nothing is left, or no grace is given */
    CONN_AGE_CLOSE             /* close; streams that are left have used up their grace */
};

enum conn_age_reason {
    CONN_AGE_NOT_DRAINING,
    CONN_AGE_MAX_IDLE,
    CONN_AGE_MAX_AGE,
    CONN_AGE_SHUTDOWN
};

/* Each order is given once, and nothing follows a close. */
struct conn_age_step {
    enum conn_age_action action;
    struct lull_instant next_at; /* LULL_NEVER: not at all */
};

enum conn_age_phase {
    CONN_AGE_OPEN,
    CONN_AGE_DRAINING, /* waits for the ack */
    CONN_AGE_DRAINED,  /* waits for the streams */
    CONN_AGE_CLOSED
};

/* The owner may read any field. */
struct conn_age {
    struct conn_age_options options; /* effective */
    struct lull_instant age_at;      /* max_age is reached; LULL_NEVER: off */
    struct lull_instant idle_from;   /* the end of the last stream, else the opening */
    struct lull_instant drain_at;    /* DRAIN was ordered */
    struct lull_instant close_at;    /* from DRAIN on: the end of the grace */
    uint64_t streams;
    enum conn_age_phase phase;
    enum conn_age_reason reason; /* why it drains */
};

/* Copies the options and clamps them. Nothing is due before on_opened. */
void conn_age_init(struct conn_age *age, const struct conn_age_options *options);

/* The connection is there. `unit` in [0, 1) is the draw that jitters its age (0.5: no jitter). */
struct conn_age_step conn_age_on_opened(struct conn_age *age, double unit, struct lull_instant now);

/* The connection is gone, for whatever reason. Later facts are ignored. */
struct conn_age_step conn_age_on_closed(struct conn_age *age);

/* A stream that will be served was opened; one above the last GOAWAY is none. */
struct conn_age_step conn_age_on_stream_opened(struct conn_age *age);

/* Such a stream ended, however. An end without an opening is ignored. */
struct conn_age_step conn_age_on_stream_closed(struct conn_age *age, struct lull_instant now);

/* The ack of the drain's PING came, told from other acks by its payload. */
struct conn_age_step conn_age_on_drain_acked(struct conn_age *age, struct lull_instant now);

/*
 * The server shuts down gracefully. Streams may run for grace_ns from now (0: none; negative or
 * LULL_NEVER: for ever). It never lengthens what max_age or an earlier shutdown leaves them.
 */
struct conn_age_step conn_age_on_shutdown(struct conn_age *age, int64_t grace_ns,
                                          struct lull_instant now);

/* The timer expired, perhaps early, late or for nothing. What the socket still holds is heard
 * first. One step an asking; limit and grace count from when DRAIN was ordered, however late. */
struct conn_age_step conn_age_on_timer(struct conn_age *age, struct lull_instant now);

/* When to ask on_timer next, as the last answer said. */
struct lull_instant conn_age_next_at(const struct conn_age *age);

/* Debug data of both GOAWAYs: "max_idle" and "max_age" are A9's; "" while it does not drain. */
const char *conn_age_reason_text(enum conn_age_reason reason);

#endif
