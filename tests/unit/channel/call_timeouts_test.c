/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_timeouts.c: deadlines of calls, from start to wire.
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;

static void begin(peer_request_fn on_request)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = on_request;
    rig_open(&rig);
}

/* C13, scenarios 196, 205: what is sent for a timeout of a call that opens at once. */
static const struct {
    int64_t timeout_ns;
    const char *wire;
} wire_rows[] = {
    {LULL_NEVER, ""},
    {1, "1n"},
    {99999999, "99999999n"},
    {100000000, "100000u"},
    {100000001, "100001u"},
    {3600 * LULL_SECOND, "3600000m"},
    {INT64_MAX - 1, "2562048H"},
};

START_TEST(the_timeout_is_written_rounded_up)
{
    struct rig_call warm = {0}, call = {0};
    begin(rig_answer_hello);
    rig_call_with(&rig, &warm, LULL_NEVER, false);
    rig_settle(&rig);
    uint64_t armed = rig_counters(&rig).timers_armed;
    rig_call_with(&rig, &call, wire_rows[_i].timeout_ns, false);
    rig_settle(&rig);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 3, "grpc-timeout"), wire_rows[_i].wire);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 3, ":path"), "/pkg.Service/Method");
    if (wire_rows[_i].timeout_ns == LULL_NEVER) {
        ck_assert_uint_eq(rig_counters(&rig).timers_armed, armed);
    }
    rig_expect(&call, LULL_CODE_OK, 0);
    rig_advance(&rig, 100000 * LULL_SECOND);
    ck_assert_uint_eq(call.done, 1);
    rig_fini(&rig);
}
END_TEST

/* C13, the last row: a deadline after 292 years waits for a silent server for 250 of them; no deadline waits without a timer. */
START_TEST(the_longest_timeout_does_not_fire_in_250_years)
{
    static const int64_t timeouts[] = {INT64_MAX - 1, LULL_NEVER};
    struct rig_call call = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &call, timeouts[_i], false);
    rig_settle(&rig);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, _i == 0 ? 1 : 0);
    struct lull_counters before = rig_counters(&rig);
    for (int year = 1; year <= 250; year++) {
        rig_advance(&rig, 365 * 86400 * LULL_SECOND);
        ck_assert_uint_eq(call.done, 0);
    }
    ck_assert_uint_eq(rig_counters(&rig).timer_fires, before.timer_fires);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, before.timer_arms);
    peer_answer(rig_peer(&rig, 0), 1, "at last");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, INT64_C(250) * 365 * 86400 * LULL_SECOND);
    ck_assert_str_eq(call.reply, "at last");
    rig_fini(&rig);
}
END_TEST

/* C13, scenario 192: expired before it starts, on an IDLE and on a READY channel */
START_TEST(expired_at_the_start_touches_nothing)
{
    static const int64_t timeouts[] = {0, -1, -10 * LULL_SECOND, INT64_MIN};
    struct rig_call warm = {0}, call = {0};
    begin(rig_answer_hello);
    for (size_t i = 0; i < 4; i++) {
        rig_call_with(&rig, &call, timeouts[i], true);
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, 0);
        rig_expect_text(&call, timeouts[i] == 0 ? "had passed before the call started: timeout_ns was 0"
                                                : "had passed before the call started: timeout_ns was negative");
        ck_assert_uint_eq(rig.attempt_count, 0);
        ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    }
    rig_call_with(&rig, &warm, LULL_NEVER, false);
    rig_settle(&rig);
    uint64_t frames = rig_peer(&rig, 0)->frames_seen;
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.deadline_at = lull_at(rig.origin_ns - LULL_SECOND);
    rig_call(&rig, &call, &options);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, 0);
    ck_assert_uint_eq(rig_peer(&rig, 0)->frames_seen, frames);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, rig_counters(&rig).timer_disarms);
    rig_fini(&rig);
}
END_TEST

/* scenario 194 */
START_TEST(a_silent_server_ends_at_the_deadline_with_a_reset)
{
    struct rig_call call = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance(&rig, LULL_SECOND - 1);
    ck_assert_uint_eq(call.done, 0);
    rig_advance(&rig, 1);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&call, "waiting for the response of 127.0.0.1:2379");
    ck_assert_int_eq(call.failure.reason, LULL_REASON_DEADLINE);
    ck_assert_int_eq(call.failure.phase, LULL_PHASE_WAITING);
    ck_assert_int_eq(call.failure.elapsed_ns, LULL_SECOND);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_RST, 0)->code, 8); /* CANCEL */
    /* What comes later is ignored, and the connection lives on. */
    peer_answer(rig_peer(&rig, 0), 1, "late");
    rig.on_request = NULL;
    rig_peer(&rig, 0)->on_request = rig_answer_hello;
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

/* C17: one budget for dial, SETTINGS, queue and wire */
START_TEST(what_is_left_is_sent_and_the_deadline_does_not_start_again)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = 700 * LULL_MS, .is_mute = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance_to(&rig, 900 * LULL_MS);
    peer_settings(rig_peer(&rig, 0));
    rig_advance(&rig, 200 * LULL_MS);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 1, "grpc-timeout"), "100000u");
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    ck_assert_int_eq(call.failure.phase_ns[LULL_PHASE_CONNECTING], 700 * LULL_MS);
    ck_assert_int_eq(call.failure.phase_ns[LULL_PHASE_SETTINGS], 200 * LULL_MS);
    ck_assert_int_eq(call.failure.phase_ns[LULL_PHASE_WAITING], 100 * LULL_MS);
    ck_assert_ptr_nonnull(
        strstr(call.line, "[connecting 700 ms, settings 200 ms, waiting 100 ms]"));
    rig_fini(&rig);
}
END_TEST

/* C17: HEADERS leave in the turn of the SETTINGS, and not a nanosecond before */
START_TEST(headers_leave_at_900_ms_and_not_before)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = 700 * LULL_MS, .is_mute = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance_to(&rig, 900 * LULL_MS - 1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 0);
    peer_settings(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
    rig_advance_to(&rig, LULL_SECOND - 1);
    ck_assert_uint_eq(call.done, 0);
    rig_advance(&rig, 1);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    rig_fini(&rig);
}
END_TEST

/* C17, variant: stuck in dial */
START_TEST(stuck_in_dial_says_so)
{
    struct rig_call call = {0};
    rig_start(&rig, RIG_HANG, 0);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&call, "connecting to 127.0.0.1:2379 (attempt 1 under way)");
    ck_assert_int_eq(call.failure.phase, LULL_PHASE_CONNECTING);
    rig_fini(&rig);
}
END_TEST

/* C17, variant: connected, no SETTINGS */
START_TEST(stuck_before_settings_says_so)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .is_mute = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&call, "connected to 127.0.0.1:2379, waiting for its SETTINGS");
    ck_assert_int_eq(call.failure.phase, LULL_PHASE_SETTINGS);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(the_earlier_of_timeout_and_deadline_counts)
{
    static const struct {
        int64_t timeout_ns, deadline_after_ns, end_ns;
    } rows[] = {{LULL_SECOND, 2 * LULL_SECOND, LULL_SECOND},
                {3 * LULL_SECOND, 2 * LULL_SECOND, 2 * LULL_SECOND},
                {LULL_NEVER, 4 * LULL_SECOND, 4 * LULL_SECOND},
                {LULL_SECOND, LULL_SECOND, LULL_SECOND}};
    for (size_t i = 0; i < 4; i++) {
        struct rig_call call = {0};
        struct lull_call_options options;
        begin(rig_stay_silent);
        lull_call_options_init(&options, "/pkg.Service/Method");
        options.timeout_ns = rows[i].timeout_ns;
        options.deadline_at = lull_instant_add(lull_at(rig.origin_ns), rows[i].deadline_after_ns);
        rig_call(&rig, &call, &options);
        rig_advance(&rig, 10 * LULL_SECOND);
        rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, rows[i].end_ns);
        rig_fini(&rig);
    }
}
END_TEST

/* The timeout counts from the creation, not from the turn that takes the call out of the inbox. */
START_TEST(time_before_the_first_turn_counts)
{
    struct rig_call call = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig.clock.mono_at.ns += 400 * LULL_MS; /* nobody drove */
    rig_settle(&rig);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 1, "grpc-timeout"), "600000u");
    rig_advance_to(&rig, 2 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_fini(&rig);
}
END_TEST

/* RULINGS 19: what has come is heard before the deadline of the same turn */
START_TEST(an_answer_in_the_turn_of_the_deadline_wins)
{
    struct rig_call call = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "in time");
    rig.clock.mono_at.ns += 5 * LULL_SECOND; /* a stall: bytes and timer are both there */
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 5 * LULL_SECOND);
    ck_assert_str_eq(call.reply, "in time");
    rig_fini(&rig);
}
END_TEST

/* RULINGS 19: CANCELLED by the peer's RST after our deadline reads DEADLINE_EXCEEDED */
START_TEST(a_cancel_by_the_server_after_the_deadline_is_the_deadline)
{
    struct rig_call late = {0}, early = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &late, LULL_SECOND, false);
    rig_settle(&rig);
    peer_rst(rig_peer(&rig, 0), 1, 8);
    rig.clock.mono_at.ns += 2 * LULL_SECOND;
    rig_settle(&rig);
    rig_expect(&late, LULL_CODE_DEADLINE_EXCEEDED, 2 * LULL_SECOND);
    rig_call_with(&rig, &early, LULL_SECOND, false);
    rig_settle(&rig);
    peer_rst(rig_peer(&rig, 0), 3, 8);
    rig_settle(&rig);
    rig_expect(&early, LULL_CODE_CANCELLED, 2 * LULL_SECOND);
    ck_assert_int_eq(early.failure.reason, LULL_REASON_RESET);
    rig_fini(&rig);
}
END_TEST

/* BEHAVIOUR 2.10: a server's own DEADLINE_EXCEEDED, a little early, is a server's status */
START_TEST(a_deadline_of_the_servers_is_passed_through)
{
    struct rig_call call = {0};
    begin(rig_stay_silent);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_advance(&rig, 999 * LULL_MS);
    peer_headers(rig_peer(&rig, 0), 1, FLAG_END_STREAM, ":status", "200", "content-type",
                 "application/grpc", "grpc-status", "4", NULL);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, 999 * LULL_MS);
    ck_assert_int_eq(call.failure.reason, LULL_REASON_SERVER);
    rig_fini(&rig);
}
END_TEST

/* RULINGS 23: one string for calls with one timeout, even when the clock moved between them */
START_TEST(calls_that_open_together_send_one_string)
{
    struct rig_call warm = {0}, a = {0}, b = {0};
    begin(rig_answer_hello);
    rig_call_with(&rig, &warm, LULL_NEVER, false);
    rig_settle(&rig);
    rig_call_with(&rig, &a, LULL_SECOND, false);
    rig.clock.mono_at.ns += 137 * LULL_US;
    rig_call_with(&rig, &b, LULL_SECOND, false);
    rig.clock.mono_at.ns += 12345;
    rig_settle(&rig);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 3, "grpc-timeout"), "1000000u");
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 5, "grpc-timeout"), "1000000u");
    rig_fini(&rig);
}
END_TEST

static Suite *call_timeouts_suite(void)
{
    Suite *suite = suite_create("call_timeouts");
    TCase *tcase = tcase_create("call_timeouts");
    tcase_add_loop_test(tcase, the_timeout_is_written_rounded_up, 0,
                        (int)(sizeof(wire_rows) / sizeof(wire_rows[0])));
    tcase_add_loop_test(tcase, the_longest_timeout_does_not_fire_in_250_years, 0, 2);
    tcase_add_test(tcase, expired_at_the_start_touches_nothing);
    tcase_add_test(tcase, a_silent_server_ends_at_the_deadline_with_a_reset);
    tcase_add_test(tcase, what_is_left_is_sent_and_the_deadline_does_not_start_again);
    tcase_add_test(tcase, headers_leave_at_900_ms_and_not_before);
    tcase_add_test(tcase, stuck_in_dial_says_so);
    tcase_add_test(tcase, stuck_before_settings_says_so);
    tcase_add_test(tcase, the_earlier_of_timeout_and_deadline_counts);
    tcase_add_test(tcase, time_before_the_first_turn_counts);
    tcase_add_test(tcase, an_answer_in_the_turn_of_the_deadline_wins);
    tcase_add_test(tcase, a_cancel_by_the_server_after_the_deadline_is_the_deadline);
    tcase_add_test(tcase, a_deadline_of_the_servers_is_passed_through);
    tcase_add_test(tcase, calls_that_open_together_send_one_string);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_timeouts", call_timeouts_suite)
