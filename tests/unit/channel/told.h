/* SPDX-License-Identifier: MIT */
/*
 * Streaming calls that remember what they were told, and servers that answer message by message, on the rig.
 */
#ifndef TESTS_UNIT_CHANNEL_TOLD_H
#define TESTS_UNIT_CHANNEL_TOLD_H

#include "rig.h"

#define TOLD_ORDER_MAX 4096
#define TOLD_TEXT_MAX  512

/* A call and what it was told. */
struct told {
    struct rig *rig;
    struct lull_call
        *handle; /* a reference of ours; given back when it is over, unless told otherwise */
    bool keeps_handle;
    char order[TOLD_ORDER_MAX]; /* a letter each: H headers, M message, W writable, C closed */
    size_t events;
    size_t headers; /* fields */
    size_t messages;
    size_t bytes;
    char text[TOLD_TEXT_MAX]; /* the short messages, each with a ',' behind it */
    unsigned closed;
    int64_t at_ns; /* of the end, from the rig's start */
    enum lull_code code;
    char message[700];
    char line[1100];
    struct lull_failure failure;
    size_t trailers;
    void (*then)(struct told *told, char what); /* [nullable] called at the end of each callback */
    unsigned tag;                               /* the test's own */
};

/* Starts it with these options (NULL: none); `then` and `tag` are kept, the rest is cleared. */
void told_start(struct rig *rig, struct told *told, const struct lull_call_options *options);
void told_start_with(struct rig *rig, struct told *told, int64_t timeout_ns,
                     int64_t read_timeout_ns);

/* Sends a text; it must be taken. */
void told_send(struct told *told, const char *text);

/* Fails the test unless it ended once, like this, and was told of what `order` says. NULL: not looked at. */
void told_expect(const struct told *told, enum lull_code code, const char *order);
void told_expect_text(const struct told *told, const char *part);

/* ---- a server that sees messages */

#define SERVER_STREAMS_MAX 256
#define SERVER_BYTES_MAX   ((size_t)1100 * 1024)

struct server;

struct server_stream {
    uint32_t id;
    uint8_t *bytes; /* of the message that is coming */
    size_t len;
    size_t messages; /* whole ones */
    size_t total;    /* their bytes */
    bool is_ended;
};

/* Set as the rig's ctx-less hooks; there is one at a time. */
struct server {
    struct server_stream streams[SERVER_STREAMS_MAX];
    size_t count;
    bool credits; /* gives each stream's window back as bytes come */
    void (*on_message)(struct peer *peer, struct server_stream *stream, const uint8_t *bytes,
                       size_t len);
    void (*on_end)(struct peer *peer, struct server_stream *stream);
};

/* Before rig_open: the rig's peers serve like this. Freed by server_fini. */
void server_init(struct rig *rig, struct server *server);
void server_fini(struct server *server);

void server_headers(struct peer *peer, uint32_t stream);
/* A message of any length, in as many frames as it needs. */
void server_send(struct peer *peer, uint32_t stream, const void *bytes, size_t len);
void server_credit(struct peer *peer, uint32_t stream, uint32_t bytes);

/* What the client has credited: the sum of its WINDOW_UPDATEs on a stream. */
size_t server_credited(const struct peer *peer, uint32_t stream);

#endif
