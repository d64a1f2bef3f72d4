/* SPDX-License-Identifier: MIT */
/* src/net/host_port.c; what is wrong with a host or a port is target_test's table. */
#include "net/host_port.h"

#include <string.h>

#include "tests/support/check_main.h"

static struct host_port read_ok(const char *text, uint16_t default_port)
{
    struct lull_error error;
    const struct reading r = {text, &error};
    struct host_port out;
    int rc = host_port_read(&r, span_of(text), default_port, &out);

    ck_assert_msg(rc == LULL_OK, "%s: %s", text, error.text);
    return out;
}

static bool is(struct span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

START_TEST(a_text_is_cut_at_the_first_such_byte)
{
    struct span head, rest;

    ck_assert(span_cut(span_of("a,b,c"), ',', &head, &rest));
    ck_assert(is(head, "a") && is(rest, "b,c"));
    ck_assert(span_cut(span_of(",b"), ',', &head, &rest));
    ck_assert(is(head, "") && is(rest, "b"));
    ck_assert(span_cut(span_of("a,"), ',', &head, &rest));
    ck_assert(is(head, "a") && is(rest, ""));
    ck_assert(!span_cut(span_of("abc"), ',', &head, &rest));
    ck_assert(is(head, "abc") && is(rest, ""));
    ck_assert(!span_cut(span_of(""), ',', &head, &rest));
    ck_assert(is(head, "") && is(rest, ""));
}
END_TEST

START_TEST(a_host_is_numeric_or_localhost_or_a_name)
{
    struct host_port out = read_ok("127.0.0.1:80", 0);

    ck_assert(out.is_numeric && !out.is_localhost && !out.is_bracketed);
    ck_assert_str_eq(out.addr.text, "127.0.0.1:80");
    out = read_ok("[::1]:80", 0);
    ck_assert(out.is_numeric && out.is_bracketed && is(out.host, "::1"));
    out = read_ok("a.localhost:80", 0);
    ck_assert(!out.is_numeric && out.is_localhost);
    out = read_ok("svc.test:80", 0);
    ck_assert(!out.is_numeric && !out.is_localhost && is(out.host, "svc.test") && is(out.port_text, "80"));
}
END_TEST

START_TEST(a_port_that_is_not_written_is_the_default)
{
    struct host_port out = read_ok("svc.test", 443);

    ck_assert_uint_eq(out.port, 443);
    ck_assert_uint_eq(out.port_text.len, 0);
    out = read_ok("1.2.3.4", 443);
    ck_assert_str_eq(out.addr.text, "1.2.3.4:443");
    out = read_ok("svc.test:7", 443);
    ck_assert_uint_eq(out.port, 7);
}
END_TEST

/* A list is read piece by piece: nothing behind the piece may be touched. */
START_TEST(only_the_given_bytes_are_read)
{
    struct lull_error error;
    const struct reading r = {"1.2.3.4:801.2.3.5", &error};
    struct host_port out;

    ck_assert_int_eq(host_port_read(&r, (struct span){r.text, 9}, 0, &out), LULL_OK);
    ck_assert_str_eq(out.addr.text, "1.2.3.4:8");
    ck_assert_int_eq(host_port_read(&r, (struct span){r.text, 8}, 443, &out), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "has no port after its last colon"));
    ck_assert_int_eq(host_port_read(&r, (struct span){r.text, 7}, 443, &out), LULL_OK);
    ck_assert_str_eq(out.addr.text, "1.2.3.4:443");
}
END_TEST

static Suite *host_port_suite(void)
{
    Suite *suite = suite_create("host_port");
    TCase *cases = tcase_create("host_port");

    tcase_add_test(cases, a_text_is_cut_at_the_first_such_byte);
    tcase_add_test(cases, a_host_is_numeric_or_localhost_or_a_name);
    tcase_add_test(cases, a_port_that_is_not_written_is_the_default);
    tcase_add_test(cases, only_the_given_bytes_are_read);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("host_port", host_port_suite)
