/* SPDX-License-Identifier: MIT */
/*
 * What a call costs, counted: timer-queue work, memory, writes, tasks.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "h2/inner.h"
#include "rig.h"
#include "tests/support/check_main.h"
#include "tests/support/must.h"
#include "tests/support/rounds.h"
#include "time/timerq.h"

#define WARM_UP 50
#define STEADY  1000

static struct rig rig;
static struct rig_call call;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.wants_trace = false;
    rig_open(&rig);
}

static void one_call(int64_t timeout_ns)
{
    rig_call_with(&rig, &call, timeout_ns, false);
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_int_eq(call.code, LULL_CODE_OK);
}

/* What nghttp2 has asked of us since the connection was made. */
static uint64_t nghttp2_blocks(void)
{
    return rig.channel->subchannel.current->transport->session.blocks;
}

/* `asked` is the allocator's own count: what lies under the counters, and cannot be told wrong by them. */
static void expect_no_memory(const struct lull_counters *before, const struct lull_counters *after,
                             uint64_t asked)
{
    const uint64_t misses = after->pool_misses - before->pool_misses;
#ifdef LULL_NO_POOL
    /* Without the pool each claim is a block of its own (RULINGS 26), and there is no other. */
    ck_assert_uint_eq(misses, after->pool_claims - before->pool_claims);
#else
    ck_assert_uint_eq(misses, 0);
#endif
    ck_assert_uint_eq(after->allocations - before->allocations, misses);
    ck_assert_uint_eq(asked, misses);
}

START_TEST(a_steady_call_with_a_deadline_costs_no_timer_and_no_memory)
{
    begin();
    for (int i = 0; i < WARM_UP; i++) {
        one_call(LULL_SECOND);
    }
    struct lull_counters before = rig_counters(&rig);
    uint64_t reads = rig_peer(&rig, 0)->reads;
    uint64_t asked = rig.memory.asked;
    uint64_t theirs = nghttp2_blocks();
    for (int i = 0; i < STEADY; i++) {
        one_call(LULL_SECOND);
    }
    theirs = nghttp2_blocks() - theirs;
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(after.timer_arms - before.timer_arms, 0);
    ck_assert_uint_eq(after.timer_disarms - before.timer_disarms, 0);
    ck_assert_uint_eq(after.timer_fires - before.timer_fires, 0);
    ck_assert_uint_eq(after.calls_closed - before.calls_closed, STEADY);
    expect_no_memory(&before, &after, rig.memory.asked - asked);
    /* One claim for the call, one for its message, and all of nghttp2's: it has some for each call. */
    ck_assert_uint_ge(theirs, STEADY);
    ck_assert_uint_eq(after.pool_claims - before.pool_claims, 2 * STEADY + theirs);
    ck_assert_uint_eq(after.pings_sent, 0);
    /* A call is one write: HEADERS, DATA and END_STREAM in one flush. */
    ck_assert_uint_eq(rig_peer(&rig, 0)->reads - reads, STEADY);
    /* Its start, the pump, and the work that calls done. */
    ck_assert_uint_le(after.posts - before.posts, 3 * STEADY);
    ck_assert_uint_eq(after.submits - before.submits, STEADY);
    ck_assert_uint_le(after.turns - before.turns, 2 * STEADY);
    ck_assert_uint_le(after.clock_reads - before.clock_reads, STEADY);
    rig_fini(&rig);
}
END_TEST

/* As many as C14 says. */
static int calls_of_c14(void)
{
    return (int)test_rounds(100000, 5000);
}

static uint32_t asked;

static void note_request(struct peer *peer, uint32_t stream, void *ctx)
{
    (void)peer;
    (void)ctx;
    asked = stream;
}

/* The answer takes 1 ms. */
static void one_slow_call(int64_t timeout_ns)
{
    rig_call_with(&rig, &call, timeout_ns, false);
    rig_settle(&rig);
    MUST(call.done == 0);
    MUST(rig_counters(&rig).timers_armed <= 2);
    rig_advance(&rig, LULL_MS);
    peer_answer(rig_peer(&rig, 0), asked, "hello");
    rig_settle(&rig);
    MUST(call.done == 1 && call.code == LULL_CODE_OK);
}

/* C14, scenario 289 */
START_TEST(finished_calls_leave_nothing_behind)
{
    begin();
    rig.on_request = note_request; /* before anything is dialled */
    one_slow_call(3600 * LULL_SECOND);
    one_slow_call(3600 * LULL_SECOND);
    uint64_t live_bytes = rig.memory.live_bytes;
    int calls = calls_of_c14();
    for (int i = 0; i < calls; i++) {
        one_slow_call(3600 * LULL_SECOND);
        MUST(rig_counters(&rig).timers_armed <= 2);
    }
    ck_assert_uint_le(executor_timerq(rig.executor)->capacity, 64);
    int64_t grown = (int64_t)(rig.memory.live_bytes - live_bytes);
    ck_assert_msg(grown <= 65536 && grown >= -65536, "%lld bytes", (long long)grown);
    ck_assert_uint_eq(rig_counters(&rig).calls_closed, (uint64_t)calls + 2);
    ck_assert_int_eq(rig_now(&rig), (calls + 2) * LULL_MS);
    ck_assert_uint_le(rig_counters(&rig).timer_arms, 3);
    rig_fini(&rig);
}
END_TEST

/* Many at once: the queue's slots are reserved and given back, arms stay with the lanes. */
START_TEST(a_burst_of_calls_shares_one_timer)
{
    static struct rig_call burst[500];
    begin();
    one_call(LULL_SECOND);
    uint64_t arms = rig_counters(&rig).timer_arms;
    uint64_t reads = rig_peer(&rig, 0)->reads;
    memset(burst, 0, sizeof(burst));
    for (size_t i = 0; i < 500; i++) {
        rig_call_with(&rig, &burst[i], LULL_SECOND, false);
    }
    rig_settle(&rig);
    for (size_t i = 0; i < 500; i++) {
        rig_expect(&burst[i], LULL_CODE_OK, 0);
    }
    ck_assert_uint_eq(rig_counters(&rig).timer_arms, arms);
    ck_assert_uint_le(rig_peer(&rig, 0)->reads - reads, 4);
    rig_fini(&rig);
}
END_TEST

static Suite *call_cost_suite(void)
{
    Suite *suite = suite_create("call_cost");
    TCase *tcase = tcase_create("call_cost");
    tcase_set_timeout(tcase, 600);
    tcase_add_test(tcase, a_steady_call_with_a_deadline_costs_no_timer_and_no_memory);
    tcase_add_test(tcase, finished_calls_leave_nothing_behind);
    tcase_add_test(tcase, a_burst_of_calls_shares_one_timer);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_cost", call_cost_suite)
