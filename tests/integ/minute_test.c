/* SPDX-License-Identifier: MIT */
/*
 * 200 channels without a call, keepalive on, for a minute of real time on one loop: every PING is answered and nobody is given up.
 * (A library that judges an answer lost before it has looked at the socket loses most of them.)
 */
#include <string.h>

#include "lull/channel.h"
#include "lull/server.h"
#include "tests/support/check_main.h"

#define CHANNELS  200
#define MINUTE    (60 * LULL_SECOND)
#define KEEPALIVE LULL_SECOND

static struct lull_loop *loop;
static struct lull_server *server;
static struct lull_channel *channels[CHANNELS];

static void make_server(void)
{
    struct lull_server_options options;

    lull_server_options_init(&options);
    options.loop = loop;
    options.allow_short_timers = true;
    options.max_ping_strikes = 0; /* the police is not what this is about */
    ck_assert_int_eq(lull_server_new(&options, &server, NULL), LULL_OK);
    ck_assert_int_eq(lull_server_listen(server, "127.0.0.1:0", NULL), LULL_OK);
}

static void make_channels(void)
{
    struct lull_channel_options options;

    lull_channel_options_init(&options);
    options.loop = loop;
    options.allow_short_timers = true;
    options.keepalive_time_ns = KEEPALIVE;
    options.keepalive_timeout_ns = KEEPALIVE / 2;
    options.keepalive_without_calls = true;
    for (int i = 0; i < CHANNELS; i++) {
        ck_assert_int_eq(lull_channel_new(lull_server_address(server, 0), &options, &channels[i], NULL), LULL_OK);
        (void)lull_channel_state(channels[i], true);
    }
}

static struct lull_instant now(void)
{
    return lull_executor_now(lull_loop_executor(loop));
}

START_TEST(two_hundred_quiet_channels_live_through_a_minute)
{
    struct lull_instant end_at;

    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    make_server();
    make_channels();
    end_at = lull_instant_add(now(), MINUTE);
    while (lull_instant_before(now(), end_at)) {
        ck_assert_int_eq(lull_loop_run_once(loop, lull_instant_diff(end_at, now())), LULL_OK);
    }
    for (int i = 0; i < CHANNELS; i++) {
        struct lull_channel_stats stats = {.size = sizeof(stats)};

        lull_channel_stats(channels[i], &stats);
        ck_assert_int_eq(stats.state, LULL_STATE_READY);
        ck_assert_uint_eq(stats.connections_made, 1);
        ck_assert_uint_eq(stats.connections_lost, 0);
        ck_assert_uint_ge(stats.pings_acked, 50);
        lull_channel_close(channels[i]);
        lull_channel_unref(channels[i]);
    }
    lull_server_free(server);
    lull_loop_free(loop);
}
END_TEST

static Suite *minute_suite(void)
{
    Suite *suite = suite_create("minute");
    TCase *cases = tcase_create("minute");

    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, two_hundred_quiet_channels_live_through_a_minute);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("minute", minute_suite)
