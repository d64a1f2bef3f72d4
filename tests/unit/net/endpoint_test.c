/* SPDX-License-Identifier: MIT */
#include "net/endpoint.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

/* An endpoint that only counts. */
struct counting {
    struct endpoint base;
    int closes;
    int told;
    unsigned ready;
    int64_t timeout_ns;
};

static void count_close(struct endpoint *endpoint)
{
    ((struct counting *)endpoint)->closes++;
}

static int keep_timeout(struct endpoint *endpoint, int64_t after_ns)
{
    ((struct counting *)endpoint)->timeout_ns = after_ns;
    return EPERM;
}

static const struct endpoint_ops bare_ops = {.close = count_close};
static const struct endpoint_ops full_ops = {.close = count_close, .write_timeout = keep_timeout};

static void hear(struct endpoint *endpoint, unsigned ready)
{
    struct counting *c = (struct counting *)endpoint;

    c->told++;
    c->ready = ready;
}

static void begin(struct counting *c, const struct endpoint_ops *ops)
{
    struct addr peer;

    memset(c, 0x5a, sizeof(*c));
    ck_assert(addr_from_ip(&peer, "10.0.0.1", 80));
    endpoint_init(&c->base, ops, NULL, &peer);
    c->closes = 0;
    c->told = 0;
    c->ready = 0;
}

START_TEST(a_new_endpoint_is_open_and_silent)
{
    struct counting c;

    begin(&c, &bare_ops);
    ck_assert_int_eq(c.base.watch.fd, -1);
    ck_assert_uint_eq(c.base.watch.want, LULL_WANT_NONE);
    ck_assert(!c.base.is_closed);
    ck_assert_str_eq(c.base.peer.text, "10.0.0.1:80");
    ck_assert(c.base.on_ready == NULL);
    endpoint_tell(&c.base, LULL_WANT_READ | LULL_WANT_WRITE); /* nobody listens */
    ck_assert_int_eq(c.told, 0);
}
END_TEST

START_TEST(only_what_is_wanted_is_told)
{
    struct counting c;

    begin(&c, &bare_ops);
    c.base.on_ready = hear;
    endpoint_tell(&c.base, LULL_WANT_READ);
    ck_assert_int_eq(c.told, 0);
    c.base.watch.want = LULL_WANT_READ;
    endpoint_tell(&c.base, LULL_WANT_WRITE);
    ck_assert_int_eq(c.told, 0);
    endpoint_tell(&c.base, LULL_WANT_READ | LULL_WANT_WRITE);
    ck_assert_int_eq(c.told, 1);
    ck_assert_uint_eq(c.ready, LULL_WANT_READ);
}
END_TEST

START_TEST(the_ready_list_brings_what_was_reported_once)
{
    struct counting c;

    begin(&c, &bare_ops);
    c.base.on_ready = hear;
    c.base.watch.want = LULL_WANT_READ | LULL_WANT_WRITE;
    c.base.watch.ready = LULL_WANT_WRITE;
    c.base.watch.on_ready.run(&c.base.watch.on_ready, NULL);
    ck_assert_int_eq(c.told, 1);
    ck_assert_uint_eq(c.ready, LULL_WANT_WRITE);
    ck_assert_uint_eq(c.base.watch.ready, LULL_WANT_NONE);
    c.base.watch.on_ready.run(&c.base.watch.on_ready, NULL);
    ck_assert_int_eq(c.told, 1);
}
END_TEST

START_TEST(closing_twice_closes_once_and_silences)
{
    struct counting c;

    begin(&c, &bare_ops);
    c.base.on_ready = hear;
    c.base.watch.want = LULL_WANT_READ;
    endpoint_close(&c.base);
    endpoint_close(&c.base);
    endpoint_close(NULL);
    ck_assert_int_eq(c.closes, 1);
    ck_assert(c.base.is_closed);
    endpoint_tell(&c.base, LULL_WANT_READ);
    ck_assert_int_eq(c.told, 0);
}
END_TEST

START_TEST(verbs_that_an_endpoint_has_not_do_nothing)
{
    struct counting c;

    begin(&c, &bare_ops);
    ck_assert_int_eq(endpoint_write_timeout(&c.base, LULL_SECOND), 0);
    ck_assert_int_eq(endpoint_system_keepalive(&c.base, false), 0);
    begin(&c, &full_ops);
    ck_assert_int_eq(endpoint_write_timeout(&c.base, LULL_SECOND), EPERM);
    ck_assert_int_eq(c.timeout_ns, LULL_SECOND);
}
END_TEST

START_TEST(a_failure_has_one_readable_line)
{
    struct counting c;
    char text[160], tiny[12];

    begin(&c, &bare_ops);
    endpoint_error_text(&c.base, text, sizeof(text));
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(endpoint_fail(&c.base, "read", ECONNRESET), IO_FAIL);
    ck_assert_int_eq(c.base.sys_errno, ECONNRESET);
    endpoint_error_text(&c.base, text, sizeof(text));
    ck_assert_int_eq(strncmp(text, "read 10.0.0.1:80: connection reset by peer (errno ", 49), 0);
    endpoint_error_text(&c.base, tiny, sizeof(tiny));
    ck_assert_uint_lt(strlen(tiny), sizeof(tiny));
    io_error_text("connect", &c.base.peer, EHOSTUNREACH, text, sizeof(text));
    ck_assert_int_eq(strncmp(text, "connect 10.0.0.1:80: no route to host", 37), 0);
}
END_TEST

static Suite *endpoint_suite(void)
{
    Suite *suite = suite_create("endpoint");
    TCase *cases = tcase_create("endpoint");

    tcase_add_test(cases, a_new_endpoint_is_open_and_silent);
    tcase_add_test(cases, only_what_is_wanted_is_told);
    tcase_add_test(cases, the_ready_list_brings_what_was_reported_once);
    tcase_add_test(cases, closing_twice_closes_once_and_silences);
    tcase_add_test(cases, verbs_that_an_endpoint_has_not_do_nothing);
    tcase_add_test(cases, a_failure_has_one_readable_line);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("endpoint", endpoint_suite)
