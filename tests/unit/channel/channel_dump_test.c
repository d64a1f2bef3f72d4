/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_dump.c: the lines of a channel, in each of its states.
 */
#include <errno.h>
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

#define CALLS 40

static struct rig rig;
static struct rig_call calls[CALLS];
static char text[8192];

static void take(void *ctx, const char *line)
{
    ck_assert_ptr_eq(ctx, &rig);
    ck_assert_ptr_null(strchr(line, '\n'));
    ck_assert_uint_lt(strlen(text) + strlen(line) + 2, sizeof(text));
    strcat(text, line);
    strcat(text, "\n");
}

static const char *dump(void)
{
    text[0] = '\0';
    lull_channel_dump(rig.channel, take, &rig);
    return text;
}

static void begin(struct rig_step step)
{
    memset(calls, 0, sizeof(calls));
    rig_init(&rig);
    rig_step(&rig, step);
    rig.limit = 1;
    rig.on_request = rig_stay_silent;
    rig.options.idle_timeout_ns = 60 * LULL_SECOND;
    rig.options.keepalive_time_ns = 10 * LULL_SECOND;
    rig_open(&rig);
}

START_TEST(at_birth_it_is_idle_and_was_never_dialled)
{
    begin((struct rig_step){.what = RIG_ACCEPT});
    rig_advance(&rig, 3 * LULL_SECOND);
    ck_assert_str_eq(dump(), "channel 127.0.0.1:2379: IDLE for 3 s\n"
                             "idle: now, until the next call\n"
                             "attempts: idle, 0 dials, 0 connections made, 0 lost\n"
                             "address 127.0.0.1:2379: never dialled\n"
                             "calls: 0, 0 of them waiting\n");
    rig_fini(&rig);
}
END_TEST

START_TEST(a_dial_under_way_and_the_calls_that_wait_for_it)
{
    begin((struct rig_step){.what = RIG_HANG});
    rig_call_with(&rig, &calls[0], LULL_NEVER, true);
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_str_eq(dump(), "channel 127.0.0.1:2379: CONNECTING for 2 s: 127.0.0.1:2379\n"
                             "idle: not while calls run\n"
                             "attempts: dialling, 1 dial, 0 connections made, 0 lost\n"
                             "address 127.0.0.1:2379: dialled 2 s ago, under way\n"
                             "calls: 1, 1 of them waiting\n"
                             "call 1 /pkg.Service/Method: connecting, waiting for 2 s, wait_for_ready\n");
    rig_fini(&rig);
}
END_TEST

START_TEST(a_failure_and_when_the_next_attempt_is)
{
    begin((struct rig_step){.what = RIG_REFUSE, .sys_errno = ECONNREFUSED});
    rig_call_with(&rig, &calls[0], LULL_NEVER, true);
    rig_advance(&rig, LULL_MS);
    dump();
    ck_assert_msg(strstr(text, "TRANSIENT_FAILURE for ") != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "attempts: backoff, 1 dial, 0 connections made, 0 lost; next in "));
    ck_assert_ptr_nonnull(strstr(text, "; the last failure: connection refused\n"));
    ck_assert_ptr_nonnull(strstr(text, "call 1 /pkg.Service/Method: backoff, waiting for "));
    rig_fini(&rig);
}
END_TEST

START_TEST(connections_have_their_pings_and_a_goaway)
{
    begin((struct rig_step){.what = RIG_ACCEPT});
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_call_with(&rig, &calls[1], LULL_NEVER, false);
    rig_advance(&rig, 11 * LULL_SECOND);
    dump();
    ck_assert_ptr_nonnull(strstr(text, "channel 127.0.0.1:2379: READY for 11 s: 127.0.0.1:2379\n"));
    ck_assert_ptr_nonnull(strstr(text, "connection 127.0.0.1:2379: takes calls, 1 stream, "));
    ck_assert_ptr_nonnull(strstr(text, ", keepalive after 10 s, 1 ping sent, 0 answered\n"));
    ck_assert_ptr_nonnull(strstr(text, "calls: 2, 1 of them waiting\ncall 2 /pkg.Service/Method: queued, waiting for 11 s\n"));
    struct peer *peer = rig_peer(&rig, 0);
    const struct peer_frame *ping = peer_find(peer, FRAME_PING, 0);
    ck_assert_ptr_nonnull(ping);
    peer_frame(peer, FRAME_PING, FLAG_ACK, 0, ping->head, 8);
    peer_goaway(peer, 1, 0, "go\naway");
    rig_settle(&rig);
    dump();
    ck_assert_ptr_nonnull(strstr(text, "takes no more calls, 1 stream, "));
    ck_assert_msg(strstr(text, "1 ping sent, 1 answered, the last in 1 s, GOAWAY(NO_ERROR, \"go\\x0aaway\")\n") != NULL, "%s", text);
    rig_fini(&rig);
}
END_TEST

START_TEST(of_many_calls_the_first_are_shown)
{
    begin((struct rig_step){.what = RIG_HANG});
    for (size_t i = 0; i < CALLS; i++) {
        rig_call_with(&rig, &calls[i], LULL_NEVER, true);
    }
    rig_settle(&rig);
    dump();
    ck_assert_ptr_nonnull(strstr(text, "calls: 40, 40 of them waiting\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ncall 32 "));
    ck_assert_ptr_null(strstr(text, "\ncall 33 "));
    ck_assert_ptr_nonnull(strstr(text, "\ncall: and more that wait\n"));
    rig_fini(&rig);
}
END_TEST

START_TEST(a_closed_channel_has_no_connections)
{
    begin((struct rig_step){.what = RIG_ACCEPT});
    rig_call_with(&rig, &calls[0], LULL_NEVER, false);
    rig_settle(&rig);
    lull_channel_close(rig.channel);
    rig_settle(&rig);
    dump();
    ck_assert_ptr_nonnull(strstr(text, "SHUTDOWN for 0 ns: channel closed\n"));
    ck_assert_ptr_null(strstr(text, "\nconnection "));
    rig_fini(&rig);
}
END_TEST

static Suite *channel_dump_suite(void)
{
    Suite *suite = suite_create("channel_dump");
    TCase *tcase = tcase_create("channel_dump");
    tcase_add_test(tcase, at_birth_it_is_idle_and_was_never_dialled);
    tcase_add_test(tcase, a_dial_under_way_and_the_calls_that_wait_for_it);
    tcase_add_test(tcase, a_failure_and_when_the_next_attempt_is);
    tcase_add_test(tcase, connections_have_their_pings_and_a_goaway);
    tcase_add_test(tcase, of_many_calls_the_first_are_shown);
    tcase_add_test(tcase, a_closed_channel_has_no_connections);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_dump", channel_dump_suite)
