/* SPDX-License-Identifier: MIT */
/* See tls.h. */
#include "tls.h"

#include "common.h"

#ifdef BENCH_TLS
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what)
{
    char text[256];

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    bench_fail(what, text);
}

static void add_extension(X509 *certificate, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, certificate, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    if (extension == NULL || X509_add_ext(certificate, extension, -1) != 1) {
        fail("certificate");
    }
    X509_EXTENSION_free(extension);
}

/* Signed by itself, for localhost and 127.0.0.1, a day. */
static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name;

    if (certificate == NULL || key == NULL) {
        fail("certificate");
    }
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"bench", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    if (X509_sign(certificate, key, EVP_sha256()) == 0) {
        fail("certificate");
    }
    return certificate;
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in, unsigned in_len, void *arg)
{
    unsigned i;

    (void)ssl;
    (void)arg;
    for (i = 0; i < in_len; i += 1U + in[i]) {
        if (in[i] == 2 && in[i + 1] == 'h' && in[i + 2] == '2') {
            *out = in + i + 1;
            *out_len = 2;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_ctx(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    if (ctx == NULL || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        fail("SSL_CTX");
    }
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return ctx;
}

struct bench_tls_ctx *bench_tls_server(const char *ca_path)
{
    SSL_CTX *ctx = make_ctx(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key);
    FILE *file = fopen(ca_path, "w");

    if (file == NULL || PEM_write_X509(file, certificate) != 1 || fclose(file) != 0) {
        bench_fail(ca_path, NULL);
    }
    if (SSL_CTX_use_certificate(ctx, certificate) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1) {
        fail("certificate");
    }
    SSL_CTX_set_alpn_select_cb(ctx, choose_h2, NULL);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"bench", 5);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return (struct bench_tls_ctx *)ctx;
}

struct bench_tls_ctx *bench_tls_client(const char *ca_path)
{
    SSL_CTX *ctx = make_ctx(TLS_client_method());

    if (SSL_CTX_load_verify_locations(ctx, ca_path, NULL) != 1) {
        fail(ca_path);
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2", 3);
    return (struct bench_tls_ctx *)ctx;
}

void bench_tls_ctx_free(struct bench_tls_ctx *ctx)
{
    SSL_CTX_free((SSL_CTX *)ctx);
}

/* The newest ticket, for the next connection. */
static SSL_SESSION *ticket;

static int keep_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

void bench_tls_resume(struct bench_tls_ctx *ctx)
{
    SSL_CTX_set_session_cache_mode((SSL_CTX *)ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb((SSL_CTX *)ctx, keep_ticket);
}

bool bench_tls_is_resumed(const struct bench_tls *tls)
{
    return SSL_session_reused((const SSL *)tls) == 1;
}

struct bench_tls *bench_tls_open(struct bench_tls_ctx *ctx, int fd, bool is_server)
{
    SSL *ssl = SSL_new((SSL_CTX *)ctx);

    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
        fail("SSL_new");
    }
    if (is_server) {
        SSL_set_accept_state(ssl);
    } else {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), "127.0.0.1");
        SSL_set_connect_state(ssl);
        if (ticket != NULL && SSL_set_session(ssl, ticket) != 1) {
            fail("a ticket");
        }
    }
    return (struct bench_tls *)ssl;
}

int bench_tls_handshake(struct bench_tls *tls)
{
    int rc = SSL_do_handshake((SSL *)tls);

    if (rc == 1) {
        return 1;
    }
    switch (SSL_get_error((SSL *)tls, rc)) {
    case SSL_ERROR_WANT_READ:
        return 0;
    case SSL_ERROR_WANT_WRITE:
        return -1;
    default:
        return -2;
    }
}

/* What SSL_read and SSL_write returned, as read and write would. */
static ssize_t as_io(SSL *ssl, int rc)
{
    if (rc > 0) {
        return rc;
    }
    switch (SSL_get_error(ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        errno = ECONNRESET;
        return -1;
    }
}

ssize_t bench_tls_read(struct bench_tls *tls, void *into, size_t len)
{
    return as_io((SSL *)tls, SSL_read((SSL *)tls, into, (int)len));
}

ssize_t bench_tls_write(struct bench_tls *tls, const void *from, size_t len)
{
    return as_io((SSL *)tls, SSL_write((SSL *)tls, from, (int)len));
}

bool bench_tls_pending(const struct bench_tls *tls)
{
    return SSL_pending((const SSL *)tls) > 0;
}

void bench_tls_close(struct bench_tls *tls)
{
    SSL_set_quiet_shutdown((SSL *)tls, 1);
    SSL_shutdown((SSL *)tls);
    SSL_free((SSL *)tls);
}

#else

struct bench_tls_ctx *bench_tls_server(const char *ca_path)
{
    (void)ca_path;
    return NULL;
}

struct bench_tls_ctx *bench_tls_client(const char *ca_path)
{
    (void)ca_path;
    return NULL;
}

void bench_tls_ctx_free(struct bench_tls_ctx *ctx)
{
    (void)ctx;
}

void bench_tls_resume(struct bench_tls_ctx *ctx)
{
    (void)ctx;
}

bool bench_tls_is_resumed(const struct bench_tls *tls)
{
    (void)tls;
    return false;
}

struct bench_tls *bench_tls_open(struct bench_tls_ctx *ctx, int fd, bool is_server)
{
    (void)ctx;
    (void)fd;
    (void)is_server;
    return NULL;
}

int bench_tls_handshake(struct bench_tls *tls)
{
    (void)tls;
    return -2;
}

ssize_t bench_tls_read(struct bench_tls *tls, void *into, size_t len)
{
    (void)tls;
    (void)into;
    (void)len;
    return -1;
}

ssize_t bench_tls_write(struct bench_tls *tls, const void *from, size_t len)
{
    (void)tls;
    (void)from;
    (void)len;
    return -1;
}

bool bench_tls_pending(const struct bench_tls *tls)
{
    (void)tls;
    return false;
}

void bench_tls_close(struct bench_tls *tls)
{
    (void)tls;
}

#endif
