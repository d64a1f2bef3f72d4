/* SPDX-License-Identifier: MIT */
/*
 * lull in a program that runs on libuv. A server and a channel share the loop; the call is started in a callback of the program's
 * own timer. Exits 0 only if it was answered.
 * Build: cc embed_libuv.c $(pkg-config --cflags --libs lull libuv)
 */
#include <lull/adapters/libuv.h>
#include <lull/lull.h>

#include <stdio.h>

struct program {
    uv_loop_t host;
    uv_timer_t timer; /* the program's own */
    struct lull_loop *loop;
    struct lull_server *server;
    struct lull_channel *channel;
    bool is_answered;
};

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    (void)lull_server_call_send(call, lull_slice_static("hello", 5));
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct program *program = ctx;

    (void)call;
    program->is_answered = result->status.code == LULL_CODE_OK && result->message.len == 5;
    printf("%s\n", program->is_answered ? "answered" : result->status.failure->line);
    uv_stop(&program->host);
}

/* In a callback of the host: what is started here leaves before the host sleeps. */
static void start_call(struct program *program)
{
    struct lull_call_options options;
    struct lull_error error;

    lull_call_options_init(&options, "/embedded.Service/Hello");
    options.timeout_ns = 10 * LULL_SECOND;
    if (lull_call_unary(program->channel, &options, lull_slice_static("", 0), on_done, program, NULL, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.text);
        uv_stop(&program->host);
    }
}

static bool make_parts(struct program *program)
{
    struct lull_server_options server_options;
    struct lull_server_handler handler;
    struct lull_channel_options options;
    struct lull_error error;

    lull_server_options_init(&server_options);
    server_options.loop = program->loop;
    lull_server_handler_init(&handler);
    handler.on_half_closed = on_half_closed;
    lull_channel_options_init(&options);
    options.loop = program->loop;
    return lull_server_new(&server_options, &program->server, &error) == LULL_OK &&
           lull_server_add(program->server, "", &handler, NULL) == LULL_OK &&
           lull_server_listen(program->server, "127.0.0.1:0", &error) == LULL_OK &&
           lull_channel_new(lull_server_address(program->server, 0), &options, &program->channel, &error) == LULL_OK;
}

static void on_timer(uv_timer_t *timer)
{
    start_call(timer->data);
}

int main(void)
{
    static struct program program;

    if (uv_loop_init(&program.host) != 0 || lull_uv_new(&program.host, NULL, &program.loop) != LULL_OK) {
        return 1;
    }
    (void)uv_timer_init(&program.host, &program.timer);
    program.timer.data = &program;
    if (make_parts(&program) && uv_timer_start(&program.timer, on_timer, 10, 0) == 0) {
        (void)uv_run(&program.host, UV_RUN_DEFAULT);
    }
    lull_channel_unref(program.channel);
    lull_server_free(program.server);
    lull_uv_free(program.loop);
    uv_close((uv_handle_t *)&program.timer, NULL);
    (void)uv_run(&program.host, UV_RUN_DEFAULT); /* libuv closes what was given up: its timer and lull's handles */
    return uv_loop_close(&program.host) == 0 && program.is_answered ? 0 : 1;
}
