/* SPDX-License-Identifier: MIT */
/*
 * src/h2/keepalive_glue.c: keepalive that is off, and the write timeout (RULINGS 7).
 */
#include "h2/keepalive_glue.h"

#include <errno.h>

#include "tests/support/check_main.h"
#include "tests/unit/h2/pings.h"

static enum io limited_writev(struct endpoint *endpoint, const struct io_piece *pieces,
                              size_t count, size_t *wrote)
{
    ck_assert_int_ne(endpoint_pipe_write_timeout(endpoint), LULL_NEVER);
    return counted_writev(endpoint, pieces, count, wrote);
}

START_TEST(off_arms_nothing_and_limits_writes_to_20_s)
{
    begin_keepalive(0, 0, false);
    (void)world_ready(1);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    go_to(3600 * LULL_SECOND);
    say_answer(1);
    run();
    ck_assert_uint_eq(pings(), 0);
    ck_assert_uint_eq(counters().timer_arms, 0);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    world_end();
    begin_keepalive(LULL_NEVER, 5 * LULL_SECOND, true);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    ck_assert_uint_eq(counters().timer_arms, 0);
    world_end();
}
END_TEST

/* scenario 129, as RULINGS 7 has it */
START_TEST(write_timeout_is_taken_back_when_quiet_and_set_before_the_next_write)
{
    struct h2_transport_options options = world_options();
    uint64_t arms;
    world_begin();
    connect_again(&options, (struct pipe_options){0}, true);
    counted_ops.writev = limited_writev;
    (void)world_ready(1);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    go_to(MS(10000));
    say_answer(1);
    run();
    go_to(MS(54999));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    go_to(MS(55000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), LULL_NEVER);
    ck_assert_uint_eq(armed(), 0); /* quiet costs no timer */
    arms = counters().timer_arms;
    go_to(MS(500000));
    SAY(F9); /* its ACK is a write */
    run();
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    ck_assert_uint_eq(counters().timer_arms - arms, 1);
    (void)open_call(1);
    go_to(MS(520000));
    h2_stream_reset(&calls[1].stream, 8); /* a write alone is no silence either */
    go_to(MS(564999));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    go_to(MS(565000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), LULL_NEVER);
    ck_assert_uint_eq(armed(), 0);
    counted_ops.writev = counted_writev; /* the last GOAWAY is not worth a system call */
    world_end();
}
END_TEST

START_TEST(write_timeout_of_a_full_socket_stays)
{
    struct h2_transport_options options = world_options();
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 50000);
    world_begin();
    connect_again(&options, (struct pipe_options){.capacity_bytes = 4096}, true);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 50000);
    (void)open_with(0, &request);
    go_to(MS(200000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    world_end();
    free(big);
}
END_TEST

/* A write timeout longer than the quiet: bytes on their way for 45 s may still be lost. */
static bool is_acknowledged;

static int limit_unless_unacknowledged(struct endpoint *endpoint, int64_t after_ns)
{
    return after_ns == LULL_NEVER && !is_acknowledged
               ? EAGAIN
               : pipe_ops->write_timeout(endpoint, after_ns);
}

START_TEST(write_timeout_of_bytes_on_their_way_stays)
{
    struct h2_transport_options options = world_options();
    options.keepalive.time_ns = MS(600000);
    options.keepalive.timeout_ns = MS(60000);
    is_acknowledged = false;
    world_begin();
    connect_again(&options, (struct pipe_options){0}, true);
    counted_ops.write_timeout = limit_unless_unacknowledged;
    (void)world_ready(1);
    go_to(MS(45000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), MS(60000));
    ck_assert_int_eq(due_at(), MS(90000)); /* as if it had been written now */
    is_acknowledged = true;
    go_to(MS(89999));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), MS(60000));
    go_to(MS(90000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), LULL_NEVER);
    world_end();
}
END_TEST

/* The errno says that the system gave up, the line says what it had waited for. */
START_TEST(what_the_system_waited_for_is_told)
{
    struct h2_transport_options options = world_options();
    world_begin();
    connect_again(&options, (struct pipe_options){0}, true);
    (void)world_ready(1);
    endpoint_pipe_break(near_end, ETIMEDOUT);
    run();
    ck_assert_ptr_nonnull(
        strstr(told.end.text, ": what was written was not acknowledged within 20 s"));
    connect_again(&options, (struct pipe_options){0}, true);
    (void)world_ready(1);
    go_to(clock_.mono_at.ns + MS(45000));
    endpoint_pipe_break(near_end, ENETUNREACH);
    run();
    ck_assert_ptr_nonnull(strstr(told.end.text, ": TCP keepalive was not answered"));
    connect_again(&options, (struct pipe_options){0}, true);
    (void)world_ready(1);
    endpoint_pipe_break(near_end, ECONNRESET);
    run();
    ck_assert_ptr_null(strstr(told.end.text, "acknowledged"));
    ck_assert_ptr_null(strstr(told.end.text, "keepalive"));
    world_end();
}
END_TEST

START_TEST(keepalive_and_write_timeout_share_one_timer)
{
    struct h2_transport_options options = world_options();
    options.keepalive.time_ns = MS(60000);
    options.keepalive.timeout_ns = MS(7000);
    world_begin();
    connect_again(&options, (struct pipe_options){0}, true);
    counted_ops.writev = limited_writev;
    (void)world_ready(1);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), MS(7000));
    ck_assert_int_eq(due_at(), MS(45000));
    go_to(MS(45000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), LULL_NEVER);
    ck_assert_int_eq(due_at(), MS(60000));
    ck_assert_uint_eq(armed(), 1);
    go_to(MS(60000));
    ck_assert_uint_eq(pings(), 1);
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), MS(7000));
    ck_assert_int_eq(due_at(), MS(67000));
    ack(0);
    ck_assert_int_eq(due_at(), MS(105000));
    world_end();
}
END_TEST

START_TEST(without_probes_of_the_system_the_write_timeout_stays)
{
    struct h2_transport_options options = world_options();
    options.keepalive.is_system_off = true;
    world_begin();
    connect_again(&options, (struct pipe_options){0}, true);
    go_to(MS(1000000));
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), 20 * LULL_SECOND);
    ck_assert_uint_eq(counters().timer_arms, 0);
    world_end();
}
END_TEST

static Suite *write_timeout_suite(void)
{
    Suite *suite = suite_create("write_timeout");
    TCase *tc = tcase_create("write_timeout");
    tcase_add_test(tc, off_arms_nothing_and_limits_writes_to_20_s);
    tcase_add_test(tc, write_timeout_is_taken_back_when_quiet_and_set_before_the_next_write);
    tcase_add_test(tc, write_timeout_of_a_full_socket_stays);
    tcase_add_test(tc, write_timeout_of_bytes_on_their_way_stays);
    tcase_add_test(tc, what_the_system_waited_for_is_told);
    tcase_add_test(tc, keepalive_and_write_timeout_share_one_timer);
    tcase_add_test(tc, without_probes_of_the_system_the_write_timeout_stays);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("write_timeout", write_timeout_suite)
