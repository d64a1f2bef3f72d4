/* SPDX-License-Identifier: MIT */
/*
 * Cuts that heal in time: nothing is closed, and nothing is lost.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(int64_t time_ns, int64_t timeout_ns)
{
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, "");
    caller_begin(&caller);
    caller_keep_alive(&caller, time_ns, timeout_ns);
    caller_open(&caller, TOWN_TARGET);
}

static void end(const struct row *row, const char *how)
{
    caller_still_works(&caller);
    ck_assert_uint_eq(caller.dials, 1);
    row_lived(row, how);
    caller_close(&caller);
}

/* The cable is cut for so long while the channel goes on. */
static void cut_for(int64_t ns)
{
    town_drop(&town, "");
    const struct lull_instant end_at = lull_instant_add(caller_now(), ns);
    client_drive_for(&caller.client, lull_instant_diff(end_at, caller_now()));
    town_heal(&town);
}

/* TCP_USER_TIMEOUT would end the connection for one probe that got no answer (RULINGS 7). */
START_TEST(one_lost_probe_of_the_systems_keepalive_closes_nothing)
{
    const struct row row = {.cut = "both ways, silent, for 10 s around the probe at 45 s",
                            .under = "a quiet stream",
                            .settings = "the defaults (no PINGs)",
                            .promise = "lives: one lost TCP keepalive probe is not the end"};
    begin(0, 0);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    client_drive_for(&caller.client, 40 * LULL_SECOND);
    cut_for(10 * LULL_SECOND);
    client_drive_for(&caller.client, 16 * LULL_SECOND); /* the next probe, at 60 s, is answered */
    ck_assert_uint_eq(talk.stream.closed, 0);
    talk_say(&talk);
    talk_hear(&talk, &caller, 2);
    lull_call_cancel(talk.stream.call);
    talk_end(&talk, &caller, LULL_CODE_CANCELLED);
    end(&row, "0 closed");
}
END_TEST

/* Two of three. */
START_TEST(two_lost_probes_of_the_systems_keepalive_close_nothing)
{
    const struct row row = {.cut = "both ways, silent, for 25 s around the probes at 45 and 60 s",
                            .under = "a connection without calls",
                            .settings = "the defaults (no PINGs)",
                            .promise = "lives: the third probe is answered"};
    begin(0, 0);
    caller_works(&caller);
    client_drive_for(&caller.client, 40 * LULL_SECOND);
    cut_for(25 * LULL_SECOND);
    client_drive_for(&caller.client, 13 * LULL_SECOND);
    end(&row, "0 closed");
}
END_TEST

START_TEST(a_ping_that_was_lost_once_is_sent_again_by_tcp)
{
    const struct row row = {.cut = "both ways, silent, for 2 s",
                            .under = "a quiet stream, its PING lost",
                            .settings = "keepalive 1 s + 4 s",
                            .promise = "lives: over within half the timeout of the PING"};
    begin(LULL_SECOND, 4 * LULL_SECOND);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    cut_for(2 * LULL_SECOND);
    client_drive_for(&caller.client, 4 * LULL_SECOND);
    ck_assert_uint_eq(talk.stream.closed, 0);
    ck_assert_uint_ge(client_stats(&caller.client).pings_acked, 1);
    talk_say(&talk);
    talk_hear(&talk, &caller, 2);
    lull_call_cancel(talk.stream.call);
    talk_end(&talk, &caller, LULL_CODE_CANCELLED);
    end(&row, "0 closed");
}
END_TEST

#define HALF          "lives: shorter than half the write timeout"
#define SEVEN_EIGHTHS "lives: shorter than 7/8 of the write timeout (Linux 6.15)"

static void chat_through_cut(const char *settings, int64_t time_ns, int64_t timeout_ns,
                             int64_t cut_ns, const char *cut, const char *promise)
{
    const struct row row = {
        .cut = cut, .under = "a stream that we send on", .settings = settings, .promise = promise};
    char how[64];
    begin(time_ns, timeout_ns);
    talk_open(&talk, &caller);
    talk_chat(&talk, &caller, 50 * LULL_MS, 500 * LULL_MS);
    town_drop(&town, "");
    talk_chat(&talk, &caller, 50 * LULL_MS, cut_ns);
    town_heal(&town);
    talk_chat(&talk, &caller, 50 * LULL_MS, 500 * LULL_MS);
    talk_hear(&talk, &caller, talk.sent);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    (void)snprintf(how, sizeof(how), "%u of %u messages", talk.stream.messages, talk.sent);
    end(&row, how);
}

START_TEST(messages_sent_into_a_cut_that_heals_all_arrive)
{
    chat_through_cut("keepalive 2 s + 4 s", 2 * LULL_SECOND, 4 * LULL_SECOND, 1900 * LULL_MS,
                     "both ways, silent, for 1.9 s", HALF);
}
END_TEST

START_TEST(messages_sent_into_a_long_cut_that_heals_all_arrive)
{
    chat_through_cut("the defaults (no PINGs)", 0, 0, 9 * LULL_SECOND, "both ways, silent, for 9 s",
                     HALF);
}
END_TEST

/* The system resends often enough to notice (src/net/endpoint_tcp.c, limit_resends). */
START_TEST(messages_sent_into_a_cut_of_most_of_the_write_timeout_all_arrive)
{
    chat_through_cut("the defaults (no PINGs)", 0, 0, 17 * LULL_SECOND,
                     "both ways, silent, for 17 s", SEVEN_EIGHTHS);
}
END_TEST

static bool can_limit_resends(void)
{
    int value = 0;
    socklen_t len = sizeof(value);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool can = getsockopt(fd, IPPROTO_TCP, 44 /* TCP_RTO_MAX_MS */, &value, &len) == 0;
    (void)close(fd);
    return can;
}

START_TEST(a_server_that_hangs_for_a_while_gets_all_that_was_poured)
{
    const struct row row = {.cut = "none: the server hangs (SIGSTOP) for 2 s",
                            .under = "a writer whose socket is full",
                            .settings = "keepalive 2 s + 4 s",
                            .promise = "lives: shorter than the write timeout"};
    char how[64];
    begin(2 * LULL_SECOND, 4 * LULL_SECOND);
    talk_pour(&talk, &caller);
    client_drive_for(&caller.client, 200 * LULL_MS);
    ck_assert_int_eq(kill(town.server, SIGSTOP), 0);
    client_drive_for(&caller.client, 2 * LULL_SECOND);
    ck_assert(talk.is_full);
    ck_assert_int_eq(kill(town.server, SIGCONT), 0);
    client_drive_for(&caller.client, 300 * LULL_MS);
    talk.is_pouring = false;
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    (void)snprintf(how, sizeof(how), "%u messages of 16 KiB", talk.sent);
    end(&row, how);
}
END_TEST

START_TEST(a_connect_that_lost_its_first_syn_connects)
{
    const struct row row = {.cut = "both ways, silent, for 1.5 s",
                            .under = "connecting",
                            .settings = "the defaults",
                            .promise = "lives: the system's next SYN gets through",
                            .least_ns = 1500 * LULL_MS,
                            .promise_ns = 3500 * LULL_MS};
    begin(0, 0);
    town_drop(&town, "");
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    client_drive_for(&caller.client, 1500 * LULL_MS);
    town_heal(&town);
    talk_end(&talk, &caller, LULL_CODE_OK);
    ck_assert_uint_eq(caller.dials, 1);
    ck_assert_uint_eq(caller.failures, 0);
    row_took(&row, talk.started_at, talk.ended_at, "OK");
    caller_close(&caller);
}
END_TEST

START_TEST(an_unreachable_network_that_comes_back_closes_nothing)
{
    const struct row row = {.cut = "the router's link down for 1 s: it says so (ICMP)",
                            .under = "a stream that we send on",
                            .settings = "keepalive 2 s + 4 s",
                            .promise = HALF};
    char how[64];
    begin(2 * LULL_SECOND, 4 * LULL_SECOND);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    town_do(&town, TOWN_ROUTER, "exec ip link set rs down");
    talk_chat(&talk, &caller, 50 * LULL_MS, LULL_SECOND);
    town_do(&town, TOWN_ROUTER, "exec ip link set rs up");
    talk_hear(&talk, &caller, talk.sent);
    lull_call_cancel(talk.stream.call);
    talk_end(&talk, &caller, LULL_CODE_CANCELLED);
    (void)snprintf(how, sizeof(how), "%u of %u messages", talk.stream.messages, talk.sent);
    end(&row, how);
}
END_TEST

void healed_cases(Suite *suite)
{
    net_section(suite, "Cuts that heal in time");
    net_add(suite, one_lost_probe_of_the_systems_keepalive_closes_nothing);
    net_add(suite, two_lost_probes_of_the_systems_keepalive_close_nothing);
    net_add(suite, a_ping_that_was_lost_once_is_sent_again_by_tcp);
    net_add(suite, messages_sent_into_a_cut_that_heals_all_arrive);
    net_add(suite, messages_sent_into_a_long_cut_that_heals_all_arrive);
    if (can_limit_resends()) {
        net_add(suite, messages_sent_into_a_cut_of_most_of_the_write_timeout_all_arrive);
    }
    net_add(suite, a_server_that_hangs_for_a_while_gets_all_that_was_poured);
    net_add(suite, a_connect_that_lost_its_first_syn_connects);
    net_add(suite, an_unreachable_network_that_comes_back_closes_nothing);
}
