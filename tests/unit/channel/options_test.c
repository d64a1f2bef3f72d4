/* SPDX-License-Identifier: MIT */
/*
 * src/channel/options.c: defaults, clamps, refusals.
 */
#include "channel/options.h"

#include <math.h>
#include <string.h>

#include "tests/support/check_main.h"

static struct lull_channel_options given, out;
static struct lull_error error;

static void set_up(void)
{
    lull_channel_options_init(&given);
}

START_TEST(defaults_are_those_of_the_header)
{
    ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_OK);
    ck_assert_str_eq(error.text, "");
    ck_assert_int_eq(out.min_connect_timeout_ns, 20 * LULL_SECOND);
    ck_assert_int_eq(out.backoff_initial_ns, LULL_SECOND);
    ck_assert_int_eq(out.backoff_max_ns, 120 * LULL_SECOND);
    ck_assert_double_eq(out.backoff_multiplier, 1.6);
    ck_assert_double_eq(out.backoff_jitter, 0.2);
    ck_assert_uint_eq(out.max_recv_message_bytes, 4194304);
    ck_assert_uint_eq(out.max_send_message_bytes, 2147483647);
    ck_assert_uint_eq(out.max_metadata_bytes, 16384);
    ck_assert_uint_eq(out.stream_window_bytes, 262144);
    ck_assert_uint_eq(out.connection_window_bytes, 1048576);
    ck_assert_uint_eq(out.max_queued_calls, 100000);
    ck_assert(!out.allow_short_timers);
}
END_TEST

START_TEST(short_times_are_raised_to_their_floors)
{
    given.min_connect_timeout_ns = 1;
    given.backoff_initial_ns = 0;
    given.backoff_max_ns = 1;
    ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_OK);
    ck_assert_int_eq(out.min_connect_timeout_ns, 10 * LULL_MS);
    ck_assert_int_eq(out.backoff_initial_ns, 100 * LULL_MS);
    ck_assert_int_eq(out.backoff_max_ns, 100 * LULL_MS);
}
END_TEST

START_TEST(allow_short_timers_lifts_the_floors)
{
    given.allow_short_timers = true;
    given.min_connect_timeout_ns = 5;
    given.backoff_initial_ns = 7;
    given.backoff_max_ns = 0;
    ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_OK);
    ck_assert_int_eq(out.min_connect_timeout_ns, 5);
    ck_assert_int_eq(out.backoff_initial_ns, 7);
    ck_assert_int_eq(out.backoff_max_ns, 1);
}
END_TEST

START_TEST(sizes_are_raised_to_what_http2_needs)
{
    given.stream_window_bytes = 0;
    given.connection_window_bytes = 1;
    given.max_metadata_bytes = 0;
    given.max_queued_calls = 0;
    ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_OK);
    ck_assert_uint_eq(out.stream_window_bytes, 16384);
    ck_assert_uint_eq(out.connection_window_bytes, 65535);
    ck_assert_uint_eq(out.max_metadata_bytes, 1024);
    ck_assert_uint_eq(out.max_queued_calls, 1);
}
END_TEST

static void expect_refused(const char *option)
{
    memset(&out, 0x5a, sizeof(out));
    ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_RC_INVALID);
    ck_assert_int_eq(error.rc, LULL_RC_INVALID);
    ck_assert_msg(strstr(error.text, option) != NULL, "%s is not named: %s", option, error.text);
    ck_assert_int_eq(options_resolve(&given, &out, NULL), LULL_RC_INVALID);
    set_up();
}

START_TEST(a_refusal_names_the_option)
{
    struct lull_world world;
    given.min_connect_timeout_ns = -1;
    expect_refused("min_connect_timeout_ns");
    given.backoff_initial_ns = INT64_MIN;
    expect_refused("backoff_initial_ns");
    given.backoff_max_ns = -1;
    expect_refused("backoff_max_ns");
    given.backoff_multiplier = 0.5;
    expect_refused("backoff_multiplier");
    given.backoff_multiplier = (double)NAN;
    expect_refused("backoff_multiplier");
    given.backoff_jitter = 1.0;
    expect_refused("backoff_jitter");
    given.backoff_jitter = -0.1;
    expect_refused("backoff_jitter");
    given.backoff_jitter = (double)NAN;
    expect_refused("backoff_jitter");
    given.stream_window_bytes = 0x80000000u;
    expect_refused("stream_window_bytes");
    given.connection_window_bytes = UINT32_MAX;
    expect_refused("connection_window_bytes");
    given.authority = "";
    expect_refused("authority");
    given.authority = "a host";
    expect_refused("authority");
    given.user_agent = "line\nbreak";
    expect_refused("user_agent");
    given.size--;
    expect_refused("size");
    lull_world_init(&world);
    world.size = 3;
    given.world = &world;
    expect_refused("world");
    ck_assert_int_eq(options_resolve(NULL, &out, &error), LULL_RC_INVALID);
}
END_TEST

static Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, defaults_are_those_of_the_header);
    tcase_add_test(tcase, short_times_are_raised_to_their_floors);
    tcase_add_test(tcase, allow_short_timers_lifts_the_floors);
    tcase_add_test(tcase, sizes_are_raised_to_what_http2_needs);
    tcase_add_test(tcase, a_refusal_names_the_option);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("options", options_suite)
