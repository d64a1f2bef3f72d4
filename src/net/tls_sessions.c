/* SPDX-License-Identifier: MIT */
/*
 * See tls_sessions.h.
 */
#include "net/tls_sessions.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

int tls_sessions_init(struct tls_sessions *sessions)
{
    sessions->count = 0;
    return pthread_mutex_init(&sessions->lock, NULL);
}

/* Takes kept[i] out; its key is freed, its session handed over. */
static SSL_SESSION *take_out(struct tls_sessions *sessions, size_t i)
{
    SSL_SESSION *session = sessions->kept[i].session;
    mem_release(NULL, sessions->kept[i].key);
    sessions->count--;
    memmove(&sessions->kept[i], &sessions->kept[i + 1],
            (sessions->count - i) * sizeof(sessions->kept[0]));
    return session;
}

void tls_sessions_fini(struct tls_sessions *sessions)
{
    while (sessions->count > 0) {
        SSL_SESSION_free(take_out(sessions, sessions->count - 1));
    }
    (void)pthread_mutex_destroy(&sessions->lock);
}

/* Room for one more under this key. */
static void make_room(struct tls_sessions *sessions, const char *key)
{
    size_t same = 0;
    for (size_t i = sessions->count; i-- > 0;) {
        if (strcmp(sessions->kept[i].key, key) == 0 && ++same >= TLS_SESSIONS_PER_KEY) {
            SSL_SESSION_free(take_out(sessions, i));
        }
    }
    if (sessions->count == TLS_SESSIONS_MAX) {
        SSL_SESSION_free(take_out(sessions, 0));
    }
}

void tls_sessions_put(struct tls_sessions *sessions, const char *key, SSL_SESSION *session)
{
    size_t size = strlen(key) + 1;
    char *copy = (char *)mem_alloc(NULL, size);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, key, size);
    (void)SSL_SESSION_up_ref(session);
    (void)pthread_mutex_lock(&sessions->lock);
    make_room(sessions, key);
    sessions->kept[sessions->count++] = (struct tls_session){copy, session};
    (void)pthread_mutex_unlock(&sessions->lock);
}

bool tls_session_is_in_time(SSL_SESSION *session, int64_t wall_s)
{
    time_t at = (time_t)wall_s;
    X509 *peer = SSL_SESSION_get0_peer(session);
    return peer == NULL || X509_cmp_time(X509_get0_notAfter(peer), &at) > 0;
}

static bool is_good(SSL_SESSION *session, int64_t wall_s)
{
    return SSL_SESSION_is_resumable(session) == 1 && tls_session_is_in_time(session, wall_s);
}

SSL_SESSION *tls_sessions_take(struct tls_sessions *sessions, const char *key, int64_t wall_s)
{
    SSL_SESSION *found = NULL;
    (void)pthread_mutex_lock(&sessions->lock);
    for (size_t i = sessions->count; i-- > 0 && found == NULL;) {
        SSL_SESSION *session = sessions->kept[i].session;
        if (strcmp(sessions->kept[i].key, key) != 0) {
            continue;
        }
        if (!is_good(session, wall_s)) {
            SSL_SESSION_free(take_out(sessions, i));
        } else if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION) {
            found = take_out(sessions, i);
        } else {
            (void)SSL_SESSION_up_ref(session);
            found = session;
        }
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    return found;
}

size_t tls_sessions_count(struct tls_sessions *sessions)
{
    (void)pthread_mutex_lock(&sessions->lock);
    size_t count = sessions->count;
    (void)pthread_mutex_unlock(&sessions->lock);
    return count;
}
