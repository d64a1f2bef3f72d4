/* SPDX-License-Identifier: MIT */
/*
 * A channel that falls idle after a minute, for the two test programs of channel_idle.c: two calls, deeds at instants of the
 * application's own, and what idle mode promises.
 */
#ifndef TESTS_UNIT_CHANNEL_SLEEPER_H
#define TESTS_UNIT_CHANNEL_SLEEPER_H

#include <errno.h>
#include <string.h>

#include "rig.h"

#define I_NS (60 * LULL_SECOND)

static struct rig rig;
static struct rig_call call, other;

/* What the application does at an instant of its own, in a turn. */
struct deed {
    struct lull_timer timer;
    void (*act)(void);
    unsigned done;
};

static inline void deed_due(struct lull_timer *timer, struct lull_instant now)
{
    struct deed *deed = container_of(timer, struct deed, timer);
    (void)now;
    deed->done++;
    deed->act();
}

static inline void plan(struct deed *deed, int64_t at_ns, void (*act)(void))
{
    memset(deed, 0, sizeof(*deed));
    deed->act = act;
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&deed->timer, rig.executor, deed_due), LULL_OK);
    lull_timer_arm(&deed->timer, lull_at(rig.origin_ns + at_ns));
    lull_executor_leave(rig.executor);
}

static inline void forget(struct deed *deed)
{
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    lull_timer_fini(&deed->timer);
    lull_executor_leave(rig.executor);
}

static inline void begin(enum rig_dial what, int64_t after_ns)
{
    struct rig_step step = {.what = what, .after_ns = after_ns, .sys_errno = ECONNREFUSED};
    memset(&call, 0, sizeof(call));
    memset(&other, 0, sizeof(other));
    rig_init(&rig);
    rig_step(&rig, step);
    rig.options.idle_timeout_ns = I_NS;
    rig_open(&rig);
}

static inline void start_call(void)
{
    rig_call_with(&rig, &call, LULL_NEVER, true);
}

static inline void start_other(void)
{
    rig_call_with(&rig, &other, LULL_NEVER, true);
}

static inline void enter_idle(void)
{
    lull_channel_enter_idle(rig.channel);
}

static inline enum lull_state state(void)
{
    return lull_channel_state(rig.channel, false);
}

static inline bool is_in_idle_mode(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(rig.channel, &stats);
    return stats.is_in_idle_mode;
}

/* What idle mode promises. */
static inline void expect_asleep(size_t connections)
{
    ck_assert_int_eq(state(), LULL_STATE_IDLE);
    ck_assert(is_in_idle_mode());
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    ck_assert(list_is_empty(&rig.channel->subchannel.connections));
    ck_assert_uint_eq(rig.attempt_count, connections);
    for (size_t i = 0; i < connections; i++) {
        ck_assert(rig.attempts[i].peer == NULL || rig_peer(&rig, i)->is_eof);
    }
}

/* The idle timer stands for `at_ns`, and nothing else does. */
static inline void expect_awake_until(int64_t at_ns)
{
    ck_assert(!is_in_idle_mode());
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 1);
    ck_assert_int_eq(lull_rescheduler_run_at(&rig.channel->idle_wake).ns - rig.origin_ns, at_ns);
}

#endif
