/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_timeouts.c and src/exec/refusal.c: a host's loop that refuses its alarms (RULINGS 18).
 */
#include <string.h>

#include "channel/call.h"
#include "exec/executor.h"
#include "tests/support/check_main.h"
#include "told.h"

#define S LULL_SECOND

static struct rig rig;
static struct server server;
static struct told a, b, c;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&c, 0, sizeof(c));
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
}

static void end(void)
{
    rig.refuses_alarms = false;
    rig_fini(&rig);
    server_fini(&server);
}

static void expect_refused(const struct told *told)
{
    told_expect(told, LULL_CODE_INTERNAL, "C");
    told_expect_text(told, "host loop refused the alarm");
}

START_TEST(a_call_that_counted_on_it_fails_before_the_turn_ends)
{
    begin();
    rig.refuses_alarms = true;
    told_start_with(&rig, &a, 5 * S, 0);
    told_start_with(&rig, &b, LULL_NEVER, 2 * S); /* a read timeout counts on it as well */
    told_start_with(&rig, &c, LULL_NEVER, LULL_NEVER);
    uint64_t turns = rig_counters(&rig).turns;
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_uint_eq(rig_counters(&rig).turns, turns + 1);
    expect_refused(&a);
    expect_refused(&b);
    ck_assert_uint_eq(c.closed, 0);
    rig_settle(&rig);
    /* What had left in that turn was taken back in it. */
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 2);
    rig_advance(&rig, 100 * S);
    ck_assert_uint_eq(c.closed, 0);
    end();
}
END_TEST

START_TEST(an_earlier_alarm_that_stands_is_enough)
{
    begin();
    told_start_with(&rig, &a, S, 0);
    rig_settle(&rig);
    rig.refuses_alarms = true;
    told_start_with(&rig, &b, 10 * S, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(a.closed + b.closed, 0);
    /* A shorter one is refused, and does not drag the other along. */
    told_start_with(&rig, &c, S / 2, 0);
    rig_settle(&rig);
    expect_refused(&c);
    ck_assert_uint_eq(a.closed + b.closed, 0);
    rig.refuses_alarms = false;
    rig_advance_to(&rig, S);
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(a.at_ns, S);
    rig_advance_to(&rig, 10 * S);
    told_expect(&b, LULL_CODE_DEADLINE_EXCEEDED, "C");
    ck_assert_int_eq(b.at_ns, 10 * S);
    end();
}
END_TEST

START_TEST(the_loop_is_asked_again_every_turn)
{
    begin();
    told_start_with(&rig, &a, S, 0);
    told_start_with(&rig, &b, 10 * S, 0);
    rig_settle(&rig);
    rig.refuses_alarms = true;
    rig_advance_to(&rig, S); /* b's alarm is asked for when a's has fired */
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    expect_refused(&b);
    ck_assert_int_eq(b.at_ns, S);
    rig.refuses_alarms = false;
    told_start_with(&rig, &c, S, 0);
    rig_advance_to(&rig, 2 * S);
    told_expect(&c, LULL_CODE_DEADLINE_EXCEEDED, "C");
    end();
}
END_TEST

START_TEST(a_call_that_is_done_is_left_alone)
{
    begin();
    told_start_with(&rig, &a, 5 * S, 0);
    rig_settle(&rig);
    lull_call_pause(a.handle);
    peer_answer(rig_peer(&rig, 0), 1, "unread");
    rig_settle(&rig);
    rig.refuses_alarms = true;
    told_start_with(&rig, &b, 1 * S, 0);
    rig_settle(&rig);
    expect_refused(&b);
    ck_assert_str_eq(a.order, "H");
    lull_call_resume(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

static void start_again(struct told *told, char what)
{
    if (what == 'C' && told->tag > 0) {
        struct told *next = told + 1;
        next->tag = told->tag - 1;
        next->then = start_again;
        told_start_with(&rig, next, S, 0);
    }
}

/* Who tries again from on_closed fails again, and the turn ends all the same. */
START_TEST(retries_against_a_loop_that_refuses_do_not_hold_the_turn)
{
    static struct told chain[11];
    begin();
    memset(chain, 0, sizeof(chain));
    rig.refuses_alarms = true;
    chain[0].tag = 10;
    chain[0].then = start_again;
    told_start_with(&rig, &chain[0], S, 0);
    rig_settle(&rig);
    for (int i = 0; i < 20 && chain[10].closed == 0; i++) {
        ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    }
    for (size_t i = 0; i < 11; i++) {
        expect_refused(&chain[i]);
    }
    end();
}
END_TEST

static Suite *call_refusal_suite(void)
{
    Suite *suite = suite_create("call_refusal");
    TCase *tcase = tcase_create("call_refusal");
    tcase_add_test(tcase, a_call_that_counted_on_it_fails_before_the_turn_ends);
    tcase_add_test(tcase, an_earlier_alarm_that_stands_is_enough);
    tcase_add_test(tcase, the_loop_is_asked_again_every_turn);
    tcase_add_test(tcase, a_call_that_is_done_is_left_alone);
    tcase_add_test(tcase, retries_against_a_loop_that_refuses_do_not_hold_the_turn);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_refusal", call_refusal_suite)
