/* SPDX-License-Identifier: MIT */
#include "tests/integ/drivers_server.h"

#include <check.h>
#include <stdio.h>

const char *const drivers_methods[] = {"/t.S/Echo", "/t.S/Count", "/t.S/Burst", "/t.S/Mute", "/t.S/HeadersOnly"};

static unsigned counted; /* messages of the newest call */

static void on_call(struct lull_server_call *call, const struct lull_server_request *request, void *ctx)
{
    (void)request;
    counted = 0;
    if (*(const enum behaviour *)ctx == HEADERS_ONLY) {
        ck_assert_int_eq(lull_server_call_respond_headers(call, NULL), LULL_OK);
    }
}

static void on_server_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    counted++;
    if (*(const enum behaviour *)ctx == ECHO) {
        ck_assert_int_eq(lull_server_call_send(call, message), LULL_OK);
    }
}

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    const enum behaviour what = *(const enum behaviour *)ctx;
    char text[16];
    if (what == MUTE || what == HEADERS_ONLY) {
        return;
    }
    for (int i = 0; what == BURST && i < 5; i++) {
        ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("burst", 5)), LULL_OK);
    }
    if (what == COUNT) {
        struct lull_slice reply;
        const int len = snprintf(text, sizeof(text), "%u", counted);
        ck_assert_int_eq(lull_slice_copy(NULL, text, (size_t)len, &reply), LULL_OK);
        ck_assert_int_eq(lull_server_call_send(call, reply), LULL_OK);
        lull_slice_unref(reply);
    }
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
}

struct lull_server *drivers_server_new(struct lull_loop *loop, const char *address)
{
    static enum behaviour behaviours[] = {ECHO, COUNT, BURST, MUTE, HEADERS_ONLY};
    struct lull_server_options server_options;
    struct lull_server_handler handler;
    struct lull_server *server;
    struct lull_error error;
    lull_server_options_init(&server_options);
    server_options.loop = loop;
    server_options.allow_short_timers = true;
    server_options.max_ping_strikes = 0; /* the police is not what this is about */
    ck_assert_int_eq(lull_server_new(&server_options, &server, NULL), LULL_OK);
    lull_server_handler_init(&handler);
    handler.on_call = on_call;
    handler.on_message = on_server_message;
    handler.on_half_closed = on_half_closed;
    for (size_t i = 0; i < sizeof(drivers_methods) / sizeof(drivers_methods[0]); i++) {
        ck_assert_int_eq(lull_server_add(server, drivers_methods[i], &handler, &behaviours[i]), LULL_OK);
    }
    ck_assert_msg(lull_server_listen(server, address, &error) == LULL_OK, "%s", error.text);
    return server;
}
