/* SPDX-License-Identifier: MIT */
/*
 * What a recycler is made of, for recycler.c, recycler_port.c and size_classes.c and nobody else.
 *
 * Decides: the header of two words before each object, the one test of a release, and the ways that are always taken: a claim from
 * the owner's stack, a release to it. They are inline, since a call costs more than they do; all else is in recycler.c. The header is
 * the recycler, and a link that is the object's state as well: CLAIMED while it is out, else the
 * next idle object (0 for the last). So a guarded release is one exchange of the link, which exactly
 * one of two racing releases sees CLAIMED; the other traps. A claim, and an unguarded release, load
 * and store it. What cannot be caught: a second release after the object was claimed again, or after
 * it went back to the allocator.
 */
#ifndef BASE_RECYCLER_PARTS_H
#define BASE_RECYCLER_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/recycler.h"
#include "lull/trace.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(memory, size)   ASAN_POISON_MEMORY_REGION((memory), (size))
#define UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION((memory), (size))
#else
#define POISON(memory, size)   ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

#ifdef LULL_NO_POOL
#define IS_POOLING false
#else
#define IS_POOLING true
#endif

/* Values of a link that are no header's address. */
#define LINK_END     ((uintptr_t)0)
#define LINK_CLAIMED ((uintptr_t)1)
/* The foreign list takes no more. */
#define LIST_CLOSED ((uintptr_t)1)

#define CACHE_LINE_BYTES 64

/* What lies before each object. */
struct recycled {
    _Alignas(max_align_t) struct lull_recycler *recycler;
    _Atomic uintptr_t link;
};

struct lull_recycler {
    /* Set once. */
    const char *name;
    size_t object_bytes; /* what is kept; an asserting build adds its own */
    const struct lull_allocator *allocator;
    struct lull_counters *counters;
#ifdef LULL_ASSERTING_POOL
    size_t user_bytes; /* what was asked for */
    bool (*is_owner)(void *owner);
    void *owner;
#endif

    /* The owner's. */
    struct recycled *local;
    uint64_t pushes; /* onto `local`; what else a release or a claim would count follows from these two */
    uint64_t pops;   /* from it, by claims and trims; pushes - pops are in there */
    uint64_t keep;   /* so many at most */
    bool is_freed;
    struct lull_recycler_port *ports; /* that this side has not left */
    uint64_t claims_foreign;
    uint64_t claims_port;
    uint64_t claims_allocated;
    uint64_t releases_foreign;
    uint64_t releases_port;
    uint64_t ports_full; /* of ports that are gone */
    uint64_t refused;    /* came back when enough were kept */
    uint64_t trimmed;    /* were kept, and are not any more */

    /* Everybody's, on another cache line than the owner's. */
    char apart[CACHE_LINE_BYTES];
    _Atomic uintptr_t foreign;
    _Atomic uint64_t
        left; /* list closed: objects out, ports, and one until lull_recycler_free is through */
};

static inline void *recycled_object(struct recycled *recycled)
{
    return recycled + 1;
}

static inline struct recycled *recycled_of(void *object)
{
    return (struct recycled *)object - 1;
}

/* Ends the process: the recycler's name, the object, and what was done to it. */
_Noreturn void recycler_trap(const struct lull_recycler *recycler, const void *object,
                             const char *what);

/* Gives the memory of an object back that is in nobody's hands. */
void recycler_free_object(struct lull_recycler *recycler, struct recycled *recycled);

/* `count` of those that `left` counts are gone; the last one frees the recycler. */
void recycler_leave(struct lull_recycler *recycler, uint64_t count);

/* An object is idle and the owner's, and enough are kept: let it go. The recycler may be gone afterwards. */
void recycler_drop(struct lull_recycler *recycler, struct recycled *recycled);

/* lull_recycler_claim when the owner's stack is empty. */
void *recycler_claim_elsewhere(struct lull_recycler *recycler);

/* An object that was taken back goes to the shared list, from any thread. */
void recycler_push_foreign(struct lull_recycler *recycler, struct recycled *recycled);

/* recycler_port.c: takes what is in the ports, and frees those whose user has gone. Owner's. */
void recycler_collect_ports(struct lull_recycler *recycler);

/* recycler_port.c: how many ports there are. Owner's. */
uint64_t recycler_count_ports(const struct lull_recycler *recycler);

/* recycler_port.c: how many releases found a port full. Owner's. */
uint64_t recycler_ports_full(const struct lull_recycler *recycler);

/* recycler_port.c: the owner leaves its ports; the list is closed and `left` counts them. Returns
 * for how many of `left` it spoke: objects found in ports whose user has gone, and those ports. */
uint64_t recycler_leave_ports(struct lull_recycler *recycler);

#include "base/recycler_asserting.h"

/*
 * The one release path: judges the object. `is_guarded` is a constant at every call, so each
 * release function has one of the two bodies. The exchange needs no order: it only decides who goes
 * on; the bytes of the object are ordered by the list it goes to. Without the guard it is the store
 * of the next object, when the object goes to the stack, that makes it idle.
 */
static inline struct recycled *recycler_take_back(struct lull_recycler *recycler, void *object,
                                                  const bool is_guarded)
{
    struct recycled *recycled = recycled_of(object);
    uintptr_t was;
    if (recycled->recycler != recycler) {
        recycler_trap(recycler, object, "belongs to another recycler");
    }
    if (is_guarded) {
        was = atomic_exchange_explicit(&recycled->link, LINK_END, memory_order_relaxed);
    } else {
        was = atomic_load_explicit(&recycled->link, memory_order_relaxed);
    }
    if (was != LINK_CLAIMED) {
        recycler_trap(recycler, object, "released twice");
    }
    asserting_released(recycler, object);
    POISON(object, recycler->object_bytes);
    return recycled;
}

/* An object is idle and the owner's: keep it or let it go. The recycler may be gone afterwards. */
static inline void recycler_keep_or_drop(struct lull_recycler *recycler, struct recycled *recycled)
{
    if (recycler->pushes - recycler->pops >= recycler->keep) {
        recycler_drop(recycler, recycled);
        return;
    }
    recycler->pushes++;
    atomic_store_explicit(&recycled->link, (uintptr_t)recycler->local, memory_order_relaxed);
    recycler->local = recycled;
}

/* The first of the owner's stack, which is not empty. */
static inline struct recycled *recycler_pop(struct lull_recycler *recycler)
{
    struct recycled *recycled = recycler->local;
    recycler->local =
        (struct recycled *)atomic_load_explicit(&recycled->link, memory_order_relaxed);
    recycler->pops++;
    return recycled;
}

/* An object that nobody else knows goes to who claims it: a plain store is enough. */
static inline void *recycler_hand_out(struct lull_recycler *recycler, struct recycled *recycled)
{
    atomic_store_explicit(&recycled->link, LINK_CLAIMED, memory_order_relaxed);
    if (recycler->counters != NULL) {
        recycler->counters->pool_claims++;
    }
    UNPOISON(recycled_object(recycled), recycler->object_bytes);
    asserting_claimed(recycler, recycled_object(recycled));
    return recycled_object(recycled);
}

/* lull_recycler_claim, inline. */
static inline void *recycler_claim(struct lull_recycler *recycler)
{
    asserting_owner(recycler, NULL, "claimed on a thread that is not the owner's");
    if (recycler->local == NULL) {
        return recycler_claim_elsewhere(recycler);
    }
    return recycler_hand_out(recycler, recycler_pop(recycler));
}

/* The two releases on the owner's side, inline; `object` is not NULL. */
static inline void recycler_release_here(struct lull_recycler *recycler, void *object,
                                         const bool is_guarded)
{
    struct recycled *recycled;
    asserting_owner(recycler, object, "released on a thread that is not the owner's");
    recycled = recycler_take_back(recycler, object, is_guarded);
    recycler_keep_or_drop(recycler, recycled);
}

/* lull_recycler_release_unguarded, inline; `object` is not NULL. */
static inline void recycler_release_unguarded(struct lull_recycler *recycler, void *object)
{
    recycler_release_here(recycler, object, false);
}

#endif
