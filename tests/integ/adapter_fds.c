/* SPDX-License-Identifier: MIT */
/* Descriptors on a host's loop: many that come and go, none left, none at all. */
#include <string.h>
#include <sys/resource.h>
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
    tcase_add_test(cases, a_descriptor_that_is_none_is_refused);
}
