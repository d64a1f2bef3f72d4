/* SPDX-License-Identifier: MIT */
/*
 * HTTP/2 frames as plain bytes (RFC 9113 §4.1), for peers that must be able to say anything, right or wrong.
 *
 * Decides: how a frame looks on the wire. Called by scripted peers and tests. Must not know nghttp2, so that it cannot share its mistakes.
 */
#ifndef TESTKIT_FRAME_H
#define TESTKIT_FRAME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_type {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PING = 6,
    FRAME_GOAWAY = 7,
    FRAME_WINDOW_UPDATE = 8
};

enum { FRAME_HEAD_BYTES = 9, FRAME_ACK = 1, FRAME_END_STREAM = 1, FRAME_END_HEADERS = 4 };

#define FRAME_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FRAME_PREFACE_BYTES ((size_t)24)

struct frame {
    uint32_t len;
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
};

/* Reads the nine bytes of a frame's head. */
struct frame frame_parse(const uint8_t head[FRAME_HEAD_BYTES]);

/* Appends a frame; 0 or an enum lull_rc. */
int frame_put(struct buf *to, uint8_t type, uint8_t flags, uint32_t stream, const void *payload, size_t len);

/* `:status 200, content-type application/grpc`, as literals, so that it fits any connection at any time. */
int frame_put_grpc_headers(struct buf *to, uint32_t stream);

/* One gRPC message in one DATA frame (at most 16 379 bytes). */
int frame_put_message(struct buf *to, uint32_t stream, const void *message, size_t len);

/* Trailers with grpc-status 0 to 16 and END_STREAM. */
int frame_put_trailers(struct buf *to, uint32_t stream, unsigned grpc_status);

int frame_put_u32(struct buf *to, uint8_t type, uint32_t stream, uint32_t value); /* RST_STREAM, WINDOW_UPDATE */
int frame_put_goaway(struct buf *to, uint32_t last_stream, uint32_t code, const char *debug);

#endif
