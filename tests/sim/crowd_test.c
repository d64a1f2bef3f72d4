/* SPDX-License-Identifier: MIT */
/*
 * Many channels in one simulated world: asleep, and quiet with keepalive.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

static struct life life;

#define SLEEPERS 10000

/* C34 */
START_TEST(ten_thousand_sleeping_channels_hold_no_timer_and_no_descriptor)
{
    static struct lull_channel *channels[SLEEPERS];
    static struct life_call calls[SLEEPERS];
    const size_t crowd = test_rounds(SLEEPERS, 500);
    life_begin(&life, 7);
    life.options.idle_timeout_ns = MS(60000);
    life.options.trace.event = NULL;
    life.host->pipe.capacity_bytes = 2048;
    life_open(&life);
    struct lull_channel *first = life.channel;
    for (size_t i = 0; i < crowd; i++) {
        ck_assert_int_eq(lull_channel_new(LIFE_ADDRESS, &life.options, &channels[i], NULL),
                         LULL_OK);
        life.channel = channels[i];
        life_call(&life, &calls[i], LULL_NEVER, false);
        sim_settle(&life.sim);
        life_expect_call(&calls[i], LULL_CODE_OK, 0);
    }
    ck_assert_uint_eq(peer_open_connections(&life.peer), crowd);
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, crowd);
    life_at(&life, MS(60000));
    ck_assert_uint_eq(peer_open_connections(&life.peer), 0);
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 0);
    for (size_t i = 0; i < crowd; i++) {
        ck_assert_int_eq(lull_channel_state(channels[i], false), LULL_STATE_IDLE);
        lull_channel_unref(channels[i]);
    }
    life.channel = first;
    life_end(&life);
}
END_TEST

#define QUIET   1000
#define PERIODS 50

/* gRPC C++ loses 995 of 1 000 like these */
START_TEST(a_thousand_quiet_channels_live_through_fifty_periods)
{
    static struct lull_channel *channels[QUIET];
    const size_t crowd = test_rounds(QUIET, 50);
    life_begin(&life, 11);
    life.options.idle_timeout_ns = LULL_NEVER;
    life.options.keepalive_time_ns = MS(10000);
    life.options.keepalive_timeout_ns = MS(20000);
    life.options.keepalive_without_calls = true;
    life.options.trace.event = NULL;
    life.host->pipe.capacity_bytes = 2048;
    life_open(&life);
    struct lull_channel *first = life.channel;
    for (size_t i = 0; i < crowd; i++) {
        ck_assert_int_eq(lull_channel_new(LIFE_ADDRESS, &life.options, &channels[i], NULL),
                         LULL_OK);
        (void)lull_channel_state(channels[i], true);
        sim_advance(&life.sim, (int64_t)sim_below(&life.sim, MS(20)));
    }
    int64_t up_ns = sim_elapsed_ns(&life.sim);
    uint64_t turns = sim_counters(&life.sim).turns;
    life_at(&life, up_ns + PERIODS * MS(10000));
    turns = sim_counters(&life.sim).turns - turns;
    /* They share wake-ups, 134 ms apart at the least: 75 a period send PINGs and 75 more hear of the answers, not one a channel. */
    ck_assert_uint_le(turns, 160 * PERIODS);
    ck_assert_uint_eq(peer_open_connections(&life.peer), crowd);
    ck_assert_uint_eq(life.peer.accepted, crowd);
    /* One is late by a part in 64 at most: of 50 the last may not have been due yet. */
    ck_assert_uint_ge(life.peer.pings, crowd * (PERIODS - 1));
    ck_assert_uint_le(life.peer.pings, crowd * (PERIODS + 2));
    for (size_t i = 0; i < crowd; i++) {
        struct lull_channel_stats stats = {.size = sizeof(stats)};
        lull_channel_stats(channels[i], &stats);
        ck_assert_int_eq(stats.state, LULL_STATE_READY);
        ck_assert_uint_eq(stats.connections_lost, 0);
        ck_assert_uint_ge(stats.pings_acked, PERIODS - 1);
        ck_assert_uint_eq(stats.pings_acked, stats.pings_sent);
        lull_channel_unref(channels[i]);
    }
    life.channel = first;
    life_end(&life);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/crowd");
    TCase *t = tcase_create("crowd");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, ten_thousand_sleeping_channels_hold_no_timer_and_no_descriptor);
    tcase_add_test(t, a_thousand_quiet_channels_live_through_fifty_periods);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/crowd", suite)
