/* SPDX-License-Identifier: MIT */
/*
 * The same cuts over TLS: its layer hides none of them, adds no wait, and loses nothing when they heal.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(int64_t time_ns, int64_t timeout_ns)
{
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, town_tls_options());
    caller_begin(&caller);
    caller_keep_alive(&caller, time_ns, timeout_ns);
    caller.client.options.credentials = town_trust();
    caller_open(&caller, TOWN_TARGET);
    lull_credentials_unref(caller.client.options.credentials);
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

START_TEST(a_cut_under_a_quiet_stream_over_tls_is_found_by_keepalive)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a quiet stream over TLS",
                            .settings = "keepalive 1 s + 1 s",
                            .promise = "keepalive time + timeout, from the last byte read",
                            .least_ns = 2 * LULL_SECOND - 100 * LULL_MS,
                            .promise_ns = 2 * LULL_SECOND};
    begin(LULL_SECOND, LULL_SECOND);
    const struct lull_instant from = caller.heard_at;
    town_drop(&town, "");
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
    end();
}
END_TEST

START_TEST(a_cut_under_a_stream_we_send_on_over_tls_is_found_by_the_write_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a stream over TLS that we send on",
                            .settings = "keepalive 2 s + 1 s",
                            .promise = "write timeout = keepalive timeout, from the first write",
                            .least_ns = 950 * LULL_MS,
                            .promise_ns = LULL_SECOND};
    begin(2 * LULL_SECOND, LULL_SECOND);
    town_drop(&town, "");
    const struct lull_instant from = caller_now();
    talk_chat(&talk, &caller, 100 * LULL_MS, LULL_MINUTE);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
    caller_has(talk.stream.line, "timed out", "not acknowledged within 1 s", NULL);
    end();
}
END_TEST

START_TEST(messages_sent_over_tls_into_a_cut_that_heals_all_arrive)
{
    const struct row row = {.cut = "both ways, silent, for 1.9 s",
                            .under = "a stream over TLS that we send on",
                            .settings = "keepalive 2 s + 4 s",
                            .promise = "lives: shorter than half the write timeout"};
    char how[64];
    begin(2 * LULL_SECOND, 4 * LULL_SECOND);
    town_drop(&town, "");
    talk_chat(&talk, &caller, 50 * LULL_MS, 1900 * LULL_MS);
    town_heal(&town);
    talk_hear(&talk, &caller, talk.sent);
    ck_assert_int_eq(lull_call_half_close(talk.stream.call), LULL_OK);
    talk_end(&talk, &caller, LULL_CODE_OK);
    (void)snprintf(how, sizeof(how), "%u of %u messages", talk.stream.messages, talk.sent);
    caller_still_works(&caller);
    row_lived(&row, how);
    caller_close(&caller);
}
END_TEST

START_TEST(closing_a_tls_channel_that_is_cut_off_does_not_wait)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a quiet stream over TLS",
                            .settings = "the defaults",
                            .promise = "lull_channel_close does not wait"};
    begin(LULL_NEVER, LULL_SECOND);
    town_drop(&town, "");
    const struct lull_instant from = caller_now();
    lull_channel_close(caller.client.channel);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    caller_close(&caller);
}
END_TEST

void tls_cases(Suite *suite)
{
    if (getenv("NET_CERTS") == NULL) {
        return; /* this library has no TLS */
    }
    net_section(suite, "Over TLS");
    net_add(suite, a_cut_under_a_quiet_stream_over_tls_is_found_by_keepalive);
    net_add(suite, a_cut_under_a_stream_we_send_on_over_tls_is_found_by_the_write_timeout);
    net_add(suite, messages_sent_over_tls_into_a_cut_that_heals_all_arrive);
    net_add(suite, closing_a_tls_channel_that_is_cut_off_does_not_wait);
}
