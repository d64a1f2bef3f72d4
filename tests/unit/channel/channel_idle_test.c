/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_idle.c: falling idle, waking, what is left. Its races are channel_idle_race_test's.
 */
#include "channel/channel_idle.h"

#include "sleeper.h"
#include "tests/support/check_main.h"

/* scenarios 70, 82, 97 */
START_TEST(the_timeout_counts_from_the_end_of_the_last_call)
{
    begin(RIG_ACCEPT, 0);
    ck_assert(is_in_idle_mode());
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    start_call();
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    expect_awake_until(I_NS);
    rig_advance_to(&rig, I_NS - 1);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    rig_advance(&rig, 1);
    expect_asleep(1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_GOAWAY), 1);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_GOAWAY, 0)->code, 0);
    ck_assert(rig_has_traced(&rig, "READY -> IDLE: idle: no call for 60 s"));
    rig_fini(&rig);
}
END_TEST

/* scenario 72, 105 */
START_TEST(a_call_puts_it_off)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_advance_to(&rig, I_NS - LULL_SECOND);
    start_other();
    rig_advance_to(&rig, 2 * I_NS - LULL_SECOND - 1);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    rig_advance(&rig, 1);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

/* scenarios 73, 104, C03: queued, then on a stream; the floor of 1 s guards no gap here (2.4, the last but two) */
START_TEST(a_call_holds_it_off_from_its_creation_to_its_end)
{
    begin(RIG_ACCEPT, 100 * LULL_SECOND);
    rig.on_request = rig_stay_silent;
    rig.channel->options.min_connect_timeout_ns = LULL_NEVER;
    start_call();
    rig_settle(&rig);
    ck_assert(!lull_rescheduler_is_armed(&rig.channel->idle_wake));
    lull_call_cancel(call.handle);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, 0);
    start_other();
    rig_advance_to(&rig, I_NS - 1);
    /* The first call's end armed it; it finds a call and stands down. */
    ck_assert(lull_rescheduler_is_armed(&rig.channel->idle_wake));
    rig_advance_to(&rig, 10 * I_NS);
    ck_assert(!lull_rescheduler_is_armed(&rig.channel->idle_wake));
    ck_assert_int_eq(state(), LULL_STATE_READY);
    ck_assert_uint_eq(other.done, 0);
    lull_call_cancel(other.handle);
    rig_settle(&rig);
    expect_awake_until(11 * I_NS);
    rig_fini(&rig);
}
END_TEST

/* scenarios 81, 96, 102 */
START_TEST(switched_off_it_never_falls_idle_by_itself)
{
    begin(RIG_ACCEPT, 0);
    lull_channel_unref(rig.channel);
    rig.options.idle_timeout_ns = 0;
    rig_open(&rig);
    ck_assert_int_eq(lull_channel_effective_options(rig.channel)->idle_timeout_ns, LULL_NEVER);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    start_call();
    rig_advance(&rig, 1000 * 3600 * LULL_SECOND);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    enter_idle();
    rig_settle(&rig);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

/* scenarios 85, 92 */
START_TEST(enter_idle_is_once_and_not_after_the_close)
{
    begin(RIG_ACCEPT, 0);
    enter_idle();
    start_call();
    rig_settle(&rig);
    enter_idle();
    enter_idle();
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_settle(&rig);
    expect_asleep(1);
    start_other();
    rig_settle(&rig);
    rig_expect(&other, LULL_CODE_OK, 0);
    lull_channel_close(rig.channel);
    enter_idle();
    rig_advance(&rig, 10 * I_NS);
    ck_assert_int_eq(state(), LULL_STATE_SHUTDOWN);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_fini(&rig);
}
END_TEST

/* scenario 108; get_state(true) is activity when it wakes */
START_TEST(asking_for_a_connection_wakes_and_counts_as_activity)
{
    begin(RIG_ACCEPT, LULL_SECOND);
    ck_assert_int_eq(lull_channel_state(rig.channel, true), LULL_STATE_IDLE);
    ck_assert_int_eq(state(), LULL_STATE_CONNECTING);
    ck_assert(!is_in_idle_mode());
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    expect_awake_until(I_NS);
    /* Asking again, awake, is no activity; nor is asking without trying. */
    (void)lull_channel_state(rig.channel, true);
    expect_awake_until(I_NS);
    rig_advance_to(&rig, I_NS);
    expect_asleep(1);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_int_eq(state(), LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

/* RULINGS 5, scenario 109: a call that fails before any attempt counts too */
START_TEST(a_call_that_expired_before_it_started_counts_once)
{
    begin(RIG_ACCEPT, 0);
    rig_call_with(&rig, &call, 0, false);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_DEADLINE_EXCEEDED, 0);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_uint_eq(lull_idle_calls(&rig.channel->idle), 0);
    expect_awake_until(I_NS);
    rig_advance_to(&rig, I_NS);
    expect_asleep(0);
    rig_fini(&rig);
}
END_TEST

/* ---- what it leaves */

/* A peer that takes nothing any more holds up a reset, but not the close: the stream belongs to nobody. */
START_TEST(a_deaf_peer_does_not_keep_a_sleeping_channel_connected)
{
    for (int is_draining = 0; is_draining <= 1; is_draining++) {
        begin(RIG_ACCEPT, 0);
        rig.steps[0].is_deaf = true;
        rig.on_request = rig_stay_silent;
        start_call();
        rig_settle(&rig);
        ck_assert_int_eq(state(), LULL_STATE_READY);
        if (is_draining) {
            enter_idle();
            rig_settle(&rig);
            ck_assert(!list_is_empty(&rig.channel->subchannel.connections));
        }
        lull_call_cancel(call.handle);
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_CANCELLED, 0);
        rig_advance_to(&rig, is_draining ? 0 : I_NS);
        ck_assert_int_eq(state(), LULL_STATE_IDLE);
        ck_assert(list_is_empty(&rig.channel->subchannel.connections));
        ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
        rig_fini(&rig);
    }
}
END_TEST

/* What somebody wanted before the sleep is not wanted after it. */
START_TEST(a_wish_for_a_connection_is_forgotten)
{
    begin(RIG_ACCEPT, 500 * LULL_MS);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, 100 * LULL_MS);
    enter_idle();
    start_call(); /* waits for the spacing of 800 ms */
    rig_advance(&rig, 100 * LULL_MS);
    lull_call_cancel(call.handle);
    rig_advance(&rig, 10 * LULL_SECOND);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_uint_eq(rig.attempt_count, 1);
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    rig_fini(&rig);
}
END_TEST

/* C34: the memory that waits for the next call goes too. */
START_TEST(a_sleeping_channel_gives_its_memory_back)
{
    begin(RIG_ACCEPT, 0);
    uint64_t born = rig.memory.live_bytes;
    lull_channel_unref(rig.channel);
    ck_assert_uint_le(born - rig.memory.live_bytes,
                      4096); /* what README says of a channel that sleeps */
    rig_open(&rig);
    ck_assert_uint_eq(rig.memory.live_bytes, born);
    for (int i = 0; i < 20; i++) {
        start_call();
        start_other();
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_OK, 0);
    }
    ck_assert_uint_gt(rig.memory.live_bytes, born + 100000);
    rig_advance_to(&rig, I_NS);
    expect_asleep(1);
    /* Our end of the pipe, with both rings, is there until the peer's end is closed. */
    peer_close(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(rig.memory.live_bytes, born);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_idle_suite(void)
{
    Suite *suite = suite_create("channel_idle");
    TCase *tcase = tcase_create("channel_idle");
    tcase_add_test(tcase, the_timeout_counts_from_the_end_of_the_last_call);
    tcase_add_test(tcase, a_call_puts_it_off);
    tcase_add_test(tcase, a_call_holds_it_off_from_its_creation_to_its_end);
    tcase_add_test(tcase, switched_off_it_never_falls_idle_by_itself);
    tcase_add_test(tcase, enter_idle_is_once_and_not_after_the_close);
    tcase_add_test(tcase, asking_for_a_connection_wakes_and_counts_as_activity);
    tcase_add_test(tcase, a_call_that_expired_before_it_started_counts_once);
    tcase_add_test(tcase, a_deaf_peer_does_not_keep_a_sleeping_channel_connected);
    tcase_add_test(tcase, a_wish_for_a_connection_is_forgotten);
    tcase_add_test(tcase, a_sleeping_channel_gives_its_memory_back);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_idle", channel_idle_suite)
