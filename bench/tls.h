/* SPDX-License-Identifier: MIT */
/* TLS for the server and the floor of the benchmarks: OpenSSL as it comes, ALPN h2, a certificate made on the spot. */
#ifndef BENCH_TLS_H
#define BENCH_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bench_tls_ctx;  /* of a side */
struct bench_tls;      /* of a connection */

/* NULL: built without OpenSSL. A server's certificate is written to `ca_path`; a client reads it there. */
struct bench_tls_ctx *bench_tls_server(const char *ca_path);
struct bench_tls_ctx *bench_tls_client(const char *ca_path);

void bench_tls_ctx_free(struct bench_tls_ctx *ctx);

/* A client's connections from now on bring the newest ticket of those before them. */
void bench_tls_resume(struct bench_tls_ctx *ctx);
bool bench_tls_is_resumed(const struct bench_tls *tls);

struct bench_tls *bench_tls_open(struct bench_tls_ctx *ctx, int fd, bool is_server);

/* 1: done; 0: wants to read; -1: wants to write; else the end with a message on standard error. */
int bench_tls_handshake(struct bench_tls *tls);

/* As read and write: -1 with errno EAGAIN when the socket has to be waited for. */
ssize_t bench_tls_read(struct bench_tls *tls, void *into, size_t len);
ssize_t bench_tls_write(struct bench_tls *tls, const void *from, size_t len);

/* Bytes that were decrypted, or wait to be, without a read of the socket. */
bool bench_tls_pending(const struct bench_tls *tls);

void bench_tls_close(struct bench_tls *tls);

#endif
