/* SPDX-License-Identifier: MIT */
/*
 * src/policy/conn_age.c: what begins a drain (idleness, age and its jitter), as tables of facts at
 * several origins of the clock. conn_age_drain_test.c goes on from there.
 */
#include "tests/unit/policy/conn_age_rows.h"

#include "lull/keepalive.h"

#include "tests/support/check_main.h"

static const struct limits only_idle = {123, NEVER, NEVER, 20};
static const struct limits only_age = {NEVER, 100, 10, 20};

START_TEST(defaults_are_those_of_a9_and_ask_for_no_timer)
{
    struct conn_age_options options;
    struct conn_age age;
    conn_age_options_init(&options);
    ck_assert_int_eq(options.drain_limit_ns, 10 * LULL_SECOND);
    ck_assert_int_eq(options.max_age_grace_ns, NEVER);
    conn_age_init(&age, &options);
    ck_assert_int_eq(conn_age_on_opened(&age, 0.1, lull_at(5)).next_at.ns, NEVER);
    conn_age_on_stream_opened(&age);
    ck_assert_int_eq(conn_age_on_stream_closed(&age, lull_at(6)).next_at.ns, NEVER);
    ck_assert_int_eq(conn_age_on_timer(&age, lull_at(LULL_NEVER)).action, NONE);
    ck_assert_int_eq(age.reason, CONN_AGE_NOT_DRAINING);
}
END_TEST

START_TEST(zero_negative_and_never_are_off_and_floors_hold)
{
    const int64_t given_ns[] = {0, -1, INT64_MIN, NEVER, 1, MS(999), MS(1001)};
    const int64_t plain_ns[] = {NEVER, NEVER, NEVER, NEVER, LULL_SECOND, LULL_SECOND, MS(1001)};
    const int64_t short_ns[] = {NEVER, NEVER, NEVER, NEVER, 1, MS(999), MS(1001)};
    for (size_t i = 0; i < COUNT(given_ns); i++) {
        struct conn_age_options options;
        struct conn_age age;
        conn_age_options_init(&options);
        options.max_idle_ns = given_ns[i];
        options.max_age_ns = given_ns[i];
        conn_age_init(&age, &options);
        ck_assert_int_eq(age.options.max_idle_ns, plain_ns[i]);
        ck_assert_int_eq(age.options.max_age_ns, plain_ns[i]);
        options.allow_short_timers = true;
        conn_age_init(&age, &options);
        ck_assert_int_eq(age.options.max_idle_ns, short_ns[i]);
        ck_assert_int_eq(age.options.max_age_ns, short_ns[i]);
    }
    struct conn_age_options options = options_of((struct limits){1, 1, -1, -1}, 1);
    struct conn_age age;
    conn_age_init(&age, &options);
    ck_assert_int_eq(age.options.max_age_grace_ns, NEVER);
    ck_assert_int_eq(age.options.drain_limit_ns, 0);
}
END_TEST

/* scenario 64, first half */
START_TEST(idleness_counts_from_the_end_of_the_last_stream_only)
{
    const struct row rows[] = {
        {0, UP, NONE, 123},        {5, OPENED, NONE, NEVER},  {6, OPENED, NONE, NEVER},
        {123, TIMER, NONE, NEVER}, {200, ENDED, NONE, NEVER}, {300, ENDED, NONE, 423},
        {422, TIMER, NONE, 423},   {423, TIMER, DRAIN, 443},
    };
    RUN(only_idle, CONN_AGE_MAX_IDLE, rows);
}
END_TEST

/* scenario 64, second half */
START_TEST(stream_before_the_expiry_calls_it_off)
{
    const struct row rows[] = {
        {0, UP, NONE, 123},
        {100, OPENED, NONE, NEVER},
        {123, TIMER, NONE, NEVER},
        {1000, TIMER, NONE, NEVER},
    };
    RUN(only_idle, CONN_AGE_NOT_DRAINING, rows);
}
END_TEST

/* scenario 114 */
START_TEST(connection_that_never_had_a_stream_is_let_go)
{
    const struct row rows[] = {
        {0, UP, NONE, 30},
        {30, TIMER, DRAIN, 50},
        {31, ACKED, FINISH, NEVER},
        {31, DOWN, NONE, NEVER},
    };
    RUN(((struct limits){30, NEVER, NEVER, 20}), CONN_AGE_MAX_IDLE, rows);
    ck_assert_str_eq(conn_age_reason_text(CONN_AGE_MAX_IDLE), "max_idle");
}
END_TEST

START_TEST(stream_in_the_turn_of_the_idle_expiry_in_both_orders)
{
    const struct row stream_first[] = {
        {0, UP, NONE, 123},
        {123, OPENED, NONE, NEVER},
        {123, TIMER, NONE, NEVER},
        {130, ENDED, NONE, 253},
    };
    const struct row timer_first[] = {
        {0, UP, NONE, 123},          {123, TIMER, DRAIN, 143}, {123, OPENED, NONE, 143},
        {130, ENDED, NONE, 143}, /* nothing ends before the ack: more may be on the wire */
        {131, ACKED, FINISH, NEVER},
    };
    RUN(only_idle, CONN_AGE_NOT_DRAINING, stream_first);
    RUN(only_idle, CONN_AGE_MAX_IDLE, timer_first);
}
END_TEST

/* scenario 116 */
START_TEST(age_drains_whatever_the_traffic_and_grace_ends_it)
{
    const struct row rows[] = {
        {0, UP, NONE, 100},        {0, OPENED, NONE, 100},  {50, OPENED, NONE, 100},
        {99, ENDED, NONE, 100},    {99, TIMER, NONE, 100},  {100, TIMER, DRAIN, 110},
        {101, ACKED, LAST, 110},   {109, TIMER, NONE, 110}, {110, TIMER, CLOSE, NEVER},
        {110, ENDED, NONE, NEVER},
    };
    RUN(only_age, CONN_AGE_MAX_AGE, rows);
    ck_assert_str_eq(conn_age_reason_text(CONN_AGE_MAX_AGE), "max_age");
    ck_assert_str_eq(conn_age_reason_text(CONN_AGE_SHUTDOWN), "shutdown");
    ck_assert_str_eq(conn_age_reason_text(CONN_AGE_NOT_DRAINING), "");
}
END_TEST

START_TEST(earlier_limit_gives_the_reason_however_late_the_timer)
{
    const struct row rows[] = {{0, UP, NONE, 30}, {500, TIMER, DRAIN, 520}};
    RUN(((struct limits){30, 31, NEVER, 20}), CONN_AGE_MAX_IDLE, rows);
    RUN(((struct limits){31, 30, NEVER, 20}), CONN_AGE_MAX_AGE, rows);
    RUN(((struct limits){30, 30, NEVER, 20}), CONN_AGE_MAX_AGE, rows);
}
END_TEST

static struct lull_instant age_of(int64_t max_age_ns, double unit, int64_t now_ns)
{
    struct conn_age_options options;
    struct conn_age age;
    conn_age_options_init(&options);
    options.max_age_ns = max_age_ns;
    conn_age_init(&age, &options);
    conn_age_on_opened(&age, unit, lull_at(now_ns));
    return age.age_at;
}

/* A9: ten per cent either way, on the age alone */
START_TEST(draw_moves_the_age_by_a_tenth_at_most)
{
    const int64_t second = LULL_SECOND;
    ck_assert_int_eq(age_of(100 * second, 0.0, 7).ns, 90 * second + 7);
    ck_assert_int_eq(age_of(100 * second, 0.25, 7).ns, 95 * second + 7);
    ck_assert_int_eq(age_of(100 * second, 0.5, 7).ns, 100 * second + 7);
    ck_assert_int_eq(age_of(100 * second, 0.75, 7).ns, 105 * second + 7);
    ck_assert_int_le(age_of(100 * second, 0.999999, 7).ns, 110 * second + 7);
    ck_assert_int_gt(age_of(100 * second, 0.999999, 7).ns, 109 * second + 7);
    int buckets[10] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t off_ns = age_of(100 * second, i / 1000.0, 0).ns - 90 * second;
        ck_assert_int_ge(off_ns, 0);
        ck_assert_int_lt(off_ns, 20 * second);
        buckets[(off_ns + second / 1000) / (2 * second) % 10]++;
    }
    for (size_t i = 0; i < COUNT(buckets); i++) {
        ck_assert_int_eq(buckets[i], 100);
    }
}
END_TEST

START_TEST(draw_leaves_the_idle_limit_alone)
{
    struct conn_age_options options = options_of(only_idle, MS(1));
    for (int i = 0; i < 10; i++) {
        struct conn_age age;
        conn_age_init(&age, &options);
        ck_assert_int_eq(conn_age_on_opened(&age, i / 10.0, lull_at(0)).next_at.ns, MS(123));
    }
}
END_TEST

START_TEST(instants_beyond_the_end_of_time_saturate)
{
    ck_assert_int_eq(age_of(NEVER, 0.0, 0).ns, NEVER);
    ck_assert_int_eq(age_of(NEVER - 1, 0.999, 0).ns, NEVER);
    ck_assert_int_eq(age_of(NEVER - 1, 0.5, 0).ns, NEVER);
    ck_assert_int_lt(age_of(NEVER - 1, 0.0, 0).ns, NEVER);
    ck_assert_int_eq(age_of(100 * LULL_SECOND, 0.5, INT64_MAX - 5).ns, NEVER);

    struct conn_age_options options = options_of(only_age, 1);
    struct conn_age age;
    conn_age_init(&age, &options);
    conn_age_on_opened(&age, NO_JITTER, lull_at(INT64_MAX - 105));
    conn_age_on_stream_opened(&age);
    struct conn_age_step step = conn_age_on_timer(&age, lull_at(INT64_MAX - 5));
    ck_assert_int_eq(step.action, DRAIN);
    ck_assert_int_eq(step.next_at.ns, NEVER); /* drain limit */
    step = conn_age_on_drain_acked(&age, lull_at(INT64_MAX - 4));
    ck_assert_int_eq(step.action, LAST);
    ck_assert_int_eq(step.next_at.ns, NEVER); /* grace */
    ck_assert_int_eq(conn_age_on_timer(&age, lull_at(INT64_MAX - 1)).action, NONE);
}
END_TEST

/* A server's keepalive, 100/10, calls or not: what on_timer orders at `at`. */
static void make_server_keepalive(struct lull_keepalive *keepalive, int64_t timeout_ns)
{
    struct lull_keepalive_options options;
    lull_keepalive_options_init(&options);
    options.time_ns = MS(100);
    options.timeout_ns = timeout_ns;
    options.without_calls = true; /* A9: a server asks whether there are calls or not */
    options.allow_short_timers = true;
    ck_assert_int_eq(lull_keepalive_init(keepalive, &options), LULL_OK);
    lull_keepalive_on_transport_opened(keepalive, lull_at(0));
}

/* scenario 117: the preface and SETTINGS at 0, then silence. An idle limit alone would keep it. */
START_TEST(silent_client_is_closed_by_keepalive_before_its_idle_limit)
{
    struct conn_age_options options = options_of((struct limits){200, NEVER, NEVER, 20}, MS(1));
    struct conn_age age;
    struct lull_keepalive keepalive;
    conn_age_init(&age, &options);
    ck_assert_int_eq(conn_age_on_opened(&age, NO_JITTER, lull_at(0)).next_at.ns, MS(200));
    make_server_keepalive(&keepalive, MS(10));
    ck_assert_int_eq(lull_keepalive_on_timer(&keepalive, lull_at(MS(100))).action,
                     LULL_KEEPALIVE_SEND_PING);
    ck_assert_int_eq(lull_keepalive_next_at(&keepalive).ns, MS(110));
    ck_assert_int_eq(lull_keepalive_on_timer(&keepalive, lull_at(MS(110))).action,
                     LULL_KEEPALIVE_PEER_IS_DEAD);
    ck_assert_int_eq(conn_age_on_closed(&age).next_at.ns, NEVER);
}
END_TEST

/* scenario 118: acks are life, but no activity: they keep it from dying, not from falling idle */
START_TEST(client_that_acks_lives_and_still_falls_idle)
{
    struct conn_age_options options = options_of((struct limits){600, NEVER, NEVER, 20}, MS(1));
    struct conn_age age;
    struct lull_keepalive keepalive;
    conn_age_init(&age, &options);
    conn_age_on_opened(&age, NO_JITTER, lull_at(0));
    make_server_keepalive(&keepalive, MS(100));
    for (int64_t ms = 100; ms <= 500; ms += 100) {
        ck_assert_int_eq(lull_keepalive_on_timer(&keepalive, lull_at(MS(ms))).action,
                         LULL_KEEPALIVE_SEND_PING);
        lull_keepalive_on_ping_acked(&keepalive, lull_at(MS(ms)));
        ck_assert_int_eq(conn_age_on_drain_acked(&age, lull_at(MS(ms))).action, NONE);
    }
    ck_assert_int_eq(conn_age_next_at(&age).ns, MS(600));
    ck_assert_int_eq(conn_age_on_timer(&age, lull_at(MS(600))).action, DRAIN);
}
END_TEST

static Suite *conn_age_suite(void)
{
    Suite *suite = suite_create("conn_age");
    TCase *tc = tcase_create("conn_age");
    tcase_add_test(tc, defaults_are_those_of_a9_and_ask_for_no_timer);
    tcase_add_test(tc, zero_negative_and_never_are_off_and_floors_hold);
    tcase_add_test(tc, idleness_counts_from_the_end_of_the_last_stream_only);
    tcase_add_test(tc, stream_before_the_expiry_calls_it_off);
    tcase_add_test(tc, connection_that_never_had_a_stream_is_let_go);
    tcase_add_test(tc, stream_in_the_turn_of_the_idle_expiry_in_both_orders);
    tcase_add_test(tc, age_drains_whatever_the_traffic_and_grace_ends_it);
    tcase_add_test(tc, earlier_limit_gives_the_reason_however_late_the_timer);
    tcase_add_test(tc, draw_moves_the_age_by_a_tenth_at_most);
    tcase_add_test(tc, draw_leaves_the_idle_limit_alone);
    tcase_add_test(tc, instants_beyond_the_end_of_time_saturate);
    tcase_add_test(tc, silent_client_is_closed_by_keepalive_before_its_idle_limit);
    tcase_add_test(tc, client_that_acks_lives_and_still_falls_idle);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("conn_age", conn_age_suite)
