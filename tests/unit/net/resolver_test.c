/* SPDX-License-Identifier: MIT */
/* src/net/resolver.c: the order of addresses. */
#include "net/resolver.h"

#include <string.h>

#include "base/strbuf.h"
#include "tests/support/check_main.h"

/* RFC 8305 section 4; `max` cuts. */
static const struct {
    const char *ip6;
    const char *ip4;
    size_t max;
    const char *out;
} rows[] = {
    {"", "", 8, ""},
    {"12", "", 8, "[::1]:9 [::2]:9"},
    {"", "12", 8, "0.0.0.1:9 0.0.0.2:9"},
    {"12", "34", 8, "[::1]:9 0.0.0.3:9 [::2]:9 0.0.0.4:9"},
    {"1", "345", 8, "[::1]:9 0.0.0.3:9 0.0.0.4:9 0.0.0.5:9"},
    {"123", "4", 8, "[::1]:9 0.0.0.4:9 [::2]:9 [::3]:9"},
    {"12", "34", 3, "[::1]:9 0.0.0.3:9 [::2]:9"},
    {"12", "34", 1, "[::1]:9"},
    {"12", "34", 0, ""},
};

static size_t addrs(const char *digits, const char *format, struct addr *out)
{
    size_t count = strlen(digits);

    for (size_t i = 0; i < count; i++) {
        char host[16];
        struct strbuf sb;

        strbuf_init(&sb, host, sizeof(host));
        strbuf_add(&sb, format);
        strbuf_add_bytes(&sb, &digits[i], 1);
        ck_assert(addr_from_ip(&out[i], host, 9));
    }
    return count;
}

START_TEST(families_take_turns_and_keep_their_own_order)
{
    struct addr ip6[3], ip4[3], out[8];
    char says[256];
    struct strbuf sb;
    size_t ip6_count = addrs(rows[_i].ip6, "::", ip6);
    size_t ip4_count = addrs(rows[_i].ip4, "0.0.0.", ip4);
    size_t count = resolver_interleave(ip6, ip6_count, ip4, ip4_count, out, rows[_i].max);

    strbuf_init(&sb, says, sizeof(says));
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(&sb, "%s%s", i > 0 ? " " : "", out[i].text);
    }
    ck_assert_str_eq(says, rows[_i].out);
}
END_TEST

/* A build without c-ares has none; with it there is one for all, and it is nobody's to free. */
START_TEST(the_default_is_one_and_the_same)
{
    ck_assert_ptr_eq(resolver_default(), resolver_default());
}
END_TEST

static Suite *resolver_suite(void)
{
    Suite *suite = suite_create("resolver");
    TCase *cases = tcase_create("resolver");

    tcase_add_loop_test(cases, families_take_turns_and_keep_their_own_order, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(cases, the_default_is_one_and_the_same);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("resolver", resolver_suite)
