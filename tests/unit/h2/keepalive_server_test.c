/* SPDX-License-Identifier: MIT */
/*
 * src/h2/keepalive_glue.c on a server's transport: it pings whether or not there are streams.
 */
#include "h2/keepalive_glue.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/serve_world.h"

#define MS(x) ((x)*LULL_MS)

static void begin(int64_t time_ns, int64_t timeout_ns)
{
    struct h2_transport_options options = world_options();
    options.keepalive.time_ns = time_ns;
    options.keepalive.timeout_ns = timeout_ns;
    options.keepalive.without_calls = true;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
    serve_greet();
}

static void run_at(int64_t ms)
{
    lull_executor_leave(x);
    lull_fake_clock_advance(&clock_, MS(ms) - clock_.mono_at.ns);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

static unsigned sent_pings(void)
{
    return sent_count(6, 0);
}

static void answer_ping(unsigned n)
{
    struct sent_frame frame;
    ck_assert(sent_frame(6, 0, n, &frame));
    ck_assert_uint_eq(frame.flags, 0);
    say_frame(6, 1, 0, frame.payload, 8);
    run();
}

/* scenario 117 */
START_TEST(client_that_only_said_settings_is_left_after_110_ms)
{
    begin(MS(100), MS(10));
    run_at(99);
    ck_assert_uint_eq(sent_pings(), 0);
    run_at(109);
    ck_assert_uint_eq(sent_pings(), 1);
    ck_assert_uint_eq(told.closed, 0);
    run_at(110);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_str_eq(told.end.text,
                     "keepalive: no answer to a PING within 10 ms; last byte read 110 ms ago");
    serve_end();
}
END_TEST

/* scenario 118 */
START_TEST(client_that_answers_is_kept)
{
    begin(MS(100), MS(100));
    for (unsigned i = 0; i < 50; i++) {
        run_at(100 + 100 * (int64_t)i);
        ck_assert_uint_eq(sent_pings(), i + 1);
        answer_ping(i);
    }
    ck_assert_uint_eq(told.closed, 0);
    serve_end();
}
END_TEST

START_TEST(call_of_a_silent_client_ends_with_the_connection)
{
    struct heard *h;
    begin(MS(100), MS(50));
    run_at(30);
    h = ask(1);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    run_at(129);
    ck_assert_uint_eq(sent_pings(), 0);
    run_at(130);
    ck_assert_uint_eq(sent_pings(), 1);
    run_at(179);
    ck_assert_uint_eq(told.closed, 0);
    run_at(180);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    serve_end();
}
END_TEST

START_TEST(without_keepalive_a_server_has_no_timer)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    begin(0, 0);
    run_at(3600000);
    lull_executor_counters(x, &counters);
    ck_assert_uint_eq(counters.timer_arms, 0);
    ck_assert_uint_eq(counters.pings_sent, 0);
    ck_assert_uint_eq(told.closed, 0);
    serve_end();
}
END_TEST

/* The PING that asks whether the GOAWAY has arrived comes behind it. */
START_TEST(drain_asks_behind_its_goaway)
{
    struct sent_frame frame;
    unsigned n = 0;
    begin(0, 0);
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    while (sent_frame(256, UINT32_MAX, n, &frame) && frame.type != 7) {
        ck_assert_uint_ne(frame.type, 6);
        n++;
    }
    ck_assert(sent_frame(256, UINT32_MAX, n + 1, &frame));
    ck_assert_uint_eq(frame.type, 6);
    answer_ping(0);
    ck_assert_uint_eq(told.closed, 1);
    serve_end();
}
END_TEST

static Suite *keepalive_server_suite(void)
{
    Suite *suite = suite_create("keepalive_server");
    TCase *tc = tcase_create("keepalive_server");
    tcase_add_test(tc, client_that_only_said_settings_is_left_after_110_ms);
    tcase_add_test(tc, client_that_answers_is_kept);
    tcase_add_test(tc, call_of_a_silent_client_ends_with_the_connection);
    tcase_add_test(tc, without_keepalive_a_server_has_no_timer);
    tcase_add_test(tc, drain_asks_behind_its_goaway);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_server", keepalive_server_suite)
