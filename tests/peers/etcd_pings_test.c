/* SPDX-License-Identifier: MIT */
/*
 * Keepalive and etcd's ping police: the third PING that comes too soon, and that no answer of etcd's has forgiven, ends the connection
 * with GOAWAY ENHANCE_YOUR_CALM "too_many_pings" (gRFC A8, as grpc-go has it).
 *
 * Decides: what is asked of etcd and what has to come back. etcd_pings_test.sh starts two of them: STRICT_TARGET bears one PING a minute,
 * PLAIN_TARGET is as it comes. A program of somebody else: public headers and the shared library.
 */
#include <stdio.h>
#include <string.h>

#include "tests/peers/client.h"
#include "tests/support/check_main.h"
#include "tests/support/etcd_wire.h"

static struct client client;
static unsigned told;   /* warnings of the log about pings */
static char line[1300]; /* the last one */

static void on_line(void *ctx, const struct lull_log_line *of)
{
    (void)ctx;
    ck_assert_int_eq(of->level, LULL_LOG_WARNING);
    if (strstr(of->text, "too_many_pings: keepalive time") != NULL) {
        told++;
        (void)snprintf(line, sizeof(line), "%s", of->text);
    }
}

static void begin(void)
{
    client_begin(&client, NULL);
    client.options.log.line = on_line;
    client.options.log.level = LULL_LOG_WARNING;
    told = 0;
}

static void begin_pinging(int64_t time_ns, bool without_calls)
{
    begin();
    client.options.allow_short_timers = true;
    client.options.keepalive_time_ns = time_ns;
    client.options.keepalive_without_calls = without_calls;
}

/* One Range that works. */
static void call(void)
{
    struct etcd_message request;
    struct answer answer;
    int64_t revision;
    etcd_write_range(&request, "lull/pings");
    client_ask(&client, "/etcdserverpb.KV/Range", request.bytes, request.len, &answer);
    ck_assert_msg(answer.code == LULL_CODE_OK, "%s", (char *)answer.bytes);
    ck_assert(etcd_read_revision(answer.bytes, answer.len, &revision));
}

/* A Watch that sees nothing. */
static void watch(struct stream *stream)
{
    struct etcd_message request;
    struct lull_slice slice;
    memset(stream, 0, sizeof(*stream));
    stream_start(stream, &client, "/etcdserverpb.Watch/Watch", LULL_NEVER);
    etcd_write_watch_create(&request, "lull/pings");
    ck_assert_int_eq(lull_slice_copy(NULL, request.bytes, request.len, &slice), LULL_OK);
    ck_assert_int_eq(lull_call_send(stream->call, slice), LULL_OK);
    lull_slice_unref(slice);
    client_drive_until(&client, &stream->messages, 1);
}

static void end_watch(struct stream *stream)
{
    ck_assert_uint_eq(stream->closed, 0);
    lull_call_cancel(stream->call);
    stream_end(stream, &client, LULL_CODE_CANCELLED);
}

static void expect_in(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s' in '%s'", part, text);
}

/* ---- struck */

/* A quiet stream that is PINGed each time_ns dies of it, and the time doubles. */
static void is_struck(int64_t time_ns, const char *from, const char *to)
{
    struct stream stream;
    const unsigned before = told;
    ck_assert_int_eq(client_stats(&client).keepalive_time_ns, time_ns);
    watch(&stream);
    const uint64_t pings = client_stats(&client).pings_sent;
    stream_end(&stream, &client, LULL_CODE_UNAVAILABLE);
    expect_in(stream.line, "too_many_pings");
    expect_in(stream.line, "ENHANCE_YOUR_CALM");
    /* The first is free, two strikes are forgiven, the third is not. */
    ck_assert_uint_eq(client_stats(&client).pings_sent - pings, 4);
    ck_assert_uint_eq(told, before + 1);
    ck_assert_uint_eq(client.warnings, told); /* the same by event */
    expect_in(line, from);
    expect_in(line, to);
    ck_assert_int_eq(client_stats(&client).keepalive_time_ns, 2 * time_ns);
}

START_TEST(an_aggressive_keepalive_is_struck_told_so_doubles_and_lives)
{
    struct stream stream;
    begin_pinging(LULL_SECOND, false);
    client_open(&client, "STRICT_TARGET");
    call();
    is_struck(LULL_SECOND, "was 1 s", "is 2 s");
    call();
    is_struck(2 * LULL_SECOND, "was 2 s", "is 4 s");
    call();
    ck_assert_uint_eq(client.dials, 3);
    /* What it learned it keeps: one PING in 6 s, and the stream lives. */
    watch(&stream);
    const uint64_t pings = client_stats(&client).pings_sent;
    client_drive_for(&client, 6 * LULL_SECOND);
    ck_assert_uint_eq(client_stats(&client).pings_sent - pings, 1);
    end_watch(&stream);
    call();
    ck_assert_uint_eq(client.dials, 3);
    ck_assert_uint_eq(told, 2);
    client_close(&client);
}
END_TEST

START_TEST(a_keepalive_without_calls_is_struck_told_so_and_the_next_call_works)
{
    begin_pinging(LULL_SECOND, true);
    client_open(&client, "STRICT_TARGET");
    call();
    client_drive_until(&client, &told, 1);
    expect_in(line, "is 2 s");
    /* Nobody calls, so nobody dials, and the state says why. */
    client_drive_for(&client, 1500 * LULL_MS);
    const struct lull_channel_stats stats = client_stats(&client);
    ck_assert_int_eq(stats.state, LULL_STATE_IDLE);
    expect_in(stats.reason, "too_many_pings");
    ck_assert_int_eq(stats.keepalive_time_ns, 2 * LULL_SECOND);
    ck_assert_uint_eq(client.dials, 1);
    call();
    ck_assert_uint_eq(client.dials, 2);
    client_close(&client);
}
END_TEST

/* ---- never struck */

static void expect_never_struck(uint64_t pings)
{
    const struct lull_channel_stats stats = client_stats(&client);
    ck_assert_uint_eq(stats.pings_sent, pings);
    ck_assert_uint_eq(stats.connections_lost, 0);
    ck_assert_uint_eq(client.dials, 1);
    ck_assert_uint_eq(client.warnings + told, 0);
}

static const char *const targets[] = {"STRICT_TARGET", "PLAIN_TARGET"};

START_TEST(the_defaults_are_never_struck)
{
    struct stream stream;
    begin();
    client_open(&client, targets[_i]);
    watch(&stream);
    for (int i = 0; i < 1000; i++) {
        call();
    }
    client_drive_for(&client, 6 * LULL_SECOND);
    call();
    end_watch(&stream);
    call();
    expect_never_struck(0);
    ck_assert_int_eq(client_stats(&client).keepalive_time_ns, LULL_NEVER);
    client_close(&client);
}
END_TEST

static void on_pong(void *ctx, int64_t rtt_ns, const char *why)
{
    unsigned *pongs = ctx;
    ck_assert_msg(rtt_ns >= 0, "%s", why);
    (*pongs)++;
}

/* The application asks how far etcd is, beside its calls: each answer of etcd's forgives. */
START_TEST(pings_of_the_application_beside_calls_are_never_struck)
{
    unsigned pongs = 0;
    begin();
    client_open(&client, targets[_i]);
    call();
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(lull_channel_ping(client.channel, on_pong, &pongs, NULL), LULL_OK);
        client_drive_until(&client, &pongs, i + 1);
        call();
    }
    expect_never_struck(100);
    client_close(&client);
}
END_TEST

/* Keepalive as short as the floor lets it be, with calls that are never so far apart: no PING is due at all. */
START_TEST(keepalive_under_steady_calls_sends_nothing_to_strike)
{
    begin();
    client.options.keepalive_time_ns = LULL_SECOND; /* raised to 10 s */
    client_open(&client, targets[_i]);
    for (unsigned i = 0; i < 30; i++) {
        call();
        client_drive_for(&client, 100 * LULL_MS);
    }
    expect_never_struck(0);
    ck_assert_int_eq(client_stats(&client).keepalive_time_ns, 10 * LULL_SECOND);
    client_close(&client);
}
END_TEST

static Suite *etcd_pings_suite(void)
{
    Suite *suite = suite_create("etcd pings");
    TCase *t = tcase_create("pings");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, an_aggressive_keepalive_is_struck_told_so_doubles_and_lives);
    tcase_add_test(t, a_keepalive_without_calls_is_struck_told_so_and_the_next_call_works);
    tcase_add_loop_test(t, the_defaults_are_never_struck, 0, 2);
    tcase_add_loop_test(t, pings_of_the_application_beside_calls_are_never_struck, 0, 2);
    tcase_add_loop_test(t, keepalive_under_steady_calls_sends_nothing_to_strike, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}

LULL_TEST_MAIN("etcd_pings", etcd_pings_suite)
