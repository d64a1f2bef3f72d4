/* SPDX-License-Identifier: MIT */
/* What bench/ngserver answers: the paths of README.md. Payloads are written straight from a pattern into the gathered bytes, so that a DATA
 * frame costs the server one copy. */
#include "ngserver.h"

#include "common.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX      5
#define HEAD_MAX    1024 /* of a request, what is kept without asking for memory */
#define PATTERN_LEN (64 * 1024)

enum kind { UNARY, BIG, SINK, SOURCE, FRAMES, ECHO, UNKNOWN };

struct stream {
    struct stream *next_free;
    enum kind kind;
    uint32_t in_len;   /* bytes of the request kept in `in` */
    uint32_t in_room;
    uint8_t *in;       /* `head`, or memory of its own */
    uint64_t out_left; /* bytes still to send */
    uint64_t out_at;   /* of them, sent */
    uint32_t message;  /* length of a message on the way out, with its prefix */
    uint8_t echo_ready;
    uint8_t ended;     /* the request is over */
    uint8_t deferred;
    const uint8_t *pattern;
    uint8_t head[HEAD_MAX];
};

static struct stream *free_streams;

static struct stream *stream_new(void)
{
    struct stream *stream = free_streams;

    if (stream != NULL) {
        free_streams = stream->next_free;
    } else {
        stream = bench_memory(sizeof(*stream));
    }
    memset(stream, 0, offsetof(struct stream, head));
    stream->in = stream->head;
    stream->in_room = HEAD_MAX;
    return stream;
}

static void stream_free(struct stream *stream)
{
    if (stream->in != stream->head) {
        free(stream->in);
    }
    stream->next_free = free_streams;
    free_streams = stream;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Messages of `len` bytes with their prefixes, one after another, PATTERN_LEN bytes and one message of them: any frame of a stream of such
 * messages is a run of bytes in it. A message that is longer than a pattern is its prefix and zeros, and has `pattern` NULL. */
static const uint8_t *pattern_of(uint32_t len)
{
    static uint8_t *made;
    static uint32_t made_for;
    uint32_t at;

    if (len + PREFIX > PATTERN_LEN) {
        return NULL;
    }
    if (made == NULL || made_for != len) {
        uint8_t *fresh = bench_memory(2 * PATTERN_LEN + PREFIX);

        for (at = 0; at + PREFIX <= 2 * PATTERN_LEN; at += len + PREFIX) {
            put_u32(fresh + at + 1, len);
        }
        made = fresh; /* the last one stays: streams point into it */
        made_for = len;
    }
    return made;
}

static const uint8_t zeros[PATTERN_LEN];

static nghttp2_nv pair(const char *name, const char *value)
{
    nghttp2_nv nv = {(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                     NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};

    return nv;
}

/* How much of this stream the next frame takes; its bytes are copied by on_send_data. */
static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
                       nghttp2_data_source *source, void *ctx)
{
    struct stream *stream = source->ptr;
    uint64_t left = stream->out_left - stream->out_at;

    (void)buf;
    (void)ctx;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream->kind == ECHO) {
        left = stream->in_len;
        if (left == 0 && !stream->ended) {
            stream->deferred = 1;
            return NGHTTP2_ERR_DEFERRED;
        }
    }
    if (stream->kind == FRAMES && left > stream->message) {
        left = stream->message;
    }
    if (left > length) {
        left = length;
    }
    if (stream->kind == ECHO ? stream->ended && left == stream->in_len : stream->out_at + left == stream->out_left) {
        nghttp2_nv trailers[] = {pair("grpc-status", "0")};

        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, trailers, 1);
    }
    return (ssize_t)left;
}

static void copy_payload(struct stream *stream, uint8_t *into, size_t length)
{
    size_t prefix = stream->out_at < PREFIX ? (size_t)(PREFIX - stream->out_at) : 0;

    if (stream->kind == UNARY) {
        memcpy(into, stream->in + stream->out_at, length);
    } else if (stream->kind == ECHO) {
        memcpy(into, stream->in, length);
        stream->in_len -= (uint32_t)length;
        memmove(stream->in, stream->in + length, stream->in_len);
    } else if (stream->pattern != NULL) {
        memcpy(into, stream->pattern + stream->out_at % stream->message, length);
    } else { /* one message that is longer than a pattern */
        uint8_t head[PREFIX] = {0};

        put_u32(head + 1, stream->message - PREFIX);
        prefix = prefix < length ? prefix : length;
        if (prefix > 0) {
            memcpy(into, head + stream->out_at, prefix);
        }
        memcpy(into + prefix, zeros, length - prefix);
    }
    stream->out_at += length;
}

static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length,
                        nghttp2_data_source *source, void *ctx)
{
    (void)session;
    (void)frame;
    (void)ctx;
    if (gather.len + 9 + length > GATHER_ROOM) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    memcpy(gather.bytes + gather.len, head, 9);
    copy_payload(source->ptr, gather.bytes + gather.len + 9, length);
    gather.len += 9 + length;
    return 0;
}

static void respond(nghttp2_session *session, int32_t id, struct stream *stream)
{
    nghttp2_nv headers[] = {pair(":status", "200"), pair("content-type", "application/grpc")};
    nghttp2_data_provider provider = {{.ptr = stream}, on_read};

    nghttp2_submit_response(session, id, headers, 2, &provider);
}

/* The request is whole: what is the response? */
static void answer(nghttp2_session *session, int32_t id, struct stream *stream)
{
    uint32_t first = stream->in_len >= PREFIX + 4 ? get_u32(stream->in + PREFIX) : 0;
    uint32_t second = stream->in_len >= PREFIX + 8 ? get_u32(stream->in + PREFIX + 4) : 0;

    switch (stream->kind) {
    case UNARY:
        stream->out_left = stream->in_len;
        break;
    case BIG:
        stream->message = first + PREFIX;
        stream->out_left = stream->message;
        break;
    case SINK:
        stream->message = 64 + PREFIX;
        stream->out_left = stream->message;
        break;
    default:
        stream->message = second + PREFIX;
        stream->out_left = (uint64_t)first * stream->message;
        break;
    }
    if (stream->kind != UNARY) {
        stream->pattern = pattern_of(stream->message - PREFIX);
    }
    respond(session, id, stream);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)ctx;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        struct stream *stream = stream_new();

        stream->kind = UNKNOWN;
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    static const struct {
        const char *path;
        enum kind kind;
    } paths[] = {{"/bench/Unary", UNARY}, {"/bench/Big", BIG},       {"/bench/Sink", SINK},
                 {"/bench/Source", SOURCE}, {"/bench/Frames", FRAMES}, {"/bench/Echo", ECHO}};
    struct stream *stream;
    size_t i;

    (void)flags;
    (void)ctx;
    if (name_len != 5 || memcmp(name, ":path", 5) != 0) {
        return 0;
    }
    stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    for (i = 0; stream != NULL && i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (strlen(paths[i].path) == value_len && memcmp(paths[i].path, value, value_len) == 0) {
            stream->kind = paths[i].kind;
        }
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    (void)ctx;
    if (stream == NULL || stream->kind == SINK) {
        return 0;
    }
    if (stream->in_len + len > stream->in_room) {
        uint32_t room = (uint32_t)(stream->in_len + len) * 2;
        uint8_t *more = bench_memory(room);

        memcpy(more, stream->in, stream->in_len);
        if (stream->in != stream->head) {
            free(stream->in);
        }
        stream->in = more;
        stream->in_room = room;
    }
    memcpy(stream->in + stream->in_len, data, len);
    stream->in_len += (uint32_t)len;
    if (stream->kind == ECHO && stream->deferred) {
        stream->deferred = 0;
        nghttp2_session_resume_data(session, id);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct stream *stream;

    (void)ctx;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) {
        return 0;
    }
    stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream == NULL) {
        return 0;
    }
    if (stream->kind == UNKNOWN) {
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    }
    if (frame->hd.type == NGHTTP2_HEADERS && stream->kind == ECHO) {
        respond(session, frame->hd.stream_id, stream);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        stream->ended = 1;
        if (stream->kind != ECHO) {
            answer(session, frame->hd.stream_id, stream);
        } else if (stream->deferred) {
            stream->deferred = 0;
            nghttp2_session_resume_data(session, frame->hd.stream_id);
        }
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)code;
    (void)ctx;
    if (stream != NULL) {
        stream_free(stream);
    }
    return 0;
}

nghttp2_session *calls_session_new(void)
{
    static nghttp2_session_callbacks *callbacks;
    static nghttp2_option *option;
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000000},
                                         {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4 * 1024 * 1024}};
    nghttp2_session *session;

    if (callbacks == NULL) {
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
        nghttp2_option_new(&option);
        nghttp2_option_set_no_closed_streams(option, 1);
    }
    if (nghttp2_session_server_new2(&session, callbacks, NULL, option) != 0) {
        return NULL;
    }
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 16 * 1024 * 1024);
    return session;
}
