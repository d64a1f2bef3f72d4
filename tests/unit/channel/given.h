/* SPDX-License-Identifier: MIT */
/*
 * A channel over one end of a socketpair, a scripted peer at the other, on a fake clock; and calls that remember how they ended. Bytes go
 * through the kernel at once, so a few rounds of the loop bring what there is.
 */
#ifndef TESTS_UNIT_CHANNEL_GIVEN_H
#define TESTS_UNIT_CHANNEL_GIVEN_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lull/lull.h>

#include "channel/channel.h"
#include "exec/executor.h"
#include "net/endpoint_tcp.h"
#include "peer.h"
#include "tests/support/check_main.h"

#define GIVEN_ROUNDS 12

static struct {
    struct lull_fake_clock fake;
    struct lull_loop *loop;
    struct lull_executor *executor;
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct peer peer;
    int fd;
    char name[16];     /* "fd:7" */
    char traced[8192]; /* a line each */
} given;

static inline void note(void *ctx, const struct lull_event *event)
{
    const size_t len = strlen(given.traced);

    (void)ctx;
    (void)snprintf(given.traced + len, sizeof(given.traced) - len, "%s\n", event->detail);
}

static inline bool is_open(int which)
{
    return fcntl(which, F_GETFD) >= 0;
}

static inline void rounds(void)
{
    for (int i = 0; i < GIVEN_ROUNDS; i++) {
        ck_assert_int_eq(lull_loop_run_once(given.loop, 0), LULL_OK);
    }
}

static inline void advance(int64_t by_ns)
{
    lull_fake_clock_advance(&given.fake, by_ns);
    rounds();
}

static inline void answer(struct peer *which, uint32_t stream, void *ctx)
{
    (void)ctx;
    peer_answer(which, stream, "hello");
}

static inline void stay_silent(struct peer *which, uint32_t stream, void *ctx)
{
    (void)which;
    (void)stream;
    (void)ctx;
}

static inline void set_up(void)
{
    struct lull_executor_options made;

    given.traced[0] = '\0';
    lull_fake_clock_init(&given.fake, LULL_HOUR, 0);
    lull_executor_options_init(&made);
    made.clock = &given.fake.base;
    ck_assert_int_eq(lull_loop_new(&made, &given.loop), LULL_OK);
    given.executor = lull_loop_executor(given.loop);
    ck_assert_int_eq(lull_executor_attach(given.executor, &given.fake), LULL_OK);
    lull_channel_options_init(&given.options);
    given.options.loop = given.loop;
    given.options.trace.event = note;
}

/* A pair: the near end blocks, as most are made. */
static inline void open_pair(peer_request_fn on_request)
{
    struct endpoint *far;
    struct addr nobody;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    memset(&nobody, 0, sizeof(nobody));
    nobody.storage.ss_family = AF_UNIX;
    ck_assert_int_eq(lull_executor_enter(given.executor), LULL_OK);
    ck_assert_int_eq(endpoint_tcp_adopt(given.loop, given.executor, ends[1], &nobody, &far), 0);
    peer_init(&given.peer, far, on_request, NULL);
    lull_executor_leave(given.executor);
    given.fd = ends[0];
    (void)snprintf(given.name, sizeof(given.name), "fd:%d", given.fd);
}

static inline void open_channel(void)
{
    struct lull_error error;

    ck_assert_msg(lull_channel_from_fd(given.fd, &given.options, &given.channel, &error) == LULL_OK, "%s", error.text);
}

static inline void begin(peer_request_fn on_request)
{
    open_pair(on_request);
    open_channel();
}

static inline void end(void)
{
    lull_channel_unref(given.channel);
    given.channel = NULL;
    rounds();
    ck_assert(!is_open(given.fd));
    peer_fini(&given.peer);
    rounds();
}

static inline void tear_down(void)
{
    lull_loop_free(given.loop);
}

/* ---- calls */

struct outcome {
    struct lull_call *call;
    unsigned done;
    unsigned messages;
    enum lull_code code;
    struct lull_failure failure;
    char line[1100];
    char message[700];
    char with[160];
};

static inline void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct outcome *outcome = ctx;

    (void)message;
    outcome->messages++;
    (void)snprintf(outcome->with, sizeof(outcome->with), "%s", lull_call_peer(call));
}

static inline void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers,
                      void *ctx)
{
    struct outcome *outcome = ctx;

    (void)call;
    (void)trailers;
    outcome->done++;
    outcome->code = status->code;
    (void)snprintf(outcome->message, sizeof(outcome->message), "%s", status->message);
    if (status->failure != NULL) {
        outcome->failure = *status->failure;
        (void)snprintf(outcome->line, sizeof(outcome->line), "%s", status->failure->line);
    }
}

static inline void start(struct outcome *outcome, bool wait_for_ready)
{
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_error error;

    memset(outcome, 0, sizeof(*outcome));
    lull_call_options_init(&call_options, "/pkg.Service/Method");
    call_options.timeout_ns = LULL_NEVER;
    call_options.wait_for_ready = wait_for_ready;
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    ck_assert_msg(lull_call_start(given.channel, &call_options, &handler, outcome, &outcome->call, &error) == LULL_OK, "%s",
                  error.text);
    ck_assert_int_eq(lull_call_half_close(outcome->call), LULL_OK);
}

static inline void call(struct outcome *outcome)
{
    start(outcome, false);
    rounds();
}

static inline void forget(struct outcome *outcome)
{
    lull_call_unref(outcome->call);
    outcome->call = NULL;
}

static inline void expect_ok(struct outcome *outcome)
{
    ck_assert_uint_eq(outcome->done, 1);
    ck_assert_msg(outcome->code == LULL_CODE_OK, "%s", outcome->line);
    forget(outcome);
}

/* UNAVAILABLE for want of a connection, with these words, and no word of a next attempt. */
static inline void expect_none_to_dial(struct outcome *outcome, const char *part)
{
    ck_assert_uint_eq(outcome->done, 1);
    ck_assert_int_eq(outcome->code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(outcome->failure.reason, LULL_REASON_CONNECT);
    ck_assert_msg(strstr(outcome->message, part) != NULL, "%s", outcome->message);
    ck_assert_msg(strstr(outcome->message, "there is none to dial") != NULL, "%s", outcome->message);
    ck_assert_msg(strstr(outcome->message, given.name) != NULL, "%s", outcome->message);
    ck_assert_msg(strstr(outcome->line, "next") == NULL, "%s", outcome->line);
    ck_assert_int_eq(outcome->failure.next_attempt_after_ns, LULL_NEVER);
    forget(outcome);
}

/* Closed by itself: no call can be started, and why is told. */
static inline void expect_closed(const char *part)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    struct lull_call_options call_options;
    struct lull_call_handler handler;
    struct lull_error error;

    lull_call_options_init(&call_options, "/pkg.Service/Method");
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(given.channel, &call_options, &handler, NULL, NULL, &error), LULL_RC_CLOSED);
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    ck_assert_msg(strstr(error.text, "there is none to dial") != NULL, "%s", error.text);
    ck_assert_int_eq(lull_channel_state(given.channel, true), LULL_STATE_SHUTDOWN);
    lull_channel_stats(given.channel, &stats);
    ck_assert_str_eq(stats.reason, error.text);
    ck_assert_uint_eq(stats.attempts, 1);
    ck_assert(!is_open(given.fd));
    ck_assert_uint_eq(executor_counters(given.executor)->timers_armed, 0);
}

static inline void expect_not_closed(void)
{
    ck_assert_int_ne(lull_channel_state(given.channel, false), LULL_STATE_SHUTDOWN);
}

#endif
