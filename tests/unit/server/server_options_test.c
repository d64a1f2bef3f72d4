/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_options.c: defaults, floors, refusals.
 */
#include "server/server_options.h"

#include <stddef.h>
#include <string.h>

#include "tests/support/check_main.h"

static struct lull_server_options given;
static struct lull_server_options out;
static struct lull_error error;

static void resolve(void)
{
    ck_assert_msg(server_options_resolve(&given, &out, &error) == LULL_OK, "%s", error.text);
}

static void refuse(const char *name)
{
    ck_assert_int_eq(server_options_resolve(&given, &out, &error), LULL_RC_INVALID);
    ck_assert_msg(strstr(error.text, name) != NULL, "no \"%s\" in \"%s\"", name, error.text);
}

/* BEHAVIOUR 1.2 */
START_TEST(defaults_are_grpcs)
{
    lull_server_options_init(&given);
    resolve();
    ck_assert_uint_eq(out.size, sizeof(out));
    ck_assert_int_eq(out.keepalive_time_ns, 7200 * LULL_SECOND);
    ck_assert_int_eq(out.keepalive_timeout_ns, 20 * LULL_SECOND);
    ck_assert_int_eq(out.permit_keepalive_time_ns, 300 * LULL_SECOND);
    ck_assert(!out.permit_keepalive_without_calls);
    ck_assert_uint_eq(out.max_ping_strikes, 2);
    ck_assert_int_eq(out.max_connection_idle_ns, LULL_NEVER);
    ck_assert_int_eq(out.max_connection_age_ns, LULL_NEVER);
    ck_assert_int_eq(out.max_connection_age_grace_ns, LULL_NEVER);
    ck_assert_uint_eq(out.max_recv_message_bytes, 4u * 1024 * 1024);
    ck_assert_uint_eq(out.max_metadata_bytes, 16u * 1024);
    ck_assert_uint_eq(out.stream_window_bytes, 256u * 1024);
    ck_assert_uint_eq(out.connection_window_bytes, 1024u * 1024);
}
END_TEST

START_TEST(short_times_are_raised_to_their_floors)
{
    lull_server_options_init(&given);
    given.keepalive_time_ns = given.keepalive_timeout_ns = 1;
    given.max_connection_idle_ns = given.max_connection_age_ns = 1;
    resolve();
    ck_assert_int_eq(out.keepalive_time_ns, 10 * LULL_SECOND);
    ck_assert_int_eq(out.keepalive_timeout_ns, 10 * LULL_MS);
    ck_assert_int_eq(out.max_connection_idle_ns, LULL_SECOND);
    ck_assert_int_eq(out.max_connection_age_ns, LULL_SECOND);
}
END_TEST

START_TEST(allow_short_timers_lifts_the_floors)
{
    lull_server_options_init(&given);
    given.allow_short_timers = true;
    given.keepalive_time_ns = given.keepalive_timeout_ns = 1;
    given.max_connection_idle_ns = given.max_connection_age_ns = 1;
    given.max_connection_age_grace_ns = 0;
    resolve();
    ck_assert_int_eq(out.keepalive_time_ns, 1);
    ck_assert_int_eq(out.keepalive_timeout_ns, 1);
    ck_assert_int_eq(out.max_connection_idle_ns, 1);
    ck_assert_int_eq(out.max_connection_age_ns, 1);
    ck_assert_int_eq(out.max_connection_age_grace_ns, 0);
}
END_TEST

START_TEST(zero_switches_off_what_can_be_switched_off)
{
    lull_server_options_init(&given);
    given.keepalive_time_ns = given.max_connection_idle_ns = given.max_connection_age_ns = 0;
    resolve();
    ck_assert_int_eq(out.keepalive_time_ns, LULL_NEVER);
    ck_assert_int_eq(out.max_connection_idle_ns, LULL_NEVER);
    ck_assert_int_eq(out.max_connection_age_ns, LULL_NEVER);
}
END_TEST

START_TEST(sizes_have_floors_and_a_ceiling)
{
    lull_server_options_init(&given);
    given.stream_window_bytes = given.connection_window_bytes = given.max_metadata_bytes = 0;
    given.max_ping_strikes = UINT32_MAX;
    given.permit_keepalive_time_ns = LULL_NEVER;
    resolve();
    ck_assert_uint_eq(out.stream_window_bytes, SERVER_STREAM_WINDOW_FLOOR);
    ck_assert_uint_eq(out.connection_window_bytes, SERVER_CONNECTION_WINDOW_FLOOR);
    ck_assert_uint_eq(out.max_metadata_bytes, SERVER_METADATA_FLOOR);
    ck_assert_uint_eq(out.max_ping_strikes, (uint32_t)INT32_MAX);
    ck_assert_int_eq(out.permit_keepalive_time_ns, 7200 * LULL_SECOND);
    given.stream_window_bytes = UINT32_C(1) << 31;
    refuse("stream_window_bytes");
    given.stream_window_bytes = 0;
    given.connection_window_bytes = UINT32_C(1) << 31;
    refuse("connection_window_bytes");
}
END_TEST

START_TEST(negative_durations_are_refused_by_name)
{
    int64_t *const values[] = {
        &given.keepalive_time_ns,     &given.keepalive_timeout_ns,
        &given.max_connection_idle_ns, &given.max_connection_age_ns,
        &given.max_connection_age_grace_ns,
    };
    static const char *const names[] = {
        "keepalive_time_ns",      "keepalive_timeout_ns",
        "max_connection_idle_ns", "max_connection_age_ns", "max_connection_age_grace_ns",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        lull_server_options_init(&given);
        *values[i] = -1;
        refuse(names[i]);
    }
}
END_TEST

/* scenario 69: the one duration for which less than nothing is nothing */
START_TEST(a_negative_permitted_interval_is_zero)
{
    static const int64_t values[] = {-1, -1000, INT64_MIN};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        lull_server_options_init(&given);
        given.permit_keepalive_time_ns = values[i];
        resolve();
        ck_assert_int_eq(out.permit_keepalive_time_ns, 0);
    }
}
END_TEST

START_TEST(a_struct_that_nobody_filled_is_refused)
{
    memset(&given, 0, sizeof(given));
    refuse("lull_server_options_init");
    ck_assert_int_eq(server_options_resolve(NULL, &out, &error), LULL_RC_INVALID);
}
END_TEST

/* A program compiled when the struct was shorter has no room for more. */
START_TEST(a_shorter_struct_is_filled_as_far_as_it_goes_and_so_is_a_longer_one)
{
    struct {
        struct lull_server_options options;
        unsigned char later[8];
    } of_program;
    size_t shorter = offsetof(struct lull_server_options, credentials);

    memset(&of_program, 0x55, sizeof(of_program));
    lull_server_options_fill(&of_program.options, shorter);
    ck_assert_uint_eq(of_program.options.size, shorter);
    ck_assert_uint_eq(of_program.options.max_metadata_bytes, 16384);
    for (size_t i = shorter; i < sizeof(of_program); i++) {
        ck_assert_uint_eq(((const unsigned char *)&of_program)[i], 0x55);
    }
    lull_server_options_fill(&of_program.options, sizeof(of_program));
    ck_assert_uint_eq(of_program.options.size, sizeof(of_program));
    ck_assert_uint_eq(of_program.later[0], 0);
    ck_assert_int_eq(server_options_resolve(&of_program.options, &out, &error), LULL_OK);
    ck_assert_uint_eq(out.size, sizeof(out));
    of_program.later[7] = 1;
    ck_assert_int_eq(server_options_resolve(&of_program.options, &out, &error), LULL_RC_INVALID);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_options");
    TCase *t = tcase_create("server_options");
    tcase_add_test(t, defaults_are_grpcs);
    tcase_add_test(t, short_times_are_raised_to_their_floors);
    tcase_add_test(t, allow_short_timers_lifts_the_floors);
    tcase_add_test(t, zero_switches_off_what_can_be_switched_off);
    tcase_add_test(t, sizes_have_floors_and_a_ceiling);
    tcase_add_test(t, negative_durations_are_refused_by_name);
    tcase_add_test(t, a_negative_permitted_interval_is_zero);
    tcase_add_test(t, a_struct_that_nobody_filled_is_refused);
    tcase_add_test(t, a_shorter_struct_is_filled_as_far_as_it_goes_and_so_is_a_longer_one);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_options", suite)
