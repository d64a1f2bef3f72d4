/* SPDX-License-Identifier: MIT */
/*
 * Cuts under a connection that says nothing at the moment: keepalive, the system's keepalive, and the first write after the quiet.
 */
#include <stdio.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

#define SHORT   "keepalive 1 s + 1 s"
#define T_AND_K "keepalive time + timeout, from the last byte read"

static struct town town;
static struct caller caller;
static struct talk talk;

/* A channel with this keepalive (0: the defaults), and an open stream whose last byte was just read. */
static void begin(int64_t time_ns, int64_t timeout_ns)
{
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, "");
    caller_begin(&caller);
    caller_keep_alive(&caller, time_ns, timeout_ns);
    caller_open(&caller, TOWN_TARGET);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
}

static void end(void)
{
    town_heal(&town);
    caller_works(&caller);
    caller_close(&caller);
}

static void cut_quiet_stream(const char *packets, const char *cut)
{
    const struct row row = {.cut = cut,
                            .under = "a quiet stream",
                            .settings = SHORT,
                            .promise = T_AND_K,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin(LULL_SECOND, LULL_SECOND);
    const struct lull_instant from = caller.heard_at;
    town_drop(&town, packets);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
    caller_has(talk.stream.line, "keepalive", "last byte read", TOWN_SERVER_ADDRESS, NULL);
    end();
}

START_TEST(a_cut_under_a_quiet_stream_is_found_by_keepalive)
{
    cut_quiet_stream("", "both ways, silent");
}
END_TEST

START_TEST(a_cut_to_the_server_under_a_quiet_stream_is_found_by_keepalive)
{
    cut_quiet_stream(TOWN_TO_SERVER, "to the server only");
}
END_TEST

START_TEST(a_cut_from_the_server_under_a_quiet_stream_is_found_by_keepalive)
{
    cut_quiet_stream(TOWN_TO_CLIENT, "from the server only");
}
END_TEST

/* The server talks, we only listen: our writes are nothing but TCP's own acknowledgements. */
static void cut_ticks(const char *packets, const char *cut)
{
    const struct row row = {.cut = cut,
                            .under = "a stream that the server sends on",
                            .settings = SHORT,
                            .promise = T_AND_K,
                            .least_ns = 2 * LULL_SECOND,
                            .promise_ns = 2 * LULL_SECOND};
    begin(LULL_SECOND, LULL_SECOND);
    struct talk ticks;
    talk_ask(&ticks, &caller, "/lull.Demo/Ticks", "100000 50", LULL_NEVER);
    talk_hear(&ticks, &caller, 10);
    town_drop(&town, packets);
    talk_end(&ticks, &caller, LULL_CODE_UNAVAILABLE);
    ck_assert_uint_gt(ticks.stream.messages, 0);
    row_took(&row, caller.heard_at, ticks.ended_at, ticks.stream.line);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    end();
}

START_TEST(a_cut_under_a_server_that_sends_is_found_by_keepalive)
{
    cut_ticks("", "both ways, silent");
}
END_TEST

START_TEST(a_cut_from_a_server_that_sends_is_found_by_keepalive)
{
    cut_ticks(TOWN_TO_CLIENT, "from the server only");
}
END_TEST

/* The system's defaults as lull sets them: 45 s, then every 15 s, 3 times. */
START_TEST(a_cut_under_a_quiet_stream_is_found_by_the_systems_keepalive)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a quiet stream",
                            .settings = "the defaults (no PINGs)",
                            .promise = "TCP keepalive 45 s + 3 × 15 s, from the last byte read",
                            .least_ns = 90 * LULL_SECOND - 100 * LULL_MS,
                            .promise_ns = 90 * LULL_SECOND,
                            /* the system's long timers are coarse */
                            .slack_ns = 4 * LULL_SECOND};
    begin(0, 0);
    const struct lull_instant from = caller.heard_at;
    town_drop(&town, "");
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    caller_has(talk.stream.line, "timed out", "TCP keepalive", TOWN_SERVER_ADDRESS, NULL);
    end();
}
END_TEST

/* After a quiet of a minute the write timeout was taken back (TCP keepalive's turn); the call's first write sets it again. */
START_TEST(a_call_on_a_connection_that_died_in_its_sleep_ends_by_the_write_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "no call for 60 s, then one",
                            .settings = "the defaults (no PINGs)",
                            .promise = "write timeout 20 s, from the call's write",
                            .least_ns = 20 * LULL_SECOND - 50 * LULL_MS,
                            .promise_ns = 20 * LULL_SECOND};
    struct talk late;
    begin(0, 0);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    client_drive_for(&caller.client, 58 * LULL_SECOND);
    town_drop(&town, "");
    client_drive_for(&caller.client, LULL_SECOND);
    talk_ask(&late, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&late, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, late.started_at, late.ended_at, late.stream.line);
    caller_has(late.stream.line, "timed out", TOWN_SERVER_ADDRESS, NULL);
    end();
}
END_TEST

START_TEST(a_call_on_a_connection_that_died_in_its_sleep_pings_first)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "no call for 3 s, then one",
                            .settings = SHORT,
                            .promise = "keepalive timeout, from the call",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    struct talk late;
    begin(LULL_SECOND, LULL_SECOND);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    town_drop(&town, "");
    client_drive_for(&caller.client, 3 * LULL_SECOND);
    ck_assert_uint_eq(caller.losses, 0);
    talk_ask(&late, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&late, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, late.started_at, late.ended_at, late.stream.line);
    ck_assert_int_eq(late.stream.reason, LULL_REASON_KEEPALIVE);
    end();
}
END_TEST

START_TEST(the_deadline_of_a_call_that_is_cut_off_is_kept)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a call with a deadline",
                            .settings = "the defaults, deadline 1 s",
                            .promise = "deadline, from the call",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    struct talk late;
    begin(0, 0);
    town_drop(&town, "");
    talk_ask(&late, &caller, "/lull.Demo/Echo", "1", LULL_SECOND);
    talk_end(&late, &caller, LULL_CODE_DEADLINE_EXCEEDED);
    row_took(&row, late.started_at, late.ended_at, late.stream.line);
    lull_call_cancel(talk.stream.call);
    talk_end(&talk, &caller, LULL_CODE_CANCELLED);
    end();
}
END_TEST

START_TEST(the_read_timeout_of_a_call_that_is_cut_off_is_kept)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a stream that the server sends on",
                            .settings = "the defaults, read timeout 1 s",
                            .promise = "read timeout, from the last message",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, "");
    caller_begin(&caller);
    caller.client.options.read_timeout_ns = LULL_SECOND;
    caller_open(&caller, TOWN_TARGET);
    talk_ask(&talk, &caller, "/lull.Demo/Ticks", "100000 50", LULL_NEVER);
    talk_hear(&talk, &caller, 10);
    town_drop(&town, "");
    const struct lull_instant cut_at = caller_now();
    client_drive_for(&caller.client, 500 * LULL_MS);
    const struct lull_instant from = caller.heard_at;
    talk_end(&talk, &caller, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert(lull_instant_before(from, lull_instant_add(cut_at, 400 * LULL_MS)));
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_READ_TIMEOUT);
    end();
}
END_TEST

START_TEST(closing_a_channel_that_is_cut_off_does_not_wait)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a quiet stream",
                            .settings = "the defaults",
                            .promise = "lull_channel_close does not wait"};
    begin(0, 0);
    town_drop(&town, "");
    const struct lull_instant from = caller_now();
    lull_channel_close(caller.client.channel);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    caller_close(&caller);
}
END_TEST

void quiet_cases(Suite *suite)
{
    net_section(suite, "A quiet connection");
    net_add(suite, a_cut_under_a_quiet_stream_is_found_by_the_systems_keepalive);
    net_add(suite, a_call_on_a_connection_that_died_in_its_sleep_ends_by_the_write_timeout);
    net_add(suite, a_cut_under_a_quiet_stream_is_found_by_keepalive);
    net_add(suite, a_cut_to_the_server_under_a_quiet_stream_is_found_by_keepalive);
    net_add(suite, a_cut_from_the_server_under_a_quiet_stream_is_found_by_keepalive);
    net_add(suite, a_cut_under_a_server_that_sends_is_found_by_keepalive);
    net_add(suite, a_cut_from_a_server_that_sends_is_found_by_keepalive);
    net_add(suite, a_call_on_a_connection_that_died_in_its_sleep_pings_first);
    net_add(suite, the_deadline_of_a_call_that_is_cut_off_is_kept);
    net_add(suite, the_read_timeout_of_a_call_that_is_cut_off_is_kept);
    net_add(suite, closing_a_channel_that_is_cut_off_does_not_wait);
}
