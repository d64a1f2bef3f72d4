/* SPDX-License-Identifier: MIT */
/*
 * A NAT that forgets a quiet connection after 5 s, and drops what comes of it later, without a word.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

#define CUT "a NAT that forgets after 5 s"

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(void)
{
    town_make(&town, TOWN_NAT);
    town_serve(&town, "");
    caller_begin(&caller);
}

/* A call that works, then silence. */
static void rest_for(int64_t ns)
{
    caller_works(&caller);
    client_drive_for(&caller.client, ns);
}

START_TEST(a_call_after_a_nat_forgot_ends_by_the_write_timeout_and_the_next_one_works)
{
    const struct row row = {.cut = CUT,
                            .under = "no call for 8 s, then one",
                            .settings = "the defaults (no PINGs)",
                            .promise = "write timeout 20 s, from the call's write",
                            .least_ns = 20 * LULL_SECOND - 50 * LULL_MS,
                            .promise_ns = 20 * LULL_SECOND};
    begin();
    caller_open(&caller, TOWN_TARGET);
    rest_for(8 * LULL_SECOND);
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_works(&caller);
    ck_assert_uint_eq(caller.dials, 2);
    caller_close(&caller);
}
END_TEST

START_TEST(a_call_after_a_nat_forgot_pings_first_and_the_next_one_works)
{
    const struct row row = {.cut = CUT,
                            .under = "no call for 8 s, then one",
                            .settings = "keepalive 3 s + 1 s",
                            .promise = "keepalive timeout, from the call",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    begin();
    caller_keep_alive(&caller, 3 * LULL_SECOND, LULL_SECOND);
    caller_open(&caller, TOWN_TARGET);
    rest_for(8 * LULL_SECOND);
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_works(&caller);
    ck_assert_uint_eq(caller.dials, 2);
    caller_close(&caller);
}
END_TEST

START_TEST(a_quiet_stream_is_kept_in_mind_by_keepalive)
{
    const struct row row = {.cut = CUT,
                            .under = "a quiet stream, for 12 s",
                            .settings = "keepalive 3 s + 1 s",
                            .promise = "lives: PINGs come before it forgets"};
    begin();
    caller_keep_alive(&caller, 3 * LULL_SECOND, LULL_SECOND);
    caller_open(&caller, TOWN_TARGET);
    talk_ask(&talk, &caller, "/lull.Demo/Slow", "12000", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_OK);
    ck_assert_uint_ge(client_stats(&caller.client).pings_acked, 3);
    caller_still_works(&caller);
    row_lived(&row, "0 closed");
    caller_close(&caller);
}
END_TEST

START_TEST(an_idle_timeout_shorter_than_the_nats_memory_loses_nothing)
{
    const struct row row = {.cut = CUT,
                            .under = "no call for 8 s, then one",
                            .settings = "idle timeout 3 s",
                            .promise = "lives: closed before it forgets, dialled anew"};
    begin();
    caller.client.options.idle_timeout_ns = 3 * LULL_SECOND;
    caller_open(&caller, TOWN_TARGET);
    rest_for(8 * LULL_SECOND);
    ck_assert_int_eq(lull_channel_state(caller.client.channel, false), LULL_STATE_IDLE);
    caller_works(&caller);
    ck_assert_uint_eq(caller.losses, 0);
    ck_assert_uint_eq(caller.dials, 2);
    row_lived(&row, "0 lost, 1 dial");
    caller_close(&caller);
}
END_TEST

/* The system's own keepalive, as on every connection, only sooner: 2 s in place of 45. */
static int probe_soon(void *ctx, int fd)
{
    const int idle_s = 2;
    const int interval_s = 2;
    (void)ctx;
    return setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s)) != 0 ||
           setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s)) != 0;
}

START_TEST(a_connection_without_calls_is_kept_in_mind_by_tcp_keepalive)
{
    const struct row row = {.cut = CUT,
                            .under = "no call for 12 s, then one",
                            .settings = "TCP keepalive each 2 s (on_socket)",
                            .promise = "lives: probes come before it forgets"};
    begin();
    caller.client.options.on_socket = probe_soon;
    caller_open(&caller, TOWN_TARGET);
    rest_for(12 * LULL_SECOND);
    caller_still_works(&caller);
    row_lived(&row, "0 closed");
    caller_close(&caller);
}
END_TEST

void nat_cases(Suite *suite)
{
    net_section(suite, "A NAT that forgets a quiet connection after 5 s");
    net_add(suite, a_call_after_a_nat_forgot_ends_by_the_write_timeout_and_the_next_one_works);
    net_add(suite, a_call_after_a_nat_forgot_pings_first_and_the_next_one_works);
    net_add(suite, a_quiet_stream_is_kept_in_mind_by_keepalive);
    net_add(suite, an_idle_timeout_shorter_than_the_nats_memory_loses_nothing);
    net_add(suite, a_connection_without_calls_is_kept_in_mind_by_tcp_keepalive);
}
