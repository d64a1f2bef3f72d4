/* SPDX-License-Identifier: MIT */
/*
 * src/channel/subchannel_pings.c: events of pings, and strikes of connections that overlap. Their sums are channel_stats_test's.
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call, other;

#define STRUCK 0xbu

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    memset(&call, 0, sizeof(call));
    memset(&other, 0, sizeof(other));
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig.options.keepalive_time_ns = 10 * LULL_SECOND;
}

static int64_t keepalive_time(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(rig.channel, &stats);
    return stats.keepalive_time_ns;
}

static size_t warnings(void)
{
    size_t count = 0;
    for (size_t i = 0; i < rig.trace_count; i++) {
        count += strstr(rig.trace[i], "says too_many_pings") != NULL;
    }
    return count;
}

/* scenario 142: who used the same time doubles it once between them; a connection made later again */
START_TEST(two_connections_of_one_time_double_it_once)
{
    begin();
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    peer_goaway(rig_peer(&rig, 0), 0x7fffffff, 0, ""); /* the first one drains */
    rig_advance(&rig, LULL_SECOND);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 2);
    peer_goaway(rig_peer(&rig, 0), 1, STRUCK, "too_many_pings");
    rig_settle(&rig);
    ck_assert_int_eq(keepalive_time(), 20 * LULL_SECOND);
    peer_goaway(rig_peer(&rig, 1), 1, STRUCK, "too_many_pings");
    rig_settle(&rig);
    ck_assert_int_eq(keepalive_time(), 20 * LULL_SECOND);
    ck_assert_uint_eq(warnings(), 2);
    peer_close(rig_peer(&rig, 0));
    peer_close(rig_peer(&rig, 1));
    rig_advance(&rig, LULL_SECOND);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 3);
    peer_goaway(rig_peer(&rig, 2), 0, STRUCK, "too_many_pings");
    rig_settle(&rig);
    ck_assert_int_eq(keepalive_time(), 40 * LULL_SECOND);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_ping_and_its_answer_are_events)
{
    begin();
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_advance(&rig, 10 * LULL_SECOND);
    ck_assert(rig_has_traced(&rig, "10000000000 12 call 0: 127.0.0.1:2379: sent"));
    const struct peer_frame *ping = peer_find(rig_peer(&rig, 0), FRAME_PING, 0);
    rig_advance(&rig, 3 * LULL_MS);
    peer_frame(rig_peer(&rig, 0), FRAME_PING, FLAG_ACK, 0, ping->head, 8);
    rig_settle(&rig);
    ck_assert(rig_has_traced(&rig, "10003000000 12 call 0: 127.0.0.1:2379: answered in 3 ms"));
    rig_fini(&rig);
}
END_TEST

/* Without a hook the strike counts as well. */
START_TEST(a_strike_needs_no_listener)
{
    begin();
    rig.wants_trace = false;
    rig_open(&rig);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    peer_goaway(rig_peer(&rig, 0), 0, STRUCK, "too_many_pings");
    rig_settle(&rig);
    ck_assert_int_eq(keepalive_time(), 20 * LULL_SECOND);
    ck_assert_uint_eq(warnings(), 0);
    rig_fini(&rig);
}
END_TEST

static Suite *subchannel_pings_suite(void)
{
    Suite *suite = suite_create("subchannel_pings");
    TCase *tcase = tcase_create("subchannel_pings");
    tcase_add_test(tcase, two_connections_of_one_time_double_it_once);
    tcase_add_test(tcase, a_ping_and_its_answer_are_events);
    tcase_add_test(tcase, a_strike_needs_no_listener);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("subchannel_pings", subchannel_pings_suite)
