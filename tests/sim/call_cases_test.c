/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of calls and of keepalive to their numbers, on a whole channel.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "channel/channel.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define S(x) ((x)*LULL_SECOND)

static struct life life;

static void begin(void)
{
    life_begin(&life, 7);
    life.options.allow_short_timers = true;
    life.options.idle_timeout_ns = LULL_NEVER;
}

static void expect_line(const struct life_call *call, const char *part)
{
    ck_assert_msg(strstr(call->line, part) != NULL, "no \"%s\" in \"%s\"", part, call->line);
}

/* scenarios 52, 130: a dormant connection and a call at T - 1, T and T + 1 of its silence */
START_TEST(a_dormant_connection_is_probed_from_exactly_the_keepalive_time_on)
{
    for (int64_t by_ns = -1; by_ns <= 1; by_ns++) {
        struct life_call call;
        begin();
        life.options.keepalive_time_ns = 1000;
        life.options.keepalive_timeout_ns = 2000;
        life.peer.replies = false;
        life_open(&life);
        (void)lull_channel_state(life.channel, true);
        sim_settle(&life.sim);
        ck_assert_int_eq(life.peer.byte_out_ns, 0);
        life_at(&life, 1000 + by_ns);
        ck_assert_uint_eq(life.peer.pings, 0);
        life_call(&life, &call, LULL_NEVER, false);
        sim_settle(&life.sim);
        ck_assert_uint_eq(life.peer.requests, 1);
        ck_assert_uint_eq(life.peer.pings_before_headers, by_ns < 0 ? 0 : 1);
        life_end(&life);
    }
}
END_TEST

/* scenario 197; RULINGS 3: on the hot path the timer is cancelled softly, and dies without a word */
START_TEST(a_cancel_ends_the_deadline_too)
{
    struct life_call call;
    begin();
    life.peer.replies = false;
    life_open(&life);
    life_call(&life, &call, S(1), false);
    life_at(&life, MS(500));
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 1);
    lull_call_cancel(call.handle);
    sim_settle(&life.sim);
    life_expect_call(&call, LULL_CODE_CANCELLED, MS(500));
    struct lull_counters before = sim_counters(&life.sim);
    life_at(&life, S(10));
    struct lull_counters after = sim_counters(&life.sim);
    ck_assert_uint_le(after.timer_fires, before.timer_fires + 1);
    ck_assert_uint_eq(after.timer_arms, before.timer_arms);
    ck_assert_uint_eq(after.timers_armed, 0);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_uint_eq(life.peer.resets, 1);
    life_end(&life);
}
END_TEST

/* scenario 201, C18 (a) and (b): address, errno's words, how many attempts and when the next is */
START_TEST(a_deadline_while_refused_counts_the_attempts_and_names_the_next)
{
    struct life_call plain;
    struct life_call waiting;
    begin();
    life.host->refuse_errno = ECONNREFUSED;
    life.host->connect_after_ns = MS(1);
    life_open(&life);
    life_call(&life, &waiting, MS(900), true);
    life_call(&life, &plain, MS(900), false);
    life_at(&life, MS(1));
    life_expect_call(&plain, LULL_CODE_UNAVAILABLE, MS(1));
    expect_line(&plain, LIFE_ADDRESS);
    expect_line(&plain, "connection refused");
    life_at(&life, MS(900) - 1);
    ck_assert_uint_eq(waiting.done, 0);
    sim_advance(&life.sim, 1);
    life_expect_call(&waiting, LULL_CODE_DEADLINE_EXCEEDED, MS(900));
    expect_line(&waiting, LIFE_ADDRESS);
    expect_line(&waiting, "(attempt 1 failed: connection refused; next in 100 ms)");
    ck_assert_uint_eq(life.host->dials, 1);
    life_end(&life);
}
END_TEST

/* scenario 204: the wait of 10 s would pass the deadline at 3 s */
START_TEST(a_wait_past_the_deadline_makes_no_extra_attempt_for_the_call)
{
    struct life_call call;
    begin();
    life.host->refuse_errno = ECONNREFUSED;
    life.options.backoff_initial_ns = S(10);
    life_open(&life);
    life_call(&life, &call, S(3), true);
    life_at(&life, S(3) - 1);
    ck_assert_uint_eq(call.done, 0);
    sim_advance(&life.sim, 1);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, S(3));
    expect_line(&call, "next in 7 s");
    life_at(&life, S(10) - 1);
    ck_assert_uint_eq(life.host->dials, 1);
    life_end(&life);
}
END_TEST

/* C13: timeouts that are over before they begin, on a channel in idle mode and on a READY one, waiting or not */
START_TEST(expired_timeouts_end_by_the_executor_and_touch_nothing)
{
    static const int64_t timeouts[] = {0, -1, -S(10), INT64_MIN};
    struct life_call warm;
    begin();
    life_open(&life);
    for (int is_ready = 0; is_ready <= 1; is_ready++) {
        unsigned dials = life.host->dials;
        uint64_t bytes = life.peer.bytes_in;
        for (size_t i = 0; i < 8; i++) {
            struct life_call call;
            life_call(&life, &call, timeouts[i / 2], i % 2 == 1);
            ck_assert_uint_eq(call.done, 0); /* never inline */
            sim_settle(&life.sim);
            life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, 0);
        }
        ck_assert_uint_eq(life.host->dials, dials);
        ck_assert_uint_eq(life.peer.bytes_in, bytes);
        ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 0);
        if (!is_ready) {
            life_call(&life, &warm, LULL_NEVER, false);
            sim_settle(&life.sim);
            life_expect_call(&warm, LULL_CODE_OK, 0);
        }
    }
    life_end(&life);
}
END_TEST

/* ---- C11 */

static unsigned messages;

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)message;
    (void)ctx;
    messages++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    ck_assert_int_eq(status->code, LULL_CODE_UNAVAILABLE); /* the channel is closed in the end */
}

static void say_headers(uint32_t stream, bool is_trailers_only)
{
    static const uint8_t fields[] = "\x88\x0f\x10\x10" "application/grpc" "\x00\x0bgrpc-status\x01" "0";
    struct buf frames;
    buf_init(&frames, NULL, 0);
    ck_assert_int_eq(frame_put(&frames, FRAME_HEADERS,
                               is_trailers_only ? FRAME_END_HEADERS | FRAME_END_STREAM
                                                : FRAME_END_HEADERS,
                               stream, fields, is_trailers_only ? sizeof(fields) - 1 : 20),
                     0);
    ck_assert(peer_say(&life.peer, buf_data(&frames), buf_len(&frames)));
    buf_fini(&frames);
    sim_settle(&life.sim);
}

/* 16 KiB as one message, and a PING of the server's. */
static void say_message_and_ping(uint32_t stream)
{
    static const uint8_t payload[16384] = {0, 0, 0, 0x3f, 0xfb};
    struct buf frames;
    buf_init(&frames, NULL, 0);
    ck_assert_int_eq(frame_put(&frames, FRAME_DATA, 0, stream, payload, sizeof(payload)), 0);
    ck_assert_int_eq(frame_put(&frames, FRAME_PING, 0, 0, "12345678", 8), 0);
    ck_assert(peer_say(&life.peer, buf_data(&frames), buf_len(&frames)));
    buf_fini(&frames);
    sim_settle(&life.sim);
}

/* C11: keepalive unset, 10 000 trailers-only calls, then 1 MB on one stream through an hour */
START_TEST(keepalive_that_is_off_pings_no_whole_channel)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    unsigned calls = test_rounds(10000, 300);
    uint32_t stream = 1;
    begin();
    life.options.trace.event = NULL;
    life.peer.replies = false;
    life_open(&life);
    for (unsigned i = 0; i < calls; i++, stream += 2) {
        struct life_call call;
        life_call(&life, &call, LULL_NEVER, false);
        sim_settle(&life.sim);
        say_headers(stream, true);
        ck_assert_uint_eq(call.done, 1);
    }
    messages = 0;
    lull_call_options_init(&options, "/sim.Service/Method");
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(life.channel, &options, &handler, NULL, NULL, NULL), LULL_OK);
    sim_settle(&life.sim);
    say_headers(stream, false);
    for (int i = 0; i < 64; i++) {
        sim_advance(&life.sim, S(3600) / 64);
        say_message_and_ping(stream);
    }
    ck_assert_int_eq(sim_elapsed_ns(&life.sim), S(3600));
    ck_assert_uint_eq(messages, 64);
    ck_assert_uint_eq(life.peer.pings, 0);
    ck_assert_uint_eq(life.peer.ping_acks, 64);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    life_end(&life);
}
END_TEST

static Suite *call_cases_suite(void)
{
    Suite *suite = suite_create("sim/call_cases");
    TCase *tcase = tcase_create("call_cases");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_dormant_connection_is_probed_from_exactly_the_keepalive_time_on);
    tcase_add_test(tcase, a_cancel_ends_the_deadline_too);
    tcase_add_test(tcase, a_deadline_while_refused_counts_the_attempts_and_names_the_next);
    tcase_add_test(tcase, a_wait_past_the_deadline_makes_no_extra_attempt_for_the_call);
    tcase_add_test(tcase, expired_timeouts_end_by_the_executor_and_touch_nothing);
    tcase_add_test(tcase, keepalive_that_is_off_pings_no_whole_channel);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/call_cases", call_cases_suite)
