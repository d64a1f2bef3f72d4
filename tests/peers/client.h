/* SPDX-License-Identifier: MIT */
/*
 * What the peer tests' programs on streams share: a channel to the server that the script started, waiting with a limit, one unary
 * call, and a stream whose end and trailers are written down.
 *
 * Decides: how long is too long, and that a stream ends once. Called by tests/peers/ programs; the server's address comes in a variable of the environment.
 * Programs of somebody else: public headers and the shared library. Must not know which server it is.
 */
#ifndef TESTS_PEERS_CLIENT_H
#define TESTS_PEERS_CLIENT_H

#include <check.h>

#include <lull/lull.h>

/* Everything is over well before that, or it is broken. */
#define CLIENT_LIMIT_NS (60 * LULL_SECOND)

struct client {
    struct lull_loop *loop;
    bool owns_loop;
    struct lull_channel_options options; /* may be changed before client_open */
    struct lull_channel *channel;
    unsigned dials, warnings;
    char warning[256]; /* the last one */
};

/* `beside`: NULL, or another client whose loop it shares and which is closed after it. */
void client_begin(struct client *client, const struct client *beside);
void client_open(struct client *client, const char *variable);
void client_close(struct client *client);

struct lull_channel_stats client_stats(const struct client *client);

/* Runs turns until *count reaches goal. */
void client_drive_until(const struct client *client, const unsigned *count, unsigned goal);
/* Runs turns for so long. */
void client_drive_for(const struct client *client, int64_t ns);

struct answer {
    unsigned count; /* of `done` */
    enum lull_code code;
    uint8_t bytes[1024]; /* the response, NUL-terminated; or the failure's line */
    size_t len;
};

/* One unary call and its end. */
void client_ask(const struct client *client, const char *method, const void *bytes, size_t len,
                struct answer *answer);

struct stream {
    struct lull_call *call;
    void (*on_message)(struct stream *stream, struct lull_slice message); /* [nullable] */
    void (*on_writable)(struct stream *stream);                           /* [nullable] */
    void *ctx;
    unsigned headers, messages, closed;
    enum lull_code code;
    enum lull_reason reason;
    char text[512];     /* the status message, as the server sent it */
    char line[1100];    /* the failure's line, "" after OK */
    char trailers[256]; /* "key=value " each, of those that begin with x- */
};

/* Starts it; on_message, on_writable and ctx are set before, the rest is cleared. */
void stream_start(struct stream *stream, const struct client *client, const char *method,
                  int64_t timeout_ns);
/* Waits for its end, gives the handle back and looks at how it ended. */
void stream_end(struct stream *stream, const struct client *client, enum lull_code code);

#endif
