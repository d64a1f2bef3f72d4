/* SPDX-License-Identifier: MIT */
/*
 * The other end: a server whose client is cut off. It runs in this process, on the client's loop, with its sockets in the server's
 * namespace.
 */
#include <netinet/tcp.h>
#include <stdio.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

static struct town town;
static struct caller caller;
static struct talk talk;
static struct lull_server *server;
static struct lull_server_call *call;
static struct lull_instant heard_at, closed_at;
static unsigned closed;
static char why_closed[320];

static void on_message(struct lull_server_call *of, struct lull_slice message, void *ctx)
{
    (void)ctx;
    call = of;
    heard_at = caller_now();
    ck_assert_int_eq(lull_server_call_send(of, message), LULL_OK);
}

static void on_closed(struct lull_server_call *of, enum lull_server_end end, const char *why,
                      void *ctx)
{
    (void)of;
    (void)end;
    (void)ctx;
    closed++;
    closed_at = caller_now();
    (void)snprintf(why_closed, sizeof(why_closed), "%s", why);
}

/* Whether the client's kernel has acknowledged what the server wrote; it takes 40 ms for that where it has nothing to say. */
static bool is_acknowledged(void)
{
    char line[256];
    unsigned state, unacknowledged;
    bool is = true;
    town_enter(&town, TOWN_SERVER);
    FILE *sockets = fopen("/proc/thread-self/net/tcp", "r");
    ck_assert_ptr_nonnull(sockets);
    while (fgets(line, sizeof(line), sockets) != NULL) {
        if (sscanf(line, " %*u: %*x:%*x %*x:%*x %x %x:", &state, &unacknowledged) == 2 && state == TCP_ESTABLISHED) {
            is = is && unacknowledged == 0;
        }
    }
    fclose(sockets);
    town_enter(&town, TOWN_CLIENT);
    return is;
}

/* A server with this keepalive, and a client with the defaults and an open stream whose one message was echoed and acknowledged, so that
 * nothing is on its way when the cut comes. */
static void begin(int64_t time_ns, int64_t timeout_ns)
{
    struct lull_server_options options;
    struct lull_server_handler handler;
    town_make(&town, TOWN_ROUTED);
    caller_begin(&caller);
    lull_server_options_init(&options);
    options.loop = caller.client.loop;
    options.allow_short_timers = true;
    options.keepalive_time_ns = time_ns;
    options.keepalive_timeout_ns = timeout_ns;
    ck_assert_int_eq(lull_server_new(&options, &server, NULL), LULL_OK);
    lull_server_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_server_add(server, "", &handler, NULL), LULL_OK);
    town_enter(&town, TOWN_SERVER);
    ck_assert_int_eq(lull_server_listen(server, TOWN_SERVER_ADDRESS ":" TOWN_PORT, NULL), LULL_OK);
    town_enter(&town, TOWN_CLIENT);
    caller_open(&caller, TOWN_TARGET);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    while (!is_acknowledged()) {
        (void)lull_loop_run_once(caller.client.loop, 5 * LULL_MS);
    }
}

static void end(void)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    lull_server_stats(server, &stats);
    ck_assert_uint_eq(stats.connections, 0);
    lull_channel_close(caller.client.channel);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    lull_server_free(server);
    caller_close(&caller);
}

START_TEST(a_server_finds_a_client_that_is_cut_off_by_its_keepalive)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a quiet stream, seen from the server",
                            .settings = "keepalive 1 s + 1 s",
                            .promise = "keepalive time + timeout, from the last byte read",
                            .least_ns = 2 * LULL_SECOND - 100 * LULL_MS,
                            .promise_ns = 2 * LULL_SECOND};
    begin(LULL_SECOND, LULL_SECOND);
    town_drop(&town, "");
    client_drive_until(&caller.client, &closed, 1);
    row_took(&row, heard_at, closed_at, why_closed);
    end();
}
END_TEST

START_TEST(a_server_finds_a_client_that_is_cut_off_by_its_write_timeout)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a message to the client, seen from the server",
                            .settings = "keepalive off",
                            .promise = "write timeout 20 s, from the write",
                            .least_ns = 20 * LULL_SECOND - 50 * LULL_MS,
                            .promise_ns = 20 * LULL_SECOND};
    begin(LULL_NEVER, LULL_SECOND);
    town_drop(&town, "");
    const struct lull_instant from = caller_now();
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("x", 1)), LULL_OK);
    client_drive_until(&caller.client, &closed, 1);
    row_took(&row, from, closed_at, why_closed);
    end();
}
END_TEST

void server_cases(Suite *suite)
{
    net_section(suite, "Seen from a server of lull's");
    net_add(suite, a_server_finds_a_client_that_is_cut_off_by_its_write_timeout);
    net_add(suite, a_server_finds_a_client_that_is_cut_off_by_its_keepalive);
}
