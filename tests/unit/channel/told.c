/* SPDX-License-Identifier: MIT */
#include "told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls */

static void note(struct told *told, char what)
{
    ck_assert_msg(told->closed == 0 || what == 'C', "told '%c' after the end", what);
    if (told->events < TOLD_ORDER_MAX - 1) {
        told->order[told->events++] = what;
    }
}

static void then(struct told *told, char what)
{
    if (told->then != NULL) {
        told->then(told, what);
    }
}

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    struct told *told = ctx;
    ck_assert(told->keeps_handle || told->handle == NULL || told->handle == call);
    ck_assert_uint_eq(told->messages, 0);
    note(told, 'H');
    told->headers = headers->count;
    then(told, 'H');
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct told *told = ctx;
    size_t len = strlen(told->text);
    (void)call;
    note(told, 'M');
    told->messages++;
    told->bytes += message.len;
    if (message.len < 16 && len + message.len + 2 < TOLD_TEXT_MAX) {
        if (message.len > 0) {
            memcpy(told->text + len, message.data, message.len);
        }
        memcpy(told->text + len + message.len, ",", 2);
    }
    then(told, 'M');
}

static void on_writable(struct lull_call *call, void *ctx)
{
    (void)call;
    note(ctx, 'W');
    then(ctx, 'W');
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct told *told = ctx;
    (void)call;
    note(told, 'C');
    ck_assert_uint_eq(strlen(status->message), status->message_len);
    told->closed++;
    told->at_ns = rig_now(told->rig);
    told->code = status->code;
    told->trailers = trailers->count;
    snprintf(told->message, sizeof(told->message), "%s", status->message);
    if (status->failure != NULL) {
        told->failure = *status->failure;
        snprintf(told->line, sizeof(told->line), "%s", status->failure->line);
    } else {
        ck_assert_int_eq(told->code, LULL_CODE_OK);
    }
    then(told, 'C');
    if (told->handle != NULL && !told->keeps_handle) {
        lull_call_unref(told->handle);
        told->handle = NULL;
    }
}

static const struct lull_call_handler handler = {
    .size = sizeof(handler),
    .on_headers = on_headers,
    .on_message = on_message,
    .on_writable = on_writable,
    .on_closed = on_closed,
};

void told_start(struct rig *rig, struct told *told, const struct lull_call_options *options)
{
    struct lull_call_options defaults;
    struct lull_error error;
    struct told fresh = {.rig = rig,
                         .keeps_handle = told->keeps_handle,
                         .then = told->then,
                         .tag = told->tag,
                         .at_ns = -1};
    *told = fresh;
    lull_call_options_init(&defaults, "/pkg.Service/Stream");
    int rc = lull_call_start(rig->channel, options != NULL ? options : &defaults, &handler, told,
                             &told->handle, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
    ck_assert_uint_eq(told->events, 0);
}

void told_start_with(struct rig *rig, struct told *told, int64_t timeout_ns,
                     int64_t read_timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Stream");
    options.timeout_ns = timeout_ns;
    options.read_timeout_ns = read_timeout_ns;
    told_start(rig, told, &options);
}

void told_send(struct told *told, const char *text)
{
    struct lull_slice message;
    ck_assert_int_eq(lull_slice_copy(NULL, text, strlen(text), &message), LULL_OK);
    ck_assert_int_eq(lull_call_send(told->handle, message), LULL_OK);
    lull_slice_unref(message);
}

void told_expect(const struct told *told, enum lull_code code, const char *order)
{
    ck_assert_msg(told->closed == 1, "it ended %u times, told %s", told->closed, told->order);
    ck_assert_msg(told->code == code, "%s, expected %s: %s", lull_code_name((int)told->code),
                  lull_code_name((int)code), told->line);
    ck_assert_int_eq(told->order[told->events - 1], 'C');
    if (order != NULL) {
        ck_assert_str_eq(told->order, order);
    }
}

void told_expect_text(const struct told *told, const char *part)
{
    ck_assert_msg(strstr(told->message, part) != NULL, "no \"%s\" in the message: %s", part,
                  told->message);
    ck_assert_msg(strstr(told->line, part) != NULL, "no \"%s\" in the line: %s", part, told->line);
}

/* ---- servers */

static struct server *current;

static struct server_stream *stream_at(uint32_t id)
{
    for (size_t i = 0; i < current->count; i++) {
        if (current->streams[i].id == id) {
            return &current->streams[i];
        }
    }
    ck_assert_uint_lt(current->count, SERVER_STREAMS_MAX);
    struct server_stream *stream = &current->streams[current->count++];
    stream->id = id;
    stream->bytes = malloc(SERVER_BYTES_MAX);
    ck_assert_ptr_nonnull(stream->bytes);
    return stream;
}

static size_t message_len(const struct server_stream *stream)
{
    const uint8_t *b = stream->bytes;
    return (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
}

static void on_data(struct peer *peer, uint32_t id, const uint8_t *payload, size_t len, void *ctx)
{
    struct server_stream *stream = stream_at(id);
    (void)ctx;
    ck_assert_uint_le(stream->len + len, SERVER_BYTES_MAX);
    if (len > 0) {
        memcpy(stream->bytes + stream->len, payload, len);
    }
    stream->len += len;
    if (current->credits && len > 0) {
        server_credit(peer, id, (uint32_t)len);
    }
    while (stream->len >= 5 && stream->len - 5 >= message_len(stream)) {
        size_t whole = message_len(stream);
        stream->messages++;
        stream->total += whole;
        if (current->on_message != NULL) {
            current->on_message(peer, stream, stream->bytes + 5, whole);
        }
        stream->len -= 5 + whole;
        memmove(stream->bytes, stream->bytes + 5 + whole, stream->len);
    }
}

static void on_end(struct peer *peer, uint32_t id, void *ctx)
{
    struct server_stream *stream = stream_at(id);
    (void)ctx;
    stream->is_ended = true;
    if (current->on_end != NULL) {
        current->on_end(peer, stream);
    }
}

void server_init(struct rig *rig, struct server *server)
{
    memset(server, 0, sizeof(*server));
    server->credits = true;
    current = server;
    rig->on_data = on_data;
    rig->on_request = on_end;
}

void server_fini(struct server *server)
{
    for (size_t i = 0; i < server->count; i++) {
        free(server->streams[i].bytes);
    }
    server->count = 0;
}

void server_headers(struct peer *peer, uint32_t stream)
{
    peer_headers(peer, stream, 0, ":status", "200", "content-type", "application/grpc", NULL);
}

void server_send(struct peer *peer, uint32_t stream, const void *bytes, size_t len)
{
    uint8_t frame[16384] = {0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                            (uint8_t)len};
    size_t at = 5;
    size_t done = 0;
    do {
        size_t part = sizeof(frame) - at < len - done ? sizeof(frame) - at : len - done;
        if (part > 0) {
            memcpy(frame + at, (const uint8_t *)bytes + done, part);
        }
        peer_frame(peer, FRAME_DATA, 0, stream, frame, at + part);
        done += part;
        at = 0;
    } while (done < len);
}

void server_credit(struct peer *peer, uint32_t stream, uint32_t bytes)
{
    uint8_t payload[4] = {(uint8_t)(bytes >> 24), (uint8_t)(bytes >> 16), (uint8_t)(bytes >> 8),
                          (uint8_t)bytes};
    peer_frame(peer, FRAME_WINDOW, 0, stream, payload, sizeof(payload));
}

size_t server_credited(const struct peer *peer, uint32_t stream)
{
    size_t sum = 0;
    for (size_t i = 0; i < peer->frame_count; i++) {
        const struct peer_frame *frame = &peer->frames[i];
        if (frame->type == FRAME_WINDOW && frame->stream == stream) {
            sum += (size_t)frame->head[0] << 24 | (size_t)frame->head[1] << 16 |
                   (size_t)frame->head[2] << 8 | frame->head[3];
        }
    }
    return sum;
}
