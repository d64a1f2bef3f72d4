/* SPDX-License-Identifier: MIT */
/*
 * lull's own timer queue in the families "push" and "attempt", moved every time: what the Rescheduler and the lanes save.
 */
#include "lull/executor.h"
#include "lull/timer.h"

#define SUBJECT_COUNTS

#include "timers.h"

static struct lull_executor *executor;
static struct lull_timer *timers;
static size_t timer_count;

static void on_expired(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
}

static void subject_open(size_t others, size_t values)
{
    const struct lull_instant now = lull_at(timers_origin_ns());
    (void)values;
    MICRO_MUST(lull_executor_new(NULL, &executor) == LULL_OK);
    MICRO_MUST(lull_executor_enter(executor) == LULL_OK);
    timer_count = others + 2;
    timers = timers_memory(timer_count, sizeof(*timers));
    for (size_t i = 0; i < timer_count; i++) {
        MICRO_MUST(lull_timer_init(&timers[i], executor, on_expired) == LULL_OK);
        if (i >= 2) {
            lull_timer_arm(&timers[i], lull_instant_add(now, others_after_ns(i)));
        }
    }
}

static void subject_close(void)
{
    for (size_t i = 0; i < timer_count; i++) {
        lull_timer_fini(&timers[i]);
    }
    free(timers);
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

static inline void subject_push(size_t which, int64_t now_ns)
{
    lull_timer_arm(&timers[which], lull_instant_add(lull_at(now_ns), PUSH_AFTER_NS));
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    lull_timer_arm(&timers[0], lull_instant_add(lull_at(now_ns), window_ns(value)));
    lull_timer_arm(&timers[1], lull_instant_add(lull_at(now_ns), deadline_ns(value)));
}

static inline void subject_cancel_two(void)
{
    lull_timer_disarm(&timers[0]);
    lull_timer_disarm(&timers[1]);
}

static uint64_t subject_queue_ops(void)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(executor, &counters);
    return counters.timer_arms + counters.timer_disarms + counters.timer_fires;
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    return run_rows(argc, argv, "lull-timerq");
}
