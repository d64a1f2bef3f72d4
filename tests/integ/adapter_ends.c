/* SPDX-License-Identifier: MIT */
/* Who may end what from where, on a host's loop: channels, calls, the loop itself; in callbacks, outside, in a forked child. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/adapter_support.h"

/* After the library has opened what it keeps for the process. */
static int count_fds_at_rest(void)
{
    host->open();
    host->close();
    return count_fds();
}

START_TEST(a_loop_that_was_never_used_goes)
{
    int fds = count_fds_at_rest();

    host->open();
    loop = make_loop();
    host->drop(loop);
    host->drop(NULL);
    host->close();
    ck_assert_int_eq(count_fds(), fds);
}
END_TEST

START_TEST(everything_that_was_used_goes)
{
    int fds = count_fds_at_rest();

    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    tear_down();
    ck_assert_int_eq(count_fds(), fds);
}
END_TEST

/* Calls that are under way end; the loop's last turns tell them. */
START_TEST(a_loop_goes_with_a_call_under_way)
{
    set_up(NULL);
    start_call(NEVER_METHOD, LULL_MINUTE);
    host->round(0);
    tear_down();
    ck_assert_uint_eq(outcome.closed, 1);
    ck_assert_int_eq(outcome.reason, LULL_REASON_CHANNEL_CLOSED);
}
END_TEST

static void drop_loop(void)
{
    host->drop(loop);
    loop = NULL;
}

static bool is_loop_gone(void)
{
    return loop == NULL;
}

/* All that there is, by whoever is told of something: the call's handle, the channel, the server, the loop. */
static void end_everything(void)
{
    forget_call();
    if (channel != NULL) {
        lull_channel_close(channel);
        lull_channel_unref(channel);
    }
    lull_server_free(server);
    channel = NULL;
    server = NULL;
    drop_loop();
}

/* Once: what ends by it is told as well. */
static void (**ending)(void);

static void end_once(void)
{
    *ending = NULL;
    end_everything();
}

static void end_all_from(void (**callback)(void))
{
    set_up(NULL);
    ending = callback;
    *callback = end_once;
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_loop_gone);
    host->round(0);
    ck_assert_uint_eq(outcome.closed, 1);
    host->close();
}

START_TEST(everything_may_be_ended_in_on_headers)
{
    end_all_from(&outcome.in_headers);
}
END_TEST

START_TEST(everything_may_be_ended_in_on_message)
{
    end_all_from(&outcome.in_message);
}
END_TEST

START_TEST(everything_may_be_ended_in_on_closed)
{
    end_all_from(&outcome.in_closed);
}
END_TEST

START_TEST(everything_may_be_ended_in_a_servers_callbacks)
{
    end_all_from(&server_hooks.in_call);
    end_all_from(&server_hooks.in_message);
    end_all_from(&server_hooks.in_half_closed);
    end_all_from(&server_hooks.in_closed);
}
END_TEST

static unsigned drained;

static void on_drained(struct lull_server *which, void *ctx)
{
    (void)which;
    (void)ctx;
    drained++;
    end_everything();
}

START_TEST(everything_may_be_ended_when_a_server_is_drained)
{
    set_up(NULL);
    drained = 0;
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    lull_server_shutdown(server, LULL_NEVER, on_drained, NULL);
    run_until(is_loop_gone);
    host->round(0);
    ck_assert_uint_eq(drained, 1);
    host->close();
}
END_TEST

static void on_state(struct lull_channel *which, enum lull_state state, void *ctx)
{
    (void)which;
    (void)state;
    (void)ctx;
    end_everything();
}

START_TEST(everything_may_be_ended_when_a_state_is_told)
{
    for (int state = LULL_STATE_IDLE; state <= LULL_STATE_CONNECTING; state++) {
        set_up(NULL);
        ck_assert_int_eq(lull_channel_watch(channel, LULL_STATE_IDLE, on_state, NULL), LULL_OK);
        start_call(ECHO_METHOD, LULL_MINUTE);
        run_until(is_loop_gone);
        host->round(0);
        ck_assert_uint_eq(outcome.closed, 1);
        host->close();
    }
}
END_TEST

static void on_ping(void *ctx, int64_t rtt_ns, const char *why)
{
    (void)ctx;
    (void)rtt_ns;
    (void)why;
    end_everything();
}

START_TEST(everything_may_be_ended_when_a_ping_is_answered)
{
    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(lull_channel_ping(channel, on_ping, NULL, NULL), LULL_OK);
    run_until(is_loop_gone);
    host->round(0);
    host->close();
}
END_TEST

static void on_unary(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    outcome.closed++;
    end_everything();
}

START_TEST(everything_may_be_ended_when_a_unary_call_is_done)
{
    struct lull_call_options options;

    set_up(NULL);
    lull_call_options_init(&options, ECHO_METHOD);
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), on_unary, NULL, NULL, NULL), LULL_OK);
    run_until(is_loop_gone);
    host->round(0);
    ck_assert_uint_eq(outcome.closed, 1);
    host->close();
}
END_TEST

START_TEST(everything_may_be_ended_in_a_callback_of_the_host)
{
    set_up(NULL);
    start_call(NEVER_METHOD, LULL_MINUTE);
    host->round(0);
    host->call_back(end_everything);
    run_until(is_loop_gone);
    host->round(0);
    ck_assert_uint_eq(outcome.closed, 1);
    host->close();
}
END_TEST

/* ---- memory */

static unsigned blocks;

static void *count_alloc(void *ctx, size_t size)
{
    (void)ctx;
    blocks++;
    return malloc(size);
}

static void *count_resize(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    blocks += memory == NULL;
    return realloc(memory, size);
}

static void count_release(void *ctx, void *memory)
{
    (void)ctx;
    blocks -= memory != NULL;
    free(memory);
}

START_TEST(its_memory_is_the_executors)
{
    const struct lull_allocator allocator = {count_alloc, count_resize, count_release, NULL};
    struct lull_executor_options options;
    struct lull_loop *made = NULL;

    blocks = 0;
    host->open();
    lull_executor_options_init(&options);
    options.size = 1;
    ck_assert_int_eq(host->make(&options, &made), LULL_RC_INVALID);
    lull_executor_options_init(&options);
    options.allocator = &allocator;
    ck_assert_int_eq(host->make(&options, &made), LULL_OK);
    ck_assert_uint_ge(blocks, 2);
    host->drop(made);
    host->close();
    ck_assert_uint_eq(blocks, 0);
}
END_TEST

/* ---- several on one host */

static unsigned of_second;

static void on_second(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)ctx;
    ck_assert_int_eq(result->status.code, LULL_CODE_OK);
    of_second++;
}

static bool are_both_closed(void)
{
    return is_closed() && of_second == 1;
}

static void call_on(struct lull_channel *which)
{
    struct lull_call_options options;

    of_second = 0;
    lull_call_options_init(&options, ECHO_METHOD);
    ck_assert_int_eq(lull_call_unary(which, &options, lull_slice_static("x", 1), on_second, NULL, NULL, NULL), LULL_OK);
}

START_TEST(two_channels_share_a_loop_and_one_goes_first)
{
    struct lull_channel *second;

    set_up(NULL);
    second = make_channel(loop, lull_server_address(server, 0), NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    call_on(second);
    run_until(are_both_closed);
    lull_channel_unref(second);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    ck_assert_uint_eq(channel_stats().connections_made, 1);
    tear_down();
}
END_TEST

START_TEST(two_loops_share_a_host_and_one_goes_first)
{
    struct lull_loop *other = NULL;
    struct lull_channel *second;

    set_up(NULL);
    ck_assert_int_eq(host->make(NULL, &other), LULL_OK);
    second = make_channel(other, lull_server_address(server, 0), NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    call_on(second);
    run_until(are_both_closed);
    lull_channel_unref(second);
    host->drop(other);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

/* ---- a peer that is gone */

/* SIGPIPE has its default action here: it would end the test. The first write brings the reset, the next ones meet it. */
START_TEST(a_write_to_a_peer_that_is_gone_is_no_signal)
{
    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    lull_server_free(server);
    server = NULL;
    for (int i = 0; i < 5; i++) {
        start_call(ECHO_METHOD, LULL_MINUTE);
        ck_assert_int_eq(lull_loop_flush(loop), LULL_OK);
    }
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_UNAVAILABLE);
    tear_down();
}
END_TEST

/* ---- fork */

static bool is_streaming(void)
{
    return outcome.messages == 1;
}

static bool is_stream_over(void)
{
    return outcome.messages == 2 && is_closed();
}

/* C30, RULINGS 27: the child destroys its copy of everything. Nothing of that is on the wire, and the parent's stream goes on. */
START_TEST(a_forked_child_ends_its_copy_and_the_parents_stream_goes_on)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    int status;
    pid_t child;

    set_up(NULL);
    start_stream(ECHO_METHOD, LULL_MINUTE, 0);
    ck_assert_int_eq(lull_call_send(outcome.call, lull_slice_static("one", 3)), LULL_OK);
    run_until(is_streaming);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool ok = lull_loop_is_forked(loop) && lull_loop_run_once(loop, 0) == LULL_RC_UNSUPPORTED;

        lull_loop_stop(loop);
        end_everything();
        if (ok && outcome.closed == 1) {
            /* As a child does; and what the host's library keeps in it is no leak. */
            execl("/bin/true", "true", (char *)NULL);
        }
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(!lull_loop_is_forked(loop));
    host->round(20 * LULL_MS);
    ck_assert(!is_closed());
    ck_assert_int_eq(lull_call_send(outcome.call, lull_slice_static("two", 3)), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(outcome.call), LULL_OK);
    run_until(is_stream_over);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    /* A GOAWAY of the child's would let the stream end, and nothing more. */
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    lull_server_stats(server, &stats);
    ck_assert_uint_eq(stats.connections_made, 1);
    tear_down();
}
END_TEST

void adapter_add_ends(TCase *cases)
{
    tcase_add_test(cases, a_loop_that_was_never_used_goes);
    tcase_add_test(cases, everything_that_was_used_goes);
    tcase_add_test(cases, a_loop_goes_with_a_call_under_way);
    tcase_add_test(cases, everything_may_be_ended_in_on_headers);
    tcase_add_test(cases, everything_may_be_ended_in_on_message);
    tcase_add_test(cases, everything_may_be_ended_in_on_closed);
    tcase_add_test(cases, everything_may_be_ended_in_a_servers_callbacks);
    tcase_add_test(cases, everything_may_be_ended_when_a_server_is_drained);
    tcase_add_test(cases, everything_may_be_ended_when_a_state_is_told);
    tcase_add_test(cases, everything_may_be_ended_when_a_ping_is_answered);
    tcase_add_test(cases, everything_may_be_ended_when_a_unary_call_is_done);
    tcase_add_test(cases, everything_may_be_ended_in_a_callback_of_the_host);
    tcase_add_test(cases, its_memory_is_the_executors);
    tcase_add_test(cases, two_channels_share_a_loop_and_one_goes_first);
    tcase_add_test(cases, two_loops_share_a_host_and_one_goes_first);
    tcase_add_test(cases, a_write_to_a_peer_that_is_gone_is_no_signal);
    tcase_add_test(cases, a_forked_child_ends_its_copy_and_the_parents_stream_goes_on);
}
