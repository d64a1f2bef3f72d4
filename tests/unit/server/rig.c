/* SPDX-License-Identifier: MIT */
#include "tests/unit/server/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the application */

/* True when the server was freed in this callback: nothing of it may be named any more. */
static bool count_callback(struct rig *rig)
{
    if (++rig->callbacks != rig->frees_in) {
        return false;
    }
    lull_server_free(rig->server);
    rig->server = NULL;
    return true;
}

static struct app_call *record_of(struct rig *rig, const struct lull_server_call *call)
{
    uint64_t id = lull_server_call_id(call);
    ck_assert_uint_ge(id, 1);
    ck_assert_uint_le(id, RIG_CALLS_MAX);
    return &rig->calls[id - 1];
}

/* A client that broke its connection has its on_closed on the way. */
static void expect_taken(int rc)
{
    ck_assert_msg(rc == LULL_OK || rc == LULL_RC_CLOSED, "%s", lull_rc_name(rc));
}

static void on_call(struct lull_server_call *call, const struct lull_server_request *request,
                    void *ctx)
{
    struct rig *rig = ctx;
    struct app_call *app = record_of(rig, call);
    ck_assert_uint_eq(app->begun, 0);
    ck_assert_uint_eq(request->size, sizeof(*request));
    app->begun++;
    rig->begun++;
    app->call = call;
    app->begun_at_ns = rig_now(rig);
    app->left_ns = request->left_ns;
    app->metadata = request->metadata.count;
    snprintf(app->method, sizeof(app->method), "%s", request->method);
    snprintf(app->authority, sizeof(app->authority), "%s", request->authority);
    ck_assert_str_eq(lull_server_call_method(call), request->method);
    if (rig->pauses) {
        lull_server_call_pause(call);
    }
    if (rig->way == APP_FAILS) {
        ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_INVALID_ARGUMENT, "no", NULL),
                         LULL_OK);
    }
    (void)count_callback(rig);
}

static void on_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    struct rig *rig = ctx;
    struct app_call *app = record_of(rig, call);
    ck_assert_uint_eq(app->begun, 1);
    ck_assert_uint_eq(app->half_closed, 0);
    ck_assert_uint_eq(app->closed, 0);
    app->messages++;
    app->bytes += message.len;
    snprintf(app->last, sizeof(app->last), "%.*s", (int)(message.len < 60 ? message.len : 60),
             message.len == 0 ? "" : (const char *)message.data);
    if (count_callback(rig)) {
        return;
    }
    if (rig->way == APP_ECHOES) {
        expect_taken(lull_server_call_send(call, message));
    }
}

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    struct rig *rig = ctx;
    struct app_call *app = record_of(rig, call);
    ck_assert_uint_eq(app->closed, 0);
    app->half_closed++;
    ck_assert_uint_eq(app->half_closed, 1);
    if (count_callback(rig)) {
        return;
    }
    if (rig->way == APP_ECHOES) {
        expect_taken(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL));
    }
}

static void on_writable(struct lull_server_call *call, void *ctx)
{
    struct rig *rig = ctx;
    struct app_call *app = record_of(rig, call);
    ck_assert_uint_eq(app->closed, 0);
    app->writable++;
    (void)count_callback(rig);
}

static void on_closed(struct lull_server_call *call, enum lull_server_end end, const char *why,
                      void *ctx)
{
    struct rig *rig = ctx;
    struct app_call *app = record_of(rig, call);
    ck_assert_uint_eq(app->begun, 1);
    app->closed++;
    ck_assert_uint_eq(app->closed, 1);
    rig->closed++;
    app->end = end;
    app->closed_at_ns = rig_now(rig);
    app->call = NULL;
    snprintf(app->why, sizeof(app->why), "%s", why);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("x", 1)), LULL_RC_CLOSED);
    (void)count_callback(rig);
}

/* ---- the world */

void rig_init(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    ck_assert_int_eq(sim_init(&rig->sim, 7), LULL_OK);
    rig->calls = calloc(RIG_CALLS_MAX, sizeof(*rig->calls));
    ck_assert_ptr_nonnull(rig->calls);
    sim_server_world_init(&rig->world, &rig->sim);
    sim_server_options(&rig->world, &rig->options);
    sim_channel_options(&rig->sim, &rig->channel_options);
}

void rig_open(struct rig *rig)
{
    struct lull_server_handler handler;
    struct lull_error error;
    lull_server_handler_init(&handler);
    handler.on_call = on_call;
    handler.on_message = on_message;
    handler.on_half_closed = on_half_closed;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    ck_assert_msg(lull_server_new(&rig->options, &rig->server, &error) == LULL_OK, "%s",
                  error.text);
    ck_assert_int_eq(lull_server_add(rig->server, RIG_METHOD, &handler, rig), LULL_OK);
    rig->host = sim_host_server(&rig->sim, RIG_TARGET, rig->server);
    ck_assert_ptr_nonnull(rig->host);
    ck_assert_msg(lull_channel_new(RIG_TARGET, &rig->channel_options, &rig->channel, &error) ==
                      LULL_OK,
                  "%s", error.text);
}

void rig_start(struct rig *rig, enum app_way way)
{
    rig_init(rig);
    rig->way = way;
    rig_open(rig);
}

void rig_fini(struct rig *rig)
{
    lull_channel_unref(rig->channel);
    lull_server_free(rig->server);
    rig_settle(rig);
    ck_assert_uint_eq(rig->begun, rig->closed);
    for (size_t i = 0; i < RIG_CALLS_MAX; i++) {
        ck_assert_uint_eq(rig->calls[i].begun, rig->calls[i].closed);
    }
    free(rig->calls);
    sim_fini(&rig->sim);
}

void rig_join(struct rig *rig, struct raw *raw)
{
    raw_open(raw, &rig->sim, rig->server, NULL);
    raw_hello(raw);
}

void rig_settle(struct rig *rig)
{
    lull_fake_clock_settle(&rig->sim.clock);
}

void rig_advance(struct rig *rig, int64_t by_ns)
{
    sim_advance(&rig->sim, by_ns);
}

int64_t rig_now(const struct rig *rig)
{
    return sim_elapsed_ns(&rig->sim);
}

struct lull_server_stats rig_stats(const struct rig *rig)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    lull_server_stats(rig->server, &stats);
    ck_assert_uint_eq(stats.size, sizeof(stats));
    return stats;
}

void rig_on_drained(struct lull_server *server, void *ctx)
{
    struct rig *rig = ctx;
    ck_assert_ptr_eq(server, rig->server);
    rig->drained++;
    rig->drained_at_ns = rig_now(rig);
}

/* ---- unary calls */

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct unary *unary = ctx;
    (void)call;
    unary->done++;
    unary->at_ns = rig_now(unary->rig);
    unary->code = result->status.code;
    unary->reply_len = result->message.len;
    unary->headers = result->headers.count;
    unary->trailers = result->trailers.count;
    snprintf(unary->message, sizeof(unary->message), "%s", result->status.message);
    snprintf(unary->reply, sizeof(unary->reply), "%.*s",
             (int)(result->message.len < 60 ? result->message.len : 60),
             result->message.len == 0 ? "" : (const char *)result->message.data);
    lull_call_unref(unary->call);
    unary->call = NULL;
}

void unary_start_with(struct unary *unary, struct rig *rig, const struct lull_call_options *options,
                      struct lull_slice request)
{
    struct lull_error error;
    memset(unary, 0, sizeof(*unary));
    unary->rig = rig;
    ck_assert_msg(lull_call_unary(rig->channel, options, request, on_done, unary, &unary->call,
                                  &error) == LULL_OK,
                  "%s", error.text);
}

void unary_start(struct unary *unary, struct rig *rig, const char *method, const char *request,
                 int64_t timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    unary_start_with(unary, rig, &options, lull_slice_static(request, strlen(request)));
}

void unary_expect(struct unary *unary, enum lull_code code)
{
    ck_assert_msg(unary->done == 1, "done came %u times", unary->done);
    ck_assert_msg(unary->code == code, "%s, expected %s: %s", lull_code_name((int)unary->code),
                  lull_code_name((int)code), unary->message);
}

void rig_start_holding(struct rig *rig, struct unary *unary)
{
    rig_start(rig, APP_HOLDS);
    unary_start(unary, rig, RIG_METHOD, "hello", LULL_NEVER);
    rig_settle(rig);
}

void unary_run(struct unary *unary, struct rig *rig, const char *method, const char *request,
               enum lull_code code)
{
    unary_start(unary, rig, method, request, LULL_NEVER);
    rig_settle(rig);
    unary_expect(unary, code);
}
