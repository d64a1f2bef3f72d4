/* SPDX-License-Identifier: MIT */
#include "tests/unit/server/raw.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "server/server.h"
#include "testkit/frame.h"

/* ---- what comes */

static char *unpack(struct raw *raw, const uint8_t *block, size_t len)
{
    char *text = calloc(1, 16384);
    size_t at = 0;
    bool is_over = false;
    ck_assert_ptr_nonnull(text);
    while (!is_over) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t took = nghttp2_hd_inflate_hd2(raw->inflater, &nv, &flags, block, len, 1);
        ck_assert_int_ge((int)took, 0);
        block += took;
        len -= (size_t)took;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            ck_assert_uint_lt(at + nv.namelen + nv.valuelen + 4, 16384);
            at += (size_t)sprintf(text + at, "%s: %s\n", (const char *)nv.name,
                                  (const char *)nv.value);
        }
        is_over = (flags & NGHTTP2_HD_INFLATE_FINAL) != 0;
    }
    nghttp2_hd_inflate_end_headers(raw->inflater);
    return text;
}

static uint32_t u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void keep(struct raw *raw, const struct frame *f, const uint8_t *payload)
{
    struct raw_frame *kept = &raw->frames[raw->frame_count];
    ck_assert_uint_lt(raw->frame_count, RAW_FRAMES_MAX);
    raw->frame_count++;
    memset(kept, 0, sizeof(*kept));
    kept->type = f->type;
    kept->flags = f->flags;
    kept->stream = f->stream;
    kept->len = f->len;
    memcpy(kept->head, payload, f->len < sizeof(kept->head) ? f->len : sizeof(kept->head));
    if (f->type == FRAME_RST_STREAM) {
        kept->code = u32(payload);
    } else if (f->type == FRAME_GOAWAY) {
        kept->last = u32(payload);
        kept->code = u32(payload + 4);
    } else if (f->type == FRAME_HEADERS) {
        ck_assert_int_ne(f->flags & FRAME_END_HEADERS, 0);
        kept->headers = unpack(raw, payload, f->len);
    }
}

static void cut(struct raw *raw)
{
    size_t done = 0;
    while (raw->in_len - done >= FRAME_HEAD_BYTES) {
        struct frame f = frame_parse(raw->in + done);
        if (raw->in_len - done < FRAME_HEAD_BYTES + (size_t)f.len) {
            break;
        }
        keep(raw, &f, raw->in + done + FRAME_HEAD_BYTES);
        done += FRAME_HEAD_BYTES + (size_t)f.len;
    }
    memmove(raw->in, raw->in + done, raw->in_len - done);
    raw->in_len -= done;
}

static void on_ready(struct endpoint *end, unsigned ready)
{
    struct raw *raw = end->owner;
    (void)ready;
    while (!raw->is_deaf) {
        size_t got = 0;
        enum io io = endpoint_read(end, raw->in + raw->in_len, RAW_IN_BYTES - raw->in_len, &got);
        if (io == IO_AGAIN) {
            return;
        }
        if (io != IO_OK) {
            raw->is_eof = true;
            raw->eof_at_ns = sim_elapsed_ns(raw->sim);
            endpoint_close(end);
            raw->end = NULL;
            return;
        }
        raw->in_len += got;
        cut(raw);
    }
}

/* ---- what goes */

static bool enter(struct raw *raw)
{
    return !lull_executor_in_context(raw->sim->peers) &&
           lull_executor_enter(raw->sim->peers) == LULL_OK;
}

static void leave(struct raw *raw, bool had_to_enter)
{
    if (had_to_enter) {
        lull_executor_leave(raw->sim->peers);
        lull_fake_clock_settle(&raw->sim->clock);
    }
}

void raw_open(struct raw *raw, struct sim *sim, struct lull_server *server,
              const struct pipe_options *pipe)
{
    struct addr here;
    struct addr there;
    struct endpoint *far_end;
    memset(raw, 0, sizeof(*raw));
    raw->sim = sim;
    ck_assert_int_eq(nghttp2_hd_inflate_new(&raw->inflater), 0);
    ck_assert(addr_from_ip(&here, "10.9.9.9", 40000));
    ck_assert(addr_from_ip(&there, "10.0.0.1", 80));
    bool had_to_enter = enter(raw);
    if (endpoint_pipe_new(sim->peers, sim->peers, &there, &here, pipe, &raw->end, &far_end) != 0) {
        raw->end = NULL;
        raw->is_eof = true;
        leave(raw, had_to_enter);
        return;
    }
    raw->end->owner = raw;
    raw->end->on_ready = on_ready;
    ck_assert_int_eq(endpoint_want(raw->end, LULL_WANT_READ), 0);
    server_accept(server, far_end);
    leave(raw, had_to_enter);
}

void raw_set_deaf(struct raw *raw, bool is_deaf)
{
    bool had_to_enter = enter(raw);
    raw->is_deaf = is_deaf;
    ck_assert_int_eq(endpoint_want(raw->end, is_deaf ? LULL_WANT_NONE : LULL_WANT_READ), 0);
    leave(raw, had_to_enter);
}

void raw_close(struct raw *raw)
{
    bool had_to_enter = enter(raw);
    endpoint_close(raw->end);
    raw->end = NULL;
    leave(raw, had_to_enter);
}

void raw_fini(struct raw *raw)
{
    raw_close(raw);
    nghttp2_hd_inflate_del(raw->inflater);
    for (size_t i = 0; i < raw->frame_count; i++) {
        free(raw->frames[i].headers);
    }
}

void raw_say(struct raw *raw, const void *bytes, size_t len)
{
    struct io_piece piece = {bytes, len};
    size_t wrote = 0;
    if (raw->end == NULL) {
        return;
    }
    bool had_to_enter = enter(raw);
    ck_assert_int_eq(endpoint_writev(raw->end, &piece, 1, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, len);
    leave(raw, had_to_enter);
}

void raw_frame(struct raw *raw, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
               size_t len)
{
    struct buf out;
    buf_init(&out, NULL, 0);
    ck_assert_int_eq(frame_put(&out, type, flags, stream, payload, len), 0);
    raw_say(raw, buf_data(&out), buf_len(&out));
    buf_fini(&out);
}

void raw_hello(struct raw *raw)
{
    static const uint8_t frames[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    uint8_t all[FRAME_PREFACE_BYTES + sizeof(frames)];
    memcpy(all, FRAME_PREFACE, FRAME_PREFACE_BYTES);
    memcpy(all + FRAME_PREFACE_BYTES, frames, sizeof(frames));
    raw_say(raw, all, sizeof(all));
}

void raw_ping(struct raw *raw)
{
    raw_frame(raw, FRAME_PING, 0, 0, "abcdefgh", 8);
}

void raw_ack_ping(struct raw *raw, size_t n)
{
    const struct raw_frame *ping = raw_find(raw, FRAME_PING, n);
    ck_assert_ptr_nonnull(ping);
    raw_frame(raw, FRAME_PING, FRAME_ACK, 0, ping->head, 8);
}

void raw_reset(struct raw *raw, uint32_t stream, uint32_t code)
{
    const uint8_t payload[4] = {(uint8_t)(code >> 24), (uint8_t)(code >> 16), (uint8_t)(code >> 8),
                                (uint8_t)code};
    raw_frame(raw, FRAME_RST_STREAM, 0, stream, payload, 4);
}

/* A literal that HPACK does not remember (RFC 7541 section 6.2.2); lengths below 127. */
static size_t put_field(uint8_t *block, size_t at, const char *name, const char *value)
{
    const size_t name_len = strlen(name);
    const size_t value_len = strlen(value);
    ck_assert_uint_lt(name_len, 127);
    ck_assert_uint_lt(value_len, 127);
    block[at++] = 0;
    block[at++] = (uint8_t)name_len;
    memcpy(block + at, name, name_len);
    at += name_len;
    block[at++] = (uint8_t)value_len;
    memcpy(block + at, value, value_len);
    return at + value_len;
}

void raw_request(struct raw *raw, uint32_t stream, const char *method, int ends, ...)
{
    uint8_t block[4096];
    va_list args;
    size_t len = put_field(block, 0, ":method", "POST");
    len = put_field(block, len, ":scheme", "http");
    len = put_field(block, len, ":path", method);
    len = put_field(block, len, ":authority", "svc.test");
    len = put_field(block, len, "te", "trailers");
    len = put_field(block, len, "content-type", "application/grpc");
    va_start(args, ends);
    for (const char *name = va_arg(args, const char *); name != NULL;
         name = va_arg(args, const char *)) {
        const char *value = va_arg(args, const char *);
        len = put_field(block, len, name, value);
    }
    va_end(args);
    raw_frame(raw, FRAME_HEADERS, (uint8_t)(FRAME_END_HEADERS | (ends != 0 ? FRAME_END_STREAM : 0)),
              stream, block, len);
}

void raw_message(struct raw *raw, uint32_t stream, const void *message, size_t len, bool ends)
{
    uint8_t *payload = malloc(5 + len);
    ck_assert_ptr_nonnull(payload);
    payload[0] = 0;
    for (int i = 0; i < 4; i++) {
        payload[1 + i] = (uint8_t)(len >> (24 - 8 * i));
    }
    memcpy(payload + 5, message, len);
    raw_frame(raw, FRAME_DATA, ends ? FRAME_END_STREAM : 0, stream, payload, 5 + len);
    free(payload);
}

/* ---- looking */

const struct raw_frame *raw_find(const struct raw *raw, uint8_t type, size_t n)
{
    for (size_t i = 0; i < raw->frame_count; i++) {
        const struct raw_frame *f = &raw->frames[i];
        bool is_ack = (type == FRAME_PING || type == FRAME_SETTINGS) && (f->flags & FRAME_ACK) != 0;
        if (f->type == type && !is_ack && n-- == 0) {
            return f;
        }
    }
    return NULL;
}

const struct raw_frame *raw_find_on(const struct raw *raw, uint8_t type, uint32_t stream, size_t n)
{
    for (size_t i = 0; i < raw->frame_count; i++) {
        if (raw->frames[i].type == type && raw->frames[i].stream == stream && n-- == 0) {
            return &raw->frames[i];
        }
    }
    return NULL;
}

size_t raw_count(const struct raw *raw, uint8_t type)
{
    size_t n = 0;
    while (raw_find(raw, type, n) != NULL) {
        n++;
    }
    return n;
}

size_t raw_acks(const struct raw *raw)
{
    size_t n = 0;
    for (size_t i = 0; i < raw->frame_count; i++) {
        n += raw->frames[i].type == FRAME_PING && (raw->frames[i].flags & FRAME_ACK) != 0;
    }
    return n;
}

bool raw_has_field(const struct raw *raw, uint32_t stream, size_t n, const char *line)
{
    const struct raw_frame *f = raw_find_on(raw, FRAME_HEADERS, stream, n);
    const char *at = f == NULL ? NULL : strstr(f->headers, line);
    return at != NULL && (at == f->headers || at[-1] == '\n') && at[strlen(line)] == '\n';
}

bool raw_goaway_says(const struct raw_frame *goaway, const char *debug)
{
    const size_t len = strlen(debug);
    return goaway->len == 8 + len && memcmp(goaway->head + 8, debug, len) == 0;
}
