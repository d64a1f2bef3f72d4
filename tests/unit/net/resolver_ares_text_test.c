/* SPDX-License-Identifier: MIT */
/* src/net/resolver_ares_text.c */
#include "net/resolver_ares_text.h"

#include <string.h>

#include "tests/support/check_main.h"

START_TEST(a_failure_has_the_name_that_dns_gave_it)
{
    ck_assert_str_eq(resolver_ares_status(ARES_ENOTFOUND), "NXDOMAIN");
    ck_assert_str_eq(resolver_ares_status(ARES_ESERVFAIL), "SERVFAIL");
    ck_assert_str_eq(resolver_ares_status(ARES_EREFUSED), "REFUSED");
    ck_assert_str_eq(resolver_ares_status(ARES_ENODATA), "no A and no AAAA record");
    ck_assert_str_eq(resolver_ares_status(ARES_EFILE), ares_strerror(ARES_EFILE));
    ck_assert_ptr_nonnull(resolver_ares_status(12345));
}
END_TEST

static const struct {
    const char *servers;
    unsigned count;
    const char *says;
} rows[] = {
    {"127.0.0.1:5353", 1, "asked 127.0.0.1:5353"},
    {"127.0.0.1", 1, "asked 127.0.0.1:53"},
    {"[::1]:54,127.0.0.2:53", 2, "asked [::1]:54, 127.0.0.2:53"},
    {"1.1.1.1,1.1.1.2,1.1.1.3", 3, "asked 1.1.1.1:53, 1.1.1.2:53, 1.1.1.3:53"},
    {"1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4", 4, "asked 1.1.1.1:53, 1.1.1.2:53, 1.1.1.3:53 and others"},
};

START_TEST(who_was_asked_is_told)
{
    char text[200];
    struct strbuf sb;
    ares_channel channel;

    ck_assert_int_eq(ares_init(&channel), ARES_SUCCESS);
    ck_assert_int_eq(ares_set_servers_ports_csv(channel, rows[_i].servers), ARES_SUCCESS);
    strbuf_init(&sb, text, sizeof(text));
    resolver_ares_asked(channel, &sb);
    ck_assert_str_eq(text, rows[_i].says);
    ck_assert_uint_eq(resolver_ares_servers(channel), rows[_i].count);
    ares_destroy(channel);
}
END_TEST

static Suite *resolver_ares_text_suite(void)
{
    Suite *suite = suite_create("resolver_ares_text");
    TCase *cases = tcase_create("resolver_ares_text");

    tcase_add_test(cases, a_failure_has_the_name_that_dns_gave_it);
    tcase_add_loop_test(cases, who_was_asked_is_told, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("resolver_ares_text", resolver_ares_text_suite)
