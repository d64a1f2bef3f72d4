/* SPDX-License-Identifier: MIT */
/*
 * A server of OpenSSL's own on a thread, as far from our code as can be. See tls_support.h.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integ/tls_support.h"

static void note_name(struct raw_tls *raw, const SSL *ssl)
{
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    raw->had_name = name != NULL;
    if (name != NULL && strlen(name) < sizeof(raw->name)) {
        memcpy(raw->name, name, strlen(name) + 1);
    }
}

static int choose(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                  const unsigned char *in, unsigned in_len, void *ctx)
{
    struct raw_tls *raw = ctx;
    note_name(raw, ssl);
    (void)in;
    (void)in_len;
    *out = (const unsigned char *)raw->alpn;
    *out_len = (unsigned char)strlen(raw->alpn);
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_ctx(struct raw_tls *raw)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    BIO *chain = BIO_new_mem_buf(cert_pem(raw->leaf), -1);
    BIO *key = BIO_new_mem_buf(cert_key_pem(raw->leaf), -1);
    X509 *x509 = PEM_read_bio_X509(chain, NULL, NULL, NULL);
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    SSL_CTX_use_certificate(ctx, x509);
    SSL_CTX_use_PrivateKey(ctx, pkey);
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(chain);
    BIO_free(key);
    if (raw->alpn != NULL) {
        SSL_CTX_set_alpn_select_cb(ctx, choose, raw);
    }
    if (raw->max_version != 0) {
        SSL_CTX_set_max_proto_version(ctx, raw->max_version);
    }
    return ctx;
}

static void speak_tls(struct raw_tls *raw, int fd)
{
    char bytes[4096];
    SSL_CTX *ctx = make_ctx(raw);
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        int got;
        note_name(raw, ssl);
        while ((got = SSL_read(ssl, bytes, sizeof(bytes))) > 0) {
            raw->bytes += got;
        }
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

static void *serve(void *arg)
{
    struct raw_tls *raw = arg;
    char bytes[4096];
    sigset_t pipe_signal;
    /* OpenSSL's sockets raise it; ours must not, so the process keeps it deadly. */
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    int fd = accept(raw->listener, NULL, NULL);
    if (fd < 0) {
        return NULL;
    }
    if (raw->plain == NULL) {
        speak_tls(raw, fd);
    } else {
        size_t len = raw->plain_len != 0 ? raw->plain_len : strlen(raw->plain);
        if (recv(fd, bytes, sizeof(bytes), 0) > 0 &&
            send(fd, raw->plain, len, MSG_NOSIGNAL) == (ssize_t)len) {
            while (recv(fd, bytes, sizeof(bytes), 0) > 0) {
            }
        }
    }
    close(fd);
    return NULL;
}

void raw_tls_start(struct raw_tls *raw)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    pthread_t *thread = malloc(sizeof(*thread));
    ck_assert_ptr_nonnull(thread);
    raw->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(raw->listener, 0);
    ck_assert_int_eq(bind(raw->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(raw->listener, 8), 0);
    ck_assert_int_eq(getsockname(raw->listener, (struct sockaddr *)&at, &len), 0);
    raw->port = ntohs(at.sin_port);
    raw->thread = thread;
    ck_assert_int_eq(pthread_create(thread, NULL, serve, raw), 0);
}

void raw_tls_join(struct raw_tls *raw)
{
    /* One that was never dialled must not wait for ever. */
    (void)shutdown(raw->listener, SHUT_RDWR);
    ck_assert_int_eq(pthread_join(*(pthread_t *)raw->thread, NULL), 0);
    free(raw->thread);
    close(raw->listener);
}
