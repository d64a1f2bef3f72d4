/* SPDX-License-Identifier: MIT */
/*
 * PEM files and texts, read so that an error names the place.
 *
 * Decides: what is taken from a file (certificates, one private key; the rest is passed over) and
 * how a broken one is told: option, file, line, OpenSSL's reason. Called where credentials are made
 * and where an identity is asked for. Must not know connections.
 */
#ifndef NET_TLS_PEM_H
#define NET_TLS_PEM_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>

#include "lull/rc.h"

/* A text and what to call it in errors. */
struct tls_pem {
    char *text;         /* NUL-terminated [own] */
    const char *option; /* "ca_file" [borrow] */
    const char *file;   /* [borrow]; NULL: it was given as text */
};

/*
 * Takes the text, or reads the file; one of the two is not NULL. `options` are the names of the two
 * options, file first. LULL_OK, LULL_RC_SYSTEM, LULL_RC_INVALID (too large), LULL_RC_NOMEM.
 */
int tls_pem_load(const char *const options[2], const char *file, const char *text,
                 struct tls_pem *out, struct lull_error *error);
void tls_pem_unload(struct tls_pem *pem);

/* Every certificate of the text, in order, one at least; [own] by the caller. */
int tls_pem_certificates(const struct tls_pem *pem, STACK_OF(X509) * *out,
                         struct lull_error *error);

/* The first private key of the text [own]. */
int tls_pem_key(const struct tls_pem *pem, EVP_PKEY **out, struct lull_error *error);

/* LULL_RC_INVALID: "OPTION FILE[ line N]: what". line 0: none. */
int tls_pem_fail(const struct tls_pem *pem, unsigned line, struct lull_error *error,
                 const char *what);

#endif
