/* SPDX-License-Identifier: MIT */
/*
 * See tls_ctx.h.
 */
/* secure_getenv and O_CLOEXEC are not in C. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "net/tls_ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rc.h"
#include "base/sized.h"
#include "net/endpoint_tls.h"
#include "net/tls_identity.h"
#include "net/tls_pem.h"
#include "net/tls_text.h"
#include "net/tls_wire.h"

/* RFC 9113 section 9.2.2 forbids the others; those of TLS 1.3 are OpenSSL's default. */
#define CIPHERS_TLS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"

#define KEY_LOG_LINE_BYTES 512

static const unsigned char alpn[] = {2, 'h', '2'};

/* ---- callbacks of OpenSSL */

/* Clients list what they speak; only h2 will do (RFC 9113 section 3.3). */
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_len,
                           const unsigned char *offered, unsigned offered_len, void *ctx)
{
    (void)ssl;
    (void)ctx;
    for (unsigned i = 0; i < offered_len; i += offered[i] + 1u) {
        if (offered[i] == 2 && i + 2 < offered_len && memcmp(&offered[i + 1], "h2", 2) == 0) {
            *chosen = &offered[i + 1];
            *chosen_len = 2;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void log_key(const SSL *ssl, const char *line)
{
    const struct lull_credentials *credentials =
        (const struct lull_credentials *)SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    char text[KEY_LOG_LINE_BYTES];
    int len = snprintf(text, sizeof(text), "%s\n", line);
    /* One write, so that the lines of several threads stay whole; that it fails is no fault of the
     * connection. */
    if (len > 0 && (size_t)len < sizeof(text)) {
        ssize_t wrote = write(credentials->key_log_fd, text, (size_t)len);
        (void)wrote;
    }
}

/* ---- making */

static int fail_openssl(struct lull_error *error, const char *what)
{
    const char *reason = tls_text_reason();
    return reason == NULL ? rc_fail(error, LULL_RC_NOMEM, "%s: no memory", what)
                          : rc_fail(error, LULL_RC_INVALID, "%s: %s", what, reason);
}

static int set_up_protocol(SSL_CTX *ctx, const struct lull_credentials_options *options,
                           struct lull_error *error)
{
    static const unsigned char id[] = "lull";
    const int least = options->min_version == LULL_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    /* What is kept, endpoint_tls keeps; a server's sessions are in its tickets. */
    (void)SSL_CTX_set_session_cache_mode(ctx,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(ctx, endpoint_tls_on_session);
    if (SSL_CTX_set_session_ticket_cb(ctx, NULL, endpoint_tls_on_ticket, NULL) != 1 ||
        SSL_CTX_set_min_proto_version(ctx, least) != 1 ||
        SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS_1_2) != 1 ||
        SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn)) != 0 ||
        SSL_CTX_set_session_id_context(ctx, id, sizeof(id) - 1) != 1) {
        return fail_openssl(error, "TLS cannot be set up");
    }
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    return LULL_OK;
}

static int add_roots(X509_STORE *store, SSL_CTX *ctx,
                     const struct lull_credentials_options *options, struct lull_error *error)
{
    static const char *const names[2] = {"ca_file", "ca_pem"};
    STACK_OF(X509) * roots;
    struct tls_pem pem;
    int rc = tls_pem_load(names, options->ca_file, options->ca_pem, &pem, error);
    if (rc == LULL_OK) {
        rc = tls_pem_certificates(&pem, &roots, error);
        tls_pem_unload(&pem);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    for (int i = 0; i < sk_X509_num(roots) && rc == LULL_OK; i++) {
        X509 *root = sk_X509_value(roots, i);
        /* The names a server tells its clients, who then know which certificate to send. */
        if (X509_STORE_add_cert(store, root) != 1 || SSL_CTX_add_client_CA(ctx, root) != 1) {
            rc = fail_openssl(error, "a root cannot be used");
        }
    }
    sk_X509_pop_free(roots, X509_free);
    return rc;
}

static int set_up_roots(SSL_CTX *ctx, const struct lull_credentials_options *options,
                        struct lull_error *error)
{
    if (options->ca_file != NULL || options->ca_pem != NULL) {
        return add_roots(SSL_CTX_get_cert_store(ctx), ctx, options, error);
    }
    if (options->client_certificate != LULL_CLIENT_CERTIFICATE_IGNORED) {
        return rc_fail(error, LULL_RC_INVALID,
                       "client_certificate needs ca_file or ca_pem: whose clients are believed?");
    }
    ERR_clear_error();
    return SSL_CTX_set_default_verify_paths(ctx) == 1
               ? LULL_OK
               : fail_openssl(error, "the system's roots cannot be used");
}

static int set_up_identity(struct lull_credentials *credentials,
                           const struct lull_credentials_options *options, struct lull_error *error)
{
    struct tls_identity identity;
    credentials->identity_fn = options->identity_fn;
    credentials->identity_ctx = options->identity_ctx;
    credentials->has_identity = tls_identity_is_given(&options->identity);
    if (!credentials->has_identity) {
        return LULL_OK;
    }
    if (options->identity_fn != NULL) {
        return rc_fail(error, LULL_RC_INVALID, "identity and identity_fn are both given");
    }
    int rc = tls_identity_load(&options->identity, &identity, error);
    if (rc == LULL_OK) {
        rc = tls_identity_to_ctx(&identity, credentials->ctx, error);
        tls_identity_unload(&identity);
    }
    return rc;
}

/* A file of the options must open; one of the environment may not break the program. */
static int set_up_key_log(struct lull_credentials *credentials, const char *file,
                          struct lull_error *error)
{
    const char *path = file != NULL ? file : secure_getenv("SSLKEYLOGFILE");
    if (path == NULL || *path == '\0') {
        return LULL_OK;
    }
    credentials->key_log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (credentials->key_log_fd < 0) {
        return file == NULL ? LULL_OK : rc_fail_system(error, errno, "key_log_file %.140s", file);
    }
    SSL_CTX_set_keylog_callback(credentials->ctx, log_key);
    return LULL_OK;
}

static int keep_text(const char *text, char **out, struct lull_error *error)
{
    if (text == NULL) {
        return LULL_OK;
    }
    const size_t size = strlen(text) + 1;
    *out = (char *)mem_alloc(NULL, size);
    if (*out == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for credentials");
    }
    memcpy(*out, text, size);
    return LULL_OK;
}

static int set_up(struct lull_credentials *credentials,
                  const struct lull_credentials_options *options, struct lull_error *error)
{
    ERR_clear_error();
    credentials->ctx = SSL_CTX_new(TLS_method());
    credentials->wire = tls_wire_method();
    /* What the callbacks of OpenSSL find is memory, too. */
    if (credentials->ctx == NULL || credentials->wire == NULL || SSL_CTX_set_app_data(credentials->ctx, credentials) != 1) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for credentials");
    }
    int rc = set_up_protocol(credentials->ctx, options, error);
    if (rc == LULL_OK) {
        rc = set_up_roots(credentials->ctx, options, error);
    }
    if (rc == LULL_OK) {
        rc = set_up_identity(credentials, options, error);
    }
    if (rc == LULL_OK) {
        rc = set_up_key_log(credentials, options->key_log_file, error);
    }
    if (rc == LULL_OK) {
        rc = keep_text(options->server_name, &credentials->server_name, error);
    }
    if (rc == LULL_OK) {
        credentials->has_ca_pem = options->ca_pem != NULL;
        rc = keep_text(options->ca_file, &credentials->ca_file, error);
    }
    return rc;
}

static void free_all(struct lull_credentials *credentials)
{
    if (credentials->key_log_fd >= 0) {
        (void)close(credentials->key_log_fd);
    }
    mem_release(NULL, credentials->server_name);
    mem_release(NULL, credentials->ca_file);
    tls_sessions_fini(&credentials->sessions);
    SSL_CTX_free(credentials->ctx);
    BIO_meth_free(credentials->wire);
    mem_release(NULL, credentials);
}

static int check(const struct lull_credentials_options *options, struct lull_error *error)
{
    if (options->server_name != NULL && *options->server_name == '\0') {
        return rc_fail(error, LULL_RC_INVALID, "option server_name is empty");
    }
    if ((int)options->min_version < LULL_TLS_1_2 || options->min_version > LULL_TLS_1_3) {
        return rc_fail(error, LULL_RC_INVALID, "option min_version is %d, which is none",
                       (int)options->min_version);
    }
    if ((int)options->client_certificate < LULL_CLIENT_CERTIFICATE_IGNORED ||
        options->client_certificate > LULL_CLIENT_CERTIFICATE_REQUIRED) {
        return rc_fail(error, LULL_RC_INVALID, "option client_certificate is %d, which is none",
                       (int)options->client_certificate);
    }
    return LULL_OK;
}

int lull_credentials_new(const struct lull_credentials_options *options,
                         struct lull_credentials **out, struct lull_error *error)
{
    static const struct sized kind = {SIZED_UP_TO(struct lull_credentials_options, insecure_skip_verify),
                                      sizeof(*options), "option", "the options with lull_credentials_options_init"};
    struct lull_credentials_options chosen;
    if (out == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "out is NULL");
    }
    lull_credentials_options_init(&chosen);
    int rc = options == NULL ? LULL_OK : sized_take(&kind, &chosen, options, error);
    options = &chosen;
    if (rc == LULL_OK) {
        rc = check(options, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    struct lull_credentials *credentials =
        (struct lull_credentials *)mem_zeroed(NULL, sizeof(*credentials));
    if (credentials == NULL || tls_sessions_init(&credentials->sessions) != 0) {
        mem_release(NULL, credentials);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for credentials");
    }
    atomic_init(&credentials->refs, 1);
    credentials->key_log_fd = -1;
    credentials->is_skipping_verify = options->insecure_skip_verify;
    credentials->client_certificate = options->client_certificate;
    rc = set_up(credentials, options, error);
    if (rc != LULL_OK) {
        free_all(credentials);
        return rc;
    }
    *out = credentials;
    return rc_ok(error);
}

void lull_credentials_ref(struct lull_credentials *credentials)
{
    if (credentials != NULL) {
        (void)atomic_fetch_add_explicit(&credentials->refs, 1, memory_order_relaxed);
    }
}

void lull_credentials_unref(struct lull_credentials *credentials)
{
    if (credentials != NULL &&
        atomic_fetch_sub_explicit(&credentials->refs, 1, memory_order_acq_rel) == 1) {
        free_all(credentials);
    }
}

void lull_credentials_stats(struct lull_credentials *credentials,
                            struct lull_credentials_stats *out)
{
    const struct lull_credentials_stats now = {
        .size = out->size < sizeof(now) ? out->size : sizeof(now),
        .handshakes = atomic_load_explicit(&credentials->handshakes, memory_order_relaxed),
        .handshakes_resumed = atomic_load_explicit(&credentials->resumed, memory_order_relaxed),
        .handshakes_failed = atomic_load_explicit(&credentials->failed, memory_order_relaxed),
        .sessions = tls_sessions_count(&credentials->sessions),
    };
    if (now.size >= sizeof(now.size)) {
        memcpy(out, &now, now.size);
    }
}

bool tls_can_serve(const struct lull_credentials *credentials)
{
    return credentials->has_identity || credentials->identity_fn != NULL;
}

bool tls_is_insecure(const struct lull_credentials *credentials)
{
    return credentials->is_skipping_verify;
}

/* ---- one connection */

/* Asks the application who we are now. */
static int ask_identity(struct lull_credentials *credentials, SSL *ssl, struct lull_error *error)
{
    struct lull_identity given = {NULL, NULL, NULL, NULL};
    struct tls_identity identity;
    int rc = credentials->identity_fn(credentials->identity_ctx, &given);
    if (rc != LULL_OK) {
        return rc_fail(error, LULL_RC_INVALID, "identity_fn said %s", lull_rc_name(rc));
    }
    if (!tls_identity_is_given(&given)) {
        return LULL_OK;
    }
    rc = tls_identity_load(&given, &identity, error);
    if (rc == LULL_OK) {
        rc = tls_identity_to_ssl(&identity, ssl, error);
        tls_identity_unload(&identity);
    }
    return rc;
}

/*
 * The name that the certificate must have; addresses are no server_name (RFC 6066 section 3). OpenSSL would take ".a.test" for any
 * name below a.test, and "" for any at all.
 */
static bool expect_name(SSL *ssl, X509_VERIFY_PARAM *param, const char *name)
{
    if (*name == '.' || *name == '\0') {
        return false;
    }
    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1) {
        return true;
    }
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    /* The macro takes no const; the name is copied. */
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)name) == 1;
}

static int verify_mode(const struct lull_credentials *credentials, bool is_server)
{
    if (!is_server) {
        return credentials->is_skipping_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
    }
    switch (credentials->client_certificate) {
    case LULL_CLIENT_CERTIFICATE_VERIFIED:
        return SSL_VERIFY_PEER;
    case LULL_CLIENT_CERTIFICATE_REQUIRED:
        return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    default:
        return SSL_VERIFY_NONE;
    }
}

int tls_ctx_start(struct lull_credentials *credentials, const struct tls_start *start, SSL **out,
                  struct lull_error *error)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(credentials->ctx);
    if (ssl == NULL || SSL_set_app_data(ssl, start->owner) != 1) {
        SSL_free(ssl);
        ERR_clear_error();
        return rc_fail(error, LULL_RC_NOMEM, "no memory for TLS");
    }
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    int mode = verify_mode(credentials, start->is_server);
    int rc = LULL_OK;
    X509_VERIFY_PARAM_set_time(param, (time_t)start->wall_s);
    SSL_set_verify(ssl, mode, mode == SSL_VERIFY_NONE ? NULL : start->verify);
    if (start->is_server) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
        (void)SSL_set_tlsext_debug_callback(ssl, start->extension);
        if (!expect_name(ssl, param, start->name)) {
            rc = rc_fail(error, LULL_RC_INVALID, "\"%.100s\" is no name that TLS could ask for",
                         start->name);
        }
    }
    if (rc == LULL_OK && credentials->identity_fn != NULL) {
        rc = ask_identity(credentials, ssl, error);
    }
    ERR_clear_error();
    if (rc != LULL_OK) {
        SSL_free(ssl);
        return rc;
    }
    *out = ssl;
    return LULL_OK;
}

char *tls_ctx_session_key(const SSL *ssl, const char *name, const char *authority)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char own[17] = "";
    unsigned len = 0;
    X509 *leaf = SSL_get_certificate(ssl);
    if (leaf != NULL && X509_digest(leaf, EVP_sha256(), digest, &len) == 1) {
        for (unsigned i = 0; i < 8; i++) {
            (void)snprintf(own + 2 * i, 3, "%02x", digest[i]);
        }
    }
    size_t size = strlen(name) + strlen(authority) + sizeof(own) + 2;
    char *key = (char *)mem_alloc(NULL, size);
    if (key != NULL) {
        (void)snprintf(key, size, "%s %s %s", name, authority, own);
    }
    return key;
}
