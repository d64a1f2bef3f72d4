/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_stats.c: what a channel tells of itself.
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call, other;

static struct lull_channel_stats stats_now(void)
{
    struct lull_channel_stats stats;
    memset(&stats, 0x5a, sizeof(stats));
    stats.size = sizeof(stats);
    lull_channel_stats(rig.channel, &stats);
    ck_assert_uint_eq(stats.size, sizeof(stats));
    return stats;
}

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT, .after_ns = LULL_SECOND};
    memset(&call, 0, sizeof(call));
    memset(&other, 0, sizeof(other));
    rig_init(&rig);
    rig_step(&rig, step);
    rig.limit = 1;
    rig.on_request = rig_stay_silent;
    rig.options.idle_timeout_ns = 60 * LULL_SECOND;
    rig.options.keepalive_time_ns = 10 * LULL_SECOND;
    rig_open(&rig);
}

START_TEST(at_birth_there_is_nothing_to_tell)
{
    begin();
    rig_advance(&rig, 3 * LULL_SECOND);
    struct lull_channel_stats stats = stats_now();
    ck_assert_int_eq(stats.state, LULL_STATE_IDLE);
    ck_assert(stats.is_in_idle_mode);
    ck_assert_int_eq(stats.state_for_ns, 3 * LULL_SECOND);
    ck_assert_str_eq(stats.reason, "");
    ck_assert_uint_eq(stats.calls + stats.calls_waiting + stats.attempts, 0);
    ck_assert_uint_eq(stats.connections_made + stats.connections_lost, 0);
    ck_assert_int_eq(stats.idle_after_ns, 0);
    ck_assert_int_eq(stats.keepalive_time_ns, 10 * LULL_SECOND);
    ck_assert_uint_eq(stats.pings_sent + stats.pings_acked + stats.pings_late, 0);
    ck_assert_int_eq(stats.rtt_ns, LULL_NEVER);
    ck_assert_int_eq(stats.rtt_min_ns, LULL_NEVER);
    ck_assert_int_eq(stats.rtt_max_ns, LULL_NEVER);
    rig_fini(&rig);
}
END_TEST

START_TEST(calls_and_the_time_to_idle_are_told)
{
    begin();
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    struct lull_channel_stats stats = stats_now();
    ck_assert_uint_eq(stats.calls, 2);
    ck_assert_uint_eq(stats.calls_waiting, 2);
    ck_assert_int_eq(stats.idle_after_ns, LULL_NEVER);
    rig_advance(&rig, 2 * LULL_SECOND);
    stats = stats_now();
    ck_assert_int_eq(stats.state, LULL_STATE_READY);
    ck_assert_str_eq(stats.reason, RIG_TARGET);
    ck_assert_int_eq(stats.state_for_ns, LULL_SECOND);
    ck_assert_uint_eq(stats.calls, 2);
    ck_assert_uint_eq(stats.calls_waiting, 1);
    ck_assert_uint_eq(stats.attempts, 1);
    ck_assert_uint_eq(stats.connections_made, 1);
    lull_call_cancel(call.handle);
    lull_call_cancel(other.handle);
    rig_advance(&rig, 20 * LULL_SECOND);
    stats = stats_now();
    ck_assert_uint_eq(stats.calls + stats.calls_waiting, 0);
    ck_assert_int_eq(stats.idle_after_ns, 40 * LULL_SECOND);
    rig_advance(&rig, 40 * LULL_SECOND);
    stats = stats_now();
    ck_assert(stats.is_in_idle_mode);
    ck_assert_str_eq(stats.reason, "idle: no call for 60 s");
    ck_assert_uint_eq(stats.connections_lost, 0); /* we ended it */
    rig_fini(&rig);
}
END_TEST

static void ack_after(size_t attempt, size_t n, int64_t after_ns)
{
    struct peer *peer = rig_peer(&rig, attempt);
    const struct peer_frame *ping = peer_find(peer, FRAME_PING, n);
    ck_assert_ptr_nonnull(ping);
    rig_advance(&rig, after_ns);
    peer_frame(peer, FRAME_PING, FLAG_ACK, 0, ping->head, 8);
    rig_settle(&rig);
}

START_TEST(pings_are_summed_over_connections)
{
    begin();
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance_to(&rig, 11 * LULL_SECOND);
    ack_after(0, 0, 30 * LULL_MS);
    rig_advance(&rig, 10 * LULL_SECOND);
    ack_after(0, 1, 10 * LULL_MS);
    struct lull_channel_stats stats = stats_now();
    ck_assert_uint_eq(stats.pings_sent, 2);
    ck_assert_uint_eq(stats.pings_acked, 2);
    ck_assert_int_eq(stats.rtt_ns, 10 * LULL_MS);
    ck_assert_int_eq(stats.rtt_min_ns, 10 * LULL_MS);
    ck_assert_int_eq(stats.rtt_max_ns, 30 * LULL_MS);
    peer_close(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 1);
    stats = stats_now();
    ck_assert_uint_eq(stats.connections_lost, 1);
    ck_assert_uint_eq(stats.pings_sent, 2);
    ck_assert_int_eq(stats.rtt_ns, 10 * LULL_MS);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    rig_advance(&rig, 11 * LULL_SECOND);
    ack_after(1, 0, 50 * LULL_MS);
    stats = stats_now();
    ck_assert_uint_eq(stats.connections_made, 2);
    ck_assert_uint_eq(stats.pings_sent, 3);
    ck_assert_uint_eq(stats.pings_acked, 3);
    ck_assert_int_eq(stats.rtt_ns, 50 * LULL_MS);
    ck_assert_int_eq(stats.rtt_min_ns, 10 * LULL_MS);
    ck_assert_int_eq(stats.rtt_max_ns, 50 * LULL_MS);
    lull_call_cancel(other.handle);
    rig_fini(&rig);
}
END_TEST

/* Other bytes kept the connection; the answer came after all. */
START_TEST(a_late_answer_is_counted_as_late)
{
    begin();
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance_to(&rig, 15 * LULL_SECOND);
    peer_settings(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(stats_now().pings_late, 0);
    rig_advance_to(&rig, 24 * LULL_SECOND);
    peer_settings(rig_peer(&rig, 0));
    rig_advance_to(
        &rig, 32 * LULL_SECOND); /* the PING left at 11 s, its answer comes after more than 20 s */
    ack_after(0, 0, 0);
    struct lull_channel_stats stats = stats_now();
    ck_assert_int_eq(stats.state, LULL_STATE_READY);
    ck_assert_uint_eq(stats.pings_sent, 1);
    ck_assert_uint_eq(stats.pings_acked, 1);
    ck_assert_uint_eq(stats.pings_late, 1);
    ck_assert_int_eq(stats.rtt_ns, 21 * LULL_SECOND);
    lull_call_cancel(call.handle);
    rig_fini(&rig);
}
END_TEST

/* An application of an older version has a shorter struct. */
START_TEST(no_more_is_filled_than_there_is_room_for)
{
    struct lull_channel_stats stats;
    begin();
    memset(&stats, 0x5a, sizeof(stats));
    stats.size = offsetof(struct lull_channel_stats, calls);
    lull_channel_stats(rig.channel, &stats);
    ck_assert_uint_eq(stats.size, offsetof(struct lull_channel_stats, calls));
    ck_assert_str_eq(stats.reason, "");
    ck_assert_uint_eq(stats.calls, UINT64_C(0x5a5a5a5a5a5a5a5a));
    stats.size = 1;
    stats.state = LULL_STATE_READY;
    lull_channel_stats(rig.channel, &stats);
    ck_assert_int_eq(stats.state, LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_stats_suite(void)
{
    Suite *suite = suite_create("channel_stats");
    TCase *tcase = tcase_create("channel_stats");
    tcase_add_test(tcase, at_birth_there_is_nothing_to_tell);
    tcase_add_test(tcase, calls_and_the_time_to_idle_are_told);
    tcase_add_test(tcase, pings_are_summed_over_connections);
    tcase_add_test(tcase, a_late_answer_is_counted_as_late);
    tcase_add_test(tcase, no_more_is_filled_than_there_is_room_for);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_stats", channel_stats_suite)
