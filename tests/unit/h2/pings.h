/* SPDX-License-Identifier: MIT */
/*
 * For the tests of PINGs and keepalive: a world with keepalive, moved to exact instants, and the PINGs that the client has written.
 */
#ifndef TESTS_UNIT_H2_PINGS_H
#define TESTS_UNIT_H2_PINGS_H

#include "tests/unit/h2/frames.h"

#define MS(x) ((x)*LULL_MS)

/* ---- a world with keepalive */

static int system_probes; /* what endpoint_system_keepalive was told */

static inline int pretend_system_keepalive(struct endpoint *endpoint, bool on)
{
    (void)endpoint;
    system_probes = on;
    return 0;
}

static inline void begin_keepalive(int64_t time_ns, int64_t timeout_ns, bool without_calls)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    options.keepalive.time_ns = time_ns;
    options.keepalive.timeout_ns = timeout_ns;
    options.keepalive.without_calls = without_calls;
    world_begin_as(&options, pipe, NULL);
}

/* The next connection in the same world. `is_probed`: its system probes it when it is quiet, as TCP does. */
static inline void connect_again(const struct h2_transport_options *options,
                                 struct pipe_options pipe, bool is_probed)
{
    struct addr a;
    struct addr b;
    if (t != NULL) {
        h2_transport_close(t, 0, "again");
    }
    if (far_end != NULL) {
        endpoint_close(far_end);
    }
    run();
    memset(&told, 0, sizeof(told));
    memset(calls, 0, sizeof(calls));
    out_len = 0;
    ck_assert(addr_from_ip(&a, "10.0.0.2", 80));
    ck_assert(addr_from_ip(&b, "10.0.0.1", 50000));
    ck_assert_int_eq(endpoint_pipe_new(x, x, &a, &b, &pipe, &near_end, &far_end), 0);
    counted_ops.system_keepalive = is_probed ? pretend_system_keepalive : NULL;
    near_end->ops = &counted_ops;
    far_end->on_ready = far_ready;
    world_drain(true);
    ck_assert_int_eq(h2_transport_new(x, near_end, options, &transport_ops, &told, &t), LULL_OK);
}

/* Steps through all that is due on the way, up to `ns` and with it. */
static inline void go_to(int64_t ns)
{
    ck_assert_int_ge(ns, clock_.mono_at.ns);
    lull_executor_leave(x);
    lull_fake_clock_advance(&clock_, ns - clock_.mono_at.ns);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

/* The process stands still: everything on the way is late. */
static inline void stall_until(int64_t ns)
{
    lull_executor_leave(x);
    lull_fake_clock_jump(&clock_, ns - clock_.mono_at.ns);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
}

/* ---- PINGs */

/* The n-th PING without the ACK flag, from 0. */
static inline bool ping_frame(unsigned n, struct sent_frame *frame)
{
    for (unsigned i = 0; sent_frame(6, 0, i, frame); i++) {
        if ((frame->flags & 1) == 0 && n-- == 0) {
            return true;
        }
    }
    return false;
}

static inline unsigned pings(void)
{
    struct sent_frame frame;
    unsigned n = 0;
    while (ping_frame(n, &frame)) {
        n++;
    }
    return n;
}

static inline void say_ack(const void *payload)
{
    say_frame(6, 1, 0, payload, 8);
    run();
}

/* Answers the client's n-th PING, from 0. */
static inline void ack(unsigned n)
{
    struct sent_frame frame;
    ck_assert(ping_frame(n, &frame));
    say_ack(frame.payload);
}

/* The peer says something else, and the client hears it. */
static inline void say_something(void)
{
    say_frame(6, 1, 0, "\0\0\0\0\0\0\0\0", 8);
    run();
}

/* ---- what the timer does */

static inline int64_t due_at(void)
{
    return lull_rescheduler_run_at(&t->keepalive.wake).ns;
}

static inline struct lull_counters counters(void)
{
    struct lull_counters copy = {.size = sizeof(copy)};
    lull_executor_counters(x, &copy);
    return copy;
}

static inline uint64_t armed(void)
{
    return counters().timers_armed;
}

static inline struct h2_ping_stats ping_stats(void)
{
    struct h2_ping_stats stats;
    h2_transport_ping_stats(t, &stats);
    return stats;
}

#endif
