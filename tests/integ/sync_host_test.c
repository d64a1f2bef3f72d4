/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls and streams where somebody else drives or nobody can (src/sync/): on a host's loop from threads that are not the host's,
 * two threads that want the same direction of a stream, and a loop that cannot be opened. Against a server on another thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"
#include "tests/support/poll_host.h"
#include "tests/support/rounds.h"

#define GUESTS    4
#define BIG_BYTES ((size_t)16 * 1024)

static struct sync_server served;
static uint8_t big[BIG_BYTES];

static void set_up(void)
{
    sync_server_start(&served);
}

static void tear_down(void)
{
    sync_server_stop(&served);
}

static void open_stream(struct lull_channel *channel, const char *method, int64_t timeout_ns,
                        struct lull_sync_stream *stream)
{
    struct lull_call_options options;
    struct lull_error error;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    options.wait_for_ready = true; /* a dial that fails does not end it */
    ck_assert_msg(lull_sync_stream_open(channel, &options, stream, &error) == LULL_OK, "%s", error.text);
}

static void expect_end(struct lull_sync_stream *stream, int rc, enum lull_code code)
{
    struct lull_sync_result result;
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_stream_finish(stream, &result), rc);
    ck_assert_msg(result.status.code == code, "%s",
                  result.status.failure != NULL ? result.status.failure->line : "OK");
    lull_sync_result_fini(&result);
}

/* ---- on a host's loop: this thread is the host, the guests block */

struct guest {
    pthread_t thread;
    struct lull_channel *channel;
};

static _Atomic(unsigned) guests_left;

static void *echo_to_and_fro(void *arg)
{
    struct guest *guest = arg;
    struct lull_sync_stream stream;
    struct lull_slice message;
    open_stream(guest->channel, METHOD_ECHO, LULL_NEVER, &stream);
    for (unsigned i = 0; i < test_rounds(300, 50); i++) {
        struct lull_slice sent;
        ck_assert_int_eq(lull_slice_copy(NULL, &i, sizeof(i), &sent), LULL_OK);
        ck_assert_int_eq(lull_sync_stream_send(&stream, sent), LULL_OK);
        lull_slice_unref(sent);
        ck_assert_int_eq(lull_sync_stream_recv(&stream, &message), LULL_OK);
        ck_assert_uint_eq(message.len, sizeof(i));
        ck_assert_mem_eq(message.data, &i, sizeof(i));
        lull_slice_unref(message);
    }
    ck_assert_int_eq(lull_sync_stream_half_close(&stream), LULL_OK);
    ck_assert_int_eq(lull_sync_stream_recv(&stream, &message), LULL_RC_CLOSED);
    expect_end(&stream, LULL_OK, LULL_CODE_OK);
    atomic_fetch_sub(&guests_left, 1);
    return NULL;
}

/* More than the queue and the windows hold, so that sends wait for the host. */
static void *fill_the_sink(void *arg)
{
    struct guest *guest = arg;
    struct lull_sync_stream stream;
    open_stream(guest->channel, METHOD_SINK, LULL_NEVER, &stream);
    for (unsigned i = 0; i < test_rounds(200, 50); i++) {
        ck_assert_int_eq(lull_sync_stream_send(&stream, lull_slice_static(big, BIG_BYTES)), LULL_OK);
    }
    expect_end(&stream, LULL_OK, LULL_CODE_OK);
    atomic_fetch_sub(&guests_left, 1);
    return NULL;
}

static void *wait_for_deadlines(void *arg)
{
    struct guest *guest = arg;
    struct lull_sync_stream stream;
    struct lull_slice message;
    open_stream(guest->channel, METHOD_SILENT, 20 * LULL_MS, &stream);
    ck_assert_int_eq(lull_sync_stream_recv(&stream, &message), LULL_RC_CLOSED);
    expect_end(&stream, LULL_OK, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_int_eq(sync_call(guest->channel, METHOD_SILENT, 20 * LULL_MS), LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_int_eq(sync_call(guest->channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    atomic_fetch_sub(&guests_left, 1);
    return NULL;
}

static void *(*const guests_do[])(void *) = {echo_to_and_fro, fill_the_sink, wait_for_deadlines};

START_TEST(guests_block_on_a_hosts_loop)
{
    struct poll_host host;
    struct guest guests[GUESTS];
    poll_host_init(&host, 0, 0, 1);
    struct lull_channel *channel = sync_channel(&served, &host.loop);
    atomic_store(&guests_left, GUESTS);
    for (unsigned i = 0; i < GUESTS; i++) {
        guests[i].channel = channel;
        ck_assert_int_eq(pthread_create(&guests[i].thread, NULL, guests_do[_i], &guests[i]), 0);
    }
    while (atomic_load(&guests_left) != 0) {
        poll_host_round(&host, LULL_MS);
    }
    for (unsigned i = 0; i < GUESTS; i++) {
        ck_assert_int_eq(pthread_join(guests[i].thread, NULL), 0);
    }
    lull_channel_unref(channel);
    poll_host_round(&host, 0);
    poll_host_fini(&host);
}
END_TEST

/* ---- two threads, one direction */

struct rival {
    pthread_t thread;
    struct lull_sync_stream *stream;
    int rc;
};

static _Atomic(unsigned) rivals_refused;

static void *receive(void *arg)
{
    struct rival *rival = arg;
    struct lull_slice message;
    rival->rc = lull_sync_stream_recv(rival->stream, &message);
    atomic_fetch_add(&rivals_refused, rival->rc == LULL_RC_STATE);
    return NULL;
}

static void *send_until_refused(void *arg)
{
    struct rival *rival = arg;
    do {
        rival->rc = lull_sync_stream_send(rival->stream, lull_slice_static(big, BIG_BYTES));
    } while (rival->rc == LULL_OK);
    atomic_fetch_add(&rivals_refused, rival->rc == LULL_RC_STATE);
    return NULL;
}

/* One is told that the other is there, which then waits as if it had been alone. */
static void expect_one_refused(const char *method, void *(*run)(void *))
{
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_sync_stream stream;
    struct rival rivals[2];
    open_stream(channel, method, LULL_NEVER, &stream);
    atomic_store(&rivals_refused, 0);
    for (int i = 0; i < 2; i++) {
        rivals[i].stream = &stream;
        ck_assert_int_eq(pthread_create(&rivals[i].thread, NULL, run, &rivals[i]), 0);
    }
    while (atomic_load(&rivals_refused) == 0) {
        (void)usleep(1000);
    }
    lull_sync_stream_cancel(&stream);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(rivals[i].thread, NULL), 0);
    }
    ck_assert_uint_eq(rivals_refused, 1);
    ck_assert_int_eq(rivals[0].rc == LULL_RC_STATE ? rivals[1].rc : rivals[0].rc, LULL_RC_CLOSED);
    expect_end(&stream, LULL_OK, LULL_CODE_CANCELLED);
    lull_channel_unref(channel);
}

START_TEST(a_second_receiver_is_told_that_there_is_one)
{
    expect_one_refused(METHOD_SILENT, receive);
}
END_TEST

START_TEST(a_second_sender_is_told_that_there_is_one)
{
    expect_one_refused(METHOD_STUCK, send_until_refused);
}
END_TEST

/* ---- a loop that cannot be opened: there are no descriptors left */

static struct rlimit as_it_was;

static void take_descriptors_away(void)
{
    struct rlimit none;
    const int next = dup(STDERR_FILENO);
    ck_assert_int_ge(next, 0);
    ck_assert_int_eq(close(next), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &as_it_was), 0);
    none = as_it_was;
    none.rlim_cur = (rlim_t)next;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void give_them_back(void)
{
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &as_it_was), 0);
}

static int block(struct lull_channel *channel, struct lull_error *error)
{
    struct lull_call_options options;
    struct lull_sync_result result;
    lull_call_options_init(&options, METHOD_ECHO);
    options.wait_for_ready = true;
    lull_sync_result_init(&result);
    const int rc = lull_sync_unary(channel, &options, lull_slice_static("x", 1), &result, error);
    ck_assert_int_eq(result.status.code, LULL_CODE_OK); /* without a loop it is empty */
    ck_assert_uint_eq(result.message.len, rc == LULL_OK ? 1 : 0);
    lull_sync_result_fini(&result);
    return rc;
}

static void *block_without_a_loop(void *arg)
{
    struct guest *guest = arg;
    struct lull_error error;
    ck_assert_int_eq(block(guest->channel, &error), LULL_RC_SYSTEM);
    ck_assert_uint_gt(strlen(error.text), 0);
    return NULL;
}

START_TEST(without_a_loop_every_caller_is_told_so_and_later_calls_go)
{
    struct guest guests[GUESTS];
    struct lull_channel *channel = sync_channel(&served, NULL);
    take_descriptors_away();
    for (unsigned i = 0; i < GUESTS; i++) {
        guests[i].channel = channel;
        ck_assert_int_eq(pthread_create(&guests[i].thread, NULL, block_without_a_loop, &guests[i]), 0);
    }
    for (unsigned i = 0; i < GUESTS; i++) {
        ck_assert_int_eq(pthread_join(guests[i].thread, NULL), 0);
    }
    give_them_back();
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(lull_loop_executor(lull_channel_loop(channel)), &counters);
    ck_assert_uint_eq(counters.calls_started, GUESTS);
    ck_assert_uint_eq(counters.calls_closed, GUESTS);
    lull_channel_reset_backoff(channel);
    ck_assert_int_eq(block(channel, NULL), LULL_OK);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(without_a_loop_a_stream_is_cancelled_and_says_so)
{
    struct lull_sync_stream stream;
    struct lull_slice message;
    struct lull_channel *channel = sync_channel(&served, NULL);
    take_descriptors_away();
    open_stream(channel, METHOD_ECHO, LULL_NEVER, &stream);
    ck_assert_int_eq(lull_sync_stream_recv(&stream, &message), LULL_RC_SYSTEM);
    expect_end(&stream, LULL_RC_SYSTEM, LULL_CODE_CANCELLED);
    give_them_back();
    lull_channel_reset_backoff(channel);
    ck_assert_int_eq(block(channel, NULL), LULL_OK);
    lull_channel_unref(channel);
}
END_TEST

static Suite *sync_host_suite(void)
{
    Suite *suite = suite_create("sync_host");
    TCase *cases = tcase_create("sync_host");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, guests_block_on_a_hosts_loop, 0, (int)(sizeof(guests_do) / sizeof(guests_do[0])));
    tcase_add_test(cases, a_second_receiver_is_told_that_there_is_one);
    tcase_add_test(cases, a_second_sender_is_told_that_there_is_one);
    tcase_add_test(cases, without_a_loop_every_caller_is_told_so_and_later_calls_go);
    tcase_add_test(cases, without_a_loop_a_stream_is_cancelled_and_says_so);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_host", sync_host_suite)
