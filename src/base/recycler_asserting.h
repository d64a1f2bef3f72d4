/* SPDX-License-Identifier: MIT */
/*
 * The asserting mode of recyclers (--enable-asserting-pool): more mistakes trap, at a price.
 *
 * Decides: what an idle object looks like, what lies behind an object, and who asks for the owner.
 * Included by recycler_parts.h alone. Without LULL_ASSERTING_POOL each hook is an empty inline
 * function: scripts/check-asserting.sh compiles the recycler with the hooks and with their lines
 * taken out, and compares the instructions. So a hook stands alone on its line, and its name begins
 * with asserting_.
 *
 * Behind the object's bytes come at least 8 bytes of a pattern, up to a word that says whether it is
 * claimed. An idle object is full of another pattern, which is looked at when it is claimed again or
 * goes back to the allocator. A claimed object is full of a third one: who reads before he writes
 * finds nonsense.
 */
#ifndef BASE_RECYCLER_ASSERTING_H
#define BASE_RECYCLER_ASSERTING_H

#ifdef LULL_ASSERTING_POOL

#include <string.h>

#include "base/invariant.h"

#define ASSERTING_IDLE    0xdd
#define ASSERTING_FRESH   0xa5
#define ASSERTING_BEHIND  0xfb
#define ASSERTING_CLAIMED UINT64_C(0x636c61696d65643f)
#define ASSERTING_AT_REST UINT64_C(0x61742072657374a9)

static inline size_t asserting_tail_at(const struct lull_recycler *recycler)
{
    return recycler->object_bytes - sizeof(uint64_t);
}

static inline _Atomic uint64_t *asserting_tail(const struct lull_recycler *recycler, void *object)
{
    return (_Atomic uint64_t *)(void *)((unsigned char *)object + asserting_tail_at(recycler));
}

/* Traps at the first of the bytes from `from` to `to` that is not `byte`. */
static inline void asserting_expect(const struct lull_recycler *recycler, void *object, size_t from,
                                    size_t to, unsigned char byte, const char *what)
{
    const unsigned char *bytes = object;
    for (size_t i = from; i < to; i++) {
        if (bytes[i] != byte) {
            invariant_failed(__FILE__, __LINE__, "recycler \"%s\": object %p of %zu bytes %s, at %zu",
                             recycler->name, object, recycler->user_bytes, what, i);
        }
    }
}

static inline void asserting_made(struct lull_recycler *recycler,
                                  const struct lull_recycler_options *options)
{
    const size_t word = sizeof(uint64_t);
    recycler->user_bytes = options->object_bytes;
    recycler->object_bytes = (options->object_bytes + word + word - 1) / word * word + word;
    recycler->is_owner = options->is_owner;
    recycler->owner = options->owner;
}

/* After lull_recycler_free the owner may be gone, and late releases are legal on any thread. */
static inline void asserting_owner(const struct lull_recycler *recycler, const void *object,
                                   const char *what)
{
    if (recycler->is_owner != NULL && !recycler->is_freed && !recycler->is_owner(recycler->owner)) {
        recycler_trap(recycler, object, what);
    }
}

static inline void asserting_rest(const struct lull_recycler *recycler, void *object)
{
    memset(object, ASSERTING_IDLE, recycler->user_bytes);
}

static inline void asserting_allocated(const struct lull_recycler *recycler, void *object)
{
    asserting_rest(recycler, object);
    memset((unsigned char *)object + recycler->user_bytes, ASSERTING_BEHIND,
           asserting_tail_at(recycler) - recycler->user_bytes);
    atomic_init(asserting_tail(recycler, object), ASSERTING_AT_REST);
}

/* Idle it was; nobody may have touched it since. */
static inline void asserting_idle(const struct lull_recycler *recycler, void *object)
{
    asserting_expect(recycler, object, 0, recycler->user_bytes, ASSERTING_IDLE,
                     "was written to after its release");
    asserting_expect(recycler, object, recycler->user_bytes, asserting_tail_at(recycler),
                     ASSERTING_BEHIND, "was written past its end after its release");
}

static inline void asserting_claimed(const struct lull_recycler *recycler, void *object)
{
    asserting_idle(recycler, object);
    memset(object, ASSERTING_FRESH, recycler->user_bytes);
    atomic_store_explicit(asserting_tail(recycler, object), ASSERTING_CLAIMED,
                          memory_order_relaxed);
}

/* The exchange guards unguarded releases too. */
static inline void asserting_released(const struct lull_recycler *recycler, void *object)
{
    asserting_expect(recycler, object, recycler->user_bytes, asserting_tail_at(recycler),
                     ASSERTING_BEHIND, "was written past its end");
    const uint64_t was = atomic_exchange_explicit(asserting_tail(recycler, object),
                                                  ASSERTING_AT_REST, memory_order_relaxed);
    if (was != ASSERTING_CLAIMED) {
        recycler_trap(recycler, object,
                      was == ASSERTING_AT_REST ? "released twice" : "was written past its end");
    }
    asserting_rest(recycler, object);
}

static inline void asserting_alone(const struct lull_recycler *recycler, const void *port,
                                   atomic_bool *is_in)
{
    if (atomic_exchange_explicit(is_in, true, memory_order_relaxed)) {
        recycler_trap(recycler, port, "is a port that two threads use at once");
    }
}

static inline void asserting_alone_no_more(atomic_bool *is_in)
{
    atomic_store_explicit(is_in, false, memory_order_relaxed);
}

#else

static inline void asserting_made(const struct lull_recycler *recycler,
                                  const struct lull_recycler_options *options)
{
    (void)recycler;
    (void)options;
}

static inline void asserting_owner(const struct lull_recycler *recycler, const void *object,
                                   const char *what)
{
    (void)recycler;
    (void)object;
    (void)what;
}

static inline void asserting_allocated(const struct lull_recycler *recycler, const void *object)
{
    (void)recycler;
    (void)object;
}

static inline void asserting_idle(const struct lull_recycler *recycler, const void *object)
{
    (void)recycler;
    (void)object;
}

static inline void asserting_claimed(const struct lull_recycler *recycler, const void *object)
{
    (void)recycler;
    (void)object;
}

static inline void asserting_released(const struct lull_recycler *recycler, const void *object)
{
    (void)recycler;
    (void)object;
}

static inline void asserting_alone(const struct lull_recycler *recycler, const void *port,
                                   const atomic_bool *is_in)
{
    (void)recycler;
    (void)port;
    (void)is_in;
}

static inline void asserting_alone_no_more(const atomic_bool *is_in)
{
    (void)is_in;
}

#endif
#endif
