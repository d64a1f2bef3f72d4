/* SPDX-License-Identifier: MIT */
/* lull_channel_from_fd and our server at the two ends of a socketpair, with TLS over it and without. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/loop.h"
#include "net/dial_fd.h"
#include "net/endpoint_tcp.h"
#include "server/server.h"
#include "tests/integ/tls_support.h"
#include "tests/support/check_main.h"

static struct tls_world world;
static struct lull_channel *channel;
static char line[TLS_TEXT];
static int fd;

/* The far end is one that the server might have accepted. */
static void make_pair(void)
{
    struct lull_executor *executor = lull_loop_executor(world.loop);
    struct endpoint *far;
    struct addr peer;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(dial_fd_check(ends[1], &peer, NULL), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    ck_assert_int_eq(endpoint_tcp_adopt(world.loop, executor, ends[1], &peer, &far), 0);
    server_accept(world.server, far);
    lull_executor_leave(executor);
    fd = ends[0];
}

/* Both [nullable] are given up. */
static void begin(struct lull_credentials *servers, struct lull_credentials *clients, const char *authority)
{
    struct lull_channel_options options;
    struct lull_error error;

    (void)tls_serve(&world, servers);
    make_pair();
    lull_channel_options_init(&options);
    options.loop = world.loop;
    options.credentials = clients;
    options.authority = authority;
    ck_assert_msg(lull_channel_from_fd(fd, &options, &channel, &error) == LULL_OK, "%s", error.text);
    lull_credentials_unref(clients);
}

static void set_up(void)
{
    tls_world_init(&world);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    tls_world_fini(&world);
}

static void expect_shut_down(void)
{
    for (int i = 0; i < 100 && lull_channel_state(channel, false) != LULL_STATE_SHUTDOWN; i++) {
        ck_assert_int_eq(lull_loop_run_once(world.loop, 100 * LULL_MS), LULL_OK);
    }
    ck_assert_int_eq(lull_channel_state(channel, false), LULL_STATE_SHUTDOWN);
    ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
}

START_TEST(our_server_answers_over_a_socketpair)
{
    begin(NULL, NULL, NULL);
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_msg(tls_call(&world, channel, 1000000, line) == LULL_CODE_OK, "%s", line);
    lull_server_shutdown(world.server, LULL_SECOND, NULL, NULL);
    expect_shut_down();
}
END_TEST

START_TEST(tls_goes_over_it_for_the_authoritys_name)
{
    begin(tls_showing(world.leaf), tls_believing(world.ca), "svc.test");
    ck_assert_msg(tls_call(&world, channel, 5, line) == LULL_CODE_OK, "%s", line);
    ck_assert_msg(tls_call(&world, channel, 1000000, line) == LULL_CODE_OK, "%s", line);
}
END_TEST

START_TEST(a_name_that_the_server_has_not_is_the_end)
{
    begin(tls_showing(world.leaf), tls_believing(world.ca), "other.test");
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(world.failure.reason, LULL_REASON_TLS);
    ck_assert_msg(strstr(line, "hostname mismatch") != NULL, "%s", line);
    ck_assert_msg(strstr(line, "there is none to dial") != NULL, "%s", line);
    expect_shut_down();
}
END_TEST

START_TEST(plaintext_where_tls_is_expected_is_the_end)
{
    begin(tls_showing(world.leaf), NULL, NULL);
    ck_assert_int_eq(tls_call(&world, channel, 5, line), LULL_CODE_UNAVAILABLE);
    ck_assert_msg(strstr(line, "there is none to dial") != NULL, "%s", line);
    expect_shut_down();
}
END_TEST

static Suite *from_fd_tls_suite(void)
{
    Suite *suite = suite_create("from_fd_tls");
    TCase *cases = tcase_create("from_fd_tls");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, our_server_answers_over_a_socketpair);
    tcase_add_test(cases, tls_goes_over_it_for_the_authoritys_name);
    tcase_add_test(cases, a_name_that_the_server_has_not_is_the_end);
    tcase_add_test(cases, plaintext_where_tls_is_expected_is_the_end);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("from_fd_tls", from_fd_tls_suite)
