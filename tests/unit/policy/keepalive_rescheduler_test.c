/* SPDX-License-Identifier: MIT */
/*
 * The keepalive arithmetic on a Rescheduler, an executor and the fake clock: what a transport's
 * glue does, without a transport. The peer is a struct that answers or does not.
 */
#include "lull/clock.h"
#include "lull/executor.h"
#include "lull/keepalive.h"
#include "lull/rescheduler.h"

#include "tests/support/check_main.h"
#include "tests/support/must.h"

#define MS(x) ((x)*LULL_MS)

struct owner {
    struct lull_rescheduler wake; /* first field: the callback casts back */
    struct lull_keepalive keepalive;
    struct lull_fake_clock clock;
    struct lull_executor *executor;
    int pings;
    int deaths;
    int64_t ping_ms;
    int64_t death_ms;
    bool is_answering; /* the ack of a ping waits in the socket before the next judgement */
    bool has_unread;
    bool has_both_in_one_turn;
};

static void carry_out(struct owner *owner, struct lull_keepalive_step step, struct lull_instant now)
{
    if (step.action == LULL_KEEPALIVE_SEND_PING) {
        owner->pings++;
        owner->ping_ms = now.ns / LULL_MS;
        owner->has_unread = owner->is_answering;
    } else if (step.action == LULL_KEEPALIVE_PEER_IS_DEAD) {
        owner->has_both_in_one_turn = owner->ping_ms == now.ns / LULL_MS;
        owner->deaths++;
        owner->death_ms = now.ns / LULL_MS;
    }
    lull_rescheduler_set(&owner->wake, step.next_at);
}

static void keepalive_expired(struct lull_rescheduler *rescheduler, struct lull_instant now)
{
    struct owner *owner = (struct owner *)(void *)rescheduler;
    if (owner->has_unread) { /* the transport's duty: read before judging */
        owner->has_unread = false;
        lull_keepalive_on_read(&owner->keepalive, now);
    }
    carry_out(owner, lull_keepalive_on_timer(&owner->keepalive, now), now);
}

static void open_owner(struct owner *owner, int64_t time_ns, int64_t timeout_ns)
{
    struct lull_executor_options options;
    struct lull_keepalive_options keepalive;
    *owner = (struct owner){.ping_ms = -1};
    lull_fake_clock_init(&owner->clock, 0, 0);
    lull_executor_options_init(&options);
    options.clock = &owner->clock.base;
    ck_assert_int_eq(lull_executor_new(&options, &owner->executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(owner->executor, &owner->clock), LULL_OK);
    lull_keepalive_options_init(&keepalive);
    keepalive.time_ns = time_ns;
    keepalive.timeout_ns = timeout_ns;
    ck_assert_int_eq(lull_keepalive_init(&owner->keepalive, &keepalive), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(owner->executor), LULL_OK);
    ck_assert_int_eq(lull_rescheduler_init(&owner->wake, owner->executor, keepalive_expired),
                     LULL_OK);
    struct lull_instant now = lull_executor_now(owner->executor);
    carry_out(owner, lull_keepalive_on_transport_opened(&owner->keepalive, now), now);
    lull_executor_leave(owner->executor);
}

static void close_owner(struct owner *owner)
{
    ck_assert_int_eq(lull_executor_enter(owner->executor), LULL_OK);
    lull_rescheduler_fini(&owner->wake);
    lull_executor_leave(owner->executor);
    lull_fake_clock_drop(&owner->clock, owner->executor);
    lull_executor_free(owner->executor);
}

enum fact { READ, OPENED, LAST_CLOSED };

static void tell(struct owner *owner, enum fact fact)
{
    MUST_MSG(lull_executor_enter(owner->executor) == LULL_OK, "inside a turn");
    struct lull_instant now = lull_executor_now(owner->executor);
    struct lull_keepalive_step step = fact == READ ? lull_keepalive_on_read(&owner->keepalive, now)
                                      : fact == OPENED
                                          ? lull_keepalive_on_stream_opened(&owner->keepalive, now)
                                          : lull_keepalive_on_last_stream_closed(&owner->keepalive);
    carry_out(owner, step, now);
    lull_executor_leave(owner->executor);
}

static struct lull_counters counters_of(const struct owner *owner)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(owner->executor, &counters);
    return counters;
}

/* scenario 50 */
START_TEST(steady_data_costs_one_timer_operation_a_period)
{
    struct owner owner;
    open_owner(&owner, MS(10000), MS(20000));
    tell(&owner, OPENED);
    for (int i = 0; i < 36000; i++) {
        lull_fake_clock_advance(&owner.clock, MS(100));
        tell(&owner, READ);
    }
    ck_assert_int_eq(owner.pings, 0);
    ck_assert_uint_ge(counters_of(&owner).timer_arms, 355);
    ck_assert_uint_le(counters_of(&owner).timer_arms, 365);
    ck_assert_uint_eq(counters_of(&owner).timer_disarms, 0);
    close_owner(&owner);
}
END_TEST

/* scenario 42 */
START_TEST(gap_without_streams_keeps_the_same_timer)
{
    struct owner owner;
    open_owner(&owner, MS(10000), MS(20000));
    tell(&owner, OPENED);
    lull_fake_clock_advance(&owner.clock, MS(3000));
    tell(&owner, READ);
    tell(&owner, LAST_CLOSED);
    tell(&owner, OPENED);
    ck_assert_uint_eq(counters_of(&owner).timer_arms, 1);
    ck_assert_uint_eq(counters_of(&owner).timers_armed, 1);
    lull_fake_clock_advance(&owner.clock, MS(9999));
    ck_assert_int_eq(owner.pings, 0);
    lull_fake_clock_advance(&owner.clock, MS(1));
    ck_assert_int_eq(owner.pings, 1);
    ck_assert_int_eq(owner.ping_ms, 13000);
    close_owner(&owner);
}
END_TEST

START_TEST(answering_peer_is_pinged_for_ever_and_never_killed)
{
    struct owner owner;
    open_owner(&owner, MS(10000), MS(20000));
    owner.is_answering = true;
    tell(&owner, OPENED);
    lull_fake_clock_advance(&owner.clock, 1000 * LULL_SECOND);
    ck_assert_int_ge(owner.pings, 30);
    ck_assert_int_eq(owner.deaths, 0);
    close_owner(&owner);
}
END_TEST

/* BEHAVIOUR 2.5: everything overdue at once after a stall */
START_TEST(stall_pings_first_and_kills_in_a_later_turn_only)
{
    struct owner owner;
    open_owner(&owner, MS(10000), MS(20000));
    tell(&owner, OPENED);
    lull_fake_clock_jump(&owner.clock, 3600 * LULL_SECOND);
    ck_assert_int_eq(owner.pings, 1);
    ck_assert_int_eq(owner.deaths, 0);
    lull_fake_clock_jump(&owner.clock, 3600 * LULL_SECOND);
    ck_assert_int_eq(owner.deaths, 1);
    ck_assert(!owner.has_both_in_one_turn);
    lull_fake_clock_advance(&owner.clock, 3600 * LULL_SECOND);
    ck_assert_int_eq(owner.pings, 1);
    ck_assert_int_eq(owner.deaths, 1);
    ck_assert_uint_eq(counters_of(&owner).timers_armed, 0);
    close_owner(&owner);
}
END_TEST

START_TEST(stall_over_the_ack_reads_before_it_judges)
{
    struct owner owner;
    open_owner(&owner, MS(10000), MS(20000));
    owner.is_answering = true;
    tell(&owner, OPENED);
    lull_fake_clock_advance(&owner.clock, MS(10000));
    ck_assert_int_eq(owner.pings, 1);
    lull_fake_clock_jump(&owner.clock, 3600 * LULL_SECOND);
    ck_assert_int_eq(owner.deaths, 0);
    close_owner(&owner);
}
END_TEST

static Suite *keepalive_rescheduler_suite(void)
{
    Suite *suite = suite_create("keepalive_rescheduler");
    TCase *tc = tcase_create("keepalive_rescheduler");
    tcase_add_test(tc, steady_data_costs_one_timer_operation_a_period);
    tcase_add_test(tc, gap_without_streams_keeps_the_same_timer);
    tcase_add_test(tc, answering_peer_is_pinged_for_ever_and_never_killed);
    tcase_add_test(tc, stall_pings_first_and_kills_in_a_later_turn_only);
    tcase_add_test(tc, stall_over_the_ack_reads_before_it_judges);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_rescheduler", keepalive_rescheduler_suite)
