/* SPDX-License-Identifier: MIT */
/*
 * Why TLS said no, in words: one line that an operator can act on.
 *
 * Decides: the wording, with OpenSSL's reason and its number, and what the peer's certificate is
 * good for. Called by endpoint_tls. What a peer chose is quoted so that it stays on its line.
 */
#ifndef NET_TLS_TEXT_H
#define NET_TLS_TEXT_H

#include <openssl/x509.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TLS_TEXT_BYTES 288

/* "certificate verify failed: certificate has expired (10); ...". `name` [nullable]: what was asked
 * for. */
void tls_text_verify(struct strbuf *sb, X509_STORE_CTX *store, const char *name, int64_t wall_s);

/*
 * The first error in OpenSSL's queue, which is emptied: an alert of the peer's, a peer that speaks
 * something else (`first` are its first bytes), or OpenSSL's reason.
 */
void tls_text_error(struct strbuf *sb, const uint8_t *first, size_t first_len);

/* ALPN ended without h2. */
void tls_text_alpn(struct strbuf *sb, bool is_server, const uint8_t *chosen, size_t len);

#endif
