/* SPDX-License-Identifier: MIT */
/*
 * A client that speaks HTTP/2 frames by hand on a pipe to the server, so that it can be as wrong as a test wants.
 *
 * It writes what it is told and keeps the frames that come back. By itself it acknowledges nothing, not even SETTINGS.
 */
#ifndef TESTS_UNIT_SERVER_RAW_H
#define TESTS_UNIT_SERVER_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "lull/server.h"
#include "net/endpoint_pipe.h"
#include "testkit/sim.h"

#define RAW_FRAMES_MAX 4096
#define RAW_IN_BYTES   ((size_t)128 * 1024)

struct raw_frame {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    uint32_t len;
    uint32_t last;    /* GOAWAY */
    uint32_t code;    /* RST_STREAM, GOAWAY */
    uint8_t head[64]; /* the payload's first bytes */
    char *headers;    /* HEADERS: "name: value\n" lines, else NULL */
};

struct raw {
    struct sim *sim;
    struct endpoint *end; /* NULL once closed */
    bool is_eof;          /* the server closed */
    int64_t eof_at_ns;    /* of the world's */
    bool is_deaf;         /* reads nothing: raw_set_deaf */
    nghttp2_hd_inflater *inflater;
    uint8_t in[RAW_IN_BYTES];
    size_t in_len;
    struct raw_frame frames[RAW_FRAMES_MAX];
    size_t frame_count;
};

/* Connects to the server, saying nothing yet. `pipe` may be NULL. Without memory it is as if the server had closed at once. */
void raw_open(struct raw *raw, struct sim *sim, struct lull_server *server,
              const struct pipe_options *pipe);
/* Closes if that has not happened. */
void raw_fini(struct raw *raw);
void raw_close(struct raw *raw);
void raw_set_deaf(struct raw *raw, bool is_deaf);

/* Bytes as they are, in one write. */
void raw_say(struct raw *raw, const void *bytes, size_t len);
/* The preface, an empty SETTINGS, an ACK of the server's. */
void raw_hello(struct raw *raw);
void raw_frame(struct raw *raw, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
               size_t len);
void raw_ping(struct raw *raw);
/* An ACK of the n-th PING that came, from 0. */
void raw_ack_ping(struct raw *raw, size_t n);
void raw_reset(struct raw *raw, uint32_t stream, uint32_t code);
/* A request's HEADERS: the usual fields, then name and value by turns, NULL at the end. */
void raw_request(struct raw *raw, uint32_t stream, const char *method, int ends, ...)
    __attribute__((sentinel));
/* One gRPC message in one DATA frame. */
void raw_message(struct raw *raw, uint32_t stream, const void *message, size_t len, bool ends);

/* The n-th frame (from 0) of a type without the ACK flag; NULL: there are not so many. */
const struct raw_frame *raw_find(const struct raw *raw, uint8_t type, size_t n);
/* The n-th frame of a type on a stream. */
const struct raw_frame *raw_find_on(const struct raw *raw, uint8_t type, uint32_t stream, size_t n);
size_t raw_count(const struct raw *raw, uint8_t type);
/* ACKs of PING. */
size_t raw_acks(const struct raw *raw);
/* True when the n-th HEADERS of a stream have this line. */
bool raw_has_field(const struct raw *raw, uint32_t stream, size_t n, const char *line);
/* GOAWAY's debug data is this. */
bool raw_goaway_says(const struct raw_frame *goaway, const char *debug);

#endif
