/* SPDX-License-Identifier: MIT */
/*
 * src/channel/subchannel_dial.c: one pass over several addresses, seen through a channel on a fake clock.
 */
#include "tests/support/check_main.h"
#include "town.h"

#define LIST "ipv4:10.0.0.1,10.0.0.2,10.0.0.3"

static struct town town;
static struct life *const life = &town.life;

static void at(int64_t ms)
{
    life_at(life, MS(ms));
    town_expect_next_step(&town);
}

static void begin(const char *target)
{
    town_begin(&town);
    town_open(&town, target);
}

static void expect_dials(unsigned first, unsigned second, unsigned third)
{
    ck_assert_uint_eq(town.hosts[0]->dials, first);
    ck_assert_uint_eq(town.hosts[1]->dials, second);
    ck_assert_uint_eq(town.hosts[2]->dials, third);
}

/* scenarios 153, 182: one CONNECTING, no TRANSIENT_FAILURE */
START_TEST(the_next_address_is_tried_at_once_after_a_failure)
{
    struct life_call call;
    begin(LIST);
    town_refuse(&town, 0);
    town.hosts[0]->connect_after_ns = MS(10);
    life_call(life, &call, LULL_NEVER, false);
    at(9);
    expect_dials(1, 0, 0);
    at(10);
    expect_dials(1, 1, 0);
    life_expect_call(&call, LULL_CODE_OK, MS(10));
    ck_assert_uint_eq(life->states.count, 2);
    life_expect(&life->states, 1, MS(10), "CONNECTING -> READY: 10.0.0.2:80");
    town_end(&town);
}
END_TEST

/* scenario 153: one wait a pass; the line tells each address */
START_TEST(a_pass_that_failed_is_one_attempt_with_one_wait)
{
    struct life_call call, waiting;
    begin(LIST);
    for (size_t i = 0; i < 3; i++) {
        town_refuse(&town, i);
        town.hosts[i]->connect_after_ns = MS(10);
    }
    life_call(life, &call, LULL_NEVER, false);
    life_call(life, &waiting, LULL_NEVER, true);
    at(30);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(30));
    town_expect_line(&call, "no connection to " LIST
                            " (attempt 1 failed: 10.0.0.1:80: connection refused; 10.0.0.2:80: connection "
                            "refused; 10.0.0.3:80: connection refused; next in 970 ms)");
    expect_dials(1, 1, 1);
    at(999);
    expect_dials(1, 1, 1);
    at(1000);
    expect_dials(2, 1, 1);
    town.hosts[1]->refuse_errno = 0;
    at(1020);
    expect_dials(2, 2, 1);
    life_expect_call(&waiting, LULL_CODE_OK, MS(1020));
    ck_assert_uint_eq(life_stats(life).attempts, 5);
    town_end(&town);
}
END_TEST

/* scenario 190, C24 */
START_TEST(an_address_that_hangs_gives_the_next_one_a_start_after_250_ms)
{
    struct life_call call;
    begin(LIST);
    town.hosts[0]->connect_after_ns = LULL_NEVER;
    town.hosts[1]->connect_after_ns = MS(20);
    life_call(life, &call, LULL_NEVER, false);
    at(249);
    expect_dials(1, 0, 0);
    at(250);
    expect_dials(1, 1, 0);
    at(270);
    life_expect_call(&call, LULL_CODE_OK, MS(270));
    expect_dials(1, 1, 0);
    ck_assert_uint_eq(peer_open_connections(&life->peer), 1);
    at(60000);
    expect_dials(1, 1, 0);
    town_end(&town);
}
END_TEST

/* The head start is no limit: the slow one may still win. */
START_TEST(the_first_that_connects_wins)
{
    struct life_call call;
    begin(LIST);
    town.hosts[0]->connect_after_ns = MS(300);
    town.hosts[1]->connect_after_ns = MS(300);
    life_call(life, &call, LULL_NEVER, false);
    at(300);
    life_expect_call(&call, LULL_CODE_OK, MS(300));
    expect_dials(1, 1, 0);
    ck_assert_uint_eq(life->peer.accepted, 1);
    town_end(&town);
}
END_TEST

/* Each has its own limit; with one timer for all. */
START_TEST(addresses_that_all_hang_have_20_seconds_each)
{
    struct life_call call;
    begin(LIST);
    for (size_t i = 0; i < 3; i++) {
        town.hosts[i]->connect_after_ns = LULL_NEVER;
    }
    life_call(life, &call, LULL_NEVER, false);
    at(1000);
    expect_dials(1, 1, 1);
    ck_assert_uint_eq(sim_counters(&life->sim).timers_armed, 1);
    at(20499);
    ck_assert_uint_eq(call.done, 0);
    at(20500);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(20500));
    town_expect_line(&call, "10.0.0.3:80: no answer within 20 s");
    /* RULINGS 10: the last one was dialled at 500 ms, long ago: the next pass begins at once. */
    at(20501);
    expect_dials(2, 1, 1);
    town_end(&town);
}
END_TEST

/* RULINGS 10: 800 ms between two dials of one address, the late ones of a pass included */
START_TEST(no_address_is_dialled_twice_within_800_ms)
{
    struct life_call call;
    begin("ipv4:10.0.0.1,10.0.0.2");
    town.hosts[0]->connect_after_ns = MS(1100);
    town_refuse(&town, 0);
    town_refuse(&town, 1);
    life->options.min_connect_timeout_ns = MS(5000);
    town.hosts[1]->connect_after_ns = MS(900);
    life_call(life, &call, LULL_NEVER, true);
    /* 0: first; 250: second; 1100 and 1150: both have failed, and the wait of 1 s is over. */
    at(1149);
    expect_dials(1, 1, 0);
    at(1150);
    expect_dials(2, 1, 0);
    town.hosts[0]->connect_after_ns = 0;
    town_end(&town);

    begin("ipv4:10.0.0.1,10.0.0.2");
    town.hosts[0]->connect_after_ns = MS(1000);
    town_refuse(&town, 0);
    town_refuse(&town, 1);
    town.hosts[1]->connect_after_ns = MS(10);
    life_call(life, &call, LULL_NEVER, true);
    at(999);
    expect_dials(1, 1, 0);
    /* The second was dialled at 250 ms: 1050. */
    at(1049);
    expect_dials(1, 1, 0);
    at(1050);
    expect_dials(2, 1, 0);
    town_end(&town);
}
END_TEST

/* A server that accepts and says nothing costs its own limit, and not the pass. */
START_TEST(one_that_does_not_greet_is_followed_by_the_next)
{
    struct life_call call;
    begin("ipv4:10.0.0.1,10.0.0.2");
    life->peer.sends_settings = false;
    life_call(life, &call, LULL_NEVER, false);
    at(19999);
    expect_dials(1, 0, 0);
    life->peer.sends_settings = true;
    at(20000);
    expect_dials(1, 1, 0);
    life_expect_call(&call, LULL_CODE_OK, MS(20000));
    town_end(&town);
}
END_TEST

static void expect_record(const struct life_call *call, enum lull_phase phase, const char *address,
                          int sys_errno)
{
    ck_assert_int_eq(call->code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(call->reason, LULL_REASON_CONNECT);
    ck_assert_int_eq(call->phase, phase);
    ck_assert_str_eq(call->address, address);
    ck_assert_int_eq(call->sys_errno, sys_errno);
}

START_TEST(the_record_is_of_the_address_that_got_furthest)
{
    struct life_call call;
    /* No way out, refused, refused: the first that was refused. */
    begin("ipv4:10.9.9.9,10.0.0.2,10.0.0.3");
    for (size_t i = 0; i < 3; i++) {
        town_refuse(&town, i);
        town.hosts[i]->connect_after_ns = MS(10);
    }
    life_call(life, &call, LULL_NEVER, false);
    at(20);
    expect_record(&call, LULL_PHASE_CONNECTING, "10.0.0.2:80", ECONNREFUSED);
    town_expect_line(&call, "10.9.9.9:80: no route to host; 10.0.0.2:80: connection refused");
    /* In the next pass the second one connects and hangs up, the others as before. */
    town.hosts[1]->refuse_errno = 0;
    life->peer.sends_settings = false;
    life_call(life, &call, LULL_NEVER, true);
    at(1015);
    ck_assert(peer_hang_up(&life->peer));
    at(1030);
    lull_call_cancel(call.handle);
    sim_settle(&life->sim);
    ck_assert_int_eq(call.phase, LULL_PHASE_BACKOFF); /* the call's own */
    ck_assert_int_eq(call.reason, LULL_REASON_CANCELLED);
    life_call(life, &call, LULL_NEVER, false);
    sim_settle(&life->sim);
    expect_record(&call, LULL_PHASE_SETTINGS, "10.0.0.2:80", 0);
    town_expect_line(&call, "10.0.0.3:80: connection refused");
    town_end(&town);
}
END_TEST

START_TEST(a_deadline_in_the_middle_of_a_pass_tells_what_failed_so_far)
{
    struct life_call call;
    begin(LIST);
    town_refuse(&town, 0);
    town.hosts[1]->connect_after_ns = LULL_NEVER;
    life_call(life, &call, MS(100), false);
    at(100);
    life_expect_call(&call, LULL_CODE_DEADLINE_EXCEEDED, MS(100));
    town_expect_line(&call, "connecting to 10.0.0.2:80 (attempt 1 under way, 10.0.0.1:80: connection refused)");
    town_end(&town);
}
END_TEST

START_TEST(falling_idle_in_the_middle_of_a_pass_closes_every_dial)
{
    begin(LIST);
    for (size_t i = 0; i < 3; i++) {
        town.hosts[i]->connect_after_ns = LULL_NEVER;
    }
    (void)lull_channel_state(life->channel, true);
    at(600);
    expect_dials(1, 1, 1);
    lull_channel_enter_idle(life->channel);
    at(601);
    life_expect_asleep(life);
    ck_assert_ptr_null(life->sim.dials);
    town_end(&town);
}
END_TEST

START_TEST(closing_in_the_middle_of_a_pass_closes_every_dial)
{
    begin(LIST);
    for (size_t i = 0; i < 3; i++) {
        town.hosts[i]->connect_after_ns = LULL_NEVER;
    }
    (void)lull_channel_state(life->channel, true);
    at(600);
    lull_channel_close(life->channel);
    at(601);
    ck_assert_ptr_null(life->sim.dials);
    town_end(&town);
}
END_TEST

/* ---- the list changes */

/* Asks again after 30 s, while dials hang, and gets other addresses in the middle of a pass. */
START_TEST(a_pass_goes_on_with_the_new_list)
{
    struct life_call call;
    begin(TOWN_TARGET);
    town.name->first = "10.0.0.1 10.0.0.2";
    town.name->addrs = "10.0.0.2 10.0.0.3";
    town.name->after_ns = MS(400);
    town.hosts[0]->connect_after_ns = LULL_NEVER;
    town.hosts[1]->connect_after_ns = LULL_NEVER;
    life_call(life, &call, LULL_NEVER, false);
    at(399);
    expect_dials(1, 1, 0);
    at(401);
    /* The first is off the list: its dial is given up; the second stays as it is. */
    ck_assert_ptr_nonnull(life->sim.dials);
    expect_dials(1, 1, 0);
    at(500);
    expect_dials(1, 1, 1);
    life_expect_call(&call, LULL_CODE_OK, MS(500));
    town_end(&town);
}
END_TEST

/* The greeting one is off the list: it is no connection of this name any more. */
START_TEST(one_that_greets_and_is_off_the_list_is_dropped)
{
    struct life_call call;
    begin(TOWN_TARGET);
    town.name->first = "10.0.0.1";
    town.name->addrs = "10.0.0.2";
    town.name->after_ns = MS(100);
    life->peer.sends_settings = false;
    life_call(life, &call, LULL_NEVER, false);
    at(50);
    ck_assert_int_eq(life->channel->subchannel.phase, SUBCHANNEL_GREETING);
    life->peer.sends_settings = true;
    at(100);
    life_expect_call(&call, LULL_CODE_OK, MS(100));
    expect_dials(1, 1, 0);
    ck_assert_uint_eq(peer_open_connections(&life->peer), 1);
    town_end(&town);
}
END_TEST

/* Name servers do: a second of the same would wait for the dial of the first until its limit, and be dialled beside it. */
START_TEST(an_address_that_is_told_twice_is_one)
{
    struct life_call call;
    begin(TOWN_TARGET);
    town.name->first = "10.0.0.1";
    town.name->addrs = "10.0.0.1 10.0.0.1 10.0.0.2 10.0.0.1";
    town.name->after_ns = MS(400);
    town.hosts[0]->connect_after_ns = MS(600);
    town_refuse(&town, 0);
    town_refuse(&town, 1);
    life_call(life, &call, LULL_NEVER, false);
    at(599);
    expect_dials(1, 1, 0);
    at(600);
    expect_dials(1, 1, 0);
    life_expect_call(&call, LULL_CODE_UNAVAILABLE, MS(600));
    town_end(&town);
}
END_TEST

/* Two that are the same do not stand for two. */
START_TEST(an_address_that_is_gone_is_missed_though_another_is_told_twice)
{
    const struct subchannel *sub;
    begin(TOWN_TARGET);
    town.name->first = "10.0.0.1 10.0.0.2";
    town.name->addrs = "10.0.0.1 10.0.0.1";
    town.name->after_ns = MS(400);
    (void)lull_channel_state(life->channel, true);
    sub = &life->channel->subchannel;
    at(399);
    ck_assert_uint_eq(sub->address_count, 2);
    at(500);
    ck_assert_uint_eq(sub->address_count, 1);
    town_end(&town);
}
END_TEST

static Suite *subchannel_dial_suite(void)
{
    Suite *suite = suite_create("subchannel_dial");
    TCase *tcase = tcase_create("subchannel_dial");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_next_address_is_tried_at_once_after_a_failure);
    tcase_add_test(tcase, an_address_that_is_told_twice_is_one);
    tcase_add_test(tcase, an_address_that_is_gone_is_missed_though_another_is_told_twice);
    tcase_add_test(tcase, a_pass_that_failed_is_one_attempt_with_one_wait);
    tcase_add_test(tcase, an_address_that_hangs_gives_the_next_one_a_start_after_250_ms);
    tcase_add_test(tcase, the_first_that_connects_wins);
    tcase_add_test(tcase, addresses_that_all_hang_have_20_seconds_each);
    tcase_add_test(tcase, no_address_is_dialled_twice_within_800_ms);
    tcase_add_test(tcase, one_that_does_not_greet_is_followed_by_the_next);
    tcase_add_test(tcase, the_record_is_of_the_address_that_got_furthest);
    tcase_add_test(tcase, a_deadline_in_the_middle_of_a_pass_tells_what_failed_so_far);
    tcase_add_test(tcase, falling_idle_in_the_middle_of_a_pass_closes_every_dial);
    tcase_add_test(tcase, closing_in_the_middle_of_a_pass_closes_every_dial);
    tcase_add_test(tcase, a_pass_goes_on_with_the_new_list);
    tcase_add_test(tcase, one_that_greets_and_is_off_the_list_is_dropped);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("subchannel_dial", subchannel_dial_suite)
