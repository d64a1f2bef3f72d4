/* SPDX-License-Identifier: MIT */
/*
 * Cuts under a connection that is written to, and writers that are blocked: the write timeout (RULINGS 7).
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/net/caller.h"
#include "tests/net/cases.h"
#include "tests/net/town.h"

#define SHORT   "keepalive 2 s + 1 s"
#define DEFAULT "the defaults (no PINGs)"

/* The system measures in ticks of its own. */
#define TICK_NS (50 * LULL_MS)

static struct town town;
static struct caller caller;
static struct talk talk;

/* A small send buffer: a socket that takes nothing is soon full. */
static int shrink(void *ctx, int fd)
{
    const int bytes = 8192;
    (void)ctx;
    return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* With this keepalive; 0: the defaults. */
static void begin_as(int64_t time_ns, int64_t timeout_ns)
{
    town_make(&town, TOWN_ROUTED);
    town_serve(&town, "");
    caller_begin(&caller);
    caller.client.options.on_socket = shrink;
    caller_keep_alive(&caller, time_ns, timeout_ns);
    caller_open(&caller, TOWN_TARGET);
}

static void begin(bool is_short)
{
    begin_as(is_short ? 2 * LULL_SECOND : 0, LULL_SECOND);
}

static void end(void)
{
    town_heal(&town);
    caller_works(&caller);
    caller_close(&caller);
}

/* A message each 100 ms, each echoed, until the cable is cut. */
static void cut_chat(const char *packets, const char *cut, bool is_short)
{
    const int64_t timeout_ns = is_short ? LULL_SECOND : 20 * LULL_SECOND;
    const struct row row = {.cut = cut,
                            .under = "a stream that we send on",
                            .settings = is_short ? SHORT : DEFAULT,
                            .promise =
                                is_short ? "write timeout = keepalive timeout, from the first write"
                                         : "write timeout 20 s, from the first write",
                            .least_ns = timeout_ns - TICK_NS,
                            .promise_ns = timeout_ns};
    begin(is_short);
    talk_open(&talk, &caller);
    talk_chat(&talk, &caller, 100 * LULL_MS, LULL_SECOND);
    talk_hear(&talk, &caller, talk.sent);
    town_drop(&town, packets);
    const struct lull_instant from = caller_now();
    talk_chat(&talk, &caller, 100 * LULL_MS, LULL_MINUTE);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
    caller_has(talk.stream.line, "timed out", "not acknowledged within", TOWN_SERVER_ADDRESS, NULL);
    end();
}

START_TEST(a_cut_under_a_stream_we_send_on_is_found_by_the_default_write_timeout)
{
    cut_chat("", "both ways, silent", false);
}
END_TEST

START_TEST(a_cut_under_a_stream_we_send_on_is_found_by_the_write_timeout)
{
    cut_chat("", "both ways, silent", true);
}
END_TEST

START_TEST(a_cut_to_the_server_under_a_stream_we_send_on_is_found_by_the_write_timeout)
{
    cut_chat(TOWN_TO_SERVER, "to the server only", true);
}
END_TEST

/* The server hears us; its acknowledgements are lost, and its echoes. */
START_TEST(a_cut_from_the_server_under_a_stream_we_send_on_is_found_by_the_write_timeout)
{
    cut_chat(TOWN_TO_CLIENT, "from the server only", true);
}
END_TEST

/*
 * One write, and silence: after 45 s the connection is quiet, and the write timeout would be taken back, but for the bytes that nobody has
 * acknowledged.
 */
START_TEST(a_cut_under_a_single_write_is_found_by_a_write_timeout_longer_than_the_quiet)
{
    const struct row row = {.cut = "both ways, silent",
                            .under = "a single message on a stream",
                            .settings = "keepalive 100 s + 50 s",
                            .promise = "write timeout = keepalive timeout, from the write",
                            .least_ns = 50 * LULL_SECOND - TICK_NS,
                            .promise_ns = 50 * LULL_SECOND};
    begin_as(100 * LULL_SECOND, 50 * LULL_SECOND);
    talk_open(&talk, &caller);
    talk_say(&talk);
    talk_hear(&talk, &caller, 1);
    town_drop(&town, "");
    const struct lull_instant from = caller_now();
    talk_say(&talk);
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    end();
}
END_TEST

/* A server that reads nothing, and a writer that has filled what there is. Since when it is stopped. */
static struct lull_instant block_writer(void)
{
    talk_pour(&talk, &caller);
    client_drive_for(&caller.client, 500 * LULL_MS);
    ck_assert_uint_eq(talk.stream.closed, 0);
    const unsigned before = talk.sent;
    ck_assert_uint_gt(before, 4);
    ck_assert_int_eq(kill(town.server, SIGSTOP), 0);
    const struct lull_instant stopped_at = caller_now();
    client_drive_for(&caller.client, 300 * LULL_MS);
    ck_assert(talk.is_full);
    ck_assert_uint_eq(talk.stream.closed, 0);
    return stopped_at;
}

static void cut_blocked_writer(bool is_short, bool is_cut)
{
    const int64_t timeout_ns = is_short ? LULL_SECOND : 20 * LULL_SECOND;
    const struct row row = {
        .cut = is_cut ? "both ways, silent" : "none: the server hangs (SIGSTOP)",
        .under = "a writer whose socket is full",
        .settings = is_short ? SHORT : DEFAULT,
        .promise = is_short ? "keepalive time + timeout, or the write timeout before it"
                            : "write timeout 20 s, since the server stopped reading",
        .least_ns = timeout_ns - TICK_NS,
        .promise_ns = is_short ? 3 * LULL_SECOND : 20 * LULL_SECOND};
    begin(is_short);
    const struct lull_instant from = block_writer();
    if (is_cut) {
        town_drop(&town, "");
    }
    talk_end(&talk, &caller, LULL_CODE_UNAVAILABLE);
    row_took(&row, from, talk.ended_at, talk.stream.line);
    ck_assert_int_eq(talk.stream.reason, LULL_REASON_KEEPALIVE);
    ck_assert_int_eq(kill(town.server, SIGCONT), 0);
    end();
}

START_TEST(a_cut_under_a_blocked_writer_is_found_by_the_default_write_timeout)
{
    cut_blocked_writer(false, true);
}
END_TEST

START_TEST(a_server_that_hangs_under_a_blocked_writer_is_found_by_the_default_write_timeout)
{
    cut_blocked_writer(false, false);
}
END_TEST

START_TEST(a_cut_under_a_blocked_writer_is_found)
{
    cut_blocked_writer(true, true);
}
END_TEST

START_TEST(a_server_that_hangs_under_a_blocked_writer_is_found)
{
    cut_blocked_writer(true, false);
}
END_TEST

void active_cases(Suite *suite)
{
    net_section(suite, "A connection that is written to");
    net_add(suite, a_cut_under_a_single_write_is_found_by_a_write_timeout_longer_than_the_quiet);
    net_add(suite, a_cut_under_a_stream_we_send_on_is_found_by_the_default_write_timeout);
    net_add(suite, a_cut_under_a_blocked_writer_is_found_by_the_default_write_timeout);
    net_add(suite,
            a_server_that_hangs_under_a_blocked_writer_is_found_by_the_default_write_timeout);
    net_add(suite, a_cut_under_a_stream_we_send_on_is_found_by_the_write_timeout);
    net_add(suite, a_cut_to_the_server_under_a_stream_we_send_on_is_found_by_the_write_timeout);
    net_add(suite, a_cut_from_the_server_under_a_stream_we_send_on_is_found_by_the_write_timeout);
    net_add(suite, a_cut_under_a_blocked_writer_is_found);
    net_add(suite, a_server_that_hangs_under_a_blocked_writer_is_found);
}
