/* SPDX-License-Identifier: MIT */
/*
 * The other end of a pipe: a server that speaks HTTP/2 frames by hand, so that it can be as wrong as a test wants.
 *
 * It reads what the client sends into a list of frames, unpacks header blocks, and writes what it is told. By itself it only
 * acknowledges SETTINGS, keeps the connection's window open, and calls `on_request` when a stream's END_STREAM came.
 */
#ifndef TESTS_UNIT_CHANNEL_PEER_H
#define TESTS_UNIT_CHANNEL_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "net/endpoint_pipe.h"

#define PEER_FRAMES_MAX  4096 /* later ones are counted, not kept */
#define PEER_HEADERS_MAX 2048
#define PEER_IN_BYTES    ((size_t)64 * 1024)

enum {
    FRAME_DATA,
    FRAME_HEADERS,
    FRAME_RST = 3,
    FRAME_SETTINGS,
    FRAME_PING = 6,
    FRAME_GOAWAY,
    FRAME_WINDOW
};
enum { FLAG_ACK = 1, FLAG_END_STREAM = 1, FLAG_END_HEADERS = 4 };

struct peer_frame {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    uint32_t len;
    uint32_t code;    /* RST_STREAM, GOAWAY */
    uint8_t head[64]; /* the payload's first bytes */
    char *headers;    /* HEADERS: "name: value\n" lines, else NULL */
};

struct peer;
typedef void (*peer_request_fn)(struct peer *peer, uint32_t stream, void *ctx);
/* A DATA frame of the client's, before on_request if it is the last. */
typedef void (*peer_data_fn)(struct peer *peer, uint32_t stream, const uint8_t *payload, size_t len,
                             void *ctx);

struct peer {
    struct endpoint *end; /* NULL once closed */
    uint8_t in[PEER_IN_BYTES];
    size_t in_len;
    bool has_preface;
    bool is_eof;  /* the client closed */
    bool is_mute; /* acknowledges nothing by itself */
    nghttp2_hd_inflater *inflater;
    struct peer_frame *frames;
    size_t frame_cap;
    size_t frame_count;   /* kept */
    uint32_t uncredited;  /* DATA bytes since the last WINDOW_UPDATE for the connection */
    uint64_t reads;       /* that brought something: the client's writes, turn by turn */
    uint64_t frames_seen; /* all there were */
    uint64_t seen_by_type[16];
    peer_request_fn on_request;
    peer_data_fn on_data; /* [nullable] */
    void *ctx;
};

void peer_init(struct peer *peer, struct endpoint *end, peer_request_fn on_request, void *ctx);
void peer_fini(struct peer *peer);

/* Bytes as they are. */
void peer_send(struct peer *peer, const void *bytes, size_t len);
/* Hex digits, blanks between them skipped. */
void peer_send_hex(struct peer *peer, const char *hex);
void peer_close(struct peer *peer);

void peer_frame(struct peer *peer, uint8_t type, uint8_t flags, uint32_t stream,
                const void *payload, size_t len);
/* Name and value by turns, NULL at the end; literals without indexing. */
void peer_headers(struct peer *peer, uint32_t stream, unsigned flags, ...)
    __attribute__((sentinel));
/* One gRPC message in one DATA frame. */
void peer_message(struct peer *peer, uint32_t stream, const void *message, size_t len,
                  uint8_t flags);
void peer_rst(struct peer *peer, uint32_t stream, uint32_t code);
void peer_goaway(struct peer *peer, uint32_t last_stream, uint32_t code, const char *debug);
/* SETTINGS, empty or with MAX_CONCURRENT_STREAMS. */
void peer_settings(struct peer *peer);
void peer_settings_limit(struct peer *peer, uint32_t max_streams);
/* Headers, one message, trailers with status OK. */
void peer_answer(struct peer *peer, uint32_t stream, const char *message);
/* Trailers with this status. */
void peer_trailers(struct peer *peer, uint32_t stream, const char *status);

/* The n-th frame (from 0) of a type that the client sent without ACK; NULL: there are not so many. */
const struct peer_frame *peer_find(const struct peer *peer, uint8_t type, size_t n);
/* How many frames of a type, and on a stream, the client has sent (ACKs are not counted). */
size_t peer_count(const struct peer *peer, uint8_t type);
size_t peer_count_on(const struct peer *peer, uint8_t type, uint32_t stream);
/* A field of the request on a stream, "" when it is not there. Static memory. */
const char *peer_field(const struct peer *peer, uint32_t stream, const char *name);

#endif
