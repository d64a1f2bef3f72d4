/* SPDX-License-Identifier: MIT */
/*
 * src/server/listener.c: real sockets of this machine, a loop that the test turns by hand, a fake clock, and an accept4 of the test's own that
 * can run out of descriptors (tests/integ/server_test.c does so in earnest).
 */
#include "server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lull/clock.h"
#include "lull/server.h"
#include "server/server.h"
#include "tests/support/check_main.h"

#define WATCHES_MAX 512

static struct lull_fake_clock clock_of_test;
static struct lull_loop loop;
static struct lull_watch *watches[WATCHES_MAX];
static size_t watch_count;
static int watch_errno;
static struct lull_server_options options;
static struct lull_server *server;
static struct lull_error error;

/* ---- accepting, in the place of libc's */

static unsigned accepts_left;
static int accept_errno;

/* libc declares its own only to those who ask for more than POSIX. */
int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags);

int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags)
{
    if (accepts_left == 0) {
        errno = accept_errno;
        return -1;
    }
    const int accepted = accept(fd, peer, len);
    if (accepted >= 0) {
        accepts_left--;
        ck_assert_int_eq(flags, SOCK_NONBLOCK | SOCK_CLOEXEC);
        ck_assert_int_eq(fcntl(accepted, F_SETFL, O_NONBLOCK), 0);
        ck_assert_int_eq(fcntl(accepted, F_SETFD, FD_CLOEXEC), 0);
    }
    return accepted;
}

/* ---- the loop */

static int watch(struct lull_loop *l, struct lull_watch *w, unsigned want)
{
    size_t i = 0;
    (void)l;
    if (watch_errno != 0 && want != LULL_WANT_NONE) {
        return watch_errno;
    }
    while (i < watch_count && watches[i] != w) {
        i++;
    }
    if (i == watch_count) {
        ck_assert_uint_lt(watch_count, WATCHES_MAX);
        watches[watch_count++] = w;
    }
    if (want == LULL_WANT_NONE) {
        watches[i] = watches[--watch_count];
    }
    return 0;
}

static int no_alarm(struct lull_loop *l, struct lull_instant at)
{
    (void)l;
    (void)at;
    return 0;
}

static void no_wake(struct lull_loop *l)
{
    (void)l;
}

static const struct lull_loop_ops loop_ops = {
    .watch = watch, .alarm = no_alarm, .wake = no_wake, .soon = no_wake};

/* Reports what the sockets are ready for, and runs turns. Returns how many there were. */
static size_t turn(void)
{
    size_t reported = 0;
    for (size_t i = 0; i < watch_count; i++) {
        struct pollfd polled = {.fd = watches[i]->fd, .events = POLLIN};
        if ((watches[i]->want & LULL_WANT_READ) != 0 && poll(&polled, 1, 0) == 1) {
            lull_watch_ready(&loop, watches[i], LULL_WANT_READ);
            reported++;
        }
    }
    lull_fake_clock_settle(&clock_of_test);
    return reported;
}

static void set_up(void)
{
    struct lull_executor_options executor;
    watch_count = 0;
    watch_errno = 0;
    accepts_left = UINT_MAX;
    accept_errno = EMFILE;
    lull_fake_clock_init(&clock_of_test, 0, 0);
    lull_executor_options_init(&executor);
    executor.clock = &clock_of_test.base;
    ck_assert_int_eq(lull_loop_init(&loop, &loop_ops, "by hand", &executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(loop.executor, &clock_of_test), LULL_OK);
    lull_server_options_init(&options);
    options.loop = &loop;
    ck_assert_int_eq(lull_server_new(&options, &server, NULL), LULL_OK);
}

static void tear_down(void)
{
    lull_server_free(server);
    lull_fake_clock_settle(&clock_of_test);
    ck_assert_uint_eq(watch_count, 0);
    lull_loop_fini(&loop);
}

static void listen_at(const char *address)
{
    ck_assert_msg(lull_server_listen(server, address, &error) == LULL_OK, "%s", error.text);
}

/* A client's socket, connected to a port of 127.0.0.1 as far as the system is concerned. */
static int dial(const char *address)
{
    struct sockaddr_in to;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(&to, 0, sizeof(to));
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static struct lull_server_stats stats(void)
{
    struct lull_server_stats s = {.size = sizeof(s)};
    lull_server_stats(server, &s);
    return s;
}

/* ---- where */

START_TEST(port_0_is_chosen_and_told_in_every_notation)
{
    static const char *const notations[][2] = {
        {"127.0.0.1:0", "127.0.0.1:"},
        {"localhost:0", "127.0.0.1:"},
        {"ipv4:127.0.0.1:0", "127.0.0.1:"},
        {"dns:///127.0.0.1:0", "127.0.0.1:"},
        {"[::1]:0", "[::1]:"},
        {"ipv6:[::1]:0", "[::1]:"},
    };
    set_up();
    for (size_t i = 0; i < sizeof(notations) / sizeof(notations[0]); i++) {
        const int rc = lull_server_listen(server, notations[i][0], &error);
        if (rc == LULL_RC_SYSTEM && strstr(notations[i][0], "::1") != NULL) {
            break; /* a machine without IPv6 */
        }
        ck_assert_msg(rc == LULL_OK, "%s: %s", notations[i][0], error.text);
        const char *address = lull_server_address(server, i);
        ck_assert_ptr_nonnull(address);
        ck_assert_msg(strncmp(address, notations[i][1], strlen(notations[i][1])) == 0, "%s",
                      address);
        ck_assert_int_gt(atoi(strrchr(address, ':') + 1), 0);
    }
    ck_assert_ptr_null(lull_server_address(server, 100));
    tear_down();
}
END_TEST

START_TEST(an_address_in_use_is_an_error_that_names_it)
{
    char address[128];
    set_up();
    listen_at("127.0.0.1:0");
    snprintf(address, sizeof(address), "%s", lull_server_address(server, 0));
    ck_assert_int_eq(lull_server_listen(server, address, &error), LULL_RC_SYSTEM);
    ck_assert_int_eq(error.sys_errno, EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(error.text, address));
    ck_assert_ptr_null(lull_server_address(server, 1));
    tear_down();
}
END_TEST

START_TEST(a_unix_socket_has_a_path_while_it_listens)
{
    char directory[] = "/tmp/lull-listener-XXXXXX";
    char address[128];
    struct stat there;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(address, sizeof(address), "unix:%s/s", directory);
    set_up();
    listen_at(address);
    ck_assert_str_eq(lull_server_address(server, 0), address);
    ck_assert_int_eq(stat(address + 5, &there), 0);
    ck_assert(S_ISSOCK(there.st_mode));
    ck_assert_int_eq(lull_server_listen(server, address, &error), LULL_RC_SYSTEM);
    /* The one that failed must not take the other's path. */
    ck_assert_int_eq(stat(address + 5, &there), 0);
    lull_server_shutdown(server, 0, NULL, NULL);
    ck_assert_int_eq(stat(address + 5, &there), -1);
    ck_assert_ptr_null(lull_server_address(server, 0));
    tear_down();
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(a_loop_that_cannot_watch_leaves_nothing_behind)
{
    char directory[] = "/tmp/lull-listener-XXXXXX";
    char address[128];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(address, sizeof(address), "unix:%s/s", directory);
    set_up();
    watch_errno = ENOSPC;
    ck_assert_int_eq(lull_server_listen(server, address, &error), LULL_RC_SYSTEM);
    ck_assert_int_eq(error.sys_errno, ENOSPC);
    tear_down();
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

/* ---- accepting */

START_TEST(connections_are_taken_some_at_a_time)
{
    int fds[LISTENER_ACCEPTS_MAX + 10];
    const size_t count = sizeof(fds) / sizeof(fds[0]);
    set_up();
    listen_at("127.0.0.1:0");
    for (size_t i = 0; i < count; i++) {
        fds[i] = dial(lull_server_address(server, 0));
    }
    ck_assert_uint_eq(turn(), 1);
    ck_assert_uint_eq(stats().connections, LISTENER_ACCEPTS_MAX);
    turn();
    ck_assert_uint_eq(stats().connections, count);
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
    while (turn() > 0) {
    }
    ck_assert_uint_eq(stats().connections, 0);
    ck_assert_uint_eq(stats().connections_made, count);
    tear_down();
}
END_TEST

START_TEST(a_silent_listener_takes_nobody_and_refuses_nobody)
{
    set_up();
    listen_at("127.0.0.1:0");
    lull_server_set_silent(server, true);
    const int fd = dial(lull_server_address(server, 0));
    ck_assert_uint_eq(turn(), 0);
    ck_assert_uint_eq(stats().connections, 0);
    lull_server_set_silent(server, false);
    turn();
    ck_assert_uint_eq(stats().connections, 1);
    close(fd);
    tear_down();
}
END_TEST

START_TEST(without_descriptors_it_does_not_spin_and_looks_again_after_a_second)
{
    int fds[3];
    set_up();
    listen_at("127.0.0.1:0");
    for (int i = 0; i < 3; i++) {
        fds[i] = dial(lull_server_address(server, 0));
    }
    accepts_left = 1;
    turn();
    ck_assert_uint_eq(stats().connections, 1);
    ck_assert_uint_eq(stats().accept_pauses, 1);
    /* The socket is readable and nobody watches it. */
    ck_assert_uint_eq(turn(), 0);
    lull_fake_clock_advance(&clock_of_test, LISTENER_PAUSE_NS - 1);
    ck_assert_uint_eq(turn(), 0);
    lull_fake_clock_advance(&clock_of_test, 1);
    ck_assert_uint_eq(turn(), 1);
    ck_assert_uint_eq(stats().accept_pauses, 2);
    ck_assert_uint_eq(stats().connections, 1);
    accepts_left = UINT_MAX;
    lull_fake_clock_advance(&clock_of_test, LISTENER_PAUSE_NS);
    turn();
    ck_assert_uint_eq(stats().connections, 3);
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
    }
    tear_down();
}
END_TEST

START_TEST(a_connection_that_closes_ends_the_pause)
{
    int fds[2];
    set_up();
    listen_at("127.0.0.1:0");
    for (int i = 0; i < 2; i++) {
        fds[i] = dial(lull_server_address(server, 0));
    }
    accepts_left = 1;
    turn();
    ck_assert_uint_eq(stats().connections, 1);
    ck_assert_uint_eq(stats().accept_pauses, 1);
    ck_assert_int_eq(shutdown(fds[0], SHUT_RDWR), 0);
    turn(); /* the close is heard */
    ck_assert_uint_eq(stats().connections, 0);
    accepts_left = 1;
    turn();
    ck_assert_uint_eq(stats().connections, 1);
    ck_assert_uint_eq(stats().connections_made, 2);
    close(fds[0]);
    close(fds[1]);
    tear_down();
}
END_TEST

/* Linux tells of a connection's own errors at accept, too. */
START_TEST(a_connection_that_died_in_the_queue_pauses_nothing)
{
    static const int errnos[] = {ECONNABORTED, EPROTO, EPERM, EHOSTUNREACH};
    set_up();
    listen_at("127.0.0.1:0");
    for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
        const int fd = dial(lull_server_address(server, 0));
        accepts_left = 0;
        accept_errno = errnos[i];
        turn();
        ck_assert_uint_eq(stats().accept_pauses, 0);
        accepts_left = UINT_MAX;
        ck_assert_uint_ge(turn(), 1);
        ck_assert_uint_eq(stats().connections_made, i + 1);
        close(fd);
    }
    tear_down();
}
END_TEST

START_TEST(a_watch_that_fails_later_is_tried_again)
{
    set_up();
    listen_at("127.0.0.1:0");
    lull_server_set_silent(server, true);
    watch_errno = ENOMEM;
    lull_server_set_silent(server, false);
    const int fd = dial(lull_server_address(server, 0));
    ck_assert_uint_eq(turn(), 0);
    watch_errno = 0;
    lull_fake_clock_advance(&clock_of_test, LISTENER_PAUSE_NS);
    ck_assert_uint_eq(turn(), 1);
    ck_assert_uint_eq(stats().connections, 1);
    close(fd);
    tear_down();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/listener");
    TCase *t = tcase_create("listener");
    tcase_add_test(t, port_0_is_chosen_and_told_in_every_notation);
    tcase_add_test(t, an_address_in_use_is_an_error_that_names_it);
    tcase_add_test(t, a_unix_socket_has_a_path_while_it_listens);
    tcase_add_test(t, a_loop_that_cannot_watch_leaves_nothing_behind);
    tcase_add_test(t, connections_are_taken_some_at_a_time);
    tcase_add_test(t, a_silent_listener_takes_nobody_and_refuses_nobody);
    tcase_add_test(t, without_descriptors_it_does_not_spin_and_looks_again_after_a_second);
    tcase_add_test(t, a_connection_that_closes_ends_the_pause);
    tcase_add_test(t, a_connection_that_died_in_the_queue_pauses_nothing);
    tcase_add_test(t, a_watch_that_fails_later_is_tried_again);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/listener", suite)
