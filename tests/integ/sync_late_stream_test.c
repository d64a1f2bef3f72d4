/* SPDX-License-Identifier: MIT */
/*
 * Blocking streams while nobody drives (src/sync/sync_stream.c): every wait of one is over behind its deadline, whatever became of the
 * thread that polls, and from lull_sync_stream_finish on nobody touches what was the caller's. Against a server on another thread, over
 * the loopback.
 */
#include "tests/integ/sync_late_support.h"

#define STREAMS   6
#define BIG_BYTES ((size_t)16 * 1024)

static uint8_t big[BIG_BYTES];

struct waiter {
    struct lull_sync_stream stream;
    pthread_t sends, receives;
    int sent, received; /* codes of the last */
    unsigned count;     /* of messages received */
};

static struct waiter waiters[STREAMS];

static void *send_all(void *arg)
{
    struct waiter *waiter = arg;
    do {
        waiter->sent = lull_sync_stream_send(&waiter->stream, lull_slice_static(big, BIG_BYTES));
    } while (waiter->sent == LULL_OK);
    return NULL;
}

static void *receive_all(void *arg)
{
    struct waiter *waiter = arg;
    struct lull_slice message;
    while ((waiter->received = lull_sync_stream_recv(&waiter->stream, &message)) == LULL_OK) {
        lull_slice_unref(message);
        waiter->count++;
    }
    return NULL;
}

static void open_stream(struct waiter *waiter, const char *method, int64_t timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    waiter->count = 0;
    ck_assert_int_eq(lull_sync_stream_open(channel, &options, &waiter->stream, NULL), LULL_OK);
}

static void block_both(struct waiter *waiter)
{
    ck_assert_int_eq(pthread_create(&waiter->sends, NULL, send_all, waiter), 0);
    ck_assert_int_eq(pthread_create(&waiter->receives, NULL, receive_all, waiter), 0);
}

static void join_both(struct waiter *waiter)
{
    ck_assert_int_eq(pthread_join(waiter->sends, NULL), 0);
    ck_assert_int_eq(pthread_join(waiter->receives, NULL), 0);
    ck_assert_int_eq(waiter->sent, LULL_RC_CLOSED);
    ck_assert_int_eq(waiter->received, LULL_RC_CLOSED);
}

/* All that a stream can be asked still, once its time is over. */
static void expect_over(struct waiter *waiter)
{
    struct lull_slice message;
    ck_assert_int_eq(lull_sync_stream_recv(&waiter->stream, &message), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_sync_stream_send(&waiter->stream, lull_slice_static("x", 1)), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_sync_stream_half_close(&waiter->stream), LULL_RC_CLOSED);
}

/* What was the caller's is other things' from here on. */
static void finish_late(struct waiter *waiter, const char *what, const char *where)
{
    struct lull_sync_result result;
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_stream_finish(&waiter->stream, &result), LULL_OK);
    ck_assert_int_eq(result.status.code, LULL_CODE_DEADLINE_EXCEEDED);
    expect_late(result.status.failure->line, what, where);
    lull_sync_result_fini(&result);
    memset(&waiter->stream, 0xA5, sizeof(waiter->stream));
}

/* ---- the poller is in a callback */

START_TEST(waits_that_begin_before_the_poller_enters_a_callback_end_at_the_deadline)
{
    start_driving();
    for (unsigned i = 0; i < STREAMS; i++) {
        open_stream(&waiters[i], METHOD_STUCK, 2 * LULL_SECOND);
        block_both(&waiters[i]);
    }
    wait_for_calls(STREAMS);
    start_call(hold);
    wait_for(&is_held);
    for (unsigned i = 0; i < STREAMS; i++) {
        join_both(&waiters[i]);
        expect_over(&waiters[i]);
        finish_late(&waiters[i], IN_A_CALLBACK, "127.0.0.1:");
    }
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

START_TEST(a_stream_opened_while_it_is_in_one_ends_at_its_deadline)
{
    start_call(hold);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    wait_for(&is_held);
    for (unsigned i = 0; i < STREAMS; i++) {
        open_stream(&waiters[i], METHOD_ECHO, (int64_t)(10 + 10 * i) * LULL_MS);
        block_both(&waiters[i]);
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        join_both(&waiters[i]);
        finish_late(&waiters[i], IN_A_CALLBACK, "before anything was done");
    }
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* One thread, and nothing waits before the finish. */
START_TEST(a_finish_alone_ends_at_the_deadline)
{
    start_call(hold);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    wait_for(&is_held);
    for (unsigned i = 0; i < STREAMS; i++) {
        open_stream(&waiters[i], METHOD_SILENT, 20 * LULL_MS);
        finish_late(&waiters[i], IN_A_CALLBACK, "before anything was done");
    }
    open_stream(&waiters[0], METHOD_SILENT, 20 * LULL_MS);
    ck_assert_int_eq(lull_sync_stream_finish(&waiters[0].stream, NULL), LULL_OK);
    memset(&waiters[0].stream, 0xA5, sizeof(waiters[0].stream));
    let_go();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- what the caller was told stays so */

/* The server has sent EARLY_MESSAGES and its end: the ring is full, and the call waits for somebody who takes what it holds. */
static void open_early(struct waiter *waiter, unsigned taken)
{
    struct lull_slice message;
    start_driving();
    open_stream(waiter, METHOD_EARLY, LULL_SECOND);
    ck_assert_int_eq(lull_sync_stream_send(&waiter->stream, lull_slice_static("x", 1)), LULL_OK);
    /* Behind all that the server sent to the stream, for it is one connection. */
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    for (unsigned i = 0; i < taken; i++) {
        ck_assert_int_eq(lull_sync_stream_recv(&waiter->stream, &message), LULL_OK);
        lull_slice_unref(message);
    }
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    start_call(hold);
    wait_for(&is_held);
}

static void wait_for_no_calls(void)
{
    while (calls_under_way() > 0) {
        (void)poll(NULL, 0, 1);
    }
}

/* The last messages and ABORTED are heard when the poller goes on. */
START_TEST(an_end_that_was_told_stays_though_the_servers_comes_behind_it)
{
    struct waiter *waiter = &waiters[0];
    open_early(waiter, LULL_SYNC_STREAM_HELD + 1);
    (void)receive_all(waiter);
    ck_assert_int_eq(waiter->received, LULL_RC_CLOSED);
    /* The one that was taken made room for one more, or came behind the last that there was room for. */
    ck_assert_uint_ge(waiter->count, LULL_SYNC_STREAM_HELD - 1);
    ck_assert_uint_lt(waiter->count + LULL_SYNC_STREAM_HELD + 1, EARLY_MESSAGES);
    let_go();
    wait_for_no_calls();
    expect_over(waiter);
    finish_late(waiter, IN_A_CALLBACK, "the call was reading the response of 127.0.0.1:");
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* The loop is freed only when the call is over. */
START_TEST(what_had_come_is_received_and_the_rest_keeps_nothing)
{
    struct waiter *waiter = &waiters[0];
    open_early(waiter, 0);
    (void)receive_all(waiter);
    ck_assert_int_eq(waiter->received, LULL_RC_CLOSED);
    ck_assert_uint_eq(waiter->count, LULL_SYNC_STREAM_HELD);
    let_go();
    expect_over(waiter);
    finish_late(waiter, IN_A_CALLBACK, "the call was reading the response of 127.0.0.1:");
    wait_for_no_calls();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- the call's own end and the caller's meet: a stream has one of them */

static void *stream_often(void *arg)
{
    struct waiter *waiter = arg;
    struct lull_sync_result result;
    lull_sync_result_init(&result);
    for (unsigned i = 0; i < 15; i++) {
        open_stream(waiter, i % 2 == 0 ? METHOD_STUCK : METHOD_ECHO, (int64_t)(1 + i % 7) * LULL_MS);
        block_both(waiter);
        join_both(waiter);
        ck_assert_int_eq(lull_sync_stream_finish(&waiter->stream, &result), LULL_OK);
        ck_assert_int_eq(result.status.code, LULL_CODE_DEADLINE_EXCEEDED);
        ck_assert_ptr_nonnull(result.status.failure);
        memset(&waiter->stream, 0xA5, sizeof(waiter->stream));
    }
    lull_sync_result_fini(&result);
    return NULL;
}

START_TEST(the_late_end_and_the_callers_own_meet)
{
    pthread_t threads[STREAMS];
    start_driving();
    for (unsigned i = 0; i < STREAMS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, stream_often, &waiters[i]), 0);
    }
    for (unsigned i = 0; i < 15; i++) {
        start_call(nap);
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- a host's loop whose thread is elsewhere */

static void *use_two(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        open_stream(&waiters[i], METHOD_ECHO, 10 * LULL_MS);
        block_both(&waiters[i]);
        join_both(&waiters[i]);
        finish_late(&waiters[i], ELSEWHERE, "before anything was done");
    }
    return NULL;
}

START_TEST(a_host_that_does_not_drive_keeps_nobody_for_ever)
{
    struct poll_host host;
    struct lull_channel *mine = channel;
    pthread_t user;
    poll_host_init(&host, 0, 0, 1);
    channel = sync_channel(&served, &host.loop);
    ck_assert_int_eq(pthread_create(&user, NULL, use_two, NULL), 0);
    ck_assert_int_eq(pthread_join(user, NULL), 0);
    drive_two_to_their_ends(&host);
    lull_channel_unref(channel);
    poll_host_round(&host, LULL_MS);
    poll_host_fini(&host);
    channel = mine;
}
END_TEST

static Suite *sync_late_stream_suite(void)
{
    Suite *suite = suite_create("sync_late_stream");
    TCase *cases = tcase_create("sync_late_stream");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, waits_that_begin_before_the_poller_enters_a_callback_end_at_the_deadline);
    tcase_add_test(cases, a_stream_opened_while_it_is_in_one_ends_at_its_deadline);
    tcase_add_test(cases, a_finish_alone_ends_at_the_deadline);
    tcase_add_test(cases, an_end_that_was_told_stays_though_the_servers_comes_behind_it);
    tcase_add_test(cases, what_had_come_is_received_and_the_rest_keeps_nothing);
    tcase_add_test(cases, the_late_end_and_the_callers_own_meet);
    tcase_add_test(cases, a_host_that_does_not_drive_keeps_nobody_for_ever);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_late_stream", sync_late_stream_suite)
