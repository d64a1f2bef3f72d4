/* SPDX-License-Identifier: MIT */
/*
 * src/h2/keepalive_glue.c on bytes: scenarios 33 to 54 (time 1 000 ns, timeout 2 000 ns), and stalls. The reported cases are in
 * keepalive_cases_test.c, the write timeout in write_timeout_test.c.
 */
#include "h2/keepalive_glue.h"

#include <errno.h>

#include "exec/linger.h"
#include "tests/support/check_main.h"
#include "tests/unit/h2/pings.h"

#define T 1000
#define K 2000

/* SETTINGS came and, if wanted, a stream was opened, both at 0. */
static void begin(unsigned open, bool without_calls)
{
    begin_keepalive(T, K, without_calls);
    (void)world_ready(open);
}

static void close_stream(unsigned n)
{
    h2_stream_reset(&calls[n].stream, 8);
    run();
}

/* scenario 33 */
START_TEST(silence_is_pinged_and_any_byte_takes_the_verdict_back)
{
    begin(0, false);
    ck_assert_uint_eq(armed(), 0);
    go_to(1);
    (void)open_call(0);
    run();
    ck_assert_int_eq(due_at(), T);
    go_to(T - 1);
    ck_assert_uint_eq(pings(), 0);
    go_to(T);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_int_eq(due_at(), T + K);
    go_to(T + 100);
    say_something();
    ck_assert_int_eq(due_at(), 2 * T + 100);
    go_to(2 * T + 99);
    ck_assert_uint_eq(pings(), 1);
    go_to(2 * T + 100);
    ck_assert_uint_eq(pings(), 2);
    ck_assert_uint_eq(told.closed, 0);
    world_end();
}
END_TEST

/* scenario 34 */
START_TEST(data_puts_the_ping_off_and_the_timer_finds_out_when_it_fires)
{
    begin(1, false);
    go_to(990);
    say_something();
    go_to(1010);
    ck_assert_uint_eq(pings(), 0);
    ck_assert_int_eq(due_at(), 1990);
    ck_assert_int_eq(lull_rescheduler_armed_at(&t->keepalive.wake).ns, 1990);
    go_to(1989);
    ck_assert_uint_eq(pings(), 0);
    go_to(1990);
    ck_assert_uint_eq(pings(), 1);
    world_end();
}
END_TEST

static enum io refuse_writev(struct endpoint *endpoint, const struct io_piece *pieces, size_t count,
                             size_t *wrote)
{
    (void)pieces;
    (void)count;
    *wrote = 0;
    return endpoint_fail(endpoint, "write", EPIPE);
}

/* scenario 36 */
START_TEST(ping_that_cannot_be_written_ends_the_connection)
{
    begin(1, false);
    counted_ops.writev = refuse_writev;
    go_to(T);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_ERRNO);
    ck_assert_int_eq(told.end.sys_errno, EPIPE);
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    ck_assert_uint_eq(armed(), 0);
    world_end();
}
END_TEST

/* scenarios 37 and 44 */
START_TEST(close_after_a_ping_disarms_at_once)
{
    begin(1, false);
    go_to(T);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_uint_eq(armed(), 1);
    h2_transport_close(t, 0, "enough");
    ck_assert_uint_eq(armed(), 0);
    go_to(100 * K);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    world_end();
}
END_TEST

/* scenario 38 */
START_TEST(silent_peer_is_given_up_once)
{
    struct io_piece piece = {F2, 17};
    size_t wrote;
    begin(1, false);
    go_to(T + K - 1);
    ck_assert_uint_eq(told.closed, 0);
    go_to(T + K);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_str_eq(told.end.text,
                     "keepalive: no answer to a PING within 2 us; last byte read 0 ms ago");
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    ck_assert_str_eq(calls[0].end.text, told.end.text);
    ck_assert_uint_eq(armed(), 0);
    (void)endpoint_writev(far_end, &piece, 1, &wrote);
    go_to(100 * K);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_uint_eq(pings(), 1);
    world_end();
}
END_TEST

/* scenario 40 */
START_TEST(without_calls_streams_change_nothing)
{
    begin_keepalive(T, K, true);
    ck_assert_uint_eq(armed(), 1);
    (void)world_ready(1);
    close_stream(0);
    ck_assert_int_eq(due_at(), T);
    go_to(T);
    ck_assert_uint_eq(pings(), 1);
    go_to(T + K - 1);
    ck_assert_uint_eq(told.closed, 0);
    go_to(T + K);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    world_end();
}
END_TEST

/* scenario 41 */
START_TEST(answer_after_the_last_stream_leaves_nothing_to_do)
{
    begin(1, false);
    go_to(T);
    close_stream(0);
    ck_assert_int_eq(due_at(), T + K);
    go_to(T + 100);
    say_something();
    ck_assert(!lull_rescheduler_is_enabled(&t->keepalive.wake));
    (void)open_call(1);
    run();
    ck_assert_uint_eq(armed(), 1);
    ck_assert_int_eq(due_at(), 2 * T + 100);
    ck_assert_uint_eq(pings(), 1);
    world_end();
}
END_TEST

/* scenario 42 */
START_TEST(gap_between_streams_keeps_the_same_timer)
{
    uint64_t arms;
    begin(1, false);
    arms = counters().timer_arms;
    go_to(100);
    say_something();
    close_stream(0);
    ck_assert(!lull_rescheduler_is_enabled(&t->keepalive.wake));
    ck_assert_uint_eq(armed(), 1);
    (void)open_call(1);
    run();
    ck_assert_uint_eq(armed(), 1);
    ck_assert_uint_eq(counters().timer_arms, arms);
    ck_assert_uint_eq(counters().timer_disarms, 0);
    ck_assert_int_eq(due_at(), T + 100);
    world_end();
}
END_TEST

/* scenario 45 */
START_TEST(stream_that_comes_while_a_ping_is_out_waits_for_its_answer)
{
    begin(1, false);
    go_to(T);
    close_stream(0);
    (void)open_call(1);
    run();
    ck_assert_int_eq(due_at(), T + K);
    go_to(T + 100);
    ack(0);
    ck_assert_int_eq(due_at(), 2 * T + 100);
    ck_assert_uint_eq(armed(), 1);
    go_to(2 * T + 100);
    ck_assert_uint_eq(pings(), 2);
    world_end();
}
END_TEST

/* scenario 46 */
START_TEST(ping_under_way_is_judged_without_any_call)
{
    begin(1, false);
    go_to(T);
    close_stream(0);
    go_to(T + K);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_int_eq(calls[0].end.kind, H2_END_LOCAL);
    world_end();
}
END_TEST

/* scenario 48 */
START_TEST(stale_timer_does_not_ping_early)
{
    begin(1, false);
    go_to(999);
    say_something();
    close_stream(0);
    go_to(1000);
    (void)open_call(1);
    run();
    go_to(1998);
    ck_assert_uint_eq(pings(), 0);
    go_to(1999);
    ck_assert_uint_eq(pings(), 1);
    world_end();
}
END_TEST

/* scenario 49 */
START_TEST(answer_that_was_read_in_the_turn_of_the_verdict_saves_the_peer)
{
    begin(1, false);
    go_to(T + K - 1);
    SAY(F2); /* told in the next turn's read phase */
    stall_until(T + K);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_int_eq(due_at(), 2 * T + K);
    world_end();
}
END_TEST

/* The socket is asked before the verdict, though nobody has told that there is something in it. */
START_TEST(answer_that_nobody_has_told_of_is_read_before_the_verdict)
{
    begin(1, false);
    go_to(T + K - 1);
    near_end->watch.want = LULL_WANT_NONE;
    SAY(F2);
    go_to(T + K);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_int_eq(due_at(), 2 * T + K);
    go_to(2 * T + K);
    ck_assert_uint_eq(pings(), 2);
    world_end();
}
END_TEST

START_TEST(end_of_the_stream_found_before_the_verdict_is_the_end)
{
    begin(1, false);
    go_to(T + K - 1);
    near_end->watch.want = LULL_WANT_NONE;
    hang_up();
    go_to(T + K);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    world_end();
}
END_TEST

/* scenario 50 */
START_TEST(steady_data_costs_one_arming_a_period)
{
    uint64_t arms;
    begin_keepalive(10 * LULL_SECOND, LULL_SECOND, false);
    (void)world_ready(1);
    arms = counters().timer_arms;
    for (int64_t s = 1; s <= 3600; s++) {
        go_to(s * LULL_SECOND);
        say_something();
    }
    ck_assert_uint_eq(pings(), 0);
    ck_assert_uint_le(counters().timer_arms - arms,
                      400); /* the byte of that very second is not read yet */
    ck_assert_uint_eq(counters().timer_disarms, 0);
    world_end();
}
END_TEST

/* scenarios 52 and 130 */
START_TEST(first_stream_after_a_quiet_spell_sends_its_ping_first)
{
    struct sent_frame frame;
    unsigned before;
    begin(0, false);
    go_to(T - 1);
    (void)open_call(0);
    run();
    close_stream(0);
    ck_assert_uint_eq(pings(), 0);
    go_to(5 * T);
    ck_assert_uint_eq(pings(), 0);
    before = writes;
    out_len = MAGIC_BYTES;
    (void)open_call(1);
    run();
    ck_assert_uint_eq(writes - before, 1);
    ck_assert(sent_frame(256, UINT32_MAX, 0, &frame));
    ck_assert_uint_eq(frame.type, 6);
    ck_assert(sent_frame(256, UINT32_MAX, 1, &frame));
    ck_assert_uint_eq(frame.type, 1);
    ck_assert_int_eq(due_at(), 5 * T + K);
    world_end();
}
END_TEST

/* scenario 283; BEHAVIOUR 2.5: both timers are overdue */
START_TEST(stall_pings_and_judges_in_a_later_turn)
{
    const int64_t hour = 3600 * LULL_SECOND;
    begin(1, false);
    stall_until(hour);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_int_eq(due_at(), hour + K);
    go_to(hour + K - 1);
    ack(0);
    go_to(hour + 2 * K);
    ck_assert_uint_eq(told.closed, 0);
    world_end();
}
END_TEST

START_TEST(stall_over_an_answered_ping_is_no_verdict)
{
    const int64_t hour = 3600 * LULL_SECOND;
    struct sent_frame frame;
    begin(1, false);
    go_to(T);
    ck_assert(ping_frame(0, &frame));
    say_frame(6, 1, 0, frame.payload, 8);
    stall_until(hour);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_int_eq(due_at(), hour + T);
    ck_assert_uint_eq(ping_stats().late, 1);
    world_end();
}
END_TEST

static void never_told(struct h2_ping *ping, int64_t rtt_ns, const char *why)
{
    (void)ping;
    (void)rtt_ns;
    (void)why;
}

/* What the loop goes by when it lets answers gather. */
START_TEST(loop_knows_what_is_awaited_and_by_whom)
{
    struct h2_ping ping;
    const struct lingering *facts;
    begin_keepalive(T, K, true);
    facts = executor_linger(x);
    ck_assert_uint_eq(facts->connections, 0);
    (void)world_ready(0);
    ck_assert_uint_eq(facts->connections, 1);
    ck_assert_uint_eq(facts->awaited, 0);
    go_to(T);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_uint_eq(facts->awaited, 1);
    h2_ping_init(&ping, never_told);
    ck_assert_int_eq(h2_transport_ping(t, &ping), LULL_OK);
    run();
    ck_assert_uint_eq(facts->asked, 1);
    say_something();
    ck_assert_uint_eq(facts->awaited, 0);
    ck_assert_uint_eq(facts->asked, 1);
    go_to(3 * T);
    h2_transport_close(t, 0, "the end");
    ck_assert_uint_eq(facts->connections, 0);
    ck_assert_uint_eq(facts->awaited, 0);
    ck_assert_uint_eq(facts->asked, 0);
    run();
    world_end();
}
END_TEST

static Suite *keepalive_glue_suite(void)
{
    Suite *suite = suite_create("keepalive_glue");
    TCase *tc = tcase_create("keepalive");
    tcase_add_test(tc, loop_knows_what_is_awaited_and_by_whom);
    tcase_add_test(tc, silence_is_pinged_and_any_byte_takes_the_verdict_back);
    tcase_add_test(tc, data_puts_the_ping_off_and_the_timer_finds_out_when_it_fires);
    tcase_add_test(tc, ping_that_cannot_be_written_ends_the_connection);
    tcase_add_test(tc, close_after_a_ping_disarms_at_once);
    tcase_add_test(tc, silent_peer_is_given_up_once);
    tcase_add_test(tc, without_calls_streams_change_nothing);
    tcase_add_test(tc, answer_after_the_last_stream_leaves_nothing_to_do);
    tcase_add_test(tc, gap_between_streams_keeps_the_same_timer);
    tcase_add_test(tc, stream_that_comes_while_a_ping_is_out_waits_for_its_answer);
    tcase_add_test(tc, ping_under_way_is_judged_without_any_call);
    tcase_add_test(tc, stale_timer_does_not_ping_early);
    tcase_add_test(tc, answer_that_was_read_in_the_turn_of_the_verdict_saves_the_peer);
    tcase_add_test(tc, answer_that_nobody_has_told_of_is_read_before_the_verdict);
    tcase_add_test(tc, end_of_the_stream_found_before_the_verdict_is_the_end);
    tcase_add_test(tc, steady_data_costs_one_arming_a_period);
    tcase_add_test(tc, first_stream_after_a_quiet_spell_sends_its_ping_first);
    tcase_add_test(tc, stall_pings_and_judges_in_a_later_turn);
    tcase_add_test(tc, stall_over_an_answered_ping_is_no_verdict);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_glue", keepalive_glue_suite)
