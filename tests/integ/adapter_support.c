/* SPDX-License-Identifier: MIT */
/* RTLD_NEXT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "tests/integ/adapter_support.h"

const struct adapter *host;
struct lull_loop *loop;
struct lull_server *server;
struct lull_channel *channel;
struct outcome outcome;
struct server_hooks server_hooks;
unsigned wakes, soons;
void (*on_wait)(int timeout_ms);

/* ---- what the host asks of the kernel: these stand before the C library's for the host's library, too */

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    ck_assert_ptr_nonnull(function);
    return function;
}

static void note_wait(int timeout_ms)
{
    if (on_wait != NULL) {
        on_wait(timeout_ms);
    }
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
    int (*function)(int, struct epoll_event *, int, int);

    *(void **)&function = real("epoll_wait");
    note_wait(timeout);
    return function(fd, events, count, timeout);
}

int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask)
{
    int (*function)(int, struct epoll_event *, int, int, const sigset_t *);

    *(void **)&function = real("epoll_pwait");
    note_wait(timeout);
    return function(fd, events, count, timeout, mask);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int (*function)(struct pollfd *, nfds_t, int);

    *(void **)&function = real("poll");
    note_wait(timeout);
    return function(fds, count, timeout);
}

/* ---- a loop whose verbs are counted */

static const struct lull_loop_ops *real_ops;
static struct lull_loop_ops counting_ops;

static void count_wake(struct lull_loop *which)
{
    __atomic_fetch_add(&wakes, 1, __ATOMIC_SEQ_CST);
    real_ops->wake(which);
}

static void count_soon(struct lull_loop *which)
{
    soons++;
    real_ops->soon(which);
}

struct lull_loop *make_loop(void)
{
    struct lull_loop *made = NULL;

    ck_assert_int_eq(host->make(NULL, &made), LULL_OK);
    if (host->is_own) {
        return made;
    }
    real_ops = made->ops;
    counting_ops = *real_ops;
    counting_ops.wake = count_wake;
    counting_ops.soon = count_soon;
    made->ops = &counting_ops;
    return made;
}

/* ---- server and channel */

static bool is_hooked(void (*hook)(void))
{
    if (hook != NULL) {
        hook();
    }
    return hook != NULL;
}

static void echo_call(struct lull_server_call *call, const struct lull_server_request *request, void *ctx)
{
    (void)call;
    (void)request;
    (void)ctx;
    (void)is_hooked(server_hooks.in_call);
}

static void echo_closed(struct lull_server_call *call, enum lull_server_end end, const char *why, void *ctx)
{
    (void)call;
    (void)end;
    (void)why;
    (void)ctx;
    (void)is_hooked(server_hooks.in_closed);
}

static void echo_message(struct lull_server_call *call, struct lull_slice message, void *ctx)
{
    (void)ctx;
    if (is_hooked(server_hooks.in_message)) {
        return;
    }
    /* What does not fit is dropped: the tests that count send no more than fits. */
    (void)lull_server_call_send(call, message);
}

static void echo_end(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    if (is_hooked(server_hooks.in_half_closed)) {
        return;
    }
    (void)lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL);
}

struct lull_server *make_server(struct lull_loop *on)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    struct lull_server *made = NULL;
    struct lull_error error;

    lull_server_options_init(&options);
    options.loop = on;
    options.permit_keepalive_time_ns = 0;
    options.permit_keepalive_without_calls = true;
    ck_assert_int_eq(lull_server_new(&options, &made, &error), LULL_OK);
    lull_server_handler_init(&handler);
    ck_assert_int_eq(lull_server_add(made, NEVER_METHOD, &handler, NULL), LULL_OK);
    handler.on_call = echo_call;
    handler.on_closed = echo_closed;
    handler.on_message = echo_message;
    handler.on_half_closed = echo_end;
    ck_assert_int_eq(lull_server_add(made, ECHO_METHOD, &handler, NULL), LULL_OK);
    ck_assert_msg(lull_server_listen(made, "127.0.0.1:0", &error) == LULL_OK, "%s", error.text);
    return made;
}

struct lull_channel *make_channel(struct lull_loop *on, const char *target, void (*tune)(struct lull_channel_options *options))
{
    struct lull_channel_options options;
    struct lull_channel *made = NULL;
    struct lull_error error;

    lull_channel_options_init(&options);
    options.loop = on;
    options.allow_short_timers = true;
    options.backoff_initial_ns = 10 * LULL_MS;
    if (tune != NULL) {
        tune(&options);
    }
    ck_assert_msg(lull_channel_new(target, &options, &made, &error) == LULL_OK, "%s", error.text);
    return made;
}

void set_up(void (*tune)(struct lull_channel_options *options))
{
    memset(&outcome, 0, sizeof(outcome));
    memset(&server_hooks, 0, sizeof(server_hooks));
    on_wait = NULL;
    wakes = soons = 0;
    host->open();
    loop = make_loop();
    server = make_server(loop);
    channel = make_channel(loop, lull_server_address(server, 0), tune);
}

void tear_down(void)
{
    on_wait = NULL;
    forget_call();
    lull_channel_close(channel);
    lull_channel_unref(channel);
    lull_server_free(server);
    host->drop(loop);
    channel = NULL;
    server = NULL;
    loop = NULL;
    host->close();
}

/* ---- asking and waiting */

struct lull_counters counted(void)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    lull_executor_counters(lull_loop_executor(loop), &counters);
    return counters;
}

struct lull_channel_stats channel_stats(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};

    lull_channel_stats(channel, &stats);
    return stats;
}

int count_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

struct lull_instant now(void)
{
    return lull_clock_now(lull_clock_system());
}

void run_until(bool (*holds)(void))
{
    const struct lull_instant give_up_at = lull_instant_add(now(), PATIENCE_NS);

    while (!holds() && lull_instant_before(now(), give_up_at)) {
        host->round(10 * LULL_SECOND);
    }
    ck_assert_msg(holds(), "the condition did not hold in time");
}

/* ---- one call */

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    (void)call;
    (void)headers;
    (void)ctx;
    outcome.headers++;
    if (outcome.in_headers != NULL) {
        outcome.in_headers();
    }
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)ctx;
    outcome.messages++;
    outcome.bytes += message.len;
    if (outcome.in_message != NULL) {
        outcome.in_message();
    }
}

static void on_writable(struct lull_call *call, void *ctx)
{
    (void)call;
    (void)ctx;
    outcome.writables++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    outcome.closed++;
    outcome.code = status->code;
    outcome.reason = status->failure != NULL ? status->failure->reason : LULL_REASON_NONE;
    outcome.closed_at = now();
    if (outcome.in_closed != NULL) {
        outcome.in_closed();
    }
}

void start_stream(const char *method, int64_t timeout_ns, int64_t read_timeout_ns)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;

    forget_call();
    outcome.headers = outcome.messages = outcome.writables = outcome.closed = 0;
    outcome.bytes = 0;
    lull_call_options_init(&options, method);
    options.timeout_ns = timeout_ns;
    options.read_timeout_ns = read_timeout_ns;
    lull_call_handler_init(&handler);
    handler.on_headers = on_headers;
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    ck_assert_msg(lull_call_start(channel, &options, &handler, NULL, &outcome.call, &error) == LULL_OK, "%s", error.text);
}

void start_call(const char *method, int64_t timeout_ns)
{
    start_stream(method, timeout_ns, 0);
    ck_assert_int_eq(lull_call_send(outcome.call, lull_slice_static("hello", 5)), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(outcome.call), LULL_OK);
}

void forget_call(void)
{
    lull_call_unref(outcome.call);
    outcome.call = NULL;
}

bool is_closed(void)
{
    return outcome.closed > 0;
}

Suite *adapter_suite(const struct adapter *adapter)
{
    Suite *suite = suite_create(adapter->name);
    TCase *calls = tcase_create("calls"), *of_host = tcase_create("host"), *fds = tcase_create("fds"), *ends = tcase_create("ends");

    host = adapter;
    tcase_set_timeout(calls, 120);
    tcase_set_timeout(of_host, 120);
    tcase_set_timeout(fds, 120);
    tcase_set_timeout(ends, 120);
    adapter_add_calls(calls);
    adapter_add_host(of_host);
    adapter_add_fds(fds);
    adapter_add_ends(ends);
    suite_add_tcase(suite, calls);
    suite_add_tcase(suite, of_host);
    suite_add_tcase(suite, fds);
    suite_add_tcase(suite, ends);
    return suite;
}
