/* SPDX-License-Identifier: MIT */
/*
 * See tls_support.h.
 */
#include "tests/integ/tls_support.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define METHOD "/pkg.Service/Method"

int64_t tls_now_s(void)
{
    return lull_clock_wall_ns(lull_clock_system()) / LULL_SECOND;
}

void tls_world_init(struct tls_world *world)
{
    memset(world, 0, sizeof(*world));
    world->backoff_ns = LULL_MS;
    ck_assert_int_eq(lull_loop_new(NULL, &world->loop), LULL_OK);
    world->ca = cert_ca("lull test CA", tls_now_s());
    world->leaf =
        cert_usual("leaf", "DNS:localhost,DNS:svc.test,IP:127.0.0.1", world->ca, tls_now_s());
}

void tls_world_fini(struct tls_world *world)
{
    lull_server_free(world->server);
    lull_loop_free(world->loop);
    cert_free(world->leaf);
    cert_free(world->ca);
}

struct lull_credentials *tls_credentials(const struct lull_credentials_options *options)
{
    struct lull_credentials *made;
    struct lull_error error;
    ck_assert_msg(lull_credentials_new(options, &made, &error) == LULL_OK, "%s", error.text);
    return made;
}

struct lull_credentials *tls_believing(const struct cert *ca)
{
    struct lull_credentials_options options;
    lull_credentials_options_init(&options);
    options.ca_pem = cert_pem(ca);
    return tls_credentials(&options);
}

struct lull_credentials *tls_showing(const struct cert *leaf)
{
    struct lull_credentials_options options;
    lull_credentials_options_init(&options);
    options.identity.chain_pem = cert_pem(leaf);
    options.identity.key_pem = cert_key_pem(leaf);
    return tls_credentials(&options);
}

struct lull_credentials_stats tls_stats(struct lull_credentials *credentials)
{
    struct lull_credentials_stats out = {.size = sizeof(out)};
    lull_credentials_stats(credentials, &out);
    return out;
}

/* ---- our server: what comes goes back */

static void on_call(struct lull_server_call *call, const struct lull_server_request *request, void *ctx)
{
    struct tls_world *world = ctx;
    (void)call;
    (void)snprintf(world->authority, sizeof(world->authority), "%s", request->authority);
}

static void on_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    ck_assert_int_eq(lull_server_call_send(call, message), LULL_OK);
}

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static void on_server_event(void *ctx, const struct lull_event *event)
{
    struct tls_world *world = ctx;
    if (event->kind == LULL_EVENT_LOST) {
        (void)snprintf(world->lost, sizeof(world->lost), "%s", event->detail);
    }
}

unsigned tls_serve(struct tls_world *world, struct lull_credentials *credentials)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_error error;
    lull_server_options_init(&options);
    options.loop = world->loop;
    options.credentials = credentials;
    options.trace.event = on_server_event;
    options.trace.ctx = world;
    ck_assert_msg(lull_server_new(&options, &world->server, &error) == LULL_OK, "%s", error.text);
    lull_credentials_unref(credentials);
    lull_server_handler_init(&handler);
    handler.on_call = on_call;
    handler.on_message = on_message;
    handler.on_half_closed = on_half_closed;
    ck_assert_int_eq(lull_server_add(world->server, "", &handler, world), LULL_OK);
    ck_assert_msg(lull_server_listen(world->server, "127.0.0.1:0", &error) == LULL_OK, "%s",
                  error.text);
    return (unsigned)atoi(strrchr(lull_server_address(world->server, 0), ':') + 1);
}

/* ---- channels and calls */

static void on_channel_event(void *ctx, const struct lull_event *event)
{
    struct tls_world *world = ctx;
    if (event->kind == LULL_EVENT_CONNECTED) {
        (void)snprintf(world->connected, sizeof(world->connected), "%s", event->detail);
    } else if (event->kind == LULL_EVENT_WARNING) {
        (void)snprintf(world->warning, sizeof(world->warning), "%s", event->detail);
    }
}

struct lull_channel *tls_channel(struct tls_world *world, const char *target, const char *authority,
                                 struct lull_credentials *credentials)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;
    struct lull_world seams;
    lull_world_init(&seams);
    seams.resolve = world->resolve;
    lull_channel_options_init(&options);
    options.world = &seams;
    options.loop = world->loop;
    options.authority = authority;
    options.credentials = credentials;
    options.allow_short_timers = true;
    options.backoff_initial_ns = world->backoff_ns;
    options.trace.event = on_channel_event;
    options.trace.ctx = world;
    ck_assert_msg(lull_channel_new(target, &options, &channel, &error) == LULL_OK, "%s",
                  error.text);
    lull_credentials_unref(credentials);
    return channel;
}

struct outcome {
    bool is_over;
    enum lull_code code;
    size_t len;
    char *line;
    struct tls_world *world;
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct outcome *outcome = ctx;
    (void)call;
    outcome->is_over = true;
    outcome->code = result->status.code;
    outcome->len = result->message.len;
    if (result->status.failure != NULL) {
        outcome->world->failure = *result->status.failure;
        (void)snprintf(outcome->world->message, TLS_TEXT, "%s", result->status.message);
    }
    if (outcome->line != NULL) {
        (void)snprintf(outcome->line, TLS_TEXT, "%s",
                       result->status.failure != NULL ? result->status.failure->line : "");
    }
}

enum lull_code tls_call(struct tls_world *world, struct lull_channel *channel, size_t len,
                        char *line)
{
    struct outcome outcome = {.line = line, .world = world};
    struct lull_call_options options;
    uint8_t *request = calloc(1, len + 1);
    ck_assert_ptr_nonnull(request);
    lull_call_options_init(&options, METHOD);
    options.timeout_ns = 60 * LULL_SECOND;
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static(request, len), on_done,
                                     &outcome, NULL, NULL),
                     LULL_OK);
    while (!outcome.is_over) {
        ck_assert_int_eq(lull_loop_run_once(world->loop, 100 * LULL_MS), LULL_OK);
    }
    if (outcome.code == LULL_CODE_OK) {
        ck_assert_uint_eq(outcome.len, len);
    }
    free(request);
    return outcome.code;
}
