/* SPDX-License-Identifier: MIT */
/*
 * A port: one thread's own way to give objects back to a recycler. The public side is
 * lull/recycler.h.
 *
 * Decides: the ring between one thread that releases and the owner that collects, and who frees it.
 * Called by whoever releases often, and by recycler.c. Must not know what the threads are.
 *
 * The ring has one producer, the port's thread, and one consumer, the recycler's owner; each writes
 * its own index and remembers the other's, so that a release is a store into the ring and a store of
 * the index. A full port hands on to the shared list.
 *
 * Two parties, and either may go first: each sets its bit in `gone`, and who finds the other's bit
 * set frees what is left. As long as the owner is there it is the consumer, and it frees a port whose
 * thread has gone when it next collects. Once the owner has gone the port's thread is the consumer: an
 * object that was put in just as the recycler was freed goes with the thread's next release, or with
 * the port. The recycler's memory stays until its ports are freed.
 */
#include "base/cold.h"
#include "lull/recycler.h"

#include <stdatomic.h>

#include "lull/trace.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/recycler_parts.h"

#define CAPACITY_DEFAULT 256u
#define CAPACITY_MAX     (1u << 24)

/* Bits of `gone`. */
#define GONE_THREAD 1u
#define GONE_OWNER  2u

struct lull_recycler_port {
    /* Set once; on a line of their own, since both sides read them. */
    struct lull_recycler *recycler;
    uint32_t mask;
    char apart_from_both[CACHE_LINE_BYTES];

    /* The owner's. */
    struct lull_recycler_port *next;
    uint32_t tail_seen;
    _Atomic uint32_t head; /* what was taken out; written by the consumer */

    char apart[CACHE_LINE_BYTES];
    /* The port's thread's. */
    uint32_t head_seen;
    _Atomic uint32_t tail;      /* what was put in */
    _Atomic uint64_t full;      /* releases that found no room */
    _Atomic uint32_t gone;
    atomic_bool is_in;          /* asserting builds: a thread is inside */
    char apart_from_objects[CACHE_LINE_BYTES];
    struct recycled *objects[]; /* mask + 1 */
};

static uint32_t power_of_two(uint32_t capacity)
{
    uint32_t power = 1;
    while (power < capacity) {
        power *= 2;
    }
    return power;
}

LULL_COLD int lull_recycler_port_new(struct lull_recycler *recycler, uint32_t capacity,
                           struct lull_recycler_port **out)
{
    struct lull_recycler_port *port;
    uint32_t objects = power_of_two(capacity == 0 ? CAPACITY_DEFAULT
                                                  : (capacity > CAPACITY_MAX ? 1 : capacity));
    if (recycler == NULL || out == NULL || capacity > CAPACITY_MAX) {
        return LULL_RC_INVALID;
    }
    LULL_INVARIANT(!recycler->is_freed, "a port of a recycler that was freed");
    asserting_owner(recycler, NULL, "given a port on a thread that is not the owner's");
    /* Threads come and go: the ports of those that went do not pile up. */
    recycler_collect_ports(recycler);
    port = mem_zeroed(recycler->allocator,
                      sizeof(*port) + (size_t)objects * sizeof(port->objects[0]));
    if (port == NULL) {
        return LULL_RC_NOMEM;
    }
    if (recycler->counters != NULL) {
        recycler->counters->allocations++;
    }
    port->recycler = recycler;
    port->mask = objects - 1;
    atomic_init(&port->head, 0);
    atomic_init(&port->tail, 0);
    atomic_init(&port->full, 0);
    atomic_init(&port->gone, 0);
    atomic_init(&port->is_in, false);
    port->next = recycler->ports;
    recycler->ports = port;
    *out = port;
    return LULL_OK;
}

/* Objects come from another processor: so far ahead they are asked for, so that nobody waits for each. */
#define AHEAD 8u

/* The consumer's: the next object, or NULL. Acquire: what was done to the objects comes before. */
static struct recycled *take_out(struct lull_recycler_port *port)
{
    const uint32_t head = atomic_load_explicit(&port->head, memory_order_relaxed);
    struct recycled *recycled;
    if (head == port->tail_seen) {
        port->tail_seen = atomic_load_explicit(&port->tail, memory_order_acquire);
        if (head == port->tail_seen) {
            return NULL;
        }
    }
    recycled = port->objects[head & port->mask];
    if (port->tail_seen - head > AHEAD) {
        __builtin_prefetch(port->objects[(head + AHEAD) & port->mask], 1);
    }
    atomic_store_explicit(&port->head, head + 1, memory_order_release);
    return recycled;
}

static bool put_in(struct lull_recycler_port *port, struct recycled *recycled)
{
    const uint32_t tail = atomic_load_explicit(&port->tail, memory_order_relaxed);
    if (tail - port->head_seen > port->mask) {
        port->head_seen = atomic_load_explicit(&port->head, memory_order_acquire);
        if (tail - port->head_seen > port->mask) {
            return false;
        }
    }
    port->objects[tail & port->mask] = recycled;
    atomic_store_explicit(&port->tail, tail + 1, memory_order_release);
    return true;
}

/* Frees what is in the port; how many that was. The consumer's. */
static uint64_t free_rest(struct lull_recycler_port *port)
{
    struct recycled *recycled;
    uint64_t freed = 0;
    while ((recycled = take_out(port)) != NULL) {
        recycler_free_object(port->recycler, recycled);
        freed++;
    }
    return freed;
}

void lull_recycler_port_release(struct lull_recycler_port *port, void *object)
{
    struct lull_recycler *recycler = port->recycler;
    uint32_t gone;
    struct recycled *recycled;
    if (object == NULL) {
        return;
    }
    asserting_alone(recycler, port, &port->is_in);
    gone = atomic_load_explicit(&port->gone, memory_order_acquire);
    LULL_INVARIANT((gone & GONE_THREAD) == 0, "released by a port that was freed");
    recycled = recycler_take_back(recycler, object, true);
    if ((gone & GONE_OWNER) != 0) {
        /* The port itself holds the recycler: it outlives this. */
        uint64_t freed = free_rest(port) + 1;
        recycler_free_object(recycler, recycled);
        recycler_leave(recycler, freed);
    } else if (!IS_POOLING) {
        recycler_push_foreign(recycler, recycled);
    } else if (!put_in(port, recycled)) {
        atomic_store_explicit(&port->full,
                              atomic_load_explicit(&port->full, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        recycler_push_foreign(recycler, recycled);
    }
    asserting_alone_no_more(&port->is_in);
}

LULL_COLD void lull_recycler_port_free(struct lull_recycler_port *port)
{
    struct lull_recycler *recycler;
    uint32_t gone;
    uint64_t left;
    if (port == NULL) {
        return;
    }
    recycler = port->recycler;
    asserting_alone(recycler, port, &port->is_in);
    asserting_alone_no_more(&port->is_in);
    /* Release: what this thread put in is there when the owner sees the bit. */
    gone = atomic_fetch_or_explicit(&port->gone, GONE_THREAD, memory_order_acq_rel);
    LULL_INVARIANT((gone & GONE_THREAD) == 0, "a port was freed twice");
    if ((gone & GONE_OWNER) != 0) {
        left = free_rest(port) + 1;
        mem_release(recycler->allocator, port);
        recycler_leave(recycler, left);
    }
}

void recycler_collect_ports(struct lull_recycler *recycler)
{
    struct lull_recycler_port **at = &recycler->ports;
    while (*at != NULL) {
        struct lull_recycler_port *port = *at;
        struct recycled *recycled;
        /* Looked at first: what the thread put in before it went is then in there. */
        const uint32_t gone = atomic_load_explicit(&port->gone, memory_order_acquire);
        while ((recycled = take_out(port)) != NULL) {
            recycler->releases_port++;
            recycler_keep_or_drop(recycler, recycled);
        }
        if ((gone & GONE_THREAD) == 0) {
            at = &port->next;
            continue;
        }
        *at = port->next;
        recycler->ports_full += atomic_load_explicit(&port->full, memory_order_relaxed);
        mem_release(recycler->allocator, port);
    }
}

uint64_t recycler_leave_ports(struct lull_recycler *recycler)
{
    uint64_t gone = 0;
    while (recycler->ports != NULL) {
        struct lull_recycler_port *port = recycler->ports;
        recycler->ports = port->next;
        if ((atomic_fetch_or_explicit(&port->gone, GONE_OWNER, memory_order_acq_rel) &
             GONE_THREAD) != 0) {
            gone += free_rest(port) + 1;
            mem_release(recycler->allocator, port);
        }
    }
    return gone;
}

uint64_t recycler_count_ports(const struct lull_recycler *recycler)
{
    uint64_t count = 0;
    for (const struct lull_recycler_port *port = recycler->ports; port != NULL; port = port->next) {
        count++;
    }
    return count;
}

uint64_t recycler_ports_full(const struct lull_recycler *recycler)
{
    uint64_t full = recycler->ports_full;
    for (const struct lull_recycler_port *port = recycler->ports; port != NULL; port = port->next) {
        full += atomic_load_explicit(&port->full, memory_order_relaxed);
    }
    return full;
}
