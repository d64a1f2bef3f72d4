/* SPDX-License-Identifier: MIT */
/*
 * lull in the families "push" and "attempt": a Rescheduler, and a deadline lane with policy/deadline's one entry for both
 * timeouts of an attempt, as channel/call_timeouts uses them. The lanes are internal: linked with the core, as lull itself is.
 * With PUBLIC_ONLY it is linked with the shared library and pushes alone: what is more is the jump through the linkage table.
 */
#include "lull/executor.h"
#include "lull/rescheduler.h"
#include "timers.h"

#ifndef PUBLIC_ONLY
#include "exec/lane.h"
#include "policy/deadline.h"
#endif

#define SUBJECT_COUNTS

static struct lull_executor *executor;
static struct lull_rescheduler *pushed;
static size_t timer_count;

static void on_expired(struct lull_rescheduler *r, struct lull_instant now)
{
    (void)r;
    (void)now;
}

static uint64_t subject_queue_ops(void)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(executor, &counters);
    return counters.timer_arms + counters.timer_disarms + counters.timer_fires;
}

static inline void subject_push(size_t which, int64_t now_ns)
{
    lull_rescheduler_set(&pushed[which], lull_instant_add(lull_at(now_ns), PUSH_AFTER_NS));
}

#ifndef PUBLIC_ONLY

static struct lane_entry *entries;

static struct {
    struct lane_entry entry;
    struct deadline deadline;
} attempt;

static void on_entry_expired(struct lane_entry *entry, struct lull_instant now)
{
    (void)entry;
    (void)now;
}

static void open_entries(struct lull_instant now, size_t values)
{
    entries = timers_memory(timer_count, sizeof(*entries));
    for (size_t i = 0; i < timer_count; i++) {
        MICRO_MUST(lane_entry_init(&entries[i], executor, on_entry_expired) == LULL_OK);
        if (i >= 2) {
            lane_join(&entries[i], now, window_ns(i & (values - 1)));
        }
    }
    MICRO_MUST(lane_entry_init(&attempt.entry, executor, on_entry_expired) == LULL_OK);
}

static void close_entries(void)
{
    lane_entry_fini(&attempt.entry);
    for (size_t i = 0; i < timer_count; i++) {
        lane_entry_fini(&entries[i]);
    }
    free(entries);
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    const struct lull_instant now = lull_at(now_ns);
    (void)deadline_init(&attempt.deadline, now, lull_instant_add(now, deadline_ns(value)),
                        window_ns(value));
    lane_join(&attempt.entry, now, attempt.deadline.window_ns);
}

static inline void subject_cancel_two(void)
{
    attempt.deadline.is_done = true;
    lane_leave(&attempt.entry);
}

#define VARIANT "lull"

#else

static void open_entries(struct lull_instant now, size_t values)
{
    (void)now;
    (void)values;
}

static void close_entries(void)
{
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)value;
    (void)now_ns;
}

static inline void subject_cancel_two(void)
{
}

#define VARIANT "lull-so"

#endif

static void subject_open(size_t others, size_t values)
{
    const struct lull_instant now = lull_at(timers_origin_ns());
    MICRO_MUST(lull_executor_new(NULL, &executor) == LULL_OK);
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    timer_count = others + 2;
    pushed = timers_memory(timer_count, sizeof(*pushed));
    for (size_t i = 0; i < timer_count; i++) {
        MICRO_MUST(lull_rescheduler_init(&pushed[i], executor, on_expired) == LULL_OK);
        if (i >= 2) {
            lull_rescheduler_set(&pushed[i], lull_instant_add(now, others_after_ns(i)));
        }
    }
    open_entries(now, values);
}

static void subject_close(void)
{
    close_entries();
    for (size_t i = 0; i < timer_count; i++) {
        lull_rescheduler_fini(&pushed[i]);
    }
    free(pushed);
    lull_executor_leave(executor);
    lull_executor_free(executor);
}

static void subject_inside(void (*fn)(void))
{
    fn();
}

static inline bool subject_can(size_t others)
{
    (void)others;
    return true;
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
#ifdef PUBLIC_ONLY
    if (argc > 1 && strcmp(argv[1], "attempt") == 0) {
        micro_cannot("lanes are not public");
    }
#endif
    return run_rows(argc, argv, VARIANT);
}
