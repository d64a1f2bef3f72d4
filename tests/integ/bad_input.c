/* SPDX-License-Identifier: MIT */
#include "tests/integ/bad_input.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than any answer takes; a test that waits so long has failed. */
#define ROUNDS_MAX 3000

void bad_round(struct bad *bad)
{
    if (bad->poke != NULL) {
        bad->poke(bad);
    }
    if (bad->host != NULL) {
        poll_host_round(bad->host, 10 * LULL_MS);
    } else {
        ck_assert_int_eq(lull_loop_run_once(bad->loop, 10 * LULL_MS), LULL_OK);
    }
}

/* ---- the server */

static void on_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, message);
}

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static void answer_large(struct lull_server_call *call, void *ctx)
{
    static const char large[BAD_LARGE];
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static(NULL, 5)), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static(large, sizeof(large))), LULL_OK);
    on_half_closed(call, ctx);
}

static void answer_fields(struct lull_server_call *call, void *ctx)
{
    static char value[20001];
    memset(value, 'v', sizeof(value) - 1);
    const struct lull_metadatum item = lull_metadatum_text("x-long", value);
    const struct lull_metadata metadata = {&item, 1};
    ck_assert_int_eq(lull_server_call_respond_headers(call, &metadata), LULL_OK);
    on_half_closed(call, ctx);
}

static void serve(struct bad *bad, const char *method, bool echoes,
                  void (*half_closed)(struct lull_server_call *, void *))
{
    struct lull_server_handler handler;
    lull_server_handler_init(&handler);
    handler.on_message = echoes ? on_message : NULL;
    handler.on_half_closed = half_closed;
    ck_assert_int_eq(lull_server_add(bad->server, method, &handler, NULL), LULL_OK);
}

static void open_server(struct bad *bad)
{
    struct lull_server_options options;
    struct lull_error error;
    lull_server_options_init(&options);
    options.loop = bad->loop;
    options.max_recv_message_bytes = BAD_SERVER_TAKES;
    ck_assert_int_eq(lull_server_new(&options, &bad->server, &error), LULL_OK);
    serve(bad, METHOD_ECHO, true, on_half_closed);
    serve(bad, METHOD_LARGE, false, answer_large);
    serve(bad, METHOD_FIELDS, false, answer_fields);
    ck_assert_msg(lull_server_listen(bad->server, "127.0.0.1:0", &error) == LULL_OK, "%s", error.text);
    snprintf(bad->target, sizeof(bad->target), "%s", lull_server_address(bad->server, 0));
}

/* ---- the good ones */

static void on_echo(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct bad *bad = ctx;
    (void)call;
    ck_assert_uint_eq(message.len, 5);
    bad->echoed++;
}

static void on_stream_closed(struct lull_call *call, const struct lull_status *status,
                             const struct lull_metadata *trailers, void *ctx)
{
    struct bad *bad = ctx;
    (void)call;
    (void)trailers;
    ck_assert_msg(status->code == LULL_CODE_OK, "the good stream ended: %s", status->failure->line);
    bad->is_stream_over = true;
}

void bad_channel_options(const struct bad *bad, struct lull_channel_options *options)
{
    lull_channel_options_init(options);
    options->loop = bad->loop;
    options->max_recv_message_bytes = BAD_CLIENT_TAKES;
    options->max_send_message_bytes = BAD_CLIENT_SENDS;
    options->backoff_initial_ns = 60 * LULL_SECOND;
}

struct lull_channel *bad_channel(const struct bad *bad, const char *target)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;
    bad_channel_options(bad, &options);
    ck_assert_msg(lull_channel_new(target, &options, &channel, &error) == LULL_OK, "%s", error.text);
    return channel;
}

void bad_begin(struct bad *bad, struct poll_host *host)
{
    struct lull_call_handler handler;
    struct lull_call_options options;
    memset(bad, 0, sizeof(*bad));
    bad->listener = -1;
    bad->host = host;
    if (host != NULL) {
        bad->loop = &host->loop;
    } else {
        ck_assert_int_eq(lull_loop_new(NULL, &bad->loop), LULL_OK);
    }
    open_server(bad);
    bad->good = bad_channel(bad, bad->target);
    lull_call_handler_init(&handler);
    handler.on_message = on_echo;
    handler.on_closed = on_stream_closed;
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_start(bad->good, &options, &handler, bad, &bad->stream, NULL), LULL_OK);
    bad_expect_good(bad);
}

void bad_expect_good(struct bad *bad)
{
    struct lull_call_options options;
    struct bad_call call;
    ck_assert_int_eq(lull_call_send(bad->stream, lull_slice_static("hello", 5)), LULL_OK);
    bad->sent++;
    for (int i = 0; i < ROUNDS_MAX && bad->echoed < bad->sent; i++) {
        bad_round(bad);
    }
    ck_assert_uint_eq(bad->echoed, bad->sent);
    lull_call_options_init(&options, METHOD_ECHO);
    bad_unary(bad, bad->good, &options, 5, &call);
    ck_assert_msg(call.code == LULL_CODE_OK, "a good call failed: %s", call.message);
    ck_assert_int_eq(lull_channel_state(bad->good, false), LULL_STATE_READY);
}

void bad_end(struct bad *bad)
{
    bad_expect_good(bad);
    ck_assert_int_eq(lull_call_half_close(bad->stream), LULL_OK);
    for (int i = 0; i < ROUNDS_MAX && !bad->is_stream_over; i++) {
        bad_round(bad);
    }
    ck_assert(bad->is_stream_over);
    lull_call_unref(bad->stream);
    lull_channel_close(bad->good);
    lull_channel_unref(bad->good);
    lull_server_free(bad->server);
    bad_round(bad);
    if (bad->listener >= 0) {
        close(bad->listener);
    }
    if (bad->host != NULL) {
        poll_host_fini(bad->host);
    } else {
        lull_loop_free(bad->loop);
    }
}

/* ---- the bad ones */

static void on_done(struct lull_call *handle, const struct lull_unary_result *result, void *ctx)
{
    struct bad_call *call = ctx;
    const struct lull_failure *failure = result->status.failure;
    (void)handle;
    call->done++;
    call->code = result->status.code;
    snprintf(call->message, sizeof(call->message), "%s", result->status.message);
    if (failure != NULL) {
        call->reason = failure->reason;
        call->phase = failure->phase;
        call->sys_errno = failure->sys_errno;
    }
}

void bad_unary(struct bad *bad, struct lull_channel *channel, const struct lull_call_options *options,
               size_t len, struct bad_call *call)
{
    static const char bytes[BAD_CLIENT_SENDS];
    struct lull_error error;
    *call = (struct bad_call){.bad = bad};
    ck_assert_msg(lull_call_unary(channel, options, lull_slice_static(bytes, len), on_done, call, NULL,
                                  &error) == LULL_OK,
                  "%s", error.text);
    /* It is cleared, whatever it held. */
    ck_assert_int_eq(error.rc, LULL_OK);
    ck_assert_str_eq(error.text, "");
    for (int i = 0; i < ROUNDS_MAX && call->done == 0; i++) {
        bad_round(bad);
    }
    ck_assert_uint_eq(call->done, 1);
}

void bad_refused(struct bad *bad, const char *input, int rc, enum lull_rc expected,
                 const struct lull_error *error, const char *says)
{
    table_row(input, lull_rc_name(rc), error != NULL ? error->text : "");
    ck_assert_msg(rc == (int)expected, "%s: %s", input, lull_rc_name(rc));
    if (error != NULL) {
        ck_assert_int_eq(error->rc, expected);
        ck_assert_msg(strstr(error->text, says) != NULL, "%s: no \"%s\" in: %s", input, says, error->text);
    }
    bad_expect_good(bad);
}

void bad_ended(struct bad *bad, const char *input, const struct bad_call *call, enum lull_code code,
               enum lull_reason reason, enum lull_phase phase, const char *says)
{
    char outcome[100];
    snprintf(outcome, sizeof(outcome), "%s: %s, %s", lull_code_name((int)call->code),
             lull_reason_name((int)call->reason), lull_phase_name((int)call->phase));
    table_row(input, outcome, call->message);
    ck_assert_msg(call->code == code && call->reason == reason && call->phase == phase, "%s: %s: %s",
                  input, outcome, call->message);
    ck_assert_msg(strstr(call->message, says) != NULL, "%s: no \"%s\" in: %s", input, says, call->message);
    bad_expect_good(bad);
}

/* ---- a raw peer */

void bad_listen(struct bad *bad, char *target)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    bad->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(bad->listener, 0);
    ck_assert_int_eq(bind(bad->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(getsockname(bad->listener, (struct sockaddr *)&at, &len), 0);
    ck_assert_int_eq(listen(bad->listener, 8), 0);
    snprintf(target, 64, "127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
}

int bad_accept(struct bad *bad)
{
    return accept(bad->listener, NULL, NULL);
}
