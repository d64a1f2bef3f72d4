/* SPDX-License-Identifier: MIT */
/* include/lull/adapters/libevent.h on libevent: the scenarios of adapter_support.h, and what is libevent's own. */
#include <lull/adapters/libevent.h>

#include "tests/integ/adapter_support.h"
#include "tests/support/check_main.h"

static struct event_base *base;
static struct event *limit;

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

static void open_host(void)
{
    base = event_base_new();
    ck_assert_ptr_nonnull(base);
    limit = event_new(base, -1, 0, on_limit, NULL);
}

/* A base that lull has left holds no event. */
static void close_host(void)
{
    event_free(limit);
    ck_assert_int_eq(event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE), 0);
    event_base_free(base);
}

static int make(const struct lull_executor_options *options, struct lull_loop **out)
{
    return lull_libevent_new(base, options, out);
}

static void run_round(int64_t timeout_ns)
{
    const struct timeval tv = {(time_t)(timeout_ns / LULL_SECOND), (suseconds_t)(timeout_ns % LULL_SECOND / 1000)};

    if (timeout_ns <= 0) {
        event_base_loop(base, EVLOOP_NONBLOCK);
        return;
    }
    event_add(limit, &tv);
    event_base_loop(base, EVLOOP_ONCE);
    event_del(limit);
}

static void (*own_fn)(void);

static void on_own(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    own_fn();
}

static void call_back(void (*fn)(void))
{
    own_fn = fn;
    ck_assert_int_eq(event_base_once(base, -1, EV_TIMEOUT, on_own, NULL, NULL), 0);
}

static const struct adapter libevent = {
    .name = "adapter_libevent",
    .open = open_host,
    .close = close_host,
    .make = make,
    .drop = lull_libevent_free,
    .round = run_round,
    .call_back = call_back,
    .rounds_before_turn = 1,
};

/* ---- libevent's own */

static void stop_base(void)
{
    event_base_loopbreak(base);
}

/* The base has the adapter's events, so it stays until it is told. */
START_TEST(event_base_dispatch_runs_it)
{
    set_up(NULL);
    outcome.in_closed = stop_base;
    start_call(ECHO_METHOD, LULL_MINUTE);
    ck_assert_int_eq(event_base_dispatch(base), 0);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

static void stop_and_end(void)
{
    event_base_loopbreak(base);
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_RC_IN_TURN);
}

static void refused_in_callback(void)
{
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_RC_SYSTEM);
    start_call(ECHO_METHOD, LULL_MINUTE);
}

/* Its loop cannot be entered twice: lull's verbs say so in a callback of the host, too, whoever runs the base. */
START_TEST(running_it_in_a_callback_of_the_host_is_refused)
{
    set_up(NULL);
    outcome.in_closed = stop_and_end;
    call_back(refused_in_callback);
    ck_assert_int_eq(event_base_dispatch(base), 0);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

static Suite *adapter_libevent_suite(void)
{
    Suite *suite = adapter_suite(&libevent);
    TCase *cases = tcase_create("libevent");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, event_base_dispatch_runs_it);
    tcase_add_test(cases, running_it_in_a_callback_of_the_host_is_refused);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("adapter_libevent", adapter_libevent_suite)
