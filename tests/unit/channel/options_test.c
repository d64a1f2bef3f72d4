/* SPDX-License-Identifier: MIT */
/*
 * src/channel/options.c: defaults, clamps, refusals.
 */
#include "channel/options.h"

#include <math.h>
#include <stddef.h>
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
    ck_assert_int_eq(out.idle_timeout_ns, 30 * 60 * LULL_SECOND);
    ck_assert_int_eq(out.keepalive_time_ns, LULL_NEVER);
    ck_assert_int_eq(out.keepalive_timeout_ns, 20 * LULL_SECOND);
    ck_assert_int_eq(out.read_timeout_ns, LULL_NEVER);
    ck_assert(!out.keepalive_without_calls);
    ck_assert(out.tcp_keepalive);
}
END_TEST

/* RULINGS 8 */
START_TEST(silences_have_floors_which_short_timers_lift)
{
    static const struct {
        int64_t given_ns, floor_ns, short_ns;
    } idle[] = {{1, LULL_SECOND, 1},
                {LULL_SECOND + 1, LULL_SECOND + 1, LULL_SECOND + 1},
                {0, LULL_NEVER, LULL_NEVER},
                {LULL_NEVER, LULL_NEVER, LULL_NEVER}},
      keepalive[] = {{1, 10 * LULL_SECOND, 1},
                     {11 * LULL_SECOND, 11 * LULL_SECOND, 11 * LULL_SECOND},
                     {0, LULL_NEVER, LULL_NEVER},
                     {LULL_NEVER, LULL_NEVER, LULL_NEVER}},
      timeout[] = {{1, 10 * LULL_MS, 1},
                   {0, 10 * LULL_MS, 1},
                   {11 * LULL_MS, 11 * LULL_MS, 11 * LULL_MS},
                   {LULL_NEVER, LULL_NEVER, LULL_NEVER}};
    for (size_t i = 0; i < 8; i++) {
        size_t row = i / 2;
        bool is_short = i % 2 != 0;
        given.allow_short_timers = is_short;
        given.idle_timeout_ns = idle[row].given_ns;
        given.keepalive_time_ns = keepalive[row].given_ns;
        given.keepalive_timeout_ns = timeout[row].given_ns;
        given.read_timeout_ns = row == 0 ? 0 : 1;
        ck_assert_int_eq(options_resolve(&given, &out, &error), LULL_OK);
        ck_assert_int_eq(out.idle_timeout_ns, is_short ? idle[row].short_ns : idle[row].floor_ns);
        ck_assert_int_eq(out.keepalive_time_ns,
                         is_short ? keepalive[row].short_ns : keepalive[row].floor_ns);
        ck_assert_int_eq(out.keepalive_timeout_ns,
                         is_short ? timeout[row].short_ns : timeout[row].floor_ns);
        ck_assert_int_eq(out.read_timeout_ns, row == 0 ? LULL_NEVER : 1);
    }
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
    given.idle_timeout_ns = -1;
    expect_refused("idle_timeout_ns");
    given.keepalive_time_ns = INT64_MIN;
    expect_refused("keepalive_time_ns");
    given.keepalive_timeout_ns = -1;
    expect_refused("keepalive_timeout_ns");
    given.read_timeout_ns = -1;
    expect_refused("read_timeout_ns");
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
    ck_assert_int_eq(options_resolve(NULL, &out, &error), LULL_RC_INVALID);
}
END_TEST

/* A program compiled when the struct was shorter has no room for more. */
START_TEST(a_shorter_struct_is_filled_as_far_as_it_goes_and_so_is_a_longer_one)
{
    struct {
        struct lull_channel_options options;
        unsigned char later[8];
    } of_program;
    size_t shorter = offsetof(struct lull_channel_options, credentials);

    memset(&of_program, 0x55, sizeof(of_program));
    lull_channel_options_fill(&of_program.options, shorter);
    ck_assert_uint_eq(of_program.options.size, shorter);
    ck_assert_uint_eq(of_program.options.max_metadata_bytes, 16384);
    for (size_t i = shorter; i < sizeof(of_program); i++) {
        ck_assert_uint_eq(((const unsigned char *)&of_program)[i], 0x55);
    }
    lull_channel_options_fill(&of_program.options, sizeof(of_program));
    ck_assert_uint_eq(of_program.options.size, sizeof(of_program));
    ck_assert_uint_eq(of_program.later[0], 0);
    ck_assert_int_eq(options_resolve(&of_program.options, &out, &error), LULL_OK);
    ck_assert_uint_eq(out.size, sizeof(out));
    of_program.later[7] = 1;
    ck_assert_int_eq(options_resolve(&of_program.options, &out, &error), LULL_RC_INVALID);
}
END_TEST

static Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, defaults_are_those_of_the_header);
    tcase_add_test(tcase, silences_have_floors_which_short_timers_lift);
    tcase_add_test(tcase, short_times_are_raised_to_their_floors);
    tcase_add_test(tcase, allow_short_timers_lifts_the_floors);
    tcase_add_test(tcase, sizes_are_raised_to_what_http2_needs);
    tcase_add_test(tcase, a_refusal_names_the_option);
    tcase_add_test(tcase, a_shorter_struct_is_filled_as_far_as_it_goes_and_so_is_a_longer_one);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("options", options_suite)
