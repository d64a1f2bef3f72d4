/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/executor.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

/* ---- reading */

static char *unpack(struct peer *peer, const uint8_t *block, size_t len)
{
    char *text = calloc(1, PEER_HEADERS_MAX);
    size_t at = 0;
    ck_assert_ptr_nonnull(text);
    for (;;) {
        nghttp2_nv field;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(peer->inflater, &field, &flags, block, len, 1);
        ck_assert_int_ge(used, 0);
        block += used;
        len -= (size_t)used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            int wrote =
                snprintf(text + at, PEER_HEADERS_MAX - at, "%.*s: %.*s\n", (int)field.namelen,
                         (const char *)field.name, (int)field.valuelen, (const char *)field.value);
            ck_assert_int_lt(wrote, (int)(PEER_HEADERS_MAX - at));
            at += (size_t)wrote;
        }
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            ck_assert_int_eq(nghttp2_hd_inflate_end_headers(peer->inflater), 0);
            return text;
        }
    }
}

static void give_credit(struct peer *peer, uint32_t len)
{
    uint8_t payload[4];
    peer->uncredited += len;
    if (peer->uncredited >= 16384) {
        put32(payload, peer->uncredited);
        peer_frame(peer, FRAME_WINDOW, 0, 0, payload, sizeof(payload));
        peer->uncredited = 0;
    }
}

static void on_frame(struct peer *peer, const uint8_t *frame, uint32_t len)
{
    const uint8_t *payload = frame + 9;
    struct peer_frame read = {
        .type = frame[3], .flags = frame[4], .stream = get32(frame + 5) & 0x7fffffff, .len = len};
    bool is_ack =
        (read.type == FRAME_SETTINGS || read.type == FRAME_PING) && (read.flags & FLAG_ACK) != 0;
    memcpy(read.head, payload, len < sizeof(read.head) ? len : sizeof(read.head));
    if (read.type == FRAME_RST) {
        read.code = get32(payload);
    } else if (read.type == FRAME_GOAWAY) {
        read.code = get32(payload + 4);
    } else if (read.type == FRAME_HEADERS) {
        ck_assert_msg((read.flags & FLAG_END_HEADERS) != 0, "a header block in pieces");
        size_t skip = (read.flags & 0x20) != 0 ? 5 : 0; /* PRIORITY */
        read.headers = unpack(peer, payload + skip, len - skip);
    }
    peer->frames_seen++;
    peer->seen_by_type[read.type & 15] += !is_ack;
    if (peer->frame_count < PEER_FRAMES_MAX) {
        if (peer->frame_count == peer->frame_cap) {
            peer->frame_cap = peer->frame_cap == 0 ? 16 : peer->frame_cap * 2;
            peer->frames = realloc(peer->frames, peer->frame_cap * sizeof(*peer->frames));
            ck_assert_ptr_nonnull(peer->frames);
        }
        peer->frames[peer->frame_count++] = read;
    } else {
        free(read.headers);
    }
    if (read.type == FRAME_SETTINGS && !is_ack && !peer->is_mute) {
        peer_frame(peer, FRAME_SETTINGS, FLAG_ACK, 0, NULL, 0);
    }
    if (read.type == FRAME_DATA && !peer->is_mute) {
        give_credit(peer, len);
    }
    if (read.type == FRAME_DATA && peer->on_data != NULL) {
        peer->on_data(peer, read.stream, payload, len, peer->ctx);
    }
    bool is_end = (read.type == FRAME_DATA || read.type == FRAME_HEADERS) &&
                  (read.flags & FLAG_END_STREAM) != 0;
    if (is_end && peer->on_request != NULL) {
        peer->on_request(peer, read.stream, peer->ctx);
    }
}

static void parse(struct peer *peer)
{
    size_t at = 0;
    if (!peer->has_preface && peer->in_len >= sizeof(preface) - 1) {
        ck_assert_mem_eq(peer->in, preface, sizeof(preface) - 1);
        peer->has_preface = true;
        at = sizeof(preface) - 1;
    }
    while (peer->has_preface && peer->in_len - at >= 9) {
        const uint8_t *frame = peer->in + at;
        uint32_t len = (uint32_t)frame[0] << 16 | (uint32_t)frame[1] << 8 | frame[2];
        if (peer->in_len - at < 9 + (size_t)len) {
            break;
        }
        on_frame(peer, frame, len);
        at += 9 + (size_t)len;
    }
    memmove(peer->in, peer->in + at, peer->in_len - at);
    peer->in_len -= at;
}

static void on_ready(struct endpoint *end, unsigned ready)
{
    struct peer *peer = end->owner;
    size_t got = 0;
    (void)ready;
    enum io io = endpoint_read(end, peer->in + peer->in_len, sizeof(peer->in) - peer->in_len, &got);
    if (io == IO_OK) {
        peer->reads++;
        peer->in_len += got;
        parse(peer);
    } else if (io != IO_AGAIN && peer->end != NULL) {
        peer->is_eof = true;
        endpoint_close(peer->end);
        peer->end = NULL;
    }
}

void peer_init(struct peer *peer, struct endpoint *end, peer_request_fn on_request, void *ctx)
{
    memset(peer, 0, sizeof(*peer));
    peer->end = end;
    peer->on_request = on_request;
    peer->ctx = ctx;
    ck_assert_int_eq(nghttp2_hd_inflate_new(&peer->inflater), 0);
    end->owner = peer;
    end->on_ready = on_ready;
    ck_assert_int_eq(endpoint_want(end, LULL_WANT_READ), 0);
}

void peer_fini(struct peer *peer)
{
    peer_close(peer);
    nghttp2_hd_inflate_del(peer->inflater);
    for (size_t i = 0; i < peer->frame_count; i++) {
        free(peer->frames[i].headers);
    }
    free(peer->frames);
}

/* ---- writing */

void peer_send(struct peer *peer, const void *bytes, size_t len)
{
    struct io_piece piece = {bytes, len};
    size_t wrote = 0;
    if (peer->end == NULL) {
        return;
    }
    enum io io = endpoint_writev(peer->end, &piece, 1, &wrote);
    if (io == IO_FAIL) {
        return; /* the client has closed, and what it said before is still being read */
    }
    ck_assert_int_eq(io, IO_OK);
    ck_assert_uint_eq(wrote, len);
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void peer_send_hex(struct peer *peer, const char *hex)
{
    uint8_t bytes[1024];
    size_t len = 0;
    while (*hex != '\0') {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        bytes[len++] = (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
        hex += 2;
    }
    peer_send(peer, bytes, len);
}

void peer_close(struct peer *peer)
{
    if (peer->end == NULL) {
        return;
    }
    struct lull_executor *executor = peer->end->executor;
    bool had_to_enter = !lull_executor_in_context(executor);
    if (had_to_enter) {
        ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    }
    endpoint_close(peer->end);
    peer->end = NULL;
    if (had_to_enter) {
        lull_executor_leave(executor);
    }
}

void peer_frame(struct peer *peer, uint8_t type, uint8_t flags, uint32_t stream,
                const void *payload, size_t len)
{
    uint8_t frame[9 + 16384];
    frame[0] = (uint8_t)(len >> 16);
    frame[1] = (uint8_t)(len >> 8);
    frame[2] = (uint8_t)len;
    frame[3] = type;
    frame[4] = flags;
    put32(frame + 5, stream);
    if (len > 0) {
        memcpy(frame + 9, payload, len);
    }
    peer_send(peer, frame, 9 + len);
}

static size_t put_text(uint8_t *at, const char *text)
{
    size_t len = strlen(text);
    size_t head = 1;
    if (len < 127) {
        at[0] = (uint8_t)len;
    } else {
        size_t rest = len - 127; /* RFC 7541 section 5.1 */
        at[0] = 127;
        for (; rest >= 128; rest >>= 7) {
            at[head++] = (uint8_t)(rest | 128);
        }
        at[head++] = (uint8_t)rest;
    }
    memcpy(at + head, text, len);
    return head + len;
}

void peer_headers(struct peer *peer, uint32_t stream, unsigned flags, ...)
{
    uint8_t block[16384];
    size_t len = 0;
    va_list args;
    const char *name;
    va_start(args, flags);
    while ((name = va_arg(args, const char *)) != NULL) {
        block[len++] = 0x00; /* literal, not indexed, new name */
        len += put_text(block + len, name);
        len += put_text(block + len, va_arg(args, const char *));
    }
    va_end(args);
    peer_frame(peer, FRAME_HEADERS, (uint8_t)(flags | FLAG_END_HEADERS), stream, block, len);
}

void peer_message(struct peer *peer, uint32_t stream, const void *message, size_t len,
                  uint8_t flags)
{
    uint8_t data[16384];
    data[0] = 0;
    put32(data + 1, (uint32_t)len);
    memcpy(data + 5, message, len);
    peer_frame(peer, FRAME_DATA, flags, stream, data, 5 + len);
}

void peer_rst(struct peer *peer, uint32_t stream, uint32_t code)
{
    uint8_t payload[4];
    put32(payload, code);
    peer_frame(peer, FRAME_RST, 0, stream, payload, sizeof(payload));
}

void peer_goaway(struct peer *peer, uint32_t last_stream, uint32_t code, const char *debug)
{
    uint8_t payload[256];
    put32(payload, last_stream);
    put32(payload + 4, code);
    memcpy(payload + 8, debug, strlen(debug));
    peer_frame(peer, FRAME_GOAWAY, 0, 0, payload, 8 + strlen(debug));
}

void peer_settings(struct peer *peer)
{
    peer_frame(peer, FRAME_SETTINGS, 0, 0, NULL, 0);
}

void peer_settings_limit(struct peer *peer, uint32_t max_streams)
{
    uint8_t payload[6] = {0, 3};
    put32(payload + 2, max_streams);
    peer_frame(peer, FRAME_SETTINGS, 0, 0, payload, sizeof(payload));
}

void peer_answer(struct peer *peer, uint32_t stream, const char *message)
{
    peer_headers(peer, stream, 0, ":status", "200", "content-type", "application/grpc", NULL);
    peer_message(peer, stream, message, strlen(message), 0);
    peer_trailers(peer, stream, "0");
}

void peer_trailers(struct peer *peer, uint32_t stream, const char *status)
{
    peer_headers(peer, stream, FLAG_END_STREAM, "grpc-status", status, NULL);
}

/* ---- asking */

static bool is_ack_frame(const struct peer_frame *frame)
{
    return (frame->type == FRAME_SETTINGS || frame->type == FRAME_PING) &&
           (frame->flags & FLAG_ACK) != 0;
}

const struct peer_frame *peer_find(const struct peer *peer, uint8_t type, size_t n)
{
    for (size_t i = 0; i < peer->frame_count; i++) {
        if (peer->frames[i].type == type && !is_ack_frame(&peer->frames[i]) && n-- == 0) {
            return &peer->frames[i];
        }
    }
    return NULL;
}

size_t peer_count(const struct peer *peer, uint8_t type)
{
    return (size_t)peer->seen_by_type[type & 15];
}

size_t peer_count_on(const struct peer *peer, uint8_t type, uint32_t stream)
{
    size_t count = 0;
    for (size_t i = 0; i < peer->frame_count; i++) {
        count += peer->frames[i].type == type && peer->frames[i].stream == stream;
    }
    return count;
}

const char *peer_field(const struct peer *peer, uint32_t stream, const char *name)
{
    static char value[512];
    char start[128];
    snprintf(start, sizeof(start), "%s: ", name);
    for (size_t i = 0; i < peer->frame_count; i++) {
        const struct peer_frame *frame = &peer->frames[i];
        if (frame->type != FRAME_HEADERS || frame->stream != stream) {
            continue;
        }
        for (const char *line = frame->headers; *line != '\0'; line = strchr(line, '\n') + 1) {
            if (strncmp(line, start, strlen(start)) == 0) {
                const char *from = line + strlen(start);
                snprintf(value, sizeof(value), "%.*s", (int)(strchr(from, '\n') - from), from);
                return value;
            }
        }
    }
    return "";
}
