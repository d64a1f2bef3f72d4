/* SPDX-License-Identifier: MIT */
/*
 * A transport on a fake clock, joined by a pipe to an end that the test plays by hand: what goes out is kept as bytes, what comes
 * in is whatever the test says. One world a program. Between the calls here the test is in context.
 */
#ifndef TESTS_UNIT_H2_WORLD_H
#define TESTS_UNIT_H2_WORLD_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "h2/inner.h"
#include "h2/transport.h"
#include "lull/clock.h"
#include "net/endpoint_pipe.h"

#define OUT_MAX      ((size_t)8 * 1024 * 1024)
#define CALLS_MAX    2048
#define MAGIC_BYTES  ((size_t)24)
#define KEPT_MESSAGE 64

/* ---- the client's side: a stream that remembers what it was told */

struct heard {
    struct h2_stream stream;
    unsigned headers, messages, trailers, data_ends, sent, sent_last, closed, writable;
    int http_status;
    char grpc_status[8];
    char content_type[40];
    size_t pairs;
    size_t message_len;
    uint8_t message[KEPT_MESSAGE];
    size_t bytes; /* of all messages */
    size_t raw_len;
    uint8_t raw[KEPT_MESSAGE];
    struct h2_stream_end end;
    unsigned order;         /* of on_closed among all */
    struct lull_task probe; /* posted by on_trailers, where `run` is set */
    unsigned closed_at_probe;
    bool reset_in_op;
    bool wants_raw;
};

struct told {
    unsigned settings, goaways, capacity, reads, closed;
    uint32_t goaway_code;
    int32_t goaway_last;
    char goaway_debug[64];
    struct h2_transport_end end;
    unsigned closings;    /* of streams */
    unsigned open_at_end; /* streams not yet told when the transport was */
};

static struct lull_fake_clock clock_;
static struct lull_executor *x;
static struct endpoint *near_end, *far_end;
static struct h2_transport *t;
static struct told told;
static struct heard calls[CALLS_MAX];
static unsigned calls_open;
static uint8_t *out; /* all that the client has written, magic included */
static size_t out_len;
static size_t out_start; /* where its frames begin */
static unsigned writes, reads;
static bool drains; /* the far end reads what it gets */

/* Counters as they are, to be compared with later. */
static inline struct lull_counters world_counters(void)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(x, &counters);
    return counters;
}

/* Since `before` no block was asked for, by us or by nghttp2; without the pool, one for each claim and no other (RULINGS 26). */
static inline void world_expect_no_memory(const struct lull_counters *before)
{
    const struct lull_counters after = world_counters();
    const uint64_t misses = after.pool_misses - before->pool_misses;
#ifdef LULL_NO_POOL
    ck_assert_uint_eq(misses, after.pool_claims - before->pool_claims);
#else
    ck_assert_uint_eq(misses, 0);
#endif
    ck_assert_uint_eq(after.allocations - before->allocations, misses);
}

static inline void keep_text(const struct metadata_list *list, const char *key, char *to,
                             size_t size)
{
    struct lull_metadata view = metadata_list_view(list);
    const struct lull_metadatum *item = lull_metadata_find(&view, key, 0);
    if (item != NULL) {
        size_t n = item->value_len < size - 1 ? item->value_len : size - 1;
        memcpy(to, item->value, n);
        to[n] = '\0';
    }
}

static inline struct heard *heard_of(struct h2_stream *stream)
{
    return container_of(stream, struct heard, stream);
}

static inline void hear_headers(struct h2_stream *stream, int status,
                                const struct metadata_list *list)
{
    struct heard *h = heard_of(stream);
    ck_assert_uint_eq(h->closed, 0);
    h->headers++;
    h->http_status = status;
    h->pairs += list->count;
    keep_text(list, "content-type", h->content_type, sizeof(h->content_type));
    if (h->wants_raw) {
        h2_stream_take_raw(stream);
    }
    if (h->reset_in_op) {
        h2_stream_reset(stream, 8);
    }
}

static inline void hear_message(struct h2_stream *stream, struct lull_slice message)
{
    struct heard *h = heard_of(stream);
    ck_assert_uint_eq(h->closed, 0);
    h->messages++;
    h->bytes += message.len;
    h->message_len = message.len;
    if (message.len > 0) {
        memcpy(h->message, message.data, message.len < KEPT_MESSAGE ? message.len : KEPT_MESSAGE);
    }
    lull_slice_unref(message);
    if (h->reset_in_op) {
        h2_stream_reset(stream, 8);
    }
}

static inline void hear_raw(struct h2_stream *stream, const uint8_t *bytes, size_t len)
{
    struct heard *h = heard_of(stream);
    for (size_t i = 0; i < len && h->raw_len < KEPT_MESSAGE; i++) {
        h->raw[h->raw_len++] = bytes[i];
    }
}

static inline void hear_trailers(struct h2_stream *stream, int status,
                                 const struct metadata_list *list)
{
    struct heard *h = heard_of(stream);
    ck_assert_uint_eq(h->closed, 0);
    h->trailers++;
    if (h->headers == 0) {
        h->http_status = status;
    }
    h->pairs += list->count;
    keep_text(list, "grpc-status", h->grpc_status, sizeof(h->grpc_status));
    if (h->probe.run != NULL) {
        lull_executor_post(x, &h->probe);
    }
}

static inline void probe_closed(struct lull_task *task, struct lull_executor *executor)
{
    struct heard *h = container_of(task, struct heard, probe);
    (void)executor;
    h->closed_at_probe = h->closed;
}

static inline void hear_end_of_data(struct h2_stream *stream)
{
    heard_of(stream)->data_ends++;
}

static inline void hear_sent(struct h2_stream *stream, bool is_last)
{
    struct heard *h = heard_of(stream);
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_uint_eq(h->sent_last, 0);
    h->sent++;
    h->sent_last += is_last;
}

static inline void hear_closed(struct h2_stream *stream, const struct h2_stream_end *end)
{
    struct heard *h = heard_of(stream);
    h->closed++;
    h->end = *end;
    h->order = told.closings++;
    calls_open--;
    ck_assert_uint_eq(h->closed, 1);
}

static inline void hear_writable(struct h2_stream *stream)
{
    struct heard *h = heard_of(stream);
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_uint_lt(h2_stream_queued_bytes(stream), H2_STREAM_ROOM_BYTES);
    h->writable++;
}

static const struct h2_stream_ops stream_ops = {
    .on_headers = hear_headers,
    .on_message = hear_message,
    .on_raw = hear_raw,
    .on_trailers = hear_trailers,
    .on_end_of_data = hear_end_of_data,
    .on_sent = hear_sent,
    .on_closed = hear_closed,
    .on_writable = hear_writable,
};

static inline void hear_settings(struct h2_transport *transport)
{
    (void)transport;
    told.settings++;
}

static inline void hear_goaway(struct h2_transport *transport, uint32_t code, int32_t last,
                               const uint8_t *debug, size_t debug_len)
{
    size_t n =
        debug_len < sizeof(told.goaway_debug) - 1 ? debug_len : sizeof(told.goaway_debug) - 1;
    (void)transport;
    told.goaways++;
    told.goaway_code = code;
    told.goaway_last = last;
    memset(told.goaway_debug, 0, sizeof(told.goaway_debug));
    if (n > 0) {
        memcpy(told.goaway_debug, debug, n);
    }
}

static inline void hear_capacity(struct h2_transport *transport)
{
    ck_assert(h2_transport_can_open(transport));
    told.capacity++;
}

static inline void hear_read(struct h2_transport *transport, struct lull_instant now)
{
    (void)transport;
    ck_assert_int_eq(now.ns, clock_.mono_at.ns);
    told.reads++;
}

static inline void hear_lost(struct h2_transport *transport, const struct h2_transport_end *end)
{
    ck_assert_ptr_eq(transport, t);
    told.closed++;
    told.end = *end;
    told.open_at_end = calls_open;
    ck_assert(end->text[0] != '\0');
    near_end = NULL;
    t = NULL;
}

static const struct h2_transport_ops transport_ops = {hear_settings, hear_goaway, hear_capacity,
                                                      hear_read, hear_lost};

/* ---- the pipe, counted */

static struct endpoint_ops counted_ops;
static const struct endpoint_ops *pipe_ops;

static inline enum io counted_writev(struct endpoint *endpoint, const struct io_piece *pieces,
                                     size_t count, size_t *wrote)
{
    writes++;
    return pipe_ops->writev(endpoint, pieces, count, wrote);
}

static inline enum io counted_read(struct endpoint *endpoint, void *into, size_t capacity,
                                   size_t *got)
{
    reads++;
    return pipe_ops->read(endpoint, into, capacity, got);
}

static inline void far_ready(struct endpoint *endpoint, unsigned ready)
{
    size_t got = 0;
    enum io io;
    (void)ready;
    ck_assert_uint_lt(out_len + 65536, OUT_MAX);
    io = endpoint_read(endpoint, out + out_len, 65536, &got);
    out_len += got;
    if (io == IO_EOF || io == IO_FAIL) {
        (void)endpoint_want(endpoint, LULL_WANT_NONE);
    }
}

/* ---- the world */

static inline void world_drain(bool on)
{
    drains = on;
    (void)endpoint_want(far_end, on ? LULL_WANT_READ : LULL_WANT_NONE);
}

static inline struct h2_transport_options world_options(void)
{
    struct h2_transport_options options = {
        .stream_window_bytes = 256 * 1024,
        .connection_window_bytes = 1024 * 1024,
        .max_metadata_bytes = 16 * 1024,
        .scheme = "http",
        .authority = "svc.test:80",
        .user_agent = "lull-c/0.1.0",
    };
    return options;
}

/* All but the transport on the near end. */
static inline void world_join(struct pipe_options pipe, const struct lull_allocator *allocator)
{
    struct lull_executor_options executor_options;
    struct addr a;
    struct addr b;
    lull_fake_clock_init(&clock_, 0, 0);
    lull_executor_options_init(&executor_options);
    executor_options.clock = &clock_.base;
    executor_options.allocator = allocator;
    ck_assert_int_eq(lull_executor_new(&executor_options, &x), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(x, &clock_), LULL_OK);
    ck_assert(addr_from_ip(&a, "10.0.0.2", 80));
    ck_assert(addr_from_ip(&b, "10.0.0.1", 50000));
    memset(&told, 0, sizeof(told));
    memset(calls, 0, sizeof(calls));
    calls_open = 0;
    writes = 0;
    reads = 0;
    if (out == NULL) {
        out = malloc(OUT_MAX);
    }
    out_len = 0;
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
    ck_assert_int_eq(endpoint_pipe_new(x, x, &a, &b, &pipe, &near_end, &far_end), 0);
    pipe_ops = near_end->ops;
    counted_ops = *pipe_ops;
    counted_ops.writev = counted_writev;
    counted_ops.read = counted_read;
    near_end->ops = &counted_ops;
    far_end->on_ready = far_ready;
    world_drain(true);
}

static inline void world_begin_as(const struct h2_transport_options *options,
                                  struct pipe_options pipe, const struct lull_allocator *allocator)
{
    world_join(pipe, allocator);
    out_start = MAGIC_BYTES;
    ck_assert_int_eq(h2_transport_new(x, near_end, options, &transport_ops, &told, &t), LULL_OK);
}

static inline void world_begin(void)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    world_begin_as(&options, pipe, NULL);
}

/* Every turn that is due. */
static inline void run(void)
{
    lull_executor_leave(x);
    lull_fake_clock_settle(&clock_);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

/* One turn, and no more. */
static inline void run_turn(void)
{
    lull_executor_leave(x);
    ck_assert_int_eq(lull_executor_turn_now(x), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

static inline void world_end(void)
{
    if (t != NULL) {
        h2_transport_close(t, 0, "test over");
    }
    if (far_end != NULL) {
        endpoint_close(far_end);
        far_end = NULL;
    }
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_uint_eq(calls_open, 0);
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (calls[i].stream.ops != NULL) {
            h2_stream_fini(&calls[i].stream);
        }
    }
    lull_executor_leave(x);
    lull_executor_free(x);
    free(out);
    out = NULL;
}

/* The peer says these bytes, as far as the pipe takes them at once. */
static inline void say(const void *bytes, size_t len)
{
    struct io_piece piece = {bytes, len};
    size_t wrote = 0;
    ck_assert_int_eq(endpoint_writev(far_end, &piece, 1, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, len);
}

/* The same, all of it, turn by turn. */
static inline void say_long(const uint8_t *bytes, size_t len, size_t chunk)
{
    while (len > 0 && t != NULL) {
        struct io_piece piece = {bytes, len < chunk ? len : chunk};
        size_t wrote = 0;
        enum io io = endpoint_writev(far_end, &piece, 1, &wrote);
        ck_assert(io == IO_OK || io == IO_AGAIN);
        bytes += wrote;
        len -= wrote;
        run();
    }
}

static inline void hang_up(void)
{
    endpoint_close(far_end);
    far_end = NULL;
}

/* ---- calls */

static inline struct h2_request a_request(void)
{
    struct h2_request request = {
        .path = "/a.B/C",
        .timeout_ns = LULL_NEVER,
        .message = lull_slice_static("\x0a\1k", 3),
        .has_message = true,
        .ends = true,
    };
    return request;
}

static inline struct heard *open_with(unsigned n, const struct h2_request *request)
{
    struct heard *h = &calls[n];
    h2_stream_init(&h->stream, &stream_ops, 4 * 1024 * 1024);
    calls_open++;
    ck_assert_int_eq(h2_transport_open(t, &h->stream, request), LULL_OK);
    return h;
}

static inline struct heard *open_call(unsigned n)
{
    struct h2_request request = a_request();
    return open_with(n, &request);
}

#endif
