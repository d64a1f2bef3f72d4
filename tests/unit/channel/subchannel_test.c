/* SPDX-License-Identifier: MIT */
/*
 * src/channel/subchannel.c, seen through a channel: attempts, limits, backoff, loss.
 */
#include <errno.h>
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;

/* Timers that are in the queue now. */
static uint64_t armed(void)
{
    return rig_counters(&rig).timers_armed;
}

static enum lull_state state(void)
{
    return lull_channel_state(rig.channel, false);
}

/* C19, scenario 170 */
START_TEST(attempts_follow_the_curve_to_the_millisecond)
{
    static const int64_t at_ms[] = {0,     1000,  2600,   5160,   9256,   15810, 26295,
                                    43073, 69916, 112866, 181585, 291536, 411536};
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .is_mute = true, .closes = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, true);
    rig_advance(&rig, 420 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 13);
    for (size_t i = 0; i < 13; i++) {
        int64_t off_ns = rig.attempts[i].at_ns - at_ms[i] * LULL_MS;
        ck_assert_msg(off_ns >= -LULL_MS && off_ns <= LULL_MS, "attempt %zu at %lld", i + 1,
                      (long long)rig.attempts[i].at_ns);
    }
    ck_assert_uint_eq(call.done, 0);
    ck_assert_int_eq(state(), LULL_STATE_TRANSIENT_FAILURE);
    ck_assert_uint_eq(armed(), 1);
    rig_fini(&rig);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 420 * LULL_SECOND);
}
END_TEST

/* C19: SETTINGS, and nothing else, set the counter back */
START_TEST(only_settings_reset_the_backoff)
{
    struct rig_call call = {0};
    struct rig_step mute = {.what = RIG_ACCEPT, .is_mute = true, .closes = true};
    struct rig_step greets = {.what = RIG_ACCEPT, .closes = true};
    rig_init(&rig);
    for (int i = 0; i < 5; i++) {
        rig_step(&rig, mute);
    }
    rig_step(&rig, greets);
    rig_step(&rig, mute);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, true);
    rig_advance(&rig, 20 * LULL_SECOND);
    ck_assert_uint_ge(rig.attempt_count, 9);
    int64_t sixth_at = rig.attempts[5].at_ns;
    /* A call waits, so the next attempt follows as soon as the spacing allows; its wait is the first of the curve. */
    ck_assert_int_eq(rig.attempts[6].at_ns - sixth_at, 800 * LULL_MS);
    ck_assert_int_eq(rig.attempts[7].at_ns - rig.attempts[6].at_ns, LULL_SECOND);
    ck_assert_int_eq(rig.attempts[8].at_ns - rig.attempts[7].at_ns, 1600 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

/* C19, the variant that greets and hangs up; RULINGS 10 */
START_TEST(a_server_that_greets_and_hangs_up_is_not_dialled_in_a_spin)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .closes = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, true);
    rig_advance(&rig, 60 * LULL_SECOND - 1);
    ck_assert_uint_le(rig.attempt_count, 75);
    ck_assert_uint_ge(rig.attempt_count, 70);
    for (size_t i = 1; i < rig.attempt_count; i++) {
        ck_assert_int_ge(rig.attempts[i].at_ns - rig.attempts[i - 1].at_ns, 800 * LULL_MS);
    }
    ck_assert_uint_eq(call.done, 0);
    rig_fini(&rig);
}
END_TEST

/* C19: jitter is on the first wait too */
START_TEST(jitter_spreads_the_first_wait)
{
    static const struct {
        double unit;
        int64_t second_at;
    } rows[] = {{0.0, 800 * LULL_MS}, {0.5, LULL_SECOND}, {0.75, 1100 * LULL_MS}};
    for (size_t i = 0; i < 3; i++) {
        struct rig_call call = {0};
        struct rig_step step = {.what = RIG_FAIL_AT_ONCE, .sys_errno = ENETUNREACH};
        rig_init(&rig);
        rig_step(&rig, step);
        rig.options.backoff_jitter = 0.2;
        rig.random_unit = rows[i].unit;
        rig_open(&rig);
        rig_call_with(&rig, &call, LULL_NEVER, true);
        rig_advance(&rig, 1200 * LULL_MS);
        ck_assert_uint_eq(rig.attempt_count, 2);
        int64_t off_ns = rig.attempts[1].at_ns - rows[i].second_at;
        ck_assert_msg(off_ns > -1000 && off_ns < 1000, "unit %f: %lld", rows[i].unit,
                      (long long)rig.attempts[1].at_ns);
        rig_fini(&rig);
    }
}
END_TEST

/* scenarios 165, 169 */
START_TEST(a_peer_that_accepts_and_says_nothing_fails_at_the_limit)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .is_mute = true};
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance_to(&rig, 20 * LULL_SECOND - 1);
    ck_assert_uint_eq(call.done, 0);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    ck_assert_uint_eq(armed(), 1);
    rig_advance(&rig, 1);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 20 * LULL_SECOND);
    rig_expect_text(&call, "no SETTINGS from 127.0.0.1:2379 within 20 s: the peer accepts but does "
                           "not speak HTTP/2 (a TLS port?)");
    ck_assert_int_eq(call.failure.reason, LULL_REASON_CONNECT);
    /* The attempt took longer than its wait: the next one starts at once. */
    ck_assert_int_eq(call.failure.next_attempt_after_ns, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_connect_that_hangs_fails_at_the_limit)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_HANG};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.options.min_connect_timeout_ns = 3 * LULL_SECOND;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance(&rig, 3 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 3 * LULL_SECOND);
    rig_expect_text(&call, "no answer within 3 s");
    rig_expect_text(&call, RIG_TARGET);
    rig_fini(&rig);
}
END_TEST

START_TEST(what_is_no_http2_is_quoted)
{
    struct rig_call call = {0};
    struct rig_step step = {.what = RIG_ACCEPT, .is_mute = true};
    static const char hello[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    rig_init(&rig);
    rig_step(&rig, step);
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    peer_send(rig_peer(&rig, 0), hello, sizeof(hello) - 1);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 0);
    rig_expect_text(&call, "HTTP/1.1 400");
    ck_assert_int_eq(state(), LULL_STATE_TRANSIENT_FAILURE);
    rig_fini(&rig);
}
END_TEST

/* C18 (a) */
START_TEST(a_refused_connection_is_told_with_its_address)
{
    struct rig_call call = {0};
    rig_start(&rig, RIG_REFUSE, LULL_MS);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance(&rig, LULL_MS);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, LULL_MS);
    rig_expect_text(&call, "connection refused");
    rig_expect_text(&call, RIG_TARGET);
    ck_assert_int_eq(call.failure.sys_errno, ECONNREFUSED);
    ck_assert_str_eq(call.address, RIG_TARGET);
    ck_assert_uint_eq(call.failure.attempts, 1);
    ck_assert_int_eq(call.failure.next_attempt_after_ns, 999 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

/* C18 (b), scenario 201 */
START_TEST(a_deadline_while_the_server_is_away_quotes_the_last_failure)
{
    struct rig_call call = {0};
    rig_start(&rig, RIG_REFUSE, LULL_MS);
    rig_call_with(&rig, &call, 2 * LULL_SECOND, true);
    rig_advance(&rig, 2 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, 2 * LULL_SECOND);
    rig_expect_text(&call, RIG_TARGET);
    rig_expect_text(&call, "(attempt 2 failed: connection refused; next in 600 ms)");
    ck_assert_uint_eq(call.failure.attempts, 2);
    ck_assert_int_eq(call.failure.reason, LULL_REASON_DEADLINE);
    ck_assert_int_eq(call.failure.phase, LULL_PHASE_BACKOFF);
    ck_assert_int_eq(call.failure.phase_ns[LULL_PHASE_CONNECTING], 2 * LULL_MS);
    ck_assert_int_eq(call.failure.phase_ns[LULL_PHASE_BACKOFF], 1998 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

/* C18 b to the letter: the deadline and the second attempt are due at the same instant */
START_TEST(a_deadline_at_the_instant_of_the_second_attempt_tells_of_the_first)
{
    struct rig_call call = {0};
    rig_start(&rig, RIG_REFUSE, LULL_MS);
    rig_call_with(&rig, &call, LULL_SECOND, true);
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, LULL_SECOND);
    rig_expect_text(&call, RIG_TARGET);
    rig_expect_text(&call, "attempt 1 failed: connection refused");
    ck_assert_int_eq(call.failure.reason, LULL_REASON_DEADLINE);
    rig_fini(&rig);
}
END_TEST

/* scenario 181 */
START_TEST(a_lost_connection_without_calls_is_idle_and_the_next_call_dials)
{
    struct rig_call first = {0}, second = {0};
    rig_start(&rig, RIG_ACCEPT, 0);
    rig_call_with(&rig, &first, LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&first, LULL_CODE_OK, 0);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    ck_assert_uint_eq(armed(), 0);
    peer_close(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    ck_assert_uint_eq(armed(), 0);
    /* A call was completed, so no spacing holds it back. */
    rig_call_with(&rig, &second, LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&second, LULL_CODE_OK, 0);
    ck_assert_uint_eq(rig.attempt_count, 2);
    rig_fini(&rig);
}
END_TEST

/* RULINGS 10: 800 ms between starts while no call was completed */
START_TEST(a_connection_that_served_nobody_is_not_followed_at_once)
{
    struct rig_call call = {0};
    rig_start(&rig, RIG_ACCEPT, 0);
    ck_assert_int_eq(lull_channel_state(rig.channel, true), LULL_STATE_IDLE);
    rig_advance(&rig, 100 * LULL_MS);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    peer_close(rig_peer(&rig, 0));
    rig_settle(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    ck_assert_uint_eq(armed(), 1);
    rig_advance_to(&rig, 800 * LULL_MS);
    rig_expect(&call, LULL_CODE_OK, 800 * LULL_MS);
    ck_assert_int_eq(rig.attempts[1].at_ns, 800 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

/* scenarios 156, 176 */
START_TEST(nothing_is_dialled_before_somebody_asks)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    rig_advance(&rig, 3600 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_int_eq(lull_channel_state(rig.channel, true), LULL_STATE_IDLE);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    rig_settle(&rig);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

/* scenarios 160, 166, 188 */
START_TEST(reset_backoff_dials_now_and_only_in_transient_failure)
{
    rig_start(&rig, RIG_REFUSE, 0);
    lull_channel_reset_backoff(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 0);
    (void)lull_channel_state(rig.channel, true);
    rig_advance_to(&rig, 10 * LULL_SECOND);
    /* 0, 1, 2.6, 5.16, 9.256; the next would be at 15.8 s. */
    ck_assert_uint_eq(rig.attempt_count, 5);
    lull_channel_reset_backoff(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 5);
    /* 800 ms after the last start, which is the spacing; then the curve starts again. */
    rig_advance_to(&rig, 10056 * LULL_MS);
    ck_assert_uint_eq(rig.attempt_count, 6);
    ck_assert_int_eq(rig.attempts[5].at_ns, 10056 * LULL_MS);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 7);
    ck_assert_uint_eq(armed(), 1);
    lull_channel_reset_backoff(rig.channel);
    rig_advance(&rig, 800 * LULL_MS);
    ck_assert_uint_eq(rig.attempt_count, 8);
    rig_fini(&rig);
}
END_TEST

/* scenario 168 */
START_TEST(reset_backoff_ends_a_wait_without_end)
{
    struct rig_step refuse = {.what = RIG_REFUSE, .after_ns = LULL_MS, .sys_errno = ECONNREFUSED};
    struct rig_step accept = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, refuse);
    rig_step(&rig, accept);
    rig.options.backoff_initial_ns = LULL_NEVER;
    rig.options.backoff_max_ns = LULL_NEVER;
    rig_open(&rig);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, 10 * 365 * 86400 * LULL_SECOND);
    ck_assert_int_eq(state(), LULL_STATE_TRANSIENT_FAILURE);
    ck_assert_uint_eq(rig.attempt_count, 1);
    lull_channel_reset_backoff(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

/* C05 without its idle part: a failure is not remembered once there is a connection */
START_TEST(a_success_forgets_the_last_failure)
{
    struct rig_call a = {0}, b = {0};
    struct rig_step refuse = {.what = RIG_REFUSE, .after_ns = LULL_MS, .sys_errno = ECONNREFUSED};
    struct rig_step accept = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, refuse);
    rig_step(&rig, accept);
    rig_open(&rig);
    rig_call_with(&rig, &a, LULL_NEVER, false);
    rig_advance(&rig, 70 * LULL_SECOND);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, LULL_MS);
    rig_call_with(&rig, &b, LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&b, LULL_CODE_OK, 70 * LULL_SECOND);
    /* The counter is at zero: after a loss the next failure waits a second again. */
    rig.step_count = 0;
    rig_step(&rig, refuse);
    peer_close(rig_peer(&rig, 1));
    rig_settle(&rig);
    rig_call_with(&rig, &a, LULL_NEVER, false);
    rig_advance(&rig, LULL_MS);
    rig_expect(&a, LULL_CODE_UNAVAILABLE, 70 * LULL_SECOND + LULL_MS);
    ck_assert_int_eq(a.failure.next_attempt_after_ns, 999 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

/* scenario 158, RULINGS 3 */
START_TEST(closing_in_backoff_leaves_no_timer)
{
    rig_start(&rig, RIG_REFUSE, 0);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(armed(), 1);
    lull_channel_close(rig.channel);
    ck_assert_uint_eq(armed(), 0);
    ck_assert_int_eq(state(), LULL_STATE_SHUTDOWN);
    rig_advance(&rig, 60 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_fini(&rig);
}
END_TEST

/* ---- the system's own probes: a dialler whose endpoints remember what they were told */

static struct endpoint_ops probed_ops;
static unsigned probes_told;
static bool probes_on;
static struct lull_dialer *inner_dialer;

static int tell_probes(struct endpoint *endpoint, bool on)
{
    (void)endpoint;
    probes_told++;
    probes_on = on;
    return 0;
}

static int dial_probed(struct lull_dialer *dialer, struct lull_loop *loop,
                       struct lull_executor *executor, const struct addr *to, struct endpoint **out)
{
    (void)dialer;
    int err = inner_dialer->ops->dial(inner_dialer, loop, executor, to, out);
    if (err == 0) {
        probed_ops = *(*out)->ops;
        probed_ops.system_keepalive = tell_probes;
        (*out)->ops = &probed_ops;
    }
    return err;
}

static const struct dialer_ops probed_dialer_ops = {dial_probed};

/* RULINGS 5: on from the start, so only switching them off is told */
START_TEST(tcp_keepalive_is_switched_off_on_each_connection_if_so_asked)
{
    for (int on = 0; on <= 1; on++) {
        struct lull_dialer dialer = {.ops = &probed_dialer_ops};
        struct rig_step step = {.what = RIG_ACCEPT};
        rig_init(&rig);
        rig_step(&rig, step);
        inner_dialer = rig.world.dial;
        rig.world.dial = &dialer;
        rig.options.tcp_keepalive = on != 0;
        rig_open(&rig);
        probes_told = 0;
        probes_on = true;
        for (unsigned n = 1; n <= 2; n++) {
            (void)lull_channel_state(rig.channel, true);
            rig_advance(&rig, LULL_SECOND);
            ck_assert_uint_eq(rig.attempt_count, n);
            ck_assert_uint_eq(probes_told, on ? 0 : n);
            ck_assert_int_eq(probes_on, on);
            /* RULINGS 7: where the system probes, the write timeout is to be taken back when quiet. */
            ck_assert_uint_eq(armed(), on ? 1 : 0);
            lull_channel_enter_idle(rig.channel);
            rig_advance(&rig, LULL_SECOND);
        }
        ck_assert_uint_eq(armed(), 0);
        rig_fini(&rig);
    }
}
END_TEST

static Suite *subchannel_suite(void)
{
    Suite *suite = suite_create("subchannel");
    TCase *tcase = tcase_create("subchannel");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, attempts_follow_the_curve_to_the_millisecond);
    tcase_add_test(tcase, only_settings_reset_the_backoff);
    tcase_add_test(tcase, a_server_that_greets_and_hangs_up_is_not_dialled_in_a_spin);
    tcase_add_test(tcase, jitter_spreads_the_first_wait);
    tcase_add_test(tcase, a_peer_that_accepts_and_says_nothing_fails_at_the_limit);
    tcase_add_test(tcase, a_connect_that_hangs_fails_at_the_limit);
    tcase_add_test(tcase, what_is_no_http2_is_quoted);
    tcase_add_test(tcase, a_refused_connection_is_told_with_its_address);
    tcase_add_test(tcase, a_deadline_while_the_server_is_away_quotes_the_last_failure);
    tcase_add_test(tcase, a_deadline_at_the_instant_of_the_second_attempt_tells_of_the_first);
    tcase_add_test(tcase, a_lost_connection_without_calls_is_idle_and_the_next_call_dials);
    tcase_add_test(tcase, a_connection_that_served_nobody_is_not_followed_at_once);
    tcase_add_test(tcase, nothing_is_dialled_before_somebody_asks);
    tcase_add_test(tcase, reset_backoff_dials_now_and_only_in_transient_failure);
    tcase_add_test(tcase, reset_backoff_ends_a_wait_without_end);
    tcase_add_test(tcase, a_success_forgets_the_last_failure);
    tcase_add_test(tcase, closing_in_backoff_leaves_no_timer);
    tcase_add_test(tcase, tcp_keepalive_is_switched_off_on_each_connection_if_so_asked);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("subchannel", subchannel_suite)
