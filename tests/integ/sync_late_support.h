/* SPDX-License-Identifier: MIT */
/*
 * A loop whose driver stops to drive: a callback that does not return, or a host's thread that is elsewhere. Whoever does not come back
 * holds the case until its timeout: what keeps the driver from driving waits for the callers.
 */
#ifndef TESTS_INTEG_SYNC_LATE_SUPPORT_H
#define TESTS_INTEG_SYNC_LATE_SUPPORT_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/integ/sync_support.h"
#include "tests/support/poll_host.h"

static struct sync_server served;
static struct lull_loop *loop;
static struct lull_channel *channel;
static _Atomic(bool) is_driven, is_held, may_go;
static _Atomic(unsigned) held_done;

static void set_up(void)
{
    sync_server_start(&served);
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    channel = sync_channel(&served, loop);
    atomic_store(&is_driven, false);
    atomic_store(&is_held, false);
    atomic_store(&may_go, false);
    atomic_store(&held_done, 0);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    lull_loop_free(loop);
    sync_server_stop(&served);
}

/* Until something that another thread does has come about; the case's own timeout is the limit. */
static void wait_for(const _Atomic(bool) *flag)
{
    while (!atomic_load(flag)) {
        (void)poll(NULL, 0, 1);
    }
}

/* A callback that does not return. */
static void hold(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    atomic_store(&is_held, true);
    wait_for(&may_go);
    atomic_fetch_add(&held_done, 1);
}

static void start_call(lull_unary_fn done)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), done, NULL, NULL, NULL), LULL_OK);
}

static void note(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    atomic_store(&is_driven, true);
}

/* The loop's thread polls from now on, and no caller does. */
static void start_driving(void)
{
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_call(note);
    wait_for(&is_driven);
}

static uint64_t calls_under_way(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(channel, &stats);
    return stats.calls;
}

static void wait_for_calls(uint64_t count)
{
    while (calls_under_way() < count) {
        (void)poll(NULL, 0, 1);
    }
}

static void expect_late(const char *line, const char *what, const char *where)
{
    ck_assert_msg(strstr(line, "nobody drove the loop") != NULL, "%s", line);
    ck_assert_msg(strstr(line, what) != NULL, "%s", line);
    ck_assert_msg(strstr(line, where) != NULL, "%s", line);
}

/* The poller goes on as if nothing had been: the calls that were left have their ends, and new ones are made. */
static void let_go(void)
{
    atomic_store(&may_go, true);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    ck_assert_uint_eq(held_done, 1);
}

static void nap(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    /* About as long as a caller waits behind its deadline, so that both ends meet. */
    (void)poll(NULL, 0, 100 + (int)(atomic_fetch_add(&held_done, 1) % 10));
}

/* Two of them, on a host's loop that is not driven: their ends come when it is, to nobody. */
static void drive_two_to_their_ends(struct poll_host *host)
{
    for (struct lull_counters counters = {.calls_closed = 0}; counters.calls_closed < 2;) {
        poll_host_round(host, LULL_MS);
        counters.size = sizeof(counters);
        lull_executor_counters(lull_loop_executor(&host->loop), &counters);
    }
}

#define IN_A_CALLBACK "a callback does not return"
#define ELSEWHERE     "its thread is elsewhere"

#endif
