/* SPDX-License-Identifier: MIT */
#include "net/dial.h"

#include "net/endpoint_tcp.h"

static int dial_tcp(struct lull_dialer *dialer, struct lull_loop *loop,
                    struct lull_executor *executor, const struct addr *to, struct endpoint **out)
{
    (void)dialer;
    return endpoint_tcp_dial(loop, executor, to, out);
}

static const struct dialer_ops tcp_ops = {.dial = dial_tcp};

struct lull_dialer *dialer_tcp(void)
{
    static struct lull_dialer dialer = {.ops = &tcp_ops};

    return &dialer;
}
