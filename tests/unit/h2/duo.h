/* SPDX-License-Identifier: MIT */
/*
 * Both of our roles on one pipe: `t` is the client, `server` is the far end, and each stream has an application on both sides that sends,
 * takes and holds back as the test says. Messages are numbered, so that order, loss and doubling show.
 */
#ifndef TESTS_UNIT_H2_DUO_H
#define TESTS_UNIT_H2_DUO_H

#include <stdio.h>

#include "h2/serving.h"
#include "tests/unit/h2/frames.h"

/* One side of a stream. Its n-th message has a length that `pattern` gives, and bytes that follow from n. */
struct app {
    struct h2_stream stream;
    struct app *other;
    uint64_t pattern;     /* of what it sends */
    unsigned sent;        /* messages queued */
    unsigned heard;       /* messages told */
    unsigned taken;       /* of these, consumed */
    size_t untaken_bytes; /* told and not consumed, payload only */
    size_t most_untaken;
    size_t largest;     /* message told */
    bool takes_at_once; /* consumes in the op */
    bool has_ended;     /* sent its half-close or its trailers */
    bool heard_end;     /* END_STREAM, trailers */
    unsigned writable;
    unsigned closed;
    char grpc_status[8];
    struct h2_stream_end end;
};

#define APPS_MAX 64
static struct app clients[APPS_MAX], servers[APPS_MAX];
static unsigned clients_open, served;
static struct h2_transport *server;
static struct h2_transport_end server_end;
static unsigned server_closed;
static size_t (*length_of)(uint64_t pattern, unsigned n);
static uint32_t duo_max_message;

static inline struct app *app_of(struct h2_stream *stream)
{
    return container_of(stream, struct app, stream);
}

static inline uint8_t byte_of(uint64_t pattern, unsigned n, size_t i)
{
    return (uint8_t)(pattern + n * 31 + i * 7 + i / 251);
}

static inline void app_take(struct app *app, size_t bytes)
{
    app->taken++;
    app->untaken_bytes -= bytes;
    h2_stream_consumed(&app->stream, bytes);
}

/* Takes what was told, at most so many messages. */
static inline void app_catch_up(struct app *app, unsigned most)
{
    while (app->taken < app->heard && most-- > 0 && app->closed == 0) {
        app_take(app, length_of(app->other->pattern, app->taken));
    }
}

static inline void app_on_headers(struct h2_stream *stream, int status,
                                  const struct metadata_list *list)
{
    (void)list;
    ck_assert_int_eq(status, 200);
    ck_assert_uint_eq(app_of(stream)->heard, 0);
}

static inline void app_on_message(struct h2_stream *stream, struct lull_slice message)
{
    struct app *app = app_of(stream);
    const uint8_t *bytes = message.data;
    const unsigned n = app->heard++;
    size_t wrong = 0; /* counted first: each assertion of Check costs a system call */
    ck_assert_uint_eq(app->closed, 0);
    ck_assert(!app->heard_end);
    ck_assert_uint_eq(message.len, length_of(app->other->pattern, n));
    for (size_t i = 0; i < message.len; i++) {
        wrong += bytes[i] != byte_of(app->other->pattern, n, i);
    }
    ck_assert_uint_eq(wrong, 0);
    app->largest = message.len > app->largest ? message.len : app->largest;
    app->untaken_bytes += message.len;
    app->most_untaken =
        app->untaken_bytes > app->most_untaken ? app->untaken_bytes : app->most_untaken;
    lull_slice_unref(message);
    if (app->takes_at_once) {
        app_take(app, message.len);
    }
}

static inline void app_on_raw(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    (void)stream;
    (void)bytes;
    (void)len;
    ck_abort();
}

static inline void app_on_trailers(struct h2_stream *stream, int status,
                                   const struct metadata_list *list)
{
    struct app *app = app_of(stream);
    (void)status;
    ck_assert(!app->heard_end);
    app->heard_end = true;
    keep_text(list, "grpc-status", app->grpc_status, sizeof(app->grpc_status));
}

static inline void app_on_end_of_data(struct h2_stream *stream)
{
    ck_assert(!app_of(stream)->heard_end);
    app_of(stream)->heard_end = true;
}

static inline void app_on_sent(struct h2_stream *stream, bool is_last)
{
    (void)is_last;
    ck_assert_uint_eq(app_of(stream)->closed, 0);
}

static inline void app_on_closed(struct h2_stream *stream, const struct h2_stream_end *end)
{
    struct app *app = app_of(stream);
    ck_assert_uint_eq(app->closed, 0);
    app->closed++;
    app->end = *end;
}

static inline void app_on_writable(struct h2_stream *stream)
{
    ck_assert_uint_lt(h2_stream_queued_bytes(stream), H2_STREAM_ROOM_BYTES);
    app_of(stream)->writable++;
}

static const struct h2_stream_ops app_ops = {
    .on_headers = app_on_headers,
    .on_message = app_on_message,
    .on_raw = app_on_raw,
    .on_trailers = app_on_trailers,
    .on_end_of_data = app_on_end_of_data,
    .on_sent = app_on_sent,
    .on_closed = app_on_closed,
    .on_writable = app_on_writable,
};

static inline struct h2_stream *app_accept(struct h2_transport *transport,
                                           const struct h2_incoming *incoming)
{
    const unsigned n = (unsigned)atoi(incoming->path + 1);
    struct app *app = &servers[n];
    ck_assert_ptr_eq(transport, server);
    ck_assert_uint_lt(n, APPS_MAX);
    ck_assert_ptr_null(app->stream.ops);
    h2_stream_init(&app->stream, &app_ops, duo_max_message);
    app->stream.auto_consume = false;
    app->other = &clients[n];
    clients[n].other = app;
    served++;
    return &app->stream;
}

static inline void server_ignore(struct h2_transport *transport)
{
    (void)transport;
}

static inline void server_on_goaway(struct h2_transport *transport, uint32_t code, int32_t last,
                                    const uint8_t *debug, size_t debug_len)
{
    (void)transport;
    (void)code;
    (void)last;
    (void)debug;
    (void)debug_len;
}

static inline void server_on_read(struct h2_transport *transport, struct lull_instant now)
{
    (void)transport;
    (void)now;
}

static inline void server_on_closed(struct h2_transport *transport,
                                    const struct h2_transport_end *end)
{
    ck_assert_ptr_eq(transport, server);
    server = NULL;
    far_end = NULL;
    server_closed++;
    server_end = *end;
}

static const struct h2_server_ops duo_ops = {
    .transport = {server_ignore, server_on_goaway, server_ignore, server_on_read, server_on_closed},
    .on_stream = app_accept,
};

/* `length` gives the length of the n-th message of a pattern. */
static inline void duo_begin(const struct h2_transport_options *options, struct pipe_options pipe,
                             size_t (*length)(uint64_t pattern, unsigned n))
{
    length_of = length;
    duo_max_message = 5 * 1024 * 1024;
    memset(clients, 0, sizeof(clients));
    memset(servers, 0, sizeof(servers));
    clients_open = 0;
    served = 0;
    server_closed = 0;
    world_begin_as(options, pipe, NULL);
    ck_assert_int_eq(h2_transport_new_server(x, far_end, options, &duo_ops, NULL, &server),
                     LULL_OK);
    run();
    ck_assert_uint_eq(told.settings, 1);
}

static inline struct app *duo_open(unsigned n, uint64_t pattern)
{
    struct app *app = &clients[n];
    struct h2_request request = a_request();
    char path[16];
    snprintf(path, sizeof(path), "/%u", n);
    request.path = path;
    request.has_message = false;
    request.ends = false;
    h2_stream_init(&app->stream, &app_ops, duo_max_message);
    app->stream.auto_consume = false;
    app->pattern = pattern;
    servers[n].pattern = pattern + 128;
    ck_assert_int_eq(h2_transport_open(t, &app->stream, &request), LULL_OK);
    clients_open++;
    return app;
}

/* The next message of its own. */
static inline void app_send(struct app *app, bool ends)
{
    struct lull_slice message;
    const size_t len = length_of(app->pattern, app->sent);
    uint8_t *bytes = malloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = byte_of(app->pattern, app->sent, i);
    }
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, len, &message), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&app->stream, message, ends), LULL_OK);
    lull_slice_unref(message);
    free(bytes);
    app->sent++;
    app->has_ended = app->has_ended || ends;
}

static inline void duo_end(void)
{
    if (server != NULL) {
        h2_transport_close(server, 0, "test over");
    }
    run();
    world_end();
    ck_assert_uint_eq(server_closed, 1);
    for (unsigned i = 0; i < APPS_MAX; i++) {
        if (clients[i].stream.ops != NULL) {
            ck_assert_uint_eq(clients[i].closed, 1);
            h2_stream_fini(&clients[i].stream);
        }
        if (servers[i].stream.ops != NULL) {
            ck_assert_uint_eq(servers[i].closed, 1);
            h2_stream_fini(&servers[i].stream);
        }
    }
}

#endif
