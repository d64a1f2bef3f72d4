/* SPDX-License-Identifier: MIT */
/*
 * See tls_identity.h.
 */
#include "net/tls_identity.h"

#include <openssl/err.h>
#include <string.h>

#include "base/rc.h"
#include "net/tls_pem.h"
#include "net/tls_text.h"

static const char *const chain_options[2] = {"chain_file", "chain_pem"};
static const char *const key_options[2] = {"key_file", "key_pem"};

bool tls_identity_is_given(const struct lull_identity *given)
{
    return given->chain_file != NULL || given->chain_pem != NULL || given->key_file != NULL ||
           given->key_pem != NULL;
}

static int fail_nomem(struct lull_error *error)
{
    return rc_fail(error, LULL_RC_NOMEM, "no memory for an identity");
}

/*
 * Why the certificate has no key to compare with. OpenSSL decodes that when it reads the certificate, goes on without one where memory is
 * wanting, and does not say so later: a copy is another try.
 */
static int fail_keyless(X509 *leaf, struct lull_error *error)
{
    X509 *copy = X509_dup(leaf);
    const bool is_readable = copy == NULL || X509_get0_pubkey(copy) != NULL;
    const char *reason = is_readable ? NULL : tls_text_reason();
    X509_free(copy);
    ERR_clear_error();
    return reason == NULL ? fail_nomem(error)
                          : rc_fail(error, LULL_RC_INVALID, "the certificate's public key cannot be read: %s", reason);
}

/* Which two do not fit. */
static int fail_mismatch(const struct lull_identity *given, const struct tls_identity *identity,
                         struct lull_error *error)
{
    char subject[80];
    if (tls_text_reason() == NULL) {
        return fail_nomem(error);
    }
    if (X509_get0_pubkey(identity->leaf) == NULL) {
        return fail_keyless(identity->leaf, error);
    }
    (void)X509_NAME_oneline(X509_get_subject_name(identity->leaf), subject, sizeof(subject));
    ERR_clear_error();
    return rc_fail(
        error, LULL_RC_INVALID, "%s%s%.60s does not match the certificate %s of %s%s%.60s",
        given->key_file != NULL ? "key_file" : "key_pem", given->key_file != NULL ? " " : "",
        given->key_file != NULL ? given->key_file : "", subject,
        given->chain_file != NULL ? "chain_file" : "chain_pem",
        given->chain_file != NULL ? " " : "", given->chain_file != NULL ? given->chain_file : "");
}

static int load_chain(const struct lull_identity *given, struct tls_identity *out,
                      struct lull_error *error)
{
    struct tls_pem pem;
    int rc = tls_pem_load(chain_options, given->chain_file, given->chain_pem, &pem, error);
    if (rc == LULL_OK) {
        rc = tls_pem_certificates(&pem, &out->chain, error);
        tls_pem_unload(&pem);
    }
    if (rc == LULL_OK) {
        out->leaf = sk_X509_shift(out->chain);
    }
    return rc;
}

static int load_key(const struct lull_identity *given, struct tls_identity *out,
                    struct lull_error *error)
{
    struct tls_pem pem;
    int rc = tls_pem_load(key_options, given->key_file, given->key_pem, &pem, error);
    if (rc == LULL_OK) {
        rc = tls_pem_key(&pem, &out->key, error);
        tls_pem_unload(&pem);
    }
    return rc;
}

int tls_identity_load(const struct lull_identity *given, struct tls_identity *out,
                      struct lull_error *error)
{
    bool has_chain = given->chain_file != NULL || given->chain_pem != NULL;
    bool has_key = given->key_file != NULL || given->key_pem != NULL;
    memset(out, 0, sizeof(*out));
    if (!has_chain || !has_key) {
        return rc_fail(error, LULL_RC_INVALID,
                       has_chain ? "a certificate chain without its key: key_file or key_pem is "
                                   "needed"
                                 : "a key without its certificate: chain_file or chain_pem is "
                                   "needed");
    }
    int rc = load_chain(given, out, error);
    if (rc == LULL_OK) {
        rc = load_key(given, out, error);
    }
    if (rc == LULL_OK) {
        ERR_clear_error();
        rc = X509_check_private_key(out->leaf, out->key) == 1 ? LULL_OK : fail_mismatch(given, out, error);
    }
    if (rc != LULL_OK) {
        tls_identity_unload(out);
    }
    return rc;
}

void tls_identity_unload(struct tls_identity *identity)
{
    X509_free(identity->leaf);
    sk_X509_pop_free(identity->chain, X509_free);
    EVP_PKEY_free(identity->key);
    memset(identity, 0, sizeof(*identity));
}

/* What OpenSSL's policy has against it: a short key, an old digest. */
static int settle(int ok, struct lull_error *error)
{
    if (ok == 1) {
        ERR_clear_error();
        return LULL_OK;
    }
    const char *reason = tls_text_reason();
    return reason == NULL ? fail_nomem(error)
                          : rc_fail(error, LULL_RC_INVALID, "the certificate cannot be used: %s", reason);
}

int tls_identity_to_ctx(const struct tls_identity *identity, SSL_CTX *ctx, struct lull_error *error)
{
    ERR_clear_error();
    return settle(SSL_CTX_use_cert_and_key(ctx, identity->leaf, identity->key, identity->chain, 1),
                  error);
}

int tls_identity_to_ssl(const struct tls_identity *identity, SSL *ssl, struct lull_error *error)
{
    ERR_clear_error();
    return settle(SSL_use_cert_and_key(ssl, identity->leaf, identity->key, identity->chain, 1),
                  error);
}
