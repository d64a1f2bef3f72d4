/* SPDX-License-Identifier: MIT */
/*
 * Who drives makes no difference: one set of scenarios over the loopback, against our own server on the same loop, under every driver
 * and every hostility of a host's alarm (RULINGS 18). What is asserted is the same everywhere: how calls end, that each ends once, what
 * arrives, states. Only where a refused alarm bit may a call with a timeout end INTERNAL instead, once.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <lull/lull.h>

#include "tests/integ/drivers_server.h"
#include "tests/support/check_main.h"
#include "tests/support/driver.h"

#define PATIENCE_NS (10 * LULL_SECOND)
#define SHORT_NS    (25 * LULL_MS)
#define CALLS       4

/* ---- the ways to be driven */

struct way {
    const char *name;
    enum driver_kind kind;
    unsigned ways;
    unsigned refuse_every;
};

static const struct way ways[] = {
    {"built-in", DRIVER_BUILT_IN, 0, 0},
#ifndef LULL_LOOP_POLL
    {"nested", DRIVER_NESTED, 0, 0},
#endif
    {"blocked", DRIVER_BLOCKED, 0, 0},
    {"host", DRIVER_HOST, 0, 0},
    {"host, early", DRIVER_HOST, HOSTILE_EARLY, 0},
    {"host, late", DRIVER_HOST, HOSTILE_LATE, 0},
    {"host, twice", DRIVER_HOST, HOSTILE_TWICE, 0},
    {"host, stale", DRIVER_HOST, HOSTILE_STALE, 0},
    {"host, inside", DRIVER_HOST, HOSTILE_INSIDE, 0},
    {"host, refuses each", DRIVER_HOST, HOSTILE_REFUSES, 1},
    {"host, refuses each 2nd", DRIVER_HOST, HOSTILE_REFUSES, 2},
    {"host, refuses each 5th", DRIVER_HOST, HOSTILE_REFUSES, 5},
    {"host, all but refusals", DRIVER_HOST, HOSTILITIES - 1 - HOSTILE_REFUSES, 0},
    {"host, all", DRIVER_HOST, HOSTILITIES - 1, 3},
};

/* ---- the world */

struct test_call {
    struct lull_call *handle;
    struct lull_instant started_at, ended_at;
    unsigned headers, messages, closed;
    enum lull_code code;
    enum lull_reason reason;
    char text[64]; /* the last message */
    char line[512];
    unsigned sends; /* messages still to be sent, one for each that comes */
};

static struct driver driver;
static struct lull_server *server;
static struct lull_channel *channel;
static struct lull_channel_options options;
static struct test_call calls[CALLS];
static unsigned rounds_in_callback;
static uint64_t seed;

static struct lull_instant now(void)
{
    return lull_clock_now(lull_clock_system());
}

/* ---- the channel, and another server where one was */

static void open_server(const char *address)
{
    server = drivers_server_new(driver.loop, address);
}

static void open_channel(void)
{
    struct lull_error error;
    ck_assert_msg(lull_channel_new(lull_server_address(server, 0), &options, &channel, &error) == LULL_OK, "%s",
                  error.text);
}

/* ---- calls */

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    (void)call;
    (void)headers;
    ((struct test_call *)ctx)->headers++;
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct test_call *c = ctx;
    c->messages++;
    ck_assert_uint_lt(message.len, sizeof(c->text));
    if (message.len > 0) {
        memcpy(c->text, message.data, message.len);
    }
    c->text[message.len] = '\0';
    rounds_in_callback += lull_loop_flush(driver.loop) == LULL_RC_IN_TURN;
    if (c->sends > 0 && --c->sends == 0) {
        ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    } else if (c->sends > 0) {
        ck_assert_int_eq(lull_call_send(call, lull_slice_static("ping", 4)), LULL_OK);
    }
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers,
                      void *ctx)
{
    struct test_call *c = ctx;
    (void)call;
    (void)trailers;
    c->closed++;
    c->code = status->code;
    c->reason = status->failure != NULL ? status->failure->reason : LULL_REASON_NONE;
    c->ended_at = now();
    snprintf(c->line, sizeof(c->line), "%s", status->failure != NULL ? status->failure->line : "OK");
}

static struct test_call *start(size_t n, enum behaviour what, int64_t timeout_ns, int64_t read_timeout_ns)
{
    struct test_call *c = &calls[n];
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_error error;
    memset(c, 0, sizeof(*c));
    lull_call_options_init(&call_options, drivers_methods[what]);
    call_options.timeout_ns = timeout_ns;
    call_options.read_timeout_ns = read_timeout_ns;
    call_options.wait_for_ready = true;
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    c->started_at = now();
    ck_assert_msg(lull_call_start(channel, &call_options, &handler, c, &c->handle, &error) == LULL_OK, "%s",
                  error.text);
    return c;
}

static void send_text(struct test_call *c, const char *text)
{
    ck_assert_int_eq(lull_call_send(c->handle, lull_slice_static(text, strlen(text))), LULL_OK);
}

static void send_all(struct test_call *c, const char *text)
{
    send_text(c, text);
    ck_assert_int_eq(lull_call_half_close(c->handle), LULL_OK);
}

static void run_until(bool (*holds)(const void *ctx), const void *ctx)
{
    const struct lull_instant from = now();
    while (!holds(ctx)) {
        ck_assert_msg(lull_instant_diff(now(), from) < PATIENCE_NS, "it did not come about (seed %llu)",
                      (unsigned long long)seed);
        driver_round(&driver, 5 * LULL_MS);
    }
}

static bool is_closed(const void *ctx)
{
    return ((const struct test_call *)ctx)->closed > 0;
}

/* A refused alarm that bit is the one excuse, and only of a call with a timeout. */
static bool was_refused(const struct test_call *c)
{
    return c->code == LULL_CODE_INTERNAL && strstr(c->line, "host loop refused the alarm") != NULL;
}

/* Runs to the call's end; true when it ended like this, false when it was refused. */
static bool ends(struct test_call *c, enum lull_code code, bool has_timeout)
{
    run_until(is_closed, c);
    driver_round(&driver, 0);
    ck_assert_uint_eq(c->closed, 1);
    lull_call_unref(c->handle);
    c->handle = NULL;
    if (was_refused(c)) {
        ck_assert_msg(has_timeout && driver_has_bitten(&driver), "%s", c->line);
        return false;
    }
    ck_assert_msg(c->code == code, "%s (seed %llu)", c->line, (unsigned long long)seed);
    return true;
}

/* One echo that must come back. */
static void check_echo(int64_t timeout_ns)
{
    struct test_call *c = start(0, ECHO, timeout_ns, 0);
    send_all(c, "hello");
    if (ends(c, LULL_CODE_OK, timeout_ns != LULL_NEVER)) {
        ck_assert_uint_eq(c->messages, 1);
        ck_assert_str_eq(c->text, "hello");
    }
}

/* ---- scenarios */

static void unary(void)
{
    check_echo(LULL_NEVER);
    for (int i = 0; i < 5; i++) {
        check_echo(30 * LULL_SECOND);
    }
}

static void server_stream(void)
{
    struct test_call *c = start(0, BURST, LULL_NEVER, 0);
    send_all(c, "go");
    ck_assert(ends(c, LULL_CODE_OK, false));
    ck_assert_uint_eq(c->messages, 5);
    ck_assert_uint_eq(c->headers, 1);
}

static void client_stream(void)
{
    struct test_call *c = start(0, COUNT, LULL_NEVER, 0);
    for (int i = 0; i < 9; i++) {
        send_text(c, "x");
        driver_round(&driver, 0);
    }
    send_all(c, "x");
    ck_assert(ends(c, LULL_CODE_OK, false));
    ck_assert_str_eq(c->text, "10");
}

static void both_stream(void)
{
    struct test_call *c = start(0, ECHO, LULL_NEVER, 0);
    c->sends = 5;
    send_text(c, "ping");
    rounds_in_callback = 0;
    ck_assert(ends(c, LULL_CODE_OK, false));
    ck_assert_uint_eq(c->messages, 5);
    ck_assert_uint_eq(rounds_in_callback, 5); /* no turn inside a turn */
}

static void expect_late_by(const struct test_call *c, int64_t after_ns, enum lull_reason reason)
{
    ck_assert_msg(c->reason == reason, "%s", c->line);
    ck_assert_int_ge(lull_instant_diff(c->ended_at, c->started_at), after_ns);
}

static void deadlines(void)
{
    struct test_call *sooner, *later;
    check_echo(LULL_NEVER);
    later = start(1, MUTE, 2 * SHORT_NS, 0);
    sooner = start(2, MUTE, SHORT_NS, 0);
    if (ends(sooner, LULL_CODE_DEADLINE_EXCEEDED, true)) {
        ck_assert_uint_ne(driver.host.alarm.refuse_every, 1);
        expect_late_by(sooner, SHORT_NS, LULL_REASON_DEADLINE);
    }
    if (ends(later, LULL_CODE_DEADLINE_EXCEEDED, true)) {
        expect_late_by(later, 2 * SHORT_NS, LULL_REASON_DEADLINE);
    }
}

static void read_timeout(void)
{
    struct test_call *c;
    check_echo(LULL_NEVER);
    c = start(1, HEADERS_ONLY, LULL_NEVER, SHORT_NS);
    send_all(c, "go");
    if (ends(c, LULL_CODE_DEADLINE_EXCEEDED, true)) {
        expect_late_by(c, SHORT_NS, LULL_REASON_READ_TIMEOUT);
        ck_assert_uint_eq(c->headers, 1);
    }
}

static void cancels(void)
{
    struct test_call *before = start(1, MUTE, LULL_NEVER, 0);
    struct test_call *after;
    lull_call_cancel(before->handle);
    ck_assert(ends(before, LULL_CODE_CANCELLED, false));
    check_echo(LULL_NEVER);
    after = start(2, MUTE, 30 * LULL_SECOND, 0);
    driver_round(&driver, 0);
    lull_call_cancel(after->handle);
    lull_call_cancel(after->handle);
    (void)ends(after, LULL_CODE_CANCELLED, true);
}

static bool is_in_state(const void *ctx)
{
    return lull_channel_state(channel, false) == *(const enum lull_state *)ctx;
}

static void idle_and_wake(void)
{
    static const enum lull_state idle = LULL_STATE_IDLE;
    lull_channel_unref(channel);
    options.idle_timeout_ns = SHORT_NS;
    open_channel();
    for (int i = 0; i < 2; i++) {
        check_echo(LULL_NEVER);
        ck_assert_int_eq(lull_channel_state(channel, false), LULL_STATE_READY);
        run_until(is_in_state, &idle);
        ck_assert_int_ge(lull_instant_diff(now(), calls[0].ended_at), SHORT_NS);
    }
}

static bool has_pinged(const void *ctx)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(channel, &stats);
    return stats.pings_acked >= *(const uint64_t *)ctx;
}

static void keepalive_pings(void)
{
    static const uint64_t three = 3;
    lull_channel_unref(channel);
    options.keepalive_time_ns = 10 * LULL_MS;
    options.keepalive_timeout_ns = 5 * LULL_SECOND;
    options.keepalive_without_calls = true;
    open_channel();
    check_echo(LULL_NEVER);
    run_until(has_pinged, &three);
    ck_assert_int_eq(lull_channel_state(channel, false), LULL_STATE_READY);
}

static void silent_peer(void)
{
    struct test_call *c;
    lull_channel_unref(channel);
    options.keepalive_time_ns = SHORT_NS;
    options.keepalive_timeout_ns = 2 * SHORT_NS;
    open_channel();
    check_echo(LULL_NEVER);
    lull_server_set_silent(server, true);
    c = start(1, MUTE, LULL_NEVER, 0);
    ck_assert(ends(c, LULL_CODE_UNAVAILABLE, false));
    expect_late_by(c, 2 * SHORT_NS, LULL_REASON_KEEPALIVE);
    lull_server_set_silent(server, false);
}

static void reconnect(void)
{
    char address[64];
    struct test_call *c;
    check_echo(LULL_NEVER);
    snprintf(address, sizeof(address), "%s", lull_server_address(server, 0));
    c = start(1, HEADERS_ONLY, LULL_NEVER, 0);
    driver_round(&driver, 0);
    driver_round(&driver, 0);
    lull_server_free(server);
    (void)ends(c, LULL_CODE_UNAVAILABLE, false);
    open_server(address);
    check_echo(LULL_NEVER);
}

static void close_with_calls(void)
{
    check_echo(LULL_NEVER);
    for (size_t i = 0; i < CALLS; i++) {
        (void)start(i, MUTE, i % 2 == 0 ? 30 * LULL_SECOND : LULL_NEVER, 0);
    }
    driver_round(&driver, 0);
    lull_channel_close(channel);
    for (size_t i = 0; i < CALLS; i++) {
        (void)ends(&calls[i], LULL_CODE_UNAVAILABLE, i % 2 == 0);
    }
    ck_assert_int_eq(lull_channel_state(channel, false), LULL_STATE_SHUTDOWN);
}

static void flushed(void)
{
    struct test_call *c;
    check_echo(LULL_NEVER);
    c = start(0, ECHO, LULL_NEVER, 0);
    send_all(c, "at once");
    ck_assert_int_eq(lull_loop_flush(driver.loop), LULL_OK);
    lull_call_cancel(c->handle);
    ck_assert_int_eq(lull_loop_flush(driver.loop), LULL_OK);
    ck_assert_uint_eq(c->closed, 0);
    ck_assert(ends(c, LULL_CODE_CANCELLED, false));
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"unary calls", unary},
    {"a server's stream", server_stream},
    {"a client's stream", client_stream},
    {"both stream", both_stream},
    {"deadlines", deadlines},
    {"a read timeout", read_timeout},
    {"cancels", cancels},
    {"idle and wake", idle_and_wake},
    {"keepalive", keepalive_pings},
    {"a silent peer", silent_peer},
    {"reconnect", reconnect},
    {"close with calls", close_with_calls},
    {"flushed", flushed},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void run_scenario(const struct way *way, size_t n)
{
    driver_open(&driver, way->kind, way->ways, way->refuse_every, seed);
    open_server("127.0.0.1:0");
    lull_channel_options_init(&options);
    options.loop = driver.loop;
    options.allow_short_timers = true;
    open_channel();
    scenarios[n].run();
    lull_channel_unref(channel);
    lull_server_free(server);
    driver_round(&driver, 0);
    driver_close(&driver);
}

/* Each way runs the same scenarios, each with a seed of its own. */
START_TEST(who_drives_makes_no_difference)
{
    const struct way *way = &ways[_i];
    const struct lull_instant from = now();
    for (size_t n = 0; n < SCENARIOS; n++) {
        memset(&driver, 0, sizeof(driver));
        seed = (uint64_t)_i * 1000 + n;
        run_scenario(way, n);
    }
    printf("%s: %zu scenarios, seeds %d.., %lld ms\n", way->name, SCENARIOS, _i * 1000,
           (long long)(lull_instant_diff(now(), from) / LULL_MS));
}
END_TEST

static Suite *drivers_suite(void)
{
    Suite *suite = suite_create("drivers");
    TCase *cases = tcase_create("drivers");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, who_drives_makes_no_difference, 0, sizeof(ways) / sizeof(ways[0]));
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("drivers", drivers_suite)
