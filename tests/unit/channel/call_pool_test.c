/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_pool.c: what calls leave is there once an executor, and what a channel beside others costs.
 */
#include "channel/call_pool.h"

#include "exec/executor.h"
#include "rig.h"
#include "tests/support/check_main.h"

/* What README says of a channel that sleeps. */
#define ASLEEP_BYTES_MAX 2048

static struct rig rig;
static struct rig_call call;

/* One more on the same executor; returns the one before. */
static struct lull_channel *open_another(void)
{
    struct lull_channel *before = rig.channel;
    rig_open(&rig);
    return before;
}

static uint64_t calls_from_the_allocator(void)
{
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    lull_recycler_stats(rig.channel->pool->calls, &stats);
    return stats.claims_allocated;
}

static void make_a_call(void)
{
    rig_call_with(&rig, &call, LULL_SECOND, true);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
}

START_TEST(a_channel_that_sleeps_beside_another_costs_two_kib)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    const uint64_t before = rig.memory.live_bytes;
    struct lull_channel *first = open_another();
    ck_assert_uint_le(rig.memory.live_bytes - before, ASLEEP_BYTES_MAX);
    lull_channel_unref(first);
    rig_fini(&rig);
}
END_TEST

START_TEST(channels_of_one_executor_share_what_calls_leave)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    make_a_call();
    ck_assert_uint_eq(calls_from_the_allocator(), 1);
    struct lull_channel *first = open_another();
    make_a_call();
    ck_assert_ptr_eq(rig.channel->pool, first->pool);
#ifdef LULL_NO_POOL
    ck_assert_uint_eq(calls_from_the_allocator(), 2); /* each claim is a block of its own (RULINGS 26) */
#else
    ck_assert_uint_eq(calls_from_the_allocator(), 1);
#endif
    ck_assert_uint_eq(rig.channel->arenas->kept, 1);
    lull_channel_unref(first);
    rig_fini(&rig);
}
END_TEST

/* Until somebody sleeps, or the loop goes. */
START_TEST(the_pool_stays_behind_the_last_channel)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    make_a_call();
    struct lull_channel *first = open_another();
    lull_channel_close(first);
    lull_channel_unref(first);
    rig_settle(&rig);
    struct call_pool *pool = rig.channel->pool;
    ck_assert_uint_eq(pool->share.users, 1);
    make_a_call();
    lull_channel_close(rig.channel);
    lull_channel_unref(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(pool->share.users, 0);
    rig_open(&rig);
    ck_assert_ptr_eq(rig.channel->pool, pool);
    make_a_call();
    rig_fini(&rig);
}
END_TEST

/* A failure takes memory while it is told, and none before or after. */
START_TEST(a_failure_is_forgotten_with_its_memory)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    const uint64_t before = rig.memory.live_bytes;
    struct lull_channel *first = open_another();
    const uint64_t born = rig.memory.live_bytes;
    subchannel_forget_last(&rig.channel->subchannel);
    ck_assert_uint_eq(rig.memory.live_bytes, born);
    struct subchannel_failure *failure = subchannel_note(&rig.channel->subchannel, &rig.channel->subchannel.so_far);
    ck_assert_ptr_nonnull(failure);
    ck_assert_uint_ge(rig.memory.live_bytes, born + sizeof(*failure));
    subchannel_keep_so_far(&rig.channel->subchannel);
    ck_assert_ptr_eq(subchannel_last_failure(&rig.channel->subchannel), failure);
    ck_assert_str_eq(subchannel_so_far(&rig.channel->subchannel)->reason, "");
    subchannel_forget_last(&rig.channel->subchannel);
    ck_assert_uint_eq(rig.memory.live_bytes, born);
    ck_assert_uint_gt(born, before);
    lull_channel_unref(first);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_failure_without_memory_says_so)
{
    rig_start(&rig, RIG_ACCEPT, 0);
    struct subchannel *sub = &rig.channel->subchannel;
    rig.memory.fail_at = rig.memory.asked + 1;
    ck_assert_ptr_null(subchannel_note(sub, &sub->so_far));
    ck_assert_str_eq(subchannel_so_far(sub)->reason, "no memory to say why");
    /* What comes later is not written into what all share. */
    ck_assert_ptr_null(subchannel_note(sub, &sub->so_far));
    subchannel_keep_so_far(sub);
    ck_assert_str_eq(subchannel_last_failure(sub)->reason, "no memory to say why");
    subchannel_forget_last(sub);
    ck_assert_str_eq(subchannel_last_failure(sub)->reason, "");
    rig_fini(&rig);
}
END_TEST

static Suite *call_pool_suite(void)
{
    Suite *suite = suite_create("call_pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_test(tcase, a_channel_that_sleeps_beside_another_costs_two_kib);
    tcase_add_test(tcase, channels_of_one_executor_share_what_calls_leave);
    tcase_add_test(tcase, the_pool_stays_behind_the_last_channel);
    tcase_add_test(tcase, a_failure_is_forgotten_with_its_memory);
    tcase_add_test(tcase, a_failure_without_memory_says_so);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_pool", call_pool_suite)
