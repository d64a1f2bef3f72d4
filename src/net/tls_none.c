/* SPDX-License-Identifier: MIT */
/*
 * A library without TLS: no credentials are made, so nobody has any.
 */
#include <errno.h>

#include "base/rc.h"
#include "net/endpoint_tls.h"

int lull_credentials_new(const struct lull_credentials_options *options,
                         struct lull_credentials **out, struct lull_error *error)
{
    (void)options;
    (void)out;
    return rc_fail(error, LULL_RC_UNSUPPORTED,
                   "no TLS: this library was built with --without-openssl");
}

void lull_credentials_ref(struct lull_credentials *credentials)
{
    (void)credentials;
}

void lull_credentials_unref(struct lull_credentials *credentials)
{
    (void)credentials;
}

void lull_credentials_stats(struct lull_credentials *credentials,
                            struct lull_credentials_stats *out)
{
    (void)credentials;
    out->size = 0;
}

int endpoint_tls_client(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, const char *authority,
                        struct endpoint **out)
{
    (void)loop;
    (void)inner;
    (void)credentials;
    (void)authority;
    (void)out;
    return EPROTONOSUPPORT;
}

int endpoint_tls_server(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, struct endpoint **out)
{
    (void)loop;
    (void)inner;
    (void)credentials;
    (void)out;
    return EPROTONOSUPPORT;
}

bool tls_can_serve(const struct lull_credentials *credentials)
{
    (void)credentials;
    return false;
}

bool tls_is_insecure(const struct lull_credentials *credentials)
{
    (void)credentials;
    return false;
}
