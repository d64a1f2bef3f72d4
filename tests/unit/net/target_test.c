/* SPDX-License-Identifier: MIT */
#include "net/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define OK      LULL_OK
#define INVALID LULL_RC_INVALID
#define UNSUP   LULL_RC_UNSUPPORTED

#define TEN      "abcdefghij"
#define SIXTY    TEN TEN TEN TEN TEN TEN
#define NAME_240 SIXTY "." SIXTY "." SIXTY "." TEN TEN TEN TEN TEN "abcdef."

#define FOUR_ADDRS    "1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1"
#define SIXTEEN_ADDRS FOUR_ADDRS "," FOUR_ADDRS "," FOUR_ADDRS "," FOUR_ADDRS

/* `says`: the addresses when it is OK (a name: the host in angle brackets, and its port) and then the authority, else what the
 * error's text must hold. A port must be written. */
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
    {"localhost:50051", OK, "127.0.0.1:50051 [::1]:50051", "localhost:50051"},
    {"LocalHost:1", OK, "127.0.0.1:1 [::1]:1", "LocalHost:1"},
    {"localhost.:1", OK, "127.0.0.1:1 [::1]:1", "localhost.:1"},
    {"svc.localhost:1", OK, "127.0.0.1:1 [::1]:1", "svc.localhost:1"},
    {"notlocalhost:1", OK, "<notlocalhost> 1", "notlocalhost:1"},
    {"example.com:443", OK, "<example.com> 443", "example.com:443"},
    {"example.com.:443", OK, "<example.com.> 443", "example.com.:443"},
    {"_grpc-x_1.example:443", OK, "<_grpc-x_1.example> 443", "_grpc-x_1.example:443"},
    {NAME_240 "x" TEN ":1", OK, "<" NAME_240 "x" TEN "> 1", NAME_240 "x" TEN ":1"},
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
    {"[::1]:80,[::2]:80", INVALID, "lists several addresses: write ipv4: or ipv6:", NULL},
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
    {"dns:///h:1", OK, "<h> 1", "h:1"},
    {"dns:h:1", OK, "<h> 1", "h:1"},
    {"dns:/h:1", OK, "<h> 1", "h:1"},
    {"dns://8.8.8.8/h:1", OK, "<h> 1 by 8.8.8.8:53", "h:1"},
    {"dns://8.8.8.8:5353/h:1", OK, "<h> 1 by 8.8.8.8:5353", "h:1"},
    {"dns://[::1]/h:1", OK, "<h> 1 by [::1]:53", "h:1"},
    {"dns://[::1]:5353/h:1", OK, "<h> 1 by [::1]:5353", "h:1"},
    {"dns://ns.example/h:1", INVALID, "authority \"ns.example\" is not the address of a name server", NULL},
    {"dns://localhost/h:1", INVALID, "authority \"localhost\" is not the address", NULL},
    {"dns://8.8.8.8:0/h:1", INVALID, "port \"0\"", NULL},
    {"dns://::1/h:1", INVALID, "more than one colon", NULL},
    {"dns://8.8.8.8,9.9.9.9/h:1", INVALID, "character \",\"", NULL},
    {"DNS:///127.0.0.1:1", OK, "127.0.0.1:1", "127.0.0.1:1"},
    {"dns:[::1]:80", OK, "[::1]:80", "[::1]:80"},
    {"dns:///localhost:80", OK, "127.0.0.1:80 [::1]:80", "localhost:80"},
    {"dns://8.8.8.8/127.0.0.1:80", OK, "127.0.0.1:80 by 8.8.8.8:53", "127.0.0.1:80"},
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
    {"ipv4:1.2.3.4:1,1.2.3.5:2", OK, "1.2.3.4:1 1.2.3.5:2", "1.2.3.4:1"},
    {"ipv4:///1.2.3.4:1,1.2.3.5:2", OK, "1.2.3.4:1 1.2.3.5:2", "1.2.3.4:1"},
    {"ipv4:1.2.3.4:1,", INVALID, "has an empty place", NULL},
    {"ipv4:,1.2.3.4:1", INVALID, "has an empty place", NULL},
    {"ipv4:1.2.3.4:1,,1.2.3.5:2", INVALID, "has an empty place", NULL},
    {"ipv4:1.2.3.4:1,1.2.3.5", INVALID, "\"1.2.3.5\" has no port", NULL},
    {"ipv4:1.2.3.4:1,h:2", INVALID, "\"h\" is not an IPv4", NULL},
    {"ipv4:1.2.3.4:1,[::1]:2", INVALID, "\"::1\" is not an IPv4", NULL},
    {"ipv4:" SIXTEEN_ADDRS, OK, "1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1 1.1.1.1:1", "1.1.1.1:1"},
    {"ipv4:" SIXTEEN_ADDRS ",1.1.1.1:1", INVALID, "more than 16 addresses", NULL},
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
    {"ipv6:[::1]:80,[::2]:81", OK, "[::1]:80 [::2]:81", "[::1]:80"},
    {"ipv6:[::1]:80,::2:80", INVALID, "more than one colon", NULL},
    {"ipv6:[::1]:80,1.2.3.4:80", INVALID, "\"1.2.3.4\" is not an IPv6", NULL},
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

/* What a row says of a target that was read. */
static void describe(const struct target *target, char *out, size_t size)
{
    struct strbuf sb;

    strbuf_init(&sb, out, size);
    if (target->addr_count == 0) {
        strbuf_printf(&sb, "<%s> %u", target->host, (unsigned)target->port);
    }
    for (size_t i = 0; i < target->addr_count; i++) {
        strbuf_printf(&sb, "%s%s", i > 0 ? " " : "", target->addrs[i].text);
        ck_assert_uint_gt(target->addrs[i].len, 0);
    }
    if (target->server.len > 0) {
        strbuf_printf(&sb, " by %s", target->server.text);
    }
}

START_TEST(a_target_is_read_or_its_bad_part_is_named)
{
    const struct target_row *row = &rows[_i];
    struct target target;
    struct lull_error error;
    int rc;

    memset(&target, 0x5a, sizeof(target));
    memset(&error, 0x5a, sizeof(error));
    rc = target_parse(row->target, TARGET_PORT_NONE, &target, &error);
    ck_assert_msg(rc == row->rc, "%s: %s, not %s: %s", row->target, lull_rc_name(rc),
                  lull_rc_name(row->rc), error.text);
    ck_assert_int_eq(error.rc, rc);
    if (rc == OK) {
        char says[1024];

        describe(&target, says, sizeof(says));
        ck_assert_str_eq(says, row->says);
        ck_assert_str_eq(target.authority, row->authority);
        ck_assert_str_ne(target.host, "");
        ck_assert_str_eq(error.text, "");
        return;
    }
    ck_assert_msg(strstr(error.text, row->says) != NULL, "%s: %s", row->target, error.text);
    ck_assert_msg(strncmp(error.text, "target", 6) == 0, "%s", error.text);
    ck_assert_uint_eq(target.addr_count, 0);
    ck_assert_str_eq(target.host, "");
    ck_assert_str_eq(target.authority, "");
}
END_TEST

/* gRPC's naming.md: a port that is left out is the scheme's of the security that is used. */
START_TEST(a_default_port_stands_where_none_was_written)
{
    static const struct {
        const char *target;
        uint16_t default_port;
        const char *says;
        const char *authority;
        const char *host;
        uint16_t port;
    } table[] = {
        {"svc.test", TARGET_PORT_PLAINTEXT, "<svc.test> 80", "svc.test", "svc.test", 80},
        {"svc.test", TARGET_PORT_TLS, "<svc.test> 443", "svc.test", "svc.test", 443},
        {"svc.test:9", TARGET_PORT_TLS, "<svc.test> 9", "svc.test:9", "svc.test", 9},
        {"dns:///svc.test", TARGET_PORT_TLS, "<svc.test> 443", "svc.test", "svc.test", 443},
        {"dns://1.2.3.4/svc.test", TARGET_PORT_TLS, "<svc.test> 443 by 1.2.3.4:53", "svc.test", "svc.test", 443},
        {"127.0.0.1", TARGET_PORT_PLAINTEXT, "127.0.0.1:80", "127.0.0.1", "127.0.0.1", 80},
        {"[::1]", TARGET_PORT_TLS, "[::1]:443", "[::1]", "::1", 443},
        {"[fe80::1%1]", TARGET_PORT_TLS, "[fe80::1%1]:443", "[fe80::1]", "fe80::1", 443},
        {"localhost", TARGET_PORT_PLAINTEXT, "127.0.0.1:80 [::1]:80", "localhost", "localhost", 80},
        {"ipv4:1.2.3.4,1.2.3.5:5", TARGET_PORT_TLS, "1.2.3.4:443 1.2.3.5:5", "1.2.3.4", "1.2.3.4", 443},
        {"ipv6:[::1],[::2]", TARGET_PORT_PLAINTEXT, "[::1]:80 [::2]:80", "[::1]", "::1", 80},
        {"unix:/run/x", TARGET_PORT_TLS, "unix:/run/x", "localhost", "localhost", 0},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct target target;
        struct lull_error error;
        char says[256];
        int rc = target_parse(table[i].target, table[i].default_port, &target, &error);

        ck_assert_msg(rc == OK, "%s: %s", table[i].target, error.text);
        describe(&target, says, sizeof(says));
        ck_assert_str_eq(says, table[i].says);
        ck_assert_str_eq(target.authority, table[i].authority);
        ck_assert_str_eq(target.host, table[i].host);
        ck_assert_uint_eq(target.port, table[i].port);
    }
}
END_TEST

/* A default port heals what has none, and nothing else. */
START_TEST(a_default_port_does_not_heal_a_bad_one)
{
    static const char *const table[] = {"svc:", "svc:0", "svc:x", "", "dns:///", "dns:", "ipv4:", "ipv4:,", "/run/x", "dns:53"};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct target target;

        ck_assert_int_eq(target_parse(table[i], TARGET_PORT_TLS, &target, NULL), INVALID);
    }
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
        ck_assert_int_eq(target_parse(text, TARGET_PORT_NONE, &target, &error), INVALID);
        ck_assert_ptr_nonnull(strstr(error.text, "(1000000 bytes) is too long"));
    }
    free(text);
}
END_TEST

START_TEST(an_error_is_not_asked_for_and_not_missed)
{
    struct target target;

    ck_assert_int_eq(target_parse("localhost:0", TARGET_PORT_NONE, &target, NULL), INVALID);
    ck_assert_int_eq(target_parse("localhost:1", TARGET_PORT_NONE, &target, NULL), OK);
    ck_assert_str_eq(target.addrs[0].text, "127.0.0.1:1");
}
END_TEST

/* Whatever the bytes, a code and a text that fits; run under the sanitizers. */
START_TEST(any_short_text_gets_an_answer)
{
    static const char alphabet[] = "a1:/[]%.,-dnsipv46u x\x80";
    uint64_t state = 20260101;

    for (int round = 0; round < (int)test_rounds(200000, 5000); round++) {
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
        rc = target_parse(text, TARGET_PORT_NONE, &target, &error);
        ck_assert(rc == OK || rc == INVALID || rc == UNSUP);
        ck_assert((rc == OK) == (target.host[0] != '\0'));
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
    tcase_add_test(cases, a_default_port_stands_where_none_was_written);
    tcase_add_test(cases, a_default_port_does_not_heal_a_bad_one);
    tcase_add_test(cases, a_huge_target_is_refused_with_a_short_text);
    tcase_add_test(cases, an_error_is_not_asked_for_and_not_missed);
    tcase_add_test(cases, any_short_text_gets_an_answer);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("target", target_suite)
