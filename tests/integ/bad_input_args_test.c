/* SPDX-License-Identifier: MIT */
/*
 * What a program may get wrong: each is refused or ended with words that name it, and the good call and channel beside it go on. The
 * rows are those of doc/BAD_INPUT.md.
 */
#include <stdio.h>
#include <string.h>

#include "tests/integ/bad_input.h"
#include "tests/support/check_main.h"

static struct bad bad;

static void set_up(void)
{
    bad_begin(&bad, NULL);
}

static void tear_down(void)
{
    bad_end(&bad);
}

/* An error that remembers something, for functions that have to overwrite it. */
static struct lull_error stale(void)
{
    struct lull_error error = {.rc = LULL_RC_SYSTEM, .sys_errno = 7, .text = "of an earlier call"};
    return error;
}

/* ---- targets */

static void refuse_target(const char *shown, const char *target, const char *says)
{
    struct lull_channel_options options;
    struct lull_channel *channel = NULL;
    struct lull_error error = stale();
    char input[128];
    bad_channel_options(&bad, &options);
    const int rc = lull_channel_new(target, &options, &channel, &error);
    ck_assert_ptr_null(channel);
    snprintf(input, sizeof(input), "target %s", shown);
    bad_refused(&bad, input, rc, LULL_RC_INVALID, &error, says);
}

START_TEST(a_malformed_target)
{
    refuse_target("NULL", NULL, "target is NULL");
    refuse_target("\"\"", "", "target is empty");
    refuse_target("\"host:\"", "host:", "\"host:\"");
    refuse_target("\"[::1\"", "[::1", "[::1");
    refuse_target("\"127.0.0.1:http\"", "127.0.0.1:http", "port");
    refuse_target("\"ipv4:1.2.3:80\"", "ipv4:1.2.3:80", "is not an IPv4 address");
    refuse_target("\"1.2.3.4:80,1.2.3.5:80\"", "1.2.3.4:80,1.2.3.5:80", "lists several addresses");
    refuse_target("\"ipv4:1.2.3.4:80,,\"", "ipv4:1.2.3.4:80,,", "has an empty place");
    refuse_target("\"dns://8.8.8.8\"", "dns://8.8.8.8", "is an authority and nothing after it");
    refuse_target("\"unix:\"", "unix:", "has an empty path");
    refuse_target("\"a\\x0ab:80\"", "a\nb:80", "holds a control character");
}
END_TEST

START_TEST(an_unknown_scheme)
{
    refuse_target("\"http://host\"", "http://host", "\"http\" is unknown");
    refuse_target("\"xds:///host\"", "xds:///host", "\"xds\" is unknown");
}
END_TEST

START_TEST(a_port_that_is_none)
{
    refuse_target("\"127.0.0.1:0\"", "127.0.0.1:0", "port \"0\"");
    refuse_target("\"127.0.0.1:70000\"", "127.0.0.1:70000", "port \"70000\"");
    refuse_target("\"127.0.0.1:-1\"", "127.0.0.1:-1", "port \"-1\"");
}
END_TEST

START_TEST(an_address_to_listen_at)
{
    struct lull_error error = stale();
    int rc = lull_server_listen(bad.server, "nowhere.example:1", &error);
    bad_refused(&bad, "listen \"nowhere.example:1\"", rc, LULL_RC_UNSUPPORTED, &error, "a numeric host");
    rc = lull_server_listen(bad.server, "127.0.0.1:70000", &error);
    bad_refused(&bad, "listen \"127.0.0.1:70000\"", rc, LULL_RC_INVALID, &error, "address: port \"70000\"");
    rc = lull_server_listen(bad.server, bad.target, &error);
    bad_refused(&bad, "listen where somebody listens", rc, LULL_RC_SYSTEM, &error, "cannot bind to");
    rc = lull_server_listen(bad.server, NULL, &error);
    bad_refused(&bad, "listen NULL", rc, LULL_RC_INVALID, &error, "address is NULL");
}
END_TEST

/* ---- methods and metadata */

static int start(struct lull_channel *channel, const struct lull_call_options *options,
                 struct lull_error *error);

static void refuse_method(const char *shown, const char *method, const char *says)
{
    struct lull_call_options options;
    struct lull_error error = stale();
    char input[128];
    lull_call_options_init(&options, method);
    const int rc = start(bad.good, &options, &error);
    snprintf(input, sizeof(input), "method %s", shown);
    bad_refused(&bad, input, rc, LULL_RC_INVALID, &error, says);
}

START_TEST(a_method_that_is_none)
{
    refuse_method("NULL", NULL, "option method is NULL");
    refuse_method("\"\"", "", "does not begin with '/'");
    refuse_method("\"a.B/C\"", "a.B/C", "option method \"a.B/C\" does not begin with '/'");
    refuse_method("\"/a.B\"", "/a.B", "has no '/' between the service and the method");
    refuse_method("\"/a.B/\"", "/a.B/", "has no method after the last '/'");
    refuse_method("\"//C\"", "//C", "has no service");
    refuse_method("\"/a.B/C D\"", "/a.B/C D", "not printable ASCII");
    refuse_method("\"/a.B/C\\x0d\\x0aX: y\"", "/a.B/C\r\nX: y", "not printable ASCII");
}
END_TEST

static void refuse_metadata(const char *shown, const struct lull_metadatum *item, const char *says)
{
    const struct lull_metadatum items[] = {lull_metadatum_text("x-good", "1"), *item};
    struct lull_call_options options;
    struct lull_error error = stale();
    char input[128];
    lull_call_options_init(&options, METHOD_ECHO);
    options.metadata = (struct lull_metadata){items, 2};
    const int rc = start(bad.good, &options, &error);
    snprintf(input, sizeof(input), "metadata %s", shown);
    bad_refused(&bad, input, rc, LULL_RC_INVALID, &error, says);
    ck_assert_ptr_nonnull(strstr(error.text, "metadata[1]")); /* which one */
}

static void refuse_pair(const char *shown, const char *key, const char *value, const char *says)
{
    const struct lull_metadatum item = lull_metadatum_text(key, value);
    refuse_metadata(shown, &item, says);
}

START_TEST(metadata_with_upper_case)
{
    refuse_pair("\"X-Trace: 1\"", "X-Trace", "1", "\"X-Trace\": the key has an upper-case letter");
}
END_TEST

START_TEST(metadata_with_control_bytes)
{
    refuse_pair("\"x\\x0a: 1\"", "x\n", "1", "outside 0-9 a-z");
    refuse_pair("\"x-a: 1\\x0d\\x0ax-b: 2\"", "x-a", "1\r\nx-b: 2", "a byte outside printable ASCII");
    refuse_pair("\"x-a: \\xc3\\xa4\"", "x-a", "\xc3\xa4", "does not end in \"-bin\"");
}
END_TEST

START_TEST(metadata_with_reserved_and_pseudo_names)
{
    static const char *const owned[] = {"te", "content-type", "user-agent", "host", "connection"};
    char shown[64];
    refuse_pair("\":path: /\"", ":path", "/", "keys that start with ':' belong to HTTP/2");
    refuse_pair("\"grpc-timeout: 1S\"", "grpc-timeout", "1S", "keys that start with \"grpc-\" belong to gRPC");
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        snprintf(shown, sizeof(shown), "\"%s: x\"", owned[i]);
        refuse_pair(shown, owned[i], "x", "the key belongs to HTTP/2 or gRPC");
    }
    refuse_pair("with an empty key", "", "x", "the key is empty");
}
END_TEST

START_TEST(metadata_that_points_nowhere)
{
    struct lull_metadatum item = lull_metadatum_text("x-a", "abc");
    item.value = NULL;
    refuse_metadata("with a value that is NULL", &item, "the value is NULL");
    item = lull_metadatum_text("x-a", "abc");
    item.key = NULL;
    refuse_metadata("with a key that is NULL", &item, "the key is empty");
    struct lull_call_options options;
    struct lull_error error = stale();
    lull_call_options_init(&options, METHOD_ECHO);
    options.metadata = (struct lull_metadata){NULL, 3};
    const int rc = start(bad.good, &options, &error);
    bad_refused(&bad, "metadata of 3 items at NULL", rc, LULL_RC_INVALID, &error, "items is NULL");
}
END_TEST

/* Lengths that a program cannot have meant: a negative number, or one that was never set. */
static void refuse_length(const char *shown, const char *key, size_t key_len, size_t value_len)
{
    const struct lull_metadatum item = {key, key_len, "abc", value_len};
    struct lull_call_options options;
    struct lull_error error = stale();
    char input[128];
    lull_call_options_init(&options, METHOD_ECHO);
    options.metadata = (struct lull_metadata){&item, 1};
    const int rc = start(bad.good, &options, &error);
    snprintf(input, sizeof(input), "metadata with a %s of SIZE_MAX bytes", shown);
    bad_refused(&bad, input, rc, LULL_RC_LIMIT, &error, "can be sent");
}

START_TEST(metadata_of_impossible_lengths)
{
    refuse_length("value", "x-a", 3, SIZE_MAX);
    refuse_length("\"-bin\" value", "x-bin", 5, SIZE_MAX);
    refuse_length("key", "x-a", SIZE_MAX, 3);
}
END_TEST

/* Longer than any header block; longer than the server takes; and longer than the client takes. */
START_TEST(metadata_that_is_too_long)
{
    static char value[70001];
    struct lull_metadatum item;
    struct lull_call_options options;
    struct lull_error error = stale();
    struct bad_call call;
    memset(value, 'v', sizeof(value) - 1);
    lull_call_options_init(&options, METHOD_ECHO);
    item = lull_metadatum_text("x-long", value);
    options.metadata = (struct lull_metadata){&item, 1};
    const int rc = start(bad.good, &options, &error);
    bad_refused(&bad, "metadata of 70 kB", rc, LULL_RC_LIMIT, &error, "the metadata takes 7");
    value[20000] = '\0';
    item = lull_metadatum_text("x-long", value);
    bad_unary(&bad, bad.good, &options, 5, &call);
    bad_ended(&bad, "metadata of 20 kB, above the server's max_metadata_bytes", &call,
              LULL_CODE_RESOURCE_EXHAUSTED, LULL_REASON_SERVER, LULL_PHASE_DONE, "16384");
    lull_call_options_init(&options, METHOD_FIELDS);
    bad_unary(&bad, bad.good, &options, 5, &call);
    bad_ended(&bad, "a response with metadata above max_metadata_bytes", &call, LULL_CODE_RESOURCE_EXHAUSTED,
              LULL_REASON_LIMIT, LULL_PHASE_WAITING, "metadata is over the limit of 16384 bytes");
}
END_TEST

/* ---- messages */

static void nothing(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    ck_abort_msg("a call that was refused has ended");
}

static int start(struct lull_channel *channel, const struct lull_call_options *options,
                 struct lull_error *error)
{
    return lull_call_unary(channel, options, lull_slice_static("hello", 5), nothing, NULL, NULL, error);
}

START_TEST(a_message_over_the_limit_both_ways)
{
    static const char bytes[BAD_CLIENT_SENDS + 1];
    struct lull_call_options options;
    struct lull_error error = stale();
    struct bad_call call;
    lull_call_options_init(&options, METHOD_ECHO);
    int rc = lull_call_unary(bad.good, &options, lull_slice_static(bytes, sizeof(bytes)), nothing, NULL, NULL, &error);
    bad_refused(&bad, "a request above max_send_message_bytes", rc, LULL_RC_LIMIT, &error,
                "request of 131073 bytes, above max_send_message_bytes 131072");
    rc = lull_call_send(bad.stream, lull_slice_static(bytes, sizeof(bytes)));
    bad_refused(&bad, "lull_call_send of the same", rc, LULL_RC_LIMIT, NULL, "");
    bad_unary(&bad, bad.good, &options, BAD_SERVER_TAKES + 1, &call);
    bad_ended(&bad, "a request above the server's max_recv_message_bytes", &call, LULL_CODE_RESOURCE_EXHAUSTED,
              LULL_REASON_SERVER, LULL_PHASE_DONE, "4097");
    lull_call_options_init(&options, METHOD_LARGE);
    bad_unary(&bad, bad.good, &options, 5, &call);
    bad_ended(&bad, "a response above max_recv_message_bytes", &call, LULL_CODE_RESOURCE_EXHAUSTED,
              LULL_REASON_LIMIT, LULL_PHASE_READING, "100000");
}
END_TEST

/* Told where it is handed over, and not when a turn reads it. */
START_TEST(a_message_that_points_nowhere)
{
    struct lull_slice nowhere = lull_slice_static(NULL, 5);
    struct lull_slice copy = lull_slice_static("as it was", 9);
    struct lull_call_options options;
    struct lull_error error = stale();
    lull_call_options_init(&options, METHOD_ECHO);
    int rc = lull_call_unary(bad.good, &options, nowhere, nothing, NULL, NULL, &error);
    bad_refused(&bad, "a request of 5 bytes at NULL", rc, LULL_RC_INVALID, &error,
                "request's data is NULL, its length 5");
    rc = lull_call_send(bad.stream, nowhere);
    bad_refused(&bad, "lull_call_send of the same", rc, LULL_RC_INVALID, NULL, "");
    ck_assert_int_eq(lull_slice_copy(NULL, NULL, 5, &copy), LULL_RC_INVALID);
    ck_assert_uint_eq(copy.len, 9);
}
END_TEST

/* ---- times */

START_TEST(a_timeout_that_has_passed_or_never_will)
{
    static const struct {
        int64_t ns;
        const char *shown;
    } gone[] = {{0, "0"}, {-1, "-1"}, {INT64_MIN, "INT64_MIN"}};
    struct lull_call_options options;
    struct bad_call call;
    char input[64];
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        lull_call_options_init(&options, METHOD_ECHO);
        options.timeout_ns = gone[i].ns;
        bad_unary(&bad, bad.good, &options, 5, &call);
        snprintf(input, sizeof(input), "timeout_ns %s", gone[i].shown);
        bad_ended(&bad, input, &call, LULL_CODE_DEADLINE_EXCEEDED, LULL_REASON_DEADLINE, LULL_PHASE_START,
                  "timeout_ns");
    }
    options.timeout_ns = INT64_MAX;
    bad_unary(&bad, bad.good, &options, 5, &call);
    ck_assert_int_eq(call.code, LULL_CODE_OK);
    table_row("timeout_ns INT64_MAX", "OK", "(never: no deadline)");
}
END_TEST

START_TEST(a_deadline_at_the_ends_of_time)
{
    struct lull_call_options options;
    struct bad_call call;
    lull_call_options_init(&options, METHOD_ECHO);
    options.deadline_at = lull_at(INT64_MIN);
    bad_unary(&bad, bad.good, &options, 5, &call);
    bad_ended(&bad, "deadline_at INT64_MIN", &call, LULL_CODE_DEADLINE_EXCEEDED, LULL_REASON_DEADLINE,
              LULL_PHASE_START, "deadline_at");
    options.deadline_at = lull_at(INT64_MAX);
    bad_unary(&bad, bad.good, &options, 5, &call);
    ck_assert_int_eq(call.code, LULL_CODE_OK);
    table_row("deadline_at INT64_MAX", "OK", "(never: no deadline)");
}
END_TEST

START_TEST(durations_that_are_negative)
{
    struct lull_channel_options fresh, options;
    struct lull_call_options call_options;
    struct lull_channel *channel = NULL;
    struct lull_error error;
    char input[80], says[80];
    bad_channel_options(&bad, &fresh);
    const struct {
        int64_t *at;
        const char *name;
    } fields[] = {
        {&options.min_connect_timeout_ns, "min_connect_timeout_ns"}, {&options.backoff_initial_ns, "backoff_initial_ns"},
        {&options.backoff_max_ns, "backoff_max_ns"},                 {&options.idle_timeout_ns, "idle_timeout_ns"},
        {&options.keepalive_time_ns, "keepalive_time_ns"},           {&options.keepalive_timeout_ns, "keepalive_timeout_ns"},
        {&options.read_timeout_ns, "read_timeout_ns"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        options = fresh;
        *fields[i].at = INT64_MIN;
        error = stale();
        const int rc = lull_channel_new(bad.target, &options, &channel, &error);
        snprintf(input, sizeof(input), "%s INT64_MIN", fields[i].name);
        snprintf(says, sizeof(says), "option %s is negative", fields[i].name);
        bad_refused(&bad, input, rc, LULL_RC_INVALID, &error, says);
    }
    lull_call_options_init(&call_options, METHOD_ECHO);
    call_options.read_timeout_ns = -1;
    const int rc = start(bad.good, &call_options, &error);
    bad_refused(&bad, "a call's read_timeout_ns -1", rc, LULL_RC_INVALID, &error, "option read_timeout_ns is negative");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/bad_input_args");
    TCase *t = tcase_create("args");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_malformed_target);
    tcase_add_test(t, an_unknown_scheme);
    tcase_add_test(t, a_port_that_is_none);
    tcase_add_test(t, an_address_to_listen_at);
    tcase_add_test(t, a_method_that_is_none);
    tcase_add_test(t, metadata_with_upper_case);
    tcase_add_test(t, metadata_with_control_bytes);
    tcase_add_test(t, metadata_with_reserved_and_pseudo_names);
    tcase_add_test(t, metadata_that_points_nowhere);
    tcase_add_test(t, metadata_of_impossible_lengths);
    tcase_add_test(t, metadata_that_is_too_long);
    tcase_add_test(t, a_message_over_the_limit_both_ways);
    tcase_add_test(t, a_message_that_points_nowhere);
    tcase_add_test(t, a_timeout_that_has_passed_or_never_will);
    tcase_add_test(t, a_deadline_at_the_ends_of_time);
    tcase_add_test(t, durations_that_are_negative);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/bad_input_args", suite)
