/* SPDX-License-Identifier: MIT */
/*
 * The fixed script of bench/guard.sh, which has callgrind count it: each steady_ function does one thing STEADY times, after the same
 * thing was done often enough that nothing is new. The calls run on the built-in loop against guard_peer.h, with an idle
 * timeout and keepalive on.
 *
 * Prints how often, and what it was built as, which is a part of the baseline's key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "exec/lane.h"
#include "guard_peer.h"
#include "lull/call.h"
#include "lull/channel.h"
#include "lull/loop.h"
#include "lull/recycler.h"
#include "lull/rescheduler.h"
#include "lull/world.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Printed, since bench/guard.sh divides by it. */
#define STEADY  1000
#define WARM_UP 50

#if defined(__clang__) /* which makes no clones */
#define STEADY_FN __attribute__((noinline))
#else
#define STEADY_FN __attribute__((noinline, noclone))
#endif
#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "guard_ops: failed: %s\n", #cond);                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct lull_loop *loop;
static struct lull_channel *channel;
static unsigned done;
static const char text[64] = "the same sixty-four bytes every time, which are nobody's message";

/* ---- calls */

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    MUST(result->status.code == LULL_CODE_OK && result->message.len == sizeof(text));
    done++;
}

static void call_once(int64_t timeout_ns)
{
    struct lull_call_options options;
    const unsigned before = done;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    MUST(lull_call_unary(channel, &options, lull_slice_static(text, sizeof(text)), on_done, NULL,
                         NULL, NULL) == LULL_OK);
    while (done == before) {
        MUST(lull_loop_run_once(loop, 0) == LULL_OK);
    }
}

static STEADY_FN void steady_unary(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        call_once(LULL_NEVER);
    }
}

static STEADY_FN void steady_deadline(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        call_once(10 * LULL_SECOND);
    }
}

/* ---- a stream: a message out, the same one back */

static unsigned messages;
static unsigned closed;
static struct lull_call *stream;

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)ctx;
    MUST(message.len == sizeof(text));
    messages++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    MUST(status->code == LULL_CODE_OK);
    closed++;
}

static STEADY_FN void steady_message(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const unsigned before = messages;
        MUST(lull_call_send(stream, lull_slice_static(text, sizeof(text))) == LULL_OK);
        while (messages == before) {
            MUST(lull_loop_run_once(loop, 0) == LULL_OK);
        }
    }
}

static void count_calls(void)
{
    struct lull_call_handler handler;
    struct lull_call_options options;
    steady_unary(WARM_UP);
    steady_unary(STEADY);
    steady_deadline(WARM_UP);
    steady_deadline(STEADY);
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    lull_call_options_init(&options, "/pkg.Service/Stream");
    MUST(lull_call_start(channel, &options, &handler, NULL, &stream, NULL) == LULL_OK);
    steady_message(WARM_UP);
    steady_message(STEADY);
    MUST(lull_call_half_close(stream) == LULL_OK);
    while (closed == 0) {
        MUST(lull_loop_run_once(loop, 0) == LULL_OK);
    }
    lull_call_unref(stream);
}

/* ---- timers, in context */

static struct lull_rescheduler pushed;
static struct lane_entry entry;
static struct lane_entry other;

static void on_pushed(struct lull_rescheduler *r, struct lull_instant now)
{
    (void)r;
    (void)now;
}

static void on_expired(struct lane_entry *of, struct lull_instant now)
{
    (void)of;
    (void)now;
}

static STEADY_FN void steady_push(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lull_rescheduler_set(&pushed, lull_at(LULL_SECOND + i));
    }
}

static STEADY_FN void steady_lane(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lane_join(&entry, lull_at(i), LULL_SECOND);
        lane_leave(&entry);
    }
}

static void count_timers(void)
{
    struct lull_executor *executor;
    MUST(lull_executor_new(NULL, &executor) == LULL_OK);
    MUST(lull_executor_enter(executor) == LULL_OK);
    MUST(lull_rescheduler_init(&pushed, executor, on_pushed) == LULL_OK);
    MUST(lane_entry_init(&entry, executor, on_expired) == LULL_OK);
    MUST(lane_entry_init(&other, executor, on_expired) == LULL_OK);
    lane_join(&other, lull_at(0), LULL_SECOND);
    steady_push(WARM_UP);
    steady_push(STEADY);
    steady_lane(WARM_UP);
    steady_lane(STEADY);
    lane_entry_fini(&other);
    lane_entry_fini(&entry);
    lull_rescheduler_fini(&pushed);
    lull_executor_leave(executor);
    lull_executor_free(executor);
}

/* ---- recyclers */

static struct lull_recycler *recycler;

static STEADY_FN void steady_claim(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lull_recycler_release(recycler, lull_recycler_claim(recycler));
    }
}

static STEADY_FN void steady_unguarded(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lull_recycler_release_unguarded(recycler, lull_recycler_claim(recycler));
    }
}

static void count_objects(void)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "guard", 64);
    MUST(lull_recycler_new(&options, &recycler) == LULL_OK);
    steady_claim(WARM_UP);
    steady_claim(STEADY);
    steady_unguarded(WARM_UP);
    steady_unguarded(STEADY);
    lull_recycler_free(recycler);
}

static void say_what_it_is(void)
{
    printf("%d ", STEADY);
#ifdef LULL_NO_POOL
    printf("no-pool ");
#endif
#ifdef LULL_ASSERTING_POOL
    printf("asserting-pool ");
#endif
#ifdef LULL_LOOP_POLL
    printf("poll\n");
#else
    printf("epoll\n");
#endif
}

int main(void)
{
    struct lull_channel_options options;
    struct lull_world world;
    say_what_it_is();
    MUST(lull_loop_new(NULL, &loop) == LULL_OK);
    lull_world_init(&world);
    world.dial = guard_peer_dialer();
    lull_channel_options_init(&options);
    options.loop = loop;
    options.world = &world;
    options.keepalive_time_ns = 3600 * LULL_SECOND;
    MUST(lull_channel_new("127.0.0.1:1", &options, &channel, NULL) == LULL_OK);
    count_calls();
    lull_channel_close(channel);
    lull_channel_unref(channel);
    lull_loop_free(loop);
    count_timers();
    count_objects();
    return 0;
}
