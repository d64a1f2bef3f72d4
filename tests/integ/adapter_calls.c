/* SPDX-License-Identifier: MIT */
/* What a call and its connection can go through, on a host's loop. */
#include "tests/integ/adapter_support.h"

START_TEST(a_call_is_answered)
{
    set_up(NULL);
    for (int i = 0; i < 10; i++) {
        start_call(ECHO_METHOD, LULL_NEVER);
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_OK);
        ck_assert_uint_eq(outcome.messages, 1);
        ck_assert_uint_eq(outcome.bytes, 5);
    }
    ck_assert_uint_eq(channel_stats().connections_made, 1);
    tear_down();
}
END_TEST

static unsigned unary_done;

static void on_unary(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    ck_assert_uint_eq(result->message.len, 4);
    unary_done++;
}

static bool are_all_done(void)
{
    return unary_done == 500;
}

START_TEST(five_hundred_unary_calls_at_once_are_answered)
{
    struct lull_call_options options;

    set_up(NULL);
    unary_done = 0;
    lull_call_options_init(&options, ECHO_METHOD);
    options.timeout_ns = LULL_MINUTE;
    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("four", 4), on_unary, NULL, NULL, NULL), LULL_OK);
    }
    run_until(are_all_done);
    tear_down();
}
END_TEST

/* ---- a stream that has to wait for room */

#define STREAM_MESSAGES 400u
static const unsigned char kilobyte[1024];

static unsigned sent;

static void send_more(void)
{
    int rc = LULL_OK;

    if (sent == STREAM_MESSAGES) {
        return;
    }
    while (sent < STREAM_MESSAGES && sent - outcome.messages < 40 && rc == LULL_OK) {
        rc = lull_call_send(outcome.call, lull_slice_static(kilobyte, sizeof(kilobyte)));
        sent += rc == LULL_OK;
    }
    if (sent == STREAM_MESSAGES) {
        ck_assert_int_eq(lull_call_half_close(outcome.call), LULL_OK);
    }
}

START_TEST(a_stream_goes_both_ways)
{
    set_up(NULL);
    sent = 0;
    start_stream(ECHO_METHOD, LULL_NEVER, 0);
    outcome.in_message = send_more;
    send_more();
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    ck_assert_uint_eq(outcome.headers, 1);
    ck_assert_uint_eq(outcome.messages, STREAM_MESSAGES);
    ck_assert_uint_eq(outcome.bytes, STREAM_MESSAGES * sizeof(kilobyte));
    tear_down();
}
END_TEST

START_TEST(a_large_message_waits_for_the_socket)
{
    static unsigned char large[3 * 1024 * 1024];

    set_up(NULL);
    start_stream(ECHO_METHOD, LULL_NEVER, 0);
    ck_assert_int_eq(lull_call_send(outcome.call, lull_slice_static(large, sizeof(large))), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(outcome.call), LULL_OK);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    ck_assert_uint_eq(outcome.bytes, sizeof(large));
    tear_down();
}
END_TEST

/* ---- time */

START_TEST(a_deadline_ends_a_call_and_never_early)
{
    set_up(NULL);
    start_call(ECHO_METHOD, LULL_NEVER);
    run_until(is_closed);
    for (int i = 0; i < 12; i++) {
        const int64_t timeout = 5 * LULL_MS + 300 * LULL_US * i + 1;
        const struct lull_instant from = now();

        start_call(NEVER_METHOD, timeout);
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_DEADLINE_EXCEEDED);
        ck_assert_int_eq(outcome.reason, LULL_REASON_DEADLINE);
        ck_assert_int_ge(lull_instant_diff(outcome.closed_at, from), timeout);
    }
    tear_down();
}
END_TEST

START_TEST(a_silent_server_ends_a_call_by_its_read_timeout)
{
    const int64_t timeout = 30 * LULL_MS + 1;
    struct lull_instant from;

    set_up(NULL);
    start_call(ECHO_METHOD, LULL_NEVER);
    run_until(is_closed);
    from = now();
    start_stream(NEVER_METHOD, LULL_MINUTE, timeout);
    ck_assert_int_eq(lull_call_half_close(outcome.call), LULL_OK);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_int_eq(outcome.reason, LULL_REASON_READ_TIMEOUT);
    ck_assert_int_ge(lull_instant_diff(outcome.closed_at, from), timeout);
    tear_down();
}
END_TEST

static void sleep_early(struct lull_channel_options *options)
{
    options->idle_timeout_ns = 40 * LULL_MS;
}

static bool is_asleep(void)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};

    lull_server_stats(server, &stats);
    return channel_stats().is_in_idle_mode && stats.connections == 0;
}

START_TEST(a_channel_falls_idle_and_wakes)
{
    struct lull_instant from;
    int fds;

    set_up(sleep_early);
    fds = count_fds();
    for (unsigned i = 1; i <= 5; i++) {
        start_call(ECHO_METHOD, LULL_NEVER);
        run_until(is_closed);
        ck_assert_int_eq(outcome.code, LULL_CODE_OK);
        from = outcome.closed_at;
        run_until(is_asleep);
        ck_assert_int_ge(lull_instant_diff(now(), from), 40 * LULL_MS - LULL_MS);
        ck_assert_uint_eq(channel_stats().connections_made, i);
        ck_assert_int_eq(count_fds(), fds);
        /* dials to one address stay apart unless a call went well, as one did */
    }
    tear_down();
}
END_TEST

static void ping_often(struct lull_channel_options *options)
{
    options->keepalive_time_ns = 30 * LULL_MS;
    options->keepalive_timeout_ns = LULL_SECOND;
}

static bool was_pinged_thrice(void)
{
    return channel_stats().pings_acked >= 3;
}

START_TEST(keepalive_pings_a_quiet_server_and_finds_a_dead_one)
{
    set_up(ping_often);
    start_call(NEVER_METHOD, LULL_NEVER);
    run_until(was_pinged_thrice);
    ck_assert(!is_closed());
    lull_server_set_silent(server, true);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(outcome.reason, LULL_REASON_KEEPALIVE);
    lull_server_set_silent(server, false);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

static bool is_on_the_way(void)
{
    return lull_call_peer(outcome.call)[0] != '\0';
}

START_TEST(a_call_is_cancelled_before_and_after_it_left)
{
    set_up(NULL);
    start_call(NEVER_METHOD, LULL_NEVER);
    lull_call_cancel(outcome.call);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_CANCELLED);
    ck_assert_int_eq(outcome.reason, LULL_REASON_CANCELLED);
    start_call(NEVER_METHOD, LULL_NEVER);
    run_until(is_on_the_way);
    lull_call_cancel(outcome.call);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_CANCELLED);
    tear_down();
}
END_TEST

static bool has_failed(void)
{
    return lull_channel_state(channel, false) == LULL_STATE_TRANSIENT_FAILURE;
}

/* A refused connect is an error of the socket and no readiness: some libraries tell it in another way. */
START_TEST(a_refused_connection_is_heard)
{
    set_up(NULL);
    lull_server_shutdown(server, 0, NULL, NULL);
    start_call(ECHO_METHOD, LULL_NEVER);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(outcome.reason, LULL_REASON_CONNECT);
    run_until(has_failed);
    tear_down();
}
END_TEST

void adapter_add_calls(TCase *cases)
{
    tcase_add_test(cases, a_call_is_answered);
    tcase_add_test(cases, five_hundred_unary_calls_at_once_are_answered);
    tcase_add_test(cases, a_stream_goes_both_ways);
    tcase_add_test(cases, a_large_message_waits_for_the_socket);
    tcase_add_test(cases, a_deadline_ends_a_call_and_never_early);
    tcase_add_test(cases, a_silent_server_ends_a_call_by_its_read_timeout);
    tcase_add_test(cases, a_channel_falls_idle_and_wakes);
    tcase_add_test(cases, keepalive_pings_a_quiet_server_and_finds_a_dead_one);
    tcase_add_test(cases, a_call_is_cancelled_before_and_after_it_left);
    tcase_add_test(cases, a_refused_connection_is_heard);
}
