/* SPDX-License-Identifier: MIT */
/*
 * lull in a program that has an epoll of its own: one descriptor more in it. A server and a channel share the loop; the call is
 * started when the program's own descriptor is readable. Exits 0 only if it was answered.
 * Build: cc embed_epoll.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct program {
    int epoll_fd, own_fd; /* the program's own */
    bool is_stopping;
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
    program->is_stopping = true;
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
        program->is_stopping = true;
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

static bool add(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void run(struct program *program, int lull_fd)
{
    struct epoll_event events[8];
    uint64_t value;

    while (!program->is_stopping) {
        int count = epoll_wait(program->epoll_fd, events, 8, -1);

        if (count < 0 && errno != EINTR) {
            return;
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == lull_fd) {
                (void)lull_loop_dispatch(program->loop);
            } else if (read(program->own_fd, &value, sizeof(value)) == sizeof(value)) {
                start_call(program); /* makes lull_fd readable */
            }
        }
    }
}

int main(void)
{
    struct program program = {.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .own_fd = eventfd(1, EFD_CLOEXEC)};
    int lull_fd;

    if (lull_loop_new(NULL, &program.loop) != LULL_OK) {
        return 1;
    }
    lull_fd = lull_loop_fd(program.loop);
    if (add(program.epoll_fd, lull_fd) && add(program.epoll_fd, program.own_fd) && make_parts(&program)) {
        run(&program, lull_fd);
    }
    lull_channel_unref(program.channel);
    lull_server_free(program.server);
    lull_loop_free(program.loop);
    close(program.own_fd);
    close(program.epoll_fd);
    return program.is_answered ? 0 : 1;
}
