/* SPDX-License-Identifier: MIT */
/*
 * Blocking streams (src/sync/sync_stream.c) against a server on another thread, over the loopback: public functions only. Whether a wait
 * ends is the test; each case has a timeout of its own.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/integ/sync_support.h"

#define STREAMS   8
#define BIG_BYTES ((size_t)16 * 1024)

static struct sync_server served;
static struct lull_channel *channel;
static uint8_t big[BIG_BYTES];

static void set_up(void)
{
    sync_server_start(&served);
    channel = sync_channel(&served, NULL);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    sync_server_stop(&served);
}

static unsigned rounds(unsigned many, unsigned few)
{
    return getenv("LULL_TEST_FEWER") != NULL ? few : many;
}

static void open_stream(struct lull_sync_stream *stream, const char *method, int64_t timeout_ns)
{
    struct lull_call_options options;
    struct lull_error error;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    ck_assert_msg(lull_sync_stream_open(channel, &options, stream, &error) == LULL_OK, "%s", error.text);
}

static void expect_end(struct lull_sync_stream *stream, enum lull_code code)
{
    struct lull_sync_result result;
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_stream_finish(stream, &result), LULL_OK);
    ck_assert_msg(result.status.code == code, "%s",
                  result.status.failure != NULL ? result.status.failure->line : "OK");
    lull_sync_result_fini(&result);
}

static void send_number(struct lull_sync_stream *stream, unsigned number)
{
    struct lull_slice message;
    ck_assert_int_eq(lull_slice_copy(NULL, &number, sizeof(number), &message), LULL_OK);
    ck_assert_int_eq(lull_sync_stream_send(stream, message), LULL_OK);
    lull_slice_unref(message);
}

static void expect_number(struct lull_sync_stream *stream, unsigned number)
{
    struct lull_slice message;
    ck_assert_int_eq(lull_sync_stream_recv(stream, &message), LULL_OK);
    ck_assert_uint_eq(message.len, sizeof(number));
    ck_assert_mem_eq(message.data, &number, sizeof(number));
    lull_slice_unref(message);
}

static void expect_no_more(struct lull_sync_stream *stream)
{
    struct lull_slice message;
    ck_assert_int_eq(lull_sync_stream_recv(stream, &message), LULL_RC_CLOSED);
    ck_assert_int_eq(lull_sync_stream_recv(stream, &message), LULL_RC_CLOSED);
}

/* ---- both ways */

START_TEST(messages_go_to_and_fro_on_one_thread)
{
    struct lull_sync_stream stream;
    open_stream(&stream, METHOD_ECHO, LULL_NEVER);
    for (unsigned i = 0; i < rounds(1000, 100); i++) {
        send_number(&stream, i);
        expect_number(&stream, i);
    }
    ck_assert_int_eq(lull_sync_stream_half_close(&stream), LULL_OK);
    ck_assert_int_eq(lull_sync_stream_send(&stream, lull_slice_static("x", 1)), LULL_RC_STATE);
    expect_no_more(&stream);
    expect_end(&stream, LULL_CODE_OK);
}
END_TEST

struct pair {
    struct lull_sync_stream stream;
    pthread_t sends, receives;
    unsigned count;
    int rc; /* of the last */
};

static struct pair pairs[STREAMS];

static void *send_all(void *arg)
{
    struct pair *pair = arg;
    for (unsigned i = 0; i < pair->count; i++) {
        send_number(&pair->stream, i);
    }
    ck_assert_int_eq(lull_sync_stream_half_close(&pair->stream), LULL_OK);
    return NULL;
}

static void *receive_all(void *arg)
{
    struct pair *pair = arg;
    for (unsigned i = 0; i < pair->count; i++) {
        expect_number(&pair->stream, i);
    }
    expect_no_more(&pair->stream);
    return NULL;
}

static void run_pairs(void)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        pairs[i].count = rounds(1000, 100);
        open_stream(&pairs[i].stream, METHOD_ECHO, LULL_NEVER);
        ck_assert_int_eq(pthread_create(&pairs[i].receives, NULL, receive_all, &pairs[i]), 0);
        ck_assert_int_eq(pthread_create(&pairs[i].sends, NULL, send_all, &pairs[i]), 0);
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        ck_assert_int_eq(pthread_join(pairs[i].sends, NULL), 0);
        ck_assert_int_eq(pthread_join(pairs[i].receives, NULL), 0);
        expect_end(&pairs[i].stream, LULL_CODE_OK);
    }
}

START_TEST(two_threads_a_stream_send_and_receive_at_once)
{
    run_pairs();
}
END_TEST

START_TEST(they_do_so_while_the_loop_has_a_thread)
{
    struct lull_loop *loop = lull_channel_effective_options(channel)->loop;
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    run_pairs();
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* ---- back-pressure */

/* Far more than the queue and the windows hold, to a server that takes all of it. */
START_TEST(a_full_queue_makes_send_wait)
{
    struct lull_sync_stream stream;
    open_stream(&stream, METHOD_SINK, LULL_NEVER);
    for (unsigned i = 0; i < rounds(500, 100); i++) {
        ck_assert_int_eq(lull_sync_stream_send(&stream, lull_slice_static(big, BIG_BYTES)), LULL_OK);
    }
    expect_end(&stream, LULL_CODE_OK);
}
END_TEST

/* Sends until it is not taken any more, and says why. */
static int send_until_refused(struct lull_sync_stream *stream)
{
    int rc;
    do {
        rc = lull_sync_stream_send(stream, lull_slice_static(big, BIG_BYTES));
    } while (rc == LULL_OK);
    return rc;
}

START_TEST(a_deadline_ends_a_send_that_waits)
{
    struct lull_sync_stream stream;
    open_stream(&stream, METHOD_STUCK, 200 * LULL_MS);
    ck_assert_int_eq(send_until_refused(&stream), LULL_RC_CLOSED);
    expect_end(&stream, LULL_CODE_DEADLINE_EXCEEDED);
}
END_TEST

START_TEST(a_deadline_ends_a_receive_that_waits)
{
    struct lull_sync_stream stream;
    open_stream(&stream, METHOD_SILENT, 50 * LULL_MS);
    expect_no_more(&stream);
    ck_assert_int_eq(lull_sync_stream_send(&stream, lull_slice_static("x", 1)), LULL_RC_CLOSED);
    expect_end(&stream, LULL_CODE_DEADLINE_EXCEEDED);
}
END_TEST

/* ---- ends */

/* Nobody receives: more messages are held than the ring has places, and the end is behind them. */
START_TEST(an_early_end_is_told_to_a_sender_that_does_not_receive)
{
    struct lull_sync_result result; /* of all, one after another */
    lull_sync_result_init(&result);
    for (unsigned i = 0; i < rounds(50, 10); i++) {
        struct lull_sync_stream stream;
        open_stream(&stream, METHOD_EARLY, LULL_NEVER);
        ck_assert_int_eq(send_until_refused(&stream), LULL_RC_CLOSED);
        ck_assert_int_eq(lull_sync_stream_finish(&stream, &result), LULL_OK);
        ck_assert_int_eq(result.status.code, LULL_CODE_ABORTED);
        ck_assert_str_eq(result.status.message, "enough");
    }
    lull_sync_result_fini(&result);
}
END_TEST

START_TEST(what_came_before_the_end_is_received)
{
    struct lull_sync_stream stream;
    struct lull_slice message;
    open_stream(&stream, METHOD_EARLY, LULL_NEVER);
    ck_assert_int_eq(lull_sync_stream_send(&stream, lull_slice_static("x", 1)), LULL_OK);
    for (int i = 0; i < EARLY_MESSAGES; i++) {
        ck_assert_int_eq(lull_sync_stream_recv(&stream, &message), LULL_OK);
        ck_assert_uint_eq(message.len, 5);
        lull_slice_unref(message);
    }
    expect_no_more(&stream);
    expect_end(&stream, LULL_CODE_ABORTED);
}
END_TEST

START_TEST(finish_drops_what_nobody_received)
{
    struct lull_sync_stream stream;
    open_stream(&stream, METHOD_ECHO, LULL_NEVER);
    for (unsigned i = 0; i < 100; i++) {
        send_number(&stream, i);
    }
    ck_assert_int_eq(lull_sync_stream_finish(&stream, NULL), LULL_OK);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
}
END_TEST

static void *receive_one(void *arg)
{
    struct pair *pair = arg;
    struct lull_slice message;
    pair->rc = lull_sync_stream_recv(&pair->stream, &message);
    return NULL;
}

static void *send_many(void *arg)
{
    struct pair *pair = arg;
    pair->count = (unsigned)send_until_refused(&pair->stream);
    return NULL;
}

static void block_both(struct pair *pair)
{
    open_stream(&pair->stream, METHOD_STUCK, LULL_NEVER);
    ck_assert_int_eq(pthread_create(&pair->receives, NULL, receive_one, pair), 0);
    ck_assert_int_eq(pthread_create(&pair->sends, NULL, send_many, pair), 0);
}

static void expect_both_closed(struct pair *pair, enum lull_code code)
{
    ck_assert_int_eq(pthread_join(pair->sends, NULL), 0);
    ck_assert_int_eq(pthread_join(pair->receives, NULL), 0);
    ck_assert_int_eq(pair->rc, LULL_RC_CLOSED);
    ck_assert_uint_eq(pair->count, LULL_RC_CLOSED);
    expect_end(&pair->stream, code);
}

START_TEST(cancels_from_another_thread_end_every_wait)
{
    for (unsigned n = 0; n < rounds(30, 5); n++) {
        for (unsigned i = 0; i < STREAMS; i++) {
            block_both(&pairs[i]);
        }
        for (unsigned i = 0; i < STREAMS; i++) {
            lull_sync_stream_cancel(&pairs[i].stream);
            lull_sync_stream_cancel(&pairs[i].stream);
        }
        for (unsigned i = 0; i < STREAMS; i++) {
            expect_both_closed(&pairs[i], LULL_CODE_CANCELLED);
        }
    }
}
END_TEST

START_TEST(closing_the_channel_ends_every_wait)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        block_both(&pairs[i]);
    }
    lull_channel_close(channel);
    for (unsigned i = 0; i < STREAMS; i++) {
        expect_both_closed(&pairs[i], LULL_CODE_UNAVAILABLE);
    }
}
END_TEST

/* ---- where one must not block */

static int rc_inside[4];

static void block_inside(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct lull_call_options options;
    struct lull_sync_stream inside;
    struct lull_slice message;
    (void)call;
    (void)result;
    lull_call_options_init(&options, METHOD_ECHO);
    rc_inside[0] = lull_sync_stream_open(channel, &options, &inside, NULL);
    rc_inside[1] = lull_sync_stream_send(ctx, lull_slice_static("x", 1));
    rc_inside[2] = lull_sync_stream_recv(ctx, &message);
    rc_inside[3] = lull_sync_stream_finish(ctx, NULL);
}

START_TEST(in_a_callback_nothing_blocks)
{
    struct lull_call_options options;
    struct lull_sync_stream stream;
    lull_call_options_init(&options, METHOD_ECHO);
    open_stream(&stream, METHOD_ECHO, LULL_NEVER);
    rc_inside[3] = -1;
    ck_assert_int_eq(
        lull_call_unary(channel, &options, lull_slice_static("x", 1), block_inside, &stream, NULL, NULL), LULL_OK);
    while (rc_inside[3] < 0) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(rc_inside[i], LULL_RC_IN_TURN);
    }
    expect_end(&stream, LULL_CODE_OK);
}
END_TEST

START_TEST(what_is_wrong_is_told)
{
    struct lull_call_options options;
    struct lull_sync_stream stream;
    struct lull_sync_result result;
    struct lull_error error;
    lull_call_options_init(&options, "no method");
    ck_assert_int_eq(lull_sync_stream_open(channel, &options, &stream, &error), LULL_RC_INVALID);
    ck_assert_int_eq(lull_sync_stream_open(NULL, &options, &stream, &error), LULL_RC_INVALID);
    ck_assert_int_eq(lull_sync_stream_open(channel, &options, NULL, &error), LULL_RC_INVALID);
    open_stream(&stream, METHOD_ECHO, LULL_NEVER);
    lull_sync_result_init(&result);
    result.size--;
    ck_assert_int_eq(lull_sync_stream_finish(&stream, &result), LULL_RC_INVALID);
    expect_end(&stream, LULL_CODE_OK);
}
END_TEST

/* ---- a cancel beside the end */

#define CANCELLED_MAX 400

static struct lull_sync_stream cancelled[CANCELLED_MAX];
static atomic_uint opened; /* how many of them; CANCELLED_MAX + 1: no more will come */

/* Cancels the newest over and over: before its end, beside it and behind it. */
static void *cancel_newest(void *arg)
{
    unsigned seen;
    (void)arg;
    while ((seen = atomic_load(&opened)) <= CANCELLED_MAX) {
        if (seen != 0) {
            lull_sync_stream_cancel(&cancelled[seen - 1]);
        }
    }
    return NULL;
}

START_TEST(a_cancel_may_meet_the_end_in_another_thread_and_comes_behind_it_for_nothing)
{
    pthread_t threads[2];
    const unsigned many = rounds(CANCELLED_MAX, 50);
    atomic_store(&opened, 0);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, cancel_newest, NULL), 0);
    }
    for (unsigned i = 0; i < many; i++) {
        struct lull_sync_result result;
        open_stream(&cancelled[i], METHOD_ECHO, LULL_NEVER);
        atomic_store(&opened, i + 1);
        lull_sync_result_init(&result);
        ck_assert_int_eq(lull_sync_stream_finish(&cancelled[i], &result), LULL_OK);
        ck_assert(result.status.code == LULL_CODE_CANCELLED || result.status.code == LULL_CODE_OK);
        lull_sync_result_fini(&result);
    }
    atomic_store(&opened, CANCELLED_MAX + 1);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
}
END_TEST

static Suite *sync_stream_suite(void)
{
    Suite *suite = suite_create("sync_stream");
    TCase *cases = tcase_create("sync_stream");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, messages_go_to_and_fro_on_one_thread);
    tcase_add_test(cases, two_threads_a_stream_send_and_receive_at_once);
    tcase_add_test(cases, they_do_so_while_the_loop_has_a_thread);
    tcase_add_test(cases, a_full_queue_makes_send_wait);
    tcase_add_test(cases, a_deadline_ends_a_send_that_waits);
    tcase_add_test(cases, a_deadline_ends_a_receive_that_waits);
    tcase_add_test(cases, an_early_end_is_told_to_a_sender_that_does_not_receive);
    tcase_add_test(cases, what_came_before_the_end_is_received);
    tcase_add_test(cases, finish_drops_what_nobody_received);
    tcase_add_test(cases, cancels_from_another_thread_end_every_wait);
    tcase_add_test(cases, closing_the_channel_ends_every_wait);
    tcase_add_test(cases, in_a_callback_nothing_blocks);
    tcase_add_test(cases, what_is_wrong_is_told);
    tcase_add_test(cases, a_cancel_may_meet_the_end_in_another_thread_and_comes_behind_it_for_nothing);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_stream", sync_stream_suite)
