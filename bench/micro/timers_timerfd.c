/* SPDX-License-Identifier: MIT */
/*
 * timerfd in the families "push" and "attempt": a descriptor a timer, a system call a move.
 */
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "timers.h"

static int *timers;
static size_t timer_count;

static void set(int fd, int64_t after_ns)
{
    const struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(after_ns / TIMERS_SECOND),
                                                 .tv_nsec = (long)(after_ns % TIMERS_SECOND)}};
    MICRO_MUST(timerfd_settime(fd, 0, &spec, NULL) == 0);
}

static void subject_open(size_t others, size_t values)
{
    (void)values;
    timer_count = others + 2;
    timers = timers_memory(timer_count, sizeof(*timers));
    for (size_t i = 0; i < timer_count; i++) {
        timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        MICRO_MUST(timers[i] >= 0);
        if (i >= 2) {
            set(timers[i], others_after_ns(i));
        }
    }
}

static void subject_close(void)
{
    for (size_t i = 0; i < timer_count; i++) {
        close(timers[i]);
    }
    free(timers);
}

static void subject_inside(void (*fn)(void))
{
    fn();
}

/* As many as there may be descriptors. */
static inline bool subject_can(size_t others)
{
    struct rlimit limit;
    MICRO_MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return others + 32 < limit.rlim_cur;
}

static inline void subject_push(size_t which, int64_t now_ns)
{
    (void)now_ns;
    set(timers[which], PUSH_AFTER_NS);
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)now_ns;
    set(timers[0], window_ns(value));
    set(timers[1], deadline_ns(value));
}

static inline void subject_cancel_two(void)
{
    set(timers[0], 0);
    set(timers[1], 0);
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    return run_rows(argc, argv, "timerfd");
}
