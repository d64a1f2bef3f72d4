/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_resolve.c: idle mode, the end, and random lives. What a name does otherwise is channel_resolve_test's.
 */
#include "tests/support/check_main.h"
#include "town.h"

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

/* ---- idle mode */

/* C05, with a name */
START_TEST(after_idle_mode_the_name_is_asked_for_first)
{
    struct life_call call;
    town_begin(&town);
    life->options.idle_timeout_ns = MS(60000);
    town_open(&town, TOWN_TARGET);
    town_refuse(&town, 0);
    life_call(life, &call, LULL_NEVER, false);
    at(0);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, 0);
    at(60001);
    life_expect_asleep(life);
    town.hosts[0]->refuse_errno = 0;
    unsigned asked = town.names.questions;
    town.name->addrs = "10.0.0.2";
    at(70000);
    town_call_now(&town);
    ck_assert_uint_eq(town.names.questions, asked + 1);
    ck_assert_uint_eq(town.hosts[1]->dials, 1);
    town_end(&town);
}
END_TEST

/* A channel that sleeps and wakes often does not ask each time. */
START_TEST(a_short_sleep_keeps_the_addresses)
{
    begin();
    town_call_now(&town);
    for (int i = 1; i < 5; i++) {
        at(1000 * i);
        lull_channel_enter_idle(life->channel);
        at(1000 * i + 1);
        life_expect_asleep(life);
        town_call_now(&town);
    }
    ck_assert_uint_eq(town.names.questions, 1);
    lull_channel_enter_idle(life->channel);
    at(30000);
    town_call_now(&town);
    ck_assert_uint_eq(town.names.questions, 2);
    town_end(&town);
}
END_TEST

START_TEST(after_idle_mode_old_addresses_are_better_than_none)
{
    struct life_call call;
    begin();
    town_call_now(&town);
    lull_channel_enter_idle(life->channel);
    at(60000);
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    life_call(life, &call, LULL_NEVER, false);
    at(60001);
    life_expect_call(&call, LULL_CODE_OK, MS(60000));
    town_end(&town);
}
END_TEST

/* scenarios 93, 286 */
START_TEST(falling_idle_ends_the_question)
{
    begin();
    town.name->after_ns = MS(500);
    (void)lull_channel_state(life->channel, true);
    at(100);
    ck_assert_uint_eq(town.names.open, 1);
    lull_channel_enter_idle(life->channel);
    ck_assert_uint_eq(town.names.open, 0);
    ck_assert_uint_eq(town.names.cancelled, 1);
    at(101);
    life_expect_asleep(life);
    at(10000);
    ck_assert_int_eq(life_state(life), LULL_STATE_IDLE);
    ck_assert_uint_eq(town.hosts[0]->dials, 0);
    ck_assert_uint_eq(town.names.questions, 1);
    town_end(&town);
}
END_TEST

/* scenario 286: by epoch, not by status: here the cancelled one succeeds */
START_TEST(a_late_answer_of_an_old_question_is_dropped)
{
    struct life_call call;
    begin();
    town.names.answers_cancelled = true;
    town.name->after_ns = MS(500);
    (void)lull_channel_state(life->channel, true);
    at(100);
    lull_channel_enter_idle(life->channel);
    town.name->after_ns = MS(2000);
    life_call(life, &call, LULL_NEVER, false);
    at(1500);
    ck_assert_uint_eq(town.hosts[0]->dials, 0);
    ck_assert_uint_eq(call.done, 0);
    at(3000);
    life_expect_call(&call, LULL_CODE_OK, MS(2100));
    ck_assert_uint_eq(town.hosts[0]->dials, 1);
    town_end(&town);
}
END_TEST

/* scenarios 74, 86, 285: out again at once, with a second question */
START_TEST(a_call_that_waits_for_the_name_outlives_idle_mode)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(500);
    life_call(life, &call, LULL_NEVER, true);
    at(100);
    lull_channel_enter_idle(life->channel);
    at(101);
    ck_assert_int_eq(life_state(life), LULL_STATE_CONNECTING);
    at(2000);
    life_expect_call(&call, LULL_CODE_OK, call.at_ns);
    ck_assert_uint_eq(town.names.questions, 2);
    ck_assert_uint_eq(town.names.cancelled, 1);
    town_end(&town);
}
END_TEST

START_TEST(falling_idle_between_two_questions_leaves_no_timer)
{
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = "SERVFAIL";
    life_call(life, &call, LULL_NEVER, false);
    at(100);
    ck_assert_int_eq(life_state(life), LULL_STATE_TRANSIENT_FAILURE);
    lull_channel_enter_idle(life->channel);
    at(101);
    life_expect_asleep(life);
    town.name->addrs = "10.0.0.1";
    at(5000);
    ck_assert_uint_eq(town.names.questions, 1);
    town_call_now(&town);
    town_end(&town);
}
END_TEST

/* ---- the end */

/* scenario 189 */
START_TEST(closing_while_resolving_ends_calls_and_the_question)
{
    struct life_call call;
    begin();
    town.name->after_ns = MS(500);
    life_call(life, &call, LULL_NEVER, true);
    at(100);
    lull_channel_close(life->channel);
    ck_assert_uint_eq(town.names.open, 0);
    at(1000);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(100));
    town_expect_line(&call, "channel closed");
    town_end(&town);
}
END_TEST

static void close_in_watch(struct lull_channel *channel, enum lull_state now, void *ctx)
{
    *(enum lull_state *)ctx = now;
    lull_channel_close(channel);
}

/* From inside what an answer set off: a task after it. */
START_TEST(a_channel_may_be_closed_by_what_an_answer_causes)
{
    enum lull_state seen = LULL_STATE_IDLE;
    struct life_call call;
    begin();
    town.name->addrs = NULL;
    town.name->why = "NXDOMAIN";
    town.name->after_ns = MS(10);
    life_call(life, &call, LULL_NEVER, true);
    at(0);
    ck_assert_int_eq(lull_channel_watch(life->channel, LULL_STATE_CONNECTING, close_in_watch, &seen),
                     LULL_OK);
    at(1000);
    ck_assert_int_eq(seen, LULL_STATE_TRANSIENT_FAILURE);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(10));
    ck_assert_uint_eq(town.names.questions, 1);
    town_end(&town);
}
END_TEST

START_TEST(a_channel_that_was_never_used_asks_nothing_at_its_end)
{
    begin();
    town_end(&town);
    ck_assert_uint_eq(town.names.questions, 0);
}
END_TEST

/* Numeric targets and lists have nothing to ask. */
START_TEST(an_address_reaches_no_resolver)
{
    static const char *const targets[] = {"10.0.0.1:80", "ipv4:10.0.0.1,10.0.0.2", "dns:///10.0.0.1"};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        town_begin(&town);
        town_open(&town, targets[i]);
        town_call_now(&town);
        at(60000);
        town_lose(&town);
        at(120000);
        ck_assert_uint_eq(town.names.questions, 0);
        town_end(&town);
    }
}
END_TEST

/* Whatever comes in whatever order: one step ahead in TRANSIENT_FAILURE, and nothing left in the end. */
START_TEST(random_lives_keep_one_next_step)
{
    static const char *const answers[] = {"10.0.0.1", "10.0.0.2 10.0.0.1", NULL, "10.0.0.3", "::1 10.0.0.2"};
    static const int64_t delays[] = {0, MS(3), MS(700), LULL_NEVER};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct life_call calls[40];
        size_t count = 0;
        town_begin(&town);
        struct lull_random_seeded random;
        lull_random_seed(&random, seed);
        town_open(&town, TOWN_TARGET);
        town.name->why = "SERVFAIL";
        for (int step = 0; step < 200; step++) {
            uint64_t bits = random.base.next(&random.base);
            struct sim_host *host = town.hosts[(bits >> 8) % 4];
            switch (bits % 9) {
            case 0:
                town.name->addrs = answers[(bits >> 16) % 5];
                break;
            case 1:
                town.name->after_ns = delays[(bits >> 16) % 4];
                break;
            case 2:
                host->refuse_errno = (bits >> 16) % 2 == 0 ? 0 : ECONNREFUSED;
                break;
            case 3:
                host->connect_after_ns = delays[(bits >> 16) % 4];
                break;
            case 4:
                (void)peer_hang_up(&life->peer);
                break;
            case 5:
                lull_channel_enter_idle(life->channel);
                break;
            case 6:
                lull_channel_reset_backoff(life->channel);
                break;
            default:
                if (count < 40) {
                    life_call(life, &calls[count++], MS(1 + (int64_t)((bits >> 16) % 9000)),
                              (bits >> 40) % 2 == 0);
                }
                break;
            }
            sim_advance(&life->sim, MS((int64_t)((bits >> 24) % 1500)));
            town_expect_next_step(&town);
        }
        sim_advance(&life->sim, MS(10000));
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_eq(calls[i].done, 1);
        }
        town_end(&town);
    }
}
END_TEST

static Suite *channel_resolve_idle_suite(void)
{
    Suite *suite = suite_create("channel_resolve_idle");
    TCase *tcase = tcase_create("channel_resolve_idle");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, after_idle_mode_the_name_is_asked_for_first);
    tcase_add_test(tcase, a_short_sleep_keeps_the_addresses);
    tcase_add_test(tcase, after_idle_mode_old_addresses_are_better_than_none);
    tcase_add_test(tcase, falling_idle_ends_the_question);
    tcase_add_test(tcase, a_late_answer_of_an_old_question_is_dropped);
    tcase_add_test(tcase, a_call_that_waits_for_the_name_outlives_idle_mode);
    tcase_add_test(tcase, falling_idle_between_two_questions_leaves_no_timer);
    tcase_add_test(tcase, closing_while_resolving_ends_calls_and_the_question);
    tcase_add_test(tcase, a_channel_may_be_closed_by_what_an_answer_causes);
    tcase_add_test(tcase, a_channel_that_was_never_used_asks_nothing_at_its_end);
    tcase_add_test(tcase, an_address_reaches_no_resolver);
    tcase_add_test(tcase, random_lives_keep_one_next_step);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_resolve_idle", channel_resolve_idle_suite)
