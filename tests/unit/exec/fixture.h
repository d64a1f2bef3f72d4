/* SPDX-License-Identifier: MIT */
/*
 * What the tests of exec/ share: an executor driven by a fake clock, and a scripted loop.
 */
#ifndef TESTS_UNIT_EXEC_FIXTURE_H
#define TESTS_UNIT_EXEC_FIXTURE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "lull/clock.h"
#include "lull/loop.h"
#include "tests/support/check_main.h"
#include "tests/support/must.h"

struct rig {
    struct lull_fake_clock clock;
    struct lull_executor *executor;
};

/* An executor on a fake clock that starts at `origin_ns` and drives it. */
static inline void rig_init(struct rig *rig, int64_t origin_ns)
{
    struct lull_executor_options options;
    lull_fake_clock_init(&rig->clock, origin_ns, 0);
    lull_executor_options_init(&options);
    options.clock = &rig->clock.base;
    ck_assert_int_eq(lull_executor_new(&options, &rig->executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(rig->executor, &rig->clock), LULL_OK);
}

static inline void rig_fini(struct rig *rig)
{
    lull_executor_free(rig->executor);
    rig->executor = NULL;
}

static inline void rig_enter(struct rig *rig)
{
    MUST(lull_executor_enter(rig->executor) == LULL_OK);
}

static inline void rig_leave(struct rig *rig)
{
    lull_executor_leave(rig->executor);
}

static inline struct lull_counters rig_counters(const struct rig *rig)
{
    struct lull_counters counters;
    counters.size = sizeof(counters);
    lull_executor_counters(rig->executor, &counters);
    return counters;
}

/* A loop that does what a test tells it, and counts what it is asked. */
struct scripted_loop {
    struct lull_loop base;
    struct lull_instant alarm_at; /* as last asked and accepted */
    uint32_t alarms;
    uint32_t soons;
    _Atomic(uint32_t) wakes;
    int refuse_with;                                      /* an errno, or 0 */
    void (*inside_alarm)(struct scripted_loop *scripted); /* [nullable] */
};

static inline int scripted_alarm(struct lull_loop *loop, struct lull_instant at)
{
    struct scripted_loop *scripted = (struct scripted_loop *)(void *)loop;
    scripted->alarms++;
    if (scripted->refuse_with != 0) {
        return scripted->refuse_with;
    }
    scripted->alarm_at = at;
    if (scripted->inside_alarm != NULL) {
        scripted->inside_alarm(scripted);
    }
    return 0;
}

static inline void scripted_wake(struct lull_loop *loop)
{
    atomic_fetch_add(&((struct scripted_loop *)(void *)loop)->wakes, 1);
}

static inline void scripted_soon(struct lull_loop *loop)
{
    ((struct scripted_loop *)(void *)loop)->soons++;
}

static const struct lull_loop_ops scripted_ops = {
    .alarm = scripted_alarm, .wake = scripted_wake, .soon = scripted_soon};

static const struct lull_loop_ops scripted_ops_without_soon = {.alarm = scripted_alarm,
                                                               .wake = scripted_wake};

static inline void scripted_init(struct scripted_loop *scripted, const struct lull_loop_ops *ops,
                                 struct lull_executor *executor)
{
    memset(scripted, 0, sizeof(*scripted));
    scripted->base.ops = ops;
    scripted->base.name = "scripted";
    scripted->base.executor = executor;
    scripted->alarm_at = lull_at(LULL_NEVER);
    executor_set_loop(executor, &scripted->base);
}

#endif
