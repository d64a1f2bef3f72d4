/* SPDX-License-Identifier: MIT */
#include "net/endpoint_pipe.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/unit/net/pipe_world.h"

/* The second executor of the test that has two. */
static struct lull_executor *y;

/* As hear, and takes all that there is, so that nothing stays ready. */
static void hear_and_drain(struct endpoint *end, unsigned ready)
{
    uint8_t bytes[256];
    size_t got;

    hear(end, ready);
    while (endpoint_read(end, bytes, sizeof(bytes), &got) == IO_OK) {
    }
}

static enum io write_text(struct endpoint *to, const char *text, size_t *wrote)
{
    struct io_piece piece = {text, strlen(text)};

    return endpoint_writev(to, &piece, 1, wrote);
}

static void check_reads(struct endpoint *from, const char *text)
{
    char bytes[256];
    size_t got;

    ck_assert_int_eq(endpoint_read(from, bytes, sizeof(bytes), &got), IO_OK);
    ck_assert_uint_eq(got, strlen(text));
    ck_assert_mem_eq(bytes, text, got);
}

static enum io read_any(struct endpoint *from)
{
    char bytes[256];
    size_t got;

    return endpoint_read(from, bytes, sizeof(bytes), &got);
}

START_TEST(bytes_written_to_one_end_are_read_from_the_other)
{
    size_t wrote;
    struct io_piece pieces[3] = {{"he", 2}, {NULL, 0}, {"llo", 3}};

    begin((struct pipe_options){0});
    ck_assert_int_eq(endpoint_finish_connect(a), IO_OK);
    ck_assert_str_eq(a->peer.text, "10.0.0.2:80");
    ck_assert_str_eq(b->peer.text, "10.0.0.1:50000");
    ck_assert_int_eq(read_any(b), IO_AGAIN);
    ck_assert_int_eq(endpoint_writev(a, pieces, 3, &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 5);
    ck_assert_uint_eq(endpoint_pipe_in_flight(a), 5);
    ck_assert_uint_eq(endpoint_pipe_in_flight(b), 0);
    check_reads(b, "hello");
    ck_assert_uint_eq(endpoint_pipe_in_flight(a), 0);
    ck_assert_int_eq(read_any(a), IO_AGAIN);
    ck_assert_int_eq(write_text(b, "back", &wrote), IO_OK);
    check_reads(a, "back");
    ck_assert_uint_eq(endpoint_pipe_bytes_written(a), 5);
    ck_assert_uint_eq(endpoint_pipe_bytes_read(a), 4);
    ck_assert_uint_eq(endpoint_pipe_bytes_written(b), 4);
    ck_assert_uint_eq(endpoint_pipe_bytes_read(b), 5);
    end();
}
END_TEST

START_TEST(readiness_is_told_only_when_wanted)
{
    size_t wrote;

    begin((struct pipe_options){0});
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_OK);
    run();
    ck_assert_int_eq(heard_b.told, 0);
    /* what is ready already is told too */
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(heard_b.told, 0); /* never inline */
    run();
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_uint_eq(heard_b.ready, LULL_WANT_READ);
    /* a wish that is taken back before the turn is not told */
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_NONE), 0);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    /* nor is one whose bytes are read before it */
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    check_reads(b, "x");
    run();
    ck_assert_int_eq(heard_b.told, 1);
    end();
}
END_TEST

/* Reads one byte a time: the rest must be told again, as epoll does. */
static void read_one(struct endpoint *from, unsigned ready)
{
    uint8_t byte;
    size_t got;

    hear(from, ready);
    ck_assert_int_eq(endpoint_read(from, &byte, 1, &got), IO_OK);
}

START_TEST(what_is_not_used_up_is_told_again_next_turn)
{
    size_t wrote;
    struct lull_counters counters = {.size = sizeof(counters)};
    uint64_t turns;

    begin((struct pipe_options){0});
    b->on_ready = read_one;
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    lull_executor_counters(x, &counters);
    turns = counters.turns;
    ck_assert_int_eq(write_text(a, "12345", &wrote), IO_OK);
    run();
    ck_assert_int_eq(heard_b.told, 5);
    lull_executor_counters(x, &counters);
    ck_assert_uint_eq(counters.turns - turns, 5); /* once a turn */
    end();
}
END_TEST

START_TEST(a_full_pipe_says_again_and_tells_when_there_is_room)
{
    size_t wrote;

    begin((struct pipe_options){.capacity_bytes = 4});
    ck_assert_int_eq(write_text(a, "123456", &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 4);
    ck_assert_int_eq(write_text(a, "56", &wrote), IO_AGAIN);
    ck_assert_uint_eq(wrote, 0);
    ck_assert_int_eq(write_text(a, "", &wrote), IO_OK);
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_WRITE), 0);
    run();
    ck_assert_int_eq(heard_a.told, 0);
    check_reads(b, "1234");
    run();
    ck_assert_int_eq(heard_a.told, 1);
    ck_assert_uint_eq(heard_a.ready, LULL_WANT_WRITE);
    ck_assert_int_eq(write_text(a, "56", &wrote), IO_OK);
    check_reads(b, "56");
    end();
}
END_TEST

START_TEST(chunks_cut_reads_and_writes)
{
    size_t wrote;

    begin((struct pipe_options){.read_chunk_bytes = 2, .write_chunk_bytes = 3});
    ck_assert_int_eq(write_text(a, "abcdef", &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 3);
    check_reads(b, "ab");
    check_reads(b, "c");
    ck_assert_int_eq(read_any(b), IO_AGAIN);
    end();
}
END_TEST

START_TEST(held_bytes_stay_in_flight_and_are_not_told)
{
    size_t wrote;

    begin((struct pipe_options){.capacity_bytes = 8});
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    endpoint_pipe_hold(a, true);
    ck_assert_int_eq(write_text(a, "12345678", &wrote), IO_OK);
    ck_assert_int_eq(write_text(a, "9", &wrote), IO_AGAIN);
    run();
    ck_assert_int_eq(heard_b.told, 0);
    ck_assert_int_eq(read_any(b), IO_AGAIN);
    ck_assert_uint_eq(endpoint_pipe_in_flight(a), 8);
    /* the other direction is not held */
    ck_assert_int_eq(write_text(b, "up", &wrote), IO_OK);
    check_reads(a, "up");
    endpoint_pipe_hold(a, false);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    check_reads(b, "12345678");
    end();
}
END_TEST

START_TEST(a_closed_end_reads_as_eof_after_its_last_bytes)
{
    size_t wrote;

    begin((struct pipe_options){0});
    ck_assert_int_eq(write_text(a, "bye", &wrote), IO_OK);
    endpoint_close(a);
    run();
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    check_reads(b, "bye");
    ck_assert_int_eq(read_any(b), IO_EOF);
    ck_assert_int_eq(read_any(b), IO_EOF);
    ck_assert_int_eq(write_text(b, "x", &wrote), IO_FAIL);
    ck_assert_int_eq(b->sys_errno, EPIPE);
    ck_assert_str_eq(b->phase_text, "write");
    a = NULL; /* it is still there, for b is */
    end();
}
END_TEST

START_TEST(either_end_may_be_closed_first)
{
    size_t wrote;

    begin((struct pipe_options){0});
    a->on_ready = hear_and_drain;
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(b, "1", &wrote), IO_OK);
    endpoint_close(b);
    a->on_ready = hear_once;
    run();
    ck_assert_int_eq(heard_a.told, 1);
    check_reads(a, "1");
    ck_assert_int_eq(read_any(a), IO_EOF);
    b = NULL;
    end();
}
END_TEST

START_TEST(both_ends_closed_with_bytes_in_flight_leave_nothing)
{
    size_t wrote;

    begin((struct pipe_options){0});
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_READ | LULL_WANT_WRITE), 0);
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(a, "lost", &wrote), IO_OK);
    endpoint_close(a);
    endpoint_close(b);
    run();
    ck_assert_int_eq(heard_a.told + heard_b.told, 0);
    ck_assert(lull_executor_next_at(x).ns == LULL_NEVER);
    a = NULL;
    b = NULL;
    end();
}
END_TEST

static void write_and_close_both(struct lull_task *task, struct lull_executor *executor)
{
    size_t wrote;

    (void)task;
    (void)executor;
    ck_assert_int_eq(write_text(a, "lost", &wrote),
                     IO_OK); /* b is on the ready list of the next turn */
    endpoint_close(a);
    endpoint_close(b);
}

/* Freed at the end of this turn, so they must not be in the next one's ready list. */
START_TEST(ends_closed_late_in_a_turn_leave_the_ready_list)
{
    struct lull_task task;

    begin((struct pipe_options){0});
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    lull_task_init(&task, write_and_close_both);
    lull_executor_post(x, &task);
    run();
    ck_assert_int_eq(heard_b.told, 0);
    ck_assert(lull_executor_next_at(x).ns == LULL_NEVER);
    a = NULL;
    b = NULL;
    end();
}
END_TEST

START_TEST(the_end_of_a_held_stream_is_held_too)
{
    size_t wrote;

    begin((struct pipe_options){.capacity_bytes = 4});
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    endpoint_pipe_hold(a, true);
    endpoint_close(a);
    run();
    ck_assert_int_eq(heard_b.told, 0);
    ck_assert_int_eq(read_any(b), IO_AGAIN);
    /* nothing has told us that the peer is gone: writes fill the buffer */
    ck_assert_int_eq(write_text(b, "12345", &wrote), IO_OK);
    ck_assert_uint_eq(wrote, 4);
    ck_assert_int_eq(write_text(b, "5", &wrote), IO_AGAIN);
    endpoint_pipe_hold(a, false);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_int_eq(read_any(b), IO_EOF);
    a = NULL;
    end();
}
END_TEST

START_TEST(a_broken_end_fails_with_its_errno_and_the_other_does_not_know)
{
    size_t wrote;
    char text[128];

    begin((struct pipe_options){0});
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_READ), 0);
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(b, "lost", &wrote), IO_OK);
    endpoint_pipe_break(a, ECONNRESET);
    run();
    ck_assert_int_eq(heard_a.told, 1);
    ck_assert_int_eq(heard_b.told, 0);
    ck_assert_int_eq(read_any(a), IO_FAIL);
    ck_assert_int_eq(a->sys_errno, ECONNRESET);
    endpoint_error_text(a, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "read 10.0.0.2:80: "));
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_FAIL);
    ck_assert_str_eq(a->phase_text, "write");
    ck_assert_int_eq(read_any(b), IO_AGAIN);
    endpoint_pipe_break(b, ETIMEDOUT);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_int_eq(read_any(b), IO_FAIL);
    ck_assert_int_eq(b->sys_errno, ETIMEDOUT);
    end();
}
END_TEST

START_TEST(a_connect_is_decided_by_the_simulator)
{
    size_t wrote;

    begin((struct pipe_options){.connecting = true});
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_WRITE), 0);
    run();
    ck_assert_int_eq(heard_a.told, 0);
    ck_assert_int_eq(endpoint_finish_connect(a), IO_AGAIN);
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_AGAIN);
    ck_assert_int_eq(read_any(a), IO_AGAIN);
    endpoint_pipe_connected(a);
    run();
    ck_assert_int_eq(heard_a.told, 1);
    ck_assert_uint_eq(heard_a.ready, LULL_WANT_WRITE);
    ck_assert_int_eq(endpoint_finish_connect(a), IO_OK);
    endpoint_pipe_refuse(a, ECONNREFUSED); /* too late */
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_OK);
    check_reads(b, "x");
    end();
}
END_TEST

START_TEST(a_refused_connect_fails_with_its_errno)
{
    begin((struct pipe_options){.connecting = true});
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_WRITE), 0);
    endpoint_pipe_refuse(a, ECONNREFUSED);
    endpoint_pipe_connected(a); /* too late */
    run();
    ck_assert_int_eq(heard_a.told, 1);
    ck_assert_int_eq(endpoint_finish_connect(a), IO_FAIL);
    ck_assert_int_eq(a->sys_errno, ECONNREFUSED);
    ck_assert_str_eq(a->phase_text, "connect");
    end();
}
END_TEST

START_TEST(a_connect_that_is_given_up_is_told_to_the_other_end)
{
    begin((struct pipe_options){.connecting = true});
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_WRITE), 0);
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    endpoint_close(a);
    endpoint_pipe_connected(a); /* nobody hears it */
    run();
    ck_assert_int_eq(heard_a.told, 0);
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_int_eq(read_any(b), IO_EOF);
    a = NULL;
    end();
}
END_TEST

static void close_self(struct endpoint *self, unsigned ready)
{
    hear(self, ready);
    endpoint_close(self);
}

static void close_other(struct endpoint *self, unsigned ready)
{
    hear(self, ready);
    endpoint_close(a);
    ck_assert_int_eq(endpoint_want(self, LULL_WANT_NONE), 0);
}

START_TEST(closing_inside_on_ready_is_legal)
{
    size_t wrote;

    begin((struct pipe_options){0});
    b->on_ready = close_self;
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_OK);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    b = NULL;
    ck_assert_int_eq(read_any(a), IO_EOF);
    end();
}
END_TEST

START_TEST(an_end_that_is_closed_by_another_in_the_same_read_phase_is_not_told)
{
    size_t wrote;

    begin((struct pipe_options){0});
    b->on_ready = close_other;
    /* b stands before a in the ready list */
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(a, "x", &wrote), IO_OK);
    ck_assert_int_eq(endpoint_want(a, LULL_WANT_READ | LULL_WANT_WRITE), 0);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_int_eq(heard_a.told, 0);
    a = NULL;
    end();
}
END_TEST

START_TEST(the_ends_may_live_on_two_executors_of_one_thread)
{
    size_t wrote;

    begin_on_two((struct pipe_options){0}, &y);
    b->on_ready = hear_and_drain;
    ck_assert_int_eq(endpoint_want(b, LULL_WANT_READ), 0);
    ck_assert_int_eq(write_text(a, "over", &wrote), IO_OK);
    run();
    ck_assert_int_eq(heard_b.told, 1);
    ck_assert_uint_eq(endpoint_pipe_bytes_read(b), 4);
    endpoint_close(a);
    lull_executor_leave(x);
    ck_assert_int_eq(lull_executor_enter(y), LULL_OK);
    endpoint_close(b);
    lull_executor_leave(y);
    lull_fake_clock_settle(&clock_);
    lull_executor_free(y);
    lull_executor_free(x);
}
END_TEST

START_TEST(the_write_timeout_is_remembered_for_tests)
{
    begin((struct pipe_options){0});
    ck_assert(endpoint_pipe_write_timeout(a) == LULL_NEVER);
    ck_assert_int_eq(endpoint_write_timeout(a, 20 * LULL_SECOND), 0);
    ck_assert_int_eq(endpoint_pipe_write_timeout(a), 20 * LULL_SECOND);
    ck_assert(endpoint_pipe_write_timeout(b) == LULL_NEVER);
    end();
}
END_TEST

static Suite *endpoint_pipe_suite(void)
{
    Suite *suite = suite_create("endpoint_pipe");
    TCase *cases = tcase_create("endpoint_pipe");

    tcase_add_test(cases, bytes_written_to_one_end_are_read_from_the_other);
    tcase_add_test(cases, readiness_is_told_only_when_wanted);
    tcase_add_test(cases, what_is_not_used_up_is_told_again_next_turn);
    tcase_add_test(cases, a_full_pipe_says_again_and_tells_when_there_is_room);
    tcase_add_test(cases, chunks_cut_reads_and_writes);
    tcase_add_test(cases, held_bytes_stay_in_flight_and_are_not_told);
    tcase_add_test(cases, a_closed_end_reads_as_eof_after_its_last_bytes);
    tcase_add_test(cases, either_end_may_be_closed_first);
    tcase_add_test(cases, both_ends_closed_with_bytes_in_flight_leave_nothing);
    tcase_add_test(cases, ends_closed_late_in_a_turn_leave_the_ready_list);
    tcase_add_test(cases, the_end_of_a_held_stream_is_held_too);
    tcase_add_test(cases, a_broken_end_fails_with_its_errno_and_the_other_does_not_know);
    tcase_add_test(cases, a_connect_is_decided_by_the_simulator);
    tcase_add_test(cases, a_refused_connect_fails_with_its_errno);
    tcase_add_test(cases, a_connect_that_is_given_up_is_told_to_the_other_end);
    tcase_add_test(cases, closing_inside_on_ready_is_legal);
    tcase_add_test(cases, an_end_that_is_closed_by_another_in_the_same_read_phase_is_not_told);
    tcase_add_test(cases, the_ends_may_live_on_two_executors_of_one_thread);
    tcase_add_test(cases, the_write_timeout_is_remembered_for_tests);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("endpoint_pipe", endpoint_pipe_suite)
