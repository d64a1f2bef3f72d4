/* SPDX-License-Identifier: MIT */
/* See guard_peer.h. RFC 9113 section 4.1 for the frames, RFC 7541 for the two header blocks. */
#include "guard_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "net/dial.h"

#define BYTES_MAX  ((size_t)1 << 20)
#define FRAME_HEAD ((size_t)9)
#define CREDIT_AT  16384u

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, WINDOW_UPDATE = 8 };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4 };

/* "PRI * HTTP/2.0" and what follows it (RFC 9113 §3.4). */
#define PREFACE_BYTES ((size_t)24)

static struct {
    struct endpoint base; /* first */
    unsigned char in[BYTES_MAX];
    size_t in_len;
    unsigned char out[BYTES_MAX];
    size_t out_len;
    size_t out_at;
    unsigned uncredited;
    int has_preface;
    int has_headers; /* of the stream that is open were sent */
} peer;

static void put(const void *bytes, size_t len)
{
    if (len > BYTES_MAX - peer.out_len) {
        fprintf(stderr, "guard_peer: too much at once\n");
        abort();
    }
    memcpy(peer.out + peer.out_len, bytes, len);
    peer.out_len += len;
}

static void frame(unsigned type, unsigned flags, unsigned stream, const void *payload, size_t len)
{
    const unsigned char head[FRAME_HEAD] = {
        (unsigned char)(len >> 16),    (unsigned char)(len >> 8),    (unsigned char)len,
        (unsigned char)type,           (unsigned char)flags,         (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream};
    put(head, sizeof(head));
    put(payload, len);
}

static void credit(unsigned stream, unsigned bytes)
{
    const unsigned char payload[] = {(unsigned char)(bytes >> 24), (unsigned char)(bytes >> 16),
                                     (unsigned char)(bytes >> 8), (unsigned char)bytes};
    frame(WINDOW_UPDATE, 0, stream, payload, sizeof(payload));
}

/* :status: 200, content-type: application/grpc; once a stream. */
static void answer_headers(unsigned stream)
{
    static const char block[] = "\x88\x0f\x10\x10"
                                "application/grpc";
    if (!peer.has_headers) {
        frame(HEADERS, END_HEADERS, stream, block, sizeof(block) - 1);
        peer.has_headers = 1;
    }
}

/* grpc-status: 0 */
static void answer_trailers(unsigned stream)
{
    static const char block[] = "\x00\x0b"
                                "grpc-status"
                                "\x01"
                                "0";
    answer_headers(stream);
    frame(HEADERS, END_HEADERS | END_STREAM, stream, block, sizeof(block) - 1);
    peer.has_headers = 0;
}

static void on_frame(const unsigned char *head, const unsigned char *payload, size_t len)
{
    const unsigned type = head[3];
    const unsigned flags = head[4];
    const unsigned stream =
        (unsigned)head[5] << 24 | (unsigned)head[6] << 16 | (unsigned)head[7] << 8 | head[8];
    if (type == SETTINGS && (flags & ACK) == 0) {
        frame(SETTINGS, ACK, 0, "", 0);
    } else if (type == PING && (flags & ACK) == 0) {
        frame(PING, ACK, 0, payload, len);
    } else if (type == DATA && len > 0) {
        peer.uncredited += (unsigned)len;
        if (peer.uncredited >= CREDIT_AT) {
            credit(0, peer.uncredited);
            credit(stream, peer.uncredited);
            peer.uncredited = 0;
        }
        answer_headers(stream);
        frame(DATA, 0, stream, payload, len);
    }
    if ((type == DATA || type == HEADERS) && (flags & END_STREAM) != 0) {
        answer_trailers(stream);
    }
}

static void parse(void)
{
    size_t at = 0;
    if (!peer.has_preface && peer.in_len >= PREFACE_BYTES) {
        at = PREFACE_BYTES;
        peer.has_preface = 1;
        frame(SETTINGS, 0, 0, "", 0);
    }
    while (peer.has_preface && peer.in_len - at >= FRAME_HEAD) {
        const unsigned char *head = peer.in + at;
        const size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        if (peer.in_len - at < FRAME_HEAD + len) {
            break;
        }
        on_frame(head, head + FRAME_HEAD, len);
        at += FRAME_HEAD + len;
    }
    memmove(peer.in, peer.in + at, peer.in_len - at);
    peer.in_len -= at;
}

/* ---- the seam */

static void tell(void)
{
    const unsigned ready =
        (peer.out_at < peer.out_len ? LULL_WANT_READ : 0u) | (unsigned)LULL_WANT_WRITE;
    peer.base.watch.ready = ready & peer.base.watch.want;
    if (peer.base.watch.ready != 0) {
        executor_post_ready(peer.base.executor, &peer.base.watch.on_ready);
    }
}

static enum io finish_connect(struct endpoint *endpoint)
{
    (void)endpoint;
    return IO_OK;
}

static enum io read_some(struct endpoint *endpoint, void *into, size_t capacity, size_t *got)
{
    const size_t there = peer.out_len - peer.out_at;
    *got = there < capacity ? there : capacity;
    (void)endpoint;
    if (*got == 0) {
        return IO_AGAIN;
    }
    memcpy(into, peer.out + peer.out_at, *got);
    peer.out_at += *got;
    if (peer.out_at == peer.out_len) {
        peer.out_at = 0;
        peer.out_len = 0;
    }
    return IO_OK;
}

static enum io write_all(struct endpoint *endpoint, const struct io_piece *pieces, size_t count,
                         size_t *wrote)
{
    (void)endpoint;
    *wrote = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].len > BYTES_MAX - peer.in_len) {
            return IO_AGAIN;
        }
        memcpy(peer.in + peer.in_len, pieces[i].data, pieces[i].len);
        peer.in_len += pieces[i].len;
        *wrote += pieces[i].len;
    }
    parse();
    tell();
    return IO_OK;
}

static int want(struct endpoint *endpoint, unsigned wanted)
{
    endpoint->watch.want = wanted;
    tell();
    return 0;
}

static void close_it(struct endpoint *endpoint)
{
    (void)lull_executor_unpost(endpoint->executor, &endpoint->watch.on_ready);
}

static const struct endpoint_ops ops = {
    .finish_connect = finish_connect,
    .read = read_some,
    .writev = write_all,
    .want = want,
    .close = close_it,
};

static int dial(struct lull_dialer *dialer, struct lull_loop *loop, struct lull_executor *executor,
                const struct addr *to, struct endpoint **out)
{
    (void)dialer;
    (void)loop;
    memset(&peer, 0, sizeof(peer));
    endpoint_init(&peer.base, &ops, executor, to);
    *out = &peer.base;
    return 0;
}

struct lull_dialer *guard_peer_dialer(void)
{
    static const struct dialer_ops dial_ops = {dial};
    static struct lull_dialer dialer = {&dial_ops};
    return &dialer;
}
