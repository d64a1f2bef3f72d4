/* SPDX-License-Identifier: MIT */
/*
 * One unary call: asks an etcd for the value of the key "lull".
 * Usage: unary [TARGET], by default 127.0.0.1:2379.
 * Build: cc unary.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <stdio.h>

static int exit_code = 1;

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    exit_code = (int)result->status.code;
    if (result->status.code == LULL_CODE_OK) {
        printf("OK, %zu bytes\n", result->message.len);
    } else {
        printf("%s\n", result->status.failure->line);
    }
    lull_loop_stop((struct lull_loop *)ctx);
}

int main(int argc, char **argv)
{
    static const char range_lull[] = "\x0a\x04lull"; /* RangeRequest { key: "lull" }, from any protobuf library */
    struct lull_channel_options channel_options;
    struct lull_call_options call_options;
    struct lull_channel *channel;
    struct lull_error error;
    struct lull_loop *loop;

    lull_channel_options_init(&channel_options); /* no loop: the channel has its own */
    lull_call_options_init(&call_options, "/etcdserverpb.KV/Range");
    call_options.timeout_ns = 5 * LULL_SECOND;
    if (lull_channel_new(argc > 1 ? argv[1] : "127.0.0.1:2379", &channel_options, &channel, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    loop = lull_channel_loop(channel);
    if (lull_call_unary(channel, &call_options, lull_slice_static(range_lull, sizeof(range_lull) - 1), on_done, loop, NULL,
                        &error) == LULL_OK) {
        lull_loop_run(loop);
    } else {
        fprintf(stderr, "%s\n", error.text);
    }
    lull_channel_unref(channel);
    return exit_code;
}
