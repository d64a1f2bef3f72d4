/* SPDX-License-Identifier: MIT */
#include "h2/ping.h"

#include "exec/executor_parts.h"
#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/h2/pings.h"

/* Somebody who asks. */
struct asker {
    struct h2_ping ping;
    unsigned told;
    int64_t rtt_ns;
    char why[256];
    unsigned asks_again; /* from its callback */
    int again_rc;
    bool was_busy;          /* told while nghttp2 was on the stack */
    unsigned closed_before; /* the transport had told its end */
};

static struct asker askers[8];

static void hear_done(struct h2_ping *ping, int64_t rtt_ns, const char *why)
{
    struct asker *a = container_of(ping, struct asker, ping);
    a->told++;
    a->rtt_ns = rtt_ns;
    ck_assert_int_eq(why != NULL, rtt_ns < 0);
    a->why[0] = '\0';
    if (why != NULL) {
        strncat(a->why, why, sizeof(a->why) - 1);
    }
    a->was_busy = t->session.is_busy;
    a->closed_before = told.closed;
    if (a->asks_again > 0) {
        a->asks_again--;
        a->again_rc = h2_transport_ping(t, ping);
    }
}

static struct asker *ask(unsigned n)
{
    struct asker *a = &askers[n];
    memset(a, 0, sizeof(*a));
    h2_ping_init(&a->ping, hear_done);
    ck_assert_int_eq(h2_transport_ping(t, &a->ping), LULL_OK);
    return a;
}

static void begin(void)
{
    world_begin();
    (void)world_ready(0);
}

START_TEST(ping_goes_out_in_this_turn_and_its_round_trip_is_told)
{
    struct asker *a;
    struct sent_frame frame;
    begin();
    go_to(MS(100));
    a = ask(0);
    ck_assert_uint_eq(pings(), 0);
    run();
    ck_assert_uint_eq(pings(), 1);
    ck_assert(ping_frame(0, &frame));
    ck_assert_uint_eq(frame.len, 8);
    ck_assert_uint_eq(frame.id, 0);
    ck_assert_uint_eq(counters().pings_sent, 1);
    go_to(MS(100) + 12345);
    ack(0);
    ck_assert_uint_eq(a->told, 1);
    ck_assert_int_eq(a->rtt_ns, 12345);
    ck_assert(!a->was_busy);
    go_to(MS(1000));
    ck_assert_uint_eq(a->told, 1);
    ck_assert_uint_eq(counters().timer_arms, 0);
    world_end();
}
END_TEST

/* scenario 148 */
START_TEST(all_who_ask_share_one_ping)
{
    begin();
    (void)ask(0);
    (void)ask(1);
    run();
    go_to(500);
    (void)ask(2);
    run();
    ck_assert_uint_eq(pings(), 1);
    go_to(700);
    ack(0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(askers[i].told, 1);
        ck_assert_int_eq(askers[i].rtt_ns, 700); /* of the PING, whoever joined when */
    }
    (void)ask(3);
    run();
    ck_assert_uint_eq(pings(), 2);
    ack(0); /* once more: nobody's */
    ck_assert_uint_eq(askers[3].told, 0);
    ack(1);
    ck_assert_uint_eq(askers[3].told, 1);
    ack(1);
    ck_assert_uint_eq(ping_stats().acked, 2);
    world_end();
}
END_TEST

/* scenario 54 */
START_TEST(foreign_payload_completes_nothing_and_is_life)
{
    struct asker *a;
    struct sent_frame frame;
    uint8_t other[8];
    begin_keepalive(1000, 2000, false);
    (void)world_ready(1);
    go_to(1000);
    ck_assert_uint_eq(pings(), 1);
    a = ask(0);
    run();
    ck_assert_uint_eq(pings(), 2);
    ck_assert(ping_frame(1, &frame));
    go_to(1100);
    say_ack("\1\2\3\4\5\6\7\x08");
    for (size_t i = 0; i < 8; i++) {
        memcpy(other, frame.payload, 8);
        other[i] ^= 0x40;
        say_ack(other);
    }
    ck_assert_uint_eq(a->told, 0);
    ck_assert_uint_eq(ping_stats().acked, 0);
    ck_assert_int_eq(due_at(), 2100); /* keepalive is content */
    world_end();
}
END_TEST

/* Payloads can be guessed; an ACK of what has not been written is nobody's. */
START_TEST(ack_before_the_ping_is_ignored)
{
    struct asker *a;
    struct sent_frame frame;
    uint8_t next[8];
    begin();
    (void)ask(0);
    run();
    ck_assert(ping_frame(0, &frame));
    memcpy(next, frame.payload, 8);
    next[7]++;
    ack(0);
    say_ack(next);
    a = ask(1);
    say_frame(6, 1, 0, next, 8);
    run_turn(); /* read before the flush */
    ck_assert_uint_eq(a->told, 0);
    run();
    ck_assert_uint_eq(pings(), 2);
    ck_assert_uint_eq(a->told, 0);
    say_ack(next);
    ck_assert_uint_eq(a->told, 1);
    world_end();
}
END_TEST

/* scenario 53 */
START_TEST(keepalive_joins_the_users_ping)
{
    struct asker *a;
    struct lull_keepalive_stats policy;
    begin_keepalive(1000, 2000, false);
    (void)world_ready(1);
    go_to(900);
    a = ask(0);
    run();
    go_to(1000);
    ck_assert_uint_eq(pings(), 1);
    ck_assert_int_eq(due_at(), 3000);
    go_to(1250);
    ack(0);
    ck_assert_uint_eq(a->told, 1);
    ck_assert_int_eq(a->rtt_ns, 350);
    ck_assert_int_eq(due_at(), 2250);
    ck_assert_uint_eq(ping_stats().sent, 1);
    ck_assert_uint_eq(ping_stats().acked, 1);
    ck_assert_int_eq(ping_stats().last_rtt_ns, 350);
    go_to(2250); /* and then one of its own */
    ck_assert_uint_eq(pings(), 2);
    (void)ask(1);
    run();
    ack(2);
    lull_keepalive_stats(&t->keepalive.keepalive, &policy);
    ck_assert_uint_eq(policy.pings_sent, 2);
    ck_assert_uint_eq(policy.pings_acked, 1); /* the user's second one is not its */
    world_end();
}
END_TEST

START_TEST(joined_ping_is_judged_like_keepalives_own)
{
    begin_keepalive(1000, 2000, false);
    (void)world_ready(1);
    go_to(900);
    (void)ask(0);
    go_to(2999);
    ck_assert_uint_eq(told.closed, 0);
    go_to(3000);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_int_eq(askers[0].rtt_ns, -1);
    ck_assert_str_eq(askers[0].why, told.end.text);
    world_end();
}
END_TEST

/* scenario 149: payloads of the kinds differ, and one's ACK is not the other's */
START_TEST(keepalives_ack_is_not_the_users)
{
    struct asker *a;
    begin_keepalive(1000, 2000, false);
    (void)world_ready(1);
    go_to(1000);
    a = ask(0);
    run();
    ck_assert_uint_eq(pings(), 2);
    go_to(1010);
    ack(0);
    ck_assert_uint_eq(a->told, 0);
    go_to(1020);
    ack(1);
    ck_assert_int_eq(a->rtt_ns, 20);
    world_end();
}
END_TEST

START_TEST(drain_has_a_ping_of_its_own)
{
    struct asker *user;
    struct asker *drain = &askers[1];
    struct sent_frame a;
    struct sent_frame b;
    begin();
    user = ask(0);
    memset(drain, 0, sizeof(*drain));
    h2_ping_init(&drain->ping, hear_done);
    ck_assert_int_eq(ping_for_drain(t, &drain->ping), LULL_OK);
    run();
    ck_assert_uint_eq(pings(), 1); /* it waits for its GOAWAY */
    ping_on_notice_framed(t);
    run();
    ck_assert(ping_frame(0, &a) && ping_frame(1, &b));
    ck_assert_mem_ne(a.payload, b.payload, 8);
    ack(1);
    ck_assert_uint_eq(drain->told, 1);
    ck_assert_uint_eq(user->told, 0);
    world_end();
}
END_TEST

/* scenario 150 */
START_TEST(close_fails_the_ping_from_a_task)
{
    struct asker *a;
    begin();
    a = ask(0);
    run();
    a->asks_again = 1;
    h2_transport_close(t, 0, "enough");
    ck_assert_uint_eq(a->told, 0);
    run();
    ck_assert_uint_eq(a->told, 1);
    ck_assert_int_lt(a->rtt_ns, 0);
    ck_assert_str_eq(a->why, "closed by us: enough");
    ck_assert_uint_eq(a->closed_before, 0);
    ck_assert_int_eq(a->again_rc, LULL_RC_CLOSED);
    world_end();
}
END_TEST

/* The answer was read in the turn in which the connection ended: it counts. */
START_TEST(answer_before_the_end_is_an_answer)
{
    struct asker *a;
    struct sent_frame frame;
    begin();
    a = ask(0);
    run();
    ck_assert(ping_frame(0, &frame));
    say_frame(6, 1, 0, frame.payload, 8);
    hang_up();
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_uint_eq(a->told, 1);
    ck_assert_int_eq(a->rtt_ns, 0);
    world_end();
}
END_TEST

/* The turn's share of tasks ends between the two: nothing is told of a connection that is freed. */
START_TEST(ping_is_told_before_the_end_whatever_the_budget)
{
    begin();
    (void)open_call(0);
    (void)ask(0);
    (void)ask(1);
    run();
    h2_stream_reset(&calls[0].stream, 8); /* so that the report of ends is queued first */
    h2_transport_close(t, 0, "enough");
    x->task_budget = 1;
    run_turn();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_uint_eq(askers[0].told + askers[1].told, 2);
    x->task_budget = 1024;
    world_end();
}
END_TEST

START_TEST(cancelled_ping_is_told_nothing)
{
    begin();
    (void)ask(0);
    (void)ask(1);
    run();
    h2_ping_cancel(&askers[0].ping);
    h2_ping_cancel(&askers[0].ping);
    ack(0);
    ck_assert_uint_eq(askers[0].told, 0);
    ck_assert_uint_eq(askers[1].told, 1);
    ck_assert_uint_eq(ping_stats().acked, 1);
    world_end();
}
END_TEST

START_TEST(callback_may_ask_again)
{
    struct asker *a;
    begin();
    a = ask(0);
    a->asks_again = 3;
    run();
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(pings(), i + 1);
        ack(i);
    }
    ck_assert_uint_eq(a->told, 4);
    ck_assert_uint_eq(pings(), 4);
    world_end();
}
END_TEST

static unsigned watched_sent, watched_acked;
static int64_t watched_rtt_ns;

static void watch(struct h2_transport *transport, int64_t rtt_ns)
{
    ck_assert_ptr_eq(transport, t);
    watched_sent += rtt_ns < 0;
    watched_acked += rtt_ns >= 0;
    watched_rtt_ns = rtt_ns;
}

START_TEST(stats_keep_the_extremes_and_the_late_ones)
{
    static const int64_t rtts[] = {300, 100, 2001, 2000};
    begin_keepalive(100000, 2000, false);
    (void)world_ready(0);
    watched_sent = 0;
    watched_acked = 0;
    h2_transport_watch_pings(t, watch);
    ck_assert_int_eq(ping_stats().last_rtt_ns, LULL_NEVER);
    ck_assert_int_eq(ping_stats().min_rtt_ns, LULL_NEVER);
    ck_assert_int_eq(ping_stats().max_rtt_ns, LULL_NEVER);
    for (unsigned i = 0; i < 4; i++) {
        (void)ask(0);
        run();
        ck_assert_uint_eq(watched_sent, i + 1);
        go_to(clock_.mono_at.ns + rtts[i]);
        ack(i);
        ck_assert_int_eq(watched_rtt_ns, rtts[i]);
    }
    ck_assert_uint_eq(watched_acked, 4);
    ck_assert_uint_eq(ping_stats().sent, 4);
    ck_assert_uint_eq(ping_stats().acked, 4);
    ck_assert_uint_eq(ping_stats().late, 1);
    ck_assert_int_eq(ping_stats().last_rtt_ns, 2000);
    ck_assert_int_eq(ping_stats().min_rtt_ns, 100);
    ck_assert_int_eq(ping_stats().max_rtt_ns, 2001);
    world_end();
}
END_TEST

/* Data kept the connection while the first answer was on its way, and a second PING had gone out. */
START_TEST(answer_after_a_newer_ping_is_late)
{
    begin_keepalive(1000, 2000, false);
    (void)world_ready(1);
    go_to(1500);
    say_something();
    go_to(2500);
    ck_assert_uint_eq(pings(), 2);
    ack(0);
    ck_assert_uint_eq(ping_stats().late, 1);
    ck_assert_uint_eq(ping_stats().acked, 1);
    ck_assert_int_eq(ping_stats().last_rtt_ns, LULL_NEVER);
    go_to(2510);
    ack(1);
    ck_assert_uint_eq(ping_stats().acked, 2);
    ck_assert_int_eq(ping_stats().last_rtt_ns, 10);
    ack(0);
    ck_assert_uint_eq(ping_stats().acked, 2);
    world_end();
}
END_TEST

/* One run with keepalive and a user's ping, from whose n-th allocation on (-1: none) there is no memory. The number of allocations. */
static long live(struct counting_allocator *memory, long fail_from)
{
    struct h2_transport_options options = world_options();
    struct asker *a = &askers[0];
    int rc = LULL_RC_NOMEM;
    options.keepalive.time_ns = 1000;
    options.keepalive.timeout_ns = 2000;
    counting_init(memory);
    world_begin_as(&options, (struct pipe_options){0}, &memory->base);
    (void)world_ready(1);
    memset(a, 0, sizeof(*a));
    h2_ping_init(&a->ping, hear_done);
    /* What is kept for reuse would be no allocation, and so could not fail. */
    executor_trim(x);
    memory->asked = 0;
    memory->fail_from = fail_from;
    go_to(1000);
    if (t != NULL) {
        rc = h2_transport_ping(t, &a->ping);
    }
    run();
    const long used = memory->asked;
    memory->fail_from = -1;
    if (t != NULL) {
        h2_transport_close(t, 0, "done");
        run();
    }
    ck_assert_uint_eq(a->told, rc == LULL_OK);
    world_end();
    ck_assert_int_eq(memory->live, 0);
    return used;
}

START_TEST(each_allocation_may_fail)
{
    struct counting_allocator memory;
    const long all = live(&memory, -1);
    unsigned lost = 0;
    ck_assert_int_ge(all, 2);
    for (long i = 0; i < all; i++) {
        (void)live(&memory, i);
        lost += told.end.kind == H2_LOST_NOMEM;
    }
    ck_assert_uint_ge(lost, 1); /* keepalive's; the user's only fails */
}
END_TEST

static Suite *ping_suite(void)
{
    Suite *suite = suite_create("ping");
    TCase *tc = tcase_create("ping");
    tcase_add_test(tc, ping_goes_out_in_this_turn_and_its_round_trip_is_told);
    tcase_add_test(tc, all_who_ask_share_one_ping);
    tcase_add_test(tc, foreign_payload_completes_nothing_and_is_life);
    tcase_add_test(tc, ack_before_the_ping_is_ignored);
    tcase_add_test(tc, keepalive_joins_the_users_ping);
    tcase_add_test(tc, joined_ping_is_judged_like_keepalives_own);
    tcase_add_test(tc, keepalives_ack_is_not_the_users);
    tcase_add_test(tc, drain_has_a_ping_of_its_own);
    tcase_add_test(tc, close_fails_the_ping_from_a_task);
    tcase_add_test(tc, answer_before_the_end_is_an_answer);
    tcase_add_test(tc, ping_is_told_before_the_end_whatever_the_budget);
    tcase_add_test(tc, cancelled_ping_is_told_nothing);
    tcase_add_test(tc, callback_may_ask_again);
    tcase_add_test(tc, stats_keep_the_extremes_and_the_late_ones);
    tcase_add_test(tc, answer_after_a_newer_ping_is_late);
    tcase_add_test(tc, each_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("ping", ping_suite)
