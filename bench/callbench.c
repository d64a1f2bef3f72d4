/* SPDX-License-Identifier: MIT */
/* `callbench MODE PORT SECONDS [n=] [size=] [tls=] [deadline=] [calls=]`: see callbench.h. Here: the setting, and unary calls. */
#include "callbench.h"

#include <stdlib.h>
#include <string.h>

static uint64_t syscalls(void *ctx)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    lull_executor_counters(lull_loop_executor(ctx), &counters);
    return counters.syscalls;
}

struct lull_credentials *side_credentials(const struct side *side)
{
    struct lull_credentials_options options;
    struct lull_credentials *credentials;
    struct lull_error error;
    int rc;

    lull_credentials_options_init(&options);
    options.ca_file = side->args.ca;
    rc = lull_credentials_new(&options, &credentials, &error);
    if (rc == LULL_RC_UNSUPPORTED) {
        bench_missing("built without OpenSSL");
    }
    if (rc != LULL_OK) {
        bench_fail("credentials", error.text);
    }
    return credentials;
}

void side_init(struct side *side, const struct bench_args *args, bool has_loop)
{
    memset(side, 0, sizeof(*side));
    side->args = *args;
    snprintf(side->target, sizeof(side->target), "127.0.0.1:%d", args->port);
    side->message = lull_slice_static(bench_memory(args->size), args->size);
    if (args->ca != NULL) {
        side->credentials = side_credentials(side);
    }
    if (has_loop) {
        if (lull_loop_new(NULL, &side->loop) != LULL_OK) {
            bench_fail("loop", NULL);
        }
        side->meter.syscalls = syscalls;
        side->meter.syscalls_ctx = side->loop;
    }
}

void side_fini(struct side *side)
{
    lull_credentials_unref(side->credentials);
    lull_loop_free(side->loop);
}

static int unpace(void *ctx, int fd)
{
    (void)ctx;
    bench_unpaced(fd);
    return 0;
}

struct lull_channel *side_channel(struct side *side, int64_t keepalive_ns)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;

    lull_channel_options_init(&options);
    options.loop = side->loop;
    options.credentials = side->credentials;
    options.keepalive_time_ns = keepalive_ns;
    options.keepalive_without_calls = true;
    if (strncmp(side->args.mode, "big", 3) == 0) {
        options.on_socket = unpace;
    }
    if (lull_channel_new(side->target, &options, &channel, &error) != LULL_OK) {
        bench_fail("channel", error.text);
    }
    return channel;
}

void side_call_options(const struct side *side, struct lull_call_options *options, const char *method)
{
    lull_call_options_init(options, method);
    if (side->args.deadline) {
        /* Of very many at once the last ones wait long, on a busy machine longer than 10 s. */
        options->timeout_ns = (side->args.count > 1000 ? 100 : 10) * LULL_SECOND;
    }
}

static void on_connected(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    if (result->status.code != LULL_CODE_OK) {
        bench_fail("first call", result->status.failure->line);
    }
    lull_loop_stop(ctx);
}

void side_connect(struct side *side, struct lull_channel *channel)
{
    struct lull_call_options options;

    side_call_options(side, &options, "/bench/Unary");
    if (lull_call_unary(channel, &options, lull_slice_static("x", 1), on_connected, lull_channel_loop(channel), NULL, NULL) != LULL_OK) {
        bench_fail("first call", "not started");
    }
    lull_loop_run(lull_channel_loop(channel));
}

/* ---- unary calls, always as many under way */
struct slot {
    struct side *side;
    struct lull_channel *channel;
    const struct lull_call_options *options;
    struct lull_slice request;
    uint64_t from_ns;
    size_t expected; /* bytes of the answer */
};

static int under_way;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx);

static void start(struct slot *slot)
{
    slot->from_ns = bench_now_ns();
    under_way++;
    if (lull_call_unary(slot->channel, slot->options, slot->request, on_done, slot, NULL, NULL) != LULL_OK) {
        bench_fail("call", "not started");
    }
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct slot *slot = ctx;

    (void)call;
    under_way--;
    if (slot->side->meter.is_over) {
        return;
    }
    if (result->status.code != LULL_CODE_OK) {
        bench_fail("call", result->status.failure->line);
    }
    if (result->message.len != slot->expected) {
        bench_fail("call", "an answer of another length");
    }
    if (bench_meter_sample(&slot->side->meter, slot->from_ns, bench_now_ns())) {
        start(slot);
    } else {
        lull_loop_stop(slot->side->loop);
    }
}

static void run_unary(struct side *side, const char *method, struct lull_slice request, size_t expected)
{
    struct lull_channel *channel = side_channel(side, 30 * LULL_SECOND);
    struct slot *slots = bench_memory((size_t)side->args.count * sizeof(*slots));
    struct lull_call_options options;
    int i;

    side_call_options(side, &options, method);
    side_connect(side, channel);
    bench_meter_begin(&side->meter, &side->args, (uint64_t)side->args.count * 2);
    for (i = 0; i < side->args.count; i++) {
        slots[i] = (struct slot){side, channel, &options, request, 0, expected};
        start(&slots[i]);
    }
    lull_loop_run(side->loop);
    lull_channel_close(channel);
    lull_channel_unref(channel);
    while (under_way > 0) {
        lull_loop_run_once(side->loop, 0);
    }
    free(slots);
}

static void run_big(struct side *side, bool receives)
{
    uint32_t size = (uint32_t)side->args.size;
    const uint8_t length[4] = {(uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size};

    if (receives) {
        run_unary(side, "/bench/Big", lull_slice_static(length, sizeof(length)), size);
    } else {
        run_unary(side, "/bench/Sink", side->message, 64);
    }
    bench_print("mb_per_s", (double)side->meter.ops * size / 1e6 / ((double)(side->meter.ended_ns - side->meter.began_ns) / 1e9));
}

int main(int argc, char **argv)
{
    static struct side side;
    struct bench_args args;
    const char *mode;
    bool blocks;
    bool is_metered = true;

    bench_arguments(&args, argc, argv);
    mode = args.mode;
    blocks = strcmp(mode, "unary-block") == 0 || strcmp(mode, "threads") == 0;
    side_init(&side, &args, !blocks);
    if (strcmp(mode, "unary") == 0) {
        run_unary(&side, "/bench/Unary", side.message, args.size);
    } else if (strcmp(mode, "unary-block") == 0) {
        run_blocking(&side);
    } else if (strcmp(mode, "threads") == 0) {
        run_threads(&side);
        is_metered = false;
    } else if (strcmp(mode, "bidi") == 0) {
        run_bidi(&side);
    } else if (strcmp(mode, "big-send") == 0 || strcmp(mode, "big-recv") == 0) {
        run_big(&side, strcmp(mode, "big-recv") == 0);
    } else if (strcmp(mode, "recv-frames") == 0) {
        run_receive(&side, "/bench/Frames");
    } else if (strcmp(mode, "recv-packed") == 0) {
        run_receive(&side, "/bench/Source");
    } else if (strcmp(mode, "send") == 0) {
        run_send(&side);
    } else if (strcmp(mode, "connect") == 0) {
        run_connect(&side);
    } else if (strcmp(mode, "wake") == 0) {
        run_wake(&side);
    } else if (strcmp(mode, "channels") == 0) {
        run_channels(&side);
    } else if (strcmp(mode, "memory") == 0) {
        run_memory(&side);
        is_metered = false;
    } else if (strcmp(mode, "keepalive") == 0 || strcmp(mode, "quiet") == 0) {
        run_wakeups(&side, strcmp(mode, "keepalive") == 0);
        is_metered = false;
    } else {
        bench_fail("no such mode", mode);
    }
    if (is_metered) {
        bench_meter_print(&side.meter);
    }
    side_fini(&side);
    return 0;
}
