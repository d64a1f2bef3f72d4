/* SPDX-License-Identifier: MIT */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "tests/support/check_main.h"

static const struct ip_row {
    const char *host;
    uint16_t port;
    const char *text; /* NULL: refused */
    int family;
} ip_rows[] = {
    {"127.0.0.1", 2379, "127.0.0.1:2379", AF_INET},
    {"0.0.0.0", 0, "0.0.0.0:0", AF_INET},
    {"255.255.255.255", 65535, "255.255.255.255:65535", AF_INET},
    {"::1", 80, "[::1]:80", AF_INET6},
    {"::", 1, "[::]:1", AF_INET6},
    {"2001:DB8:0:0:0:0:0:1", 443, "[2001:db8::1]:443", AF_INET6},
    {"::ffff:10.0.0.1", 443, "[::ffff:10.0.0.1]:443", AF_INET6},
    {"fe80::1%7", 80, "[fe80::1%7]:80", AF_INET6},
    {"fe80::1%lo", 80, "[fe80::1%1]:80", AF_INET6},
    {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%4294967295", 65535,
     "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535", AF_INET6},
    {"fe80::1%", 80, NULL, 0},
    {"fe80::1%0", 80, NULL, 0},
    {"fe80::1%4294967296", 80, NULL, 0},
    {"fe80::1%99999999999999999999999", 80, NULL, 0},
    {"fe80::1%no-such-interface", 80, NULL, 0},
    {"127.0.0.1%lo", 80, NULL, 0},
    {"", 80, NULL, 0},
    {"127.0.0", 80, NULL, 0},
    {"127.0.0.256", 80, NULL, 0},
    {"127.0.0.1 ", 80, NULL, 0},
    {" 127.0.0.1", 80, NULL, 0},
    {"0x7f.0.0.1", 80, NULL, 0},
    {"[::1]", 80, NULL, 0},
    {":::", 80, NULL, 0},
    {"1:2:3:4:5:6:7:8:9", 80, NULL, 0},
    {"localhost", 80, NULL, 0},
};

START_TEST(an_ip_address_is_read_and_written_back)
{
    const struct ip_row *row = &ip_rows[_i];
    struct addr addr;
    bool ok = addr_from_ip(&addr, row->host, row->port);

    ck_assert_msg(ok == (row->text != NULL), "%s", row->host);
    if (!ok) {
        ck_assert_uint_eq(addr.len, 0);
        ck_assert_str_eq(addr.text, "");
        return;
    }
    ck_assert_str_eq(addr.text, row->text);
    ck_assert_int_eq(addr.storage.ss_family, row->family);
    ck_assert_uint_eq(addr.len, row->family == AF_INET ? sizeof(struct sockaddr_in)
                                                       : sizeof(struct sockaddr_in6));
}
END_TEST

START_TEST(port_and_zone_are_in_the_socket_address)
{
    struct addr addr;
    struct sockaddr_in sin;
    struct sockaddr_in6 sin6;

    ck_assert(addr_from_ip(&addr, "10.1.2.3", 258));
    memcpy(&sin, &addr.storage, sizeof(sin));
    ck_assert_uint_eq(ntohs(sin.sin_port), 258);
    ck_assert_uint_eq(ntohl(sin.sin_addr.s_addr), 0x0a010203);
    ck_assert(addr_from_ip(&addr, "fe80::2%3", 443));
    memcpy(&sin6, &addr.storage, sizeof(sin6));
    ck_assert_uint_eq(ntohs(sin6.sin6_port), 443);
    ck_assert_uint_eq(sin6.sin6_scope_id, 3);
}
END_TEST

START_TEST(a_path_fits_up_to_the_kernel_limit)
{
    char path[200];
    struct addr addr;
    struct sockaddr_un sun;

    ck_assert(addr_from_unix(&addr, "/run/x"));
    ck_assert_str_eq(addr.text, "unix:/run/x");
    ck_assert_int_eq(addr.storage.ss_family, AF_UNIX);
    memset(path, 'p', sizeof(path));
    path[sizeof(sun.sun_path) - 1] = '\0';
    ck_assert(addr_from_unix(&addr, path));
    memcpy(&sun, &addr.storage, sizeof(sun));
    ck_assert_str_eq(sun.sun_path, path);
    ck_assert_uint_eq(strlen(addr.text), strlen(path) + strlen("unix:"));
    path[sizeof(sun.sun_path) - 1] = 'p';
    path[sizeof(sun.sun_path)] = '\0';
    ck_assert(!addr_from_unix(&addr, path));
    ck_assert_uint_eq(addr.len, 0);
    ck_assert(!addr_from_unix(&addr, ""));
}
END_TEST

START_TEST(an_abstract_name_has_a_nul_before_it_and_none_after)
{
    char name[200];
    struct addr addr;
    struct sockaddr_un sun;

    ck_assert(addr_from_abstract(&addr, "bus"));
    ck_assert_str_eq(addr.text, "unix-abstract:bus");
    ck_assert_uint_eq(addr.len, offsetof(struct sockaddr_un, sun_path) + 4);
    memcpy(&sun, &addr.storage, sizeof(sun));
    ck_assert_mem_eq(sun.sun_path, "\0bus", 4);
    memset(name, 'n', sizeof(name));
    name[sizeof(sun.sun_path) - 1] = '\0';
    ck_assert(addr_from_abstract(&addr, name));
    ck_assert_uint_eq(strlen(addr.text), strlen(name) + strlen("unix-abstract:"));
    name[sizeof(sun.sun_path) - 1] = 'n';
    name[sizeof(sun.sun_path)] = '\0';
    ck_assert(!addr_from_abstract(&addr, name));
    ck_assert(!addr_from_abstract(&addr, ""));
}
END_TEST

START_TEST(what_the_kernel_gives_always_has_a_text)
{
    struct addr addr;
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct sockaddr_storage odd = {.ss_family = 77};
    struct sockaddr_in cut = {.sin_family = AF_INET};

    /* the peer of an accepted unix socket as a rule has no name */
    addr_from_sockaddr(&addr, (const struct sockaddr *)&sun, sizeof(sun.sun_family));
    ck_assert_str_eq(addr.text, "unix:");
    /* a name may hold anything, and need not end */
    memset(sun.sun_path, 'x', sizeof(sun.sun_path));
    sun.sun_path[0] = '\n';
    addr_from_sockaddr(&addr, (const struct sockaddr *)&sun, sizeof(sun));
    ck_assert_uint_eq(strlen(addr.text), strlen("unix:") + sizeof(sun.sun_path));
    ck_assert_int_eq(strncmp(addr.text, "unix:?xx", 8), 0);
    memcpy(sun.sun_path, "\0a\0b", 4);
    addr_from_sockaddr(&addr, (const struct sockaddr *)&sun,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 4));
    ck_assert_str_eq(addr.text, "unix-abstract:a?b");
    addr_from_sockaddr(&addr, (const struct sockaddr *)&odd, sizeof(odd));
    ck_assert_str_eq(addr.text, "family 77");
    addr_from_sockaddr(&addr, (const struct sockaddr *)&cut, 4);
    ck_assert_str_eq(addr.text, "family 2");
    addr_from_sockaddr(&addr, (const struct sockaddr *)&odd, 0);
    ck_assert_str_eq(addr.text, "");
    ck_assert_uint_eq(addr.len, 0);
}
END_TEST

static Suite *addr_suite(void)
{
    Suite *suite = suite_create("addr");
    TCase *cases = tcase_create("addr");

    tcase_add_loop_test(cases, an_ip_address_is_read_and_written_back, 0,
                        (int)(sizeof(ip_rows) / sizeof(ip_rows[0])));
    tcase_add_test(cases, port_and_zone_are_in_the_socket_address);
    tcase_add_test(cases, a_path_fits_up_to_the_kernel_limit);
    tcase_add_test(cases, an_abstract_name_has_a_nul_before_it_and_none_after);
    tcase_add_test(cases, what_the_kernel_gives_always_has_a_text);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("addr", addr_suite)
