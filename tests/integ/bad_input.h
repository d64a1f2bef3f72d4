/* SPDX-License-Identifier: MIT */
/*
 * A server, a good channel to it and a stream on that, beside which bad things are done: what the bad_input programs share. Each bad
 * thing becomes a row of doc/BAD_INPUT.md, and the good ones must not notice.
 *
 * Methods: METHOD_ECHO echoes; METHOD_LARGE answers with BAD_LARGE bytes, METHOD_FIELDS with more metadata than a client takes.
 */
#ifndef TESTS_INTEG_BAD_INPUT_H
#define TESTS_INTEG_BAD_INPUT_H

#include <check.h>
#include <lull/lull.h>
#include <stdbool.h>

#include "tests/support/poll_host.h"
#include "tests/support/table.h"

#define METHOD_ECHO   "/bad.Input/Echo"
#define METHOD_LARGE  "/bad.Input/Large"
#define METHOD_FIELDS "/bad.Input/Fields"

#define BAD_CLIENT_TAKES 65536u
#define BAD_CLIENT_SENDS 131072u
#define BAD_SERVER_TAKES 4096u
#define BAD_LARGE        100000u

struct bad {
    struct lull_loop *loop;
    struct poll_host *host; /* [nullable] whose loop it is */
    struct lull_server *server;
    char target[64];
    struct lull_channel *good;
    struct lull_call *stream; /* on good, open from the beginning to the end */
    unsigned sent, echoed;
    bool is_stream_over;
    void (*poke)(struct bad *bad); /* [nullable] called each round */
    int listener;                  /* of bad_listen */
};

/* How a call ended. */
struct bad_call {
    struct bad *bad;
    unsigned done;
    enum lull_code code;
    enum lull_reason reason;
    enum lull_phase phase;
    int sys_errno;
    char message[700];
};

/* `host` [nullable] drives instead of lull's own loop. */
void bad_begin(struct bad *bad, struct poll_host *host);

/* The good ones are as good as before: the stream echoes one more message, and a new call is answered. */
void bad_expect_good(struct bad *bad);

/* The same, and everything goes. */
void bad_end(struct bad *bad);

void bad_round(struct bad *bad);

/* Options of channels on the loop: no retry within the test. */
void bad_channel_options(const struct bad *bad, struct lull_channel_options *options);

/* A channel to any target; the test fails if there is none. */
struct lull_channel *bad_channel(const struct bad *bad, const char *target);

/* Makes a unary call with `len` bytes and waits for its end. */
void bad_unary(struct bad *bad, struct lull_channel *channel, const struct lull_call_options *options,
               size_t len, struct bad_call *call);

/* The row of a C call that was refused: the code, and the text [nullable: the function has none] that has `says` in it. */
void bad_refused(struct bad *bad, const char *input, int rc, enum lull_rc expected,
                 const struct lull_error *error, const char *says);

/* The row of a call that ended so. */
void bad_ended(struct bad *bad, const char *input, const struct bad_call *call, enum lull_code code,
               enum lull_reason reason, enum lull_phase phase, const char *says);

/* A port of the loopback where a raw peer listens; its target in `target`, of 64 bytes. */
void bad_listen(struct bad *bad, char *target);

/* The connection that came to it, or -1. */
int bad_accept(struct bad *bad);

#endif
