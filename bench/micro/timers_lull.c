/* SPDX-License-Identifier: MIT */
/*
 * lull in the families "push" and "attempt", built three times.
 *
 * As it is: a Rescheduler, and a deadline lane with policy/deadline's one entry for both timeouts of an attempt, as
 * channel/call_timeouts uses them. The lanes are internal: linked with the core, as lull itself is. With PUBLIC_ONLY it is linked with
 * the shared library and pushes alone: what is more is the jump through the linkage table. With QUEUE_ONLY it is lull's own timer queue,
 * moved every time: what the Rescheduler and the lanes save.
 */
#include "lull/executor.h"
#include "lull/rescheduler.h"
#include "timers.h"

#define SUBJECT_COUNTS

#ifdef QUEUE_ONLY
#define VARIANT "lull-timerq"
#define HANDLE(what) lull_timer_##what
#define HANDLE_SET   lull_timer_arm
typedef struct lull_timer handle;
#else
#ifdef PUBLIC_ONLY
#define VARIANT "lull-so"
#else
#define VARIANT "lull"
#include "exec/lane.h"
#include "policy/deadline.h"
#endif
#define HANDLE(what) lull_rescheduler_##what
#define HANDLE_SET   lull_rescheduler_set
typedef struct lull_rescheduler handle;
#endif

static struct lull_executor *executor;
static handle *handles;
static size_t handle_count;

static void on_expired(handle *expired, struct lull_instant now)
{
    (void)expired;
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
    HANDLE_SET(&handles[which], lull_instant_add(lull_at(now_ns), PUSH_AFTER_NS));
}

/* ---- an attempt */

#if defined(QUEUE_ONLY)

static void open_attempt(struct lull_instant now, size_t values)
{
    (void)now;
    (void)values;
}

static void close_attempt(void)
{
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    lull_timer_arm(&handles[0], lull_instant_add(lull_at(now_ns), window_ns(value)));
    lull_timer_arm(&handles[1], lull_instant_add(lull_at(now_ns), deadline_ns(value)));
}

static inline void subject_cancel_two(void)
{
    lull_timer_disarm(&handles[0]);
    lull_timer_disarm(&handles[1]);
}

#elif defined(PUBLIC_ONLY)

static void open_attempt(struct lull_instant now, size_t values)
{
    (void)now;
    (void)values;
}

static void close_attempt(void)
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

#else

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

static void open_attempt(struct lull_instant now, size_t values)
{
    entries = timers_memory(handle_count, sizeof(*entries));
    for (size_t i = 0; i < handle_count; i++) {
        MICRO_MUST(lane_entry_init(&entries[i], executor, on_entry_expired) == LULL_OK);
        if (i >= 2) {
            lane_join(&entries[i], now, window_ns(i & (values - 1)));
        }
    }
    MICRO_MUST(lane_entry_init(&attempt.entry, executor, on_entry_expired) == LULL_OK);
}

static void close_attempt(void)
{
    lane_entry_fini(&attempt.entry);
    for (size_t i = 0; i < handle_count; i++) {
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

#endif

/* ---- all of it */

static void subject_open(size_t others, size_t values)
{
    const struct lull_instant now = lull_at(timers_origin_ns());
    MICRO_MUST(lull_executor_new(NULL, &executor) == LULL_OK);
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    handle_count = others + 2;
    handles = timers_memory(handle_count, sizeof(*handles));
    for (size_t i = 0; i < handle_count; i++) {
        MICRO_MUST(HANDLE(init)(&handles[i], executor, on_expired) == LULL_OK);
        if (i >= 2) {
            HANDLE_SET(&handles[i], lull_instant_add(now, others_after_ns(i)));
        }
    }
    open_attempt(now, values);
}

static void subject_close(void)
{
    close_attempt();
    for (size_t i = 0; i < handle_count; i++) {
        HANDLE(fini)(&handles[i]);
    }
    free(handles);
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
