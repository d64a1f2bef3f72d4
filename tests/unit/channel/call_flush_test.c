/* SPDX-License-Identifier: MIT */
/*
 * lull_loop_flush with calls: what was asked for outside a turn is on the wire, and nobody was called back.
 */
#include <string.h>

#include "channel/call.h"
#include "channel/call_cancel.h"
#include "exec/executor.h"
#include "lull/loop.h"
#include "tests/support/check_main.h"
#include "told.h"

#define S LULL_SECOND

static struct rig rig;
static struct server server;
static struct told a, b;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
}

static void get_ready(void)
{
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

static void flush(void)
{
    ck_assert_int_eq(lull_loop_flush(&rig.loop), LULL_OK);
}

/* What is on the wire reaches the peer; the channel's executor does not move. */
static const struct peer *heard(void)
{
    ck_assert_int_eq(lull_executor_turn_now(rig.peers), LULL_OK);
    return rig_peer(&rig, 0);
}

static void turn(void)
{
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
}

START_TEST(a_call_a_message_a_half_close_and_a_cancel_reach_the_wire_and_nobody_is_told)
{
    begin();
    get_ready();
    told_start(&rig, &a, NULL);
    flush();
    ck_assert_uint_eq(peer_count_on(heard(), FRAME_HEADERS, 1), 1);
    told_send(&a, "one");
    flush();
    ck_assert_uint_eq(peer_count_on(heard(), FRAME_DATA, 1), 1);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    flush();
    (void)heard();
    ck_assert(server.streams[0].is_ended);
    lull_call_cancel(a.handle);
    flush();
    ck_assert_uint_eq(peer_count_on(heard(), FRAME_RST, 1), 1);
    ck_assert_str_eq(a.order, "");
    turn();
    told_expect(&a, LULL_CODE_CANCELLED, "C");
    end();
}
END_TEST

START_TEST(a_sleeping_channel_dials)
{
    begin();
    told_start(&rig, &a, NULL);
    ck_assert_uint_eq(rig.attempt_count, 0);
    flush();
    ck_assert_uint_eq(rig.attempt_count, 1);
    rig_settle(&rig);
    ck_assert_uint_eq(peer_count_on(heard(), FRAME_HEADERS, 1), 1);
    end();
}
END_TEST

START_TEST(no_timer_is_judged_and_nothing_is_read)
{
    begin();
    get_ready();
    told_start_with(&rig, &a, S, 0);
    told_start_with(&rig, &b, LULL_NEVER, 0);
    rig_settle(&rig);
    rig.clock.mono_at = lull_instant_add(rig.clock.mono_at, 2 * S);
    peer_answer(rig_peer(&rig, 0), 3, "unread");
    flush();
    ck_assert_str_eq(a.order, "");
    ck_assert_str_eq(b.order, "");
    turn();
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    told_expect(&b, LULL_CODE_OK, "HMC");
    end();
}
END_TEST

START_TEST(the_end_of_a_call_that_never_began_waits_for_a_turn)
{
    begin();
    get_ready();
    told_start_with(&rig, &a, 0, 0);
    flush();
    ck_assert_str_eq(a.order, "");
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, INT64_MIN);
    turn();
    told_expect(&a, LULL_CODE_DEADLINE_EXCEEDED, "C");
    end();
}
END_TEST

START_TEST(calls_that_are_flushed_end_as_others_do)
{
    begin();
    get_ready();
    for (int i = 0; i < 100; i++) {
        memset(&a, 0, sizeof(a));
        told_start_with(&rig, &a, 5 * S, 0);
        flush();
        told_send(&a, "x");
        ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
        flush();
        (void)heard();
        peer_answer(rig_peer(&rig, 0), (uint32_t)(2 * i + 1), "y");
        flush();
        ck_assert_uint_eq(a.events, 0);
        rig_settle(&rig);
        told_expect(&a, LULL_CODE_OK, "HMC");
    }
    end();
}
END_TEST

/* What lull_call_resume and a send that was told to wait leave to the turn, when their thread has seen no end yet. */
static void order_late(void)
{
    call_command(a.handle, CALL_COMMAND_WORK | CALL_COMMAND_WRITABLE | CALL_COMMAND_RESUME);
}

START_TEST(an_order_that_comes_behind_the_end_leaves_no_work_for_a_call_that_is_given_back)
{
    begin();
    a.keeps_handle = true;
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    order_late();
    flush(); /* work would wait for the next turn */
    ck_assert_uint_eq(a.handle->work_task.queued, 0);
    lull_call_unref(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "C");
    end();
}
END_TEST

static Suite *call_flush_suite(void)
{
    Suite *suite = suite_create("call_flush");
    TCase *tcase = tcase_create("call_flush");
    tcase_add_test(tcase, a_call_a_message_a_half_close_and_a_cancel_reach_the_wire_and_nobody_is_told);
    tcase_add_test(tcase, a_sleeping_channel_dials);
    tcase_add_test(tcase, no_timer_is_judged_and_nothing_is_read);
    tcase_add_test(tcase, the_end_of_a_call_that_never_began_waits_for_a_turn);
    tcase_add_test(tcase, calls_that_are_flushed_end_as_others_do);
    tcase_add_test(tcase, an_order_that_comes_behind_the_end_leaves_no_work_for_a_call_that_is_given_back);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_flush", call_flush_suite)
