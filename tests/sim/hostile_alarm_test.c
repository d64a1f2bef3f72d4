/* SPDX-License-Identifier: MIT */
/*
 * Calls with timeouts on a host whose alarms are hostile (RULINGS 18), in the simulated world: the client's executor is driven by the
 * host's turns and alarms alone, on a fake clock, so that instants are exact. Every mixture of hostilities, a few seeds each: nothing
 * fires early, lateness is the host's, each call ends once, a refused alarm fails exactly those who had counted on it, and no alarm is
 * left at the end.
 */
#include <string.h>

#include "exec/executor.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/hostile_alarm.h"
#include "tests/support/rounds.h"

#define CALLS     40
#define BITES_MAX 400
#define READ_NS   MS(120)

static struct life life;
static struct hostile_alarm alarm_;
static bool is_turn_wanted;

/* A refusal that left somebody without an alarm. */
struct bite {
    int64_t at_ns;
    struct lull_instant standing_at;
};

static struct bite bites[BITES_MAX];
static size_t bite_count;

/* ---- the host */

static int watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    (void)loop;
    (void)w;
    (void)want;
    return 0;
}

static int alarm_at(struct lull_loop *loop, struct lull_instant at)
{
    const struct lull_instant now = life.sim.clock.mono_at;
    const int is_refused = hostile_alarm_set(&alarm_, now, at);
    if (at.ns != LULL_NEVER && hostile_alarm_calls_inside(&alarm_)) {
        ck_assert_int_eq(lull_loop_on_alarm(loop), LULL_RC_IN_TURN);
    }
    if (is_refused && lull_instant_before(at, alarm_.counted_on)) {
        ck_assert_uint_lt(bite_count, BITES_MAX);
        bites[bite_count++] = (struct bite){sim_elapsed_ns(&life.sim), alarm_.counted_on};
    }
    return is_refused;
}

static void want_turn(struct lull_loop *loop)
{
    (void)loop;
    is_turn_wanted = true;
}

static const struct lull_loop_ops ops = {.watch = watch, .alarm = alarm_at, .wake = want_turn, .soon = want_turn};

static struct lull_instant sooner(struct lull_instant a, struct lull_instant b)
{
    return lull_instant_before(a, b) ? a : b;
}

/* All that happens until then, each at its instant. */
static void run_to(int64_t at_ns)
{
    const struct lull_instant end_at = lull_instant_add(life.sim.clock.mono_at, at_ns - sim_elapsed_ns(&life.sim));
    for (unsigned steps = 0;; steps++) {
        ck_assert_uint_lt(steps, 1000000);
        const struct lull_instant now = life.sim.clock.mono_at;
        lull_fake_clock_settle(&life.sim.clock);
        if (is_turn_wanted) {
            is_turn_wanted = false;
            ck_assert_int_eq(lull_executor_turn_now(sim_executor(&life.sim)), LULL_OK);
        } else if (hostile_alarm_take(&alarm_, now)) {
            ck_assert_int_eq(lull_loop_on_alarm(&life.sim.loop), LULL_OK);
        } else if (now.ns == end_at.ns) {
            return;
        } else {
            const struct lull_instant next = sooner(
                end_at, sooner(hostile_alarm_next(&alarm_), lull_executor_next_at(life.sim.peers)));
            lull_fake_clock_advance(&life.sim.clock, lull_instant_diff(next, now));
        }
    }
}

static void begin(uint64_t seed, bool has_read_timeout)
{
    memset(&life, 0, sizeof(life));
    is_turn_wanted = false;
    bite_count = 0;
    life_begin(&life, seed);
    life.peer.reply_after_ns = MS(40);
    life.peer.reply_jitter_ns = MS(260);
    life.options.read_timeout_ns = has_read_timeout ? READ_NS : 0;
    lull_fake_clock_drop(&life.sim.clock, sim_executor(&life.sim));
    life.sim.loop.ops = &ops;
    hostile_alarm_init(&alarm_, 0, 0, seed);
    life_open(&life);
    (void)lull_channel_state(life.channel, true);
    run_to(MS(50));
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
}

static void end(void)
{
    lull_channel_close(life.channel);
    run_to(MS(5000));
    /* What is left is the fixture's to check. */
    ck_assert_int_eq(lull_executor_attach(sim_executor(&life.sim), &life.sim.clock), LULL_OK);
    life_end(&life);
    ck_assert_uint_eq(alarm_.count, 0);
    ck_assert_int_eq(alarm_.counted_on.ns, LULL_NEVER);
}

/* ---- the calls */

static struct {
    struct life_call call;
    int64_t started_ns;
    int64_t due_ns;
} all[CALLS];

static unsigned ok, expired, refused;

static void start_all(uint64_t seed, bool has_read_timeout)
{
    static const int64_t timeouts_ns[] = {MS(70), MS(100), MS(100), MS(230), MS(400), LULL_MS * 131 + 7};
    struct lull_random_seeded random;
    lull_random_seed(&random, seed);
    for (size_t i = 0; i < CALLS; i++) {
        const int64_t timeout_ns = timeouts_ns[(size_t)lull_random_between(&random.base, 0, 6)];
        run_to(sim_elapsed_ns(&life.sim) + (int64_t)lull_random_between(&random.base, 0, (double)MS(30)));
        all[i].started_ns = sim_elapsed_ns(&life.sim);
        all[i].due_ns = all[i].started_ns + (has_read_timeout && READ_NS < timeout_ns ? READ_NS : timeout_ns);
        life_call(&life, &all[i].call, timeout_ns, false);
    }
    run_to(MS(3000));
}

/* The instant at which a refusal was to fail it; -1: none was. */
static int64_t bitten_ns(size_t i)
{
    const int64_t origin_ns = life.sim.clock.mono_at.ns - sim_elapsed_ns(&life.sim);
    for (size_t n = 0; n < bite_count; n++) {
        const int64_t standing_ns =
            bites[n].standing_at.ns == LULL_NEVER ? LULL_NEVER : bites[n].standing_at.ns - origin_ns;
        if (bites[n].at_ns >= all[i].started_ns && all[i].due_ns < standing_ns) {
            return bites[n].at_ns;
        }
    }
    return -1;
}

static void check_all(unsigned ways)
{
    const int64_t late_ns = (ways & HOSTILE_LATE) != 0 ? HOSTILE_LATE_NS : 0;
    for (size_t i = 0; i < CALLS; i++) {
        const struct life_call *call = &all[i].call;
        const int64_t bitten = bitten_ns(i);
        ck_assert_msg(call->done == 1, "done came %u times", call->done);
        ck_assert_int_ge(call->at_ns, all[i].started_ns);
        if (call->code == LULL_CODE_INTERNAL) {
            ck_assert_ptr_nonnull(strstr(call->line, "host loop refused the alarm"));
            ck_assert_int_eq(call->at_ns, bitten);
            refused++;
            continue;
        }
        /* Whoever counted on a refused alarm failed in that turn, unless it had ended. */
        ck_assert_msg(bitten < 0 || call->at_ns <= bitten, "%s", call->line);
        ck_assert_int_le(call->at_ns, all[i].due_ns + late_ns);
        if (call->code == LULL_CODE_DEADLINE_EXCEEDED) {
            ck_assert_int_ge(call->at_ns, all[i].due_ns);
            expired++;
        } else {
            ck_assert_msg(call->code == LULL_CODE_OK, "%s", call->line);
            ok++;
        }
    }
}

#define SEEDS 8

START_TEST(every_mixture_of_hostilities_ends_each_call_once_and_in_time)
{
    const unsigned ways = (unsigned)_i;
    const unsigned seeds = test_rounds(SEEDS, 5);
    ok = expired = refused = 0;
    for (unsigned n = 0; n < seeds; n++) {
        const uint64_t seed = (uint64_t)ways * SEEDS + n + 1;
        const bool has_read_timeout = n % 2 == 1;
        begin(seed, has_read_timeout);
        hostile_alarm_init(&alarm_, ways, 2U << n % 5, seed);
        start_all(seed, has_read_timeout);
        check_all(ways);
        alarm_.ways &= ~(unsigned)HOSTILE_REFUSES;
        end();
    }
    ck_assert_uint_gt(ok, 0);
    ck_assert_uint_gt(expired, 0);
    if ((ways & HOSTILE_REFUSES) != 0) {
        ck_assert_uint_gt(refused, 0);
    } else {
        ck_assert_uint_eq(refused, 0);
    }
}
END_TEST

/* The rows of RULINGS 18 on refusals, one host, exact instants. */
START_TEST(a_host_that_refuses_each_alarm_fails_each_call_with_a_timeout_and_no_other)
{
    begin(1, false);
    hostile_alarm_init(&alarm_, HOSTILE_REFUSES, 1, 1);
    life_call(&life, &all[0].call, MS(1000), false);
    life_call(&life, &all[1].call, LULL_NEVER, false);
    run_to(MS(60));
    life_expect_call(&all[0].call, LULL_CODE_INTERNAL, MS(50));
    ck_assert_uint_eq(all[1].call.done, 0);
    run_to(MS(2000));
    ck_assert_int_eq(all[1].call.code, LULL_CODE_OK);
    alarm_.ways = 0;
    end();
}
END_TEST

START_TEST(a_refusal_while_an_earlier_alarm_stands_costs_nobody_anything)
{
    begin(1, false);
    life.peer.replies = false;
    life_call(&life, &all[0].call, MS(100), false); /* its alarm stands at 150 */
    run_to(MS(60));
    alarm_.ways = HOSTILE_REFUSES;
    alarm_.refuse_every = 1;
    life_call(&life, &all[1].call, MS(200), false); /* is not asked for: 150 is earlier */
    run_to(MS(70));
    is_turn_wanted = true; /* nor by a turn for another reason */
    run_to(MS(80));
    ck_assert_uint_eq(alarm_.refused, 0);
    life_call(&life, &all[2].call, MS(30), false); /* this one is too early for it */
    run_to(MS(90));
    life_expect_call(&all[2].call, LULL_CODE_INTERNAL, MS(80));
    alarm_.ways = 0;
    run_to(MS(1000));
    life_expect_call(&all[0].call, LULL_CODE_DEADLINE_EXCEEDED, MS(150));
    life_expect_call(&all[1].call, LULL_CODE_DEADLINE_EXCEEDED, MS(260));
    end();
}
END_TEST

static Suite *hostile_alarm_suite(void)
{
    Suite *suite = suite_create("sim/hostile_alarm");
    TCase *cases = tcase_create("hostile_alarm");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, every_mixture_of_hostilities_ends_each_call_once_and_in_time, 0, HOSTILITIES);
    tcase_add_test(cases, a_host_that_refuses_each_alarm_fails_each_call_with_a_timeout_and_no_other);
    tcase_add_test(cases, a_refusal_while_an_earlier_alarm_stands_costs_nobody_anything);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("hostile_alarm", hostile_alarm_suite)
