/* SPDX-License-Identifier: MIT */
/*
 * Credentials, as connections use them. Their public side is lull/credentials.h.
 *
 * Decides: which TLS is spoken (versions, ciphers, ALPN), what a handshake starts with, and whom it
 * believes. Called by endpoint_tls, and by channels and servers that count references. Must not
 * know sockets or executors. Any thread.
 */
#ifndef NET_TLS_CTX_H
#define NET_TLS_CTX_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "lull/credentials.h"
#include "net/tls_sessions.h"

struct lull_credentials {
    atomic_uint refs;
    SSL_CTX *ctx;
    BIO_METHOD *wire;
    char *server_name; /* [nullable] */
    char *ca_file;     /* [nullable] for texts */
    bool has_ca_pem;
    lull_identity_fn identity_fn;
    void *identity_ctx;
    bool has_identity; /* of the options */
    bool is_skipping_verify;
    enum lull_client_certificate client_certificate;
    int key_log_fd; /* -1: none */
    struct tls_sessions sessions;
    atomic_ullong handshakes;
    atomic_ullong resumed;
    atomic_ullong failed;
};

/* What one connection starts with. */
struct tls_start {
    bool is_server;
    const char *name;     /* clients: host name or numeric address to prove */
    int64_t wall_s;       /* when certificates must be valid */
    void *owner;          /* SSL_get_app_data */
    SSL_verify_cb verify; /* hears of what is wrong with a certificate */
    void (*extension)(SSL *ssl, int is_from_server, int type, const unsigned char *data, int len,
                      void *arg); /* hears of the peer's extensions */
};

/* A fresh connection [own], as far as it is the credentials' affair. LULL_OK, LULL_RC_NOMEM, or
 * LULL_RC_INVALID with a text: what the identity callback said or gave. */
int tls_ctx_start(struct lull_credentials *credentials, const struct tls_start *start, SSL **out,
                  struct lull_error *error);

/* OpenSSL has a session for later; endpoint_tls.c. */
int endpoint_tls_on_session(SSL *ssl, SSL_SESSION *session);

/* A client of ours shows the ticket of an earlier connection; endpoint_tls_shake.c. */
SSL_TICKET_RETURN endpoint_tls_on_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *key_name, size_t key_name_len,
                                         SSL_TICKET_STATUS status, void *arg);

/* The key under which a client's sessions are kept: who was asked, and as whom; [own], mem_release
 * (NULL, ...); NULL: no memory. */
char *tls_ctx_session_key(const SSL *ssl, const char *name, const char *authority);

#endif
