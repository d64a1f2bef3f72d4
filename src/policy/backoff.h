/* SPDX-License-Identifier: MIT */
/*
 * Decides when the addresses of a target may be dialled again and how long one attempt may take: arithmetic only. One struct a
 * list of addresses, which are tried in one pass and then waited for together; owned by the subchannel, which does the dialling,
 * holds the timers and draws the random number. Queries to a resolver go by one as well. Must not know sockets, resolvers or calls.
 *
 * The curve is gRPC's connection-backoff: 1 s, times 1.6, at most 120 s, give or take 20 %. Here
 * the jitter is on every wait and applied after the cap; the wait runs from the START of the
 * attempt; only the server's SETTINGS reset it; and starts are 800 ms apart unless the connection
 * in between completed a call (a server that greets and hangs up must not be dialled in a spin).
 */
#ifndef POLICY_BACKOFF_H
#define POLICY_BACKOFF_H

#include "lull/types.h"

/* The curve. Fill with backoff_options_init and change what is wanted; one a channel. */
struct backoff_options {
    int64_t initial_ns;     /* first wait, not above max_ns */
    int64_t max_ns;         /* cap, before jitter */
    double multiplier;      /* from one wait to the next */
    double jitter;          /* 0.2: a wait is 0.8 to 1.2 times its base; 0: none */
    int64_t min_connect_ns; /* an attempt may take this long even when the wait is shorter */
    int64_t spacing_ns;     /* between two starts, see above; tests with short waits lower it */
};

void backoff_options_init(struct backoff_options *options);

struct backoff {
    struct backoff_options options;
    int64_t base_ns;                /* of the wait that the next attempt starts, before jitter */
    struct lull_instant started_at; /* the last attempt; INT64_MIN: none yet */
    struct lull_instant wait_at;    /* no attempt before it; INT64_MIN: nothing to wait for */
    struct lull_instant limit_at;   /* the last attempt gives up */
    bool has_completed_call;        /* the last attempt became a connection that completed a call, or there was none */
};

/* Copies the options. The first attempt may start at any time. */
void backoff_init(struct backoff *backoff, const struct backoff_options *options);

/*
 * An attempt starts now. `unit` in [0, 1) is the draw that jitters its wait (0.5: no jitter).
 * Returns the instant by which TCP, TLS and the server's SETTINGS must all have come: the end of
 * the wait, or start + min_connect when that is later.
 */
struct lull_instant backoff_on_attempt_started(struct backoff *backoff, struct lull_instant now,
                                               double unit);

/*
 * The pass goes on with another address: the wait is the pass's, limit and spacing count from here. Returns the limit of this
 * one.
 */
struct lull_instant backoff_on_next_address(struct backoff *backoff, struct lull_instant now);

/*
 * The list of addresses is another one: the next wait is the first one again, and nothing is waited for. `last_at` is when one of
 * those on the new list was last dialled, which the spacing counts from; INT64_MIN: none was.
 */
void backoff_on_addresses_changed(struct backoff *backoff, struct lull_instant last_at);

/* The attempt failed or hit its limit. Returns when the next may start: now, when it took longer
 * than its wait. */
struct lull_instant backoff_on_failed(struct backoff *backoff, struct lull_instant now);

/* The server's first SETTINGS came, the connection is READY: the next wait is the first one again.
 */
void backoff_on_settings(struct backoff *backoff);

/* A call on that connection ended with a status from the server. */
void backoff_on_call_completed(struct backoff *backoff);

/* The READY connection ended (GOAWAY included). Returns when the next attempt may start. */
struct lull_instant backoff_on_connection_lost(struct backoff *backoff, struct lull_instant now);

/*
 * The application asked to forget the waits, or the channel fell idle. While an attempt runs, it is
 * about the attempt after it. Returns when the next attempt may start; the spacing stays.
 */
struct lull_instant backoff_reset(struct backoff *backoff, struct lull_instant now);

/* When the next attempt may start, never before now. */
struct lull_instant backoff_next_at(const struct backoff *backoff, struct lull_instant now);

#endif
