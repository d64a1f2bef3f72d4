/* SPDX-License-Identifier: MIT */
/*
 * The idle scenarios of the catalogue to their numbers, on a whole channel: I = 30 s and what is due at which nanosecond.
 */
#include <string.h>

#include "channel/channel.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define S(x) ((x)*LULL_SECOND)

static struct life life;

static void begin(int64_t idle_ns)
{
    life_begin(&life, 7);
    life.options.idle_timeout_ns = idle_ns;
    life.options.allow_short_timers = true;
}

static void expect_idle_at(int64_t at_ns)
{
    life_at(&life, at_ns - 1);
    ck_assert(!life_stats(&life).is_in_idle_mode);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
}

static void start_and_cancel(struct life_call *call)
{
    life_call(&life, call, LULL_NEVER, false);
    sim_settle(&life.sim);
    lull_call_cancel(call->handle);
    sim_settle(&life.sim);
    life_expect_call(call, LULL_CODE_CANCELLED, sim_elapsed_ns(&life.sim));
}

/* scenario 72 */
START_TEST(cancelled_calls_put_it_off_to_59_s)
{
    struct life_call first;
    struct life_call second;
    begin(S(30));
    life.peer.replies = false;
    life_open(&life);
    start_and_cancel(&first);
    life_at(&life, S(29));
    ck_assert_uint_eq(peer_open_connections(&life.peer), 1);
    start_and_cancel(&second);
    expect_idle_at(S(59));
    ck_assert_uint_eq(life.host->dials, 1);
    life_end(&life);
}
END_TEST

/* scenario 73 */
START_TEST(a_call_that_waits_for_60_s_puts_it_off_to_90_s)
{
    struct life_call call;
    begin(S(30));
    life.host->connect_after_ns = LULL_NEVER;
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, true);
    life_at(&life, S(60));
    ck_assert(!life_stats(&life).is_in_idle_mode);
    ck_assert_uint_eq(call.done, 0);
    lull_call_cancel(call.handle);
    sim_settle(&life.sim);
    life_expect_call(&call, LULL_CODE_CANCELLED, S(60));
    expect_idle_at(S(90));
    life_end(&life);
}
END_TEST

/* scenario 76: it waits for a connection, then for an answer, and holds it off in both and between */
START_TEST(a_call_that_moves_to_a_connection_holds_it_off_until_its_end)
{
    struct life_call call;
    begin(S(30));
    life.host->connect_after_ns = S(5);
    life.peer.reply_after_ns = S(60);
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    life_at(&life, S(5));
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    ck_assert_int_eq(life_stats(&life).idle_after_ns, LULL_NEVER);
    life_at(&life, S(65));
    life_expect_call(&call, LULL_CODE_OK, S(65));
    expect_idle_at(S(95));
    life_end(&life);
}
END_TEST

/* scenario 82: by the timer, out of CONNECTING */
START_TEST(the_timer_takes_a_channel_out_of_connecting)
{
    begin(S(2));
    life.host->connect_after_ns = LULL_NEVER;
    life_open(&life);
    (void)lull_channel_state(life.channel, true);
    life_at(&life, S(2) - 1);
    ck_assert_int_eq(life_state(&life), LULL_STATE_CONNECTING);
    expect_idle_at(S(2));
    ck_assert_uint_eq(life.states.count, 2);
    life_expect(&life.states, 1, S(2), "CONNECTING -> IDLE");
    life_end(&life);
}
END_TEST

/* scenario 97 */
START_TEST(woken_without_a_call_it_is_idle_after_500_ms)
{
    begin(MS(500));
    life_open(&life);
    (void)lull_channel_state(life.channel, true);
    sim_settle(&life.sim);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    expect_idle_at(MS(500));
    life_end(&life);
}
END_TEST

/* scenario 109 */
START_TEST(a_call_cancelled_before_any_attempt_ends_once_and_counts)
{
    struct life_call call;
    begin(S(1));
    life_open(&life);
    life_call(&life, &call, LULL_NEVER, false);
    lull_call_cancel(call.handle);
    ck_assert_uint_eq(call.done, 0); /* never inline */
    sim_settle(&life.sim);
    life_expect_call(&call, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(life_stats(&life).calls, 0);
    ck_assert_uint_eq(life.host->dials, 0);
    expect_idle_at(S(1));
    ck_assert_uint_eq(call.done, 1);
    life_end(&life);
}
END_TEST

/* Enters and leaves by turns, beginning with a leave. Returns how often it entered. */
static unsigned count_entries(void)
{
    unsigned entries = 0;
    bool is_idle = true;
    for (size_t i = 0; i < life.states.count; i++) {
        const char *text = life.states.lines[i].text;
        if (strncmp(text, "IDLE -> ", 8) == 0) {
            ck_assert(is_idle);
            is_idle = false;
        } else if (strstr(text, " -> IDLE") != NULL) {
            ck_assert(!is_idle);
            is_idle = true;
            entries++;
        }
    }
    ck_assert(!is_idle);
    return entries;
}

/* One round: the timer is due at 10 ms, five calls start in the ns before, at and after it. */
static unsigned race(uint64_t seed)
{
    struct life_call first;
    struct life_call racers[5];
    int64_t last_ns = 0;
    life_begin(&life, seed);
    life.options.allow_short_timers = true;
    life.options.idle_timeout_ns = MS(10);
    life_open(&life);
    life_call(&life, &first, LULL_NEVER, false);
    sim_settle(&life.sim);
    life_expect_call(&first, LULL_CODE_OK, 0);
    life_at(&life, MS(10) - 1);
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    for (size_t i = 0; i < 5; i++) {
        int64_t by_ns = (int64_t)sim_below(&life.sim, 2);
        if (sim_below(&life.sim, 2) == 0) {
            sim_advance(&life.sim, by_ns);
        } else {
            life.sim.clock.mono_at.ns += by_ns; /* later, and nobody has had a turn yet */
        }
        life_call(&life, &racers[i], LULL_NEVER, false);
        if (sim_below(&life.sim, 2) == 0) {
            sim_settle(&life.sim);
        }
    }
    sim_advance(&life.sim, MS(5));
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(racers[i].done, 1);
        ck_assert_int_eq(racers[i].code, LULL_CODE_OK);
        last_ns = racers[i].at_ns > last_ns ? racers[i].at_ns : last_ns;
    }
    unsigned entries = count_entries();
    ck_assert_uint_le(entries, 1);
    ck_assert_uint_eq(life.host->dials, 1 + entries);
    expect_idle_at(last_ns + MS(10));
    life_end(&life);
    return entries;
}

/* scenario 101: five calls and the timer, twenty seeds and more; it enters before they begin or not at all */
START_TEST(the_timer_races_with_five_calls_a_nanosecond_either_way)
{
    unsigned rounds = test_rounds(400, 20);
    unsigned entered = 0;
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        entered += race(seed);
    }
    ck_assert_uint_gt(entered, 0);
    ck_assert_uint_lt(entered, rounds);
}
END_TEST

static Suite *idle_cases_suite(void)
{
    Suite *suite = suite_create("sim/idle_cases");
    TCase *tcase = tcase_create("idle_cases");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, cancelled_calls_put_it_off_to_59_s);
    tcase_add_test(tcase, a_call_that_waits_for_60_s_puts_it_off_to_90_s);
    tcase_add_test(tcase, a_call_that_moves_to_a_connection_holds_it_off_until_its_end);
    tcase_add_test(tcase, the_timer_takes_a_channel_out_of_connecting);
    tcase_add_test(tcase, woken_without_a_call_it_is_idle_after_500_ms);
    tcase_add_test(tcase, a_call_cancelled_before_any_attempt_ends_once_and_counts);
    tcase_add_test(tcase, the_timer_races_with_five_calls_a_nanosecond_either_way);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/idle_cases", idle_cases_suite)
