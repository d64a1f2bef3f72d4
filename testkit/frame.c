/* SPDX-License-Identifier: MIT */
#include "testkit/frame.h"

#include <stdio.h>
#include <string.h>

static void put_be(uint8_t *to, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

static uint32_t get_be(const uint8_t *from, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

struct frame frame_parse(const uint8_t head[FRAME_HEAD_BYTES])
{
    struct frame f;

    f.len = get_be(head, 3);
    f.type = head[3];
    f.flags = head[4];
    f.stream = get_be(head + 5, 4) & 0x7fffffffu;
    return f;
}

int frame_put(struct buf *to, uint8_t type, uint8_t flags, uint32_t stream, const void *payload, size_t len)
{
    uint8_t *room;
    int rc = buf_reserve(to, FRAME_HEAD_BYTES + len, &room);

    if (rc != 0) {
        return rc;
    }
    put_be(room, (uint32_t)len, 3);
    room[3] = type;
    room[4] = flags;
    put_be(room + 5, stream, 4);
    if (len > 0) {
        memcpy(room + FRAME_HEAD_BYTES, payload, len);
    }
    buf_commit(to, FRAME_HEAD_BYTES + len);
    return 0;
}

int frame_put_grpc_headers(struct buf *to, uint32_t stream)
{
    /* 0x88: `:status 200` of the static table; 0x0f 0x10: content-type (index 31) with a literal value, not indexed. */
    static const uint8_t block[] = "\x88\x0f\x10\x10" "application/grpc";

    return frame_put(to, FRAME_HEADERS, FRAME_END_HEADERS, stream, block, sizeof(block) - 1);
}

int frame_put_message(struct buf *to, uint32_t stream, const void *message, size_t len)
{
    uint8_t payload[16384];

    if (len > sizeof(payload) - 5) {
        return -1;
    }
    payload[0] = 0;
    put_be(payload + 1, (uint32_t)len, 4);
    if (len > 0) {
        memcpy(payload + 5, message, len);
    }
    return frame_put(to, FRAME_DATA, 0, stream, payload, len + 5);
}

int frame_put_trailers(struct buf *to, uint32_t stream, unsigned grpc_status)
{
    char block[32];
    int digits = snprintf(block + 14, sizeof(block) - 14, "%u", grpc_status);

    block[0] = 0; /* literal, not indexed, new name */
    block[1] = 11;
    memcpy(block + 2, "grpc-status", 11);
    block[13] = (char)digits;
    return frame_put(to, FRAME_HEADERS, FRAME_END_HEADERS | FRAME_END_STREAM, stream, block, 14 + (size_t)digits);
}

int frame_put_u32(struct buf *to, uint8_t type, uint32_t stream, uint32_t value)
{
    uint8_t payload[4];

    put_be(payload, value, 4);
    return frame_put(to, type, 0, stream, payload, sizeof(payload));
}

int frame_put_goaway(struct buf *to, uint32_t last_stream, uint32_t code, const char *debug)
{
    uint8_t payload[8 + 256];
    size_t debug_len = strlen(debug);

    if (debug_len > 256) {
        return -1;
    }
    put_be(payload, last_stream, 4);
    put_be(payload + 4, code, 4);
    memcpy(payload + 8, debug, debug_len);
    return frame_put(to, FRAME_GOAWAY, 0, 0, payload, 8 + debug_len);
}
