/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_age.c, end to end: what a client gets for its PINGs, its resets, its idleness and its age. The arithmetic has its
 * tables in tests/unit/policy.
 */
#include <string.h>

#include "server/server_age.h"
#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

#define ENHANCE_YOUR_CALM 0xbu

static struct rig rig;
static struct raw raw;

/* A server that permits a PING in so long; a client that has said hello. */
static void start_police(int64_t permit_ns, bool without_calls, enum app_way way)
{
    rig_init(&rig);
    rig.way = way;
    rig.options.permit_keepalive_time_ns = permit_ns;
    rig.options.permit_keepalive_without_calls = without_calls;
    rig_open(&rig);
    rig_join(&rig, &raw);
}

static void stop(void)
{
    raw_fini(&raw);
    rig_fini(&rig);
}

static void expect_alive(size_t pings)
{
    ck_assert_uint_eq(raw_acks(&raw), pings);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    ck_assert(!raw.is_eof);
}

static void expect_too_many_pings(void)
{
    const struct raw_frame *goaway = raw_find(&raw, FRAME_GOAWAY, 0);
    ck_assert_ptr_nonnull(goaway);
    ck_assert_uint_eq(goaway->code, ENHANCE_YOUR_CALM);
    ck_assert(raw_goaway_says(goaway, "too_many_pings"));
    ck_assert(raw.is_eof);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 1);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 1);
}

static void ping_at_once(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        raw_ping(&raw);
    }
}

/* ---- the police */

/* scenario 56 */
START_TEST(no_limit_means_any_number)
{
    start_police(0, true, APP_HOLDS);
    ping_at_once(50);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    ping_at_once(50);
    expect_alive(100);
    ck_assert_uint_eq(rig_stats(&rig).pings, 100);
    ck_assert_uint_eq(rig_stats(&rig).ping_strikes, 0);
    stop();
}
END_TEST

/* scenario 57, with A8's free first ping; also before any call */
START_TEST(without_calls_the_interval_is_two_hours)
{
    start_police(0, false, APP_HOLDS);
    ping_at_once(3);
    expect_alive(3);
    ck_assert_uint_eq(rig_stats(&rig).ping_strikes, 2);
    ping_at_once(1);
    expect_too_many_pings();
    stop();
}
END_TEST

/* scenarios 58, 65: with a call or without */
START_TEST(a_burst_is_one_valid_ping_two_strikes_and_the_end)
{
    for (int has_call = 0; has_call <= 1; has_call++) {
        start_police(300 * LULL_SECOND, true, APP_HOLDS);
        if (has_call) {
            raw_request(&raw, 1, RIG_METHOD, false, NULL);
        }
        ping_at_once(3);
        expect_alive(3);
        ping_at_once(1);
        expect_too_many_pings();
        if (has_call) {
            ck_assert_uint_eq(rig.closed, 1);
            ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LOST);
        }
        stop();
    }
}
END_TEST

/* scenario 60 */
START_TEST(no_interval_is_longer_than_two_hours)
{
    start_police(72000 * LULL_SECOND, false, APP_HOLDS);
    ck_assert_int_eq(lull_server_effective_options(rig.server)->permit_keepalive_time_ns,
                     7200 * LULL_SECOND);
    /* The client answers the server's own PINGs, or it would be taken for dead. */
    for (unsigned i = 1; i <= 10; i++) {
        ping_at_once(1);
        rig_advance(&rig, 7200 * LULL_SECOND);
        raw_ack_ping(&raw, i - 1);
    }
    expect_alive(10);
    stop();
}
END_TEST

/* scenario 62 */
START_TEST(what_the_server_sends_forgives_all)
{
    start_police(300 * LULL_SECOND, true, APP_HOLDS);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    ping_at_once(3);
    ck_assert_uint_eq(rig_stats(&rig).ping_strikes, 2);
    ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, lull_slice_static("x", 1)), LULL_OK);
    rig_settle(&rig);
    ck_assert_ptr_nonnull(raw_find(&raw, FRAME_DATA, 0));
    ping_at_once(3);
    expect_alive(6);
    ping_at_once(1);
    expect_too_many_pings();
    stop();
}
END_TEST

/* scenario 66 */
START_TEST(time_makes_a_ping_valid)
{
    start_police(LULL_SECOND, true, APP_HOLDS);
    ping_at_once(3);
    rig_advance(&rig, 2 * LULL_SECOND);
    ping_at_once(1);
    expect_alive(4);
    stop();
}
END_TEST

/* scenario 68 */
START_TEST(two_seconds_are_not_two_hours)
{
    start_police(LULL_SECOND, false, APP_HOLDS);
    ping_at_once(3);
    rig_advance(&rig, 2 * LULL_SECOND);
    ping_at_once(1);
    expect_too_many_pings();
    stop();
}
END_TEST

/* scenario 69 */
START_TEST(no_strikes_is_any_number)
{
    rig_init(&rig);
    rig.options.max_ping_strikes = 0;
    rig_open(&rig);
    rig_join(&rig, &raw);
    ping_at_once(40);
    expect_alive(40);
    stop();
}
END_TEST

/* scenario 69: less than nothing is nothing */
START_TEST(a_negative_interval_is_none)
{
    start_police(-1000, true, APP_HOLDS);
    ck_assert_int_eq(lull_server_effective_options(rig.server)->permit_keepalive_time_ns, 0);
    ping_at_once(40);
    expect_alive(40);
    ck_assert_uint_eq(rig_stats(&rig).ping_strikes, 0);
    stop();
}
END_TEST

START_TEST(acks_are_no_pings)
{
    start_police(300 * LULL_SECOND, false, APP_HOLDS);
    for (int i = 0; i < 20; i++) {
        raw_frame(&raw, FRAME_PING, FRAME_ACK, 0, "whatever", 8);
    }
    expect_alive(0);
    ck_assert_uint_eq(rig_stats(&rig).pings, 0);
    stop();
}
END_TEST

/* RULINGS 25, by the fake clock */
START_TEST(too_many_resets_end_the_connection)
{
    uint32_t stream = 1;
    start_police(0, true, APP_HOLDS);
    for (int i = 0; i < RESET_POLICE_BURST; i++, stream += 2) {
        raw_request(&raw, stream, RIG_METHOD, true, NULL);
        raw_reset(&raw, stream, 8);
    }
    expect_alive(0);
    /* 33 come back in a second. */
    rig_advance(&rig, LULL_SECOND);
    for (int i = 0; i < RESET_POLICE_EACH_S; i++, stream += 2) {
        raw_request(&raw, stream, RIG_METHOD, true, NULL);
        raw_reset(&raw, stream, 8);
    }
    expect_alive(0);
    raw_request(&raw, stream, RIG_METHOD, true, NULL);
    raw_reset(&raw, stream, 8);
    ck_assert(raw.is_eof);
    ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 0)->code, ENHANCE_YOUR_CALM);
    ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 0), "too_many_resets"));
    ck_assert_uint_eq(rig_stats(&rig).too_many_resets, 1);
    stop();
}
END_TEST

/* CVE-2025-8671: the client breaks the rules on a stream, and has us end it. */
static void open_and_break(uint32_t stream, unsigned way)
{
    static const uint8_t wrong_flag[] = {9, 0, 0, 0, 1};
    static const uint8_t overflow[] = {0x7f, 0xff, 0xff, 0xff};
    raw_request(&raw, stream, RIG_METHOD, false, NULL);
    if (way == 0) {
        raw_frame(&raw, FRAME_DATA, 0, stream, wrong_flag, sizeof(wrong_flag));
    } else {
        raw_frame(&raw, FRAME_WINDOW_UPDATE, 0, stream, overflow, sizeof(overflow));
    }
}

START_TEST(faults_that_make_us_end_streams_count_as_resets)
{
    for (unsigned way = 0; way <= 1; way++) {
        uint32_t stream = 1;
        start_police(0, true, APP_HOLDS);
        for (int i = 0; i < RESET_POLICE_BURST; i++, stream += 2) {
            open_and_break(stream, way);
        }
        expect_alive(0);
        ck_assert_uint_eq(rig.closed, RESET_POLICE_BURST);
        open_and_break(stream, way);
        ck_assert(raw.is_eof);
        ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 0), "too_many_resets"));
        ck_assert_uint_eq(rig_stats(&rig).too_many_resets, 1);
        stop();
    }
}
END_TEST

/* A client that acknowledges no SETTINGS may open streams without bound, each of which is refused; it reads no refusal. */
START_TEST(refusals_that_nobody_reads_end_the_connection)
{
    static const uint8_t indexed_post[] = {0x83};
    static const uint8_t empty_settings[9] = {0, 0, 0, 4};
    const struct pipe_options small = {.capacity_bytes = 4096};
    uint32_t stream = 1;
    rig_init(&rig);
    rig.options.max_streams = 1;
    rig_open(&rig);
    raw_open(&raw, &rig.sim, rig.server, &small);
    raw_say(&raw, FRAME_PREFACE, 24);
    raw_say(&raw, empty_settings, sizeof(empty_settings));
    raw_request(&raw, stream, RIG_METHOD, false, NULL);
    raw_set_deaf(&raw, true);
    while (rig_stats(&rig).connections == 1 && stream < 40000) {
        stream += 2;
        raw_frame(&raw, FRAME_HEADERS, 4, stream, indexed_post, sizeof(indexed_post));
    }
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    ck_assert_uint_gt(stream, 20000);
    ck_assert_uint_lt(stream, 22000);
    stop();
}
END_TEST

/* ---- idleness and age */

static void expect_goaway_at(int64_t at_ns, const char *debug)
{
    rig_advance(&rig, at_ns - rig_now(&rig) - 1);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 1);
    const struct raw_frame *first = raw_find(&raw, FRAME_GOAWAY, 0);
    ck_assert_uint_eq(first->last, 0x7fffffffu);
    ck_assert_uint_eq(first->code, 0);
    ck_assert(raw_goaway_says(first, debug));
}

/* Answers every PING that the server has sent. */
static void ack_all(void)
{
    const size_t pings = raw_count(&raw, FRAME_PING);
    for (size_t i = 0; i < pings; i++) {
        raw_ack_ping(&raw, i);
    }
}

static void start_ages(int64_t idle_ns, int64_t age_ns, int64_t grace_ns)
{
    rig_init(&rig);
    rig.options.allow_short_timers = true;
    rig.options.max_connection_idle_ns = idle_ns;
    rig.options.max_connection_age_ns = age_ns;
    rig.options.max_connection_age_grace_ns = grace_ns;
    rig_open(&rig);
    rig_join(&rig, &raw);
}

/* scenarios 64, 114 */
START_TEST(an_idle_connection_is_told_to_go_when_it_says)
{
    start_ages(30 * LULL_MS, LULL_NEVER, LULL_NEVER);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    rig_advance(&rig, 100 * LULL_MS);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    expect_goaway_at(130 * LULL_MS, "max_idle");
    ck_assert(!raw.is_eof);
    ack_all();
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 2);
    ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 1)->last, 1);
    ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 1), "max_idle"));
    ck_assert(raw.is_eof);
    ck_assert_int_eq(raw.eof_at_ns, 130 * LULL_MS);
    stop();
}
END_TEST

/* scenario 64: to the nanosecond */
START_TEST(an_idle_limit_of_123_ns_is_kept_to_the_nanosecond)
{
    start_ages(123, LULL_NEVER, LULL_NEVER);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    /* Active again just before: no GOAWAY, and the next count starts at its end. */
    rig_advance(&rig, 122);
    raw_request(&raw, 3, RIG_METHOD, true, NULL);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[1].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    expect_goaway_at(2 * LULL_SECOND + 122 + 123, "max_idle");
    stop();
}
END_TEST

START_TEST(a_call_within_the_drain_is_served)
{
    start_ages(30 * LULL_MS, LULL_NEVER, LULL_NEVER);
    expect_goaway_at(30 * LULL_MS, "max_idle");
    /* It crossed the first GOAWAY on the wire. */
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    ck_assert_uint_eq(rig.begun, 1);
    ack_all();
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 2);
    ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 1)->last, 1);
    ck_assert(!raw.is_eof);
    rig_advance(&rig, 3600 * LULL_SECOND);
    ck_assert(!raw.is_eof);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-status: 0"));
    ck_assert(raw.is_eof);
    stop();
}
END_TEST

START_TEST(a_drain_that_nobody_answers_goes_on_after_ten_seconds)
{
    start_ages(30 * LULL_MS, LULL_NEVER, LULL_NEVER);
    expect_goaway_at(30 * LULL_MS, "max_idle");
    rig_advance(&rig, 10 * LULL_SECOND - 1);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 1);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 2);
    ck_assert(raw.is_eof);
    stop();
}
END_TEST

/* scenario 116: with traffic. The draw is the sim's: within a tenth either way. */
START_TEST(an_old_connection_is_told_to_go_and_its_calls_have_their_grace)
{
    start_ages(LULL_NEVER, 100 * LULL_MS, 10 * LULL_MS);
    raw_request(&raw, 1, RIG_METHOD, false, NULL);
    for (int i = 0; i < 89; i++) {
        rig_advance(&rig, LULL_MS);
        raw_message(&raw, 1, "x", 1, false);
    }
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    while (raw_count(&raw, FRAME_GOAWAY) == 0) {
        rig_advance(&rig, LULL_MS / 10);
    }
    ck_assert_int_ge(rig_now(&rig), 90 * LULL_MS);
    ck_assert_int_le(rig_now(&rig), 110 * LULL_MS + LULL_MS / 10);
    ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 0), "max_age"));
    ack_all();
    ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 1), "max_age"));
    const int64_t acked_at_ns = rig_now(&rig);
    rig_advance(&rig, 9 * LULL_MS);
    ck_assert(!raw.is_eof);
    rig_advance(&rig, LULL_MS);
    ck_assert(raw.is_eof);
    ck_assert_int_le(raw.eof_at_ns, acked_at_ns + 10 * LULL_MS);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LOST);
    stop();
}
END_TEST

START_TEST(a_client_that_says_nothing_is_dropped_after_two_minutes)
{
    rig_start(&rig, APP_HOLDS);
    raw_open(&raw, &rig.sim, rig.server, NULL);
    rig_advance(&rig, SERVER_AGE_GREETING_NS - 1);
    ck_assert(!raw.is_eof);
    rig_advance(&rig, 1);
    ck_assert(raw.is_eof);
    stop();
}
END_TEST

START_TEST(a_client_that_greeted_has_no_such_limit)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    rig_advance(&rig, 10 * SERVER_AGE_GREETING_NS);
    ck_assert(!raw.is_eof);
    stop();
}
END_TEST

START_TEST(a_client_that_takes_no_more_cannot_hold_up_a_drain)
{
    const struct pipe_options small = {.capacity_bytes = 4096};
    rig_init(&rig);
    rig.options.max_connection_idle_ns = LULL_SECOND;
    rig.options.keepalive_time_ns = LULL_NEVER;
    rig_open(&rig);
    raw_open(&raw, &rig.sim, rig.server, &small);
    raw_hello(&raw);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    raw_set_deaf(&raw, true);
    static const uint8_t zeros[30000];
    ck_assert_int_eq(
        lull_server_call_send(rig.calls[0].call, lull_slice_static(zeros, sizeof(zeros))), LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    rig_advance(&rig, LULL_SECOND + CONN_AGE_DRAIN_LIMIT_DEFAULT_NS);
    rig_advance(&rig, SERVER_AGE_LAST_WRITE_NS);
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    stop();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_age");
    TCase *t = tcase_create("server_age");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_limit_means_any_number);
    tcase_add_test(t, without_calls_the_interval_is_two_hours);
    tcase_add_test(t, a_burst_is_one_valid_ping_two_strikes_and_the_end);
    tcase_add_test(t, no_interval_is_longer_than_two_hours);
    tcase_add_test(t, what_the_server_sends_forgives_all);
    tcase_add_test(t, time_makes_a_ping_valid);
    tcase_add_test(t, two_seconds_are_not_two_hours);
    tcase_add_test(t, no_strikes_is_any_number);
    tcase_add_test(t, a_negative_interval_is_none);
    tcase_add_test(t, acks_are_no_pings);
    tcase_add_test(t, too_many_resets_end_the_connection);
    tcase_add_test(t, faults_that_make_us_end_streams_count_as_resets);
    tcase_add_test(t, refusals_that_nobody_reads_end_the_connection);
    tcase_add_test(t, an_idle_connection_is_told_to_go_when_it_says);
    tcase_add_test(t, an_idle_limit_of_123_ns_is_kept_to_the_nanosecond);
    tcase_add_test(t, a_call_within_the_drain_is_served);
    tcase_add_test(t, a_drain_that_nobody_answers_goes_on_after_ten_seconds);
    tcase_add_test(t, an_old_connection_is_told_to_go_and_its_calls_have_their_grace);
    tcase_add_test(t, a_client_that_says_nothing_is_dropped_after_two_minutes);
    tcase_add_test(t, a_client_that_greeted_has_no_such_limit);
    tcase_add_test(t, a_client_that_takes_no_more_cannot_hold_up_a_drain);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_age", suite)
