/* SPDX-License-Identifier: MIT */
/*
 * Cuts before there is a connection: while TCP connects, in the TLS handshake, before the first SETTINGS; and networks that say no.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

/* SYN, ACK and FIN pass, what has bytes does not. */
#define WITH_BYTES "ip length > 60"

#define LIMIT   "connect timeout 2 s"
#define PROMISE "connect timeout, from the dial"

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(void)
{
    town_make(&town, TOWN_ROUTED);
    caller_begin(&caller);
    caller.client.options.min_connect_timeout_ns = 2 * LULL_SECOND;
}

static void fails_to_connect(const struct row *row, enum lull_reason reason, const char *words)
{
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(row, caller.dialled_at, talk.ended_at, talk.stream.line);
    ck_assert_uint_eq(caller.dials, 1);
    ck_assert_int_eq(talk.stream.reason, reason);
    caller_has(talk.stream.line, TOWN_SERVER_ADDRESS, words, NULL);
}

static void end(void)
{
    town_heal(&town);
    lull_channel_reset_backoff(caller.client.channel);
    client_drive_for(&caller.client, 1500 * LULL_MS); /* the spacing between two dials */
    caller_works(&caller);
    caller_close(&caller);
}

START_TEST(a_cut_while_tcp_connects_is_found_by_the_connect_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "connecting",
                            .settings = LIMIT,
                            .promise = PROMISE,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin();
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, "");
    fails_to_connect(&row, LULL_REASON_CONNECT, "connect");
    end();
}
END_TEST

START_TEST(a_cut_of_the_servers_part_of_the_connect_is_found_by_the_connect_timeout)
{
    const struct row row = {.cut = "from the server only",
                            .under = "connecting",
                            .settings = LIMIT,
                            .promise = PROMISE,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin();
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, TOWN_TO_CLIENT);
    fails_to_connect(&row, LULL_REASON_CONNECT, "no answer");
    end();
}
END_TEST

/* ---- two addresses */

#define OTHER "10.83.2.3"
#define BOTH  "ipv4:" TOWN_SERVER_ADDRESS ":" TOWN_PORT "," OTHER ":" TOWN_PORT

static void begin_two(void)
{
    begin();
    town_do(&town, TOWN_SERVER, "exec ip addr add " OTHER "/24 dev s0");
    town_serve(&town, " --listen " OTHER ":" TOWN_PORT);
    caller_keep_alive(&caller, LULL_SECOND, LULL_SECOND);
    caller_open(&caller, BOTH);
}

START_TEST(a_dark_address_costs_a_quarter_of_a_second_when_there_is_another)
{
    const struct row row = {.cut = "to the first of two addresses, silent",
                            .under = "connecting",
                            .settings = "the defaults",
                            .promise = "lives: the next address after 250 ms (gRFC A61)",
                            .least_ns = 250 * LULL_MS,
                            .promise_ns = 250 * LULL_MS};
    begin_two();
    town_drop(&town, "ip daddr " TOWN_SERVER_ADDRESS);
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_OK);
    ck_assert_uint_eq(caller.dials, 2);
    row_took(&row, talk.started_at, talk.ended_at, "OK");
    caller_close(&caller);
}
END_TEST

START_TEST(a_call_after_an_address_went_dark_is_made_at_the_other)
{
    const struct row row = {.cut = "to the first of two addresses, silent",
                            .under = "a quiet stream, then a call",
                            .settings = "keepalive 1 s + 1 s",
                            .promise =
                                "keepalive time + timeout, then the next address after 250 ms",
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2250 * LULL_MS};
    struct talk next;
    begin_two();
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    const struct lull_instant from = caller.heard_at;
    town_drop(&town, "ip daddr " TOWN_SERVER_ADDRESS);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    talk_ask(&next, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&next, &caller, LULL_CODE_OK);
    row_took(&row, from, next.ended_at, talk.stream.line);
    caller_close(&caller);
}
END_TEST

START_TEST(a_cut_while_tcp_connects_is_found_by_the_default_connect_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "connecting",
                            .settings = "the defaults",
                            .promise = PROMISE " (20 s)",
                            .least_ns = 20 * LULL_SECOND,
                            .promise_ns = 20 * LULL_SECOND};
    begin();
    caller.client.options.min_connect_timeout_ns = 20 * LULL_SECOND;
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, "");
    fails_to_connect(&row, LULL_REASON_CONNECT, "connect");
    end();
}
END_TEST

START_TEST(a_cut_before_the_first_settings_is_found_by_the_connect_timeout)
{
    const struct row row = {.cut = "both ways, what has bytes",
                            .under = "greeting (preface, SETTINGS)",
                            .settings = LIMIT,
                            .promise = PROMISE,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin();
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, WITH_BYTES);
    fails_to_connect(&row, LULL_REASON_CONNECT, "SETTINGS");
    end();
}
END_TEST

static void cut_handshake(const char *packets, const char *cut)
{
    const struct row row = {.cut = cut,
                            .under = "the TLS handshake",
                            .settings = LIMIT,
                            .promise = PROMISE,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin();
    town_serve(&town, town_tls_options());
    caller.client.options.credentials = town_trust();
    caller_open(&caller, TOWN_TARGET);
    lull_credentials_unref(caller.client.options.credentials);
    town_drop(&town, packets);
    fails_to_connect(&row, LULL_REASON_TLS, "TLS handshake");
    end();
}

START_TEST(a_cut_in_the_tls_handshake_is_found_by_the_connect_timeout)
{
    cut_handshake(WITH_BYTES, "both ways, what has bytes");
}
END_TEST

START_TEST(a_cut_of_the_servers_part_of_the_tls_handshake_is_found_by_the_connect_timeout)
{
    cut_handshake(TOWN_TO_CLIENT " " WITH_BYTES, "from the server, what has bytes");
}
END_TEST

START_TEST(the_deadline_of_a_call_that_waits_for_a_connect_is_kept)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "connecting, for a call with a deadline",
                            .settings = LIMIT ", deadline 1 s",
                            .promise = "deadline, from the call",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    begin();
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, "");
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_SECOND);
    talk_end(&talk, &caller, LULL_CODE_DEADLINE_EXCEEDED);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_has(talk.stream.line, "connect", TOWN_SERVER_ADDRESS, NULL);
    end();
}
END_TEST

START_TEST(closing_a_channel_that_connects_into_the_dark_does_not_wait)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "connecting",
                            .settings = "the defaults",
                            .promise = "lull_channel_close does not wait"};
    begin();
    town_serve(&town, "");
    caller_open(&caller, TOWN_TARGET);
    town_drop(&town, "");
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    client_drive_for(&caller.client, 300 * LULL_MS);
    const struct lull_instant from = caller_now();
    lull_channel_close(caller.client.channel);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    caller_close(&caller);
}
END_TEST

/* ---- a network that says no */

START_TEST(a_router_without_a_way_is_told_at_once)
{
    const struct row row = {.cut = "the router has no route, and says so (ICMP)",
                            .under = "connecting",
                            .settings = LIMIT,
                            .promise = "at once"};
    begin();
    town_serve(&town, "");
    town_do(&town, TOWN_ROUTER, "exec ip link set rs down");
    caller_open(&caller, TOWN_TARGET);
    fails_to_connect(&row, LULL_REASON_CONNECT, "unreachable");
    town_do(&town, TOWN_ROUTER, "exec ip link set rs up");
    end();
}
END_TEST

START_TEST(a_machine_without_a_way_is_told_at_once)
{
    const struct row row = {.cut = "our own link is down",
                            .under = "connecting",
                            .settings = LIMIT,
                            .promise = "at once"};
    begin();
    town_serve(&town, "");
    town_do(&town, TOWN_CLIENT, "exec ip link set c0 down");
    caller_open(&caller, TOWN_TARGET);
    fails_to_connect(&row, LULL_REASON_CONNECT, "unreachable");
    town_do(&town, TOWN_CLIENT, "ip link set c0 up && exec ip route add default via 10.83.1.1");
    end();
}
END_TEST

/* On a connection that stands, an unreachable network may be back in a moment (RFC 1122 section 4.2.3.9): the write timeout decides. */
static void lose_way(enum town_place place, const char *down, const char *cut)
{
    const struct row row = {.cut = cut,
                            .under = "a stream that we send on",
                            .settings = "keepalive 2 s + 1 s",
                            .promise = "write timeout = keepalive timeout, from the first write",
                            .least_ns = 950 * LULL_MS,
                            .promise_ns = LULL_SECOND};
    begin();
    town_serve(&town, "");
    caller_keep_alive(&caller, 2 * LULL_SECOND, LULL_SECOND);
    caller_open(&caller, TOWN_TARGET);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    town_do(&town, place, down);
    const struct lull_instant from = caller_now();
    talk_chat(&talk, &caller, 100 * LULL_MS, LULL_MINUTE);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
}

START_TEST(a_router_that_loses_its_way_is_found_by_the_write_timeout)
{
    lose_way(TOWN_ROUTER, "exec ip link set rs down", "the router's link down: it says so (ICMP)");
    town_do(&town, TOWN_ROUTER, "exec ip link set rs up");
    end();
}
END_TEST

START_TEST(a_machine_that_loses_its_way_is_found_by_the_write_timeout)
{
    lose_way(TOWN_CLIENT, "exec ip link set c0 down", "our own link down");
    town_do(&town, TOWN_CLIENT, "ip link set c0 up && exec ip route add default via 10.83.1.1");
    end();
}
END_TEST

void connect_cases(Suite *suite)
{
    net_section(suite, "Before there is a connection");
    net_add(suite, a_cut_while_tcp_connects_is_found_by_the_default_connect_timeout);
    net_add(suite, a_cut_while_tcp_connects_is_found_by_the_connect_timeout);
    net_add(suite, a_cut_of_the_servers_part_of_the_connect_is_found_by_the_connect_timeout);
    net_add(suite, a_dark_address_costs_a_quarter_of_a_second_when_there_is_another);
    net_add(suite, a_call_after_an_address_went_dark_is_made_at_the_other);
    if (getenv("NET_CERTS") != NULL) {
        net_add(suite, a_cut_in_the_tls_handshake_is_found_by_the_connect_timeout);
        net_add(suite,
                a_cut_of_the_servers_part_of_the_tls_handshake_is_found_by_the_connect_timeout);
    }
    net_add(suite, a_cut_before_the_first_settings_is_found_by_the_connect_timeout);
    net_add(suite, the_deadline_of_a_call_that_waits_for_a_connect_is_kept);
    net_add(suite, closing_a_channel_that_connects_into_the_dark_does_not_wait);
    net_add(suite, a_router_without_a_way_is_told_at_once);
    net_add(suite, a_machine_without_a_way_is_told_at_once);
    net_add(suite, a_router_that_loses_its_way_is_found_by_the_write_timeout);
    net_add(suite, a_machine_that_loses_its_way_is_found_by_the_write_timeout);
}
