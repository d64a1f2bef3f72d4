/* SPDX-License-Identifier: MIT */
/*
 * The methods of `lull serve`: see demo.h.
 *
 * Each call has a struct of its own, made in on_call, freed in on_closed. Without memory for it the call ends, and the rest of its callbacks find
 * NULL.
 */
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "text.h"

/* The longest number of ms or of ticks that a message may ask for. */
#define NUMBER_MAX INT64_C(1000000000)

struct call {
    struct tool_demo *demo;
    struct lull_server_call *call;
    struct lull_timer timer;   /* Slow, Ticks */
    struct lull_slice waiting; /* the message that found no room, or Slow's */
    bool has_waiting;
    uint64_t messages;
    uint64_t bytes;
    int64_t ticks;
    int64_t ticks_sent;
    int64_t period_ns;
};

static void finish(struct lull_server_call *call, enum lull_code code, const char *message)
{
    /* LULL_RC_CLOSED: on_closed is on its way; without memory the client's deadline, or its cancel, has to end it. */
    (void)lull_server_call_finish(call, code, message, NULL);
}

/* ---- a call's struct */

static void on_call(struct lull_server_call *handle, const struct lull_server_request *request,
                    void *ctx)
{
    struct call *call = (struct call *)calloc(1, sizeof(*call));
    (void)request;
    lull_server_call_set_ctx(handle, call);
    if (call == NULL) {
        finish(handle, LULL_CODE_RESOURCE_EXHAUSTED, "no memory");
        return;
    }
    call->demo = ctx;
    call->call = handle;
}

static void on_closed(struct lull_server_call *handle, enum lull_server_end end, const char *why,
                      void *ctx)
{
    struct call *call = ctx;
    (void)handle;
    (void)end;
    (void)why;
    if (call != NULL) {
        lull_timer_fini(&call->timer);
        if (call->has_waiting) {
            lull_slice_unref(call->waiting);
        }
        free(call);
    }
}

/* Reads "12" or "12 34". Returns how many numbers there were; 0 for anything else. */
static unsigned read_numbers(struct lull_slice message, int64_t *first, int64_t *second)
{
    char text[64];
    const char *at = text;
    if (message.len >= sizeof(text)) {
        return 0;
    }
    if (message.len > 0) {
        memcpy(text, message.data, message.len);
    }
    text[message.len] = '\0';
    if (!tool_options_number(&at, first) || *first > NUMBER_MAX) {
        return 0;
    }
    if (*at == '\0') {
        return 1;
    }
    while (*at == ' ') {
        at++;
    }
    return tool_options_number(&at, second) && *at == '\0' && *second <= NUMBER_MAX ? 2 : 0;
}

static void arm(struct call *call, int64_t after_ns)
{
    lull_timer_arm(&call->timer, lull_instant_add(lull_clock_now(call->demo->clock), after_ns));
}

/* False: the call is ending. */
static bool make_timer(struct call *call, lull_timer_fn expired)
{
    if (call->timer.executor != NULL) {
        finish(call->call, LULL_CODE_INVALID_ARGUMENT, "one message only");
        return false;
    }
    if (lull_timer_init(&call->timer, lull_loop_executor(call->demo->loop), expired) != LULL_OK) {
        finish(call->call, LULL_CODE_RESOURCE_EXHAUSTED, "no memory");
        return false;
    }
    return true;
}

static struct call *of_timer(struct lull_timer *timer)
{
    return (struct call *)(void *)((char *)timer - offsetof(struct call, timer));
}

/* ---- Echo, and any other method: each message comes back; the client's "x-" pairs as initial metadata */

static void echo_headers(struct lull_server_call *handle)
{
    struct lull_metadatum pairs[32];
    struct lull_metadata got = lull_server_call_metadata(handle);
    struct lull_metadata back = {pairs, 0};
    for (size_t i = 0; i < got.count && back.count < 32; i++) {
        if (got.items[i].key_len > 2 && memcmp(got.items[i].key, "x-", 2) == 0) {
            pairs[back.count++] = got.items[i];
        }
    }
    if (back.count > 0) {
        (void)lull_server_call_respond_headers(handle, &back);
    }
}

static void echo_on_call(struct lull_server_call *handle, const struct lull_server_request *request,
                         void *ctx)
{
    on_call(handle, request, ctx);
    echo_headers(handle);
}

/* Takes no more from the client while the last message has not found room. */
static void echo(struct call *call, struct lull_slice message)
{
    const int rc = lull_server_call_send(call->call, message);
    if (rc == LULL_RC_AGAIN) {
        call->waiting = lull_slice_ref(message);
        call->has_waiting = true;
        lull_server_call_pause(call->call);
    } else if (rc != LULL_OK && rc != LULL_RC_CLOSED) {
        finish(call->call, LULL_CODE_RESOURCE_EXHAUSTED, lull_rc_name(rc));
    }
}

static void echo_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    struct call *call = ctx;
    (void)handle;
    if (call != NULL) {
        echo(call, message);
    }
}

static void echo_on_writable(struct lull_server_call *handle, void *ctx)
{
    struct call *call = ctx;
    struct lull_slice message;
    if (call == NULL || !call->has_waiting) {
        return;
    }
    message = call->waiting;
    call->has_waiting = false;
    lull_server_call_resume(handle);
    echo(call, message);
    lull_slice_unref(message);
}

static void echo_on_half_closed(struct lull_server_call *handle, void *ctx)
{
    (void)ctx;
    finish(handle, LULL_CODE_OK, NULL);
}

/* ---- Slow: "MS", answered after so many ms */

static void slow_expired(struct lull_timer *timer, struct lull_instant now)
{
    struct call *call = of_timer(timer);
    (void)now;
    (void)lull_server_call_send(call->call, call->waiting);
    finish(call->call, LULL_CODE_OK, NULL);
}

static void slow_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    struct call *call = ctx;
    int64_t ms = 0;
    int64_t none = 0;
    if (call == NULL) {
        return;
    }
    if (read_numbers(message, &ms, &none) != 1) {
        finish(handle, LULL_CODE_INVALID_ARGUMENT, "the message is a number of milliseconds");
    } else if (make_timer(call, slow_expired)) {
        call->waiting = lull_slice_ref(message);
        call->has_waiting = true;
        arm(call, ms * LULL_MS);
    }
}

/* ---- Ticks: "N MS", N messages, one each MS ms */

static void tick(struct call *call)
{
    char text[40];
    struct lull_slice message;
    const int len = snprintf(text, sizeof(text), "tick %lld of %lld",
                             (long long)call->ticks_sent + 1, (long long)call->ticks);
    int rc = lull_slice_copy(NULL, text, (size_t)len, &message);
    if (rc == LULL_OK) {
        rc = lull_server_call_send(call->call, message);
        lull_slice_unref(message);
    }
    if (rc == LULL_RC_AGAIN) {
        return; /* on_writable follows */
    }
    if (rc == LULL_OK) {
        call->ticks_sent++;
    } else if (rc != LULL_RC_CLOSED) {
        finish(call->call, LULL_CODE_RESOURCE_EXHAUSTED, lull_rc_name(rc));
        return;
    }
    if (call->ticks_sent == call->ticks) {
        finish(call->call, LULL_CODE_OK, NULL);
    } else {
        arm(call, call->period_ns);
    }
}

static void ticks_expired(struct lull_timer *timer, struct lull_instant now)
{
    (void)now;
    tick(of_timer(timer));
}

static void ticks_on_writable(struct lull_server_call *handle, void *ctx)
{
    (void)handle;
    if (ctx != NULL) {
        tick(ctx);
    }
}

static void ticks_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    struct call *call = ctx;
    int64_t ms = 0;
    if (call == NULL) {
        return;
    }
    if (read_numbers(message, &call->ticks, &ms) != 2 || call->ticks == 0) {
        finish(handle, LULL_CODE_INVALID_ARGUMENT,
               "the message is a number of ticks and the milliseconds between two");
    } else if (make_timer(call, ticks_expired)) {
        call->period_ns = ms * LULL_MS;
        tick(call);
    }
}

/* ---- Count: takes messages, answers how many there were */

static void count_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    struct call *call = ctx;
    (void)handle;
    if (call != NULL) {
        call->messages++;
        call->bytes += message.len;
    }
}

static void count_on_half_closed(struct lull_server_call *handle, void *ctx)
{
    struct call *call = ctx;
    char text[80];
    struct lull_slice message;
    if (call == NULL) {
        return;
    }
    const int len = snprintf(text, sizeof(text), "%llu message%s, %llu byte%s",
                             (unsigned long long)call->messages, tool_text_plural(call->messages),
                             (unsigned long long)call->bytes, tool_text_plural(call->bytes));
    if (lull_slice_copy(NULL, text, (size_t)len, &message) == LULL_OK) {
        (void)lull_server_call_send(handle, message);
        lull_slice_unref(message);
    }
    finish(handle, LULL_CODE_OK, NULL);
}

/* ---- Status: "CODE TEXT", ends so */

static void status_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    char text[1024];
    const char *at = text;
    const size_t len = message.len < sizeof(text) - 1 ? message.len : sizeof(text) - 1;
    int64_t code = 0;
    (void)ctx;
    if (len > 0) {
        memcpy(text, message.data, len);
    }
    text[len] = '\0';
    if (!tool_options_number(&at, &code) || code > LULL_CODE_UNAUTHENTICATED ||
        (*at != '\0' && *at != ' ')) {
        finish(handle, LULL_CODE_INVALID_ARGUMENT,
               "the message is a status code, a blank and a text");
        return;
    }
    finish(handle, (enum lull_code)code, *at == ' ' ? at + 1 : at);
}

/* ---- Silent: "MS", answers, and then the whole server is silent for so long */

static void silence_expired(struct lull_timer *timer, struct lull_instant now)
{
    struct tool_demo *demo =
        (struct tool_demo *)(void *)((char *)timer - offsetof(struct tool_demo, silence));
    (void)now;
    lull_server_set_silent(demo->server, false);
}

static void silent_on_message(struct lull_server_call *handle, struct lull_slice message, void *ctx)
{
    struct call *call = ctx;
    int64_t ms = 0;
    int64_t none = 0;
    if (call == NULL) {
        return;
    }
    if (read_numbers(message, &ms, &none) != 1) {
        finish(handle, LULL_CODE_INVALID_ARGUMENT, "the message is a number of milliseconds");
        return;
    }
    call->period_ns = ms * LULL_MS;
    (void)lull_server_call_send(handle, message);
    finish(handle, LULL_CODE_OK, NULL);
}

/* The answer has left: now. */
static void silent_on_closed(struct lull_server_call *handle, enum lull_server_end end,
                             const char *why, void *ctx)
{
    const struct call *call = ctx;
    if (call != NULL && end == LULL_SERVER_END_FINISHED && call->period_ns > 0) {
        struct tool_demo *demo = call->demo;
        lull_server_set_silent(demo->server, true);
        lull_timer_arm(&demo->silence,
                       lull_instant_add(lull_clock_now(demo->clock), call->period_ns));
    }
    on_closed(handle, end, why, ctx);
}

/* ---- the table */

static int add(struct tool_demo *demo, const char *method, struct lull_server_handler handler)
{
    if (handler.on_call == NULL) {
        handler.on_call = on_call;
    }
    if (handler.on_closed == NULL) {
        handler.on_closed = on_closed;
    }
    return lull_server_add(demo->server, method, &handler, demo);
}

int tool_demo_init(struct tool_demo *demo, struct lull_server *server, struct lull_loop *loop,
                   bool with_echo)
{
    const size_t size = sizeof(struct lull_server_handler);
    const struct lull_server_handler echo_handler = {.size = size,
                                                     .on_call = echo_on_call,
                                                     .on_message = echo_on_message,
                                                     .on_half_closed = echo_on_half_closed,
                                                     .on_writable = echo_on_writable};
    const struct {
        const char *method;
        struct lull_server_handler handler;
    } methods[] = {
        {"/lull.Demo/Echo", echo_handler},
        {"/lull.Demo/Slow", {.size = size, .on_message = slow_on_message}},
        {"/lull.Demo/Ticks",
         {.size = size, .on_message = ticks_on_message, .on_writable = ticks_on_writable}},
        {"/lull.Demo/Count",
         {.size = size, .on_message = count_on_message, .on_half_closed = count_on_half_closed}},
        {"/lull.Demo/Status", {.size = size, .on_message = status_on_message}},
        {"/lull.Demo/Silent",
         {.size = size, .on_message = silent_on_message, .on_closed = silent_on_closed}},
    };
    demo->server = server;
    demo->loop = loop;
    demo->clock = lull_executor_clock(lull_loop_executor(loop));
    int rc = lull_timer_init(&demo->silence, lull_loop_executor(loop), silence_expired);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]) && rc == LULL_OK; i++) {
        rc = add(demo, methods[i].method, methods[i].handler);
    }
    return rc == LULL_OK && with_echo ? add(demo, "", echo_handler) : rc;
}

void tool_demo_fini(struct tool_demo *demo)
{
    struct lull_executor *executor = demo->loop == NULL ? NULL : lull_loop_executor(demo->loop);
    if (executor != NULL && lull_executor_enter(executor) == LULL_OK) {
        lull_timer_fini(&demo->silence);
        lull_executor_leave(executor);
    }
}
