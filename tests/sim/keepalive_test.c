/* SPDX-License-Identifier: MIT */
/*
 * Keepalive of a whole channel in the simulated world: options to transport, dead peers, strikes (RULINGS 6-9; gRFC A8; C06, C07, C08, C10).
 */
#include <string.h>

#include "channel/channel.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"

static struct life life;

/* F5: GOAWAY(last stream 0, ENHANCE_YOUR_CALM, "too_many_pings"). */
static const uint8_t too_many_pings[] = {0,   0,   0x16, 7,   0,   0,    0,   0,   0,   0,   0,
                                         0,   0,   0,    0,   0,   0x0b, 't', 'o', 'o', '_', 'm',
                                         'a', 'n', 'y',  '_', 'p', 'i',  'n', 'g', 's'};

static void begin(int64_t time_ns, int64_t timeout_ns, bool without_calls)
{
    life_begin(&life, 11);
    life.options.idle_timeout_ns = LULL_NEVER;
    life.options.keepalive_time_ns = time_ns;
    life.options.keepalive_timeout_ns = timeout_ns;
    life.options.keepalive_without_calls = without_calls;
}

static void connect_now(void)
{
    (void)lull_channel_state(life.channel, true);
    sim_settle(&life.sim);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
}

static void throw_out(void)
{
    ck_assert(peer_say(&life.peer, too_many_pings, sizeof(too_many_pings)));
    (void)peer_hang_up(&life.peer); /* the client may have been first */
    sim_settle(&life.sim);
    ck_assert_int_eq(life_state(&life), LULL_STATE_IDLE);
}

/* C10 */
START_TEST(too_many_pings_doubles_the_time_of_later_connections)
{
    static const int64_t times[] = {MS(10000), MS(20000), MS(40000), MS(80000), MS(160000)};
    static const char *const said[] = {"was 10 s, is 20 s", "was 20 s, is 40 s",
                                       "was 40 s, is 80 s", "was 80 s, is 160 s"};
    begin(MS(10000), MS(20000), true);
    life_open(&life);
    for (unsigned k = 0; k < 5; k++) {
        int64_t up_ns = sim_elapsed_ns(&life.sim);
        connect_now();
        ck_assert_int_eq(life.peer.byte_out_ns, up_ns);
        ck_assert_int_eq(life_stats(&life).keepalive_time_ns, times[k]);
        unsigned pings = life.peer.pings;
        life_at(&life, up_ns + times[k] - 1);
        ck_assert_uint_eq(life.peer.pings, pings);
        sim_advance(&life.sim, 1);
        ck_assert_uint_eq(life.peer.pings, pings + 1);
        ck_assert_int_eq(life.peer.ping_ns, up_ns + times[k]);
        if (k < 4) {
            throw_out();
            ck_assert_uint_eq(life.warnings.count, k + 1);
            life_expect(&life.warnings, k, up_ns + times[k], said[k]);
            ck_assert_ptr_nonnull(strstr(life_stats(&life).reason, "too_many_pings"));
            sim_advance(&life.sim, MS(1000));
        }
    }
    struct lull_channel_stats stats = life_stats(&life);
    ck_assert_uint_eq(stats.pings_sent, 5);
    ck_assert_uint_eq(stats.pings_acked, 5);
    ck_assert_uint_eq(stats.connections_made, 5);
    ck_assert_uint_eq(stats.connections_lost, 4);
    life_end(&life);
}
END_TEST

/* C10, the variant */
START_TEST(off_stays_off_whatever_the_server_says)
{
    begin(LULL_NEVER, MS(20000), true);
    life_open(&life);
    for (unsigned k = 0; k < 64; k++) {
        connect_now();
        sim_advance(&life.sim, MS(3600000));
        throw_out();
        ck_assert_uint_eq(life.warnings.count, k + 1);
        ck_assert_int_eq(life_stats(&life).keepalive_time_ns, LULL_NEVER);
        ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 0);
        sim_advance(&life.sim, MS(1000));
    }
    connect_now();
    sim_advance(&life.sim, MS(3600000));
    ck_assert_uint_eq(life.peer.pings, 0);
    ck_assert_uint_eq(sim_counters(&life.sim).pings_sent, 0);
    life_end(&life);
}
END_TEST

/* scenarios 144, 145, 146 */
START_TEST(only_the_exact_words_with_the_exact_code_double_it)
{
    static const struct {
        uint8_t code;
        const char *debug;
        bool is_strike;
    } rows[] = {{0xb, "too_many_pings", true}, {0xb, "not_many_pings", false},
                {0, "too_many_pings", false},  {0xb, "too_many_pings!", false},
                {0xb, "\xff\xfe\x80", false},  {0xb, "", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf goaway;
        begin(MS(10000), MS(20000), true);
        life_open(&life);
        connect_now();
        buf_init(&goaway, NULL, 0);
        ck_assert_int_eq(frame_put_goaway(&goaway, 0, rows[i].code, rows[i].debug), 0);
        ck_assert(peer_say(&life.peer, buf_data(&goaway), buf_len(&goaway)));
        buf_fini(&goaway);
        sim_settle(&life.sim);
        ck_assert_int_eq(life_stats(&life).keepalive_time_ns,
                         rows[i].is_strike ? MS(20000) : MS(10000));
        ck_assert_uint_eq(life.warnings.count, rows[i].is_strike);
        ck_assert_int_eq(life_state(&life), LULL_STATE_IDLE);
        life_end(&life);
    }
}
END_TEST

/* RULINGS 9 */
START_TEST(a_doubled_time_halves_again_day_by_day)
{
    begin(MS(10000), MS(20000), true);
    life_open(&life);
    for (int k = 0; k < 2; k++) {
        connect_now();
        throw_out();
        sim_advance(&life.sim, MS(1000));
    }
    int64_t struck_ns = sim_elapsed_ns(&life.sim) - MS(1000);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(40000));
    life_at(&life, struck_ns + LULL_KEEPALIVE_DECAY_NS - 1);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(40000));
    sim_advance(&life.sim, 1);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(20000));
    connect_now();
    sim_advance(&life.sim, MS(20000));
    ck_assert_uint_eq(life.peer.pings, 1);
    sim_advance(&life.sim, 5 * LULL_KEEPALIVE_DECAY_NS);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(10000));
    life_end(&life);
}
END_TEST

/* scenario 278 */
START_TEST(a_doubled_time_survives_idle_mode_but_not_the_channel)
{
    struct life_call call;
    begin(MS(10000), MS(20000), false);
    life.options.idle_timeout_ns = MS(60000);
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    throw_out();
    life_at(&life, MS(60000));
    life_expect_asleep(&life);
    life.peer.replies = false;
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(80000) - 1);
    ck_assert_uint_eq(life.peer.pings, 0);
    sim_advance(&life.sim, 1);
    ck_assert_uint_eq(life.peer.pings, 1);
    lull_call_cancel(call.handle);
    sim_settle(&life.sim);
    lull_channel_unref(life.channel);
    sim_settle(&life.sim);
    life_open(&life);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(10000));
    life_call(&life, &call, LULL_NEVER, false);
    sim_advance(&life.sim, MS(10000));
    ck_assert_uint_eq(life.peer.pings, 2);
    lull_call_cancel(call.handle);
    life_end(&life);
}
END_TEST

/* scenario 281 */
START_TEST(a_dead_peer_ends_every_call_and_the_next_one_dials_at_once)
{
    struct life_call calls[3];
    struct life_call next;
    begin(MS(10000), MS(5000), false);
    life.peer.replies = false;
    life.peer.acks_pings = false;
    life_open(&life);
    for (size_t i = 0; i < 3; i++) {
        life_call(&life, &calls[i], LULL_NEVER, false);
    }
    life_at(&life, MS(15000) - 1);
    ck_assert_uint_eq(life.peer.pings, 1);
    ck_assert_int_eq(life.peer.ping_ns, MS(10000));
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    sim_advance(&life.sim, 1);
    for (size_t i = 0; i < 3; i++) {
        life_expect_call(&calls[i], LULL_CODE_UNAVAILABLE, MS(15000));
        ck_assert_int_eq(calls[i].reason, LULL_REASON_KEEPALIVE);
        ck_assert_ptr_nonnull(strstr(calls[i].line, "keepalive"));
        ck_assert_ptr_nonnull(strstr(calls[i].line, "last byte read 15000 ms ago"));
    }
    ck_assert_int_eq(life_state(&life), LULL_STATE_IDLE);
    ck_assert_uint_eq(life_stats(&life).connections_lost, 1);
    ck_assert_ptr_nonnull(strstr(life_stats(&life).reason, "keepalive"));
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 0);
    life.peer.replies = true;
    life_call(&life, &next, LULL_NEVER, false);
    sim_settle(&life.sim);
    life_expect_call(&next, LULL_CODE_OK, MS(15000));
    ck_assert_uint_eq(life.host->dials, 2);
    life_end(&life);
}
END_TEST

/* scenarios 293 and 294, as RULINGS 3 and 4 have them: nothing lingers, so there is no linger that a shutdown could meet */
START_TEST(idle_mode_ends_keepalive_in_that_turn)
{
    struct life_call call;
    begin(MS(10000), MS(5000), true);
    life.options.idle_timeout_ns = MS(15000);
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(15000) - 1);
    ck_assert_uint_eq(life.peer.pings, 1);
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 2);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    ck_assert_int_eq(life.peer.closed_ns, MS(15000));
    sim_advance(&life.sim, MS(1000000));
    ck_assert_uint_eq(life.peer.pings, 1);
    life_end(&life);
}
END_TEST

/* C07 */
START_TEST(a_ping_goes_before_the_headers_after_a_quiet_spell)
{
    struct life_call call;
    begin(MS(30000), MS(20000), false);
    life.peer.reply_after_ns = MS(1000);
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(40000));
    life_expect_call(&call, LULL_CODE_OK, MS(1000));
    ck_assert_uint_eq(life.peer.pings, 0);
    life.peer.replies = false;
    life.peer.acks_pings = false;
    life.peer.credits = false;
    life_call(&life, &call, LULL_NEVER, false);
    sim_settle(&life.sim);
    ck_assert_uint_eq(life.peer.pings, 1);
    ck_assert_uint_eq(life.peer.pings_before_headers, 1);
    ck_assert_uint_eq(life.peer.requests, 2);
    ck_assert_int_eq(life.peer.ping_ns, MS(40000));
    life_at(&life, MS(60000) - 1);
    ck_assert_uint_eq(call.done, 0);
    sim_advance(&life.sim, 1);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(60000));
    ck_assert_int_eq(call.reason, LULL_REASON_KEEPALIVE);
    ck_assert_ptr_nonnull(strstr(call.line, "keepalive"));
    ck_assert_ptr_nonnull(strstr(call.line, "last byte read 59000 ms ago"));
    ck_assert_uint_eq(life.host->dials, 1);
    life_end(&life);
}
END_TEST

/* C07, the variant: each response wipes what the server has against us */
START_TEST(probes_before_calls_are_no_strikes)
{
    struct life_call call;
    begin(MS(30000), MS(20000), false);
    life.peer.is_policed = true;
    life_open(&life);
    for (int i = 0; i < 100; i++) {
        life_call(&life, &call, LULL_NEVER, false);
        sim_settle(&life.sim);
        ck_assert_int_eq(call.code, LULL_CODE_OK);
        sim_advance(&life.sim, MS(40000));
    }
    ck_assert_uint_eq(life.peer.pings, 99);
    ck_assert_uint_eq(life.peer.strikes, 0);
    ck_assert_uint_eq(life.peer.accepted, 1);
    life_end(&life);
}
END_TEST

/* C06 */
START_TEST(a_ping_is_due_from_the_last_byte_read)
{
    static const uint8_t first[] = {
        0,   0,   0x14, 1,   4,   0,   0,   0,   1,   0x88, 0x0f, 0x10, 0x10, 'a', 'p', 'p',
        'l', 'i', 'c',  'a', 't', 'i', 'o', 'n', '/', 'g',  'r',  'p',  'c', /* F7 */
        0,   0,   7,    0,   0,   0,   0,   0,   1,   0,    0,    0,    0,    2,   8,   1};
    static const uint8_t last[] = {0,   0,   0x0f, 1,   5,   0,   0,   0,   1,   0,   0x0b, 'g',
                                   'r', 'p', 'c',  '-', 's', 't', 'a', 't', 'u', 's', 1,    '0'};
    static const struct peer_step script[] = {
        {.kind = PEER_SEND, .at_ns = MS(12000), .bytes = first, .len = sizeof(first)},
        {.kind = PEER_SEND, .at_ns = MS(13000), .bytes = last, .len = sizeof(last)},
    };
    struct life_call a;
    struct life_call b;
    begin(MS(20000), MS(10000), false);
    life.peer.replies = false;
    life.peer.credits = false; /* a WINDOW_UPDATE is a byte read, too */
    life.peer.script = script;
    life.peer.script_len = 2;
    life_open(&life);
    life_call(&life, &a, LULL_NEVER, false);
    life_at(&life, MS(14000));
    life_expect_call(&a, LULL_CODE_OK, MS(13000));
    life_call(&life, &b, LULL_NEVER, false);
    life_at(&life, MS(33000) - 1);
    ck_assert_uint_eq(life.peer.pings, 0);
    life_at(&life, MS(33000));
    ck_assert_uint_eq(life.peer.pings, 1);
    life_at(&life, MS(53000) - 1);
    ck_assert_uint_eq(life.peer.pings, 1);
    life_at(&life, MS(53000)); /* acked at once, so 20 000 after the first */
    ck_assert_uint_eq(life.peer.pings, 2);
    lull_call_cancel(b.handle);
    life_end(&life);
}
END_TEST

/* Scenario 136, with calls of 20 s: our police forgives a ping that comes late enough after the last valid one (gRFC A8). */
START_TEST(doubling_finds_what_the_server_bears)
{
    struct life_call call;
    begin(MS(1000), MS(20000), false);
    life.options.allow_short_timers = true;
    life.options.backoff_initial_ns = MS(1);
    life.peer.replies = false;
    life.peer.is_policed = true;
    life.peer.police.permit_ns = MS(5000);
    life.peer.police.max_strikes = 1;
    life_open(&life);
    for (int64_t time_ns = MS(1000); time_ns < MS(8000); time_ns *= 2) {
        life_call(&life, &call, MS(20000), false);
        sim_settle(&life.sim);
        ck_assert_int_eq(life_stats(&life).keepalive_time_ns, time_ns);
        sim_advance(&life.sim, MS(20000));
        ck_assert_int_eq(call.code, LULL_CODE_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(call.line, "too_many_pings"));
    }
    ck_assert_uint_eq(life.peer.thrown_out, 3);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, MS(8000));
    life_call(&life, &call, MS(20000), false);
    sim_advance(&life.sim, MS(20000));
    ck_assert_int_eq(call.code, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(life.peer.thrown_out, 3);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    life_end(&life);
}
END_TEST

/* Half a second against a server that counts. */
struct duel {
    int scenario;
    int64_t time_ns, timeout_ns;
    bool without_calls, has_call;
    int64_t permit_ns;
    bool permit_without_calls, is_mute; /* mute: the server acks no ping */
    unsigned thrown_out, pings;         /* exactly */
};

START_TEST(who_pings_within_what_is_permitted_lives)
{
    static const struct duel rows[] = {
        {120, MS(10), MS(10), false, false, MS(1), true, true, 0, 0},
        {122, MS(55), MS(1000), true, true, MS(50), true, false, 0, 9},
        {122, MS(55), MS(1000), true, false, MS(50), true, false, 0, 9},
        {124, MS(20), MS(100), true, false, MS(1000), false, false, 1, 4},
        {125, MS(50), MS(100), false, true, MS(1000), false, false, 1, 4},
        {126, MS(50), MS(1000), true, false, MS(40), true, false, 0, 9},
        {128, MS(10), MS(10), false, false, MS(100), false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct duel *row = &rows[i];
        struct life_call call = {0};
        begin(row->time_ns, row->timeout_ns, row->without_calls);
        life.options.allow_short_timers = true;
        life.peer.replies = false;
        life.peer.acks_pings = !row->is_mute;
        life.peer.is_policed = true;
        life.peer.police.permit_ns = row->permit_ns;
        life.peer.police.permit_without_calls = row->permit_without_calls;
        life_open(&life);
        connect_now();
        if (row->has_call) {
            life_call(&life, &call, LULL_NEVER, false);
        }
        life_at(&life, MS(500) - 1);
        ck_assert_msg(life.peer.thrown_out == row->thrown_out && life.peer.pings == row->pings,
                      "row %zu (scenario %d): thrown out %u times after %u pings", i, row->scenario,
                      life.peer.thrown_out, life.peer.pings);
        ck_assert_int_eq(life_state(&life), row->thrown_out ? LULL_STATE_IDLE : LULL_STATE_READY);
        life_end(&life);
    }
}
END_TEST

/* scenario 283: a process that was stopped for an hour asks first */
START_TEST(after_a_stall_it_pings_before_it_judges)
{
    struct life_call call;
    begin(MS(10000), MS(5000), false);
    life.peer.replies = false;
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, MS(5000));
    lull_fake_clock_jump(&life.sim.clock, 3600 * LULL_SECOND);
    ck_assert_uint_eq(life.peer.pings, 1);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    /* And when the stall comes with a ping on its way, the answer is read first. */
    sim_advance(&life.sim, MS(10000) - 1);
    life.sim.clock.mono_at.ns++;
    life.sim.clock.wall_ns++;
    ck_assert_int_eq(lull_executor_turn_now(sim_executor(&life.sim)),
                     LULL_OK); /* the ping is out, nobody has read it */
    ck_assert_int_eq(lull_executor_turn_now(life.sim.peers),
                     LULL_OK); /* the answer is in the socket */
    lull_fake_clock_jump(&life.sim.clock, 3600 * LULL_SECOND);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    ck_assert_uint_eq(call.done, 0);
    lull_call_cancel(call.handle);
    life_end(&life);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/keepalive");
    TCase *t = tcase_create("keepalive");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, too_many_pings_doubles_the_time_of_later_connections);
    tcase_add_test(t, off_stays_off_whatever_the_server_says);
    tcase_add_test(t, only_the_exact_words_with_the_exact_code_double_it);
    tcase_add_test(t, a_doubled_time_halves_again_day_by_day);
    tcase_add_test(t, a_doubled_time_survives_idle_mode_but_not_the_channel);
    tcase_add_test(t, a_dead_peer_ends_every_call_and_the_next_one_dials_at_once);
    tcase_add_test(t, idle_mode_ends_keepalive_in_that_turn);
    tcase_add_test(t, a_ping_goes_before_the_headers_after_a_quiet_spell);
    tcase_add_test(t, probes_before_calls_are_no_strikes);
    tcase_add_test(t, a_ping_is_due_from_the_last_byte_read);
    tcase_add_test(t, doubling_finds_what_the_server_bears);
    tcase_add_test(t, who_pings_within_what_is_permitted_lives);
    tcase_add_test(t, after_a_stall_it_pings_before_it_judges);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/keepalive", suite)
