/* SPDX-License-Identifier: MIT */
/*
 * A loop on a thread of its own (src/loop/loop_thread.c) against a server on another one, over the loopback: progress while nobody calls,
 * and starts and ends from everywhere.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"

#define THREADS 4

static struct sync_server served;
static struct lull_loop *loop;
static struct lull_channel *channel;

static unsigned rounds(unsigned many, unsigned few)
{
    return getenv("LULL_TEST_FEWER") != NULL ? few : many;
}

static void set_up(void)
{
    sync_server_start(&served);
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    channel = sync_channel(&served, loop);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    lull_loop_free(loop);
    sync_server_stop(&served);
}

static void sleep_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

/* Until something that another thread does has come about; the case's own timeout is the limit. */
static void look_again_later(void)
{
    sleep_ms(1);
}

static void start_call(struct lull_channel *on, lull_unary_fn done, void *ctx)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_unary(on, &options, lull_slice_static("x", 1), done, ctx, NULL, NULL), LULL_OK);
}

static _Atomic(unsigned) async_done;

static void count_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    atomic_fetch_add(&async_done, 1);
}

/* ---- progress */

START_TEST(a_call_ends_though_nobody_waits_for_it)
{
    atomic_store(&async_done, 0);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_call(channel, count_done, NULL);
    while (atomic_load(&async_done) == 0) {
        look_again_later();
    }
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

/* The server would end the connection 200 ms after a PING that is not answered. */
static void open_pinging_server(struct sync_server *pinging)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    ck_assert_int_eq(lull_loop_new(NULL, &pinging->loop), LULL_OK);
    lull_server_options_init(&options);
    options.loop = pinging->loop;
    options.allow_short_timers = true;
    options.keepalive_time_ns = 20 * LULL_MS;
    options.keepalive_timeout_ns = 200 * LULL_MS;
    ck_assert_int_eq(lull_server_new(&options, &pinging->server, NULL), LULL_OK);
    lull_server_handler_init(&handler);
    handler.on_message = echo_message;
    handler.on_half_closed = echo_end;
    ck_assert_int_eq(lull_server_add(pinging->server, METHOD_ECHO, &handler, NULL), LULL_OK);
    ck_assert_int_eq(lull_server_listen(pinging->server, "127.0.0.1:0", NULL), LULL_OK);
    ck_assert_int_eq(lull_loop_start(pinging->loop), LULL_OK);
}

static uint64_t connections_lost(struct lull_channel *of)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(of, &stats);
    ck_assert_uint_eq(stats.connections_made, 1);
    return stats.connections_lost;
}

START_TEST(pings_are_answered_while_nobody_calls)
{
    struct sync_server pinging;
    struct lull_channel *alone;
    open_pinging_server(&pinging);
    alone = sync_channel(&pinging, loop);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    ck_assert_int_eq(sync_call(alone, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    sleep_ms(900);
    ck_assert_uint_eq(connections_lost(alone), 0);
    ck_assert_int_eq(lull_channel_state(alone, false), LULL_STATE_READY);
    /* Without the thread nobody answers, which is what the wait above was about. */
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    sleep_ms(900);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(lull_loop_dispatch(loop), LULL_OK);
    }
    ck_assert_uint_eq(connections_lost(alone), 1);
    lull_channel_unref(alone);
    ck_assert_int_eq(lull_loop_join(pinging.loop), LULL_OK);
    lull_server_free(pinging.server);
    lull_loop_free(pinging.loop);
}
END_TEST

START_TEST(a_channel_falls_idle_while_nobody_calls)
{
    struct lull_channel_options options;
    struct lull_channel *lazy;
    lull_channel_options_init(&options);
    options.loop = loop;
    options.allow_short_timers = true;
    options.idle_timeout_ns = 30 * LULL_MS;
    ck_assert_int_eq(lull_channel_new(lull_server_address(served.server, 0), &options, &lazy, NULL), LULL_OK);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    ck_assert_int_eq(sync_call(lazy, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    for (struct lull_channel_stats stats = {.is_in_idle_mode = false}; !stats.is_in_idle_mode;) {
        look_again_later();
        stats.size = sizeof(stats);
        lull_channel_stats(lazy, &stats);
    }
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    lull_channel_unref(lazy);
}
END_TEST

/* ---- storms */

struct worker {
    pthread_t thread;
    _Atomic(bool) is_over;
};

static struct worker workers[THREADS];

static void *call_until_over(void *arg)
{
    struct worker *worker = arg;
    while (!atomic_load(&worker->is_over)) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    return NULL;
}

static void start_workers(void *(*run)(void *))
{
    for (unsigned i = 0; i < THREADS; i++) {
        atomic_store(&workers[i].is_over, false);
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    }
}

static void join_workers(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        atomic_store(&workers[i].is_over, true);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    }
}

START_TEST(it_comes_and_goes_while_threads_block)
{
    start_workers(call_until_over);
    for (unsigned i = 0; i < rounds(500, 50); i++) {
        ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
        if (i % 3 == 0) {
            ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
        } else if (i % 3 == 1) {
            lull_loop_stop(loop);
        }
        ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    }
    join_workers();
}
END_TEST

/* ---- making */

static void *make_and_unref(void *unused)
{
    const unsigned many = rounds(300, 50);
    (void)unused;
    for (unsigned i = 0; i < many; i++) {
        lull_channel_unref(sync_channel(&served, loop));
        struct lull_server *server = NULL;
        struct lull_server_options options;
        lull_server_options_init(&options);
        options.loop = loop;
        ck_assert_int_eq(lull_server_new(&options, &server, NULL), LULL_OK);
        lull_server_free(server);
    }
    return NULL;
}

/* A count that is lost fails the invariant in lull_loop_free, and TSan sees what made it. */
START_TEST(channels_and_servers_are_made_by_threads_while_another_drives)
{
    pthread_t makers[2];
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&makers[i], NULL, make_and_unref, NULL), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(makers[i], NULL), 0);
    }
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

static _Atomic(unsigned) started, joined;

static void *start_and_join(void *arg)
{
    struct worker *worker = arg;
    while (!atomic_load(&worker->is_over)) {
        int rc = lull_loop_start(loop);
        ck_assert(rc == LULL_OK || rc == LULL_RC_STATE);
        atomic_fetch_add(&started, rc == LULL_OK);
        rc = lull_loop_join(loop);
        ck_assert(rc == LULL_OK || rc == LULL_RC_STATE);
        atomic_fetch_add(&joined, rc == LULL_OK);
    }
    return NULL;
}

START_TEST(every_start_from_any_thread_is_joined_once)
{
    atomic_store(&started, 0);
    atomic_store(&joined, 0);
    start_workers(start_and_join);
    for (unsigned i = 0; i < rounds(500, 50); i++) {
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    join_workers();
    ck_assert_uint_gt(started, 0);
    ck_assert_uint_eq(started, joined);
    ck_assert_int_eq(lull_loop_join(loop), LULL_RC_STATE);
}
END_TEST

/* A run of the application's own next to it: the stop that each is meant to hear is heard, whoever polls. */
static void *run_loop(void *arg)
{
    ck_assert_int_eq(lull_loop_run(arg), LULL_OK);
    return NULL;
}

START_TEST(a_run_on_another_thread_goes_on_behind_it)
{
    for (unsigned i = 0; i < rounds(300, 30); i++) {
        pthread_t other;
        ck_assert_int_eq(pthread_create(&other, NULL, run_loop, loop), 0);
        ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
        ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
        lull_loop_stop(loop);
        ck_assert_int_eq(pthread_join(other, NULL), 0);
    }
}
END_TEST

/* ---- from a callback in it */

struct inside {
    int rc_start, rc_join;
    sigset_t blocked;
};

/* Nobody else drives, so this is its thread. */
static void stop_inside(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct inside *inside = ctx;
    (void)call;
    (void)result;
    inside->rc_start = lull_loop_start(loop);
    inside->rc_join = lull_loop_join(loop);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &inside->blocked);
    lull_loop_stop(loop);
    atomic_fetch_add(&async_done, 1);
}

START_TEST(a_callback_stops_it_and_sees_its_signals_blocked)
{
    struct inside inside;
    atomic_store(&async_done, 0);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_call(channel, stop_inside, &inside);
    while (atomic_load(&async_done) == 0) {
        look_again_later();
    }
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    ck_assert_int_eq(inside.rc_start, LULL_RC_STATE);
    ck_assert_int_eq(inside.rc_join, LULL_RC_IN_TURN);
    ck_assert_int_eq(sigismember(&inside.blocked, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&inside.blocked, SIGALRM), 1);
    ck_assert_int_eq(sigismember(&inside.blocked, SIGSEGV), 0);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
}
END_TEST

/* ---- where it is not to be had */

START_TEST(one_loop_has_one_thread)
{
    ck_assert_int_eq(lull_loop_join(loop), LULL_RC_STATE);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    ck_assert_int_eq(lull_loop_start(loop), LULL_RC_STATE);
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    ck_assert_int_eq(lull_loop_join(loop), LULL_RC_STATE);
}
END_TEST

START_TEST(freeing_a_loop_joins_its_thread)
{
    for (unsigned i = 0; i < rounds(100, 20); i++) {
        struct lull_loop *other;
        ck_assert_int_eq(lull_loop_new(NULL, &other), LULL_OK);
        ck_assert_int_eq(lull_loop_start(other), LULL_OK);
        struct lull_channel *on = sync_channel(&served, other);
        ck_assert_int_eq(sync_call(on, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
        lull_channel_unref(on);
        lull_loop_free(other);
    }
}
END_TEST

START_TEST(a_channels_own_loop_has_one_while_the_channel_is_held)
{
    struct lull_channel *alone = sync_channel(&served, NULL);
    struct lull_loop *own = lull_channel_effective_options(alone)->loop;
    atomic_store(&async_done, 0);
    ck_assert_int_eq(lull_loop_start(own), LULL_OK);
    start_call(alone, count_done, NULL);
    while (atomic_load(&async_done) == 0) {
        look_again_later();
    }
    ck_assert_int_eq(lull_loop_join(own), LULL_OK);
    lull_channel_unref(alone);
}
END_TEST

START_TEST(in_a_forked_child_it_does_not_run)
{
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(lull_loop_join(loop) == LULL_RC_UNSUPPORTED && lull_loop_start(loop) == LULL_RC_UNSUPPORTED ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
}
END_TEST

static Suite *loop_thread_suite(void)
{
    Suite *suite = suite_create("loop_thread");
    TCase *cases = tcase_create("loop_thread");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_call_ends_though_nobody_waits_for_it);
    tcase_add_test(cases, pings_are_answered_while_nobody_calls);
    tcase_add_test(cases, a_channel_falls_idle_while_nobody_calls);
    tcase_add_test(cases, it_comes_and_goes_while_threads_block);
    tcase_add_test(cases, channels_and_servers_are_made_by_threads_while_another_drives);
    tcase_add_test(cases, every_start_from_any_thread_is_joined_once);
    tcase_add_test(cases, a_run_on_another_thread_goes_on_behind_it);
    tcase_add_test(cases, a_callback_stops_it_and_sees_its_signals_blocked);
    tcase_add_test(cases, one_loop_has_one_thread);
    tcase_add_test(cases, freeing_a_loop_joins_its_thread);
    tcase_add_test(cases, a_channels_own_loop_has_one_while_the_channel_is_held);
    tcase_add_test(cases, in_a_forked_child_it_does_not_run);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("loop_thread", loop_thread_suite)
