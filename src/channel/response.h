/* SPDX-License-Identifier: MIT */
/*
 * Which status the shape of a response is (BEHAVIOUR 2.13; RULINGS 19-21; grpc/doc/PROTOCOL-HTTP2.md,
 * Responses).
 *
 * Decides: from what came of a response, whether the call is over and how it ended. Called by call_stream.c, which
 * records the facts. Must not know streams, retries or deadlines: who wins when the deadline has passed too is
 * decided there.
 */
#ifndef CHANNEL_RESPONSE_H
#define CHANNEL_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "h2/stream.h"
#include "lull/metadata.h"
#include "lull/status.h"

/* Bytes kept of a body that is not gRPC, to be quoted. When so many came the rest is not waited for. */
#define RESPONSE_RAW_BYTES 200

#define RESPONSE_CONTENT_TYPE_BYTES 64

/* What came, as far as it matters for the status. */
struct response {
    int http_status;      /* of the first header block; -1: it had no `:status` */
    bool has_headers;     /* a header block that was not the last one */
    bool is_doubled;      /* a second one */
    bool has_trailers;    /* the header block with END_STREAM */
    bool has_end_of_data; /* END_STREAM on DATA */
    bool is_closed;       /* the stream is over, `end` says why */
    bool is_unary;        /* OK means one message */
    const char
        *lost; /* what there was no memory for: nothing behind it is told; NULL: nothing was lost */
    bool has_content_type;
    bool is_grpc; /* the content-type is */
    bool has_grpc_status;
    bool is_grpc_status_readable;
    enum lull_code grpc_status;
    uint32_t messages;
    size_t raw_len;
    uint64_t raw_total;
    const struct lull_metadatum *message; /* the last block's grpc-message, while the block is there; NULL: none */
    size_t customs;                       /* fields of that block that are the application's */
    struct h2_stream_end end;
    char content_type[RESPONSE_CONTENT_TYPE_BYTES]; /* for texts: not of headers that are gRPC's */
    uint8_t raw[RESPONSE_RAW_BYTES];
};

/* How it ended. */
struct verdict {
    enum lull_code code;
    enum lull_reason reason;
    bool is_servers;     /* code and message are the server's own */
    int64_t http2_error; /* -1: none */
};

/* Before the first byte. */
void response_init(struct response *response, bool is_unary);

/* Takes what matters from a header block, and says in `message` and `customs` what else is in it. */
void response_on_headers(struct response *response, int http_status,
                         const struct lull_metadata *headers);
void response_on_trailers(struct response *response, int http_status,
                          const struct lull_metadata *trailers);
void response_on_raw(struct response *response, const uint8_t *bytes, size_t len);

/* True when anything came: the server has seen the call, it may not be replayed unseen. */
bool response_has_begun(const struct response *response);

/* True when nothing that may still come can change the verdict. */
bool response_is_decided(const struct response *response);

/* Nothing has come that could decide it: what can be said at a glance of a response that goes on. */
static inline bool response_goes_on(const struct response *response)
{
    return !response->is_closed && !response->is_doubled && !response->has_end_of_data &&
           !response->has_trailers && response->lost == NULL && response->raw_total == 0;
}

/* True when the server's own status decides: parsed trailers with a status (RULINGS 19). */
bool response_has_verdict_of_server(const struct response *response);

/* The verdict on a decided response; `text` receives what happened, nothing when is_servers or OK. */
struct verdict response_judge(const struct response *response, struct strbuf *text);

/* True for names that the protocol owns: not shown as metadata of the application. */
bool response_is_protocol_header(const struct lull_metadatum *item);

#endif
