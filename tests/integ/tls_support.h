/* SPDX-License-Identifier: MIT */
/*
 * Channels with TLS on the real loop, for the tests of it: certificates of now, an echo server of
 * ours, a server of OpenSSL's alone, and calls that are waited for.
 */
#ifndef TESTS_INTEG_TLS_SUPPORT_H
#define TESTS_INTEG_TLS_SUPPORT_H

#include <lull/lull.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/certs.h"

#define TLS_TEXT 1400

/* One loop, one authority that everybody believes, one certificate of it for localhost. */
struct tls_world {
    struct lull_loop *loop;
    struct lull_server *server;
    struct cert *ca;
    struct cert *leaf;   /* DNS:localhost, DNS:svc.test, IP:127.0.0.1 */
    char connected[256]; /* the last LULL_EVENT_CONNECTED of a channel */
    char lost[512];      /* the last LULL_EVENT_LOST of the server */
    char warning[256];   /* the last LULL_EVENT_WARNING of a channel */
    char authority[128]; /* of the last call that came to the server */
    int64_t backoff_ns;  /* the first wait of tls_channel's channels; a millisecond unless it is changed */
    struct lull_resolver *resolve; /* [nullable] asked by tls_channel's channels instead of the system's */
    char message[TLS_TEXT];      /* the status message of the last tls_call that failed */
    struct lull_failure failure; /* of the last tls_call that failed; its texts are gone */
};

int64_t tls_now_s(void);

void tls_world_init(struct tls_world *world);
void tls_world_fini(struct tls_world *world);

/* Credentials of options; the test fails where they do not work. */
struct lull_credentials *tls_credentials(const struct lull_credentials_options *options);

/* Those that believe the world's authority. */
struct lull_credentials *tls_believing(const struct cert *ca);

/* Those that show a certificate. */
struct lull_credentials *tls_showing(const struct cert *leaf);

/* An echo server on 127.0.0.1 with credentials [nullable, given up]; its port. */
unsigned tls_serve(struct tls_world *world, struct lull_credentials *credentials);

/* A channel with credentials [nullable, given up]. */
struct lull_channel *tls_channel(struct tls_world *world, const char *target, const char *authority,
                                 struct lull_credentials *credentials);

/* A unary call with `len` bytes that come back; its status, and the failure's line in `line`
 * [nullable, TLS_TEXT bytes]. */
enum lull_code tls_call(struct tls_world *world, struct lull_channel *channel, size_t len,
                        char *line);

struct lull_credentials_stats tls_stats(struct lull_credentials *credentials);

/* A server of OpenSSL's own, on a thread, for one connection. */
struct raw_tls {
    const struct cert *leaf; /* what it shows */
    const char *alpn;        /* what it chooses, whatever is offered; NULL: nothing */
    const char *plain;       /* [nullable] speaks this and no TLS */
    size_t plain_len;        /* 0: of a string */
    int max_version;         /* 0: any */
    unsigned port;           /* out */
    long bytes;              /* out, when it is over: what came after the handshake */
    bool had_name;           /* out: the ClientHello had a server_name */
    char name[128];          /* out: which */
    int listener;
    void *thread;
};

void raw_tls_start(struct raw_tls *raw);

/* Waits for its end; the client has closed. */
void raw_tls_join(struct raw_tls *raw);

#endif
