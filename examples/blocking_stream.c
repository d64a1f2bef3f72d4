/* SPDX-License-Identifier: MIT */
/*
 * A stream that blocks: watches the key "lull" in an etcd and prints three responses.
 * Usage: blocking_stream [TARGET], by default 127.0.0.1:2379.
 * Build: cc blocking_stream.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>

#define RESPONSES 3

static int watch(struct lull_channel *channel)
{
    static const char watch_lull[] = "\x0a\x06\x0a\x04lull"; /* WatchRequest { create_request { key: "lull" } } */
    struct lull_call_options options;
    struct lull_sync_stream stream;
    struct lull_sync_result result;
    struct lull_slice message;
    struct lull_error error;

    lull_call_options_init(&options, "/etcdserverpb.Watch/Watch");
    if (lull_sync_stream_open(channel, &options, &stream, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    (void)lull_sync_stream_send(&stream, lull_slice_static(watch_lull, sizeof(watch_lull) - 1)); /* the end tells why not */
    for (int i = 0; i < RESPONSES && lull_sync_stream_recv(&stream, &message) == LULL_OK; i++) {
        printf("a response of %zu bytes\n", message.len);
        lull_slice_unref(message);
    }
    (void)lull_sync_stream_half_close(&stream);
    lull_sync_stream_cancel(&stream); /* after an end it changes nothing */
    lull_sync_result_init(&result);
    (void)lull_sync_stream_finish(&stream, &result);
    printf("%s\n", result.status.failure != NULL ? result.status.failure->line : "OK");
    lull_sync_result_fini(&result);
    return 0;
}

int main(int argc, char **argv)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_error error;
    struct lull_loop *loop;
    int code = 1;

    lull_channel_options_init(&options);
    if (lull_channel_new(argc > 1 ? argv[1] : "127.0.0.1:2379", &options, &channel, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    loop = lull_channel_loop(channel); /* its own, on a thread: PINGs are answered whatever we do */
    if (lull_loop_start(loop) == LULL_OK) {
        code = watch(channel);
        (void)lull_loop_join(loop);
    }
    lull_channel_unref(channel);
    return code;
}
