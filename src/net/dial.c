/* SPDX-License-Identifier: MIT */
#include "net/dial.h"

#include "base/container.h"
#include "net/endpoint_tcp.h"
#include "net/endpoint_tls.h"

static int dial_tcp(struct lull_dialer *dialer, struct lull_loop *loop,
                    struct lull_executor *executor, const struct addr *to, struct endpoint **out)
{
    (void)dialer;
    return endpoint_tcp_dial(loop, executor, to, NULL, out);
}

static const struct dialer_ops tcp_ops = {.dial = dial_tcp};

struct lull_dialer *dialer_tcp(void)
{
    static struct lull_dialer dialer = {.ops = &tcp_ops};

    return &dialer;
}

static int dial_hooked(struct lull_dialer *base, struct lull_loop *loop,
                       struct lull_executor *executor, const struct addr *to, struct endpoint **out)
{
    return endpoint_tcp_dial(loop, executor, to, &container_of(base, struct dialer_hooked, base)->hook, out);
}

static const struct dialer_ops hooked_ops = {.dial = dial_hooked};

void dialer_hooked_init(struct dialer_hooked *dialer, int (*fn)(void *ctx, int fd), void *ctx)
{
    dialer->base.ops = &hooked_ops;
    dialer->hook.fn = fn;
    dialer->hook.ctx = ctx;
}

static int dial_tls(struct lull_dialer *base, struct lull_loop *loop,
                    struct lull_executor *executor, const struct addr *to, struct endpoint **out)
{
    const struct dialer_tls *dialer = container_of(base, struct dialer_tls, base);
    struct endpoint *inner;
    int err = dialer->inner->ops->dial(dialer->inner, loop, executor, to, &inner);

    if (err == 0) {
        err = endpoint_tls_client(loop, inner, dialer->credentials, dialer->authority, out);
        if (err != 0) {
            endpoint_close(inner);
        }
    }
    return err;
}

static const struct dialer_ops tls_ops = {.dial = dial_tls};

void dialer_tls_init(struct dialer_tls *dialer, struct lull_dialer *inner,
                     struct lull_credentials *credentials, const char *authority)
{
    dialer->base.ops = &tls_ops;
    dialer->inner = inner;
    dialer->credentials = credentials;
    dialer->authority = authority;
}
