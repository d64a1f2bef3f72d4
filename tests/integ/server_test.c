/* SPDX-License-Identifier: MIT */
/*
 * A server and channels to it on the real loop, over the loopback and a unix socket: public functions only.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/lull.h>

#include "tests/support/check_main.h"

#define METHOD "/pkg.Service/Method"

/* How long a test waits for what it expects. */
#define PATIENCE_NS (30 * LULL_SECOND)

static struct lull_loop *loop;
static struct lull_server *server;
static struct lull_channel *channel;
static unsigned closed;
static unsigned drained;

/* ---- the server: an echo that holds its client back when it has to */

struct echo {
    struct lull_slice waiting;
    bool has_waiting;
};

static void on_call(struct lull_server_call *call, const struct lull_server_request *request,
                    void *ctx)
{
    struct echo *echo = calloc(1, sizeof(*echo));
    (void)request;
    (void)ctx;
    ck_assert_ptr_nonnull(echo);
    lull_server_call_set_ctx(call, echo);
}

static void on_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    struct echo *echo = ctx;
    const int rc = lull_server_call_send(call, message);
    if (rc == LULL_RC_AGAIN) {
        ck_assert(!echo->has_waiting);
        echo->waiting = lull_slice_ref(message);
        echo->has_waiting = true;
        lull_server_call_pause(call);
    }
}

static void on_writable(struct lull_server_call *call, void *ctx)
{
    struct echo *echo = ctx;
    if (echo->has_waiting) {
        echo->has_waiting = false;
        ck_assert_int_eq(lull_server_call_send(call, echo->waiting), LULL_OK);
        lull_slice_unref(echo->waiting);
        lull_server_call_resume(call);
    }
}

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static void on_server_closed(struct lull_server_call *call, enum lull_server_end end,
                             const char *why, void *ctx)
{
    struct echo *echo = ctx;
    (void)call;
    (void)end;
    (void)why;
    if (echo->has_waiting) {
        lull_slice_unref(echo->waiting);
    }
    free(echo);
    closed++;
}

static void on_drained(struct lull_server *which, void *ctx)
{
    (void)which;
    (void)ctx;
    drained++;
}

static void set_up(const char *address, int64_t keepalive_ns)
{
    struct lull_server_options options;
    struct lull_channel_options channel_options;
    struct lull_server_handler handler;
    struct lull_error error;
    closed = drained = 0;
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    lull_server_options_init(&options);
    options.loop = loop;
    options.permit_keepalive_time_ns = 0;
    options.permit_keepalive_without_calls = true;
    ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_OK);
    lull_server_handler_init(&handler);
    handler.on_call = on_call;
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_half_closed = on_half_closed;
    handler.on_closed = on_server_closed;
    ck_assert_int_eq(lull_server_add(server, "", &handler, NULL), LULL_OK);
    ck_assert_msg(lull_server_listen(server, address, &error) == LULL_OK, "%s", error.text);
    lull_channel_options_init(&channel_options);
    channel_options.loop = loop;
    channel_options.allow_short_timers = true;
    channel_options.keepalive_time_ns = keepalive_ns;
    channel_options.keepalive_timeout_ns = 100 * LULL_MS;
    ck_assert_int_eq(
        lull_channel_new(lull_server_address(server, 0), &channel_options, &channel, &error),
        LULL_OK);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    lull_server_free(server);
    lull_loop_free(loop);
}

static void run_until(const unsigned *count, unsigned at_least)
{
    const struct lull_instant from = lull_clock_now(lull_clock_system());
    while (*count < at_least &&
           lull_instant_diff(lull_clock_now(lull_clock_system()), from) < PATIENCE_NS) {
        ck_assert_int_eq(lull_loop_run_once(loop, 100 * LULL_MS), LULL_OK);
    }
    ck_assert_uint_ge(*count, at_least);
}

/* ---- the client */

struct unary {
    unsigned *done;
    enum lull_code code;
    size_t reply_len;
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct unary *unary = ctx;
    (void)call;
    unary->code = result->status.code;
    unary->reply_len = result->message.len;
    ++*unary->done;
}

static void start(struct unary *unary, unsigned *done, const void *request, size_t len)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD);
    options.timeout_ns = 60 * LULL_SECOND;
    options.wait_for_ready = true;
    unary->done = done;
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static(request, len), on_done,
                                     unary, NULL, NULL),
                     LULL_OK);
}

START_TEST(a_thousand_calls_over_tcp)
{
    static struct unary unaries[1000];
    unsigned done = 0;
    set_up("127.0.0.1:0", LULL_NEVER);
    for (size_t i = 0; i < 1000; i++) {
        start(&unaries[i], &done, "hello", 1 + i % 5);
    }
    run_until(&done, 1000);
    for (size_t i = 0; i < 1000; i++) {
        ck_assert_int_eq(unaries[i].code, LULL_CODE_OK);
        ck_assert_uint_eq(unaries[i].reply_len, 1 + i % 5);
    }
    run_until(&closed, 1000);
    tear_down();
}
END_TEST

START_TEST(large_messages_over_a_unix_socket)
{
    char directory[] = "/tmp/lull-server-XXXXXX";
    char address[64];
    const size_t len = 3u * 1024 * 1024 + 17;
    uint8_t *large = calloc(1, len);
    struct unary unaries[3];
    unsigned done = 0;
    struct stat there;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(address, sizeof(address), "unix:%s/s", directory);
    set_up(address, LULL_NEVER);
    for (size_t i = 0; i < 3; i++) {
        start(&unaries[i], &done, large, len);
    }
    run_until(&done, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(unaries[i].code, LULL_CODE_OK);
        ck_assert_uint_eq(unaries[i].reply_len, len);
    }
    tear_down();
    ck_assert_int_eq(stat(address + 5, &there), -1);
    ck_assert_int_eq(rmdir(directory), 0);
    free(large);
}
END_TEST

/* ---- a stream both ways, as fast as it goes */

#define MESSAGES 5000

struct stream {
    struct lull_call *call;
    unsigned sent, got, ended;
    enum lull_code code;
};

static uint8_t bytes[3000];

static void send_more(struct stream *s)
{
    while (s->sent < MESSAGES) {
        const int rc = lull_call_send(s->call, lull_slice_static(bytes, s->sent % sizeof(bytes)));
        if (rc == LULL_RC_AGAIN) {
            return;
        }
        ck_assert_int_eq(rc, LULL_OK);
        s->sent++;
    }
    ck_assert_int_eq(lull_call_half_close(s->call), LULL_OK);
}

static void on_stream_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct stream *s = ctx;
    (void)call;
    ck_assert_uint_eq(message.len, s->got % sizeof(bytes));
    s->got++;
}

static void on_stream_writable(struct lull_call *call, void *ctx)
{
    (void)call;
    send_more(ctx);
}

static void on_stream_closed(struct lull_call *call, const struct lull_status *status,
                             const struct lull_metadata *trailers, void *ctx)
{
    struct stream *s = ctx;
    (void)call;
    (void)trailers;
    s->code = status->code;
    s->ended++;
}

START_TEST(a_stream_both_ways_with_back_pressure)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct stream s;
    memset(&s, 0, sizeof(s));
    set_up("localhost:0", LULL_NEVER);
    lull_call_options_init(&options, METHOD);
    lull_call_handler_init(&handler);
    handler.on_message = on_stream_message;
    handler.on_writable = on_stream_writable;
    handler.on_closed = on_stream_closed;
    ck_assert_int_eq(lull_call_start(channel, &options, &handler, &s, &s.call, NULL), LULL_OK);
    send_more(&s);
    run_until(&s.ended, 1);
    ck_assert_int_eq(s.code, LULL_CODE_OK);
    ck_assert_uint_eq(s.sent, MESSAGES);
    ck_assert_uint_eq(s.got, MESSAGES);
    lull_call_unref(s.call);
    tear_down();
}
END_TEST

/* ---- its life */

START_TEST(a_silent_server_is_left_and_found_again)
{
    struct unary unary;
    unsigned done = 0;
    set_up("127.0.0.1:0", 100 * LULL_MS);
    start(&unary, &done, "a", 1);
    run_until(&done, 1);
    ck_assert_int_eq(unary.code, LULL_CODE_OK);
    lull_server_set_silent(server, true);
    start(&unary, &done, "b", 1);
    run_until(&done, 2);
    ck_assert_int_eq(unary.code, LULL_CODE_UNAVAILABLE);
    lull_server_set_silent(server, false);
    start(&unary, &done, "c", 1);
    run_until(&done, 3);
    ck_assert_int_eq(unary.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

START_TEST(a_shutdown_ends_the_connections_in_order)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    struct unary unary;
    unsigned done = 0;
    set_up("127.0.0.1:0", LULL_NEVER);
    start(&unary, &done, "a", 1);
    run_until(&done, 1);
    lull_server_shutdown(server, 10 * LULL_SECOND, on_drained, NULL);
    ck_assert_ptr_null(lull_server_address(server, 0));
    run_until(&drained, 1);
    lull_server_stats(server, &stats);
    ck_assert_uint_eq(stats.connections, 0);
    ck_assert_uint_eq(stats.connections_made, 1);
    tear_down();
}
END_TEST

/* ---- no descriptor left */

static int connect_to(const char *address)
{
    struct sockaddr_in to;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    memset(&to, 0, sizeof(to));
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static struct lull_server_stats stats_of(void)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    lull_server_stats(server, &stats);
    return stats;
}

START_TEST(without_descriptors_the_loop_sleeps_and_the_rest_is_served_later)
{
    struct lull_counters before = {.size = sizeof(before)};
    struct lull_counters after = {.size = sizeof(after)};
    struct rlimit old;
    struct rlimit low;
    int fds[5];
    set_up("127.0.0.1:0", LULL_NEVER);
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK);
    for (int i = 0; i < 5; i++) {
        fds[i] = connect_to(lull_server_address(server, 0));
    }
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = (rlim_t)fds[4] + 3; /* two are left */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    lull_executor_counters(lull_loop_executor(loop), &before);
    const struct lull_instant from = lull_clock_now(lull_clock_system());
    while (lull_instant_diff(lull_clock_now(lull_clock_system()), from) < 500 * LULL_MS) {
        ck_assert_int_eq(lull_loop_run_once(loop, 100 * LULL_MS), LULL_OK);
    }
    lull_executor_counters(lull_loop_executor(loop), &after);
    ck_assert_uint_eq(stats_of().connections, 2);
    ck_assert_uint_eq(stats_of().accept_pauses, 1);
    ck_assert_uint_le(after.wakeups - before.wakeups, 12);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (int i = 0; i < 30 && stats_of().connections < 5; i++) {
        ck_assert_int_eq(lull_loop_run_once(loop, 100 * LULL_MS), LULL_OK);
    }
    ck_assert_uint_eq(stats_of().connections, 5);
    for (int i = 0; i < 5; i++) {
        close(fds[i]);
    }
    tear_down();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("integ/server");
    TCase *t = tcase_create("server");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_thousand_calls_over_tcp);
    tcase_add_test(t, large_messages_over_a_unix_socket);
    tcase_add_test(t, a_stream_both_ways_with_back_pressure);
    tcase_add_test(t, a_silent_server_is_left_and_found_again);
    tcase_add_test(t, a_shutdown_ends_the_connections_in_order);
    tcase_add_test(t, without_descriptors_the_loop_sleeps_and_the_rest_is_served_later);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("integ/server", suite)
