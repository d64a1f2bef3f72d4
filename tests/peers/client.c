/* SPDX-License-Identifier: MIT */
#include "tests/peers/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_event(void *ctx, const struct lull_event *event)
{
    struct client *client = ctx;
    client->dials += event->kind == LULL_EVENT_DIAL;
    if (event->kind == LULL_EVENT_WARNING) {
        client->warnings++;
        (void)snprintf(client->warning, sizeof(client->warning), "%s", event->detail);
    }
}

void client_begin(struct client *client, const struct client *beside)
{
    memset(client, 0, sizeof(*client));
    client->owns_loop = beside == NULL;
    if (client->owns_loop) {
        ck_assert_int_eq(lull_loop_new(NULL, &client->loop), LULL_OK);
    } else {
        client->loop = beside->loop;
    }
    lull_channel_options_init(&client->options);
    client->options.loop = client->loop;
    client->options.trace.event = on_event;
    client->options.trace.ctx = client;
}

void client_open(struct client *client, const char *variable)
{
    struct lull_error error;
    const char *target = getenv(variable);
    ck_assert_msg(target != NULL, "%s is not set: the script beside this program starts it",
                  variable);
    int rc = lull_channel_new(target, &client->options, &client->channel, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

void client_close(struct client *client)
{
    lull_channel_close(client->channel);
    lull_channel_unref(client->channel);
    if (client->owns_loop) {
        lull_loop_free(client->loop);
    }
}

struct lull_channel_stats client_stats(const struct client *client)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(client->channel, &stats);
    return stats;
}

static struct lull_instant now(void)
{
    return lull_clock_now(lull_clock_system());
}

void client_drive_until(const struct client *client, const unsigned *count, unsigned goal)
{
    struct lull_instant end_at = lull_instant_add(now(), CLIENT_LIMIT_NS);
    while (*count < goal) {
        ck_assert_int_eq(lull_loop_run_once(client->loop, LULL_SECOND), LULL_OK);
        ck_assert_msg(lull_instant_before(now(), end_at), "%u of %u after a minute", *count, goal);
    }
}

void client_drive_for(const struct client *client, int64_t ns)
{
    struct lull_instant end_at = lull_instant_add(now(), ns);
    for (int64_t left_ns = ns; left_ns > 0; left_ns = lull_instant_diff(end_at, now())) {
        ck_assert_int_eq(lull_loop_run_once(client->loop, left_ns), LULL_OK);
    }
}

static void on_answer(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct answer *answer = ctx;
    (void)call;
    answer->count++;
    answer->code = result->status.code;
    const void *bytes = result->message.data;
    answer->len = result->message.len;
    if (result->status.failure != NULL) {
        bytes = result->status.failure->line;
        answer->len = strlen(result->status.failure->line);
    }
    if (answer->len > sizeof(answer->bytes) - 1) {
        answer->len = sizeof(answer->bytes) - 1;
    }
    if (answer->len > 0) {
        memcpy(answer->bytes, bytes, answer->len);
    }
    answer->bytes[answer->len] = '\0';
}

void client_ask(const struct client *client, const char *method, const void *bytes, size_t len,
                struct answer *answer)
{
    struct lull_call_options options;
    struct lull_error error;
    memset(answer, 0, sizeof(*answer));
    lull_call_options_init(&options, method);
    options.timeout_ns = CLIENT_LIMIT_NS;
    int rc = lull_call_unary(client->channel, &options, lull_slice_static(bytes, len), on_answer,
                             answer, NULL, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
    client_drive_until(client, &answer->count, 1);
}

/* ---- a stream */

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    struct stream *stream = ctx;
    (void)call;
    (void)headers;
    ck_assert_uint_eq(stream->messages + stream->closed, 0);
    stream->headers++;
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct stream *stream = ctx;
    (void)call;
    ck_assert_uint_eq(stream->closed, 0);
    stream->messages++;
    if (stream->on_message != NULL) {
        stream->on_message(stream, message);
    }
}

static void on_writable(struct lull_call *call, void *ctx)
{
    struct stream *stream = ctx;
    (void)call;
    ck_assert_uint_eq(stream->closed, 0);
    if (stream->on_writable != NULL) {
        stream->on_writable(stream);
    }
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct stream *stream = ctx;
    size_t len = 0;
    (void)call;
    stream->closed++;
    stream->code = status->code;
    (void)snprintf(stream->text, sizeof(stream->text), "%.*s", (int)status->message_len,
                   status->message == NULL ? "" : status->message);
    if (status->failure != NULL) {
        stream->reason = status->failure->reason;
        (void)snprintf(stream->line, sizeof(stream->line), "%s", status->failure->line);
    }
    for (size_t i = 0; i < trailers->count && len < sizeof(stream->trailers); i++) {
        const struct lull_metadatum *item = &trailers->items[i];
        if (item->key_len > 2 && memcmp(item->key, "x-", 2) == 0) {
            len += (size_t)snprintf(stream->trailers + len, sizeof(stream->trailers) - len,
                                    "%.*s=%.*s ", (int)item->key_len, item->key,
                                    (int)item->value_len, (const char *)item->value);
        }
    }
}

void stream_start(struct stream *stream, const struct client *client, const char *method,
                  int64_t timeout_ns)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;
    struct stream fresh = {
        .on_message = stream->on_message, .on_writable = stream->on_writable, .ctx = stream->ctx};
    *stream = fresh;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    int rc = lull_call_start(client->channel, &options, &handler, stream, &stream->call, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

void stream_end(struct stream *stream, const struct client *client, enum lull_code code)
{
    client_drive_until(client, &stream->closed, 1);
    lull_call_unref(stream->call);
    stream->call = NULL;
    ck_assert_uint_eq(stream->closed, 1);
    ck_assert_msg(stream->code == code, "%s, expected %s: %s", lull_code_name((int)stream->code),
                  lull_code_name((int)code), stream->line);
}
