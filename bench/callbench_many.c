/* SPDX-License-Identifier: MIT */
/* See callbench.h: channels that come and go, sleep and wake, and many of them. */
#include "callbench.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* A connection of its own for each call, from lull_channel_new to the answer. Over TLS with credentials that remember no session. */
void run_connect(struct side *side)
{
    struct lull_credentials *shared = side->credentials;
    bool goes_on = true;

    bench_meter_begin(&side->meter, &side->args, 3);
    while (goes_on) {
        struct lull_channel *channel;
        uint64_t from;

        if (shared != NULL) {
            side->credentials = side_credentials(side);
        }
        from = bench_now_ns();
        channel = side_channel(side, 30 * LULL_SECOND);
        side_connect(side, channel);
        goes_on = bench_meter_sample(&side->meter, from, bench_now_ns());
        lull_channel_close(channel);
        lull_channel_unref(channel);
        if (shared != NULL) {
            lull_credentials_unref(side->credentials);
        }
        lull_loop_run_once(side->loop, 0);
        bench_let_server_finish();
    }
    side->credentials = shared;
}

static void until_idle(struct side *side, struct lull_channel *channel)
{
    while (lull_channel_state(channel, false) != LULL_STATE_IDLE) {
        lull_loop_run_once(side->loop, 10 * LULL_MS);
    }
}

/* From idle mode to the answer: a new connection, over TLS with the session of the one before. */
void run_wake(struct side *side)
{
    struct lull_channel *channel = side_channel(side, 30 * LULL_SECOND);
    bool goes_on = true;

    side_connect(side, channel);
    bench_meter_begin(&side->meter, &side->args, 3);
    while (goes_on) {
        uint64_t from;

        lull_channel_enter_idle(channel);
        until_idle(side, channel);
        bench_let_server_finish();
        from = bench_now_ns();
        side_connect(side, channel);
        goes_on = bench_meter_sample(&side->meter, from, bench_now_ns());
    }
    if (side->credentials != NULL) {
        struct lull_credentials_stats stats = {.size = sizeof(stats)};

        lull_credentials_stats(side->credentials, &stats);
        if (stats.handshakes_resumed + 1 < stats.handshakes) {
            bench_fail("TLS", "a session was not resumed");
        }
        bench_print("resumed_share", (double)stats.handshakes_resumed / (double)(stats.handshakes - 1));
    }
    lull_channel_close(channel);
    lull_channel_unref(channel);
}

static struct lull_channel **make_channels(struct side *side, int n, int64_t keepalive_ns)
{
    struct lull_channel **channels = bench_memory((size_t)n * sizeof(struct lull_channel *));
    int i;

    for (i = 0; i < n; i++) {
        channels[i] = side_channel(side, keepalive_ns);
        side_connect(side, channels[i]);
    }
    return channels;
}

static void drop_channels(struct side *side, struct lull_channel **channels, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        lull_channel_close(channels[i]);
        lull_channel_unref(channels[i]);
    }
    lull_loop_run_once(side->loop, 0);
    free(channels);
}

static double used_kib(void)
{
    struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd) / 1024.0;
}

static void print_memory(const char *row, double kib, double rss_kib)
{
    bench_print_row(row, "heap_kib", kib);
    bench_print_row(row, "rss_kib", rss_kib);
    bench_print_row(row, "threads", bench_threads());
}

/* What a channel takes when it is READY after a call, and when it sleeps; beyond the first one. */
void run_memory(struct side *side)
{
    int n = side->args.count;
    struct lull_channel *first = side_channel(side, 30 * LULL_SECOND);
    struct lull_channel **channels;
    double kib, rss;
    int i;

    bench_all_files();
    side_connect(side, first);
    kib = used_kib();
    rss = (double)bench_rss_kib();
    channels = make_channels(side, n, 30 * LULL_SECOND);
    print_memory("ready", (used_kib() - kib) / n, ((double)bench_rss_kib() - rss) / n);
    for (i = 0; i < n; i++) {
        lull_channel_enter_idle(channels[i]);
    }
    for (i = 0; i < n; i++) {
        until_idle(side, channels[i]);
    }
    lull_loop_run_once(side->loop, 0);
    malloc_trim(0);
    print_memory("idle", (used_kib() - kib) / n, ((double)bench_rss_kib() - rss) / n);
    drop_channels(side, channels, n);
    lull_channel_close(first);
    lull_channel_unref(first);
}

struct end {
    struct lull_timer timer; /* first */
    struct lull_loop *loop;
};

static void on_time(struct lull_timer *timer, struct lull_instant now)
{
    (void)now;
    lull_loop_stop(((struct end *)(void *)timer)->loop);
}

/* Drives the loop for so long. */
static void drive_for(struct side *side, double seconds)
{
    struct lull_executor *executor = lull_loop_executor(side->loop);
    struct end end = {.loop = side->loop};

    lull_executor_enter(executor);
    if (lull_timer_init(&end.timer, executor, on_time) != LULL_OK) {
        bench_fail("timer", NULL);
    }
    lull_timer_arm(&end.timer, lull_instant_add(lull_executor_now(executor), (int64_t)(seconds * 1e9)));
    lull_executor_leave(executor);
    lull_loop_run(side->loop);
    lull_executor_enter(executor);
    lull_timer_fini(&end.timer);
    lull_executor_leave(executor);
}

/* Wake-ups a second of READY channels without calls, over as many seconds as the arguments say, and how many live then. */
void run_wakeups(struct side *side, bool has_keepalive)
{
    int n = side->args.count;
    struct lull_executor *executor = lull_loop_executor(side->loop);
    struct lull_counters before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    struct lull_channel **channels;
    int alive = 0;
    int i;

    bench_all_files();
    channels = make_channels(side, n, has_keepalive ? 10 * LULL_SECOND : LULL_NEVER);
    drive_for(side, 0.01); /* what the connections still had to say */
    lull_executor_counters(executor, &before);
    drive_for(side, side->args.seconds);
    lull_executor_counters(executor, &after);
    for (i = 0; i < n; i++) {
        struct lull_channel_stats stats = {.size = sizeof(stats)};

        lull_channel_stats(channels[i], &stats);
        alive += stats.state == LULL_STATE_READY && stats.connections_lost == 0;
    }
    /* The one that ends the measurement is no channel's. */
    bench_print("wakeups_per_s", (double)(after.wakeups - before.wakeups - 1) / side->args.seconds);
    bench_print("pings", (double)(after.pings_sent - before.pings_sent));
    bench_print("alive", alive);
    drop_channels(side, channels, n);
}

/* One call at a time, on one channel after another. */
void run_channels(struct side *side)
{
    int n = side->args.count;
    struct lull_channel **channels;
    bool goes_on = true;
    int i;

    bench_all_files();
    channels = make_channels(side, n, 30 * LULL_SECOND);
    bench_meter_begin(&side->meter, &side->args, 3);
    for (i = 0; goes_on; i = (i + 1) % n) {
        uint64_t from = bench_now_ns();

        side_connect(side, channels[i]);
        goes_on = bench_meter_sample(&side->meter, from, bench_now_ns());
    }
    drop_channels(side, channels, n);
}
