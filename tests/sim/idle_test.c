/* SPDX-License-Identifier: MIT */
/*
 * Idle mode of a whole channel in the simulated world (RULINGS 3-5; BEHAVIOUR 2.4; C01, C02, C03, C05).
 */
#include <errno.h>
#include <string.h>

#include "channel/channel.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"

static struct life life;

static void begin(int64_t idle_ns)
{
    life_begin(&life, 7);
    life.options.idle_timeout_ns = idle_ns;
}

/* Since the world began; LULL_NEVER when nothing is armed. */
static int64_t idle_timer_at(void)
{
    struct lull_instant at = lull_rescheduler_armed_at(&life.channel->idle_wake);
    if (at.ns == LULL_NEVER) {
        return LULL_NEVER;
    }
    return at.ns - life.sim.clock.mono_at.ns + sim_elapsed_ns(&life.sim);
}

/* C01 */
START_TEST(idle_fires_in_every_cycle_not_only_the_first)
{
    begin(MS(60000));
    life.peer.reply_after_ns = MS(1000);
    life_open(&life);
    for (unsigned k = 0; k < 5; k++) {
        struct life_call call;
        int64_t start = (int64_t)k * MS(200000);
        life_at(&life, start);
        life_call(&life, &call, LULL_NEVER, false);
        life_at(&life, start + MS(61000) - 1);
        life_expect_call(&call, LULL_CODE_OK, start + MS(1000));
        ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
        ck_assert_uint_eq(peer_open_connections(&life.peer), 1);
        sim_advance(&life.sim, 1);
        life_expect_asleep(&life);
        ck_assert_uint_eq(life.host->dials, k + 1);
        ck_assert_uint_eq(life.peer.accepted, k + 1);
        ck_assert_uint_eq(life.peer.goaways, k + 1);
        ck_assert_int_eq(life.peer.goaway_ns, start + MS(61000));
        ck_assert_uint_eq(life.peer.closed, k + 1);
        ck_assert_int_eq(life.peer.closed_ns, start + MS(61000));
        ck_assert_uint_eq(life.states.count, 3 * (size_t)(k + 1));
        life_expect(&life.states, 3 * k, start, "IDLE -> CONNECTING");
        life_expect(&life.states, 3 * k + 1, start, "CONNECTING -> READY");
        life_expect(&life.states, 3 * k + 2, start + MS(61000),
                    "READY -> IDLE: idle: no call for 60 s");
    }
    struct lull_channel_stats stats = life_stats(&life);
    ck_assert_uint_eq(stats.connections_made, 5);
    ck_assert_uint_eq(stats.connections_lost, 0);
    life_end(&life);
}
END_TEST

/* C02; the two other operations are the limit of the one attempt to connect */
START_TEST(ten_thousand_calls_arm_the_idle_timer_twice)
{
    begin(MS(60000));
    life.options.trace.event = NULL;
    life.peer.reply_after_ns = MS(5);
    life_open(&life);
    for (int64_t i = 0; i < 10000; i++) {
        struct life_call call;
        life_call(&life, &call, LULL_NEVER, false);
        life_at(&life, MS(i * 5 + 5));
        life_expect_call(&call, LULL_CODE_OK, MS(i * 5 + 5));
        ck_assert_int_eq(idle_timer_at(), MS(60005));
    }
    ck_assert_uint_eq(sim_counters(&life.sim).timer_arms, 2);
    ck_assert_uint_eq(sim_counters(&life.sim).timer_disarms, 1);
    life_at(&life, MS(60005));
    ck_assert_int_eq(idle_timer_at(), MS(110000));
    life_at(&life, MS(110000) - 1);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    ck_assert_int_eq(life.peer.closed_ns, MS(110000));
    struct lull_counters counters = sim_counters(&life.sim);
    ck_assert_uint_eq(counters.timer_arms, 3);
    ck_assert_uint_eq(counters.timer_disarms, 1);
    ck_assert_uint_eq(counters.timer_fires, 2);
    ck_assert_uint_eq(counters.calls_closed, 10000);
    life_end(&life);
}
END_TEST

/* The end of the streaming call, and what it was told on the way. */
struct streamed {
    unsigned headers, closed;
    int64_t headers_ns, closed_ns;
    enum lull_code code;
};

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    struct streamed *streamed = ctx;
    (void)call;
    (void)headers;
    streamed->headers++;
    streamed->headers_ns = sim_elapsed_ns(&life.sim);
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct streamed *streamed = ctx;
    (void)call;
    (void)trailers;
    streamed->closed++;
    streamed->closed_ns = sim_elapsed_ns(&life.sim);
    streamed->code = status->code;
}

/* C03 */
START_TEST(an_open_stream_keeps_the_channel_awake)
{
    static const uint8_t headers[] = {0,    0,    0x14, 1,   4,   0,   0,   0,   1,   0x88,
                                      0x0f, 0x10, 0x10, 'a', 'p', 'p', 'l', 'i', 'c', 'a',
                                      't',  'i',  'o',  'n', '/', 'g', 'r', 'p', 'c'};
    static const uint8_t trailers[] = {0,   0,   0x0f, 1,   5,   0,   0,   0,
                                       1,   0,   0x0b, 'g', 'r', 'p', 'c', '-',
                                       's', 't', 'a',  't', 'u', 's', 1,   '0'};
    static const struct peer_step script[] = {
        {.kind = PEER_EXPECT, .type = FRAME_HEADERS, .stream = 1},
        {.kind = PEER_SEND, .at_ns = MS(10), .bytes = headers, .len = sizeof(headers)},
        {.kind = PEER_SEND, .at_ns = MS(10000), .bytes = trailers, .len = sizeof(trailers)},
    };
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct streamed streamed = {0};
    begin(MS(1000));
    life.peer.replies = false;
    life.peer.script = script;
    life.peer.script_len = 3;
    life_open(&life);
    lull_call_options_init(&options, "/sim.Service/Chat");
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(life.channel, &options, &handler, &streamed, NULL, NULL),
                     LULL_OK);
    life_at(&life, MS(11000) - 1);
    ck_assert_uint_eq(streamed.headers, 1);
    ck_assert_int_eq(streamed.headers_ns, MS(10));
    ck_assert_uint_eq(streamed.closed, 1);
    ck_assert_int_eq(streamed.closed_ns, MS(10000));
    ck_assert_int_eq(streamed.code, LULL_CODE_OK);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    ck_assert_uint_eq(life.states.count, 2);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    life_expect(&life.states, 2, MS(11000), "READY -> IDLE");
    life_end(&life);
}
END_TEST

/* C05 */
START_TEST(idle_forgets_the_last_failure)
{
    struct life_call a;
    struct life_call b;
    begin(MS(60000));
    life.host->connect_after_ns = MS(1);
    life.host->refuse_errno = ECONNREFUSED;
    life_open(&life);
    life_call(&life, &a, LULL_NEVER, false);
    life_at(&life, MS(1));
    life_expect_call(&a, LULL_CODE_UNAVAILABLE, MS(1));
    ck_assert_ptr_nonnull(strstr(a.line, "refused"));
    life_at(&life, MS(60001) - 1);
    ck_assert_int_eq(life_state(&life), LULL_STATE_TRANSIENT_FAILURE);
    ck_assert_uint_gt(life.host->dials, 5);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    ck_assert_str_eq(subchannel_last_failure(&life.channel->subchannel)->reason, "");
    unsigned dials = life.host->dials;
    life.host->refuse_errno = 0;
    life_at(&life, MS(70000));
    ck_assert_uint_eq(life.host->dials, dials);
    life_call(&life, &b, LULL_NEVER, false);
    sim_settle(&life.sim);
    ck_assert_uint_eq(life.host->dials, dials + 1);
    /* The wait of this attempt is the first of the curve, and the next one would have the second. */
    ck_assert_int_eq(life.channel->subchannel.backoff.base_ns, 1600 * LULL_MS);
    life_at(&life, MS(70001));
    life_expect_call(&b, LULL_CODE_OK, MS(70001));
    life_end(&life);
}
END_TEST

/* scenario 277 */
START_TEST(a_backoff_wait_ends_with_idle_mode)
{
    struct life_call call;
    begin(MS(60000));
    life.options.backoff_initial_ns = 120 * LULL_SECOND;
    life.host->refuse_errno = ECONNREFUSED;
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(60000) - 1);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, 0);
    ck_assert_int_eq(life_state(&life), LULL_STATE_TRANSIENT_FAILURE);
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed,
                      2); /* the wait, with 60 s left, and the idle timer */
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    life_expect(&life.states, 2, MS(60000), "TRANSIENT_FAILURE -> IDLE: idle: no call for 60 s");
    life_at(&life, MS(60001));
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    ck_assert_uint_eq(life.host->dials, 2);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(60001));
    ck_assert_int_eq(life.channel->subchannel.next_at.ns - life.sim.clock.mono_at.ns,
                     120 * LULL_SECOND);
    life_end(&life);
}
END_TEST

/* scenario 280, as RULINGS 5 has it: a failing call is activity too */
START_TEST(failing_calls_keep_it_awake)
{
    struct life_call call;
    begin(MS(30000));
    life.host->refuse_errno = ECONNREFUSED;
    life_open(&life);
    for (int64_t i = 0; i < 20; i++) {
        life_at(&life, MS(i * 10000));
        life_call(&life, &call, LULL_NEVER, false);
        sim_settle(&life.sim);
        life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(i * 10000));
    }
    ck_assert_uint_eq(life.states.count, 2);
    ck_assert_int_eq(life_state(&life), LULL_STATE_TRANSIENT_FAILURE);
    life_at(&life, MS(19 * 10000 + 30000));
    life_expect_asleep(&life);
    life_end(&life);
}
END_TEST

/* scenario 84 */
START_TEST(a_call_after_idle_waits_where_it_failed_before)
{
    struct life_call call;
    begin(MS(1000));
    life.host->refuse_errno = ECONNREFUSED;
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(900));
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(900)); /* TRANSIENT_FAILURE: at once */
    life_at(&life, MS(1900));
    life_expect_asleep(&life);
    life.host->refuse_errno = 0;
    life.host->connect_after_ns = MS(100);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(1950));
    ck_assert_uint_eq(call.done, 0);
    ck_assert_int_eq(life_state(&life), LULL_STATE_CONNECTING);
    life_at(&life, MS(4000));
    ck_assert_uint_eq(call.done, 1);
    ck_assert_int_eq(call.code, LULL_CODE_OK);
    life_end(&life);
}
END_TEST

/* scenarios 284, 181: the state IDLE is not idle mode */
START_TEST(a_servers_goodbye_is_not_idle_mode)
{
    static const uint8_t goaway[] = {0, 0, 0x10, 7, 0,   0,   0,   0,   0,   0,   0,   0,  1,
                                     0, 0, 0,    0, 'm', 'a', 'x', '_', 'i', 'd', 'l', 'e'};
    struct life_call call;
    begin(MS(60000));
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(20000));
    ck_assert(peer_say(&life.peer, goaway, sizeof(goaway)));
    struct lull_channel_stats stats = life_stats(&life);
    ck_assert_int_eq(stats.state, LULL_STATE_IDLE);
    ck_assert(!stats.is_in_idle_mode);
    ck_assert_str_eq(stats.reason, "GOAWAY(NO_ERROR, \"max_idle\")");
    ck_assert_int_eq(stats.idle_after_ns, MS(40000));
    ck_assert_int_eq(stats.state_for_ns, 0);
    ck_assert_uint_eq(peer_open_connections(&life.peer), 0);
    ck_assert_uint_eq(stats.connections_lost, 1);
    life_at(&life, MS(30000));
    ck_assert_uint_eq(life.host->dials, 1);
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    life_expect_call(&call, LULL_CODE_OK, MS(30000));
    life_at(&life, MS(90000));
    life_expect_asleep(&life);
    ck_assert_uint_eq(life.host->dials, 2);
    life_end(&life);
}
END_TEST

/* scenarios 106, 113; the memory of the world's origin must not matter either */
START_TEST(it_sleeps_and_wakes_at_any_origin_of_the_clock)
{
    for (uint64_t seed = 1; seed <= 9; seed++) {
        struct life_call call;
        life_begin(&life, seed);
        life.options.idle_timeout_ns = MS(1000);
        life_open(&life);
        for (int64_t i = 0; i < 4; i++) {
            life_at(&life, MS(i * 2000));
            life_call(&life, &call, MS(500), false);
            life_at(&life, MS(i * 2000 + 1000));
            life_expect_call(&call, LULL_CODE_OK, MS(i * 2000));
            life_expect_asleep(&life);
        }
        ck_assert_uint_eq(life.host->dials, 4);
        life_end(&life);
    }
}
END_TEST

/* scenario 112 */
START_TEST(the_floor_is_a_second_unless_short_timers_are_allowed)
{
    for (int is_short = 0; is_short <= 1; is_short++) {
        struct life_call call;
        begin(MS(50));
        life.options.allow_short_timers = is_short != 0;
        life_open(&life);
        life_call(&life, &call, LULL_NEVER, false);
        life_at(&life, is_short ? MS(50) - 1 : MS(1000) - 1);
        ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
        sim_advance(&life.sim, 1);
        life_expect_asleep(&life);
        life_end(&life);
    }
}
END_TEST

/* A stall: the clock jumps over the timer. */
START_TEST(a_late_timer_falls_idle_late_and_once)
{
    struct life_call call;
    begin(MS(60000));
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    lull_fake_clock_jump(&life.sim.clock, 3600 * LULL_SECOND);
    life_expect_asleep(&life);
    ck_assert_uint_eq(life.states.count, 3);
    ck_assert_uint_eq(life.peer.goaways, 1);
    life_end(&life);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/idle");
    TCase *t = tcase_create("idle");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, idle_fires_in_every_cycle_not_only_the_first);
    tcase_add_test(t, ten_thousand_calls_arm_the_idle_timer_twice);
    tcase_add_test(t, an_open_stream_keeps_the_channel_awake);
    tcase_add_test(t, idle_forgets_the_last_failure);
    tcase_add_test(t, a_backoff_wait_ends_with_idle_mode);
    tcase_add_test(t, failing_calls_keep_it_awake);
    tcase_add_test(t, a_call_after_idle_waits_where_it_failed_before);
    tcase_add_test(t, a_servers_goodbye_is_not_idle_mode);
    tcase_add_test(t, it_sleeps_and_wakes_at_any_origin_of_the_clock);
    tcase_add_test(t, the_floor_is_a_second_unless_short_timers_are_allowed);
    tcase_add_test(t, a_late_timer_falls_idle_late_and_once);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/idle", suite)
