/* SPDX-License-Identifier: MIT */
/*
 * What lies between OpenSSL and the endpoint that carries its records.
 *
 * Decides: that everything OpenSSL says in one go leaves in one write, and that what the endpoint
 * did not take is kept, in order. Reading goes straight into OpenSSL's buffer. Called by
 * endpoint_tls only. Must not know what the records say.
 *
 * OpenSSL is called between tls_wire_begin and tls_wire_end: its output gathers in the executor's
 * record buffer and is written by _end.
 */
#ifndef NET_TLS_WIRE_H
#define NET_TLS_WIRE_H

#include <openssl/bio.h>
#include <stdbool.h>

#include "net/endpoint.h"

/* How much of the peer's first bytes is kept, to tell what it speaks. */
#define TLS_WIRE_FIRST_BYTES 24

/*
 * What one go takes from the endpoint: more than a read asks for, so that only records without data come near it. What is left is still in
 * the socket, which says so again.
 */
#define TLS_WIRE_GO_BYTES ((size_t)96 * 1024)

/* A record with 16 KiB: header, explicit nonce, tag, content type (RFC 8446 section 5.2). */
#define TLS_RECORD_PLAIN_BYTES ((size_t)16384)
#define TLS_RECORD_EXTRA_BYTES ((size_t)64)

struct tls_wire {
    struct endpoint *inner;
    struct lull_executor *executor; /* outlives `inner`, which may be freed first */
    uint8_t *out;                   /* between begin and end: the record buffer; NULL: no memory */
    size_t out_len;
    uint8_t *held; /* what the endpoint did not take [own]; NULL: nothing */
    size_t held_len;
    size_t held_at;  /* of these, gone */
    size_t came;     /* bytes that the endpoint gave in this go */
    bool is_drained; /* nothing more to read in this go */
    bool is_eof;     /* the peer ended its side */
    int read_errno;  /* the endpoint failed so; else 0 */
    int write_errno; /* the same; the rest is thrown away, and what came can still be read */
    uint8_t first[TLS_WIRE_FIRST_BYTES];
    size_t first_len;
};

void tls_wire_init(struct tls_wire *wire, struct endpoint *inner);
void tls_wire_fini(struct tls_wire *wire);

/* A source and sink for OpenSSL over the wire [own]; NULL: no memory. The method is the
 * credentials' and outlives it. */
BIO *tls_wire_bio(struct tls_wire *wire, const BIO_METHOD *method);
BIO_METHOD *tls_wire_method(void);

void tls_wire_begin(struct tls_wire *wire);

/* One write, if there is something to write: IO_OK, nothing is left; IO_AGAIN, the rest is held;
 * IO_FAIL, see write_errno. */
enum io tls_wire_end(struct tls_wire *wire);

/* Offers what is held. As tls_wire_end. */
enum io tls_wire_push(struct tls_wire *wire);

static inline bool tls_wire_is_holding(const struct tls_wire *wire)
{
    return wire->held != NULL;
}

/* So much is held that OpenSSL has to wait with what it would say. */
bool tls_wire_is_full(const struct tls_wire *wire);

/* A whole record more fits this go's write. */
bool tls_wire_has_room(const struct tls_wire *wire, size_t plain_bytes);

/* Memory for the plaintext of one record, until tls_wire_end; NULL: none. */
uint8_t *tls_wire_plain(const struct tls_wire *wire);

#endif
