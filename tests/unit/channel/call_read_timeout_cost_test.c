/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_timeouts.c: what a read timeout costs, and whose it is (RULINGS 15, 17).
 */
#include <pthread.h>
#include <string.h>

#include "channel/call.h"
#include "lull/recycler.h"
#include "tests/support/check_main.h"
#include "told.h"

#define S LULL_SECOND

static struct rig rig;
static struct server server;
static struct told a, b;
static struct rig_call unary;

static void begin_with(struct rig_step step)
{
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&unary, 0, sizeof(unary));
}

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    begin_with(step);
    rig_open(&rig);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

/* An open stream; the server is silent. */
static struct peer *begin_stream(int64_t timeout_ns, int64_t read_timeout_ns)
{
    begin();
    told_start_with(&rig, &a, timeout_ns, read_timeout_ns);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void call_unary(int64_t timeout_ns, int64_t read_timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    options.read_timeout_ns = read_timeout_ns;
    rig_call(&rig, &unary, &options);
}

static void expect_read_timeout(const struct told *told, int64_t at_ns)
{
    told_expect(told, LULL_CODE_DEADLINE_EXCEEDED, NULL);
    ck_assert_int_eq(told->failure.reason, LULL_REASON_READ_TIMEOUT);
    ck_assert_int_eq(told->at_ns, at_ns);
}

/* ---- RULINGS 15 */

START_TEST(one_that_cannot_matter_costs_nothing)
{
    static const struct {
        int64_t timeout_ns, read_timeout_ns, channel_ns;
        uint64_t arms, fires; /* until the deadline has fired */
    } rows[] = {
        {LULL_NEVER, LULL_NEVER, LULL_NEVER, 0, 0},
        {LULL_NEVER, 0, LULL_NEVER, 0, 0},
        {LULL_NEVER, LULL_NEVER, 5 * S, 0, 0}, /* the call's own word: none */
        {10 * S, LULL_NEVER, LULL_NEVER, 1, 1},
        {10 * S, 10 * S, LULL_NEVER, 1, 1}, /* not shorter */
        {10 * S, 11 * S, LULL_NEVER, 1, 1},
        {10 * S, 0, 10 * S, 1, 1},
        {10 * S, 4 * S, LULL_NEVER, 4, 4}, /* 4 s; from 3 s: 7; from 6: 10, the deadline */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin();
        rig.channel->options.read_timeout_ns = rows[i].channel_ns;
        told_start_with(&rig, &b, LULL_NEVER, LULL_NEVER); /* connects */
        rig_settle(&rig);
        struct lull_counters before = rig_counters(&rig);
        told_start_with(&rig, &a, rows[i].timeout_ns, rows[i].read_timeout_ns);
        rig_settle(&rig);
        struct peer *peer = rig_peer(&rig, 0);
        rig_advance_to(&rig, 3 * S);
        server_headers(peer, 3);
        rig_advance_to(&rig, 6 * S);
        server_send(peer, 3, "x", 1);
        rig_advance_to(&rig, 20 * S);
        struct lull_counters after = rig_counters(&rig);
        if (rows[i].timeout_ns == LULL_NEVER) {
            ck_assert_uint_eq(a.closed, 0);
        } else {
            ck_assert_msg(a.closed == 1 && a.failure.reason == LULL_REASON_DEADLINE, "row %zu: %s",
                          i, a.line);
        }
        ck_assert_msg(after.timer_arms - before.timer_arms <= rows[i].arms, "row %zu: %llu arms", i,
                      (unsigned long long)(after.timer_arms - before.timer_arms));
        ck_assert_msg(after.timer_fires - before.timer_fires <= rows[i].fires,
                      "row %zu: %llu fires", i,
                      (unsigned long long)(after.timer_fires - before.timer_fires));
        end();
    }
}
END_TEST

/* ---- RULINGS 17 */

START_TEST(a_retry_keeps_the_entry_and_closes_the_window)
{
    struct peer *peer = begin_stream(60 * S, 5 * S);
    rig_advance_to(&rig, 3 * S);
    uint64_t arms = rig_counters(&rig).timer_arms;
    uint64_t disarms = rig_counters(&rig).timer_disarms;
    peer_rst(peer, 1, 7);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count(peer, FRAME_HEADERS), 2);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, arms);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, disarms);
    rig_advance_to(&rig, 100 * S);
    expect_read_timeout(&a, 8 * S);
    end();
}
END_TEST

START_TEST(a_drain_to_another_connection_keeps_it_too)
{
    struct rig_step first = {.what = RIG_ACCEPT};
    struct rig_step second = {.what = RIG_ACCEPT, .after_ns = 10 * S};
    begin_with(first);
    rig_step(&rig, second);
    rig_open(&rig);
    told_start_with(&rig, &a, 60 * S, 5 * S);
    rig_advance_to(&rig, 2 * S);
    peer_goaway(rig_peer(&rig, 0), 0, 0, "");
    rig_advance_to(&rig, 12 * S); /* it waits for a connection: nobody is silent */
    ck_assert_uint_eq(a.closed, 0);
    ck_assert_uint_eq(rig.attempt_count, 2);
    rig_advance_to(&rig, 100 * S);
    expect_read_timeout(&a, 17 * S);
    end();
}
END_TEST

static void *turn_elsewhere(void *arg)
{
    (void)arg;
    (void)lull_executor_turn_now(rig.executor);
    return NULL;
}

START_TEST(a_change_of_driving_thread_keeps_it)
{
    pthread_t thread;
    (void)begin_stream(60 * S, 5 * S);
    rig_advance_to(&rig, 3 * S);
    const struct lull_counters before = rig_counters(&rig);
    ck_assert_int_eq(pthread_create(&thread, NULL, turn_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    rig_settle(&rig);
    ck_assert_uint_eq(rig_counters(&rig).turns, before.turns + 1);
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, before.timer_arms);
    ck_assert_uint_eq(rig_counters(&rig).timer_disarms, before.timer_disarms);
    rig_advance_to(&rig, 100 * S);
    expect_read_timeout(&a, 5 * S);
    end();
}
END_TEST

START_TEST(nothing_armed_pins_a_finished_call)
{
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    struct peer *peer = begin_stream(600 * S, 5 * S);
    peer_answer(peer, 1, "x");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, NULL);
    ck_assert_uint_le(rig_counters(&rig).timers_armed, 1); /* the lane's, left to the next call */
    lull_recycler_stats(rig.channel->recycler, &stats);
    ck_assert_uint_eq(stats.in_use, 0);
    end();
}
END_TEST

/* ---- what it costs */

START_TEST(a_byte_is_a_store_and_a_window_one_arm)
{
    struct peer *peer = begin_stream(LULL_NEVER, 5 * S);
    server_headers(peer, 1);
    rig_settle(&rig);
    struct lull_counters before = rig_counters(&rig);
    for (int i = 0; i < 1000; i++) {
        server_send(peer, 1, "x", 1);
        rig_advance(&rig, 100 * LULL_MS);
    }
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(a.messages, 1000);
    ck_assert_uint_le(after.timer_arms - before.timer_arms, 100 / 5 + 1);
    ck_assert_uint_le(after.timer_fires - before.timer_fires, 100 / 5 + 1);
    ck_assert_uint_eq(after.timer_disarms - before.timer_disarms, 0);
    end();
}
END_TEST

START_TEST(a_steady_call_with_both_timeouts_does_no_timer_work)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    begin_with(step);
    rig.on_request = rig_answer_hello;
    rig.on_data = NULL;
    rig_open(&rig);
    for (int i = 0; i < 20; i++) {
        call_unary(60 * S, 5 * S);
        rig_settle(&rig);
    }
    struct lull_counters before = rig_counters(&rig);
    for (int i = 0; i < 1000; i++) {
        call_unary(60 * S, 5 * S);
        rig_settle(&rig);
        rig_expect(&unary, LULL_CODE_OK, 0);
    }
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(after.timer_arms - before.timer_arms, 0);
    ck_assert_uint_eq(after.timer_disarms - before.timer_disarms, 0);
    ck_assert_uint_eq(after.timer_fires - before.timer_fires, 0);
    end();
}
END_TEST

static Suite *call_read_timeout_cost_suite(void)
{
    Suite *suite = suite_create("call_read_timeout_cost");
    TCase *tcase = tcase_create("call_read_timeout_cost");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, one_that_cannot_matter_costs_nothing);
    tcase_add_test(tcase, a_retry_keeps_the_entry_and_closes_the_window);
    tcase_add_test(tcase, a_drain_to_another_connection_keeps_it_too);
    tcase_add_test(tcase, a_change_of_driving_thread_keeps_it);
    tcase_add_test(tcase, nothing_armed_pins_a_finished_call);
    tcase_add_test(tcase, a_byte_is_a_store_and_a_window_one_arm);
    tcase_add_test(tcase, a_steady_call_with_both_timeouts_does_no_timer_work);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_read_timeout_cost", call_read_timeout_cost_suite)
