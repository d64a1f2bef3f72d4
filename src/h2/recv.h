/* SPDX-License-Identifier: MIT */
/*
 * The way in: bytes are read once per readiness and fed to nghttp2.
 *
 * Decides: when to read, when a read has drained the socket, what a failing read means; and what nghttp2 may not see: a first
 * frame that is not SETTINGS (a client's magic before it), DATA on a stream without HEADERS (nghttp2 would give up the connection for one
 * stream's fault). Called by transport.c and send.c.
 */
#ifndef H2_RECV_H
#define H2_RECV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "h2/preface.h"
#include "lull/executor.h"

struct endpoint;
struct h2_transport;

struct recv_state {
    struct lull_task again; /* in the ready phase: a full read may have left something */
    uint64_t read_turn;     /* the turn of the last read */
    uint64_t bytes;
    /* the first bytes */
    bool is_greeted; /* they begin a SETTINGS frame */
    uint8_t first[PREFACE_BYTES];
    size_t first_len;
    size_t magic_left; /* servers: of the client's first 24 bytes, which are no frame */
    /* where frames begin, in front of nghttp2 */
    uint8_t head[9];
    uint8_t head_len;
    uint32_t payload_left;
    int32_t headers_id; /* the stream of the last HEADERS, and one whose DATA was found in order */
    int32_t data_id;
    size_t received; /* bytes of DATA that the connection's window was not credited for */
    size_t answers;  /* frames that what was read has queued since the socket last took everything */
    int error;      /* of nghttp2, fatal */
};

void recv_init(struct h2_transport *t);

/* The endpoint's on_ready. */
void recv_on_ready(struct endpoint *endpoint, unsigned ready);

/* One read. May end the transport. */
void recv_read(struct h2_transport *t);

/* Reads all that is there, after a write has failed. Leaves it to the caller to end the transport. */
void recv_rest(struct h2_transport *t);

#endif
