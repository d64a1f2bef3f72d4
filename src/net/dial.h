/* SPDX-License-Identifier: MIT */
/*
 * The dialling seam: one connection attempt to one address. Who dials again, and when, is the
 * subchannel's business.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "lull/world.h"
#include "net/endpoint.h"
#include "net/endpoint_tcp.h"

struct dialer_ops {
    /*
     * Starts to connect. On 0 *out is an endpoint that will tell LULL_WANT_WRITE when
     * finish_connect is worth asking (want is set by the owner); else an errno, and nothing was
     * made.
     */
    int (*dial)(struct lull_dialer *dialer, struct lull_loop *loop, struct lull_executor *executor,
                const struct addr *to, struct endpoint **out);
};

struct lull_dialer {
    const struct dialer_ops *ops;
};

/* Dials with real sockets. Static. */
struct lull_dialer *dialer_tcp(void);

/* Dials as dialer_tcp does, with sockets that a hook has seen. */
struct dialer_hooked {
    struct lull_dialer base;
    struct socket_hook hook;
};

void dialer_hooked_init(struct dialer_hooked *dialer, int (*fn)(void *ctx, int fd), void *ctx);

struct lull_credentials;

/* Dials by another dialer and shakes hands over that. */
struct dialer_tls {
    struct lull_dialer base;
    struct lull_dialer *inner;
    struct lull_credentials *credentials;
    const char *authority; /* whose host the server must prove to be */
};

/* All [borrow], they outlive the dialer. */
void dialer_tls_init(struct dialer_tls *dialer, struct lull_dialer *inner,
                     struct lull_credentials *credentials, const char *authority);

#endif
