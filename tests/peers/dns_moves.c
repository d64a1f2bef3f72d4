/* SPDX-License-Identifier: MIT */
/*
 * One channel whose name moves: what dns_test.sh runs.
 *
 *     dns_moves TARGET
 *
 * For each line on standard input one call that waits for a connection, on one and the same channel: prints "OK" and who answered, or
 * the failure's line. A program of somebody else: public headers and the shared library. With short timers, so that the 30 s between two
 * questions are 200 ms.
 */
#include <stdio.h>

#include <lull/lull.h>

struct answer {
    bool is_over;
    char text[1200];
};

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct answer *answer = ctx;
    const bool is_ok = result->status.code == LULL_CODE_OK;
    snprintf(answer->text, sizeof(answer->text), "%s %s", lull_code_name((int)result->status.code),
             is_ok ? lull_call_peer(call) : result->status.failure->line);
    answer->is_over = true;
    lull_call_unref(call);
}

static bool ask(struct lull_loop *loop, struct lull_channel *channel)
{
    struct answer answer = {.is_over = false};
    struct lull_call_options options;
    struct lull_call *call;
    struct lull_error error;
    lull_call_options_init(&options, "/dns.Test/Echo");
    options.timeout_ns = 20 * LULL_SECOND;
    options.wait_for_ready = true;
    if (lull_call_unary(channel, &options, lull_slice_static("x", 1), on_done, &answer, &call,
                        &error) != LULL_OK) {
        fprintf(stderr, "dns_moves: %s\n", error.text);
        return false;
    }
    while (!answer.is_over) {
        if (lull_loop_run_once(loop, LULL_NEVER) != LULL_OK) {
            return false;
        }
    }
    printf("%s\n", answer.text);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_loop *loop;
    struct lull_error error;
    char line[16];
    int status = 0;
    if (argc != 2 || lull_loop_new(NULL, &loop) != LULL_OK) {
        return 64;
    }
    lull_channel_options_init(&options);
    options.loop = loop;
    options.allow_short_timers = true;
    options.backoff_initial_ns = 200 * LULL_MS;
    options.backoff_max_ns = 200 * LULL_MS;
    if (lull_channel_new(argv[1], &options, &channel, &error) != LULL_OK) {
        fprintf(stderr, "dns_moves: %s\n", error.text);
        return 1;
    }
    while (status == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        status = ask(loop, channel) ? 0 : 1;
    }
    lull_channel_unref(channel);
    lull_loop_free(loop);
    return status;
}
