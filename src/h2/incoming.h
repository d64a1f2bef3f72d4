/* SPDX-License-Identifier: MIT */
/*
 * A request as a server gets it (grpc/doc/PROTOCOL-HTTP2.md, Requests; RFC 9113 section 8.3.1).
 *
 * Decides: which header block is a gRPC request. One that is malformed HTTP/2 is reset; one that is not gRPC gets a plain answer of
 * HTTP; one that is gRPC and wrong gets a status; the rest become streams of the owner. Called by session_cb.c on a server's
 * transport. Must not know methods.
 */
#ifndef H2_INCOMING_H
#define H2_INCOMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metadata.h"

struct h2_transport;

/* The request at hand: one block comes at a time. Its metadata is in the transport's headers. */
struct incoming_state {
    int32_t id;               /* of its stream; 0: the block at hand is not a request */
    struct metadata_list own; /* pseudo-headers, and the fields that mean something here */
    bool has_regular;         /* a field that is no pseudo-header came */
    bool is_malformed;
    bool is_over_limit;
    bool has_bad_base64;
    bool has_no_memory;
};

void incoming_init(struct h2_transport *t);
void incoming_fini(struct h2_transport *t);

/* A request's block begins; a field of it came; it is whole (`ends`: so is the request). */
void incoming_begin(struct h2_transport *t, int32_t id);
void incoming_on_field(struct h2_transport *t, const uint8_t *name, size_t name_len,
                       const uint8_t *value, size_t value_len);
void incoming_on_whole(struct h2_transport *t, bool ends);

#endif
