/* SPDX-License-Identifier: MIT */
/*
 * Frames for the tests of h2/: what the peer says, as bytes, and what the client has written, read back. Part of the world.
 */
#ifndef TESTS_UNIT_H2_FRAMES_H
#define TESTS_UNIT_H2_FRAMES_H

#include "tests/unit/h2/world.h"

#define SAY(literal) say(literal, sizeof(literal) - 1)

/* pain-cases.md, the table of frames */
#define F1  "\0\0\0\4\0\0\0\0\0"
#define F1A "\0\0\0\4\1\0\0\0\0"
#define F2  "\0\0\x08\6\0\0\0\0\0\1\2\3\4\5\6\7\x08"
#define F2A "\0\0\x08\6\1\0\0\0\0\1\2\3\4\5\6\7\x08"
#define F3  "\0\0\x08\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0"
#define F4  "\0\0\x08\7\0\0\0\0\0\0\0\0\1\0\0\0\0"
#define F5  "\0\0\x16\7\0\0\0\0\0\0\0\0\0\0\0\0\x0btoo_many_pings"
#define F6                                                                                         \
    "\0\0\x14\1\4\0\0\0\1\x88\x0f\x10\x10"                                                         \
    "application/grpc"
#define F7  "\0\0\7\0\0\0\0\0\1\0\0\0\0\2\x08\1"
#define F8  "\0\0\x0f\1\5\0\0\0\1\0\x0bgrpc-status\1\x30"
#define F9  "\0\0\6\4\0\0\0\0\0\0\3\0\0\0\1"
#define F10 "\0\0\6\4\0\0\0\0\0\0\3\0\0\0\0"
#define F11 "\0\0\4\3\0\0\0\0\1\0\0\0\7"
#define F12                                                                                        \
    "\0\0\x11\1\4\0\0\0\1\x08\3"                                                                   \
    "502\x0f\x10\x09text/html"                                                                     \
    "\0\0\x0c\0\1\0\0\0\1<h1>bad</h1>"
#define F13                                                                                        \
    "\0\0\x46\1\5\0\0\0\1\x08\3"                                                                   \
    "503\x0f\x10\x10"                                                                              \
    "application/grpc\0\x0bgrpc-status\2"                                                          \
    "14\0\x0cgrpc-message\x0fupstream%20down"

/* A frame at `to`; its length. */
static inline size_t put_frame(uint8_t *to, uint8_t type, uint8_t flags, uint32_t id,
                               const void *payload, size_t len)
{
    to[0] = (uint8_t)(len >> 16);
    to[1] = (uint8_t)(len >> 8);
    to[2] = (uint8_t)len;
    to[3] = type;
    to[4] = flags;
    to[5] = (uint8_t)(id >> 24);
    to[6] = (uint8_t)(id >> 16);
    to[7] = (uint8_t)(id >> 8);
    to[8] = (uint8_t)id;
    if (len > 0) {
        memcpy(to + 9, payload, len);
    }
    return 9 + len;
}

static inline void say_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload,
                             size_t len)
{
    uint8_t *frame = malloc(9 + len);
    say(frame, put_frame(frame, type, flags, id, payload, len));
    free(frame);
}

static inline void say_frame32(uint8_t type, uint32_t id, uint32_t value)
{
    uint8_t payload[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                          (uint8_t)value};
    say_frame(type, 0, id, payload, 4);
}

static inline void say_goaway(uint32_t last, uint32_t code, const char *debug)
{
    uint8_t payload[128];
    for (int i = 0; i < 4; i++) {
        payload[i] = (uint8_t)(last >> (24 - 8 * i));
        payload[4 + i] = (uint8_t)(code >> (24 - 8 * i));
    }
    memcpy(payload + 8, debug, strlen(debug));
    say_frame(7, 0, 0, payload, 8 + strlen(debug));
}

#define HEADERS_OK                                                                                 \
    "\x88\x0f\x10\x10"                                                                             \
    "application/grpc"
#define TRAILERS_OK "\0\x0bgrpc-status\1\x30"
#define MESSAGE_2   "\0\0\0\0\2\x08\1"
#define END_HEADERS 4
#define END_BOTH    5
#define END_STREAM  1

static inline void say_headers(uint32_t id)
{
    say_frame(1, END_HEADERS, id, HEADERS_OK, sizeof(HEADERS_OK) - 1);
}

static inline void say_trailers(uint32_t id)
{
    say_frame(1, END_BOTH, id, TRAILERS_OK, sizeof(TRAILERS_OK) - 1);
}

static inline void say_answer(uint32_t id)
{
    say_headers(id);
    say_frame(0, 0, id, MESSAGE_2, sizeof(MESSAGE_2) - 1);
    say_trailers(id);
}

/* ---- what the transport wrote */

struct sent_frame {
    uint32_t len;
    uint8_t type, flags;
    uint32_t id;
    const uint8_t *payload;
};

/* The n-th frame (from 0) of a type (256: any) and stream (UINT32_MAX: any). */
static inline bool sent_frame(unsigned type, uint32_t id, unsigned n, struct sent_frame *frame)
{
    size_t at = out_start;
    while (at + 9 <= out_len) {
        const uint8_t *p = out + at;
        frame->len = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        frame->type = p[3];
        frame->flags = p[4];
        frame->id =
            (uint32_t)(p[5] & 0x7f) << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8];
        frame->payload = p + 9;
        at += 9 + frame->len;
        if (at <= out_len && (type == 256 || frame->type == type) &&
            (id == UINT32_MAX || frame->id == id) && n-- == 0) {
            return true;
        }
    }
    return false;
}

static inline unsigned sent_count(unsigned type, uint32_t id)
{
    struct sent_frame frame;
    unsigned n = 0;
    while (sent_frame(type, id, n, &frame)) {
        n++;
    }
    return n;
}

static inline uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- a beginning */

/* Connected, SETTINGS said, and, if wanted, the first call on stream 1 sent. */
static inline struct heard *world_ready(unsigned open)
{
    SAY(F1);
    run();
    ck_assert_uint_eq(told.settings, 1);
    for (unsigned i = 0; i < open; i++) {
        (void)open_call(i);
    }
    run();
    return &calls[0];
}

#endif
