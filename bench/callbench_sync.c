/* SPDX-License-Identifier: MIT */
/* See callbench.h: calls that block, on one thread and on several. */
#include "callbench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static void call_once(struct lull_channel *channel, const struct lull_call_options *options, struct lull_slice request,
                      struct lull_sync_result *result)
{
    struct lull_error error;

    if (lull_sync_unary(channel, options, request, result, &error) != LULL_OK) {
        bench_fail("call", error.text);
    }
    if (result->status.code != LULL_CODE_OK) {
        bench_fail("call", result->status.failure->line);
    }
    if (result->message.len != request.len) {
        bench_fail("call", "an answer of another length");
    }
}

static uint64_t syscalls(void *ctx)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    lull_executor_counters(lull_loop_executor(ctx), &counters);
    return counters.syscalls;
}

void run_blocking(struct side *side)
{
    struct lull_channel *channel = side_channel(side, 30 * LULL_SECOND);
    struct lull_sync_result result;
    struct lull_call_options options;
    bool goes_on = true;

    side_call_options(side, &options, "/bench/Unary");
    lull_sync_result_init(&result);
    call_once(channel, &options, side->message, &result);
    side->meter.syscalls = syscalls;
    side->meter.syscalls_ctx = lull_channel_loop(channel);
    bench_meter_begin(&side->meter, &side->args, 3);
    while (goes_on) {
        uint64_t from = bench_now_ns();

        call_once(channel, &options, side->message, &result);
        goes_on = bench_meter_sample(&side->meter, from, bench_now_ns());
    }
    lull_sync_result_fini(&result);
    lull_channel_close(channel);
    lull_channel_unref(channel);
}

/* ---- several threads on one channel */
struct caller {
    struct side *side;
    struct lull_channel *channel;
    pthread_t thread;
    atomic_ullong calls;
};
static atomic_bool is_over;

static void *keep_calling(void *arg)
{
    struct caller *caller = arg;
    struct lull_sync_result result;
    struct lull_call_options options;

    side_call_options(caller->side, &options, "/bench/Unary");
    lull_sync_result_init(&result);
    do {
        call_once(caller->channel, &options, caller->side->message, &result);
        atomic_fetch_add_explicit(&caller->calls, 1, memory_order_relaxed);
    } while (!atomic_load_explicit(&is_over, memory_order_relaxed));
    lull_sync_result_fini(&result);
    return NULL;
}

static uint64_t calls_of(struct caller *callers, int n)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < n; i++) {
        sum += atomic_load_explicit(&callers[i].calls, memory_order_relaxed);
    }
    return sum;
}

static void rest(double seconds)
{
    struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&length, NULL);
}

void run_threads(struct side *side)
{
    struct lull_channel *channel = side_channel(side, 30 * LULL_SECOND);
    int n = side->args.count;
    struct caller *callers = bench_memory((size_t)n * sizeof(*callers));
    struct bench_usage began, ended;
    uint64_t from, until, calls;
    double ops;
    int i;

    for (i = 0; i < n; i++) {
        callers[i].side = side;
        callers[i].channel = channel;
        if (pthread_create(&callers[i].thread, NULL, keep_calling, &callers[i]) != 0) {
            bench_fail("thread", NULL);
        }
    }
    rest(side->args.seconds / 5);
    bench_usage(&began);
    calls = calls_of(callers, n);
    from = bench_now_ns();
    rest(side->args.seconds);
    until = bench_now_ns();
    ops = (double)(calls_of(callers, n) - calls);
    bench_usage(&ended);
    atomic_store(&is_over, true);
    for (i = 0; i < n; i++) {
        pthread_join(callers[i].thread, NULL);
    }
    if (ops < 1) {
        ops = (double)calls_of(callers, n); /* a moment was not enough for one */
    }
    bench_print("rate", ops / ((double)(until - from) / 1e9));
    bench_print("cpu_us", (double)(ended.cpu_ns - began.cpu_ns) / 1e3 / ops);
    bench_print("ctx", (double)(ended.switches - began.switches) / ops);
    lull_channel_close(channel);
    lull_channel_unref(channel);
}
