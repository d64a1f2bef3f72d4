/* SPDX-License-Identifier: MIT */
/*
 * lull on a loop of one's own: the four verbs on poll(2), as in doc/API.md, "Bring your own loop". A server and a channel share the
 * loop; two calls are made, one is answered and one expires by the host's alarm. Exits 0 when both ended as they should.
 * Build: cc bring_your_own_loop.c $(pkg-config --cflags --libs lull)
 */
#include <lull/lull.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FDS_MAX 16

/* ---- the host */

struct host {
    struct lull_loop loop; /* first, so that a pointer to it is one to the host */
    struct lull_watch *watches[FDS_MAX];
    size_t count;
    struct lull_instant alarm_at; /* LULL_NEVER: none */
    int wake_fds[2];              /* a pipe: other threads wake us */
    bool is_turn_wanted;
};

static int watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    struct host *host = (struct host *)(void *)loop;
    size_t i = 0;

    while (i < host->count && host->watches[i] != w) {
        i++;
    }
    if (want == LULL_WANT_NONE && i < host->count) {
        host->watches[i] = host->watches[--host->count];
    } else if (want != LULL_WANT_NONE && i == host->count) {
        if (host->count == FDS_MAX) {
            return ENOSPC;
        }
        host->watches[host->count++] = w;
    }
    return 0;
}

static int set_alarm(struct lull_loop *loop, struct lull_instant at)
{
    ((struct host *)(void *)loop)->alarm_at = at;
    return 0;
}

/* Any thread. A pipe that is full has woken us already. */
static void wake(struct lull_loop *loop)
{
    if (write(((struct host *)(void *)loop)->wake_fds[1], "", 1) < 0) {
        perror("write");
    }
}

static void soon(struct lull_loop *loop)
{
    ((struct host *)(void *)loop)->is_turn_wanted = true;
}

static const struct lull_loop_ops ops = {.watch = watch, .alarm = set_alarm, .wake = wake, .soon = soon};

static struct lull_instant now(const struct host *host)
{
    return lull_clock_now(lull_executor_clock(lull_loop_executor(&host->loop)));
}

/* Rounded up, so that the alarm is not early. */
static int timeout_ms(const struct host *host)
{
    int64_t left_ns = lull_instant_diff(host->alarm_at, now(host));

    if (host->is_turn_wanted || left_ns <= 0) {
        return 0;
    }
    return left_ns > LULL_MINUTE ? 60000 : (int)((left_ns + LULL_MS - 1) / LULL_MS);
}

static void hear(struct host *host, const struct pollfd *polled, struct lull_watch *w)
{
    unsigned ready = LULL_WANT_NONE;

    if ((polled->revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
        ready |= LULL_WANT_READ;
    }
    if ((polled->revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
        ready |= LULL_WANT_WRITE;
    }
    if (ready != LULL_WANT_NONE) {
        lull_watch_ready(&host->loop, w, ready & w->want);
        host->is_turn_wanted = true;
    }
}

/* Sleeps until there is something to do, and does it: what is ready in one turn, then the alarm. */
static void run_round(struct host *host)
{
    struct pollfd polled[FDS_MAX + 1];
    struct lull_watch *watches[FDS_MAX];
    size_t count = host->count;
    char wakes[64];

    for (size_t i = 0; i < count; i++) {
        watches[i] = host->watches[i];
        polled[i].fd = watches[i]->fd;
        polled[i].events = (short)(((watches[i]->want & LULL_WANT_READ) != 0 ? POLLIN : 0) |
                                   ((watches[i]->want & LULL_WANT_WRITE) != 0 ? POLLOUT : 0));
    }
    polled[count] = (struct pollfd){.fd = host->wake_fds[0], .events = POLLIN};
    if (poll(polled, (nfds_t)count + 1, timeout_ms(host)) < 0) {
        return; /* a signal */
    }
    for (size_t i = 0; i < count; i++) {
        hear(host, &polled[i], watches[i]);
    }
    if (polled[count].revents != 0 && read(host->wake_fds[0], wakes, sizeof(wakes)) > 0) {
        host->is_turn_wanted = true;
    }
    if (host->is_turn_wanted) {
        host->is_turn_wanted = false;
        (void)lull_executor_turn_now(lull_loop_executor(&host->loop));
    }
    if (!lull_instant_before(now(host), host->alarm_at)) {
        host->alarm_at = lull_at(LULL_NEVER);
        (void)lull_loop_on_alarm(&host->loop);
    }
}

/* ---- what runs on it */

static unsigned ended;
static enum lull_code codes[2];

static void on_half_closed(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    if (strcmp(lull_server_call_method(call), "/own.Loop/Answer") == 0) {
        (void)lull_server_call_send(call, lull_slice_static("hello", 5));
        (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
    }
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    *(enum lull_code *)ctx = result->status.code;
    printf("%s\n", result->status.code == LULL_CODE_OK ? "OK" : result->status.failure->line);
    ended++;
}

static void run_calls(struct host *host, struct lull_channel *channel)
{
    static const char *const methods[2] = {"/own.Loop/Answer", "/own.Loop/Silence"};
    struct lull_call_options options;

    for (size_t i = 0; i < 2; i++) {
        lull_call_options_init(&options, methods[i]);
        options.timeout_ns = i == 0 ? LULL_MINUTE : 100 * LULL_MS;
        if (lull_call_unary(channel, &options, lull_slice_static("", 0), on_done, &codes[i], NULL, NULL) != LULL_OK) {
            return;
        }
    }
    (void)lull_loop_flush(&host->loop); /* on the wire now; without it in the turn that `soon` asked for */
    while (ended < 2) {
        run_round(host);
    }
}

int main(void)
{
    struct host host = {.alarm_at = {LULL_NEVER}};
    struct lull_server_handler handler;
    struct lull_server_options server_options;
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct lull_server *server;

    if (pipe(host.wake_fds) != 0 || lull_loop_init(&host.loop, &ops, "poll", NULL) != LULL_OK) {
        return 1;
    }
    lull_server_options_init(&server_options);
    server_options.loop = &host.loop;
    lull_server_handler_init(&handler);
    handler.on_half_closed = on_half_closed;
    lull_channel_options_init(&options);
    options.loop = &host.loop;
    if (lull_server_new(&server_options, &server, NULL) == LULL_OK) {
        if (lull_server_add(server, "", &handler, NULL) == LULL_OK &&
            lull_server_listen(server, "127.0.0.1:0", NULL) == LULL_OK &&
            lull_channel_new(lull_server_address(server, 0), &options, &channel, NULL) == LULL_OK) {
            run_calls(&host, channel);
            lull_channel_unref(channel);
        }
        lull_server_free(server);
    }
    lull_loop_fini(&host.loop);
    close(host.wake_fds[0]);
    close(host.wake_fds[1]);
    bool is_ok = ended == 2 && codes[0] == LULL_CODE_OK && codes[1] == LULL_CODE_DEADLINE_EXCEEDED;
    printf("%d%%: Checks: 1, Failures: %d, Errors: 0\n", is_ok ? 100 : 0, is_ok ? 0 : 1);
    return is_ok ? 0 : 1;
}
