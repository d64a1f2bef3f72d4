/* SPDX-License-Identifier: MIT */
/*
 * A certificate with its chain and key, out of files or texts into OpenSSL.
 *
 * Decides: that all of it belongs together before any of it is used. Called when credentials are
 * made, and before a handshake where an identity is asked for each time. Must not know connections.
 */
#ifndef NET_TLS_IDENTITY_H
#define NET_TLS_IDENTITY_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "lull/credentials.h"

struct tls_identity {
    X509 *leaf;
    STACK_OF(X509) * chain; /* without the leaf */
    EVP_PKEY *key;
};

/* Something of it is given. */
bool tls_identity_is_given(const struct lull_identity *given);

/* LULL_OK, or a code with a text that names the option, the file and the line. */
int tls_identity_load(const struct lull_identity *given, struct tls_identity *out,
                      struct lull_error *error);
void tls_identity_unload(struct tls_identity *identity);

/* Gives it to all connections made from now on, or to one. */
int tls_identity_to_ctx(const struct tls_identity *identity, SSL_CTX *ctx,
                        struct lull_error *error);
int tls_identity_to_ssl(const struct tls_identity *identity, SSL *ssl, struct lull_error *error);

#endif
