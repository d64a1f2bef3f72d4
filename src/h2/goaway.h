/* SPDX-License-Identifier: MIT */
/*
 * GOAWAY, theirs and ours (RFC 9113 section 6.8).
 *
 * Decides: what is kept of the peer's and how it reads, how ours gets out in one last write, and how a server goes in two steps. Called by
 * session_cb.c, transport.c and serving.c. Must not decide which streams it leaves out: stream.c does.
 */
#ifndef H2_GOAWAY_H
#define H2_GOAWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "h2/ping.h"

struct h2_transport;
struct strbuf;

/* As much of the peer's debug data is kept for texts. */
#define GOAWAY_DEBUG_BYTES 64

/* A GOAWAY without debug data. */
#define GOAWAY_FIXED_BYTES 17

/* The first of a server's two, at most. */
#define GOAWAY_NOTICE_BYTES (GOAWAY_FIXED_BYTES + GOAWAY_DEBUG_BYTES)

struct goaway_state {
    bool is_seen;
    int32_t last_stream_id; /* of the last one: it may only fall */
    uint32_t code;
    uint8_t debug[GOAWAY_DEBUG_BYTES];
    size_t debug_len; /* as it came, which may be more than is kept */
    /* ours, of a server that goes in order */
    enum { GOAWAY_NONE, GOAWAY_NOTICED, GOAWAY_FINAL } stage;
    bool is_notice_due;    /* the first of the two waits for its place among the frames */
    struct h2_ping notice; /* answered: the client has seen the notice */
    char why[GOAWAY_DEBUG_BYTES];
};

/* A server's GOAWAY twice: see h2_transport_shutdown. LULL_OK or LULL_RC_NOMEM. */
int goaway_start(struct h2_transport *t, const char *why);
int goaway_finish(struct h2_transport *t);

/* The first of them as a frame, GOAWAY_NOTICE_BYTES at most; how many there are. It is due no more. Called by send.c. */
size_t goaway_take_notice(struct h2_transport *t, uint8_t *frame);

/* nghttp2 has framed the second one. */
void goaway_on_sent(struct h2_transport *t);

void goaway_on_received(struct h2_transport *t, int32_t last_stream_id, uint32_t code,
                        const uint8_t *debug, size_t debug_len);

/* Adds `GOAWAY(ENHANCE_YOUR_CALM, "too_many_pings")`. */
void goaway_describe(const struct goaway_state *goaway, struct strbuf *sb);

/*
 * Best effort: tells the peer why we go, if the output is at a place where a frame may stand. Nothing more may be written after it.
 * `why` goes as debug data, cut.
 */
void goaway_write(struct h2_transport *t, uint32_t code, const char *why);

#endif
