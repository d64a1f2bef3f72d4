/* SPDX-License-Identifier: MIT */
/* Descriptors on a host's loop: many that come and go, none left, none at all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integ/adapter_support.h"

static void close_channel(void)
{
    lull_channel_close(channel);
}

static bool is_server_empty(void)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};

    lull_server_stats(server, &stats);
    return stats.connections == 0;
}

START_TEST(descriptors_come_and_go)
{
    int fds;

    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    lull_channel_enter_idle(channel);
    run_until(is_server_empty);
    fds = count_fds();
    for (int i = 0; i < 100; i++) {
        /* The descriptor's number is that of the connection before, closed in a callback and replaced in the same turn. */
        outcome.in_closed = i % 2 == 0 ? NULL : close_channel;
        start_call(ECHO_METHOD, LULL_MINUTE);
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_OK);
        forget_call();
        lull_channel_unref(channel);
        channel = make_channel(loop, lull_server_address(server, 0), NULL);
    }
    outcome.in_closed = NULL;
    run_until(is_server_empty);
    ck_assert_int_eq(count_fds(), fds);
    tear_down();
}
END_TEST

#define FDS_MOST 256

/* All that the limit allows are taken. (A limit below what is open would be another thing: poll refuses to work then.) */
static void with_no_descriptor_left(void (*what)(void))
{
    struct rlimit limit, low;
    int taken[FDS_MOST];
    size_t count = 0;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = FDS_MOST;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (count < FDS_MOST && (taken[count] = dup(0)) >= 0) {
        count++;
    }
    what();
    while (count > 0) {
        close(taken[--count]);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void fail_a_call(void)
{
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
}

/* EMFILE is a failed attempt with a reason, and not the end of the channel. */
START_TEST(a_dial_without_descriptors_fails_and_the_channel_recovers)
{
    const struct lull_instant give_up_at = lull_instant_add(now(), PATIENCE_NS);

    set_up(NULL);
    host->round(0);
    with_no_descriptor_left(fail_a_call);
    ck_assert_int_eq(outcome.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(outcome.reason, LULL_REASON_CONNECT);
    lull_channel_reset_backoff(channel);
    while (outcome.code != LULL_CODE_OK && lull_instant_before(now(), give_up_at)) {
        start_call(ECHO_METHOD, LULL_MINUTE);
        run_until(is_closed);
        host->round(50 * LULL_MS);
    }
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

/* ---- sockets that the application sees */

static unsigned hooked;
static int hook_errno;

static int on_socket(void *ctx, int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    const int bytes = 4096;

    ck_assert_ptr_eq(ctx, &hooked);
    ck_assert_int_ne(getpeername(fd, (struct sockaddr *)&peer, &len), 0); /* not connected yet */
    hooked++;
    return hook_errno != 0 ? hook_errno : setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static char failure[512];

static void on_event(void *ctx, const struct lull_event *event)
{
    (void)ctx;
    if (event->kind == LULL_EVENT_DIAL_FAILED) {
        snprintf(failure, sizeof(failure), "%s", event->detail);
    }
}

static void see_sockets(struct lull_channel_options *options)
{
    options->on_socket = on_socket;
    options->on_socket_ctx = &hooked;
    options->trace.event = on_event;
}

START_TEST(a_socket_is_seen_before_it_connects)
{
    hooked = 0;
    hook_errno = 0;
    set_up(see_sockets);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    ck_assert_uint_eq(hooked, 1);
    tear_down();
}
END_TEST

START_TEST(a_socket_that_the_application_refuses_is_a_failed_attempt_with_its_errno)
{
    int fds;

    hooked = 0;
    hook_errno = EPERM;
    failure[0] = '\0';
    set_up(see_sockets);
    fds = count_fds();
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(outcome.reason, LULL_REASON_CONNECT);
    ck_assert_uint_eq(hooked, 1);
    ck_assert_msg(strstr(failure, "socket hook: ") != NULL, "%s", failure);
    ck_assert_msg(strstr(failure, "not permitted") != NULL, "%s", failure);
    ck_assert_int_eq(count_fds(), fds);
    tear_down();
}
END_TEST

/* A descriptor that cannot be watched is an errno and leaves nothing behind. */
START_TEST(a_descriptor_that_is_none_is_refused)
{
    struct lull_watch watch;

    set_up(NULL);
    memset(&watch, 0, sizeof(watch));
    watch.fd = -1;
    ck_assert_int_eq(lull_executor_enter(lull_loop_executor(loop)), LULL_OK);
    ck_assert_int_ne(loop->ops->watch(loop, &watch, LULL_WANT_READ), 0);
    ck_assert_uint_eq(watch.want, LULL_WANT_NONE);
    ck_assert_int_eq(loop->ops->watch(loop, &watch, LULL_WANT_NONE), 0);
    lull_executor_leave(lull_loop_executor(loop));
    tear_down();
}
END_TEST

void adapter_add_fds(TCase *cases)
{
    tcase_add_test(cases, descriptors_come_and_go);
    tcase_add_test(cases, a_dial_without_descriptors_fails_and_the_channel_recovers);
    tcase_add_test(cases, a_socket_is_seen_before_it_connects);
    tcase_add_test(cases, a_socket_that_the_application_refuses_is_a_failed_attempt_with_its_errno);
    tcase_add_test(cases, a_descriptor_that_is_none_is_refused);
}
