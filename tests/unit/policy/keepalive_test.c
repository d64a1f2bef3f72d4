/* SPDX-License-Identifier: MIT */
/* src/policy/keepalive.c: the scenarios of the keepalive manager, a table each. */
#include "tests/unit/policy/keepalive_rows.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

/* scenario 33 */
START_TEST(silence_is_probed_and_data_answers_the_probe)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},     {1, OPENED, NONE, 1000},   {1000, TIMER, PING, 3000},
        {1100, READ, NONE, 2100}, {2100, TIMER, PING, 4100},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 34 */
START_TEST(late_timer_after_data_asks_again_for_what_is_left)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},      {0, OPENED, NONE, 1000},   {990, READ, NONE, 1990},
        {1010, TIMER, NONE, 1990}, {1990, TIMER, PING, 3990},
    };
    RUN(false, rows);
}
END_TEST

/* scenarios 36 (the write fails: the transport closes itself), 37, 44 */
START_TEST(closing_ends_the_wait_for_the_ack)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},        {0, OPENED, NONE, 1000},    {1000, TIMER, PING, 3000},
        {1000, DOWN, NONE, NEVER},   {3000, TIMER, NONE, NEVER}, {3001, READ, NONE, NEVER},
        {3002, OPENED, NONE, NEVER}, {9000, TIMER, NONE, NEVER},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 38 */
START_TEST(peer_dies_once_and_late_data_does_not_raise_it)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},       {0, OPENED, NONE, 1000},
        {1000, TIMER, PING, 3000},  {2999, TIMER, NONE, 3000},
        {3000, TIMER, DEAD, NEVER}, {3000, TIMER, NONE, NEVER},
        {3001, READ, NONE, NEVER},  {3002, ACKED, NONE, NEVER},
        {9000, TIMER, NONE, NEVER}, {9000, LAST_CLOSED, NONE, NEVER},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 40 */
START_TEST(without_calls_it_watches_from_the_start)
{
    const struct row rows[] = {
        {0, UP, NONE, 1000},       {10, OPENED, NONE, 1000},   {20, LAST_CLOSED, NONE, 1000},
        {1000, TIMER, PING, 3000}, {3000, TIMER, DEAD, NEVER},
    };
    RUN(true, rows);
}
END_TEST

/* scenario 41 */
START_TEST(ack_after_the_last_stream_leaves_no_timer)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},      {0, OPENED, NONE, 1000},
        {1000, TIMER, PING, 3000}, {1000, LAST_CLOSED, NONE, 3000},
        {1100, READ, NONE, NEVER}, {1200, OPENED, NONE, 2100},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 42: the instant only moves out, so one armed timer serves throughout */
START_TEST(resting_and_watching_again_keeps_counting_from_the_last_byte)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},      {0, OPENED, NONE, 1000},
        {300, READ, NONE, 1300},   {400, LAST_CLOSED, NONE, NEVER},
        {500, OPENED, NONE, 1300},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 45 */
START_TEST(ping_that_outlives_its_stream_serves_the_next_one)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},       {0, OPENED, NONE, 1000},
        {1000, TIMER, PING, 3000},  {1100, LAST_CLOSED, NONE, 3000},
        {1200, OPENED, NONE, 3000}, {1300, READ, NONE, 2300},
        {2300, TIMER, PING, 4300},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 46 */
START_TEST(ping_under_way_is_judged_without_streams_too)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},       {0, OPENED, NONE, 1000},
        {1000, TIMER, PING, 3000},  {1500, LAST_CLOSED, NONE, 3000},
        {3000, TIMER, DEAD, NEVER},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 48: ours, none before 1 999 */
START_TEST(gap_without_streams_does_not_bring_the_ping_forward)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},       {0, OPENED, NONE, 1000},
        {999, READ, NONE, 1999},    {1000, LAST_CLOSED, NONE, NEVER},
        {1000, OPENED, NONE, 1999}, {1000, TIMER, NONE, 1999},
        {1998, TIMER, NONE, 1999},  {1999, TIMER, PING, 3999},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 49: both in one turn, the read is heard first */
START_TEST(data_in_the_turn_of_the_verdict_saves_the_peer)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},     {0, OPENED, NONE, 1000},   {1000, TIMER, PING, 3000},
        {3000, READ, NONE, 4000}, {3000, TIMER, NONE, 4000}, {4000, TIMER, PING, 6000},
    };
    RUN(false, rows);
}
END_TEST

/* scenario 50 */
START_TEST(steady_data_is_never_probed)
{
    struct lull_keepalive k;
    make(&k, 10 * LULL_SECOND, 20 * LULL_SECOND, false);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    struct lull_instant armed_at = lull_keepalive_on_stream_opened(&k, lull_at(0)).next_at;
    int timer_ops = 1;
    for (int64_t at = MS(100); at <= 3600 * LULL_SECOND; at += MS(100)) {
        lull_keepalive_on_read(&k, lull_at(at));
        if (armed_at.ns <= at) { /* what a Rescheduler does */
            struct lull_keepalive_step step = lull_keepalive_on_timer(&k, lull_at(at));
            MUST_MSG(step.action == NONE, "%lld", (long long)at);
            armed_at = step.next_at;
            timer_ops++;
        }
        MUST_MSG(lull_keepalive_next_at(&k).ns >= armed_at.ns, "%lld", (long long)at);
    }
    struct lull_keepalive_stats stats;
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_sent, 0);
    ck_assert_int_ge(timer_ops, 355);
    ck_assert_int_le(timer_ops, 361);
}
END_TEST

/* scenario 52 */
START_TEST(first_stream_after_long_silence_is_preceded_by_a_ping)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER},      {5000, OPENED, PING, 7000}, {5000, OPENED, NONE, 7000},
        {5000, TIMER, NONE, 7000}, {7000, TIMER, DEAD, NEVER},
    };
    RUN(false, rows);
}
END_TEST

START_TEST(silence_one_short_of_the_time_is_not_preceded_by_a_ping)
{
    const struct row rows[] = {
        {0, UP, NONE, NEVER}, {999, OPENED, NONE, 1000}, {1000, TIMER, PING, 3000}};
    RUN(false, rows);
}
END_TEST

START_TEST(stream_in_the_turn_of_an_overdue_ping_sends_it_once)
{
    const struct row rows[] = {
        {0, UP, NONE, 1000}, {1000, OPENED, PING, 3000}, {1000, TIMER, NONE, 3000}};
    RUN(true, rows);
}
END_TEST

/* scenario 53: the transport lets a user's ping stand for ours; one ack answers both */
START_TEST(ack_of_a_shared_ping_is_counted_once)
{
    struct lull_keepalive k;
    struct lull_keepalive_stats stats;
    make(&k, 1000, 2000, true);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    ck_assert_int_eq(lull_keepalive_on_ping_acked(&k, lull_at(10)).next_at.ns,
                     1010); /* the user's alone */
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(1010)).action, PING);
    ck_assert_int_eq(lull_keepalive_on_ping_acked(&k, lull_at(1017)).next_at.ns, 2017);
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_sent, 1);
    ck_assert_uint_eq(stats.pings_acked, 1);
    ck_assert_int_eq(stats.rtt_ns, 7);
}
END_TEST

/* scenario 54: an ack that is not ours is bytes */
START_TEST(foreign_ack_is_life_and_no_round_trip)
{
    struct lull_keepalive k;
    struct lull_keepalive_stats stats;
    make(&k, 1000, 2000, true);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    ck_assert_int_eq(lull_keepalive_on_timer(&k, lull_at(1000)).action, PING);
    ck_assert_int_eq(lull_keepalive_on_read(&k, lull_at(1100)).next_at.ns, 2100);
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_acked, 0);
    ck_assert_int_eq(stats.rtt_ns, LULL_NEVER);
}
END_TEST

START_TEST(ack_of_an_older_ping_measures_nothing)
{
    struct lull_keepalive k;
    struct lull_keepalive_stats stats;
    make(&k, 1000, 2000, true);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    lull_keepalive_on_timer(&k, lull_at(1000));
    lull_keepalive_on_read(&k, lull_at(1500));
    lull_keepalive_on_timer(&k, lull_at(2500));
    lull_keepalive_on_ping_acked(&k, lull_at(2510)); /* of the first, which took 1510 */
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_sent, 2);
    ck_assert_uint_eq(stats.pings_acked, 1);
    ck_assert_int_eq(stats.rtt_ns, LULL_NEVER);
    lull_keepalive_on_ping_acked(&k, lull_at(2530));
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_acked, 2);
    ck_assert_int_eq(stats.rtt_ns, 30);
}
END_TEST

START_TEST(ack_after_its_timeout_is_counted_late)
{
    struct lull_keepalive k;
    struct lull_keepalive_stats stats;
    make(&k, 10000, 2000, true);
    lull_keepalive_on_transport_opened(&k, lull_at(0));
    lull_keepalive_on_timer(&k, lull_at(10000));
    lull_keepalive_on_read(&k, lull_at(11000));
    lull_keepalive_on_ping_acked(&k, lull_at(12001));
    lull_keepalive_stats(&k, &stats);
    ck_assert_uint_eq(stats.pings_late, 1);
    ck_assert_int_eq(stats.rtt_ns, 2001);
    ck_assert_int_eq(lull_keepalive_next_at(&k).ns, 22001);
}
END_TEST

static Suite *keepalive_suite(void)
{
    Suite *suite = suite_create("keepalive");
    TCase *tc = tcase_create("keepalive");
    tcase_add_test(tc, silence_is_probed_and_data_answers_the_probe);
    tcase_add_test(tc, late_timer_after_data_asks_again_for_what_is_left);
    tcase_add_test(tc, closing_ends_the_wait_for_the_ack);
    tcase_add_test(tc, peer_dies_once_and_late_data_does_not_raise_it);
    tcase_add_test(tc, without_calls_it_watches_from_the_start);
    tcase_add_test(tc, ack_after_the_last_stream_leaves_no_timer);
    tcase_add_test(tc, resting_and_watching_again_keeps_counting_from_the_last_byte);
    tcase_add_test(tc, ping_that_outlives_its_stream_serves_the_next_one);
    tcase_add_test(tc, ping_under_way_is_judged_without_streams_too);
    tcase_add_test(tc, gap_without_streams_does_not_bring_the_ping_forward);
    tcase_add_test(tc, data_in_the_turn_of_the_verdict_saves_the_peer);
    tcase_add_test(tc, steady_data_is_never_probed);
    tcase_add_test(tc, first_stream_after_long_silence_is_preceded_by_a_ping);
    tcase_add_test(tc, silence_one_short_of_the_time_is_not_preceded_by_a_ping);
    tcase_add_test(tc, stream_in_the_turn_of_an_overdue_ping_sends_it_once);
    tcase_add_test(tc, ack_of_a_shared_ping_is_counted_once);
    tcase_add_test(tc, foreign_ack_is_life_and_no_round_trip);
    tcase_add_test(tc, ack_of_an_older_ping_measures_nothing);
    tcase_add_test(tc, ack_after_its_timeout_is_counted_late);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive", keepalive_suite)
