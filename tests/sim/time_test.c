/* SPDX-License-Identifier: MIT */
/*
 * Time itself, as whole channels meet it: a wall clock that jumps, a machine that sleeps, the chance in a fleet's waits (C15, C19).
 */
#include <errno.h>
#include <string.h>

#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

static struct life life;

/* ---- C15: a call with a deadline, a wait of the backoff and an idle timeout are pending together */

#define AWAY_ADDRESS  "10.0.0.2:80"
#define SLEEP_ADDRESS "10.0.0.3:80"

static struct {
    struct lull_channel *away;    /* nobody listens: attempts at 0, 1 000, 2 600 */
    struct lull_channel *sleeper; /* a call at 0, an idle timeout of 1 500 */
    struct sim_host *away_host;
    struct peer polite;
    struct life_call silent; /* a deadline of 2 000 and no answer, on life.channel */
    struct life_call answered;
} three;

static struct lull_channel *open_at(const char *address)
{
    struct lull_channel *channel;
    ck_assert_int_eq(lull_channel_new(address, &life.options, &channel, NULL), LULL_OK);
    return channel;
}

static void begin_three(void)
{
    memset(&three, 0, sizeof(three));
    life_begin(&life, 15);
    life.options.idle_timeout_ns = LULL_NEVER;
    life.peer.replies = false;
    life_open(&life);
    life_call(&life, &three.silent, MS(2000), false);

    three.away_host = sim_host_add(&life.sim, AWAY_ADDRESS, peer_accept, &life.peer);
    ck_assert_ptr_nonnull(three.away_host);
    three.away_host->refuse_errno = ECONNREFUSED;
    three.away = open_at(AWAY_ADDRESS);
    (void)lull_channel_state(three.away, true);

    peer_init(&three.polite, &life.sim, "polite");
    ck_assert_ptr_nonnull(sim_host_add(&life.sim, SLEEP_ADDRESS, peer_accept, &three.polite));
    life.options.idle_timeout_ns = MS(1500);
    three.sleeper = open_at(SLEEP_ADDRESS);
    struct lull_channel *first = life.channel;
    life.channel = three.sleeper;
    life_call(&life, &three.answered, LULL_NEVER, false);
    life.channel = first;
    sim_settle(&life.sim);
    life_expect_call(&three.answered, LULL_CODE_OK, 0);
    ck_assert_uint_eq(three.away_host->dials, 1);
}

static void end_three(void)
{
    lull_channel_unref(three.away);
    lull_channel_unref(three.sleeper);
    sim_settle(&life.sim);
    peer_fini(&three.polite);
    life_end(&life);
}

static void move_wall(int64_t by_s)
{
    lull_fake_clock_set_wall(&life.sim.clock, life.sim.clock.wall_ns + by_s * LULL_SECOND);
    sim_settle(&life.sim);
}

static void expect_their_times(void)
{
    life_at(&life, MS(1000) - 1);
    ck_assert_uint_eq(three.away_host->dials, 1);
    sim_advance(&life.sim, 1);
    ck_assert_uint_eq(three.away_host->dials, 2);
    life_at(&life, MS(1500) - 1);
    ck_assert_int_eq(lull_channel_state(three.sleeper, false), LULL_STATE_READY);
    sim_advance(&life.sim, 1);
    ck_assert_int_eq(lull_channel_state(three.sleeper, false), LULL_STATE_IDLE);
    life_at(&life, MS(2000) - 1);
    ck_assert_uint_eq(three.silent.done, 0);
    sim_advance(&life.sim, 1);
    life_expect_call(&three.silent, LULL_CODE_DEADLINE_EXCEEDED, MS(2000));
    ck_assert_uint_eq(life.peer.resets, 1);
    life_at(&life, MS(2600) - 1);
    ck_assert_uint_eq(three.away_host->dials, 2);
    sim_advance(&life.sim, 1);
    ck_assert_uint_eq(three.away_host->dials, 3);
}

/* C15 */
START_TEST(a_wall_clock_that_jumps_moves_no_timer)
{
    static const struct {
        int64_t first_s, then_s;
    } jumps[] = {{-86400, 172800}, {172800, -86400}, {INT32_MAX, -INT64_C(2) * INT32_MAX}, {0, 0}};
    begin_three();
    life_at(&life, MS(500));
    move_wall(jumps[_i].first_s);
    life_at(&life, MS(600));
    move_wall(jumps[_i].then_s);
    expect_their_times();
    end_three();
}
END_TEST

/* C15: quiet time counts a suspend. What came due in it happens once, when the machine is awake again, at its own order. */
START_TEST(a_suspend_is_time_that_passed)
{
    begin_three();
    life_at(&life, MS(500));
    lull_fake_clock_jump(&life.sim.clock, 3600 * LULL_SECOND);
    move_wall(3600);
    const int64_t awake_ns = MS(500) + 3600 * LULL_SECOND;
    life_expect_call(&three.silent, LULL_CODE_DEADLINE_EXCEEDED, awake_ns);
    ck_assert_int_eq(lull_channel_state(three.sleeper, false), LULL_STATE_IDLE);
    /* One attempt, not the fourteen that an hour had room for. */
    ck_assert_uint_eq(three.away_host->dials, 2);
    ck_assert_int_eq(lull_instant_diff(three.away_host->dialled_at, life.sim.clock.mono_at), 0);
    life_at(&life, awake_ns + MS(1600) - 1);
    ck_assert_uint_eq(three.away_host->dials, 2);
    sim_advance(&life.sim, 1);
    ck_assert_uint_eq(three.away_host->dials, 3);
    end_three();
}
END_TEST

/* ---- C19, the fleet: 1 000 channels from as many seeds, whose server accepts and closes without a byte */

#define FLEET     1000
#define BUCKET_NS MS(40)

START_TEST(a_fleet_spreads_its_second_attempts)
{
    static const struct peer_step closes[] = {{.kind = PEER_CLOSE}};
    const unsigned fleet = test_rounds(FLEET, 100);
    unsigned buckets[10] = {0};
    for (unsigned seed = 1; seed <= fleet; seed++) {
        struct life_call call;
        life_begin(&life, seed);
        life.options.backoff_jitter = 0.2;
        life.peer.sends_settings = false;
        life.peer.script = closes;
        life.peer.script_len = 1;
        life_open(&life);
        const struct lull_instant start = life.sim.clock.mono_at;
        life_call(&life, &call, LULL_NEVER, true);
        sim_settle(&life.sim);
        ck_assert_uint_eq(life.host->dials, 1);
        ck_assert_uint_eq(life.peer.accepted, 1);
        life_at(&life, MS(1201));
        ck_assert_uint_eq(life.host->dials, 2);
        int64_t second_ns = lull_instant_diff(life.host->dialled_at, start);
        ck_assert_int_ge(second_ns, MS(800));
        ck_assert_int_le(second_ns, MS(1200));
        size_t bucket = (size_t)((second_ns - MS(800)) / BUCKET_NS);
        buckets[bucket < 10 ? bucket : 9]++;
        ck_assert_uint_eq(call.done, 0);
        life_end(&life);
    }
    for (size_t i = 0; i < 10; i++) {
        ck_assert_msg(buckets[i] <= fleet * 15 / 100 + (fleet < FLEET ? 5 : 0),
                      "%u of %u in bucket %zu", buckets[i], fleet, i);
        ck_assert_uint_gt(buckets[i], 0);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim/time");
    TCase *t = tcase_create("time");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_wall_clock_that_jumps_moves_no_timer, 0, 4);
    tcase_add_test(t, a_suspend_is_time_that_passed);
    tcase_add_test(t, a_fleet_spreads_its_second_attempts);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("sim/time", suite)
