/* SPDX-License-Identifier: MIT */
/*
 * The record of a call that did not end OK, and its one readable line.
 *
 * Decides: how a failure is worded, from facts that others collected. Called by call.c when a call ends. Must not
 * know channels, calls or connections: it is handed numbers and texts. The public side is struct lull_failure of
 * lull/status.h.
 */
#ifndef CHANNEL_FAILURE_H
#define CHANNEL_FAILURE_H

#include <stddef.h>
#include <stdint.h>

#include "lull/status.h"
#include "net/addr.h"

#define FAILURE_MESSAGE_BYTES 640
#define FAILURE_LINE_BYTES    1024

/* What is known when a call ends. Texts are borrowed for failure_write. */
struct failure_facts {
    enum lull_code code;
    enum lull_reason reason;
    enum lull_phase phase;    /* where the call was */
    enum lull_phase broke_in; /* LULL_REASON_CONNECT, _TLS: where the attempt broke */
    const char *broke_at;     /* [nullable] the same: at which address, of several */
    bool is_unheard;          /* it is a caller that ends it, since nobody drove: the phase is what was seen last */
    const char *method;       /* [nullable] "/package.Service/Method" */
    const char *address;      /* [nullable] */
    const char *what;         /* [nullable] what happened, where the phase alone does not say it */
    const char *last_attempt; /* [nullable] why the last connection attempt failed */
    const char *so_far;       /* [nullable] which addresses failed in the attempt that is under way */
    int sys_errno;
    int http_status;
    int64_t http2_error; /* -1: none */
    uint32_t attempts;
    bool is_attempting;   /* an attempt is under way */
    size_t queued_before; /* calls that were first in the queue for a stream */
    bool is_at_limit;     /* it waits for a stream because the peer allows no more at a time */
    bool is_blocked;      /* it waits because the peer reads too slowly */
    int64_t elapsed_ns;
    const int64_t *phase_ns; /* LULL_PHASE_COUNT of them */
    uint64_t bytes_read;     /* on the stream's connection, since the request was out */
    int64_t window_ns; /* LULL_REASON_READ_TIMEOUT: the read timeout, and how long nothing came */
    int64_t quiet_ns;
    int64_t next_attempt_after_ns;
};

/* The record and the memory of its texts. */
struct failure {
    struct lull_failure record;
    char address[ADDR_TEXT_BYTES];
    char message[FAILURE_MESSAGE_BYTES]; /* for lull_status.message of a failure of ours */
    char line[FAILURE_LINE_BYTES];
};

/* Fills in the record and words `message` and `line`. */
void failure_write(struct failure *failure, const struct failure_facts *facts);

/*
 * Fills in the record of a call whose message came from the server: the line quotes `server_message`
 * [borrow] as it is, `message` is left empty.
 */
void failure_write_server(struct failure *failure, const struct failure_facts *facts,
                          const char *server_message);

#endif
