/* SPDX-License-Identifier: MIT */
/* src/net/dial_fd.c: which descriptors will do, what is said of the others, and who closes one. */
#include "net/dial_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop/loop.h"
#include "tests/support/check_main.h"

static struct lull_error error;
static struct addr peer;

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Refused, for the reason that is written; "%d" is its number. What it is stays as it was. */
static void expect_refused(int fd, const char *reason)
{
    char text[200];
    const int descriptor_flags = fcntl(fd, F_GETFD);
    const int flags = fcntl(fd, F_GETFL);

    (void)snprintf(text, sizeof(text), "fd %d %s", fd, reason);
    ck_assert_int_eq(dial_fd_check(fd, &peer, &error), LULL_RC_INVALID);
    ck_assert_int_eq(error.rc, LULL_RC_INVALID);
    ck_assert_str_eq(error.text, text);
    ck_assert_int_eq(fcntl(fd, F_GETFD), descriptor_flags);
    ck_assert_int_eq(fcntl(fd, F_GETFL), flags);
    if (fd >= 0) {
        close(fd);
    }
}

static int make_socket(int family, int type)
{
    const int fd = socket(family, type, 0);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static int bind_loopback(int fd, struct addr *at)
{
    socklen_t len = sizeof(at->storage);

    ck_assert(addr_from_ip(at, "127.0.0.1", 0));
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at->storage, at->len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at->storage, &len), 0);
    return fd;
}

static int make_listener(struct addr *at)
{
    const int fd = bind_loopback(make_socket(AF_INET, SOCK_STREAM), at);

    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

START_TEST(what_is_no_connection_is_refused_with_what_it_is)
{
    struct addr at;
    int ends[2];

    expect_refused(-1, "is not open");
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[1]);
    expect_refused(ends[0], "is no socket");
    expect_refused(make_socket(AF_INET, SOCK_DGRAM), "is a socket of datagrams: a stream is needed");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    close(ends[1]);
    expect_refused(ends[0], "is a socket of packets: a stream is needed");
    expect_refused(make_listener(&at), "listens: a connection that it has accepted is needed");
    expect_refused(make_socket(AF_INET, SOCK_STREAM),
                   "is not connected: its connect was not asked for, is not over, or has failed");
    expect_refused(make_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK),
                   "is not connected: its connect was not asked for, is not over, or has failed");
}
END_TEST

START_TEST(a_number_that_is_closed_is_not_open)
{
    const int fd = make_socket(AF_INET, SOCK_STREAM);

    close(fd);
    ck_assert_int_eq(dial_fd_check(fd, &peer, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(dial_fd_check(fd, &peer, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "is not open"));
}
END_TEST

START_TEST(a_connection_to_an_address_is_called_by_both)
{
    struct addr at, named;
    char text[ADDR_TEXT_BYTES + 24];
    const int listener = make_listener(&at);
    const int fd = make_socket(AF_INET, SOCK_STREAM);

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at.storage, at.len), 0);
    ck_assert_int_eq(dial_fd_check(fd, &peer, &error), LULL_OK);
    addr_from_sockaddr(&named, (const struct sockaddr *)&at.storage, at.len);
    (void)snprintf(text, sizeof(text), "fd:%d (%s)", fd, named.text);
    ck_assert_str_eq(peer.text, text);
    ck_assert_int_eq(peer.storage.ss_family, AF_INET);
    close(fd);
    close(listener);
}
END_TEST

START_TEST(one_of_a_pair_is_called_by_its_number)
{
    char name[DIAL_FD_NAME_BYTES];
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(dial_fd_check(ends[0], &peer, &error), LULL_OK);
    dial_fd_name(ends[0], name);
    ck_assert_str_eq(peer.text, name);
    ck_assert_int_eq(peer.storage.ss_family, AF_UNIX);
    close(ends[0]);
    close(ends[1]);
    dial_fd_name(INT32_MIN, name);
    ck_assert_str_eq(name, "fd:-2147483648");
}
END_TEST

/* ---- dialling */

static struct lull_loop *loop;
static struct lull_executor *executor;
static struct dialer_fd dialer;
static int pair[2];

/* One that blocks, as most are made. */
static void set_up(void)
{
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK); /* its own descriptors are open from now on */
    executor = lull_loop_executor(loop);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(dial_fd_check(pair[0], &peer, &error), LULL_OK);
    dialer_fd_init(&dialer);
    dialer_fd_take(&dialer, executor, pair[0]);
}

static void tear_down(void)
{
    dialer_fd_drop(&dialer, executor);
    lull_executor_leave(executor);
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK);
    ck_assert(!is_open(pair[0]));
    close(pair[1]);
    lull_loop_free(loop);
}

static int dial(struct endpoint **out)
{
    return dialer.base.ops->dial(&dialer.base, loop, executor, &peer, out);
}

START_TEST(it_dials_once_and_does_not_block)
{
    struct endpoint *endpoint, *second = NULL;

    ck_assert_int_ne(fcntl(pair[0], F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_int_eq(dial(&endpoint), 0);
    ck_assert_int_ne(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_eq(endpoint_finish_connect(endpoint), IO_OK);
    ck_assert_int_eq(dial(&second), EBADF);
    ck_assert_ptr_null(second);
    /* It is the endpoint's now. */
    dialer_fd_drop(&dialer, executor);
    ck_assert(is_open(pair[0]));
    endpoint_close(endpoint);
}
END_TEST

START_TEST(what_was_not_dialled_is_closed_once)
{
    int reused;

    dialer_fd_drop(&dialer, executor);
    ck_assert(!is_open(pair[0]));
    reused = dup(pair[1]);
    ck_assert_int_eq(reused, pair[0]); /* the lowest that is free */
    dialer_fd_drop(&dialer, executor);
    ck_assert(is_open(reused));
    close(reused);
}
END_TEST

START_TEST(without_one_there_is_nothing_to_dial)
{
    struct endpoint *endpoint = NULL;

    dialer_fd_drop(&dialer, executor);
    ck_assert_int_eq(dial(&endpoint), EBADF);
    ck_assert_ptr_null(endpoint);
}
END_TEST

/* Somebody closed it behind our back. */
START_TEST(one_that_is_gone_by_then_is_an_errno)
{
    struct endpoint *endpoint = NULL;

    close(pair[0]);
    ck_assert_int_eq(dial(&endpoint), EBADF);
    ck_assert_ptr_null(endpoint);
}
END_TEST

static Suite *dial_fd_suite(void)
{
    Suite *suite = suite_create("dial_fd");
    TCase *checks = tcase_create("checks");
    TCase *dials = tcase_create("dials");

    tcase_add_test(checks, what_is_no_connection_is_refused_with_what_it_is);
    tcase_add_test(checks, a_number_that_is_closed_is_not_open);
    tcase_add_test(checks, a_connection_to_an_address_is_called_by_both);
    tcase_add_test(checks, one_of_a_pair_is_called_by_its_number);
    suite_add_tcase(suite, checks);
    tcase_add_checked_fixture(dials, set_up, tear_down);
    tcase_add_test(dials, it_dials_once_and_does_not_block);
    tcase_add_test(dials, what_was_not_dialled_is_closed_once);
    tcase_add_test(dials, without_one_there_is_nothing_to_dial);
    tcase_add_test(dials, one_that_is_gone_by_then_is_an_errno);
    suite_add_tcase(suite, dials);
    return suite;
}

LULL_TEST_MAIN("dial_fd", dial_fd_suite)
