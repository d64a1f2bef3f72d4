/* SPDX-License-Identifier: MIT */
/*
 * Why TLS said no, in words: one line that an operator can act on.
 *
 * Decides: the wording, with OpenSSL's reason and its number, and what the peer's certificate is
 * good for. Called by endpoint_tls and by what loads credentials. What a peer chose is quoted so that it stays on its line.
 */
#ifndef NET_TLS_TEXT_H
#define NET_TLS_TEXT_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TLS_TEXT_BYTES 288

/* What a verification went by. */
struct tls_text_facts {
    bool is_server;
    bool has_ca_pem;     /* roots from memory; neither: the system's */
    const char *ca_file; /* [nullable] roots from a file */
    const char *name;    /* [nullable] what was asked for */
    int64_t wall_s;
};

/* "certificate verify failed: certificate has expired (10); ...". */
void tls_text_verify(struct strbuf *sb, X509_STORE_CTX *store, const struct tls_text_facts *facts);

/*
 * The first error in OpenSSL's queue, which is emptied: an alert of the peer's, a peer that speaks
 * something else (`first` are its first bytes), or OpenSSL's reason.
 */
void tls_text_error(struct strbuf *sb, bool is_server, const uint8_t *first, size_t first_len);

/*
 * For a call of OpenSSL's that failed: the words of the first error in its queue, which is emptied. NULL: it had no memory; where it says
 * nothing it had none to say so.
 */
const char *tls_text_reason(void);

/* ALPN ended without h2. */
void tls_text_alpn(struct strbuf *sb, bool is_server, const uint8_t *chosen, size_t len);

#endif
