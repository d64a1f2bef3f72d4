/* SPDX-License-Identifier: MIT */
/*
 * TCP_USER_TIMEOUT on the kernel's own sockets, both ends, plain and TLS (scenario 129 in the form of RULINGS 7: the keepalive
 * timeout, else 20 s, from the connect on and before a write).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

#define FDS_MAX 256

static struct tls_world world;

/* The option of the connection's end at the server's port, or of the other one; -1: there is no such socket. */
static int user_timeout_ms(unsigned port, bool is_servers)
{
    for (int fd = 3; fd < FDS_MAX; fd++) {
        struct sockaddr_in here;
        struct sockaddr_in there;
        socklen_t here_len = sizeof(here);
        socklen_t there_len = sizeof(there);
        unsigned value = 0;
        socklen_t value_len = sizeof(value);
        if (getsockname(fd, (struct sockaddr *)&here, &here_len) != 0 ||
            getpeername(fd, (struct sockaddr *)&there, &there_len) != 0 ||
            here.sin_family != AF_INET ||
            ntohs(is_servers ? here.sin_port : there.sin_port) != port) {
            continue;
        }
        ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &value_len), 0);
        return (int)value;
    }
    return -1;
}

static void echo(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    ck_assert_int_eq(lull_server_call_send(call, message), LULL_OK);
}

static void finish(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
}

static unsigned serve(int64_t time_ns, int64_t timeout_ns, bool has_tls)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    lull_server_options_init(&options);
    options.loop = world.loop;
    options.credentials = has_tls ? tls_showing(world.leaf) : NULL;
    if (time_ns != 0) {
        options.keepalive_time_ns = time_ns;
        options.keepalive_timeout_ns = timeout_ns;
    }
    ck_assert_int_eq(lull_server_new(&options, &world.server, NULL), LULL_OK);
    lull_credentials_unref(options.credentials);
    lull_server_handler_init(&handler);
    handler.on_message = echo;
    handler.on_half_closed = finish;
    ck_assert_int_eq(lull_server_add(world.server, "", &handler, NULL), LULL_OK);
    ck_assert_int_eq(lull_server_listen(world.server, "127.0.0.1:0", NULL), LULL_OK);
    return (unsigned)atoi(strrchr(lull_server_address(world.server, 0), ':') + 1);
}

static struct lull_channel *dial(unsigned port, int64_t time_ns, int64_t timeout_ns, bool has_tls)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%u", port);
    lull_channel_options_init(&options);
    options.loop = world.loop;
    options.credentials = has_tls ? tls_believing(world.ca) : NULL;
    if (time_ns != 0) {
        options.keepalive_time_ns = time_ns;
        options.keepalive_timeout_ns = timeout_ns;
    }
    ck_assert_int_eq(lull_channel_new(target, &options, &channel, NULL), LULL_OK);
    lull_credentials_unref(options.credentials);
    return channel;
}

struct row {
    int64_t time_ns, timeout_ns; /* of both ends; 0: the defaults */
    int client_ms, server_ms;
};

static const struct row rows[] = {
    {10 * LULL_SECOND, 10 * LULL_SECOND, 10000, 10000},
    {0, 0, 20000, 20000}, /* the client's keepalive is off: 20 s all the same */
    {10 * LULL_SECOND, 7 * LULL_SECOND, 7000, 7000},
    {LULL_NEVER, LULL_NEVER, 20000, 20000},
};

START_TEST(the_kernel_has_the_write_timeout_of_both_ends)
{
    const struct row *row = &rows[_i / 2];
    const bool has_tls = _i % 2 == 1;
    char line[TLS_TEXT];
    tls_world_init(&world);
    unsigned port = serve(row->time_ns, row->timeout_ns, has_tls);
    struct lull_channel *channel = dial(port, row->time_ns, row->timeout_ns, has_tls);
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_int_eq(user_timeout_ms(port, false), row->client_ms);
    ck_assert_int_eq(user_timeout_ms(port, true), row->server_ms);
    lull_channel_unref(channel);
    tls_world_fini(&world);
}
END_TEST

static Suite *user_timeout_suite(void)
{
    Suite *suite = suite_create("integ/user_timeout");
    TCase *tcase = tcase_create("user_timeout");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_kernel_has_the_write_timeout_of_both_ends, 0,
                        2 * (int)(sizeof(rows) / sizeof(rows[0])));
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("integ/user_timeout", user_timeout_suite)
