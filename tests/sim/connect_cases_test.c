/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of names, connecting and backing off to their numbers, on a whole channel with a scripted resolver.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/unit/channel/town.h"

static struct town town;
static struct life *const life = &town.life;

static const uint8_t f1_settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};

static void at(int64_t ms)
{
    life_at(life, MS(ms));
    town_expect_next_step(&town);
}

static void begin(void)
{
    town_begin(&town);
    town_open(&town, TOWN_TARGET);
}

static int64_t dialled_ms(const struct sim_host *host)
{
    return lull_instant_diff(host->dialled_at, life->sim.began_at) / LULL_MS;
}

/* C24 to its numbers: a black-holed IPv6 beside IPv4, and the server that moves after a minute */
START_TEST(a_black_hole_costs_250_ms_and_a_move_one_question)
{
    struct life_call call;
    begin();
    town.name->addrs = "::1 10.0.0.1";
    town.hosts[3]->connect_after_ns = LULL_NEVER;
    town.hosts[0]->connect_after_ns = MS(20);
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    ck_assert_uint_eq(town.hosts[3]->dials, 1);
    at(249);
    ck_assert_uint_eq(town.hosts[0]->dials, 0);
    at(250);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    at(269);
    ck_assert_int_ne(life_state(life), LULL_STATE_READY);
    at(270);
    life_expect_call(&call, LULL_CODE_OK, MS(270));
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    ck_assert_ptr_null(life->sim.dials); /* the attempt at the black hole is given up */
    at(59999);
    ck_assert_uint_eq(town.names.questions, 1);
    town.name->addrs = "10.0.0.2";
    town.name->after_ns = MS(5);
    at(60000);
    town_lose(&town);
    ck_assert_uint_eq(town.names.questions, 2);
    life_call(life, &call, LULL_NEVER, true);
    at(60004);
    ck_assert_uint_eq(call.done, 0);
    at(60005);
    life_expect_call(&call, LULL_CODE_OK, MS(60005));
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    ck_assert_uint_le(town.hosts[0]->dials, 2);
    ck_assert_uint_eq(town.hosts[1]->dials, 1);
    at(180000);
    ck_assert_uint_eq(town.names.questions, 2);
    ck_assert_uint_eq(peer_open_connections(&life->peer), 1);
    town_end(&town);
}
END_TEST

/* C17 with each of its parts in one life: DNS at 400, TCP at 700, SETTINGS at 900, the deadline at 1 000 */
START_TEST(one_budget_goes_over_the_name_the_dial_the_greeting_and_the_wire)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(400);
    town.hosts[0]->connect_after_ns = MS(300);
    life->peer.sends_settings = false;
    life->peer.replies = false;
    life_call(life, &call, MS(1000), false);
    at(399);
    ck_assert_uint_eq(town.hosts[0]->dials, 0);
    at(400);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    at(900);
    ck_assert_int_eq(life->peer.accepted_ns, MS(700));
    ck_assert_uint_eq(life->peer.requests, 0);
    ck_assert(peer_say(&life->peer, f1_settings, sizeof(f1_settings)));
    sim_settle(&life->sim);
    ck_assert_int_eq(life->peer.request_ns, MS(900));
    life_at(life, MS(1000) - 1);
    ck_assert_uint_eq(call.done, 0);
    ck_assert_uint_eq(life->peer.resets, 0);
    at(1000);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1000));
    ck_assert_uint_eq(life->peer.resets, 1);
    town_expect_line(&call, "[resolving 400 ms, connecting 300 ms, settings 200 ms, waiting 100 ms]");
    town_end(&town);
}
END_TEST

/* C19: the sixth attempt is greeted and loses its connection 10 ms later; the curve is at its beginning again */
START_TEST(a_greeting_of_10_ms_takes_the_curve_back_to_a_second)
{
    static const struct peer_step at_once[] = {{.kind = PEER_CLOSE, .at_ns = 0}};
    static const struct peer_step later[] = {{.kind = PEER_CLOSE, .at_ns = MS(10)}};
    struct life_call call;
    begin();
    life->peer.sends_settings = false;
    life->peer.replies = false;
    life->peer.script = at_once;
    life->peer.script_len = 1;
    life_call(life, &call, LULL_NEVER, true);
    at(15809);
    ck_assert_uint_eq(town.hosts[0]->dials, 5);
    ck_assert_int_eq(dialled_ms(town.hosts[0]), 9256);
    life->peer.sends_settings = true;
    life->peer.script = later;
    at(15811);
    ck_assert_uint_eq(town.hosts[0]->dials, 6);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    life->peer.sends_settings = false;
    life->peer.script = at_once;
    at(15821);
    ck_assert_int_ne(life_state(life), LULL_STATE_READY);
    /* The call went out with the greeting: it is lost with the connection, as it may have been seen (C22). */
    ck_assert_int_eq(call.code, LULL_CODE_UNAVAILABLE);
    life_call(life, &call, LULL_NEVER, true);
    /* Not within 800 ms of the last start (RULINGS 10); then waits of 1 s and 1.6 s. */
    at(19300);
    ck_assert_uint_eq(town.hosts[0]->dials, 9);
    ck_assert_int_le(llabs(dialled_ms(town.hosts[0]) - (15810 + 800 + 1000 + 1600)), 1);
    town_end(&town);
}
END_TEST

/* scenario 152: what is asked for within a wait changes nothing; each failure is told as it is; after a loss all begins anew */
START_TEST(one_address_fails_twice_connects_and_starts_afresh_after_its_loss)
{
    struct life_call call, waiting;
    begin();
    town.name->addrs = "10.0.0.1";
    town_refuse(&town, 0);
    life_call(life, &waiting, LULL_NEVER, true);
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, 0);
    town_expect_line(&call, "connection refused; next in 1 s");
    for (int64_t ms = 100; ms <= 999; ms += 100) {
        at(ms);
        (void)lull_channel_state(life->channel, true);
        life_call(life, &call, LULL_NEVER, false);
        at(ms + 1);
        life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(ms));
    }
    at(999);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    town.hosts[0]->refuse_errno = EHOSTUNREACH;
    at(1000);
    ck_assert_uint_eq(town.hosts[0]->dials, 2);
    life_call(life, &call, LULL_NEVER, false);
    sim_settle(&life->sim);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(1000));
    town_expect_line(&call, "no route to host; next in 1.6 s");
    at(2598);
    ck_assert_uint_eq(town.hosts[0]->dials, 2);
    town.hosts[0]->refuse_errno = 0;
    at(2601);
    ck_assert_uint_eq(town.hosts[0]->dials, 3);
    ck_assert_int_eq(waiting.code, LULL_CODE_OK);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    town_lose(&town);
    ck_assert_int_eq(life_state(life), LULL_STATE_IDLE);
    life_call(life, &call, LULL_NEVER, false);
    sim_settle(&life->sim);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(2601));
    town_expect_line(&call, "connection refused; next in 1 s");
    town_end(&town);
}
END_TEST

/* scenarios 164 and 180 */
START_TEST(a_server_that_starts_is_found_within_a_wait_and_a_mute_one_is_left_at_its_limit)
{
    struct life_call call;
    town_begin(&town);
    life->options.backoff_initial_ns = MS(100);
    life->options.min_connect_timeout_ns = MS(100);
    life->options.allow_short_timers = true;
    town_open(&town, TOWN_TARGET);
    town_refuse(&town, 0);
    life_call(life, &call, LULL_NEVER, true);
    at(50);
    town.hosts[0]->refuse_errno = 0;
    at(99);
    ck_assert_uint_eq(call.done, 0);
    at(100);
    life_expect_call(&call, LULL_CODE_OK, MS(100));
    ck_assert(peer_hang_up(&life->peer));
    life->peer.sends_settings = false;
    at(2000);
    life_call(life, &call, LULL_NEVER, false);
    at(2099);
    ck_assert_int_eq(life_state(life), LULL_STATE_CONNECTING);
    at(2100);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(2100));
    ck_assert_int_eq(life_state(life), LULL_STATE_TRANSIENT_FAILURE);
    town_end(&town);
}
END_TEST

static Suite *connect_cases_suite(void)
{
    Suite *suite = suite_create("sim/connect_cases");
    TCase *tcase = tcase_create("connect_cases");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_black_hole_costs_250_ms_and_a_move_one_question);
    tcase_add_test(tcase, one_budget_goes_over_the_name_the_dial_the_greeting_and_the_wire);
    tcase_add_test(tcase, a_greeting_of_10_ms_takes_the_curve_back_to_a_second);
    tcase_add_test(tcase, one_address_fails_twice_connects_and_starts_afresh_after_its_loss);
    tcase_add_test(tcase, a_server_that_starts_is_found_within_a_wait_and_a_mute_one_is_left_at_its_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/connect_cases", connect_cases_suite)
