/* SPDX-License-Identifier: MIT */
/*
 * The log of a channel through its life in the simulated world (lull/log.h): every line that an operator reads, and none that costs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/life.h"
#include "tests/support/check_main.h"

#define LINES_MAX 64

static struct life life;

static struct {
    int level;
    char text[256];
} lines[LINES_MAX];
static size_t count, seen;

static void keep(void *ctx, const struct lull_log_line *line)
{
    ck_assert_ptr_eq(ctx, lines);
    ck_assert_uint_lt(count, LINES_MAX);
    ck_assert_str_eq(line->name, LIFE_ADDRESS);
    ck_assert_int_eq(line->at.ns, lull_clock_now(&life.sim.clock.base).ns);
    lines[count].level = (int)line->level;
    snprintf(lines[count].text, sizeof(lines[count].text), "%s", line->text);
    count++;
}

static void begin(int level)
{
    life_begin(&life, 11);
    life.options.trace.event = NULL;
    life.options.idle_timeout_ns = MS(3600000);
    life.options.log = (struct lull_log){keep, lines, level};
    count = seen = 0;
}

/* The next line of the log. */
static void expect(int level, const char *text)
{
    ck_assert_msg(seen < count, "no line: \"%s\" is missing", text);
    ck_assert_str_eq(lines[seen].text, text);
    ck_assert_int_eq(lines[seen].level, level);
    seen++;
}

static void expect_no_more(void)
{
    ck_assert_msg(seen == count, "a line that nobody expects: %s", lines[seen].text);
}

static void expect_connect(const char *attempt, const char *from)
{
    char text[256];
    if (*from != '\0') {
        snprintf(text, sizeof(text), "state: %s: 10.0.0.1:80", from);
        expect(LULL_LOG_INFO, text);
    }
    snprintf(text, sizeof(text), "dial: 10.0.0.1:80 attempt %s", attempt);
    expect(LULL_LOG_INFO, text);
}

static void call_ok(void)
{
    struct life_call call;
    life_call(&life, &call, LULL_NEVER, true);
    sim_settle(&life.sim);
    ck_assert_int_eq(call.code, LULL_CODE_OK);
}

/* GOAWAY(last stream 0, ENHANCE_YOUR_CALM, "too_many_pings"). */
static const uint8_t too_many_pings[] = {0,   0,   0x16, 7,   0,   0,    0,   0,   0,   0,   0,
                                         0,   0,   0,    0,   0,   0x0b, 't', 'o', 'o', '_', 'm',
                                         'a', 'n', 'y',  '_', 'p', 'i',  'n', 'g', 's'};

/* GOAWAY(last stream 0, an error code that no RFC lists, a newline and an escape). */
static const uint8_t hostile[] = {0, 0, 0x0e, 7,    0,    0,    0, 0,    0,   0,   0,  0,
                                  0, 0, 0,    0x12, 0x34, '\n', 0, 0x1b, '[', '2', 'J'};

START_TEST(an_operator_reads_what_became_of_each_connection)
{
    begin(0);
    life.options.keepalive_time_ns = MS(10000);
    life.options.keepalive_without_calls = true;
    life_open(&life);
    expect_no_more();

    /* refused, and then not */
    life.host->refuse_errno = ECONNREFUSED;
    (void)lull_channel_state(life.channel, true);
    sim_settle(&life.sim);
    expect_connect("1", "IDLE -> CONNECTING");
    expect(LULL_LOG_WARNING, "dial failed: 10.0.0.1:80 attempt 1: connection refused; next in 1 s");
    expect(LULL_LOG_INFO, "state: CONNECTING -> TRANSIENT_FAILURE: connection refused");
    life.host->refuse_errno = 0;
    sim_advance(&life.sim, MS(1000));
    expect_connect("2", "");
    expect(LULL_LOG_INFO, "connected: 10.0.0.1:80");
    expect(LULL_LOG_INFO, "settings: 10.0.0.1:80");
    expect(LULL_LOG_INFO, "state: TRANSIENT_FAILURE -> READY: 10.0.0.1:80");
    call_ok();
    expect_no_more();

    /* the server has had enough pings */
    ck_assert(peer_say(&life.peer, too_many_pings, sizeof(too_many_pings)));
    (void)peer_hang_up(&life.peer);
    sim_settle(&life.sim);
    expect(LULL_LOG_INFO, "goaway: 10.0.0.1:80: GOAWAY(ENHANCE_YOUR_CALM, \"too_many_pings\"), last stream 0");
    expect(LULL_LOG_WARNING, "10.0.0.1:80 says too_many_pings: keepalive time was 10 s, is 20 s for later connections");
    expect(LULL_LOG_INFO, "state: READY -> IDLE: GOAWAY(ENHANCE_YOUR_CALM, \"too_many_pings\")");
    expect_no_more();

    /* what a server says does not leave its line */
    sim_advance(&life.sim, MS(1000));
    call_ok();
    seen += 5;
    ck_assert(peer_say(&life.peer, hostile, sizeof(hostile)));
    sim_settle(&life.sim);
    expect(LULL_LOG_INFO, "goaway: 10.0.0.1:80: GOAWAY(error code 0x1234, \"\\x0a\\x00\\x1b[2J\"), last stream 0");
    expect(LULL_LOG_INFO, "state: READY -> IDLE: GOAWAY(error code 0x1234, \"\\x0a\\x00\\x1b[2J\")");

    /* lost, and closed */
    sim_advance(&life.sim, MS(1000));
    call_ok();
    seen += 5;
    ck_assert(peer_hang_up(&life.peer));
    sim_settle(&life.sim);
    expect(LULL_LOG_WARNING, "lost: 10.0.0.1:80: the peer closed the connection");
    expect(LULL_LOG_INFO, "state: READY -> IDLE: the peer closed the connection");
    life_end(&life);
    expect(LULL_LOG_INFO, "state: IDLE -> SHUTDOWN: channel closed");
    expect_no_more();
}
END_TEST

/* Keepalive's verdict and idle mode have their words too. */
START_TEST(a_dead_peer_and_idle_mode_are_told)
{
    begin(LULL_LOG_INFO);
    life.options.keepalive_time_ns = MS(10000);
    life.options.keepalive_timeout_ns = MS(5000);
    life.options.keepalive_without_calls = true;
    life_open(&life);
    call_ok();
    seen = count;
    life.peer.acks_pings = false;
    sim_advance(&life.sim, MS(15000));
    expect(LULL_LOG_WARNING, "lost: 10.0.0.1:80: keepalive: no answer to a PING within 5 s; last byte read 15000 ms ago");
    expect(LULL_LOG_INFO, "state: READY -> IDLE: keepalive: no answer to a PING within 5 s; last byte read 15000 ms ago");
    expect_no_more();
    life.peer.acks_pings = true;
    call_ok();
    seen = count;
    sim_advance(&life.sim, MS(3600000));
    expect(LULL_LOG_INFO, "state: READY -> IDLE: idle: no call for 3600 s");
    expect_no_more();
    life_end(&life);
}
END_TEST

START_TEST(calls_are_told_at_debug_with_their_number)
{
    begin(LULL_LOG_DEBUG);
    life_open(&life);
    call_ok();
    seen = 0;
    expect(LULL_LOG_DEBUG, "call 1 started: /sim.Service/Method");
    seen = count - 1;
    expect(LULL_LOG_DEBUG, "call 1 closed: OK");
    life_end(&life);
}
END_TEST

/* Off, or at the level of connections, a call makes no line, asks for no memory and reads no clock for it. */
START_TEST(a_call_pays_nothing_for_a_log_of_connections)
{
    uint64_t reads[2], allocations[2];
    for (int is_on = 0; is_on < 2; is_on++) {
        begin(LULL_LOG_INFO);
        if (is_on == 0) {
            life.options.log.line = NULL;
        }
        life_open(&life);
        for (int i = 0; i < 10; i++) {
            call_ok();
        }
        const size_t lines_before = count;
        const struct lull_counters before = sim_counters(&life.sim);
        for (int i = 0; i < 1000; i++) {
            call_ok();
        }
        const struct lull_counters after = sim_counters(&life.sim);
        reads[is_on] = after.clock_reads - before.clock_reads;
        allocations[is_on] = after.allocations - before.allocations;
        ck_assert_uint_eq(count, lines_before);
        life_end(&life);
    }
    ck_assert_uint_eq(reads[1], reads[0]);
    ck_assert_uint_eq(allocations[1], allocations[0]);
}
END_TEST

START_TEST(a_level_that_is_none_is_refused_by_name)
{
    struct lull_channel *channel;
    struct lull_error error;
    static const int levels[] = {-1, 8, 1000};
    begin(levels[_i]);
    ck_assert_int_eq(lull_channel_new(LIFE_ADDRESS, &life.options, &channel, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "option log.level is "));
    life.options.log.level = 0;
    life_open(&life);
    ck_assert_int_eq(lull_channel_effective_options(life.channel)->log.level, LULL_LOG_INFO);
    life_end(&life);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/log");
    TCase *t = tcase_create("log");
    tcase_add_test(t, an_operator_reads_what_became_of_each_connection);
    tcase_add_test(t, a_dead_peer_and_idle_mode_are_told);
    tcase_add_test(t, calls_are_told_at_debug_with_their_number);
    tcase_add_test(t, a_call_pays_nothing_for_a_log_of_connections);
    tcase_add_loop_test(t, a_level_that_is_none_is_refused_by_name, 0, 3);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/log", suite)
