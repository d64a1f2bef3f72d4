/* SPDX-License-Identifier: MIT */
/*
 * Header blocks, both ways (grpc/doc/PROTOCOL-HTTP2.md, Requests and Responses; RFC 9113 section 8).
 *
 * Decides: the fields of a request and of a server's answer, their order, which of them HPACK may remember; and which fields of a response
 * are kept, dropped or a fault. Called by transport.c, answer.c and session_cb.c; a server's requests come in through incoming.c. Must
 * not know what a field means to a call.
 *
 * Blocks are made one at a time, in memory that all connections share (stock.h); a connection receives one at a time, into the transport's. A
 * steady call allocates nothing here.
 */
#ifndef H2_HEADERS_H
#define H2_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "base/metadata.h"
#include "policy/deadline.h"

struct h2_request;
struct h2_stream;
struct h2_transport;

/* So many names are watched for values that change. A power of two. */
#define HEADERS_WATCHED 16

/* So many fields of peers are remembered. */
#define HEADERS_KNOWN 16

/*
 * A field of a response that was looked at before. HPACK gives what it remembers as the same two buffers again; they are held here, so the
 * same two are the same bytes.
 */
struct known_field {
    nghttp2_rcbuf *name; /* NULL: none */
    nghttp2_rcbuf *value;
    struct lull_metadatum item; /* in these buffers; not of :status */
    uint32_t used_in;           /* the last block that it was in */
    int http_status;            /* of :status, else -1 */
    const struct h2_transport *owner; /* whose session's buffers they are */
};

/* Those of all connections of an executor (stock.h). */
struct headers_known {
    unsigned count;
    unsigned next;   /* where the next field is looked for first: they come in the same order */
    uint32_t blocks; /* the number of the last block */
    struct known_field fields[HEADERS_KNOWN];
};

struct headers_state {
    /* going out */
    struct {
        uint32_t name;
        uint32_t value;
    } watched[HEADERS_WATCHED]; /* hashes of what was sent last */
    int64_t timeout_ns; /* what the text below says */
    char timeout[DEADLINE_TEXT_BYTES]; /* the last one sent */
    size_t timeout_len;
    bool has_timeout; /* the last request had one */
    size_t own_count; /* of our own fields in it */
    char number[12];  /* the last grpc-status */
    /* coming in */
    struct h2_stream *stream; /* whose block comes in; NULL: nobody's, or none does */
    uint32_t block_number;    /* among those of all connections */
    struct metadata_list block;
    int http_status; /* -1: none yet */
};

void headers_init(struct h2_transport *t);
void headers_fini(struct h2_transport *t); /* before the session is freed, whose buffers it holds */

/*
 * The largest header block that is sent (base/metadata.h), counted as nghttp2 counts: so many bytes for the block, so many for each field
 * beside its name and value. A field of this size would also be the end of the connection at any peer that reads with nghttp2.
 */
#define HEADERS_BLOCK_MAX_BYTES METADATA_BLOCK_MAX_BYTES
#define HEADERS_BLOCK_BYTES     ((size_t)17)
#define HEADERS_FIELD_BYTES     METADATA_FIELD_BYTES

/* What the block of these fields takes in all. */
size_t headers_fields_bytes(const nghttp2_nv *fields, size_t count);

/* The fields of a request, valid until the next call. LULL_OK or LULL_RC_NOMEM. */
int headers_build(struct h2_transport *t, const struct h2_request *request, nghttp2_nv **fields,
                  size_t *count);

/* What a server says in one block. */
struct headers_answer {
    const char *http_status;  /* static; [nullable] trailers have none */
    const char *content_type; /* static; [nullable] */
    const char *allow;        /* static; [nullable] */
    bool has_grpc_status;
    unsigned grpc_status;
    const char *grpc_message;             /* [nullable] any bytes; is encoded here */
    const struct lull_metadata *metadata; /* [nullable] */
};

/* What its block takes in all, before anything is made of it. */
size_t headers_answer_bytes(const struct headers_answer *answer);

/* Its fields, valid until the next call of these two. LULL_OK, LULL_RC_NOMEM, or LULL_RC_LIMIT: the block is too large to be sent. */
int headers_build_answer(struct h2_transport *t, const struct headers_answer *answer,
                         nghttp2_nv **fields, size_t *count);

/* A block for `stream` (NULL: to be skipped) begins; a field of it came. A fault ends the stream. */
void headers_begin(struct h2_transport *t, struct h2_stream *stream);
void headers_on_field(struct h2_transport *t, nghttp2_rcbuf *name, nghttp2_rcbuf *value);

/* Lets go of the fields of this connection that are remembered. */
void headers_drop_known(struct h2_transport *t);

/* RFC 9113 section 8.2.1: lower case, no pseudo-header, nothing that cannot be seen. */
bool headers_is_name(const uint8_t *name, size_t len);

/* Copies a field into the block, blanks around its value left out; a value that no header may have is only counted. As
 * metadata_list_add_wire. */
int headers_keep(struct h2_transport *t, const uint8_t *name, size_t name_len, const uint8_t *value,
                 size_t value_len);

/* The stream leaves the transport: what is left of its block is skipped. */
void headers_forget(struct h2_transport *t, const struct h2_stream *stream);

#endif
