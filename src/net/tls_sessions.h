/* SPDX-License-Identifier: MIT */
/*
 * TLS sessions of clients, kept from one connection to the next.
 *
 * Decides: how many are kept and which is offered: the newest of the same key, a ticket of TLS 1.3
 * once (RFC 8446 appendix C.4), none whose certificate has expired meanwhile, since a resumed
 * handshake shows none. Called by endpoint_tls, by any thread. Must not know connections.
 */
#ifndef NET_TLS_SESSIONS_H
#define NET_TLS_SESSIONS_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of all keys, and of one. */
#define TLS_SESSIONS_MAX     64
#define TLS_SESSIONS_PER_KEY 2

struct tls_sessions {
    pthread_mutex_t lock;
    size_t count;
    struct tls_session {
        char *key;
        SSL_SESSION *session;
    } kept[TLS_SESSIONS_MAX]; /* oldest first */
};

/* 0 or an errno. */
int tls_sessions_init(struct tls_sessions *sessions);
void tls_sessions_fini(struct tls_sessions *sessions);

/* Keeps a session [ref] under a key [borrow]; without memory it is not kept. */
void tls_sessions_put(struct tls_sessions *sessions, const char *key, SSL_SESSION *session);

/* A session [own] to offer at that wall time; NULL: none. */
SSL_SESSION *tls_sessions_take(struct tls_sessions *sessions, const char *key, int64_t wall_s);

/* The peer's certificate, if it showed one then, has not expired by now. */
bool tls_session_is_in_time(SSL_SESSION *session, int64_t wall_s);

size_t tls_sessions_count(struct tls_sessions *sessions);

#endif
