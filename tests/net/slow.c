/* SPDX-License-Identifier: MIT */
/*
 * Cables that are long: 300 ms each way, with jitter, with packets that overtake others, with some that are lost. Nothing is cut, so
 * nothing is closed; what has a limit keeps it.
 */
#include <stdio.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(const char *how)
{
    town_make_slow(&town, how);
    town_serve(&town, "");
    caller_begin(&caller);
}

struct pong {
    unsigned count;
    int64_t rtt_ns;
};

static void on_pong(void *ctx, int64_t rtt_ns, const char *why)
{
    struct pong *pong = ctx;
    ck_assert_msg(why == NULL, "%s", why);
    pong->count++;
    pong->rtt_ns = rtt_ns;
}

START_TEST(a_long_way_is_measured_and_no_reason_to_close)
{
    const struct row row = {.cut = "none: 300 ms each way",
                            .under = "a quiet stream, for 8 s, with PINGs",
                            .settings = "keepalive 1 s + 1 s",
                            .promise = "lives: an answer comes after 0.6 s",
                            .least_ns = 600 * LULL_MS,
                            .promise_ns = 600 * LULL_MS};
    struct pong pong = {0, 0};
    begin("--delay 300");
    caller_keep_alive(&caller, LULL_SECOND, LULL_SECOND);
    caller_open(&caller, TOWN_TARGET);
    talk_ask(&talk, &caller, "/lull.Demo/Slow", "8000", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_OK);
    ck_assert_uint_ge(client_stats(&caller.client).pings_acked, 3);
    ck_assert_int_eq(lull_channel_ping(caller.client.channel, on_pong, &pong, NULL), LULL_OK);
    client_drive_until(&caller.client, &pong.count, 1);
    caller_still_works(&caller);
    row_took(&row, lull_at(0), lull_at(pong.rtt_ns), "OK");
    caller_close(&caller);
}
END_TEST

/* 200 messages, a new one each 20 ms, all echoed in their order. */
static void chat_over(const char *how, const char *cut)
{
    const struct row row = {.cut = cut,
                            .under = "a stream that we send on",
                            .settings = "keepalive 1 s + 5 s",
                            .promise = "lives: all messages, in their order"};
    char measured[64];
    begin(how);
    caller_keep_alive(&caller, LULL_SECOND, 5 * LULL_SECOND);
    caller_open(&caller, TOWN_TARGET);
    talk_open(&talk, &caller);
    talk_chat(&talk, &caller, 20 * LULL_MS, 5 * LULL_SECOND);
    ck_assert_uint_ge(talk.sent, 50);
    talk_hear(&talk, &caller, talk.sent);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    ck_assert_uint_eq(talk.stream.messages, talk.sent);
    caller_still_works(&caller);
    (void)snprintf(measured, sizeof(measured), "%u of %u messages", talk.stream.messages,
                   talk.sent);
    row_lived(&row, measured);
    caller_close(&caller);
}

START_TEST(jitter_loses_nothing)
{
    chat_over("--delay 150 --jitter 150 --seed 1", "none: 150 to 300 ms each way");
}
END_TEST

START_TEST(packets_that_overtake_lose_nothing)
{
    chat_over("--delay 150 --jitter 150 --overtake 25 --seed 2",
              "none: 150 to 300 ms, every 4th packet overtakes");
}
END_TEST

START_TEST(lost_and_doubled_packets_lose_nothing)
{
    chat_over("--delay 30 --jitter 30 --overtake 10 --lose 5 --double 5 --seed 3",
              "none: 30 to 60 ms, 5 % lost, 5 % doubled");
}
END_TEST

START_TEST(a_deadline_shorter_than_the_way_is_kept)
{
    const struct row row = {.cut = "none: 300 ms each way",
                            .under = "a call with a deadline",
                            .settings = "the defaults, deadline 500 ms",
                            .promise = "deadline, from the call",
                            .least_ns = 500 * LULL_MS,
                            .promise_ns = 500 * LULL_MS};
    begin("--delay 300");
    caller_open(&caller, TOWN_TARGET);
    caller_connect(&caller);
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", 500 * LULL_MS);
    talk_end(&talk, &caller, LULL_CODE_DEADLINE_EXCEEDED);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_still_works(&caller);
    caller_close(&caller);
}
END_TEST

START_TEST(a_connect_timeout_shorter_than_the_way_is_kept)
{
    const struct row row = {.cut = "none: 300 ms each way",
                            .under = "connecting",
                            .settings = "connect timeout 500 ms",
                            .promise = "connect timeout, from the dial",
                            .least_ns = 500 * LULL_MS,
                            .promise_ns = 500 * LULL_MS};
    begin("--delay 300");
    caller.client.options.min_connect_timeout_ns = 500 * LULL_MS;
    caller.client.options.backoff_initial_ns = 100 * LULL_MS;
    caller_open(&caller, TOWN_TARGET);
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, caller.dialled_at, talk.ended_at, talk.stream.line);
    caller_close(&caller);
}
END_TEST

void slow_cases(Suite *suite)
{
    net_section(suite, "Long ways");
    net_add(suite, a_long_way_is_measured_and_no_reason_to_close);
    net_add(suite, jitter_loses_nothing);
    net_add(suite, packets_that_overtake_lose_nothing);
    net_add(suite, lost_and_doubled_packets_lose_nothing);
    net_add(suite, a_deadline_shorter_than_the_way_is_kept);
    net_add(suite, a_connect_timeout_shorter_than_the_way_is_kept);
}
