/* SPDX-License-Identifier: MIT */
/*
 * Functions called with structs that are not what they seem, on what is closed, and where they may not be called; the good call and
 * channel beside it go on. The rows are those of doc/BAD_INPUT.md.
 */
#include <stdio.h>
#include <string.h>

#include "tests/integ/bad_input.h"
#include "tests/support/check_main.h"

static struct bad bad;

static void set_up(void)
{
    bad_begin(&bad, NULL);
}

static void tear_down(void)
{
    bad_end(&bad);
}

static void nothing(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    ck_abort_msg("a call that was refused has ended");
}

static void never_closed(struct lull_call *call, const struct lull_status *status,
                         const struct lull_metadata *trailers, void *ctx)
{
    (void)status;
    (void)trailers;
    nothing(call, NULL, ctx);
}

static int start(struct lull_channel *channel, const struct lull_call_options *options,
                 struct lull_error *error)
{
    return lull_call_unary(channel, options, lull_slice_static("hello", 5), nothing, NULL, NULL, error);
}

/* ---- structs */

START_TEST(options_that_are_null)
{
    struct lull_channel_options options;
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_channel *channel = NULL;
    struct lull_server *server = NULL;
    struct lull_error error;
    bad_channel_options(&bad, &options);
    lull_call_options_init(&call_options, METHOD_ECHO);
    lull_call_handler_init(&handler);
    int rc = lull_channel_new(bad.target, NULL, &channel, &error);
    bad_refused(&bad, "lull_channel_new without options", rc, LULL_RC_INVALID, &error, "no options");
    rc = lull_channel_new(bad.target, &options, NULL, &error);
    bad_refused(&bad, "lull_channel_new without out", rc, LULL_RC_INVALID, &error, "out is NULL");
    rc = lull_server_new(NULL, &server, &error);
    bad_refused(&bad, "lull_server_new without options", rc, LULL_RC_INVALID, &error, "no options");
    rc = start(bad.good, NULL, &error);
    bad_refused(&bad, "lull_call_unary without options", rc, LULL_RC_INVALID, &error, "options is NULL");
    rc = start(NULL, &call_options, &error);
    bad_refused(&bad, "lull_call_unary without a channel", rc, LULL_RC_INVALID, &error, "channel is NULL");
    rc = lull_call_unary(bad.good, &call_options, lull_slice_static("", 0), NULL, NULL, NULL, &error);
    bad_refused(&bad, "lull_call_unary without done", rc, LULL_RC_INVALID, &error, "done is NULL");
    rc = lull_call_start(bad.good, &call_options, NULL, NULL, NULL, &error);
    bad_refused(&bad, "lull_call_start without a handler", rc, LULL_RC_INVALID, &error, "handler is NULL");
    rc = lull_call_start(bad.good, &call_options, &handler, NULL, NULL, &error);
    bad_refused(&bad, "lull_call_start without on_closed", rc, LULL_RC_INVALID, &error, "on_closed is NULL");
    rc = lull_sync_unary(bad.good, &call_options, lull_slice_static("", 0), NULL, &error);
    bad_refused(&bad, "lull_sync_unary without a result", rc, LULL_RC_INVALID, &error, "result is NULL");
    rc = lull_channel_ping(bad.good, NULL, NULL, &error);
    bad_refused(&bad, "lull_channel_ping without fn", rc, LULL_RC_INVALID, &error, "fn is NULL");
    rc = lull_channel_watch(bad.good, LULL_STATE_READY, NULL, NULL);
    bad_refused(&bad, "lull_channel_watch without fn", rc, LULL_RC_INVALID, NULL, "");
}
END_TEST

START_TEST(structs_of_a_wrong_size)
{
    struct lull_channel_options options;
    struct lull_server_options server_options;
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_sync_result result;
    struct lull_world world;
    struct lull_channel *channel = NULL;
    struct lull_server *server = NULL;
    struct lull_error error;
    bad_channel_options(&bad, &options);
    options.size = 8;
    int rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "channel options of size 8", rc, LULL_RC_INVALID, &error, "option size is 8, this library's is");
    memset(&options, 0, sizeof(options));
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "channel options that are all zeros", rc, LULL_RC_INVALID, &error, "lull_channel_options_init");
    bad_channel_options(&bad, &options);
    lull_world_init(&world);
    world.size = 3;
    options.world = &world;
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "a world of size 3", rc, LULL_RC_INVALID, &error, "option world's size is 3, this library's is");
    lull_server_options_init(&server_options);
    server_options.size = 8;
    rc = lull_server_new(&server_options, &server, &error);
    bad_refused(&bad, "server options of size 8", rc, LULL_RC_INVALID, &error, "lull_server_options_init");
    lull_server_options_init(&server_options);
    rc = lull_server_new(&server_options, &server, &error);
    bad_refused(&bad, "a server without a loop", rc, LULL_RC_INVALID, &error, "loop");
    lull_call_options_init(&call_options, METHOD_ECHO);
    call_options.size = 0;
    rc = start(bad.good, &call_options, &error);
    bad_refused(&bad, "call options of size 0", rc, LULL_RC_INVALID, &error, "lull_call_options_init");
    lull_call_options_init(&call_options, METHOD_ECHO);
    lull_call_handler_init(&handler);
    handler.on_closed = never_closed;
    handler.size = 1;
    rc = lull_call_start(bad.good, &call_options, &handler, NULL, NULL, &error);
    bad_refused(&bad, "a handler of size 1", rc, LULL_RC_INVALID, &error, "lull_call_handler_init");
    memset(&result, 0, sizeof(result));
    rc = lull_sync_unary(bad.good, &call_options, lull_slice_static("", 0), &result, &error);
    bad_refused(&bad, "a result of size 0", rc, LULL_RC_INVALID, &error, "lull_sync_result_init");
}
END_TEST

START_TEST(options_that_contradict_or_cannot_be)
{
    struct lull_channel_options fresh, options;
    struct lull_channel *channel = NULL;
    struct lull_error error;
    bad_channel_options(&bad, &fresh);
    options = fresh;
    options.authority = "a b";
    int rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "authority \"a b\"", rc, LULL_RC_INVALID, &error, "option authority");
    options = fresh;
    options.user_agent = "x\r\ny: z";
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "user_agent \"x\\x0d\\x0ay: z\"", rc, LULL_RC_INVALID, &error, "option user_agent");
    options = fresh;
    options.backoff_multiplier = 0.5;
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "backoff_multiplier 0.5", rc, LULL_RC_INVALID, &error, "option backoff_multiplier is not in");
    options = fresh;
    options.stream_window_bytes = UINT32_MAX;
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "stream_window_bytes 4294967295", rc, LULL_RC_INVALID, &error, "option stream_window_bytes is 4294967295");
    options = fresh;
    options.log.level = 99;
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "log.level 99", rc, LULL_RC_INVALID, &error, "option log.level is 99");
    struct lull_loop *other;
    struct lull_world world;
    ck_assert_int_eq(lull_loop_new(NULL, &other), LULL_OK);
    lull_world_init(&world);
    world.loop = other;
    options = fresh;
    options.world = &world;
    rc = lull_channel_new(bad.target, &options, &channel, &error);
    bad_refused(&bad, "two loops", rc, LULL_RC_INVALID, &error, "options loop and world->loop are two loops");
    lull_loop_free(other);
}
END_TEST

/* ---- what is over */

static void on_ping(void *ctx, int64_t rtt_ns, const char *why)
{
    (void)ctx;
    (void)rtt_ns;
    (void)why;
    ck_abort_msg("a ping that was refused has ended");
}

static void on_state(struct lull_channel *channel, enum lull_state now, void *ctx)
{
    (void)channel;
    (void)now;
    (void)ctx;
    ck_abort_msg("a watch that was refused was told");
}

START_TEST(calls_on_a_closed_channel_and_a_second_close)
{
    struct lull_channel *channel = bad_channel(&bad, bad.target);
    struct lull_call_options options;
    struct lull_sync_result result;
    struct lull_error error;
    lull_call_options_init(&options, METHOD_ECHO);
    lull_sync_result_init(&result);
    lull_channel_close(channel);
    int rc = start(channel, &options, &error);
    bad_refused(&bad, "lull_call_unary on a closed channel", rc, LULL_RC_CLOSED, &error, "channel closed");
    rc = lull_sync_unary(channel, &options, lull_slice_static("", 0), &result, &error);
    bad_refused(&bad, "lull_sync_unary on a closed channel", rc, LULL_RC_CLOSED, &error, "channel closed");
    rc = lull_channel_ping(channel, on_ping, NULL, &error);
    bad_refused(&bad, "lull_channel_ping on a closed channel", rc, LULL_RC_CLOSED, &error, "channel closed");
    rc = lull_channel_watch(channel, LULL_STATE_SHUTDOWN, on_state, NULL);
    bad_refused(&bad, "lull_channel_watch on a closed channel", rc, LULL_RC_CLOSED, NULL, "");
    lull_channel_close(channel);
    lull_channel_enter_idle(channel);
    lull_channel_reset_backoff(channel);
    ck_assert_int_eq(lull_channel_state(channel, true), LULL_STATE_SHUTDOWN);
    table_row("lull_channel_close, the second time", "nothing", "(it stays in SHUTDOWN)");
    lull_channel_unref(channel);
}
END_TEST

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    ck_assert_int_eq(status->code, LULL_CODE_OK);
    ++*(unsigned *)ctx;
}

START_TEST(orders_to_a_call_out_of_their_order)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_call *call;
    unsigned closed = 0;
    lull_call_options_init(&options, METHOD_ECHO);
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(bad.good, &options, &handler, &closed, &call, NULL), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    table_row("lull_call_half_close, the second time", "LULL_OK", "(nothing happens)");
    int rc = lull_call_send(call, lull_slice_static("x", 1));
    bad_refused(&bad, "lull_call_send after lull_call_half_close", rc, LULL_RC_STATE, NULL, "");
    ck_assert_uint_eq(closed, 1);
    rc = lull_call_send(call, lull_slice_static("x", 1));
    bad_refused(&bad, "lull_call_send after the end", rc, LULL_RC_CLOSED, NULL, "");
    lull_call_cancel(call);
    lull_call_resume(call);
    bad_expect_good(&bad);
    ck_assert_uint_eq(closed, 1);
    table_row("lull_call_cancel after the end", "nothing", "(on_closed comes once)");
    lull_call_unref(call);
}
END_TEST

START_TEST(orders_to_a_server_that_was_closed)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_server *server;
    struct lull_error error;
    lull_server_options_init(&options);
    lull_server_handler_init(&handler);
    options.loop = bad.loop;
    ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_OK);
    int rc = lull_server_add(server, "no slash", &handler, NULL);
    bad_refused(&bad, "lull_server_add of method \"no slash\"", rc, LULL_RC_INVALID, NULL, "");
    ck_assert_int_eq(lull_server_add(server, METHOD_ECHO, &handler, NULL), LULL_OK);
    rc = lull_server_add(server, METHOD_ECHO, &handler, NULL);
    bad_refused(&bad, "lull_server_add of a method twice", rc, LULL_RC_STATE, NULL, "");
    lull_server_close(server);
    rc = lull_server_listen(server, "127.0.0.1:0", &error);
    bad_refused(&bad, "lull_server_listen after lull_server_close", rc, LULL_RC_CLOSED, &error, "the server was shut down");
    lull_server_close(server);
    bad_expect_good(&bad);
    table_row("lull_server_close, the second time", "nothing", "");
    lull_server_free(server);
}
END_TEST

/* ---- what goes well */

static struct lull_error error_of_before;

static struct lull_error *stale(void)
{
    error_of_before = (struct lull_error){.rc = LULL_RC_SYSTEM, .sys_errno = 7, .text = "of an earlier call"};
    return &error_of_before;
}

static void expect_cleared(int rc)
{
    ck_assert_int_eq(rc, LULL_OK);
    ck_assert_int_eq(error_of_before.rc, LULL_OK);
    ck_assert_int_eq(error_of_before.sys_errno, 0);
    ck_assert_str_eq(error_of_before.text, "");
}

static void on_pong(void *ctx, int64_t rtt_ns, const char *why)
{
    (void)ctx;
    (void)rtt_ns;
    (void)why;
}

static void on_end(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
}

/* lull/rc.h: the same rule for all that take an error. */
START_TEST(success_clears_the_error_of_an_earlier_call)
{
    struct lull_channel_options options;
    struct lull_server_options server_options;
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_sync_result result;
    struct lull_sync_stream stream;
    struct lull_channel *channel;
    struct lull_server *server;
    struct lull_credentials *credentials = NULL;
    const struct lull_slice nil = lull_slice_static("", 0);
    unsigned closed = 0;
    bad_channel_options(&bad, &options);
    expect_cleared(lull_channel_new(bad.target, &options, &channel, stale()));
    lull_channel_unref(channel);
    lull_server_options_init(&server_options);
    server_options.loop = bad.loop;
    expect_cleared(lull_server_new(&server_options, &server, stale()));
    expect_cleared(lull_server_listen(server, "127.0.0.1:0", stale()));
    lull_server_free(server);
    lull_call_options_init(&call_options, METHOD_ECHO);
    expect_cleared(lull_metadata_check(&call_options.metadata, stale()));
    expect_cleared(lull_call_unary(bad.good, &call_options, nil, on_end, NULL, NULL, stale()));
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    struct lull_call *call;
    expect_cleared(lull_call_start(bad.good, &call_options, &handler, &closed, &call, stale()));
    ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    lull_call_unref(call);
    expect_cleared(lull_channel_ping(bad.good, on_pong, NULL, stale()));
    lull_sync_result_init(&result);
    expect_cleared(lull_sync_unary(bad.good, &call_options, nil, &result, stale()));
    expect_cleared(lull_sync_stream_open(bad.good, &call_options, &stream, stale()));
    ck_assert_int_eq(lull_sync_stream_finish(&stream, &result), LULL_OK);
    lull_sync_result_fini(&result);
    if (lull_credentials_new(NULL, &credentials, stale()) != LULL_RC_UNSUPPORTED) {
        expect_cleared(LULL_OK);
    }
    lull_credentials_unref(credentials);
    bad_expect_good(&bad);
    ck_assert_uint_eq(closed, 1);
}
END_TEST

/* ---- where nothing may drive */

static struct {
    int run, run_once, dispatch, flush, unary, stream;
    struct lull_error unary_error, stream_error;
    unsigned done;
} in_turn;

static void drive_inside(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct lull_call_options options;
    struct lull_sync_result answer;
    struct lull_sync_stream stream;
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    lull_call_options_init(&options, METHOD_ECHO);
    lull_sync_result_init(&answer);
    in_turn.run = lull_loop_run(bad.loop);
    in_turn.run_once = lull_loop_run_once(bad.loop, 0);
    in_turn.dispatch = lull_loop_dispatch(bad.loop);
    in_turn.flush = lull_loop_flush(bad.loop);
    in_turn.unary = lull_sync_unary(bad.good, &options, lull_slice_static("", 0), &answer, &in_turn.unary_error);
    in_turn.stream = lull_sync_stream_open(bad.good, &options, &stream, &in_turn.stream_error);
    in_turn.done++;
}

START_TEST(what_drives_called_inside_a_callback)
{
    struct lull_call_options options;
    memset(&in_turn, 0, sizeof(in_turn));
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_unary(bad.good, &options, lull_slice_static("", 0), drive_inside, NULL, NULL, NULL),
                     LULL_OK);
    for (int i = 0; i < 1000 && in_turn.done == 0; i++) {
        bad_round(&bad);
    }
    ck_assert_uint_eq(in_turn.done, 1);
    bad_refused(&bad, "lull_loop_run in a callback", in_turn.run, LULL_RC_IN_TURN, NULL, "");
    bad_refused(&bad, "lull_loop_run_once in a callback", in_turn.run_once, LULL_RC_IN_TURN, NULL, "");
    bad_refused(&bad, "lull_loop_dispatch in a callback", in_turn.dispatch, LULL_RC_IN_TURN, NULL, "");
    bad_refused(&bad, "lull_loop_flush in a callback", in_turn.flush, LULL_RC_IN_TURN, NULL, "");
    bad_refused(&bad, "lull_sync_unary in a callback", in_turn.unary, LULL_RC_IN_TURN, &in_turn.unary_error, "a callback must not block");
    bad_refused(&bad, "lull_sync_stream_open in a callback", in_turn.stream, LULL_RC_IN_TURN, &in_turn.stream_error, "a callback must not block");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/bad_input_use");
    TCase *t = tcase_create("use");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, options_that_are_null);
    tcase_add_test(t, structs_of_a_wrong_size);
    tcase_add_test(t, options_that_contradict_or_cannot_be);
    tcase_add_test(t, calls_on_a_closed_channel_and_a_second_close);
    tcase_add_test(t, orders_to_a_call_out_of_their_order);
    tcase_add_test(t, orders_to_a_server_that_was_closed);
    tcase_add_test(t, success_clears_the_error_of_an_earlier_call);
    tcase_add_test(t, what_drives_called_inside_a_callback);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/bad_input_use", suite)
