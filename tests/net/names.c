/* SPDX-License-Identifier: MIT */
/*
 * Cuts while a name is asked for.
 */
#include <stdio.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

#define TARGET "dns://" TOWN_SERVER_ADDRESS ":53/svc.test:" TOWN_PORT

static struct town town;
static struct caller caller;
static struct talk talk;

static void begin(void)
{
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, "");
    (void)town_start(
        &town, TOWN_SERVER,
        "PATH=$PATH:/usr/sbin exec dnsmasq --conf-file=/dev/null --keep-in-foreground --port=53"
        " --listen-address=" TOWN_SERVER_ADDRESS
        " --bind-interfaces --no-resolv --no-hosts --no-poll --pid-file= --user=root"
        " --log-facility=- --local=/test/ --host-record=svc.test," TOWN_SERVER_ADDRESS,
        ": started");
    caller_begin(&caller);
    caller_open(&caller, TARGET);
    town_drop(&town, "");
}

START_TEST(a_cut_under_a_question_is_found_by_the_resolvers_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "asking a name server",
                            .settings = "the defaults",
                            .promise = "resolver timeout 10 s, from the question",
                            .least_ns = 10 * LULL_SECOND,
                            .promise_ns = 10 * LULL_SECOND};
    begin();
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_has(talk.stream.line, "svc.test", TOWN_SERVER_ADDRESS, NULL);
    town_heal(&town);
    lull_channel_reset_backoff(caller.client.channel);
    client_drive_for(&caller.client, 1500 * LULL_MS);
    caller_works(&caller);
    caller_close(&caller);
}
END_TEST

START_TEST(the_deadline_of_a_call_that_waits_for_a_name_is_kept)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "asking a name server, for a call with a deadline",
                            .settings = "the defaults, deadline 1 s",
                            .promise = "deadline, from the call",
                            .least_ns = LULL_SECOND,
                            .promise_ns = LULL_SECOND};
    begin();
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_SECOND);
    talk_end(&talk, &caller, LULL_CODE_DEADLINE_EXCEEDED);
    row_took(&row, talk.started_at, talk.ended_at, talk.stream.line);
    caller_has(talk.stream.line, "svc.test", NULL);
    caller_close(&caller);
}
END_TEST

START_TEST(a_question_that_was_lost_is_asked_again)
{
    const struct row row = {.cut = "both ways, silent, for 1 s",
                            .under = "asking a name server",
                            .settings = "the defaults",
                            .promise = "lives: the question is repeated after 2 s",
                            .least_ns = LULL_SECOND,
                            .promise_ns = 3 * LULL_SECOND};
    begin();
    talk_ask(&talk, &caller, "/lull.Demo/Echo", "1", LULL_NEVER);
    client_drive_for(&caller.client, LULL_SECOND);
    town_heal(&town);
    talk_end(&talk, &caller, LULL_CODE_OK);
    row_took(&row, talk.started_at, talk.ended_at, "OK");
    ck_assert_uint_eq(caller.failures, 0);
    caller_close(&caller);
}
END_TEST

void name_cases(Suite *suite)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    lull_channel_options_init(&options);
    if (lull_channel_new(TARGET, &options, &channel, NULL) != LULL_OK) {
        return; /* this library asks no name server */
    }
    lull_channel_unref(channel);
    net_section(suite, "While a name is asked for");
    net_add(suite, a_cut_under_a_question_is_found_by_the_resolvers_timeout);
    net_add(suite, the_deadline_of_a_call_that_waits_for_a_name_is_kept);
    net_add(suite, a_question_that_was_lost_is_asked_again);
}
