/* SPDX-License-Identifier: MIT */
/*
 * A scripted HTTP/2 server in the simulated world: it says what the script says, when the script says it, and answers the rest
 * by a few switches.
 *
 * Decides: nothing by itself. Called by tests through sim_host_add(…, peer_accept, peer). Must not know nghttp2.
 */
#ifndef TESTKIT_PEER_H
#define TESTKIT_PEER_H

#include "policy/ping_police.h"
#include "testkit/frame.h"
#include "testkit/sim.h"

/* One line of a script. Steps run in order; a connection's script starts when it is accepted. */
struct peer_step {
    enum {
        PEER_SEND,   /* at `at_ns`: send the bytes */
        PEER_EXPECT, /* wait for a frame of `type` on `stream` (PEER_ANY: any), seen after the step before was done */
        PEER_STOP_READING,
        PEER_READ_ON,
        PEER_CLOSE
    } kind;
    int64_t at_ns;  /* since accept; earlier than now: at once */
    const uint8_t *bytes;
    size_t len;
    int type;
    int64_t stream;
};

#define PEER_ANY (-1)

struct peer_conn;

struct peer {
    struct sim *sim;
    const char *name;               /* on the tape */
    /* switches, read when they matter */
    bool sends_settings;            /* an empty SETTINGS at accept, and acks */
    bool acks_pings;
    bool replies;                   /* every whole request is answered: headers, `message`, grpc_status */
    bool credits;                   /* WINDOW_UPDATE for every DATA */
    bool is_policed;                /* counts pings as gRPC servers do, by `police`, and throws out whoever pings too much */
    struct ping_police_options police;
    int64_t reply_after_ns;
    int64_t reply_jitter_ns;        /* plus sim_below(this) */
    const void *message;
    size_t message_len;
    unsigned grpc_status;
    const struct peer_step *script; /* for every connection */
    size_t script_len;
    /* what was seen */
    unsigned accepted, closed, requests, resets, pings, ping_acks, settings_acks, goaways, strikes, thrown_out;
    unsigned pings_before_headers; /* of the pings, those that the next frame after was a request's HEADERS */
    uint64_t bytes_in, bytes_out;
    /* when the last of them was seen, in ns since the world began; -1: not yet */
    int64_t accepted_ns, closed_ns, request_ns, ping_ns, goaway_ns, byte_out_ns;
    struct peer_conn *conns;
};

/* A polite server: settings, acks, credit, replies OK with two bytes at once. */
void peer_init(struct peer *peer, struct sim *sim, const char *name);

/* Closes what is open. */
void peer_fini(struct peer *peer);

/* For sim_host_add. ctx: the peer. */
void peer_accept(struct sim *sim, struct endpoint *far_end, void *ctx);

/* Sends bytes on the newest open connection now; false: there is none. Outside a turn. */
bool peer_say(struct peer *peer, const void *bytes, size_t len);

/* Closes the newest open connection; false: there is none. Outside a turn. */
bool peer_hang_up(struct peer *peer);

size_t peer_open_connections(const struct peer *peer);

#endif
