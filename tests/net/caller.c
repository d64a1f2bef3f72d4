/* SPDX-License-Identifier: MIT */
#include "tests/net/caller.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POUR_BYTES 16384

struct lull_instant caller_now(void)
{
    return lull_clock_now(lull_clock_system());
}

/* ---- the channel */

static void on_event(void *ctx, const struct lull_event *event)
{
    struct caller *caller = ctx;
    switch (event->kind) {
    case LULL_EVENT_DIAL:
        caller->dials++;
        caller->dialled_at = event->at;
        break;
    case LULL_EVENT_SETTINGS:
        caller->ready_at = event->at;
        break;
    case LULL_EVENT_DIAL_FAILED:
        caller->failures++;
        caller->failed_at = event->at;
        (void)snprintf(caller->failure, sizeof(caller->failure), "%s", event->detail);
        break;
    case LULL_EVENT_LOST:
        caller->losses++;
        caller->lost_at = event->at;
        (void)snprintf(caller->loss, sizeof(caller->loss), "%s", event->detail);
        break;
    case LULL_EVENT_CALL_SENT:
        caller->sent_at = event->at;
        break;
    case LULL_EVENT_CALL_HEADERS:
    case LULL_EVENT_CALL_MESSAGE:
        caller->heard_at = event->at;
        break;
    default:
        break;
    }
}

void caller_begin(struct caller *caller)
{
    memset(caller, 0, sizeof(*caller));
    client_begin(&caller->client, NULL);
    caller->client.options.trace.event = on_event;
    caller->client.options.trace.ctx = caller;
    caller->client.options.allow_short_timers = true;
}

void caller_keep_alive(struct caller *caller, int64_t time_ns, int64_t timeout_ns)
{
    if (time_ns != 0) {
        caller->client.options.keepalive_time_ns = time_ns;
        caller->client.options.keepalive_timeout_ns = timeout_ns;
    }
}

void caller_open(struct caller *caller, const char *target)
{
    ck_assert_int_eq(setenv("NET_TARGET", target, 1), 0);
    client_open(&caller->client, "NET_TARGET");
}

void caller_close(struct caller *caller)
{
    client_close(&caller->client);
}

void caller_connect(struct caller *caller)
{
    const struct lull_instant end_at = lull_instant_add(caller_now(), 30 * LULL_SECOND);
    while (lull_channel_state(caller->client.channel, true) != LULL_STATE_READY) {
        ck_assert_int_eq(lull_loop_run_once(caller->client.loop, 100 * LULL_MS), LULL_OK);
        ck_assert_msg(lull_instant_before(caller_now(), end_at), "not READY: %s", caller->failure);
    }
}

/* ---- calls */

static void start(struct talk *talk, struct caller *caller, const char *method, int64_t timeout_ns)
{
    talk->stream.ctx = talk;
    talk->started_at = caller_now();
    stream_start(&talk->stream, &caller->client, method, timeout_ns);
}

static void send_text(struct talk *talk, const char *text)
{
    struct lull_slice slice;
    ck_assert_int_eq(lull_slice_copy(NULL, text, strlen(text), &slice), LULL_OK);
    ck_assert_int_eq(lull_call_send(talk->stream.call, slice), LULL_OK);
    lull_slice_unref(slice);
}

void talk_ask(struct talk *talk, struct caller *caller, const char *method, const char *message,
              int64_t timeout_ns)
{
    memset(talk, 0, sizeof(*talk));
    start(talk, caller, method, timeout_ns);
    send_text(talk, message);
    ck_assert_int_eq(lull_call_half_close(talk->stream.call), LULL_OK);
}

static void on_echo(struct stream *stream, struct lull_slice message)
{
    struct talk *talk = stream->ctx;
    char expected[16];
    (void)snprintf(expected, sizeof(expected), "%u", stream->messages);
    talk->wrong +=
        message.len != strlen(expected) || memcmp(message.data, expected, message.len) != 0;
}

void talk_open(struct talk *talk, struct caller *caller)
{
    memset(talk, 0, sizeof(*talk));
    talk->stream.on_message = on_echo;
    start(talk, caller, "/lull.Demo/Echo", LULL_NEVER);
}

void talk_say(struct talk *talk)
{
    char number[16];
    (void)snprintf(number, sizeof(number), "%u", ++talk->sent);
    send_text(talk, number);
}

void talk_chat(struct talk *talk, struct caller *caller, int64_t period_ns, int64_t for_ns)
{
    const struct lull_instant end_at = lull_instant_add(caller_now(), for_ns);
    while (talk->stream.closed == 0 && lull_instant_before(caller_now(), end_at)) {
        const struct lull_instant next_at = lull_instant_add(caller_now(), period_ns);
        talk_say(talk);
        while (talk->stream.closed == 0 && lull_instant_before(caller_now(), next_at)) {
            const int64_t left_ns = lull_instant_diff(next_at, caller_now());
            ck_assert_int_eq(lull_loop_run_once(caller->client.loop, left_ns > 0 ? left_ns : 0),
                             LULL_OK);
        }
    }
}

static void pour(struct stream *stream)
{
    struct talk *talk = stream->ctx;
    int rc = LULL_OK;
    while (talk->is_pouring && (rc = lull_call_send(stream->call, talk->chunk)) == LULL_OK) {
        talk->sent++;
    }
    talk->is_full = talk->is_pouring;
    ck_assert(rc == LULL_OK || rc == LULL_RC_AGAIN || rc == LULL_RC_CLOSED);
}

void talk_pour(struct talk *talk, struct caller *caller)
{
    static uint8_t bytes[POUR_BYTES];
    memset(talk, 0, sizeof(*talk));
    talk->chunk = lull_slice_static(bytes, sizeof(bytes));
    talk->is_pouring = true;
    talk->stream.on_writable = pour;
    start(talk, caller, "/lull.Demo/Count", LULL_NEVER);
    pour(&talk->stream);
}

void talk_hear(struct talk *talk, struct caller *caller, unsigned messages)
{
    const struct lull_instant end_at = lull_instant_add(caller_now(), 30 * LULL_SECOND);
    while (talk->stream.messages < messages) {
        ck_assert_int_eq(lull_loop_run_once(caller->client.loop, 100 * LULL_MS), LULL_OK);
        ck_assert_msg(talk->stream.closed == 0 || talk->stream.messages >= messages,
                      "%u of %u messages, then %s", talk->stream.messages, messages,
                      talk->stream.line);
        ck_assert_msg(lull_instant_before(caller_now(), end_at), "%u of %u messages",
                      talk->stream.messages, messages);
    }
    ck_assert_uint_eq(talk->wrong, 0);
}

void talk_end(struct talk *talk, struct caller *caller, enum lull_code code)
{
    const struct lull_instant end_at = lull_instant_add(caller_now(), 3 * LULL_MINUTE);
    while (talk->stream.closed == 0 && lull_instant_before(caller_now(), end_at)) {
        ck_assert_int_eq(lull_loop_run_once(caller->client.loop, LULL_SECOND), LULL_OK);
    }
    talk->ended_at = caller_now();
    ck_assert_uint_eq(talk->stream.closed, 1);
    lull_call_unref(talk->stream.call);
    talk->stream.call = NULL;
    ck_assert_msg(talk->stream.code == code, "%s, expected %s: %s",
                  lull_code_name((int)talk->stream.code), lull_code_name((int)code),
                  talk->stream.line);
}

void caller_works(struct caller *caller)
{
    struct talk talk;
    talk_ask(&talk, caller, "/lull.Demo/Echo", "1", 30 * LULL_SECOND);
    talk_end(&talk, caller, LULL_CODE_OK);
    ck_assert_uint_eq(talk.stream.messages, 1);
}

void caller_still_works(struct caller *caller)
{
    const unsigned dials = caller->dials;
    caller_works(caller);
    ck_assert_uint_eq(caller->dials, dials);
    ck_assert_uint_eq(caller->losses, 0);
}

/* ---- rows */

void caller_has(const char *text, ...)
{
    va_list words;
    const char *word;
    va_start(words, text);
    while ((word = va_arg(words, const char *)) != NULL) {
        if (strstr(text, word) == NULL) {
            ck_abort_msg("no '%s' in '%s'", word, text);
        }
    }
    va_end(words);
}

static void print_row(const struct row *row, const char *measured, const char *told)
{
    (void)printf("row | %s | %s | %s | %s | %s | %s |\n", row->cut, row->under, row->settings,
                 row->promise, measured, told);
    (void)fflush(stdout);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)LULL_SECOND;
}

void row_took(const struct row *row, struct lull_instant from, struct lull_instant to,
              const char *told)
{
    char measured[64];
    const int64_t took_ns = lull_instant_diff(to, from);
    (void)snprintf(measured, sizeof(measured), "%.2f s", seconds(took_ns));
    print_row(row, measured, told);
    ck_assert_msg(took_ns >= row->least_ns, "%.3f s: before %.3f s", seconds(took_ns),
                  seconds(row->least_ns));
    const int64_t slack_ns = row->slack_ns != 0 ? row->slack_ns : CALLER_SLACK_NS;
    ck_assert_msg(took_ns <= row->promise_ns + slack_ns, "%.3f s: later than %.3f + %.3f s",
                  seconds(took_ns), seconds(row->promise_ns), seconds(slack_ns));
}

void row_lived(const struct row *row, const char *how)
{
    print_row(row, how, "OK");
}
