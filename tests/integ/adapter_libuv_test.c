/* SPDX-License-Identifier: MIT */
/* include/lull/adapters/libuv.h on libuv: the scenarios of adapter_support.h, and what is libuv's own. */
#include <lull/adapters/libuv.h>

#include "tests/integ/adapter_support.h"
#include "tests/support/check_main.h"

static uv_loop_t uv;
static uv_timer_t limit;
static uv_timer_t own;
static void (*own_fn)(void);

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
}

static void open_host(void)
{
    ck_assert_int_eq(uv_loop_init(&uv), 0);
    ck_assert_int_eq(uv_timer_init(&uv, &limit), 0);
    ck_assert_int_eq(uv_timer_init(&uv, &own), 0);
}

/* A loop that lull has left closes: no handle is forgotten. */
static void close_host(void)
{
    uv_close((uv_handle_t *)&limit, NULL);
    uv_close((uv_handle_t *)&own, NULL);
    ck_assert_int_eq(uv_run(&uv, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&uv), 0);
}

static int make(const struct lull_executor_options *options, struct lull_loop **out)
{
    return lull_uv_new(&uv, options, out);
}

static void run_round(int64_t timeout_ns)
{
    if (timeout_ns <= 0) {
        uv_run(&uv, UV_RUN_NOWAIT);
        return;
    }
    uv_timer_start(&limit, on_limit, (uint64_t)(timeout_ns / LULL_MS), 0);
    uv_run(&uv, UV_RUN_ONCE);
    uv_timer_stop(&limit);
}

static void on_own(uv_timer_t *timer)
{
    (void)timer;
    own_fn();
}

static void call_back(void (*fn)(void))
{
    own_fn = fn;
    uv_timer_start(&own, on_own, 0, 0);
}

static const struct adapter libuv = {
    .name = "adapter_libuv",
    .open = open_host,
    .close = close_host,
    .make = make,
    .drop = lull_uv_free,
    .round = run_round,
    .call_back = call_back,
};

/* ---- libuv's own */

START_TEST(uv_run_returns_when_nothing_is_under_way)
{
    set_up(NULL);
    lull_server_shutdown(server, 0, NULL, NULL);
    ck_assert_int_eq(uv_run(&uv, UV_RUN_DEFAULT), 0);
    tear_down();
}
END_TEST

static bool is_ready;

static void on_ready(struct lull_channel *which, enum lull_state state, void *ctx)
{
    (void)ctx;
    is_ready = state == LULL_STATE_READY;
    (void)lull_channel_watch(which, state, on_ready, NULL);
}

/* What was started before it is reason enough for uv_run to stay, and it ends with the last connection. */
START_TEST(uv_run_stays_for_a_call_and_goes_with_the_channel)
{
    set_up(NULL);
    is_ready = false;
    ck_assert_int_eq(lull_channel_watch(channel, LULL_STATE_IDLE, on_ready, NULL), LULL_OK);
    start_call(ECHO_METHOD, LULL_MINUTE);
    while (!is_closed()) {
        ck_assert_int_ne(uv_run(&uv, UV_RUN_ONCE), 0);
    }
    ck_assert(is_ready);
    lull_channel_close(channel);
    lull_server_shutdown(server, 0, NULL, NULL);
    ck_assert_int_eq(uv_run(&uv, UV_RUN_DEFAULT), 0);
    tear_down();
}
END_TEST

static uv_prepare_t in_prepare;
static uv_check_t in_check;

static void start_in_prepare(uv_prepare_t *prepare)
{
    uv_prepare_stop(prepare);
    start_call(ECHO_METHOD, LULL_MINUTE);
}

static void start_in_check(uv_check_t *check)
{
    uv_check_stop(check);
    start_call(ECHO_METHOD, LULL_MINUTE);
}

/* The phases in which a handle of ours that has just been started does not run any more. */
START_TEST(a_call_may_be_started_in_any_phase)
{
    set_up(NULL);
    uv_prepare_init(&uv, &in_prepare);
    uv_check_init(&uv, &in_check);
    for (int i = 0; i < 3; i++) {
        uv_prepare_start(&in_prepare, start_in_prepare);
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_OK);
        outcome.closed = 0;
        uv_check_start(&in_check, start_in_check);
        uv_timer_start(&own, on_limit, 1, 0); /* the phase comes when the poll is over, and nothing else would end it */
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_OK);
        outcome.closed = 0;
    }
    uv_close((uv_handle_t *)&in_prepare, NULL);
    uv_close((uv_handle_t *)&in_check, NULL);
    tear_down();
}
END_TEST

static Suite *adapter_libuv_suite(void)
{
    Suite *suite = adapter_suite(&libuv);
    TCase *cases = tcase_create("libuv");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, uv_run_returns_when_nothing_is_under_way);
    tcase_add_test(cases, uv_run_stays_for_a_call_and_goes_with_the_channel);
    tcase_add_test(cases, a_call_may_be_started_in_any_phase);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("adapter_libuv", adapter_libuv_suite)
