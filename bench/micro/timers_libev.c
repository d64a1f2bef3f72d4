/* SPDX-License-Identifier: MIT */
/*
 * libev in the families "push" and "attempt". A deadline is pushed out by ev_timer_again, which is its quickest way; the
 * loop's time is cached.
 */
#include <ev.h>

#include "timers.h"

static struct ev_loop *loop;
static ev_timer *timers;

static void on_expired(struct ev_loop *of, ev_timer *timer, int events)
{
    (void)of;
    (void)timer;
    (void)events;
}

static double in_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

static void subject_open(size_t others, size_t values)
{
    (void)values;
    loop = ev_loop_new(0);
    MICRO_MUST(loop != NULL);
    timers = timers_memory(others + 2, sizeof(*timers));
    for (size_t i = 0; i < others + 2; i++) {
        ev_timer_init(&timers[i], on_expired, in_seconds(others_after_ns(i)),
                      in_seconds(PUSH_AFTER_NS));
        if (i >= 2) {
            ev_timer_start(loop, &timers[i]);
        }
    }
}

static void subject_close(void)
{
    ev_loop_destroy(loop);
    free(timers);
}

static void subject_inside(void (*fn)(void))
{
    ev_now_update(loop);
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
    ev_timer_again(loop, &timers[which]);
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)now_ns;
    ev_timer_set(&timers[0], in_seconds(window_ns(value)), 0.);
    ev_timer_start(loop, &timers[0]);
    ev_timer_set(&timers[1], in_seconds(deadline_ns(value)), 0.);
    ev_timer_start(loop, &timers[1]);
}

static inline void subject_cancel_two(void)
{
    ev_timer_stop(loop, &timers[0]);
    ev_timer_stop(loop, &timers[1]);
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    return run_rows(argc, argv, "libev");
}
