/* SPDX-License-Identifier: MIT */
/* What the tests of lanes share: entries that note when they expire, and in which order. */
#ifndef TESTS_UNIT_EXEC_LANE_RIG_H
#define TESTS_UNIT_EXEC_LANE_RIG_H

#include "exec/lane.h"
#include "tests/unit/exec/fixture.h"

#define ENTRIES 200

static struct rig rig;

/* An entry, and what became of it. */
struct waiter {
    struct lane_entry entry;
    uint32_t runs;
    int64_t ran_at_ns;
    void (*also)(struct waiter *waiter);
};

static struct waiter w[ENTRIES];
static size_t order[ENTRIES * 2];
static size_t order_count;

static inline void expired(struct lane_entry *entry, struct lull_instant now)
{
    struct waiter *waiter = (struct waiter *)(void *)entry;
    MUST(!lane_entry_is_waiting(entry));
    MUST(lull_executor_in_context(rig.executor));
    waiter->runs++;
    waiter->ran_at_ns = now.ns;
    if (order_count < ENTRIES * 2) {
        order[order_count++] = (size_t)(waiter - w);
    }
    if (waiter->also != NULL) {
        waiter->also(waiter);
    }
}

static inline void make(struct waiter *waiter)
{
    memset(waiter, 0, sizeof(*waiter));
    ck_assert_int_eq(lane_entry_init(&waiter->entry, rig.executor, expired), LULL_OK);
}

static inline void start(int64_t origin_ns)
{
    rig_init(&rig, origin_ns);
    order_count = 0;
    rig_enter(&rig);
    for (size_t i = 0; i < ENTRIES; i++) {
        make(&w[i]);
    }
    rig_leave(&rig);
}

static inline void setup(void)
{
    start(1000);
}

static inline void teardown(void)
{
    rig_enter(&rig);
    for (size_t i = 0; i < ENTRIES; i++) {
        lane_entry_fini(&w[i].entry);
        lane_entry_fini(&w[i].entry);
    }
    rig_leave(&rig);
    rig_fini(&rig);
}

static inline void join(size_t i, int64_t after_ns)
{
    rig_enter(&rig);
    lane_join(&w[i].entry, rig.clock.mono_at, after_ns);
    rig_leave(&rig);
}

static inline void leave(size_t i)
{
    rig_enter(&rig);
    lane_leave(&w[i].entry);
    rig_leave(&rig);
}

static inline uint32_t lanes_count(void)
{
    return executor_lanes(rig.executor)->count;
}

#endif
