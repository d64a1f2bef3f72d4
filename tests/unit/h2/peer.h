/* SPDX-License-Identifier: MIT */
/*
 * A real HTTP/2 server (nghttp2's) on the far end of the world's pipe, for transfers that no one wants to write as bytes. It answers each
 * whole request with one message of `answer_len` bytes and grpc-status 0.
 */
#ifndef TESTS_UNIT_H2_PEER_H
#define TESTS_UNIT_H2_PEER_H

#include "tests/unit/h2/frames.h"

#define PEER_STREAMS 4096

struct peer {
    nghttp2_session *session;
    uint32_t answer_len;
    size_t left[PEER_STREAMS];  /* of the answer, prefix included; by stream id / 2 */
    size_t asked[PEER_STREAMS]; /* bytes of the request */
    uint32_t sum[PEER_STREAMS]; /* of the request's bytes */
    unsigned requests, resets;
    const uint8_t *rest; /* what the pipe did not take */
    size_t rest_len;
    bool no_answers;
};

static struct peer peer;

static inline ssize_t peer_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t length,
                                uint32_t *flags, nghttp2_data_source *source, void *user)
{
    size_t *left = &peer.left[id / 2];
    size_t whole = 5 + (size_t)peer.answer_len;
    size_t give = *left < length ? *left : length;
    (void)source;
    (void)user;
    for (size_t i = 0; i < give; i++) {
        size_t at = whole - *left + i;
        into[i] = (uint8_t)(at == 0 ? 0 : at < 5 ? peer.answer_len >> (8 * (4 - at)) : at);
    }
    *left -= give;
    if (*left == 0) {
        nghttp2_nv status = {(uint8_t *)(uintptr_t) "grpc-status", (uint8_t *)(uintptr_t) "0", 11,
                             1, 0};
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        ck_assert_int_eq(nghttp2_submit_trailer(session, id, &status, 1), 0);
    }
    return (ssize_t)give;
}

static inline int peer_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        peer.resets++;
    }
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        nghttp2_nv head[2] = {
            {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "200", 7, 3, 0},
            {(uint8_t *)(uintptr_t) "content-type", (uint8_t *)(uintptr_t) "application/grpc", 12,
             16, 0}};
        nghttp2_data_provider body = {{0}, peer_body};
        peer.requests++;
        peer.left[frame->hd.stream_id / 2] = 5 + (size_t)peer.answer_len;
        if (!peer.no_answers) {
            ck_assert_int_eq(nghttp2_submit_response(session, frame->hd.stream_id, head, 2, &body),
                             0);
        }
    }
    return 0;
}

static inline int peer_on_chunk(nghttp2_session *session, uint8_t flags, int32_t id,
                                const uint8_t *bytes, size_t len, void *user)
{
    (void)session;
    (void)flags;
    (void)user;
    peer.asked[id / 2] += len;
    for (size_t i = 0; i < len; i++) {
        peer.sum[id / 2] = peer.sum[id / 2] * 31 + bytes[i];
    }
    return 0;
}

static inline void peer_write(void)
{
    struct io_piece piece;
    size_t wrote;
    for (;;) {
        if (peer.rest_len == 0) {
            ssize_t n = nghttp2_session_mem_send(peer.session, &peer.rest);
            ck_assert_int_ge((int)n, 0);
            if (n == 0) {
                (void)endpoint_want(far_end, LULL_WANT_READ);
                return;
            }
            peer.rest_len = (size_t)n;
        }
        piece.data = peer.rest;
        piece.len = peer.rest_len;
        if (endpoint_writev(far_end, &piece, 1, &wrote) != IO_OK) {
            (void)endpoint_want(far_end, LULL_WANT_READ | LULL_WANT_WRITE);
            return;
        }
        peer.rest += wrote;
        peer.rest_len -= wrote;
    }
}

static inline void peer_ready(struct endpoint *endpoint, unsigned ready)
{
    static uint8_t bytes[65536];
    size_t got = 0;
    enum io io;
    if ((ready & LULL_WANT_READ) != 0) {
        io = endpoint_read(endpoint, bytes, sizeof(bytes), &got);
        if (io == IO_EOF || io == IO_FAIL) {
            (void)endpoint_want(endpoint, LULL_WANT_NONE);
            return;
        }
        if (out_len + got < OUT_MAX) {
            memcpy(out + out_len, bytes, got);
            out_len += got;
        }
        ck_assert_int_eq((int)nghttp2_session_mem_recv(peer.session, bytes, got), (int)got);
    }
    peer_write();
}

/* After world_begin: the far end is a server from now on. */
static inline void peer_begin(uint32_t answer_len, const nghttp2_settings_entry *settings,
                              size_t count)
{
    nghttp2_session_callbacks *callbacks;
    memset(&peer, 0, sizeof(peer));
    peer.answer_len = answer_len;
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, peer_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, peer_on_chunk);
    ck_assert_int_eq(nghttp2_session_server_new(&peer.session, callbacks, NULL), 0);
    nghttp2_session_callbacks_del(callbacks);
    ck_assert_int_eq(nghttp2_submit_settings(peer.session, 0, settings, count), 0);
    far_end->on_ready = peer_ready;
    peer_write();
}

static inline void peer_end(void)
{
    world_end();
    nghttp2_session_del(peer.session);
}

#endif
