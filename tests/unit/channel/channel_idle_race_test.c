/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_idle.c: every race of BEHAVIOUR 2.4's table, in both orders.
 */
#include "channel/channel_idle.h"

#include "sleeper.h"
#include "tests/support/check_main.h"

/* ---- the table: the idle timer and a call in one turn */

START_TEST(race_timer_and_call_the_call_first)
{
    struct deed deed;
    begin(RIG_ACCEPT, 0);
    plan(&deed, I_NS, start_other); /* armed before the idle timer: due before it */
    start_call();
    rig_advance_to(&rig, I_NS);
    ck_assert_uint_eq(deed.done, 1);
    rig_expect(&other, LULL_CODE_OK, I_NS);
    ck_assert(!rig_has_traced(&rig, "-> IDLE"));
    ck_assert_uint_eq(rig.attempt_count, 1);
    expect_awake_until(2 * I_NS);
    forget(&deed);
    rig_fini(&rig);
}
END_TEST

START_TEST(race_timer_and_call_the_timer_first)
{
    struct deed deed;
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_settle(&rig);
    plan(&deed, I_NS, start_other); /* due behind the idle timer */
    rig_advance_to(&rig, I_NS);
    ck_assert_uint_eq(deed.done, 1);
    ck_assert(rig_has_traced(&rig, "READY -> IDLE"));
    rig_expect(&other, LULL_CODE_OK, I_NS);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    expect_awake_until(2 * I_NS);
    forget(&deed);
    rig_fini(&rig);
}
END_TEST

/* scenario 291 */
START_TEST(race_timer_and_the_last_end_the_end_first)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_advance(&rig, LULL_SECOND);
    rig.on_request = rig_stay_silent;
    rig_peer(&rig, 0)->on_request = rig_stay_silent;
    start_other();
    rig_advance_to(&rig, I_NS - 1);
    /* The answer is there when the turn of the timer begins: what came is heard before a timer judges. */
    lull_fake_clock_jump(&rig.clock, 0);
    rig.clock.mono_at.ns++;
    peer_answer(rig_peer(&rig, 0), 3, "late");
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_uint_eq(other.done, 1);
    expect_awake_until(2 * I_NS);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    rig_advance_to(&rig, 2 * I_NS);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

/* scenario 291 */
START_TEST(race_timer_and_the_last_end_the_timer_first)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_advance(&rig, LULL_SECOND);
    rig_peer(&rig, 0)->on_request = rig_stay_silent;
    rig_call_with(&rig, &other, I_NS - LULL_SECOND,
                  false); /* its deadline: armed behind the idle timer */
    rig_advance_to(&rig, I_NS);
    rig_expect(&other, LULL_CODE_DEADLINE_EXCEEDED, I_NS);
    expect_awake_until(2 * I_NS);
    rig_advance_to(&rig, 2 * I_NS);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

/* ---- the table: an order from outside and a call */

/* scenario 74: created, its start still in the inbox */
START_TEST(race_enter_idle_and_a_call_on_its_way_the_call_first)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_settle(&rig);
    start_other();
    enter_idle();
    ck_assert(!is_in_idle_mode());
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&other, LULL_CODE_OK, 0);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    ck_assert_uint_eq(rig.attempt_count, 2);
    expect_awake_until(I_NS);
    rig_fini(&rig);
}
END_TEST

START_TEST(race_enter_idle_and_a_call_on_its_way_the_order_first)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_settle(&rig);
    enter_idle();
    start_other();
    ck_assert(!is_in_idle_mode());
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&other, LULL_CODE_OK, 0);
    ck_assert_uint_eq(rig.attempt_count, 2);
    expect_awake_until(I_NS);
    rig_fini(&rig);
}
END_TEST

/* scenarios 86, 285; RULINGS 10: the second dial keeps its distance from the first */
START_TEST(race_enter_idle_and_a_waiting_call_the_call_first)
{
    begin(RIG_ACCEPT, 500 * LULL_MS);
    start_call();
    rig_advance(&rig, 100 * LULL_MS);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    enter_idle();
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    ck_assert(rig_has_traced(&rig, "CONNECTING -> IDLE"));
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert_int_eq(rig.attempts[1].at_ns, 800 * LULL_MS);
    ck_assert_ptr_null(rig.attempts[0].peer); /* given up before it was accepted */
    rig_expect(&call, LULL_CODE_OK, 1300 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

START_TEST(race_enter_idle_and_a_waiting_call_the_order_first)
{
    begin(RIG_ACCEPT, 500 * LULL_MS);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, 100 * LULL_MS);
    enter_idle();
    expect_asleep(1);
    start_call();
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    rig_expect(&call, LULL_CODE_OK, 1300 * LULL_MS);
    rig_fini(&rig);
}
END_TEST

static void start_other_then_enter(void)
{
    start_other();
    lull_channel_enter_idle(rig.channel);
}

static void enter_then_start_other(void)
{
    lull_channel_enter_idle(rig.channel);
    start_other();
}

/* A connection that is READY when the call starts and closed before it has its stream: 2.4's "pick returned a ready subchannel". */
START_TEST(race_enter_idle_between_start_and_stream)
{
    static void (*const orders[])(void) = {start_other_then_enter, enter_then_start_other};
    for (size_t i = 0; i < 2; i++) {
        struct deed deed;
        begin(RIG_ACCEPT, 0);
        start_call();
        rig_settle(&rig);
        plan(&deed, LULL_SECOND, orders[i]);
        rig_advance_to(&rig, LULL_SECOND);
        rig_expect(&other, LULL_CODE_OK, LULL_SECOND);
        ck_assert_uint_eq(rig.attempt_count, 2);
        ck_assert(rig_peer(&rig, 0)->is_eof);
        ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_HEADERS), 1);
        expect_awake_until(LULL_SECOND + I_NS);
        forget(&deed);
        rig_fini(&rig);
    }
}
END_TEST

/* The queue holds it for want of a stream, not of a connection. */
START_TEST(race_enter_idle_and_a_call_queued_behind_the_limit)
{
    begin(RIG_ACCEPT, 0);
    rig.limit = 1;
    rig.on_request = rig_stay_silent;
    start_call();
    start_other();
    rig_settle(&rig);
    enter_idle();
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 2);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 1), FRAME_HEADERS), 1);
    peer_answer(rig_peer(&rig, 0), 1, "a");
    peer_answer(rig_peer(&rig, 1), 1, "b");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, LULL_SECOND);
    rig_expect(&other, LULL_CODE_OK, LULL_SECOND);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    ck_assert(!rig_peer(&rig, 1)->is_eof);
    rig_fini(&rig);
}
END_TEST

/* scenarios 77, 90: the running call ends on its connection; its end arms nothing */
START_TEST(race_enter_idle_and_a_running_call_the_order_first)
{
    begin(RIG_ACCEPT, 0);
    rig.on_request = rig_stay_silent;
    start_call();
    rig_settle(&rig);
    enter_idle();
    rig_advance(&rig, LULL_SECOND);
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    ck_assert(!rig_peer(&rig, 0)->is_eof);
    ck_assert_uint_eq(call.done, 0);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, LULL_SECOND);
    expect_asleep(1);
    rig_advance(&rig, 10 * I_NS);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

START_TEST(race_enter_idle_and_a_running_call_the_end_first)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    expect_awake_until(I_NS);
    enter_idle();
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_settle(&rig);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

static void say_goaway(struct peer *peer)
{
    peer_goaway(peer, 0, 0, "");
}

static void say_refused(struct peer *peer)
{
    peer_rst(peer, 1, 7);
}

/* scenarios 77, 90; RULINGS 3, 4: a running call that its connection sends back unprocessed waits again, and wakes the channel */
START_TEST(race_enter_idle_and_a_running_call_that_comes_back)
{
    static void (*const ways[])(struct peer *) = {say_goaway, say_refused};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        begin(RIG_ACCEPT, 0);
        rig.on_request = rig_stay_silent;
        start_call();
        rig_settle(&rig);
        enter_idle();
        rig_advance_to(&rig, LULL_SECOND);
        ck_assert(is_in_idle_mode());
        rig.on_request = rig_answer_hello;
        ways[i](rig_peer(&rig, 0));
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_OK, LULL_SECOND);
        ck_assert_uint_eq(rig.attempt_count, 2);
        ck_assert_int_eq(state(), LULL_STATE_READY);
        expect_awake_until(LULL_SECOND + I_NS);
        rig_advance_to(&rig, LULL_SECOND + I_NS);
        expect_asleep(2);
        rig_fini(&rig);
    }
}
END_TEST

/* The same, and it is cancelled before there is a connection: the channel is awake, and falls idle as after any call. */
START_TEST(race_enter_idle_and_a_call_that_comes_back_and_is_cancelled)
{
    begin(RIG_ACCEPT, 0);
    rig_step(&rig, (struct rig_step){.what = RIG_HANG});
    rig.on_request = rig_stay_silent;
    start_call();
    rig_settle(&rig);
    enter_idle();
    rig_advance_to(&rig, LULL_SECOND);
    say_goaway(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    ck_assert(!is_in_idle_mode());
    lull_call_cancel(call.handle);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, LULL_SECOND);
    ck_assert_int_eq(lull_rescheduler_run_at(&rig.channel->idle_wake).ns - rig.origin_ns,
                     LULL_SECOND + I_NS);
    rig_advance_to(&rig, LULL_SECOND + I_NS);
    ck_assert(is_in_idle_mode());
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_fini(&rig);
}
END_TEST

/* A call on the old connection and a new one that wakes the channel: no edge is needed (2.4, the remark on D). */
START_TEST(a_new_call_wakes_while_an_old_one_drains)
{
    begin(RIG_ACCEPT, 0);
    rig.on_request = rig_stay_silent;
    start_call();
    rig_settle(&rig);
    enter_idle();
    rig_advance(&rig, LULL_SECOND);
    start_other();
    rig_settle(&rig);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    ck_assert_uint_eq(rig.attempt_count, 2);
    peer_answer(rig_peer(&rig, 1), 1, "new");
    rig_settle(&rig);
    rig_expect(&other, LULL_CODE_OK, LULL_SECOND);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0); /* the old one still runs */
    peer_answer(rig_peer(&rig, 0), 1, "old");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, LULL_SECOND);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    ck_assert(!rig_peer(&rig, 1)->is_eof);
    expect_awake_until(LULL_SECOND + I_NS);
    rig_fini(&rig);
}
END_TEST

/* scenario 100 */
START_TEST(many_calls_at_once_wake_it_once)
{
    static struct rig_call many[100];
    begin(RIG_ACCEPT, 0);
    memset(many, 0, sizeof(many));
    for (size_t i = 0; i < 100; i++) {
        rig_call_with(&rig, &many[i], LULL_NEVER, false);
    }
    rig_settle(&rig);
    for (size_t i = 0; i < 100; i++) {
        rig_expect(&many[i], LULL_CODE_OK, 0);
    }
    ck_assert_uint_eq(rig.attempt_count, 1);
    expect_awake_until(I_NS);
    ck_assert_uint_le(rig_counters(&rig).timer_arms, 2); /* the attempt's limit, and this one */
    rig_fini(&rig);
}
END_TEST

/* A callback may fall idle, and start a call in it. */
static void fall_idle_and_call(struct rig_call *done)
{
    lull_channel_enter_idle(done->rig->channel);
    start_other();
}

START_TEST(a_callback_may_enter_idle)
{
    begin(RIG_ACCEPT, 0);
    call.then = fall_idle_and_call;
    start_call();
    rig_advance(&rig, LULL_SECOND);
    rig_expect(&call, LULL_CODE_OK, 0);
    rig_expect(&other, LULL_CODE_OK, 0);
    ck_assert_uint_eq(rig.attempt_count, 2);
    expect_awake_until(I_NS);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_idle_race_suite(void)
{
    Suite *suite = suite_create("channel_idle_race");
    TCase *tcase = tcase_create("channel_idle_race");
    tcase_add_test(tcase, race_timer_and_call_the_call_first);
    tcase_add_test(tcase, race_timer_and_call_the_timer_first);
    tcase_add_test(tcase, race_timer_and_the_last_end_the_end_first);
    tcase_add_test(tcase, race_timer_and_the_last_end_the_timer_first);
    tcase_add_test(tcase, race_enter_idle_and_a_call_on_its_way_the_call_first);
    tcase_add_test(tcase, race_enter_idle_and_a_call_on_its_way_the_order_first);
    tcase_add_test(tcase, race_enter_idle_and_a_waiting_call_the_call_first);
    tcase_add_test(tcase, race_enter_idle_and_a_waiting_call_the_order_first);
    tcase_add_test(tcase, race_enter_idle_between_start_and_stream);
    tcase_add_test(tcase, race_enter_idle_and_a_call_queued_behind_the_limit);
    tcase_add_test(tcase, race_enter_idle_and_a_running_call_the_order_first);
    tcase_add_test(tcase, race_enter_idle_and_a_running_call_the_end_first);
    tcase_add_test(tcase, race_enter_idle_and_a_running_call_that_comes_back);
    tcase_add_test(tcase, race_enter_idle_and_a_call_that_comes_back_and_is_cancelled);
    tcase_add_test(tcase, a_new_call_wakes_while_an_old_one_drains);
    tcase_add_test(tcase, many_calls_at_once_wake_it_once);
    tcase_add_test(tcase, a_callback_may_enter_idle);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_idle_race", channel_idle_race_suite)
