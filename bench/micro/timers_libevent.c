/* SPDX-License-Identifier: MIT */
/*
 * libevent in the families "push" and "attempt": event_add and event_del, inside a callback of its loop, where the time is
 * cached. Outside of one each event_add reads the clock as well.
 */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "timers.h"

static struct event_base *base;
static struct event *timers;
static size_t timer_count;

static void on_expired(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    (void)ctx;
}

static inline struct timeval in_timeval(int64_t ns)
{
    const struct timeval after = {.tv_sec = (time_t)(ns / TIMERS_SECOND),
                                  .tv_usec = (suseconds_t)(ns % TIMERS_SECOND / 1000)};
    return after;
}

static void add(struct event *timer, int64_t after_ns)
{
    const struct timeval after = in_timeval(after_ns);
    MICRO_MUST(event_add(timer, &after) == 0);
}

static void subject_open(size_t others, size_t values)
{
    (void)values;
    base = event_base_new();
    MICRO_MUST(base != NULL);
    timer_count = others + 2;
    timers = timers_memory(timer_count, sizeof(*timers));
    for (size_t i = 0; i < timer_count; i++) {
        MICRO_MUST(evtimer_assign(&timers[i], base, on_expired, NULL) == 0);
        if (i >= 2) {
            add(&timers[i], others_after_ns(i));
        }
    }
}

static void subject_close(void)
{
    for (size_t i = 0; i < timer_count; i++) {
        event_del(&timers[i]);
    }
    event_base_free(base);
    free(timers);
}

static void (*inside)(void);

static void call_inside(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    (void)ctx;
    inside();
}

static void subject_inside(void (*fn)(void))
{
    const struct timeval at_once = {0, 0};
    inside = fn;
    MICRO_MUST(event_base_once(base, -1, EV_TIMEOUT, call_inside, NULL, &at_once) == 0);
    MICRO_MUST(event_base_loop(base, EVLOOP_ONCE) >= 0);
}

static inline bool subject_can(size_t others)
{
    (void)others;
    return true;
}

static inline void subject_push(size_t which, int64_t now_ns)
{
    (void)now_ns;
    add(&timers[which], PUSH_AFTER_NS);
}

static inline void subject_arm_two(size_t value, int64_t now_ns)
{
    (void)now_ns;
    add(&timers[0], window_ns(value));
    add(&timers[1], deadline_ns(value));
}

static inline void subject_cancel_two(void)
{
    event_del(&timers[0]);
    event_del(&timers[1]);
}

#include "timers_rows.h"

int main(int argc, char **argv)
{
    return run_rows(argc, argv, "libevent");
}
