/* SPDX-License-Identifier: MIT */
/*
 * One call that blocks: asks an etcd for the value of the key "lull".
 * Usage: blocking [TARGET], by default 127.0.0.1:2379.
 * Build: cc blocking.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char range_lull[] = "\x0a\x04lull"; /* RangeRequest { key: "lull" }, from any protobuf library */
    struct lull_channel_options channel_options;
    struct lull_call_options options;
    struct lull_sync_result result;
    struct lull_channel *channel;
    struct lull_error error;
    int code = 1;

    lull_channel_options_init(&channel_options); /* no loop: the channel has its own, and we drive it while we wait */
    if (lull_channel_new(argc > 1 ? argv[1] : "127.0.0.1:2379", &channel_options, &channel, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    lull_call_options_init(&options, "/etcdserverpb.KV/Range");
    options.timeout_ns = 5 * LULL_SECOND;
    lull_sync_result_init(&result);
    if (lull_sync_unary(channel, &options, lull_slice_static(range_lull, sizeof(range_lull) - 1), &result, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
    } else if (result.status.code != LULL_CODE_OK) {
        code = (int)result.status.code;
        printf("%s\n", result.status.failure->line);
    } else {
        code = 0;
        printf("OK, %zu bytes\n", result.message.len);
    }
    lull_sync_result_fini(&result);
    lull_channel_unref(channel);
    return code;
}
