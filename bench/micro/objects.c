/* SPDX-License-Identifier: MIT */
/*
 * The rows of the family "recycler", see objects.h. The two threads hand objects over by a ring with one producer and one
 * consumer; what that costs alone is measured in turn with it.
 */
#define _GNU_SOURCE 1
#include "objects.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define LINE_BYTES 64

/* The other thread takes no fewer, but at the end. */
#define OBJECTS_AT_A_TIME 32

static struct {
    void *slots[OBJECTS_ON_THE_WAY];
    char apart[LINE_BYTES];
    _Atomic size_t sent;
    size_t taken_seen;
    char apart2[LINE_BYTES];
    _Atomic size_t taken;
    _Atomic(bool) is_over;
    _Atomic(bool) is_settling;
    void (*there)(void *);
} ring;

/* The other side may sit on this very CPU. */
static void wait_a_little(unsigned *tries)
{
    if (++*tries % 256 == 0) {
        sched_yield();
    } else {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

void objects_send(void *object)
{
    const size_t sent = atomic_load_explicit(&ring.sent, memory_order_relaxed);
    unsigned tries = 0;
    while (sent - ring.taken_seen >= OBJECTS_ON_THE_WAY) {
        ring.taken_seen = atomic_load_explicit(&ring.taken, memory_order_acquire);
        if (sent - ring.taken_seen >= OBJECTS_ON_THE_WAY) {
            wait_a_little(&tries);
        }
    }
    ring.slots[sent % OBJECTS_ON_THE_WAY] = object;
    atomic_store_explicit(&ring.sent, sent + 1, memory_order_release);
}

void objects_settle(void)
{
    const size_t sent = atomic_load_explicit(&ring.sent, memory_order_relaxed);
    unsigned tries = 0;
    atomic_store_explicit(&ring.is_settling, true, memory_order_release);
    while (atomic_load_explicit(&ring.taken, memory_order_acquire) != sent) {
        wait_a_little(&tries);
    }
    atomic_store_explicit(&ring.is_settling, false, memory_order_release);
}

/* Where the program may run, as it was started. */
static cpu_set_t may;

/* On the first or the second of the CPUs that we may use, where there are two. */
static void settle_on(unsigned number)
{
    cpu_set_t one;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may) && number-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
            return;
        }
    }
}

static void *take_all(void *ctx)
{
    size_t taken = 0;
    unsigned tries = 0;
    (void)ctx;
    settle_on(1);
    while (!atomic_load_explicit(&ring.is_over, memory_order_relaxed)) {
        const size_t sent = atomic_load_explicit(&ring.sent, memory_order_acquire);
        /* Some at a time: two threads in step, one object each, would measure the way of a cache line and little else. */
        if (sent == taken || (sent - taken < OBJECTS_AT_A_TIME &&
                              !atomic_load_explicit(&ring.is_settling, memory_order_acquire))) {
            wait_a_little(&tries);
            continue;
        }
        while (taken != sent) {
            uintptr_t *object = ring.slots[taken % OBJECTS_ON_THE_WAY];
            if (object != NULL) {
                MICRO_USE(*object);
                ring.there(object);
            }
            atomic_store_explicit(&ring.taken, ++taken, memory_order_release);
        }
    }
    return NULL;
}

/* The handing over alone: how dear that is depends on where the machine has put its processors, and changes from one second to the
 * next. */
static void send_nothing(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        objects_send(NULL);
    }
    objects_settle();
}

static void work_and_send_nothing(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        micro_work();
        objects_send(NULL);
    }
    objects_settle();
}

static uintptr_t standing[OBJECTS_IN_FLIGHT];
static size_t standing_at;

#define OBJECTS_NAME            empty
#define OBJECTS_CLAIM()         (&standing[standing_at = (standing_at + 1) % OBJECTS_IN_FLIGHT])
#define OBJECTS_RELEASE(object) MICRO_USE(object)
#include "objects_loops.h"

void objects_rows(const char *variant, const struct objects_loops *loops, size_t bytes)
{
    micro_set_names("recycler", variant);
    loops->flight(NULL, 4 * (size_t)OBJECTS_IN_FLIGHT);
    micro_lines_at("pair", bytes, micro_measure(loops->pair, empty_loops.pair, NULL));
    micro_lines_at("flight", bytes, micro_measure(loops->flight, empty_loops.flight, NULL));
    micro_lines_at("work", bytes, micro_measure(loops->work, empty_loops.work, NULL));
}

/* With the handing over and the work: they overlap with what the other thread does, so that nothing can be taken off. */
static void print_cross(const char *row, size_t bytes, struct micro_time time)
{
    micro_line_at(row, bytes, "ns", time.net_ns + time.empty_ns);
    micro_line_at(row, bytes, "mid_ns", time.mid_ns + time.empty_ns);
    micro_line_at(row, bytes, "empty_ns", time.empty_ns);
}

/* Several times: what the two threads are in step with lasts longer than a block. */
static struct micro_time measure_cross(micro_fn cross, micro_fn empty, size_t count)
{
    struct micro_time best = micro_measure_blocks(cross, empty, NULL, count);
    for (unsigned i = 0; i < (micro_is_once() ? 0 : 2); i++) {
        const struct micro_time again = micro_measure_blocks(cross, empty, NULL, count);
        best = again.net_ns + again.empty_ns < best.net_ns + best.empty_ns ? again : best;
    }
    return best;
}

void objects_cross_row(const char *variant, const struct objects_loops *loops, size_t bytes)
{
    pthread_t there;
    micro_set_names("recycler", variant);
    if (CPU_COUNT(&may) == 0) {
        MICRO_MUST(sched_getaffinity(0, sizeof(may), &may) == 0);
    }
    memset(&ring, 0, sizeof(ring));
    ring.there = loops->there;
    MICRO_MUST(pthread_create(&there, NULL, take_all, NULL) == 0);
    settle_on(0);
    /* Neither so short that a thread which waits for its CPU is a block of its own, nor so long that both are never there for one. */
    const size_t count = micro_count(6000, 64);
    loops->cross(NULL, count);
    const struct micro_time time = measure_cross(loops->cross, send_nothing, count);
    const struct micro_time work = micro_measure_blocks(loops->cross_work, work_and_send_nothing, NULL, count);
    atomic_store(&ring.is_over, true);
    MICRO_MUST(pthread_join(there, NULL) == 0);
    print_cross("cross", bytes, time);
    print_cross("cross-work", bytes, work);
}
