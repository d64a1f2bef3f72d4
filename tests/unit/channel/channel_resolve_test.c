/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_resolve.c: when a name is asked for and what the answers do, on a fake clock with a scripted resolver.
 */
#include "tests/support/check_main.h"
#include "town.h"

#define NO_NAME "NXDOMAIN (c-ares: Domain name not found; asked 127.0.0.1:5353)"

static struct town town;
static struct life *const life = &town.life;

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

static uint64_t armed(void)
{
    return sim_counters(&life->sim).timers_armed;
}

/* ---- the first question */

/* scenario 70 */
START_TEST(a_name_is_not_asked_for_before_somebody_needs_it)
{
    begin();
    at(3600000);
    ck_assert_uint_eq(town.names.questions, 0);
    ck_assert_uint_eq(armed(), 0);
    town_call_now(&town);
    ck_assert_uint_eq(town.names.questions, 1);
    town_end(&town);
}
END_TEST

/* scenario 174; C17: the time goes to "resolving" */
START_TEST(the_channel_is_connecting_while_its_name_is_resolved)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(400);
    life_call(life, &call, MS(1000), false);
    at(399);
    ck_assert_int_eq(life_state(life), LULL_STATE_CONNECTING);
    life_expect(&life->states, 0, 0, "IDLE -> CONNECTING: resolving svc.test");
    ck_assert_uint_eq(life->host->dials, 0);
    town.hosts[0]->connect_after_ns = MS(700);
    at(1000);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1000));
    town_expect_line(&call, "connecting to 10.0.0.1:80");
    town_expect_line(&call, "[resolving 400 ms, connecting 600 ms]");
    town_end(&town);
}
END_TEST

/* scenario 193: what the names took is told at the end, as the time of a phase */
START_TEST(the_time_that_resolving_took_is_told)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(1200);
    town.hosts[0]->connect_after_ns = LULL_NEVER;
    life_call(life, &call, MS(1300), false);
    at(1300);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1300));
    town_expect_line(&call, "[resolving 1.2 s, connecting 100 ms]");
    town_end(&town);
}
END_TEST

/* C17, the variant with a silent name server */
START_TEST(a_deadline_while_resolving_says_so)
{
    struct life_call call;
    begin();
    town.name->after_ns = LULL_NEVER;
    life_call(life, &call, MS(1000), false);
    at(1000);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1000));
    town_expect_line(&call, "resolving svc.test");
    town_end(&town);
}
END_TEST

/* C13: what has no time asks nobody */
START_TEST(a_call_without_time_asks_no_question)
{
    struct life_call call;
    begin();
    life_call(life, &call, 0, false);
    at(10);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, 0);
    ck_assert_uint_eq(town.names.questions, 0);
    town_end(&town);
}
END_TEST

START_TEST(many_calls_ask_one_question)
{
    struct life_call calls[20];
    begin();
    town.name->after_ns = MS(50);
    for (int i = 0; i < 20; i++) {
        life_call(life, &calls[i], LULL_NEVER, i % 2 == 0);
        at(i);
    }
    at(100);
    for (int i = 0; i < 20; i++) {
        life_expect_call(&calls[i], LULL_CODE_OK, MS(50));
    }
    ck_assert_uint_eq(town.names.questions, 1);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    town_end(&town);
}
END_TEST

/* Nobody is left who wants it when the answer comes: nothing is dialled. */
START_TEST(an_answer_that_nobody_waits_for_dials_nobody)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(50);
    life_call(life, &call, MS(20), false);
    at(100);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(20));
    ck_assert_uint_eq(town.hosts[0]->dials, 0);
    ck_assert_int_eq(life_state(life), LULL_STATE_IDLE);
    ck_assert_uint_eq(armed(), 0);
    town_call_now(&town);
    ck_assert_uint_eq(town.names.questions, 1);
    town_end(&town);
}
END_TEST

/* ---- failures */

START_TEST(a_name_that_is_not_there_fails_calls_with_the_resolvers_words)
{
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = NO_NAME;
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, 0);
    ck_assert_int_eq(call.reason, LULL_REASON_RESOLVE);
    town_expect_line(&call, "resolving svc.test: " NO_NAME "; next in 1 s");
    ck_assert_int_eq(life_state(life), LULL_STATE_TRANSIENT_FAILURE);
    life_expect(&life->states, 1, 0, "CONNECTING -> TRANSIENT_FAILURE: " "NXDOMAIN");
    /* The next one is told at once, and asks nothing. */
    at(500);
    life_call(life, &call, LULL_NEVER, false);
    at(501);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(500));
    town_expect_line(&call, "next in 500 ms");
    ck_assert_uint_eq(town.names.questions, 1);
    town_end(&town);
}
END_TEST

/* scenario 173: the curve, one pending question at most, success ends it */
START_TEST(a_question_that_fails_is_asked_again_after_the_curve)
{
    static const int64_t at_ms[] = {0, 1000, 2600, 5160, 9256, 15810};
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    life_call(life, &call, LULL_NEVER, true);
    for (unsigned i = 0; i < sizeof(at_ms) / sizeof(at_ms[0]); i++) {
        at(at_ms[i] > 0 ? at_ms[i] - 2 : 0);
        ck_assert_uint_eq(town.names.questions, i > 0 ? i : 1);
        at(at_ms[i] + 2);
        ck_assert_uint_eq(town.names.questions, i + 1);
    }
    town.name->addrs = "10.0.0.1";
    at(27000);
    life_expect_call(&call, LULL_CODE_OK, call.at_ns);
    ck_assert_uint_eq(town.names.questions, 7);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    at(600000);
    ck_assert_uint_eq(armed(), 0);
    ck_assert_uint_eq(town.names.questions, 7);
    town_end(&town);
}
END_TEST

/* C18 b for names */
START_TEST(a_deadline_between_two_questions_quotes_the_answer)
{
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = NO_NAME;
    life_call(life, &call, MS(1500), true);
    at(1500);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(1500));
    town_expect_line(&call, "resolving svc.test: " NO_NAME "; next in 1.1");
    town_end(&town);
}
END_TEST

/* Our own limit: a name server that says nothing cannot hold a channel for ever. */
START_TEST(a_silent_name_server_is_given_up_after_ten_seconds)
{
    struct life_call call;
    begin();
    town.name->after_ns = LULL_NEVER;
    life_call(life, &call, LULL_NEVER, false);
    at(9999);
    ck_assert_uint_eq(call.done, 0);
    at(10000);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(10000));
    town_expect_line(&call, "resolving svc.test: no answer");
    /* It took longer than its wait: the next one follows at once. */
    ck_assert_uint_eq(town.names.questions, 2);
    town_end(&town);
}
END_TEST

START_TEST(a_question_that_cannot_be_asked_is_a_failed_one)
{
    struct life_call call;
    begin();
    town.name->cannot_start = true;
    town.name->why = "c-ares could not be set up: out of descriptors";
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, 0);
    town_expect_line(&call, "out of descriptors; next in 1 s");
    town.name->cannot_start = false;
    at(1000);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    town_end(&town);
}
END_TEST

/* The state is sticky until READY (gRFC A62), and the way there goes on without calls. */
START_TEST(after_a_failure_the_answer_is_dialled_without_a_call)
{
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    town.hosts[0]->connect_after_ns = MS(30);
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    town.name->addrs = "10.0.0.1";
    at(1020);
    ck_assert_int_eq(life_state(life), LULL_STATE_TRANSIENT_FAILURE);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    at(1030);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    town_end(&town);
}
END_TEST

/* scenarios 160, 188 */
START_TEST(reset_backoff_asks_now)
{
    struct life_call call;
    begin();
    lull_channel_reset_backoff(life->channel);
    at(0);
    ck_assert_uint_eq(town.names.questions, 0);
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    life_call(life, &call, LULL_NEVER, false);
    at(3000);
    ck_assert_uint_eq(town.names.questions, 3);
    lull_channel_reset_backoff(life->channel);
    /* Not within 800 ms of the last. */
    at(3399);
    ck_assert_uint_eq(town.names.questions, 3);
    at(3400);
    ck_assert_uint_eq(town.names.questions, 4);
    town_end(&town);
}
END_TEST

/* ---- asking again */

/* C24, second half */
START_TEST(a_server_that_moved_is_found_without_waiting_out_a_backoff)
{
    struct life_call call;
    begin();
    town_call_now(&town);
    at(60000);
    town.name->addrs = "10.0.0.2";
    town.name->after_ns = MS(5);
    town_lose(&town);
    ck_assert_uint_eq(town.names.questions, 2);
    life_call(life, &call, LULL_NEVER, true);
    at(60010);
    life_expect_call(&call, LULL_CODE_OK, MS(60005));
    ck_assert_uint_le(town.hosts[0]->dials, 2);
    ck_assert_uint_eq(town.hosts[1]->dials, 1);
    town_end(&town);
}
END_TEST

/* BEHAVIOUR 2.8: 30 s at least after the question of the last good answer */
START_TEST(a_name_is_not_asked_for_again_within_30_seconds)
{
    struct life_call call;
    begin();
    town_call_now(&town);
    at(10000);
    town_lose(&town);
    life_call(life, &call, LULL_NEVER, true);
    at(29999);
    ck_assert_uint_eq(town.names.questions, 1);
    ck_assert_uint_gt(town.hosts[0]->dials, 3);
    at(60000);
    ck_assert_uint_eq(town.names.questions, 2);
    ck_assert_int_ge(lull_instant_diff(town.name->asked_at, life->sim.clock.mono_at),
                     -MS(30000));
    /* And so on: a server that stays away costs one question in 30 s at most. */
    at(600000);
    ck_assert_uint_le(town.names.questions, 20);
    ck_assert_uint_ge(town.names.questions, 5);
    town_end(&town);
}
END_TEST

/* A loss that came too early is made good by the next connect. */
START_TEST(what_was_lost_too_early_is_asked_for_with_the_next_connect)
{
    begin();
    town_call_now(&town);
    at(10000);
    ck_assert(peer_hang_up(&life->peer));
    at(40000);
    ck_assert_uint_eq(town.names.questions, 1);
    ck_assert_uint_eq(armed(), 0);
    town_call_now(&town);
    ck_assert_uint_eq(town.names.questions, 2);
    town_end(&town);
}
END_TEST

/* gRFC A62: a failed question is no reason to forget addresses */
START_TEST(the_last_good_addresses_stay_when_a_question_fails)
{
    struct life_call call;
    begin();
    town_call_now(&town);
    at(60000);
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    town_lose(&town);
    town.hosts[0]->refuse_errno = 0;
    ck_assert_uint_eq(town.names.questions, 2);
    ck_assert_int_eq(life_state(life), LULL_STATE_IDLE);
    ck_assert_uint_eq(armed(), 0);
    life_call(life, &call, LULL_NEVER, false);
    at(60001);
    life_expect_call(&call, LULL_CODE_OK, MS(60000));
    town_end(&town);
}
END_TEST

/* A name server that deals its addresses out in turn has no news: no backoff is forgotten for it. */
START_TEST(the_same_addresses_in_another_order_change_nothing)
{
    struct life_call call;
    begin();
    town.name->addrs = "10.0.0.1 10.0.0.2";
    town_refuse(&town, 0);
    town_refuse(&town, 1);
    life_call(life, &call, LULL_NEVER, true);
    at(29000);
    unsigned dials = town.hosts[0]->dials;
    town.name->addrs = "10.0.0.2 10.0.0.1";
    at(60000);
    ck_assert_uint_eq(town.names.questions, 2);
    ck_assert_uint_le(town.hosts[0]->dials - dials, 3);
    town_end(&town);
}
END_TEST

/* RFC 8305 section 3: the second family comes after the first */
START_TEST(addresses_that_come_later_join_the_pass)
{
    struct life_call call;
    begin();
    town.name->first = "10.0.0.1";
    town.name->addrs = "::1 10.0.0.1";
    town.name->after_ns = MS(100);
    town.hosts[0]->connect_after_ns = LULL_NEVER;
    life_call(life, &call, LULL_NEVER, false);
    at(50);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    at(250);
    life_expect_call(&call, LULL_CODE_OK, MS(250));
    ck_assert_uint_eq(town.hosts[3]->dials, 1);
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    town_end(&town);
}
END_TEST

START_TEST(a_connection_that_works_is_kept_whatever_the_name_says_now)
{
    begin();
    town_call_now(&town);
    at(60000);
    /* The loss asks; the old address is back before the answer, which names another. */
    town.name->addrs = "10.0.0.2";
    town.name->after_ns = MS(100);
    ck_assert(peer_hang_up(&life->peer));
    sim_settle(&life->sim);
    town_call_now(&town);
    at(70000);
    ck_assert_int_eq(life_state(life), LULL_STATE_READY);
    ck_assert_uint_eq(town.hosts[1]->dials, 0);
    town_call_now(&town);
    /* The next loss goes to the new one. */
    ck_assert(peer_hang_up(&life->peer));
    sim_settle(&life->sim);
    town_call_now(&town);
    ck_assert_uint_eq(town.hosts[1]->dials, 1);
    town_end(&town);
}
END_TEST

static Suite *channel_resolve_suite(void)
{
    Suite *suite = suite_create("channel_resolve");
    TCase *tcase = tcase_create("channel_resolve");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_name_is_not_asked_for_before_somebody_needs_it);
    tcase_add_test(tcase, the_channel_is_connecting_while_its_name_is_resolved);
    tcase_add_test(tcase, the_time_that_resolving_took_is_told);
    tcase_add_test(tcase, a_deadline_while_resolving_says_so);
    tcase_add_test(tcase, a_call_without_time_asks_no_question);
    tcase_add_test(tcase, many_calls_ask_one_question);
    tcase_add_test(tcase, an_answer_that_nobody_waits_for_dials_nobody);
    tcase_add_test(tcase, a_name_that_is_not_there_fails_calls_with_the_resolvers_words);
    tcase_add_test(tcase, a_question_that_fails_is_asked_again_after_the_curve);
    tcase_add_test(tcase, a_deadline_between_two_questions_quotes_the_answer);
    tcase_add_test(tcase, a_silent_name_server_is_given_up_after_ten_seconds);
    tcase_add_test(tcase, a_question_that_cannot_be_asked_is_a_failed_one);
    tcase_add_test(tcase, after_a_failure_the_answer_is_dialled_without_a_call);
    tcase_add_test(tcase, reset_backoff_asks_now);
    tcase_add_test(tcase, a_server_that_moved_is_found_without_waiting_out_a_backoff);
    tcase_add_test(tcase, a_name_is_not_asked_for_again_within_30_seconds);
    tcase_add_test(tcase, what_was_lost_too_early_is_asked_for_with_the_next_connect);
    tcase_add_test(tcase, the_last_good_addresses_stay_when_a_question_fails);
    tcase_add_test(tcase, the_same_addresses_in_another_order_change_nothing);
    tcase_add_test(tcase, addresses_that_come_later_join_the_pass);
    tcase_add_test(tcase, a_connection_that_works_is_kept_whatever_the_name_says_now);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_resolve", channel_resolve_suite)
