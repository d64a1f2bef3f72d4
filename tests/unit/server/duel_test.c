/* SPDX-License-Identifier: MIT */
/*
 * Keepalive on both ends, one against the other: src/channel's client and our server with its police, on one fake clock.
 */
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raw;
static struct unary unary;

struct client {
    int64_t time_ns, timeout_ns;
    bool without_calls;
};

struct police {
    int64_t permit_ns;
    bool without_calls;
};

/* A connection that is READY, with one call on it that is never answered, or none. */
static void start(struct client client, struct police police, bool has_call)
{
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig.options.allow_short_timers = true;
    rig.options.permit_keepalive_time_ns = police.permit_ns;
    rig.options.permit_keepalive_without_calls = police.without_calls;
    rig.channel_options.allow_short_timers = true;
    rig.channel_options.keepalive_time_ns = client.time_ns;
    rig.channel_options.keepalive_timeout_ns = client.timeout_ns;
    rig.channel_options.keepalive_without_calls = client.without_calls;
    rig_open(&rig);
    memset(&unary, 0, sizeof(unary));
    if (has_call) {
        unary_start(&unary, &rig, RIG_METHOD, "x", LULL_NEVER);
    } else {
        (void)lull_channel_state(rig.channel, true);
    }
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
}

static void expect_alive(void)
{
    rig_advance(&rig, 500 * LULL_MS);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    ck_assert_uint_eq(rig_stats(&rig).connections, 1);
    ck_assert_uint_eq(rig_stats(&rig).connections_made, 1);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 0);
    ck_assert_uint_eq(unary.done, 0);
}

/* scenario 117 */
START_TEST(the_server_closes_on_a_client_that_does_not_answer)
{
    rig_init(&rig);
    rig.options.allow_short_timers = true;
    rig.options.keepalive_time_ns = 100 * LULL_MS;
    rig.options.keepalive_timeout_ns = 10 * LULL_MS;
    rig_open(&rig);
    rig_join(&rig, &raw);
    rig_advance(&rig, 110 * LULL_MS - 1);
    ck_assert(!raw.is_eof);
    ck_assert_uint_eq(raw_count(&raw, FRAME_PING), 1);
    rig_advance(&rig, 1);
    ck_assert(raw.is_eof);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

/* scenario 118 */
START_TEST(the_server_keeps_a_client_that_answers)
{
    rig_init(&rig);
    rig.options.allow_short_timers = true;
    rig.options.keepalive_time_ns = 100 * LULL_MS;
    rig.options.keepalive_timeout_ns = 100 * LULL_MS;
    rig_open(&rig);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    expect_alive();
    rig_fini(&rig);
}
END_TEST

/* scenario 120 */
START_TEST(a_dormant_client_does_not_notice_a_silent_server)
{
    start((struct client){10 * LULL_MS, 10 * LULL_MS, false}, (struct police){0, true}, false);
    lull_server_set_silent(rig.server, true);
    expect_alive();
    ck_assert_uint_eq(rig_stats(&rig).pings, 0);
    lull_server_set_silent(rig.server, false);
    rig_fini(&rig);
}
END_TEST

/* scenario 121 */
START_TEST(a_client_with_a_call_leaves_a_silent_server_within_both_times)
{
    start((struct client){10 * LULL_MS, 100 * LULL_MS, false}, (struct police){0, true}, true);
    lull_server_set_silent(rig.server, true);
    rig_advance(&rig, 110 * LULL_MS);
    unary_expect(&unary, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(unary.at_ns, 110 * LULL_MS);
    lull_server_set_silent(rig.server, false);
    rig_fini(&rig);
}
END_TEST

/* scenario 122 */
START_TEST(an_obeying_client_lives_with_a_call)
{
    start((struct client){55 * LULL_MS, LULL_SECOND, true}, (struct police){50 * LULL_MS, true},
          true);
    expect_alive();
    ck_assert_uint_ge(rig_stats(&rig).pings, 8);
    ck_assert_uint_eq(rig_stats(&rig).ping_strikes, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 124 */
START_TEST(an_abusive_client_without_calls_is_sent_away)
{
    start((struct client){20 * LULL_MS, 100 * LULL_MS, true}, (struct police){LULL_SECOND, false},
          false);
    rig_advance(&rig, 80 * LULL_MS - 1);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 0);
    rig_advance(&rig, 1);
    /* The first was free, two were strikes. */
    ck_assert_uint_eq(rig_stats(&rig).pings, 4);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 1);
    ck_assert_int_ne(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

/* scenario 125 */
START_TEST(an_abusive_client_with_a_call_loses_it)
{
    start((struct client){50 * LULL_MS, 100 * LULL_MS, false}, (struct police){LULL_SECOND, false},
          true);
    rig_advance(&rig, 200 * LULL_MS - 1);
    ck_assert_uint_eq(unary.done, 0);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 1);
    unary_expect(&unary, LULL_CODE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(unary.message, "too_many_pings"));
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LOST);
    rig_fini(&rig);
}
END_TEST

/* scenario 126 */
START_TEST(an_obeying_client_lives_without_calls)
{
    start((struct client){50 * LULL_MS, LULL_SECOND, true}, (struct police){40 * LULL_MS, true},
          false);
    expect_alive();
    ck_assert_uint_ge(rig_stats(&rig).pings, 9);
    rig_fini(&rig);
}
END_TEST

/* scenario 128 */
START_TEST(a_dormant_client_sends_no_ping)
{
    start((struct client){10 * LULL_MS, 10 * LULL_MS, false}, (struct police){100 * LULL_MS, false},
          false);
    expect_alive();
    ck_assert_uint_eq(rig_stats(&rig).pings, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 136: the client doubles its interval until the server is content */
START_TEST(a_client_that_was_sent_away_slows_down_until_it_may_stay)
{
    unsigned lost = 0;
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig.options.permit_keepalive_time_ns = 5 * LULL_SECOND;
    rig.options.permit_keepalive_without_calls = true;
    rig.options.max_ping_strikes = 1;
    rig.channel_options.allow_short_timers = true;
    rig.channel_options.keepalive_time_ns = LULL_SECOND;
    rig_open(&rig);
    for (int i = 0; i < 4; i++) {
        unary_start(&unary, &rig, RIG_METHOD, "x", 60 * LULL_SECOND);
        rig_advance(&rig, 61 * LULL_SECOND);
        ck_assert_uint_eq(unary.done, 1);
        if (unary.code == LULL_CODE_UNAVAILABLE) {
            lost++;
        } else {
            ck_assert_int_eq(unary.code, LULL_CODE_DEADLINE_EXCEEDED);
        }
    }
    /* 1 s, 2 s and 4 s are too fast for it, 8 s are not. */
    ck_assert_uint_eq(lost, 3);
    ck_assert_int_eq(unary.code, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(rig_stats(&rig).too_many_pings, 3);
    rig_fini(&rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/duel");
    TCase *t = tcase_create("duel");
    tcase_add_test(t, the_server_closes_on_a_client_that_does_not_answer);
    tcase_add_test(t, the_server_keeps_a_client_that_answers);
    tcase_add_test(t, a_dormant_client_does_not_notice_a_silent_server);
    tcase_add_test(t, a_client_with_a_call_leaves_a_silent_server_within_both_times);
    tcase_add_test(t, an_obeying_client_lives_with_a_call);
    tcase_add_test(t, an_abusive_client_without_calls_is_sent_away);
    tcase_add_test(t, an_abusive_client_with_a_call_loses_it);
    tcase_add_test(t, an_obeying_client_lives_without_calls);
    tcase_add_test(t, a_dormant_client_sends_no_ping);
    tcase_add_test(t, a_client_that_was_sent_away_slows_down_until_it_may_stay);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/duel", suite)
