/* SPDX-License-Identifier: MIT */
/*
 * Many calls on one channel, and channels whose server goes away, against a server on Python's grpcio.
 *
 * Decides: which server each case starts and what has to come back. It is a program of somebody else: public headers
 * and the shared library, no internal name. many_test.sh runs it in `make check-peers`. A server dies with the process
 * that runs its case, however that ends.
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/lull.h>

#include "tests/support/check_main.h"

enum { MESSAGE_MAX_BYTES = 6000, START_MS = 20000 };

/* Everything here is over well before that, or it is broken. */
#define LIMIT_NS (60 * LULL_SECOND)

/* ---- the server */

struct server {
    pid_t pid;
    char port[8];
};

static void server_exec(int stdout_fd, const char *listen, const char *max_streams)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    char script[4096];
    const char *top = getenv("abs_top_srcdir");
    (void)snprintf(script, sizeof(script), "%s/tests/peers/grpcio_server.py",
                   top == NULL ? "." : top);
    (void)dup2(stdout_fd, STDOUT_FILENO);
    (void)execl("/usr/bin/python3", "python3", script, "--listen", listen,
                max_streams == NULL ? (char *)NULL : "--max-streams", max_streams, (char *)NULL);
    _exit(127);
}

/* Reads the line "port N" that the server prints when it listens. */
static void read_port(int fd, char *port, size_t size)
{
    char line[64];
    size_t len = 0;
    while (len == 0 || line[len - 1] != '\n') {
        struct pollfd wait = {fd, POLLIN, 0};
        int ready = poll(&wait, 1, START_MS);
        ck_assert_msg(ready == 1, "the server does not come up");
        ssize_t got = read(fd, line + len, sizeof(line) - 1 - len);
        ck_assert_msg(got > 0, "the server ended at once");
        len += (size_t)got;
        ck_assert_uint_lt(len, sizeof(line) - 1);
    }
    line[len - 1] = '\0';
    ck_assert_msg(strncmp(line, "port ", 5) == 0, "the server said: %s", line);
    ck_assert_uint_lt(strlen(line + 5), size);
    memcpy(port, line + 5, strlen(line + 5) + 1);
}

static void server_start(struct server *server, const char *listen, const char *max_streams)
{
    int out[2];
    ck_assert_int_eq(pipe(out), 0);
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0) {
        (void)close(out[0]);
        server_exec(out[1], listen, max_streams);
    }
    (void)close(out[1]);
    read_port(out[0], server->port, sizeof(server->port));
    (void)close(out[0]);
}

static void server_kill(struct server *server)
{
    ck_assert_int_eq(kill(server->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(server->pid, NULL, 0), server->pid);
}

/* ---- the client */

struct client {
    struct server server;
    struct lull_loop *loop;
    struct lull_channel *channel;
    unsigned dials;
    char target[64];
};

static void on_event(void *ctx, const struct lull_event *event)
{
    struct client *client = ctx;
    if (event->kind == LULL_EVENT_DIAL) {
        client->dials++;
    }
}

static void client_open(struct client *client, const char *max_streams)
{
    memset(client, 0, sizeof(*client));
    server_start(&client->server, "127.0.0.1:0", max_streams);
    (void)snprintf(client->target, sizeof(client->target), "127.0.0.1:%s", client->server.port);
    ck_assert_int_eq(lull_loop_new(NULL, &client->loop), LULL_OK);
    struct lull_channel_options options;
    lull_channel_options_init(&options);
    options.loop = client->loop;
    options.trace.event = on_event;
    options.trace.ctx = client;
    struct lull_error error;
    int rc = lull_channel_new(client->target, &options, &client->channel, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

static void client_close(struct client *client)
{
    lull_channel_unref(client->channel);
    lull_loop_free(client->loop);
    server_kill(&client->server);
}

/* Runs turns until *count reaches goal. */
static void drive_until(struct client *client, const unsigned *count, unsigned goal)
{
    struct lull_instant end_at = lull_instant_add(lull_clock_now(lull_clock_system()), LIMIT_NS);
    while (*count < goal) {
        ck_assert_int_eq(lull_loop_run_once(client->loop, LULL_SECOND), LULL_OK);
        ck_assert_msg(lull_instant_before(lull_clock_now(lull_clock_system()), end_at),
                      "%u of %u after a minute", *count, goal);
    }
}

/* ---- one call at a time */

struct answer {
    unsigned count; /* of `done`: it must stay 1 */
    enum lull_code code;
    enum lull_reason reason;
    size_t len;
    char text[512];   /* the response, or the failure's line */
    char address[64]; /* of a failure */
};

static void on_answer(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct answer *answer = ctx;
    (void)call;
    answer->count++;
    answer->code = result->status.code;
    const void *bytes = result->message.data;
    size_t len = result->message.len;
    if (result->status.failure != NULL) {
        answer->reason = result->status.failure->reason;
        bytes = result->status.failure->line;
        len = strlen(result->status.failure->line);
        (void)snprintf(answer->address, sizeof(answer->address), "%s",
                       result->status.failure->address);
    }
    answer->len = len < sizeof(answer->text) - 1 ? len : sizeof(answer->text) - 1;
    if (answer->len > 0) {
        memcpy(answer->text, bytes, answer->len);
    }
    answer->text[answer->len] = '\0';
}

static struct lull_call *start(struct client *client, const char *method, const char *text,
                               struct answer *answer)
{
    struct lull_call_options options;
    struct lull_call *call = NULL;
    struct lull_error error;
    memset(answer, 0, sizeof(*answer));
    lull_call_options_init(&options, method);
    options.timeout_ns = LIMIT_NS;
    int rc = lull_call_unary(client->channel, &options, lull_slice_static(text, strlen(text)),
                             on_answer, answer, &call, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
    ck_assert_ptr_nonnull(call);
    return call;
}

/* Makes one call and waits for its end. */
static void ask(struct client *client, const char *method, const char *text, struct answer *answer)
{
    struct lull_call *call = start(client, method, text, answer);
    lull_call_unref(call);
    drive_until(client, &answer->count, 1);
}

static void assert_echoes(struct client *client, const char *text)
{
    struct answer answer;
    ask(client, "/lull.test.Peer/Echo", text, &answer);
    ck_assert_msg(answer.code == LULL_CODE_OK, "%s", answer.text);
    ck_assert_str_eq(answer.text, text);
}

/* Asks the server until "name value" is in what Slow has seen. */
static void wait_for_stat(struct client *client, const char *stat)
{
    struct lull_instant end_at = lull_instant_add(lull_clock_now(lull_clock_system()), LIMIT_NS);
    struct answer answer;
    do {
        ask(client, "/lull.test.Peer/Stats", "", &answer);
        ck_assert_msg(answer.code == LULL_CODE_OK, "%s", answer.text);
        ck_assert_msg(lull_instant_before(lull_clock_now(lull_clock_system()), end_at),
                      "no '%s' in '%s'", stat, answer.text);
    } while (strstr(answer.text, stat) == NULL);
}

/* ---- many at once */

struct batch {
    struct client *client;
    unsigned total;
    unsigned started;
    unsigned closed;
    unsigned most_outstanding;
    unsigned wrong;
    unsigned times_closed[1000];
};

/* What call `number` sends: its number and as many bytes as the number makes up. */
static size_t make_message(unsigned number, uint8_t *bytes)
{
    size_t len = 8 + (size_t)(number * 37U) % (MESSAGE_MAX_BYTES - 8);
    (void)snprintf((char *)bytes, 9, "%08u", number);
    for (size_t i = 8; i < len; i++) {
        bytes[i] = (uint8_t)((i * 31U + number) & 0xff);
    }
    return len;
}

struct one {
    struct batch *batch;
    unsigned number;
};

static struct one ones[1000];

static void start_one(struct batch *batch);

static void on_one(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    struct one *one = ctx;
    struct batch *batch = one->batch;
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t len = make_message(one->number, bytes);
    (void)call;
    if (result->status.code != LULL_CODE_OK || result->message.len != len ||
        memcmp(result->message.data, bytes, len) != 0) {
        batch->wrong++;
        (void)fprintf(stderr, "call %u: %s, %zu bytes\n", one->number,
                      result->status.failure == NULL ? "wrong content"
                                                     : result->status.failure->line,
                      result->message.len);
    }
    batch->times_closed[one->number]++;
    batch->closed++;
    /* Each end starts the next one, from inside the callback. */
    if (batch->started < batch->total) {
        start_one(batch);
    }
}

static void start_one(struct batch *batch)
{
    struct one *one = &ones[batch->started];
    one->batch = batch;
    one->number = batch->started;
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t len = make_message(one->number, bytes);
    struct lull_slice request;
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, len, &request), LULL_OK);
    struct lull_call_options options;
    lull_call_options_init(&options, "/lull.test.Peer/Echo");
    options.timeout_ns = LIMIT_NS;
    int rc = lull_call_unary(batch->client->channel, &options, request, on_one, one, NULL, NULL);
    ck_assert_int_eq(rc, LULL_OK);
    lull_slice_unref(request);
    batch->started++;
    unsigned outstanding = batch->started - batch->closed;
    if (outstanding > batch->most_outstanding) {
        batch->most_outstanding = outstanding;
    }
}

static void run_batch(struct client *client, unsigned total, unsigned outstanding)
{
    static struct batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.client = client;
    batch.total = total;
    while (batch.started < outstanding) {
        start_one(&batch);
    }
    drive_until(client, &batch.closed, total);
    ck_assert_uint_eq(batch.wrong, 0);
    ck_assert_uint_eq(batch.most_outstanding, outstanding);
    for (unsigned i = 0; i < total; i++) {
        ck_assert_uint_eq(batch.times_closed[i], 1);
    }
    struct lull_counters counters;
    counters.size = sizeof(counters);
    lull_executor_counters(lull_loop_executor(client->loop), &counters);
    ck_assert_uint_eq(counters.calls_started, total);
    ck_assert_uint_eq(counters.calls_closed, total);
    ck_assert_uint_eq(client->dials, 1);
}

START_TEST(a_thousand_calls_a_hundred_at_a_time_each_get_their_own_answer)
{
    struct client client;
    client_open(&client, NULL);
    run_batch(&client, 1000, 100);
    client_close(&client);
}
END_TEST

START_TEST(twenty_calls_at_once_all_end_ok_where_the_server_allows_one_stream)
{
    struct client client;
    client_open(&client, "1");
    run_batch(&client, 20, 20);
    client_close(&client);
}
END_TEST

/* ---- servers that go away */

/* The same port, a new process. */
static void restart_server(struct client *client)
{
    char listen[64];
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%s", client->server.port);
    server_start(&client->server, listen, NULL);
}

START_TEST(next_call_after_a_restart_that_was_noticed_reconnects)
{
    struct client client;
    client_open(&client, NULL);
    assert_echoes(&client, "before");
    ck_assert_int_eq(lull_channel_state(client.channel, false), LULL_STATE_READY);

    server_kill(&client.server);
    struct lull_instant end_at = lull_instant_add(lull_clock_now(lull_clock_system()), LIMIT_NS);
    while (lull_channel_state(client.channel, false) != LULL_STATE_IDLE) {
        ck_assert_int_eq(lull_loop_run_once(client.loop, LULL_SECOND), LULL_OK);
        ck_assert(lull_instant_before(lull_clock_now(lull_clock_system()), end_at));
    }
    ck_assert_uint_eq(client.dials, 1); /* nobody asked: it does not dial by itself */

    restart_server(&client);
    assert_echoes(&client, "after");
    ck_assert_uint_eq(client.dials, 2);
    client_close(&client);
}
END_TEST

START_TEST(next_call_after_a_restart_that_nobody_noticed_reconnects)
{
    struct client client;
    client_open(&client, NULL);
    assert_echoes(&client, "before");
    /* No turn runs between the death and the call: what already happened is heard before the call starts. */
    server_kill(&client.server);
    restart_server(&client);
    assert_echoes(&client, "after");
    ck_assert_uint_eq(client.dials, 2);
    client_close(&client);
}
END_TEST

START_TEST(call_under_way_when_its_server_is_killed_ends_unavailable)
{
    struct client client;
    struct answer answer;
    client_open(&client, NULL);
    struct lull_call *call = start(&client, "/lull.test.Peer/Slow", "50000", &answer);
    wait_for_stat(&client, "begun 1 ");
    ck_assert_uint_eq(answer.count, 0);
    server_kill(&client.server);
    drive_until(&client, &answer.count, 1);
    ck_assert_msg(answer.code == LULL_CODE_UNAVAILABLE, "%s", answer.text);
    ck_assert_int_eq(answer.reason, LULL_REASON_TRANSPORT);
    ck_assert_str_eq(answer.address, client.target);
    lull_call_unref(call);

    restart_server(&client);
    assert_echoes(&client, "after");
    client_close(&client);
}
END_TEST

START_TEST(cancelled_call_ends_cancelled_and_the_server_hears_of_it)
{
    struct client client;
    struct answer answer;
    client_open(&client, NULL);
    struct lull_call *call = start(&client, "/lull.test.Peer/Slow", "50000", &answer);
    wait_for_stat(&client, "begun 1 cancelled 0 ");
    ck_assert_uint_eq(answer.count, 0);

    lull_call_cancel(call);
    lull_call_cancel(call);             /* the second time does nothing */
    ck_assert_uint_eq(answer.count, 0); /* never inline */
    drive_until(&client, &answer.count, 1);
    ck_assert_msg(answer.code == LULL_CODE_CANCELLED, "%s", answer.text);
    ck_assert_int_eq(answer.reason, LULL_REASON_CANCELLED);
    wait_for_stat(&client, "begun 1 cancelled 1 ");
    lull_call_cancel(call); /* after the end: nothing */
    lull_call_unref(call);

    assert_echoes(&client, "the connection stands");
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_uint_eq(client.dials, 1);
    client_close(&client);
}
END_TEST

static Suite *many_suite(void)
{
    Suite *suite = suite_create("many");
    TCase *calls = tcase_create("calls on grpcio");
    tcase_set_timeout(calls, 120);
    tcase_add_test(calls, a_thousand_calls_a_hundred_at_a_time_each_get_their_own_answer);
    tcase_add_test(calls, twenty_calls_at_once_all_end_ok_where_the_server_allows_one_stream);
    tcase_add_test(calls, next_call_after_a_restart_that_was_noticed_reconnects);
    tcase_add_test(calls, next_call_after_a_restart_that_nobody_noticed_reconnects);
    tcase_add_test(calls, call_under_way_when_its_server_is_killed_ends_unavailable);
    tcase_add_test(calls, cancelled_call_ends_cancelled_and_the_server_hears_of_it);
    suite_add_tcase(suite, calls);
    return suite;
}

LULL_TEST_MAIN("many", many_suite)
