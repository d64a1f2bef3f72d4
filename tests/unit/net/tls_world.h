/* SPDX-License-Identifier: MIT */
/*
 * Two ends of TLS over a pipe on a fake clock, both ours, for the tests of endpoint_tls. One world a program.
 */
#ifndef TESTS_UNIT_NET_TLS_WORLD_H
#define TESTS_UNIT_NET_TLS_WORLD_H

#include "net/endpoint_tls.h"

#include <stdio.h>

#include "base/container.h"
#include "base/strbuf.h"
#include "net/endpoint_tls_parts.h"
#include "tests/support/certs.h"
#include "tests/unit/net/pipe_world.h"

#define WALL_S INT64_C(1800000000) /* 2027-01-15 08:00:00 UTC */
#define DAY_S  INT64_C(86400)

static struct cert *ca, *leaf;
static struct lull_credentials *client_side, *server_side;
static struct endpoint *client, *server; /* the ends of TLS over a and b */
static char text[512];

static inline struct lull_credentials *credentials(const struct lull_credentials_options *options)
{
    struct lull_credentials *made;
    struct lull_error error;
    ck_assert_msg(lull_credentials_new(options, &made, &error) == LULL_OK, "%s", error.text);
    return made;
}

static inline void make_credentials(const char *alt_names)
{
    struct lull_credentials_options options;
    ca = cert_ca("lull test CA", WALL_S);
    leaf = cert_usual("leaf", alt_names, ca, WALL_S);
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(ca);
    client_side = credentials(&options);
    lull_credentials_options_init(&options);
    options.identity.chain_pem = cert_pem(leaf);
    options.identity.key_pem = cert_key_pem(leaf);
    server_side = credentials(&options);
}

static inline void drop_credentials(void)
{
    lull_credentials_unref(client_side);
    lull_credentials_unref(server_side);
    cert_free(leaf);
    cert_free(ca);
}

/* As an owner does: it looks once at what it is told and asks for no more. */
static inline void begin_tls(struct pipe_options options, const char *authority)
{
    begin(options);
    lull_fake_clock_set_wall(&clock_, WALL_S * LULL_SECOND);
    ck_assert_int_eq(endpoint_tls_client(NULL, a, client_side, authority, &client), 0);
    ck_assert_int_eq(endpoint_tls_server(NULL, b, server_side, &server), 0);
    client->owner = &heard_a;
    client->on_ready = hear_once;
    server->owner = &heard_b;
    server->on_ready = hear_once;
}

static inline void end_tls(void)
{
    endpoint_close(client);
    endpoint_close(server);
    run();
    lull_executor_leave(x);
    lull_executor_free(x);
}

/* Runs until the client has heard of its handshake: that it has begun, and that it is over. */
static inline enum io shake_hands(void)
{
    ck_assert_int_eq(endpoint_want(server, LULL_WANT_READ), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(endpoint_want(client, LULL_WANT_WRITE), 0);
        run();
    }
    return endpoint_finish_connect(client);
}

static inline const char *failure(const struct endpoint *end)
{
    endpoint_error_text(end, text, sizeof(text));
    return text;
}

static inline const char *about(const struct endpoint *end)
{
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    endpoint_describe(end, &sb);
    return text;
}

static inline size_t write_all(struct endpoint *to, const char *bytes, size_t len)
{
    struct io_piece piece = {bytes, len};
    size_t wrote;
    ck_assert_int_eq(endpoint_writev(to, &piece, 1, &wrote), IO_OK);
    return wrote;
}

static inline void expect_read(struct endpoint *from, const char *expected)
{
    char got[256];
    size_t len;
    ck_assert_int_eq(endpoint_read(from, got, sizeof(got), &len), IO_OK);
    ck_assert_uint_eq(len, strlen(expected));
    ck_assert_mem_eq(got, expected, len);
}

static inline struct lull_credentials_stats stats(struct lull_credentials *of)
{
    struct lull_credentials_stats out = {.size = sizeof(out)};
    lull_credentials_stats(of, &out);
    return out;
}

#endif
