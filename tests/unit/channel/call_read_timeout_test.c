/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_timeouts.c: the read timeout, through the whole channel (RULINGS 14, 16). The order in which a firing is judged
 * is a table in tests/unit/policy/deadline_test.c; here is a test for each of its rows.
 */
#include <string.h>

#include "base/slice.h"
#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

#define S LULL_SECOND

static struct rig rig;
static struct server server;
static struct told a, b;
static struct rig_call unary;
static uint8_t block[300 * 1024];

static void begin_with(struct rig_step step)
{
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&unary, 0, sizeof(unary));
}

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    begin_with(step);
    rig_open(&rig);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

/* An open stream; the server is silent. */
static struct peer *begin_stream(int64_t timeout_ns, int64_t read_timeout_ns)
{
    begin();
    told_start_with(&rig, &a, timeout_ns, read_timeout_ns);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void call_unary(int64_t timeout_ns, int64_t read_timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    options.read_timeout_ns = read_timeout_ns;
    rig_call(&rig, &unary, &options);
}

static void expect_read_timeout(const struct told *told, int64_t at_ns)
{
    told_expect(told, LULL_CODE_DEADLINE_EXCEEDED, NULL);
    ck_assert_int_eq(told->failure.reason, LULL_REASON_READ_TIMEOUT);
    ck_assert_int_eq(told->at_ns, at_ns);
}

/* ---- RULINGS 14 */

START_TEST(a_silent_server_ends_a_unary_call_with_a_reset)
{
    begin();
    call_unary(LULL_NEVER, 5 * S);
    rig_advance(&rig, 5 * S - 1);
    ck_assert_uint_eq(unary.done, 0);
    rig_advance(&rig, 1);
    rig_expect(&unary, LULL_CODE_DEADLINE_EXCEEDED, 5 * S);
    ck_assert_int_eq(unary.failure.reason, LULL_REASON_READ_TIMEOUT);
    ck_assert_int_eq(unary.failure.phase, LULL_PHASE_WAITING);
    rig_expect_text(&unary, "nothing came for 5 s, read timeout 5 s");
    rig_expect_text(&unary, "bytes read on its connection since the request was sent");
    const struct peer_frame *rst = peer_find(rig_peer(&rig, 0), FRAME_RST, 0);
    ck_assert_ptr_nonnull(rst);
    ck_assert_uint_eq(rst->code, 8);
    end();
}
END_TEST

START_TEST(the_text_has_the_window_the_silence_and_the_bytes)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    rig_advance_to(&rig, 3 * S);
    server_headers(peer, 1);
    server_send(peer, 1, "twelve bytes", 12);
    rig_advance_to(&rig, 20 * S);
    expect_read_timeout(&a, 8 * S);
    ck_assert_int_eq(a.failure.phase, LULL_PHASE_READING);
    told_expect_text(&a, "reading the response of 127.0.0.1:2379: nothing came for 5 s, "
                         "read timeout 5 s (");
    ck_assert_uint_gt(a.failure.bytes_read, 12 + 5 + 9);
    ck_assert_str_eq(a.order, "HMC");
    end();
}
END_TEST

START_TEST(headers_and_data_reopen_it_and_pieces_of_a_message_too)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    rig_advance_to(&rig, 4 * S);
    server_headers(peer, 1);
    rig_advance_to(&rig, 8 * S);
    peer_frame(peer, FRAME_DATA, 0, 1, "\0\0\0\0\3", 5);
    rig_advance_to(&rig, 12 * S);
    peer_frame(peer, FRAME_DATA, 0, 1, "ab", 2);
    rig_advance_to(&rig, 16 * S);
    peer_frame(peer, FRAME_DATA, 0, 1, "c", 1);
    rig_settle(&rig);
    ck_assert_str_eq(a.text, "abc,");
    rig_advance_to(&rig, 21 * S - 1);
    ck_assert_uint_eq(a.closed, 0);
    rig_advance(&rig, 1);
    expect_read_timeout(&a, 21 * S);
    end();
}
END_TEST

/* `_i` 0: DATA without a byte, 1: of padding only, 2: an interim response before the headers. */
START_TEST(frames_that_tell_nothing_else_reopen_it_too)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    if (_i != 2) {
        server_headers(peer, 1);
    }
    for (int64_t at_ns = 4 * S; at_ns <= 16 * S; at_ns += 4 * S) {
        rig_advance_to(&rig, at_ns);
        if (_i == 0) {
            peer_frame(peer, FRAME_DATA, 0, 1, "", 0);
        } else if (_i == 1) {
            peer_frame(peer, FRAME_DATA, 8, 1, "\3\0\0\0", 4);
        } else {
            peer_frame(peer, FRAME_HEADERS, FLAG_END_HEADERS, 1, "\x08\3" "103", 5);
        }
    }
    rig_advance_to(&rig, 21 * S - 1);
    ck_assert_uint_eq(a.closed, 0);
    rig_advance(&rig, 1);
    expect_read_timeout(&a, 21 * S);
    end();
}
END_TEST

START_TEST(ping_settings_and_other_streams_do_not)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    told_start_with(&rig, &b, LULL_NEVER, LULL_NEVER);
    rig_settle(&rig);
    rig_advance_to(&rig, 3 * S);
    peer_frame(peer, FRAME_PING, 0, 0, "12345678", 8);
    peer_settings(peer);
    server_headers(peer, 3);
    server_send(peer, 3, "x", 1);
    server_credit(peer, 1, 1);
    rig_advance_to(&rig, 5 * S);
    expect_read_timeout(&a, 5 * S);
    ck_assert_uint_eq(b.closed, 0);
    end();
}
END_TEST

START_TEST(a_request_opens_it_with_its_last_byte)
{
    struct lull_call_options options;
    begin();
    server.credits = false;
    lull_call_options_init(&options, "/a/b");
    options.read_timeout_ns = 5 * S;
    told_start(&rig, &a, &options);
    ck_assert_int_eq(lull_call_send(a.handle, lull_slice_static(block, 100 * 1024)), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_advance_to(&rig,
                   30 * S); /* the server's window is used up: it is not silent, we are not done */
    ck_assert_uint_eq(a.closed, 0);
    server_credit(rig_peer(&rig, 0), 1, 100 * 1024);
    rig_settle(&rig);
    ck_assert(server.streams[0].is_ended);
    rig_advance_to(&rig, 35 * S - 1);
    ck_assert_uint_eq(a.closed, 0);
    rig_advance(&rig, 1);
    expect_read_timeout(&a, 35 * S);
    end();
}
END_TEST

START_TEST(a_client_stream_opens_it_with_its_headers)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    rig_advance_to(&rig, 3 * S);
    told_send(&a, "x"); /* ours: it says nothing of the server */
    rig_advance_to(&rig, 20 * S);
    expect_read_timeout(&a, 5 * S);
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 1);
    end();
}
END_TEST

START_TEST(the_calls_own_word_wins_over_the_channels)
{
    static const struct {
        int64_t channel_ns, call_ns, ends_at; /* 0: not at all */
    } rows[] = {
        {5 * S, 0, 5 * S},      {5 * S, 2 * S, 2 * S},      {5 * S, 9 * S, 9 * S},
        {5 * S, LULL_NEVER, 0}, {LULL_NEVER, 3 * S, 3 * S}, {LULL_NEVER, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig_step step = {.what = RIG_ACCEPT};
        begin_with(step);
        rig.options.read_timeout_ns = rows[i].channel_ns;
        rig_open(&rig);
        told_start_with(&rig, &a, LULL_NEVER, rows[i].call_ns);
        rig_advance_to(&rig, 100 * S);
        if (rows[i].ends_at == 0) {
            ck_assert_uint_eq(a.closed, 0);
        } else {
            expect_read_timeout(&a, rows[i].ends_at);
        }
        end();
    }
}
END_TEST

/* ---- RULINGS 16, in its order */

START_TEST(call_done_means_nothing_and_no_arm)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    rig_advance_to(&rig, 4 * S);
    peer_answer(peer, 1, "x");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    uint64_t arms = rig_counters(&rig).timer_arms;
    rig_advance_to(&rig, 100 * S);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, arms);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 1); /* NO_ERROR: the request was not whole */
    ck_assert_uint_eq(peer_find(peer, FRAME_RST, 0)->code, 0);
    end();
}
END_TEST

START_TEST(the_deadline_wins_when_both_are_past)
{
    (void)begin_stream(10 * S, 5 * S);
    rig.clock.mono_at.ns += 30 * S; /* a stall */
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_DEADLINE);
    end();
}
END_TEST

START_TEST(a_pause_is_not_timed_and_a_resume_opens_a_whole_window)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    server_headers(peer, 1);
    rig_advance_to(&rig, 1 * S);
    lull_call_pause(a.handle);
    rig_advance_to(&rig, 33 * S);
    ck_assert_uint_eq(a.closed, 0);
    lull_call_resume(a.handle);
    rig_advance_to(&rig, 38 * S - 1);
    ck_assert_uint_eq(a.closed, 0);
    rig_advance(&rig, 1);
    expect_read_timeout(&a, 38 * S);
    told_expect_text(&a, "nothing came for 38 s, read timeout 5 s");
    end();
}
END_TEST

START_TEST(a_pause_never_moves_the_deadline)
{
    (void)begin_stream(12 * S, 5 * S);
    lull_call_pause(a.handle);
    rig_advance_to(&rig, 100 * S);
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_DEADLINE);
    ck_assert_int_eq(a.at_ns, 12 * S);
    end();
}
END_TEST

START_TEST(a_pause_of_ten_windows_is_reported_once)
{
    (void)begin_stream(LULL_NEVER, 5 * S);
    lull_call_pause(a.handle);
    rig_advance_to(&rig, 50 * S - 1);
    ck_assert(!rig_has_traced(&rig, "reading is paused"));
    rig_advance_to(&rig, 400 * S);
    ck_assert(rig_has_traced(&rig, "reading is paused for 10 read timeouts of 5 s"));
    unsigned reports = 0;
    for (size_t i = 0; i < rig.trace_count; i++) {
        reports += strstr(rig.trace[i], "reading is paused") != NULL;
    }
    ck_assert_uint_eq(reports, 1);
    end();
}
END_TEST

START_TEST(not_open_yet_goes_on_to_the_deadline_on_the_same_entry)
{
    struct rig_step step = {.what = RIG_HANG};
    begin_with(step);
    rig_open(&rig);
    told_start_with(&rig, &a, 12 * S, 5 * S);
    rig_settle(&rig);
    uint64_t armed = rig_counters(&rig).timers_armed;
    rig_advance_to(&rig, 6 * S);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, armed);
    rig_advance_to(&rig, 100 * S);
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(a.failure.reason, LULL_REASON_DEADLINE);
    ck_assert_int_eq(a.at_ns, 12 * S);
    end();
}
END_TEST

START_TEST(a_window_that_opens_after_its_first_firing_is_timed_from_there)
{
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = 8 * S};
    for (int has_deadline = 0; has_deadline <= 1; has_deadline++) {
        begin_with(step);
        rig_open(&rig);
        told_start_with(&rig, &a, has_deadline ? 60 * S : LULL_NEVER, 5 * S);
        rig_advance_to(&rig, 13 * S - 1);
        ck_assert_uint_eq(a.closed, 0);
        rig_advance(&rig, 1);
        expect_read_timeout(&a, 13 * S);
        end();
    }
}
END_TEST

START_TEST(the_rest_of_the_window_is_waited_for_and_no_more)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    server_headers(peer, 1);
    for (int64_t at = 1; at < 12; at++) {
        rig_advance_to(&rig, at * S);
        server_send(peer, 1, "x", 1);
    }
    rig_advance_to(&rig, 100 * S);
    expect_read_timeout(&a, 16 * S);
    end();
}
END_TEST

START_TEST(what_came_in_the_turn_of_the_firing_counts)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    server_headers(peer, 1);
    rig.clock.mono_at.ns += 5 * S; /* bytes and timer are both there */
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "H");
    rig_advance_to(&rig, 10 * S - 1);
    ck_assert_uint_eq(a.closed, 0);
    rig_advance(&rig, 1);
    expect_read_timeout(&a, 10 * S);
    end();
}
END_TEST

START_TEST(an_answer_in_the_turn_of_the_firing_is_the_answer)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    peer_answer(peer, 1, "x");
    rig.clock.mono_at.ns += 50 * S;
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

/* HOUSE, Reading: a turn that has not read yet reads once before it condemns. A timer of ours stands before the call's in the queue,
 * and the server says its word in it, after the turn's read phase. */
static bool resets_late;

static void say_late(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    if (resets_late) {
        peer_rst(rig_peer(&rig, 0), 1, 2);
    } else {
        peer_answer(rig_peer(&rig, 0), 1, "late");
    }
}

START_TEST(what_lies_at_the_socket_is_read_before_the_server_is_condemned)
{
    struct lull_timer timer;
    bool is_read_timeout = _i % 2 == 0;
    resets_late = _i / 2 == 1;
    (void)begin_stream(is_read_timeout ? LULL_NEVER : 5 * S, is_read_timeout ? 5 * S : LULL_NEVER);
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&timer, rig.executor, say_late), LULL_OK);
    lull_timer_arm(&timer, lull_at(rig.origin_ns + 5 * S - 1));
    lull_executor_leave(rig.executor);
    rig.clock.mono_at.ns += 5 * S;
    rig_settle(&rig);
    if (resets_late) {
        told_expect(&a, LULL_CODE_INTERNAL, "C");
    } else {
        told_expect(&a, LULL_CODE_OK, "HMC");
    }
    ck_assert_int_eq(a.at_ns, 5 * S);
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    lull_timer_fini(&timer);
    lull_executor_leave(rig.executor);
    end();
}
END_TEST

/* RULINGS 19 */
START_TEST(a_status_that_came_is_not_timed)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    lull_call_pause(a.handle);
    peer_answer(peer, 1, "x");
    rig_advance_to(&rig, 100 * S);
    ck_assert_str_eq(a.order, "H");
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    lull_call_resume(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

static void add_orders(TCase *tcase)
{
    tcase_add_test(tcase, call_done_means_nothing_and_no_arm);
    tcase_add_test(tcase, the_deadline_wins_when_both_are_past);
    tcase_add_test(tcase, a_pause_is_not_timed_and_a_resume_opens_a_whole_window);
    tcase_add_test(tcase, a_pause_never_moves_the_deadline);
    tcase_add_test(tcase, a_pause_of_ten_windows_is_reported_once);
    tcase_add_test(tcase, not_open_yet_goes_on_to_the_deadline_on_the_same_entry);
    tcase_add_test(tcase, a_window_that_opens_after_its_first_firing_is_timed_from_there);
    tcase_add_test(tcase, the_rest_of_the_window_is_waited_for_and_no_more);
    tcase_add_test(tcase, what_came_in_the_turn_of_the_firing_counts);
    tcase_add_test(tcase, an_answer_in_the_turn_of_the_firing_is_the_answer);
    tcase_add_loop_test(tcase, what_lies_at_the_socket_is_read_before_the_server_is_condemned, 0,
                        4);
    tcase_add_test(tcase, a_status_that_came_is_not_timed);
}

static Suite *call_read_timeout_suite(void)
{
    Suite *suite = suite_create("call_read_timeout");
    TCase *tcase = tcase_create("call_read_timeout");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_silent_server_ends_a_unary_call_with_a_reset);
    tcase_add_test(tcase, the_text_has_the_window_the_silence_and_the_bytes);
    tcase_add_test(tcase, headers_and_data_reopen_it_and_pieces_of_a_message_too);
    tcase_add_loop_test(tcase, frames_that_tell_nothing_else_reopen_it_too, 0, 3);
    tcase_add_test(tcase, ping_settings_and_other_streams_do_not);
    tcase_add_test(tcase, a_request_opens_it_with_its_last_byte);
    tcase_add_test(tcase, a_client_stream_opens_it_with_its_headers);
    tcase_add_test(tcase, the_calls_own_word_wins_over_the_channels);
    add_orders(tcase);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_read_timeout", call_read_timeout_suite)
