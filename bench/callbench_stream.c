/* SPDX-License-Identifier: MIT */
/* See callbench.h: streams. */
#include "callbench.h"

#include <string.h>

#define AT_A_TIME  1000000 /* messages of one response */
#define CLOCK_EACH 1024    /* messages between two looks at the clock */

struct stream {
    struct side *side;
    struct lull_channel *channel;
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_call *call;
    struct lull_slice request;
    uint64_t from_ns;
    uint64_t uncounted;
};

static void start(struct stream *stream)
{
    lull_call_unref(stream->call);
    stream->call = NULL;
    if (lull_call_start(stream->channel, &stream->options, &stream->handler, stream, &stream->call, NULL) != LULL_OK) {
        bench_fail("stream", "not started");
    }
}

static void send(struct stream *stream, struct lull_slice message)
{
    if (lull_call_send(stream->call, message) != LULL_OK) {
        bench_fail("stream", "a message was not taken");
    }
}

static void on_failed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers, void *ctx)
{
    struct stream *stream = ctx;

    (void)call;
    (void)trailers;
    if (!stream->side->meter.is_over) {
        bench_fail("stream", status->code == LULL_CODE_OK ? "ended" : status->failure->line);
    }
}

static void open_stream(struct stream *stream, struct side *side, const char *method)
{
    memset(stream, 0, sizeof(*stream));
    stream->side = side;
    stream->channel = side_channel(side, 30 * LULL_SECOND);
    side_connect(side, stream->channel);
    side_call_options(side, &stream->options, method);
    lull_call_handler_init(&stream->handler);
    stream->handler.on_closed = on_failed;
}

static void close_stream(struct stream *stream)
{
    lull_channel_close(stream->channel);
    lull_loop_run_once(stream->side->loop, 0); /* on_closed comes while the stream is there */
    lull_call_unref(stream->call);
    lull_channel_unref(stream->channel);
}

/* ---- there and back */
static void on_echo(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct stream *stream = ctx;

    (void)call;
    if (message.len != stream->side->args.size) {
        bench_fail("stream", "a message of another length");
    }
    if (!bench_meter_sample(&stream->side->meter, stream->from_ns, bench_now_ns())) {
        lull_loop_stop(stream->side->loop);
        return;
    }
    stream->from_ns = bench_now_ns();
    send(stream, stream->side->message);
}

void run_bidi(struct side *side)
{
    struct stream stream;

    open_stream(&stream, side, "/bench/Echo");
    stream.handler.on_message = on_echo;
    bench_meter_begin(&side->meter, &side->args, 3);
    start(&stream);
    stream.from_ns = bench_now_ns();
    send(&stream, side->message);
    lull_loop_run(side->loop);
    close_stream(&stream);
}

/* ---- one way in */
static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct stream *stream = ctx;

    (void)call;
    (void)message;
    if (++stream->uncounted < CLOCK_EACH && !stream->side->args.is_once) {
        return;
    }
    if (!bench_meter_count(&stream->side->meter, stream->uncounted, bench_now_ns())) {
        lull_loop_stop(stream->side->loop);
    }
    stream->uncounted = 0;
}

static void ask(struct stream *stream)
{
    start(stream);
    send(stream, stream->request);
    lull_call_half_close(stream->call);
}

static void on_response_over(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers, void *ctx)
{
    struct stream *stream = ctx;

    if (status->code != LULL_CODE_OK) {
        on_failed(call, status, trailers, ctx);
    } else if (!stream->side->meter.is_over) {
        ask(stream);
    }
}

void run_receive(struct side *side, const char *method)
{
    uint32_t numbers[2] = {side->args.is_once ? 10 : AT_A_TIME, (uint32_t)side->args.size};
    uint8_t request[8];
    struct stream stream;
    size_t i;

    for (i = 0; i < sizeof(request); i++) {
        request[i] = (uint8_t)(numbers[i / 4] >> (24 - 8 * (i % 4)));
    }
    open_stream(&stream, side, method);
    stream.options.timeout_ns = side->args.deadline ? 60 * LULL_SECOND : LULL_NEVER;
    stream.request = lull_slice_static(request, sizeof(request));
    stream.handler.on_message = on_message;
    stream.handler.on_closed = on_response_over;
    bench_meter_begin(&side->meter, &side->args, 3);
    ask(&stream);
    lull_loop_run(side->loop);
    close_stream(&stream);
}

/* ---- one way out */
static void fill(struct stream *stream)
{
    uint64_t taken = 0;
    int rc;

    do {
        rc = lull_call_send(stream->call, stream->side->message);
        taken += rc == LULL_OK;
    } while (rc == LULL_OK);
    if (rc != LULL_RC_AGAIN) {
        bench_fail("stream", lull_rc_name(rc));
    }
    if (taken > 0 && !bench_meter_count(&stream->side->meter, taken, bench_now_ns())) {
        lull_loop_stop(stream->side->loop);
    }
}

static void on_writable(struct lull_call *call, void *ctx)
{
    struct stream *stream = ctx;

    (void)call;
    if (!stream->side->meter.is_over) {
        fill(stream);
    }
}

void run_send(struct side *side)
{
    struct stream stream;

    open_stream(&stream, side, "/bench/Sink");
    stream.options.timeout_ns = side->args.deadline ? 60 * LULL_SECOND : LULL_NEVER;
    stream.handler.on_writable = on_writable;
    bench_meter_begin(&side->meter, &side->args, 3);
    start(&stream);
    fill(&stream);
    if (!side->meter.is_over) {
        lull_loop_run(side->loop);
    }
    close_stream(&stream);
}
