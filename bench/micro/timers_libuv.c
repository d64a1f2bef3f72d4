/* SPDX-License-Identifier: MIT */
/*
 * libuv in the families "push" and "attempt": uv_timer_start moves a timer, uv_timer_stop takes it out. The loop's time is
 * cached.
 */
#include <uv.h>

#include "timers.h"

static uv_loop_t loop;
static uv_timer_t *timers;
static size_t timer_count;

static void on_expired(uv_timer_t *timer)
{
    (void)timer;
}

static inline uint64_t in_ms(int64_t ns)
{
    return (uint64_t)ns / 1000000;
}

static void subject_open(size_t others, size_t values)
{
    (void)values;
    MICRO_MUST(uv_loop_init(&loop) == 0);
    timer_count = others + 2;
    timers = timers_memory(timer_count, sizeof(*timers));
    for (size_t i = 0; i < timer_count; i++) {
        MICRO_MUST(uv_timer_init(&loop, &timers[i]) == 0);
        if (i >= 2) {
            MICRO_MUST(uv_timer_start(&timers[i], on_expired, in_ms(others_after_ns(i)), 0) == 0);
        }
    }
}

static void subject_close(void)
{
    for (size_t i = 0; i < timer_count; i++) {
        uv_close((uv_handle_t *)&timers[i], NULL);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    MICRO_MUST(uv_loop_close(&loop) == 0);
    free(timers);
}

static void subject_inside(void (*fn)(void))
{
    uv_update_time(&loop);
    fn();
}

static inline bool subject_can(size_t others)
{
    (void)others;
    return true;
}

static inline void subject_push(size_t which, int64_t now_ns)
{
    (void)now_ns;
    uv_timer_start(&timers[which], on_expired, in_ms(PUSH_AFTER_NS), 0);
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)now_ns;
    uv_timer_start(&timers[0], on_expired, in_ms(window_ns(value)), 0);
    uv_timer_start(&timers[1], on_expired, in_ms(deadline_ns(value)), 0);
}

static inline void subject_cancel_two(void)
{
    uv_timer_stop(&timers[0]);
    uv_timer_stop(&timers[1]);
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    return run_rows(argc, argv, "libuv");
}
