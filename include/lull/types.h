/* SPDX-License-Identifier: MIT */
/**
 * @file types.h
 * The values that every other header speaks in: instants, durations and slices.
 *
 * Durations are `int64_t` nanoseconds and carry `_ns` in their names. Instants are a struct, so
 * that the compiler refuses to add two of them. All arithmetic saturates: nothing wraps, and what
 * is too far away is LULL_NEVER.
 *
 * Marks on parameters, in all headers: [borrow] read during the call only (or for as long as the
 * text says), the caller keeps it; [own] passes to the callee, or to the caller for results; [ref]
 * the callee takes a reference of its own, the caller still gives its own back; [nullable] NULL is
 * allowed. No mark on a number or a struct passed by value.
 *
 * A reference to a slice without a slab counts nothing: its bytes must stay as they are until the call that they were sent on is
 * over, its `done` or `on_closed` called.
 */
#ifndef LULL_TYPES_H
#define LULL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LULL_API __attribute__((visibility("default")))
#else
#define LULL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The instant that never comes and the duration that never ends, in ns. Since 0.1. */
#define LULL_NEVER INT64_MAX

/** Nanoseconds in a microsecond, a millisecond and a second. Since 0.1. */
#define LULL_US     INT64_C(1000)
#define LULL_MS     INT64_C(1000000)
#define LULL_SECOND INT64_C(1000000000)

/** Nanoseconds in a minute and an hour. Since 0.1. */
#define LULL_MINUTE (60 * LULL_SECOND)
#define LULL_HOUR   (60 * LULL_MINUTE)

/**
 * A point on the monotonic clock, in ns from an origin that means nothing (it may be negative).
 * Since 0.1.
 */
struct lull_instant {
    int64_t ns;
};

/** The instant `ns`. Since 0.1. */
static inline struct lull_instant lull_at(int64_t ns)
{
    struct lull_instant t;
    t.ns = ns;
    return t;
}

/** The sum of two durations in ns, saturating at INT64_MIN and LULL_NEVER. Any thread. Since 0.1.
 */
static inline int64_t lull_duration_add(int64_t a_ns, int64_t b_ns)
{
    if (b_ns > 0 && a_ns > INT64_MAX - b_ns) {
        return LULL_NEVER;
    }
    if (b_ns < 0 && a_ns < INT64_MIN - b_ns) {
        return INT64_MIN;
    }
    return a_ns + b_ns;
}

/**
 * The instant `after_ns` after `t` (before it when negative). LULL_NEVER on either side gives
 * LULL_NEVER. Any thread. Since 0.1.
 */
static inline struct lull_instant lull_instant_add(struct lull_instant t, int64_t after_ns)
{
    if (t.ns == LULL_NEVER || after_ns == LULL_NEVER) {
        return lull_at(LULL_NEVER);
    }
    return lull_at(lull_duration_add(t.ns, after_ns));
}

/**
 * The duration from `from` to `to` in ns, negative when `to` is earlier. LULL_NEVER when `to` is.
 * Saturates. Any thread. Since 0.1.
 */
static inline int64_t lull_instant_diff(struct lull_instant to, struct lull_instant from)
{
    if (to.ns == LULL_NEVER) {
        return LULL_NEVER;
    }
    if (from.ns > 0 && to.ns < INT64_MIN + from.ns) {
        return INT64_MIN;
    }
    if (from.ns < 0 && to.ns > INT64_MAX + from.ns) {
        return LULL_NEVER;
    }
    return to.ns - from.ns;
}

/** True when `a` comes before `b`. Any thread. Since 0.1. */
static inline bool lull_instant_before(struct lull_instant a, struct lull_instant b)
{
    return a.ns < b.ns;
}

struct lull_slab;
struct lull_allocator;

/**
 * A run of bytes, and who keeps them. `slab` NULL means memory that the maker of the slice keeps
 * valid and unchanged for as long as anybody holds the slice. Passed by value. Since 0.1.
 */
struct lull_slice {
    const uint8_t *data; /**< [nullable] only when len is 0 */
    size_t len;          /**< bytes */
    struct lull_slab *slab;
};

/** A slice over memory that outlives every use of it: nothing is copied, nothing is counted. Not for a buffer on the stack of a
 * function that returns before the call is over: lull_slice_copy is. Since 0.1. */
static inline struct lull_slice lull_slice_static(const void *data, size_t len)
{
    struct lull_slice s;
    s.data = (const uint8_t *)data;
    s.len = len;
    s.slab = NULL;
    return s;
}

/**
 * Copies `len` bytes at `data` into a new counted slice with one reference, which the caller owns.
 * @param allocator [borrow, nullable] where the bytes come from; NULL: the system's. Must outlive
 * the slice.
 * @param data [borrow, nullable when len is 0]
 * @param out receives the slice; left alone on failure
 * @return LULL_OK, LULL_RC_NOMEM or LULL_RC_INVALID (no data and a len) (rc.h). Any thread. Since 0.1.
 */
LULL_API int lull_slice_copy(const struct lull_allocator *allocator, const void *data, size_t len,
                             struct lull_slice *out);

/** Takes one more reference and returns the same slice. Any thread. Since 0.1. */
LULL_API struct lull_slice lull_slice_ref(struct lull_slice slice);

/** Gives one reference back; the last one frees the bytes. Any thread; a slice without a slab is
 * left alone. Since 0.1. */
LULL_API void lull_slice_unref(struct lull_slice slice);

#ifdef __cplusplus
}
#endif

#endif
