/* SPDX-License-Identifier: MIT */
/*
 * A server's transport in the world: `t` is the server, the far end is a client that the test plays by hand. Requests become calls[0],
 * calls[1], ... in the order they came.
 */
#ifndef TESTS_UNIT_H2_SERVE_WORLD_H
#define TESTS_UNIT_H2_SERVE_WORLD_H

#include "h2/serving.h"
#include "tests/unit/h2/frames.h"

#define MAGIC "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct taken {
    char path[64];
    char authority[64];
    int64_t timeout_ns;
    int32_t id;
    size_t pairs;
    char note[64]; /* of the metadatum "note" */
    bool ends;
};

static struct taken taken[CALLS_MAX];
static unsigned requests; /* told */
static unsigned refused;
static bool refuses;
static bool holds_back;                              /* new streams have no auto_consume */
static const struct lull_allocator *serve_allocator; /* NULL: the system's */
static unsigned resets, pings;
static uint32_t reset_code;

static inline struct h2_stream *take_stream(struct h2_transport *transport,
                                            const struct h2_incoming *incoming)
{
    struct taken *k = &taken[requests];
    struct heard *h = &calls[requests];
    (void)transport;
    if (refuses) {
        refused++;
        return NULL;
    }
    ck_assert_uint_lt(strlen(incoming->path), sizeof(k->path));
    strcpy(k->path, incoming->path);
    strcpy(k->authority, incoming->authority);
    k->timeout_ns = incoming->timeout_ns;
    k->id = incoming->stream_id;
    k->pairs = incoming->metadata->count;
    keep_text(incoming->metadata, "note", k->note, sizeof(k->note));
    k->ends = incoming->ends;
    h2_stream_init(&h->stream, &stream_ops, 5 * 1024 * 1024);
    h->stream.auto_consume = !holds_back;
    calls_open++;
    requests++;
    return &h->stream;
}

static inline void hear_reset(struct h2_transport *transport, int32_t id, uint32_t code,
                              struct lull_instant now)
{
    (void)transport;
    (void)id;
    ck_assert_int_eq(now.ns, clock_.mono_at.ns);
    resets++;
    reset_code = code;
}

static inline void hear_ping(struct h2_transport *transport, struct lull_instant now)
{
    (void)transport;
    (void)now;
    pings++;
}

static const struct h2_server_ops server_ops = {
    .transport = {hear_settings, hear_goaway, hear_capacity, hear_read, hear_lost},
    .on_stream = take_stream,
    .on_reset = hear_reset,
    .on_ping = hear_ping,
};

static inline void serve_forget(void)
{
    memset(taken, 0, sizeof(taken));
    requests = 0;
    refused = 0;
    refuses = false;
    holds_back = false;
    resets = 0;
    pings = 0;
    reset_code = 0;
}

static inline void serve_begin_as(const struct h2_transport_options *options,
                                  struct pipe_options pipe)
{
    serve_forget();
    world_join(pipe, serve_allocator);
    out_start = 0;
    ck_assert_int_eq(h2_transport_new_server(x, near_end, options, &server_ops, &told, &t),
                     LULL_OK);
}

static inline void serve_begin(void)
{
    struct h2_transport_options options = world_options();
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
}

/* Connected: the client's preface, its SETTINGS, and ours acknowledged. */
static inline void serve_greet(void)
{
    SAY(MAGIC F1);
    run();
    SAY(F1A);
    run();
    ck_assert_uint_eq(told.settings, 1);
}

/* ---- requests as bytes */

struct block {
    uint8_t bytes[4096];
    size_t len;
};

static inline void add_field(struct block *block, const char *name, const char *value)
{
    const size_t lens[2] = {strlen(name), strlen(value)};
    const char *texts[2] = {name, value};
    block->bytes[block->len++] = 0; /* literal, not indexed, new name */
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_lt(lens[i], 127);
        block->bytes[block->len++] = (uint8_t)lens[i];
        memcpy(block->bytes + block->len, texts[i], lens[i]);
        block->len += lens[i];
    }
}

static inline struct block bare_request(void)
{
    struct block block = {.len = 0};
    add_field(&block, ":method", "POST");
    add_field(&block, ":scheme", "http");
    add_field(&block, ":path", "/a.B/C");
    add_field(&block, ":authority", "svc.test:80");
    return block;
}

static inline struct block good_request(void)
{
    struct block block = bare_request();
    add_field(&block, "te", "trailers");
    add_field(&block, "content-type", "application/grpc");
    return block;
}

static inline void say_block(uint32_t id, const struct block *block, bool ends)
{
    say_frame(1, ends ? END_BOTH : END_HEADERS, id, block->bytes, block->len);
}

/* A unary request on a stream, and the world's turn. */
static inline struct heard *ask(uint32_t id)
{
    const struct block block = good_request();
    const unsigned n = requests;
    say_block(id, &block, false);
    say_frame(0, END_STREAM, id, MESSAGE_2, 7);
    run();
    ck_assert_uint_eq(requests, n + 1);
    return &calls[n];
}

/* ---- what the server wrote: the fields of its n-th HEADERS on a stream. Blocks must be asked for in the order they were sent. */

struct fields {
    char status[8], content_type[32], grpc_status[8], grpc_message[128], allow[16], note[128];
    unsigned count;
    bool ends;
};

static nghttp2_hd_inflater *inflater;
static unsigned inflated; /* HEADERS frames so far, of all streams */

static inline void keep_field(struct fields *fields, const nghttp2_nv *nv)
{
    static const char *const names[] = {":status",      "content-type", "grpc-status",
                                        "grpc-message", "allow",        "note"};
    char *const to[] = {fields->status,       fields->content_type, fields->grpc_status,
                        fields->grpc_message, fields->allow,        fields->note};
    fields->count++;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == nv->namelen && memcmp(names[i], nv->name, nv->namelen) == 0) {
            memcpy(to[i], nv->value, nv->valuelen);
            to[i][nv->valuelen] = '\0';
        }
    }
}

/* The next HEADERS that the server sent; it is on this stream. */
static inline struct fields next_fields(uint32_t id)
{
    struct fields fields = {.count = 0};
    struct sent_frame frame;
    size_t at = 0;
    if (inflater == NULL) {
        ck_assert_int_eq(nghttp2_hd_inflate_new(&inflater), 0);
    }
    ck_assert(sent_frame(1, UINT32_MAX, inflated++, &frame));
    ck_assert_uint_eq(frame.id, id);
    fields.ends = (frame.flags & END_STREAM) != 0;
    while (at < frame.len) {
        nghttp2_nv nv;
        int flags;
        ssize_t n =
            nghttp2_hd_inflate_hd2(inflater, &nv, &flags, frame.payload + at, frame.len - at, 1);
        ck_assert_int_ge((int)n, 0);
        at += (size_t)n;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            keep_field(&fields, &nv);
        }
    }
    nghttp2_hd_inflate_end_headers(inflater);
    return fields;
}

static inline void serve_end(void)
{
    world_end();
    if (inflater != NULL) {
        nghttp2_hd_inflate_del(inflater);
    }
    inflater = NULL;
    inflated = 0;
}

#endif
