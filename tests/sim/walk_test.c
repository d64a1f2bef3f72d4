/* SPDX-License-Identifier: MIT */
/*
 * Random walks of a whole channel: calls with and without deadlines, cancels, lost connections, GOAWAYs that leave calls out or not,
 * connects that fail or hang, orders to fall idle. After every step an oracle asks for what must hold whatever happened
 * (RULINGS 3, 4, 11, 16; scenarios 77, 90, 92).
 */
#include <errno.h>
#include <string.h>

#include "channel/channel.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define STEPS 120
#define CALLS 200

static const uint8_t goaway_all[] = {0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0};
static const uint8_t goaway_none[] = {0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t goaway_calm[] = {0,   0,   0x16, 7,   0,   0,   0,   0,   0,   0,   0,
                                      0,   0,   0,    0,   0,   0x0b, 't', 'o', 'o', '_', 'm',
                                      'a', 'n', 'y',  '_', 'p', 'i', 'n', 'g', 's'};

static struct life life;
static struct life_call calls[CALLS];
static int64_t due_ns[CALLS]; /* of their deadlines; LULL_NEVER: none */
static unsigned call_count;
static unsigned slept; /* sightings of a channel in idle mode without calls */
static unsigned drained; /* the same with calls */

static int64_t below_ms(uint64_t bound)
{
    return MS((int64_t)sim_below(&life.sim, bound));
}

/* ---- steps */

static void begin_walk(uint64_t seed)
{
    life_begin(&life, seed);
    life.options.trace.event = NULL;
    life.options.allow_short_timers = true;
    life.options.idle_timeout_ns = MS(50) + below_ms(3000);
    life.options.backoff_jitter = 0.2;
    if (sim_below(&life.sim, 2) == 0) {
        life.options.keepalive_time_ns = MS(20) + below_ms(500);
        life.options.keepalive_timeout_ns = MS(10) + below_ms(200);
        life.options.keepalive_without_calls = sim_below(&life.sim, 2) == 0;
    }
    if (sim_below(&life.sim, 3) == 0) {
        life.options.read_timeout_ns = MS(10) + below_ms(2000);
    }
    life.peer.reply_after_ns = below_ms(300);
    life_open(&life);
    call_count = 0;
}

/* Half of them have a deadline: one of a few, so that they share, or any. */
static void start_call(void)
{
    int64_t timeout_ns = LULL_NEVER;
    if (sim_below(&life.sim, 2) == 0) {
        timeout_ns = sim_below(&life.sim, 2) == 0
                         ? MS(100) * (1 + (int64_t)sim_below(&life.sim, 4))
                         : (int64_t)sim_below(&life.sim, 3000000000u);
    }
    due_ns[call_count] = timeout_ns == LULL_NEVER ? LULL_NEVER
                                                  : sim_elapsed_ns(&life.sim) + timeout_ns;
    life_call(&life, &calls[call_count++], timeout_ns, sim_below(&life.sim, 2) == 0);
}

static void cancel_one(void)
{
    if (call_count > 0) {
        const struct life_call *call = &calls[sim_below(&life.sim, call_count)];
        if (call->handle != NULL) {
            lull_call_cancel(call->handle);
        }
    }
}

static void say_goaway(void)
{
    switch (sim_below(&life.sim, 3)) {
    case 0:
        (void)peer_say(&life.peer, goaway_all, sizeof(goaway_all));
        break;
    case 1:
        (void)peer_say(&life.peer, goaway_none, sizeof(goaway_none));
        break;
    default:
        (void)peer_say(&life.peer, goaway_calm, sizeof(goaway_calm));
        break;
    }
}

static void change_the_world(void)
{
    switch (sim_below(&life.sim, 4)) {
    case 0:
        life.host->refuse_errno = sim_below(&life.sim, 2) == 0 ? ECONNREFUSED : 0;
        break;
    case 1:
        life.host->connect_after_ns = sim_below(&life.sim, 4) == 0 ? LULL_NEVER : below_ms(1200);
        break;
    case 2:
        life.peer.acks_pings = sim_below(&life.sim, 2) == 0;
        break;
    default:
        life.peer.replies = sim_below(&life.sim, 3) != 0;
        break;
    }
}

static void step(void)
{
    switch (sim_below(&life.sim, 13)) {
    case 0:
    case 1:
    case 2:
        start_call();
        break;
    case 3:
        cancel_one();
        break;
    case 4:
    case 5:
        lull_channel_enter_idle(life.channel);
        break;
    case 6:
        (void)lull_channel_state(life.channel, true);
        break;
    case 7:
        (void)peer_hang_up(&life.peer);
        break;
    case 8:
        say_goaway();
        break;
    case 9:
    case 10:
        change_the_world();
        break;
    default:
        sim_advance(&life.sim, below_ms(1500));
        break;
    }
}

/* ---- the oracle */

static void judge_calls(uint64_t seed)
{
    int64_t now_ns = sim_elapsed_ns(&life.sim);
    for (unsigned i = 0; i < call_count; i++) {
        const struct life_call *call = &calls[i];
        ck_assert_msg(call->done <= 1, "seed %llu: call %u ended twice", (unsigned long long)seed, i);
        ck_assert_msg(call->done == 1 || now_ns < due_ns[i], "seed %llu: call %u outlived its deadline",
                      (unsigned long long)seed, i);
        ck_assert_msg(call->done == 0 || call->at_ns <= due_ns[i], "seed %llu: call %u ended late",
                      (unsigned long long)seed, i);
        if (call->done == 1 && call->reason == LULL_REASON_DEADLINE) {
            ck_assert_msg(call->at_ns == due_ns[i], "seed %llu: call %u at %lld, due at %lld",
                          (unsigned long long)seed, i, (long long)call->at_ns,
                          (long long)due_ns[i]);
        }
    }
}

static void judge_channel(uint64_t seed)
{
    struct lull_channel_stats stats = life_stats(&life);
    uint64_t armed = sim_counters(&life.sim).timers_armed;
    const char *fault = NULL;
    if (stats.is_in_idle_mode) {
        slept += stats.calls == 0;
        drained += stats.calls != 0;
        fault = stats.state != LULL_STATE_IDLE                  ? "in idle mode, and not IDLE"
                : stats.calls_waiting != 0                      ? "in idle mode, and calls wait"
                : stats.calls != 0                              ? NULL
                : armed != 0                                    ? "asleep with a timer"
                : peer_open_connections(&life.peer) != 0        ? "asleep with a connection"
                                                                : NULL;
    } else if (stats.calls == 0) {
        fault = armed == 0 ? "awake without calls, and nothing is armed"
                : stats.idle_after_ns > life.options.idle_timeout_ns ? "falls idle too late"
                                                                     : NULL;
    } else if (stats.calls_waiting != 0) {
        /* It waits for an attempt, a wait, or a stream of a connection that there is. */
        fault = armed == 0 && peer_open_connections(&life.peer) == 0 ? "calls wait for nothing" : NULL;
    }
    ck_assert_msg(fault == NULL, "seed %llu, at %lld ns: %s", (unsigned long long)seed,
                  (long long)sim_elapsed_ns(&life.sim), fault);
}

/* All calls are cancelled: the channel sleeps one timeout later, or earlier. Or it is closed: nothing is armed at once. */
static void end_walk(void)
{
    if (sim_below(&life.sim, 2) == 0) {
        for (unsigned i = 0; i < call_count; i++) {
            if (calls[i].handle != NULL) {
                lull_call_cancel(calls[i].handle);
            }
        }
        sim_settle(&life.sim);
        sim_advance(&life.sim, life.options.idle_timeout_ns);
        life_expect_asleep(&life);
    }
    lull_channel_close(life.channel);
    ck_assert_uint_eq(sim_counters(&life.sim).timers_armed, 0);
    sim_settle(&life.sim);
    for (unsigned i = 0; i < call_count; i++) {
        ck_assert_uint_eq(calls[i].done, 1);
    }
    life_end(&life);
}

START_TEST(whatever_happens_a_channel_sleeps_without_timers_and_wakes_for_who_waits)
{
    unsigned seeds = test_rounds(1000, 60);
    slept = drained = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        begin_walk(seed);
        for (unsigned i = 0; i < STEPS && call_count < CALLS; i++) {
            step();
            if (sim_below(&life.sim, 3) != 0) {
                sim_settle(&life.sim);
                judge_calls(seed);
                judge_channel(seed);
            }
        }
        end_walk();
    }
    /* It has been where it was sent. */
    ck_assert_uint_gt(slept, seeds);
    ck_assert_uint_gt(drained, seeds / 4);
}
END_TEST

static Suite *walk_suite(void)
{
    Suite *suite = suite_create("sim/walk");
    TCase *tcase = tcase_create("walk");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, whatever_happens_a_channel_sleeps_without_timers_and_wakes_for_who_waits);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sim/walk", walk_suite)
