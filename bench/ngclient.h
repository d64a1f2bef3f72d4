/* SPDX-License-Identifier: MIT */
/* The floor: the least that speaks gRPC over HTTP/2 with nghttp2. One thread, no deadline, no keepalive, no reconnecting, no object a call but a
 * slot that is there from the start. ngconn.c has the connection, ngclient.c and ngclient_stream.c what is measured. */
#ifndef BENCH_NGCLIENT_H
#define BENCH_NGCLIENT_H

#include "common.h"
#include "tls.h"

#include <nghttp2/nghttp2.h>

#define PREFIX 5

struct ng;

struct ngcall {
    struct ng *ng;
    int32_t id;
    uint64_t from_ns;
    const uint8_t *body; /* with prefixes */
    size_t body_len, body_at;
    bool is_open, waits; /* a stream that goes on; its data provider waits */
    bool repeats;        /* the body starts again when it is sent */
    uint8_t head[PREFIX];
    uint32_t head_len;
    uint8_t *message; /* where one that came in parts is put together */
    uint32_t message_len, message_room, need;
};

struct ng {
    struct bench_args args;
    struct bench_meter meter;
    bool polls;    /* epoll, or a read that blocks */
    bool is_ready; /* the server's SETTINGS came */
    int fd, poll_fd;
    struct bench_tls_ctx *tls_ctx;
    struct bench_tls *tls;
    nghttp2_session *session;
    uint64_t syscalls;
    uint8_t *out; /* gathered for one write */
    size_t out_len, out_at;
    size_t frame_max; /* of a stream that sends without end: a frame of so much, 0: what fits */
    uint64_t messages, sent;
    void (*on_message)(struct ng *ng, struct ngcall *call, const uint8_t *message, size_t len);
    void (*on_closed)(struct ng *ng, struct ngcall *call);
};

void ng_init(struct ng *ng, const struct bench_args *args, bool polls);
void ng_open(struct ng *ng);
void ng_close(struct ng *ng);

/* A request on a path; the body is `call->body`. */
void ng_start(struct ng *ng, struct ngcall *call, const char *path);
/* More of a stream's body is there. */
void ng_more(struct ng *ng, struct ngcall *call);

/* Writes what there is to write, waits, and reads once. */
void ng_turn(struct ng *ng);

/* A message of the arguments' size with its prefix. [own] */
uint8_t *ng_message(size_t size);

/* Modes, in ngclient_stream.c. */
void ng_receive(struct ng *ng, const char *path);
void ng_send(struct ng *ng, bool is_packed);

#endif
