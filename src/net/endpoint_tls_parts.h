/* SPDX-License-Identifier: MIT */
/*
 * What endpoint_tls is made of. Seen by endpoint_tls.c, which is the seam, and by
 * endpoint_tls_shake.c: the handshake, and how it fails.
 */
#ifndef NET_ENDPOINT_TLS_PARTS_H
#define NET_ENDPOINT_TLS_PARTS_H

#include "net/endpoint_tls.h"
#include "net/tls_ctx.h"
#include "net/tls_text.h"
#include "net/tls_wire.h"

#define TLS_HOST_BYTES 256
#define TLS_ALPN_BYTES 24

struct endpoint_tls {
    struct endpoint base;
    struct tls_wire wire;
    struct lull_loop *loop; /* [nullable] */
    struct lull_credentials *credentials;
    SSL *ssl; /* NULL: the identity callback failed */
    bool is_server;
    bool is_connected; /* the endpoint below */
    bool is_up;        /* the handshake is over */
    bool has_more;     /* OpenSSL may have plaintext that no read took */
    bool is_jammed;    /* OpenSSL reads no further before the peer takes what it was answered */
    size_t idle_bytes; /* that came since the last that were the peer's data */
    enum io over;      /* IO_EOF or IO_FAIL: what every read says from now on; else IO_OK */
    unsigned need;     /* of the endpoint below, for the handshake to go on */
    size_t taken;      /* bytes enciphered and not yet told as written */
    int64_t wall_s;    /* when the peer's certificate is looked at */
    char name[TLS_HOST_BYTES];
    char *session_key;            /* clients */
    uint8_t alpn[TLS_ALPN_BYTES]; /* clients: what the server chose, cut */
    size_t alpn_len;
    char text[TLS_TEXT_BYTES];
};

/* The phase of what endpoint_fail is told. */
extern const char tls_handshake_phase[];

/* For good, with an errno, or with a text. IO_FAIL. */
enum io tls_give_up(struct endpoint_tls *tls, const char *phase, int sys_errno);
enum io tls_give_up_text(struct endpoint_tls *tls, const char *phase, const char *text);

/* OpenSSL gave up, or could not read. IO_FAIL. */
enum io tls_give_up_ssl(struct endpoint_tls *tls, const char *phase);

/* OpenSSL's verdict on a certificate, which stands; the first that is bad is told. */
int tls_on_verified(int is_good, X509_STORE_CTX *store);

/* Keeps the server's choice of protocol, which OpenSSL does not tell where it refuses it. */
void tls_on_extension(SSL *ssl, int is_from_server, int type, const unsigned char *data, int len,
                      void *arg);

/* A client starts with the session of an earlier connection, if there is one. */
void tls_offer_session(struct endpoint_tls *tls);

/* Wants of the endpoint below what is needed now. */
void tls_watch_below(struct endpoint_tls *tls);

/* The connect and the handshake, as far as they go: IO_OK, they are over. */
enum io tls_shake(struct endpoint_tls *tls);

#endif
