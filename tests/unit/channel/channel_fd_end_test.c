/* SPDX-License-Identifier: MIT */
/* src/channel/channel_fd.c: what the end of the one connection means for calls, for the channel, and for who is told. */
#include "given.h"

/* One on a stream, one that waits for a stream and would wait for a connection as well, and one that comes later. */
START_TEST(a_loss_ends_calls_and_the_channel_with_its_reason)
{
    struct outcome running, waiting;

    begin(stay_silent);
    peer_settings_limit(&given.peer, 1);
    start(&running, false);
    rounds();
    start(&waiting, true);
    rounds();
    ck_assert_uint_eq(waiting.done, 0);
    peer_close(&given.peer);
    rounds();
    ck_assert_int_eq(running.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(running.failure.reason, LULL_REASON_TRANSPORT);
    forget(&running);
    expect_none_to_dial(&waiting, "closed");
    expect_closed("is gone");
    ck_assert_ptr_null(strstr(given.traced, "next in"));
    end();
}
END_TEST

START_TEST(a_loss_without_calls_closes_it_too)
{
    struct outcome outcome;

    begin(answer);
    peer_settings(&given.peer);
    call(&outcome);
    expect_ok(&outcome);
    peer_close(&given.peer);
    rounds();
    expect_closed("is gone");
    end();
}
END_TEST

START_TEST(a_peer_that_was_gone_before_the_first_call_is_found_by_it)
{
    struct outcome outcome;

    begin(answer);
    peer_close(&given.peer);
    rounds();
    expect_not_closed(); /* nobody looked */
    start(&outcome, true);
    rounds();
    expect_none_to_dial(&outcome, "is gone");
    expect_closed("is gone");
    end();
}
END_TEST

START_TEST(a_peer_that_is_mute_is_one_failed_attempt_and_the_last)
{
    struct outcome eager, patient;

    begin(answer);
    given.peer.is_mute = true;
    start(&eager, false);
    start(&patient, true);
    rounds();
    advance(20 * LULL_SECOND - 1);
    ck_assert_uint_eq(eager.done + patient.done, 0);
    advance(1);
    expect_none_to_dial(&eager, "no SETTINGS");
    expect_none_to_dial(&patient, "no SETTINGS");
    expect_closed("no SETTINGS");
    ck_assert_ptr_null(strstr(given.traced, "next in"));
    ck_assert_ptr_nonnull(strstr(given.traced, "there is no other"));
    end();
}
END_TEST

START_TEST(after_a_goaway_calls_go_on_and_the_channel_closes_behind_them)
{
    struct outcome running, late;

    begin(stay_silent);
    peer_settings(&given.peer);
    call(&running);
    peer_goaway(&given.peer, 1, 0, "moving");
    rounds();
    start(&late, true);
    rounds();
    expect_none_to_dial(&late, "takes no more calls and there is none to dial: GOAWAY(NO_ERROR, \"moving\")");
    (void)lull_channel_state(given.channel, true);
    advance(LULL_HOUR);
    expect_not_closed();
    ck_assert_uint_eq(running.done, 0);
    peer_answer(&given.peer, 1, "hello");
    rounds();
    expect_ok(&running);
    expect_closed("GOAWAY(NO_ERROR, \"moving\")");
    end();
}
END_TEST

/* Those that a GOAWAY sends back have nowhere to go. */
START_TEST(what_a_goaway_left_out_is_not_retried)
{
    struct outcome first, second;

    begin(stay_silent);
    peer_settings(&given.peer);
    call(&first);
    call(&second);
    peer_goaway(&given.peer, 1, 0, "");
    rounds();
    expect_none_to_dial(&second, "GOAWAY(NO_ERROR)");
    expect_not_closed();
    peer_answer(&given.peer, 1, "hello");
    rounds();
    expect_ok(&first);
    expect_closed("GOAWAY(NO_ERROR)");
    end();
}
END_TEST

START_TEST(keepalive_finds_a_dead_peer_and_that_is_the_end)
{
    struct outcome outcome;

    given.options.keepalive_time_ns = 10 * LULL_SECOND;
    given.options.keepalive_timeout_ns = 5 * LULL_SECOND;
    begin(stay_silent);
    peer_settings(&given.peer);
    call(&outcome);
    given.peer.is_mute = true;
    advance(10 * LULL_SECOND);
    ck_assert_uint_eq(peer_count(&given.peer, FRAME_PING), 1);
    advance(5 * LULL_SECOND);
    ck_assert_uint_eq(outcome.done, 1);
    ck_assert_int_eq(outcome.failure.reason, LULL_REASON_KEEPALIVE);
    forget(&outcome);
    expect_closed("is gone");
    end();
}
END_TEST

/* RULINGS 19: what the peer has said is told, however late it is read. */
START_TEST(messages_outlive_the_connection_for_a_reader_that_pauses)
{
    struct outcome outcome;

    begin(stay_silent);
    peer_settings(&given.peer);
    call(&outcome);
    lull_call_pause(outcome.call);
    rounds();
    peer_answer(&given.peer, 1, "hello");
    rounds();
    peer_close(&given.peer);
    rounds();
    expect_closed("is gone");
    ck_assert_uint_eq(outcome.done, 0);
    lull_call_resume(outcome.call);
    rounds();
    ck_assert_uint_eq(outcome.messages, 1);
    expect_ok(&outcome);
    end();
}
END_TEST

START_TEST(the_applications_close_ends_a_reader_that_pauses_even_then)
{
    struct outcome outcome;

    begin(stay_silent);
    peer_settings(&given.peer);
    call(&outcome);
    lull_call_pause(outcome.call);
    rounds();
    peer_answer(&given.peer, 1, "hello");
    rounds();
    peer_close(&given.peer);
    rounds();
    ck_assert_uint_eq(outcome.done, 0);
    lull_channel_close(given.channel);
    rounds();
    ck_assert_uint_eq(outcome.messages, 0);
    expect_ok(&outcome); /* the status was the server's */
    expect_closed("is gone");
    end();
}
END_TEST

static enum lull_state watched[8];
static unsigned watched_count;

static void on_state(struct lull_channel *which, enum lull_state now, void *ctx)
{
    ck_assert_uint_lt(watched_count, 8);
    watched[watched_count++] = now;
    (void)lull_channel_watch(which, now, on_state, ctx);
}

START_TEST(who_watches_is_told_of_the_end)
{
    struct outcome outcome;

    watched_count = 0;
    begin(answer);
    peer_settings(&given.peer);
    ck_assert_int_eq(lull_channel_watch(given.channel, LULL_STATE_READY, on_state, NULL), LULL_OK);
    call(&outcome);
    expect_ok(&outcome);
    peer_close(&given.peer);
    rounds();
    ck_assert_int_eq(watched[watched_count - 1], LULL_STATE_SHUTDOWN);
    end();
}
END_TEST

/* Orders given while the end is on its way find nothing to do. */
static void meddle(struct lull_channel *which, enum lull_state now, void *ctx)
{
    (void)ctx;
    lull_channel_reset_backoff(which);
    lull_channel_enter_idle(which);
    (void)lull_channel_state(which, true);
    if (now != LULL_STATE_SHUTDOWN) {
        (void)lull_channel_watch(which, now, meddle, ctx);
    }
}

START_TEST(nothing_that_is_ordered_meanwhile_dials_again)
{
    struct outcome outcome;

    begin(answer);
    (void)lull_channel_watch(given.channel, LULL_STATE_IDLE, meddle, NULL);
    start(&outcome, true);
    peer_close(&given.peer);
    rounds();
    expect_none_to_dial(&outcome, "is gone");
    expect_closed("is gone");
    end();
}
END_TEST

static void drop_channel(struct lull_channel *which, enum lull_state now, void *ctx)
{
    (void)ctx;
    (void)now;
    ck_assert_ptr_eq(which, given.channel);
    lull_channel_unref(given.channel);
    given.channel = NULL;
}

START_TEST(it_may_be_given_back_when_the_end_is_told)
{
    struct outcome outcome;

    begin(answer);
    peer_settings(&given.peer);
    call(&outcome);
    expect_ok(&outcome);
    ck_assert_int_eq(lull_channel_watch(given.channel, LULL_STATE_READY, drop_channel, NULL), LULL_OK);
    peer_close(&given.peer);
    rounds();
    ck_assert_ptr_null(given.channel);
    end();
}
END_TEST

static Suite *channel_fd_end_suite(void)
{
    Suite *suite = suite_create("channel_fd_end");
    TCase *cases = tcase_create("channel_fd_end");

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_loss_ends_calls_and_the_channel_with_its_reason);
    tcase_add_test(cases, a_loss_without_calls_closes_it_too);
    tcase_add_test(cases, a_peer_that_was_gone_before_the_first_call_is_found_by_it);
    tcase_add_test(cases, a_peer_that_is_mute_is_one_failed_attempt_and_the_last);
    tcase_add_test(cases, after_a_goaway_calls_go_on_and_the_channel_closes_behind_them);
    tcase_add_test(cases, what_a_goaway_left_out_is_not_retried);
    tcase_add_test(cases, keepalive_finds_a_dead_peer_and_that_is_the_end);
    tcase_add_test(cases, messages_outlive_the_connection_for_a_reader_that_pauses);
    tcase_add_test(cases, the_applications_close_ends_a_reader_that_pauses_even_then);
    tcase_add_test(cases, who_watches_is_told_of_the_end);
    tcase_add_test(cases, nothing_that_is_ordered_meanwhile_dials_again);
    tcase_add_test(cases, it_may_be_given_back_when_the_end_is_told);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("channel_fd_end", channel_fd_end_suite)
