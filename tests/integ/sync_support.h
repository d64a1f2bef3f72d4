/* SPDX-License-Identifier: MIT */
/*
 * A server on a thread and a loop of its own, for clients that block. It echoes each message and ends behind the client's half-close,
 * but for METHOD_SILENT, which it never answers, METHOD_SINK, which sends nothing back, METHOD_STUCK, which takes one message and no
 * more, and METHOD_EARLY, which answers the first message with EARLY_MESSAGES and ABORTED.
 */
#ifndef TESTS_INTEG_SYNC_SUPPORT_H
#define TESTS_INTEG_SYNC_SUPPORT_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <lull/lull.h>

#include "tests/support/check_main.h"

#define METHOD_ECHO   "/pkg.Service/Echo"
#define METHOD_SILENT "/pkg.Service/Silent"
#define METHOD_SINK   "/pkg.Service/Sink"
#define METHOD_STUCK  "/pkg.Service/Stuck"
#define METHOD_EARLY  "/pkg.Service/Early"

#define EARLY_MESSAGES 20

struct sync_server {
    struct lull_loop *loop;
    struct lull_server *server;
    pthread_t thread;
};

static void echo_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, message);
}

static void echo_end(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static void silent_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)message;
    (void)ctx;
}

static void silent_end(struct lull_server_call *call, void *ctx)
{
    (void)call;
    (void)ctx;
}

static void stuck_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)message;
    (void)ctx;
    lull_server_call_pause(call);
}

static void early_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    stuck_message(call, message, ctx);
    for (int i = 0; i < EARLY_MESSAGES; i++) {
        ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("early", 5)), LULL_OK);
    }
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_ABORTED, "enough", NULL), LULL_OK);
}

static void sync_server_add(struct sync_server *served, const char *method,
                            void (*on_message)(struct lull_server_call *, struct lull_slice, void *),
                            void (*on_half_closed)(struct lull_server_call *, void *))
{
    struct lull_server_handler handler;
    lull_server_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_half_closed = on_half_closed;
    ck_assert_int_eq(lull_server_add(served->server, method, &handler, NULL), LULL_OK);
}

static void *serve(void *arg)
{
    struct sync_server *served = arg;
    ck_assert_int_eq(lull_loop_run(served->loop), LULL_OK);
    return NULL;
}

static void sync_server_start(struct sync_server *served)
{
    struct lull_server_options options;
    struct lull_error error;
    ck_assert_int_eq(lull_loop_new(NULL, &served->loop), LULL_OK);
    lull_server_options_init(&options);
    options.loop = served->loop;
    ck_assert_int_eq(lull_server_new(&options, &served->server, &error), LULL_OK);
    sync_server_add(served, METHOD_ECHO, echo_message, echo_end);
    sync_server_add(served, METHOD_SILENT, silent_message, silent_end);
    sync_server_add(served, METHOD_SINK, silent_message, echo_end);
    sync_server_add(served, METHOD_STUCK, stuck_message, silent_end);
    sync_server_add(served, METHOD_EARLY, early_message, silent_end);
    ck_assert_msg(lull_server_listen(served->server, "127.0.0.1:0", &error) == LULL_OK, "%s",
                  error.text);
    ck_assert_int_eq(pthread_create(&served->thread, NULL, serve, served), 0);
}

static void sync_server_stop(struct sync_server *served)
{
    lull_loop_stop(served->loop);
    ck_assert_int_eq(pthread_join(served->thread, NULL), 0);
    lull_server_free(served->server);
    lull_loop_free(served->loop);
}

/* A channel to it; `loop` NULL: with one of its own. */
static inline struct lull_channel *sync_channel(const struct sync_server *served, struct lull_loop *loop)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;
    lull_channel_options_init(&options);
    options.loop = loop;
    ck_assert_msg(lull_channel_new(lull_server_address(served->server, 0), &options, &channel,
                                   &error) == LULL_OK,
                  "%s", error.text);
    return channel;
}

/* One blocking call and its code. */
static enum lull_code sync_call(struct lull_channel *channel, const char *method,
                                int64_t timeout_ns)
{
    struct lull_call_options options;
    struct lull_sync_result result;
    struct lull_error error;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    lull_sync_result_init(&result);
    int rc = lull_sync_unary(channel, &options, lull_slice_static("ping", 4), &result, &error);
    if (rc == LULL_RC_CLOSED) {
        return LULL_CODE_UNAVAILABLE;
    }
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
    enum lull_code code = result.status.code;
    if (code == LULL_CODE_OK) {
        ck_assert_uint_eq(result.message.len, 4);
        ck_assert_mem_eq(result.message.data, "ping", 4);
    } else {
        ck_assert_ptr_nonnull(result.status.failure);
        ck_assert_uint_gt(strlen(result.status.failure->line), 0);
    }
    lull_sync_result_fini(&result);
    return code;
}

#endif
