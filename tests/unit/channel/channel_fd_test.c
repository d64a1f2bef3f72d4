/* SPDX-License-Identifier: MIT */
/* src/channel/channel_fd.c: the life of a channel over a connection that was given, and whose the descriptor is. */
#include "given.h"
#include "tests/support/counting_allocator.h"

/* ---- a life */

START_TEST(a_call_goes_over_the_connection_that_was_given)
{
    struct outcome outcome;

    begin(answer);
    ck_assert_str_eq(lull_channel_target(given.channel), given.name);
    rounds();
    ck_assert_uint_eq(given.peer.reads, 0); /* nothing before it is needed */
    peer_settings(&given.peer);
    call(&outcome);
    ck_assert_str_eq(outcome.with, given.name);
    expect_ok(&outcome);
    ck_assert_str_eq(peer_field(&given.peer, 1, ":authority"), "localhost");
    ck_assert_str_eq(peer_field(&given.peer, 1, ":scheme"), "http");
    call(&outcome);
    expect_ok(&outcome);
    end();
}
END_TEST

START_TEST(the_authority_is_the_options)
{
    struct outcome outcome;

    given.options.authority = "svc.test:50051";
    begin(answer);
    peer_settings(&given.peer);
    call(&outcome);
    expect_ok(&outcome);
    ck_assert_str_eq(peer_field(&given.peer, 1, ":authority"), "svc.test:50051");
    end();
}
END_TEST

/* It could not wake: so it stays, without a timer. */
START_TEST(it_never_falls_idle)
{
    struct outcome outcome;

    given.options.idle_timeout_ns = LULL_MINUTE;
    begin(answer);
    ck_assert_int_eq(lull_channel_effective_options(given.channel)->idle_timeout_ns, LULL_NEVER);
    peer_settings(&given.peer);
    call(&outcome);
    expect_ok(&outcome);
    advance(30 * 24 * LULL_HOUR);
    lull_channel_enter_idle(given.channel);
    rounds();
    ck_assert_int_eq(lull_channel_state(given.channel, false), LULL_STATE_READY);
    ck_assert_uint_eq(executor_counters(given.executor)->timers_armed, 0);
    call(&outcome);
    expect_ok(&outcome);
    end();
}
END_TEST

START_TEST(one_that_was_never_needed_is_closed_with_the_channel)
{
    begin(answer);
    lull_channel_close(given.channel);
    ck_assert(!is_open(given.fd));
    rounds();
    ck_assert(given.peer.is_eof);
    ck_assert_uint_eq(given.peer.reads, 0);
    end();
}
END_TEST

START_TEST(it_connects_when_asked_to)
{
    begin(answer);
    peer_settings(&given.peer);
    ck_assert_int_eq(lull_channel_state(given.channel, true), LULL_STATE_IDLE);
    rounds();
    ck_assert_int_eq(lull_channel_state(given.channel, true), LULL_STATE_READY);
    end();
}
END_TEST

/* ---- whose it is */

START_TEST(a_failure_leaves_it_as_it_was)
{
    struct lull_executor_options made;
    struct counting_allocator counting;
    struct lull_loop *scarce;
    struct lull_error error;
    int rc = LULL_RC_NOMEM;

    open_pair(answer);
    given.options.keepalive_time_ns = -1;
    ck_assert_int_eq(lull_channel_from_fd(given.fd, &given.options, &given.channel, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "keepalive_time_ns"));
    ck_assert_int_eq(lull_channel_from_fd(given.fd, NULL, &given.channel, &error), LULL_RC_INVALID);
    ck_assert_int_eq(lull_channel_from_fd(given.fd, &given.options, NULL, &error), LULL_RC_INVALID);
    given.options.keepalive_time_ns = LULL_NEVER;
    counting_init(&counting);
    lull_executor_options_init(&made);
    made.allocator = &counting.base;
    ck_assert_int_eq(lull_loop_new(&made, &scarce), LULL_OK);
    given.options.loop = scarce;
    for (long i = 0; rc == LULL_RC_NOMEM; i++) {
        ck_assert_ptr_null(given.channel);
        ck_assert_int_eq(fcntl(given.fd, F_GETFD) & FD_CLOEXEC, 0);
        ck_assert_int_eq(fcntl(given.fd, F_GETFL) & O_NONBLOCK, 0);
        counting.fail_from = counting.asked + i;
        rc = lull_channel_from_fd(given.fd, &given.options, &given.channel, &error);
        counting.fail_from = -1;
    }
    ck_assert_int_eq(rc, LULL_OK);
    ck_assert_int_ne(fcntl(given.fd, F_GETFD) & FD_CLOEXEC, 0);
    end();
    lull_loop_free(scarce);
}
END_TEST

START_TEST(what_is_no_connection_is_refused)
{
    int ends[2];
    struct lull_error error;

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(lull_channel_from_fd(ends[0], &given.options, &given.channel, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "is no socket"));
    ck_assert(is_open(ends[0]));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static void on_line(void *ctx, const char *line)
{
    strcat(ctx, line);
    strcat(ctx, "\n");
}

START_TEST(a_dump_calls_it_by_its_number)
{
    char text[2000] = "", part[60];

    begin(answer);
    lull_channel_dump(given.channel, on_line, text);
    (void)snprintf(part, sizeof(part), "address %s: never dialled", given.name);
    ck_assert_msg(strstr(text, part) != NULL, "%s", text);
    end();
}
END_TEST

static Suite *channel_fd_suite(void)
{
    Suite *suite = suite_create("channel_fd");
    TCase *cases = tcase_create("channel_fd");

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_call_goes_over_the_connection_that_was_given);
    tcase_add_test(cases, the_authority_is_the_options);
    tcase_add_test(cases, it_never_falls_idle);
    tcase_add_test(cases, one_that_was_never_needed_is_closed_with_the_channel);
    tcase_add_test(cases, it_connects_when_asked_to);
    tcase_add_test(cases, a_failure_leaves_it_as_it_was);
    tcase_add_test(cases, what_is_no_connection_is_refused);
    tcase_add_test(cases, a_dump_calls_it_by_its_number);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("channel_fd", channel_fd_suite)
