/* SPDX-License-Identifier: MIT */
#include "net/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"

#define OK      LULL_OK
#define INVALID LULL_RC_INVALID
#define UNSUP   LULL_RC_UNSUPPORTED

#define TEN      "abcdefghij"
#define SIXTY    TEN TEN TEN TEN TEN TEN
#define NAME_240 SIXTY "." SIXTY "." SIXTY "." TEN TEN TEN TEN TEN "abcdef."

/* `says`: the address when it is OK (and then the authority), else what the error's text must hold.
 */
static const struct target_row {
    const char *target;
    int rc;
    const char *says;
    const char *authority;
} rows[] = {
    /* bare host:port */
    {"127.0.0.1:2379", OK, "127.0.0.1:2379", "127.0.0.1:2379"},
    {"[::1]:80", OK, "[::1]:80", "[::1]:80"},
    {"[2001:DB8:0::1]:65535", OK, "[2001:db8::1]:65535", "[2001:DB8:0::1]:65535"},
    {"[fe80::1%1]:80", OK, "[fe80::1%1]:80", "[fe80::1]:80"},
    {"localhost:50051", OK, "127.0.0.1:50051", "localhost:50051"},
    {"LocalHost:1", OK, "127.0.0.1:1", "LocalHost:1"},
    {"localhost.:1", OK, "127.0.0.1:1", "localhost.:1"},
    {"svc.localhost:1", OK, "127.0.0.1:1", "svc.localhost:1"},
    {"notlocalhost:1", UNSUP, "notlocalhost", NULL},
    {"example.com:443", UNSUP, "\"example.com\" is a name", NULL},
    {"example.com.:443", UNSUP, "is a name", NULL},
    {"_grpc-x_1.example:443", UNSUP, "is a name", NULL},
    {NAME_240 "x" TEN ":1", UNSUP, "is a name", NULL},
    {"127.0.0.1", INVALID, "has no port", NULL},
    {"[::1]", INVALID, "has no port", NULL},
    {"example.com", INVALID, "has no port", NULL},
    {"localhost", INVALID, "has no port", NULL},
    {"localhost:", INVALID, "\"localhost:\" has no port after its last colon", NULL},
    {"localhost:0", INVALID, "port \"0\"", NULL},
    {"localhost:70000", INVALID, "port \"70000\"", NULL},
    {"localhost:65536", INVALID, "port \"65536\"", NULL},
    {"localhost:4294967297", INVALID, "port \"4294967297\"", NULL},
    {"localhost:abc", INVALID, "port \"abc\"", NULL},
    {"localhost:+80", INVALID, "port \"+80\"", NULL},
    {"localhost:-1", INVALID, "port \"-1\"", NULL},
    {"localhost:080", INVALID, "port \"080\"", NULL},
    {"localhost: 80", INVALID, "port \" 80\"", NULL},
    {"localhost:80/", INVALID, "port \"80/\"", NULL},
    {"example.com:http", INVALID, "port \"http\"", NULL},
    {":80", INVALID, "names no host", NULL},
    {"[]:80", INVALID, "names no host", NULL},
    {"::1", INVALID, "more than one colon", NULL},
    {"::1:80", INVALID, "[address]:port", NULL},
    {"a:1,b:2", INVALID, "lists several addresses", NULL},
    {"a,b:2", INVALID, "lists several addresses", NULL},
    {"[::1:80", INVALID, "no closing bracket", NULL},
    {"[::1]80", INVALID, "text \"80\" after the bracket", NULL},
    {"[::1]:0", INVALID, "port \"0\"", NULL},
    {"[127.0.0.1]:80", INVALID, "not an IPv6 address", NULL},
    {"[localhost]:80", INVALID, "not an IPv6 address", NULL},
    {"[fe80::1%no-such-if]:80", INVALID, "zone of this machine", NULL},
    {"256.0.0.1:80", INVALID, "\"256.0.0.1\" is not an IPv4 address", NULL},
    {"127.1:80", INVALID, "not an IPv4 address", NULL},
    {"2130706433:80", INVALID, "not an IPv4 address", NULL},
    {"a..b:80", INVALID, "empty label", NULL},
    {".:80", INVALID, "empty label", NULL},
    {".a:80", INVALID, "empty label", NULL},
    {"a b:80", INVALID, "character \" \"", NULL},
    {"user@host:80", INVALID, "character \"@\"", NULL},
    {"host/path:80", INVALID, "character \"/\"", NULL},
    {"127.0.0.1%lo:80", INVALID, "character \"%\"", NULL},
    {"b\xc3\xbc"
     "cher.example:80",
     INVALID, "not ASCII", NULL},
    {SIXTY "abcd.example:80", INVALID, "label of more than 63 bytes", NULL},
    {NAME_240 TEN TEN ":1", INVALID, "longer than the 253 bytes", NULL},
    /* dns: */
    {"dns:///h:1", UNSUP, "\"h\" is a name", NULL},
    {"dns:h:1", UNSUP, "\"h\" is a name", NULL},
    {"dns:/h:1", UNSUP, "\"h\" is a name", NULL},
    {"dns://8.8.8.8/h:1", UNSUP, "\"h\" is a name", NULL},
    {"DNS:///127.0.0.1:1", OK, "127.0.0.1:1", "127.0.0.1:1"},
    {"dns:[::1]:80", OK, "[::1]:80", "[::1]:80"},
    {"dns:///localhost:80", OK, "127.0.0.1:80", "localhost:80"},
    {"dns://8.8.8.8/127.0.0.1:80", OK, "127.0.0.1:80", "127.0.0.1:80"},
    {"dns:///h", INVALID, "\"h\" has no port", NULL},
    {"dns:53", INVALID, "has no port", NULL},
    {"dns:///", INVALID, "names no host", NULL},
    {"dns:", INVALID, "names no host", NULL},
    {"dns://h:1", INVALID, "three slashes", NULL},
    {"dns:///h:1/", INVALID, "port \"1/\"", NULL},
    {"dns:///h:1?x", INVALID, "port \"1?x\"", NULL},
    /* ipv4:, ipv6: */
    {"ipv4:127.0.0.1:80", OK, "127.0.0.1:80", "127.0.0.1:80"},
    {"ipv4:///127.0.0.1:80", OK, "127.0.0.1:80", "127.0.0.1:80"},
    {"ipv4:", INVALID, "names no host", NULL},
    {"ipv4:127.0.0.1", INVALID, "has no port", NULL},
    {"ipv4:1.2.3.4:1,1.2.3.5:2", UNSUP, "several addresses", NULL},
    {"ipv4:localhost:80", INVALID, "\"localhost\" is not an IPv4", NULL},
    {"ipv4:example.com:80", INVALID, "\"example.com\" is not an IPv4", NULL},
    {"ipv4:[::1]:80", INVALID, "\"::1\" is not an IPv4", NULL},
    {"ipv4://dns/1.2.3.4:80", INVALID, "authority \"dns\"", NULL},
    {"ipv6:[::1]:80", OK, "[::1]:80", "[::1]:80"},
    {"ipv6:", INVALID, "names no host", NULL},
    {"ipv6:[::1]", INVALID, "has no port", NULL},
    {"ipv6:::1", INVALID, "more than one colon", NULL},
    {"ipv6:127.0.0.1:80", INVALID, "\"127.0.0.1\" is not an IPv6", NULL},
    {"ipv6:localhost:80", INVALID, "\"localhost\" is not an IPv6", NULL},
    {"ipv6:[::1]:80,[::2]:80", UNSUP, "several addresses", NULL},
    /* unix:, unix-abstract: */
    {"unix:/run/x.sock", OK, "unix:/run/x.sock", "localhost"},
    {"unix:///run/x.sock", OK, "unix:/run/x.sock", "localhost"},
    {"unix:x.sock", OK, "unix:x.sock", "localhost"},
    {"unix:/run/a b,c:1?#", OK, "unix:/run/a b,c:1?#", "localhost"},
    {"UNIX:/run/x", OK, "unix:/run/x", "localhost"},
    {"unix:", INVALID, "has an empty path", NULL},
    {"unix:///", INVALID, "ends in a slash", NULL},
    {"unix:/run/", INVALID, "ends in a slash", NULL},
    {"unix://", INVALID, "three slashes", NULL},
    {"unix://host/run/x", INVALID, "authority \"host\"", NULL},
    {"unix:/" SIXTY SIXTY, INVALID, "too long for a unix socket", NULL},
    {"unix-abstract:bus", OK, "unix-abstract:bus", "localhost"},
    {"unix-abstract:", INVALID, "has an empty name", NULL},
    {"unix-abstract:" SIXTY SIXTY, INVALID, "too long for a unix socket", NULL},
    /* neither */
    {"http://x", INVALID, "scheme \"http\" is unknown; write host:port alone", NULL},
    {"https://127.0.0.1:443", INVALID, "scheme \"https\" is unknown", NULL},
    {"xds:///svc", INVALID, "scheme \"xds\" is unknown", NULL},
    {"passthrough:///1.2.3.4:1", INVALID, "scheme \"passthrough\" is unknown", NULL},
    {"://x", INVALID, "", NULL},
    {"", INVALID, "target is empty", NULL},
    {NULL, INVALID, "target is NULL", NULL},
    {" ", INVALID, "has no port", NULL},
    {":", INVALID, "no port after its last colon", NULL},
    {"/", INVALID, "has no port; a unix socket is written unix:/path", NULL},
    {"[", INVALID, "no closing bracket", NULL},
    {"localhost:80\n", INVALID, "localhost:80\\x0a\" holds a control character", NULL},
    {"\x01localhost:80", INVALID, "holds a control character", NULL},
    {"unix:/run/\x7f", INVALID, "holds a control character", NULL},
};

START_TEST(a_target_is_read_or_its_bad_part_is_named)
{
    const struct target_row *row = &rows[_i];
    struct target target;
    struct lull_error error;
    int rc;

    memset(&target, 0x5a, sizeof(target));
    memset(&error, 0x5a, sizeof(error));
    rc = target_parse(row->target, &target, &error);
    ck_assert_msg(rc == row->rc, "%s: %s, not %s: %s", row->target, lull_rc_name(rc),
                  lull_rc_name(row->rc), error.text);
    ck_assert_int_eq(error.rc, rc);
    if (rc == OK) {
        ck_assert_str_eq(target.addr.text, row->says);
        ck_assert_str_eq(target.authority, row->authority);
        ck_assert_uint_gt(target.addr.len, 0);
        ck_assert_str_eq(error.text, "");
        return;
    }
    ck_assert_msg(strstr(error.text, row->says) != NULL, "%s: %s", row->target, error.text);
    ck_assert_msg(strncmp(error.text, "target", 6) == 0, "%s", error.text);
    ck_assert_uint_eq(target.addr.len, 0);
    ck_assert_str_eq(target.authority, "");
}
END_TEST

START_TEST(a_huge_target_is_refused_with_a_short_text)
{
    const size_t len = 1000000;
    const char *starts[] = {"", "unix:/", "[", "dns:///", "ipv4:", "localhost:"};
    char *text = (char *)malloc(len + 1);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        struct target target;
        struct lull_error error;

        memset(text, 'a', len);
        text[len] = '\0';
        memcpy(text, starts[i], strlen(starts[i]));
        ck_assert_int_eq(target_parse(text, &target, &error), INVALID);
        ck_assert_ptr_nonnull(strstr(error.text, "(1000000 bytes) is too long"));
    }
    free(text);
}
END_TEST

START_TEST(an_error_is_not_asked_for_and_not_missed)
{
    struct target target;

    ck_assert_int_eq(target_parse("localhost:0", &target, NULL), INVALID);
    ck_assert_int_eq(target_parse("localhost:1", &target, NULL), OK);
    ck_assert_str_eq(target.addr.text, "127.0.0.1:1");
}
END_TEST

/* Whatever the bytes, a code and a text that fits; run under the sanitizers. */
START_TEST(any_short_text_gets_an_answer)
{
    static const char alphabet[] = "a1:/[]%.,-dnsipv46u x\x80";
    uint64_t state = 20260101;

    for (int round = 0; round < 200000; round++) {
        char text[24];
        struct target target;
        struct lull_error error;
        size_t len;
        int rc;

        state = state * 6364136223846793005u + 1442695040888963407u;
        len = (size_t)(state >> 33) % (sizeof(text) - 1);
        for (size_t i = 0; i < len; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = alphabet[(size_t)(state >> 33) % (sizeof(alphabet) - 1)];
        }
        text[len] = '\0';
        rc = target_parse(text, &target, &error);
        ck_assert(rc == OK || rc == INVALID || rc == UNSUP);
        ck_assert((rc == OK) == (target.addr.len > 0));
        ck_assert((rc == OK) == (error.text[0] == '\0'));
    }
}
END_TEST

static Suite *target_suite(void)
{
    Suite *suite = suite_create("target");
    TCase *cases = tcase_create("target");

    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, a_target_is_read_or_its_bad_part_is_named, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(cases, a_huge_target_is_refused_with_a_short_text);
    tcase_add_test(cases, an_error_is_not_asked_for_and_not_missed);
    tcase_add_test(cases, any_short_text_gets_an_answer);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("target", target_suite)
