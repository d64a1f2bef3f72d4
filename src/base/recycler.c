/* SPDX-License-Identifier: MIT */
/*
 * Typed free lists with an owner. The public side is lull/recycler.h.
 *
 * Decides: where an object comes from (the owner's stack, then what other threads gave back, then
 * the allocator), how many are kept, and how a second release is caught. Called by everything that
 * has objects of one kind again and again. Must not know what is in an object, nor which thread is
 * the owner: that is the executor's to say, and to hand over with a happens-before between the old
 * owner and the new.
 *
 * The header before each object and the test of a release are in recycler_parts.h.
 *
 * Other threads push to one list by compare-and-swap; the owner takes the whole list at once when
 * its own stack is empty, so no ABA can arise; a thread that releases often has a port
 * (recycler_port.c), which is looked into before the list. When the recycler is freed that list is
 * closed for good: whoever then finds it closed frees the object itself, and the last object out, or
 * the last port, frees the recycler. LULL_NO_POOL (--disable-pool) is a recycler whose list is closed from the start: each
 * claim is an allocation and each release, on any thread, gives it back, so valgrind and ASan see
 * them all.
 */
#include "base/cold.h"
#include "lull/recycler.h"

#include <stdatomic.h>
#include <string.h>

#include "lull/trace.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/recycler_parts.h"
#include "base/sized.h"

#define KEEP_DEFAULT 256

/* What an object may be: room for the header and for what an asserting build adds. */
#define OBJECT_BYTES_MAX (SIZE_MAX - sizeof(struct recycled) - 4 * sizeof(uint64_t))

static struct recycled *next_of(struct recycled *recycled)
{
    return (struct recycled *)atomic_load_explicit(&recycled->link, memory_order_relaxed);
}

LULL_COLD int lull_recycler_new(const struct lull_recycler_options *options, struct lull_recycler **out)
{
    static const struct sized kind = {.first = SIZED_UP_TO(struct lull_recycler_options, counters),
                                      .own = sizeof(*options)};
    struct lull_recycler_options chosen;
    struct lull_recycler *recycler;
    lull_recycler_options_init(&chosen, NULL, 0);
    if (options == NULL || out == NULL || sized_take(&kind, &chosen, options, NULL) != LULL_OK ||
        chosen.name == NULL || chosen.object_bytes == 0 || chosen.object_bytes > OBJECT_BYTES_MAX) {
        return LULL_RC_INVALID;
    }
    options = &chosen;
    recycler = mem_zeroed(options->allocator, sizeof(*recycler));
    if (recycler == NULL) {
        return LULL_RC_NOMEM;
    }
    recycler->name = options->name;
    recycler->object_bytes = options->object_bytes;
    asserting_made(recycler, options);
    recycler->allocator = options->allocator;
    recycler->counters = options->counters;
    if (IS_POOLING) {
        recycler->keep = options->keep == 0 ? KEEP_DEFAULT : options->keep;
    }
    atomic_init(&recycler->foreign, IS_POOLING ? LINK_END : LIST_CLOSED);
    atomic_init(&recycler->left, 1);
    if (recycler->counters != NULL) {
        recycler->counters->allocations++;
    }
    *out = recycler;
    return LULL_OK;
}

void recycler_trap(const struct lull_recycler *recycler, const void *object, const char *what)
{
    invariant_failed(__FILE__, __LINE__, "recycler \"%s\": object %p %s", recycler->name, object,
                     what);
}

static void free_memory(struct lull_recycler *recycler, struct recycled *recycled)
{
    UNPOISON(recycled_object(recycled), recycler->object_bytes);
    asserting_idle(recycler, recycled_object(recycled));
    mem_release(recycler->allocator, recycled);
}

void recycler_free_object(struct lull_recycler *recycler, struct recycled *recycled)
{
    free_memory(recycler, recycled);
}

void recycler_leave(struct lull_recycler *recycler, uint64_t count)
{
    if (atomic_fetch_sub_explicit(&recycler->left, count, memory_order_acq_rel) == count) {
        mem_release(recycler->allocator, recycler);
    }
}

void recycler_drop(struct lull_recycler *recycler, struct recycled *recycled)
{
    recycler->refused++;
    free_memory(recycler, recycled);
    if (atomic_load_explicit(&recycler->foreign, memory_order_relaxed) == LIST_CLOSED) {
        recycler_leave(recycler, 1);
    }
}

/* Takes what other threads put on the list. Acquire: what they did to the objects comes before. */
static void collect_list(struct lull_recycler *recycler)
{
    uintptr_t seen = atomic_load_explicit(&recycler->foreign, memory_order_relaxed);
    struct recycled *recycled;
    if (seen == LINK_END || seen == LIST_CLOSED) {
        return;
    }
    recycled = (struct recycled *)atomic_exchange_explicit(&recycler->foreign, LINK_END,
                                                           memory_order_acquire);
    while (recycled != NULL) {
        struct recycled *next = next_of(recycled);
        recycler->releases_foreign++;
        recycler_keep_or_drop(recycler, recycled);
        recycled = next;
    }
}

static struct recycled *allocate(struct lull_recycler *recycler)
{
    struct recycled *recycled =
        mem_alloc(recycler->allocator, sizeof(*recycled) + recycler->object_bytes);
    if (recycled == NULL) {
        return NULL;
    }
    recycled->recycler = recycler;
    atomic_init(&recycled->link, LINK_END);
    recycler->claims_allocated++;
    asserting_allocated(recycler, recycled_object(recycled));
    if (recycler->counters != NULL) {
        recycler->counters->pool_misses++;
        recycler->counters->allocations++;
    }
    if (!IS_POOLING) {
        atomic_fetch_add_explicit(&recycler->left, 1, memory_order_relaxed);
    }
    return recycled;
}

/* The owner's stack is empty. */
static struct recycled *find_elsewhere(struct lull_recycler *recycler)
{
    LULL_INVARIANT(!recycler->is_freed, "claimed from a recycler that was freed");
    if (recycler->ports != NULL) {
        recycler_collect_ports(recycler);
        if (recycler->local != NULL) {
            recycler->claims_port++;
            return recycler_pop(recycler);
        }
    }
    collect_list(recycler);
    if (recycler->local == NULL) {
        return allocate(recycler);
    }
    recycler->claims_foreign++;
    return recycler_pop(recycler);
}

void *recycler_claim_elsewhere(struct lull_recycler *recycler)
{
    struct recycled *recycled = find_elsewhere(recycler);
    return recycled == NULL ? NULL : recycler_hand_out(recycler, recycled);
}

void *lull_recycler_claim(struct lull_recycler *recycler)
{
    return recycler_claim(recycler);
}

void lull_recycler_release(struct lull_recycler *recycler, void *object)
{
    if (object != NULL) {
        recycler_release_here(recycler, object, true);
    }
}

void lull_recycler_release_unguarded(struct lull_recycler *recycler, void *object)
{
    if (object != NULL) {
        recycler_release_here(recycler, object, false);
    }
}

void recycler_push_foreign(struct lull_recycler *recycler, struct recycled *recycled)
{
    uintptr_t head = atomic_load_explicit(&recycler->foreign, memory_order_acquire);
    do {
        if (head == LIST_CLOSED) {
            free_memory(recycler, recycled);
            recycler_leave(recycler, 1);
            return;
        }
        atomic_store_explicit(&recycled->link, head, memory_order_relaxed);
        /* Once it is on the list the owner may free it and the recycler: touch neither again. */
    } while (!atomic_compare_exchange_weak_explicit(&recycler->foreign, &head, (uintptr_t)recycled,
                                                    memory_order_release, memory_order_acquire));
}

void lull_recycler_release_foreign(struct lull_recycler *recycler, void *object)
{
    if (object != NULL) {
        recycler_push_foreign(recycler, recycler_take_back(recycler, object, true));
    }
}

static void drop_local(struct lull_recycler *recycler)
{
    while (recycler->local != NULL) {
        recycler->trimmed++;
        free_memory(recycler, recycler_pop(recycler));
    }
}

void lull_recycler_trim(struct lull_recycler *recycler)
{
    asserting_owner(recycler, NULL, "trimmed on a thread that is not the owner's");
    recycler_collect_ports(recycler);
    collect_list(recycler);
    drop_local(recycler);
}

/* All that came back, as far as it was collected. */
static uint64_t releases(const struct lull_recycler *recycler)
{
    return recycler->pushes + recycler->refused;
}

static uint64_t claims(const struct lull_recycler *recycler)
{
    return recycler->pops - recycler->trimmed + recycler->claims_allocated;
}

/* Claimed and not known to be back. */
static uint64_t in_use(const struct lull_recycler *recycler)
{
    if (!IS_POOLING) {
        return atomic_load_explicit(&recycler->left, memory_order_relaxed) - 1;
    }
    return claims(recycler) - releases(recycler);
}

/* Closes the list. Returns for how many of `left` this speaks. */
static uint64_t close_list(struct lull_recycler *recycler)
{
    struct recycled *recycled;
    uint64_t gone = 0;
    /* The exchange publishes `left` to whoever finds the list closed. */
    recycled = (struct recycled *)atomic_exchange_explicit(&recycler->foreign, LIST_CLOSED,
                                                           memory_order_acq_rel);
    while (recycled != NULL) {
        struct recycled *next = next_of(recycled);
        free_memory(recycler, recycled);
        gone++;
        recycled = next;
    }
    return gone;
}

LULL_COLD void lull_recycler_free(struct lull_recycler *recycler)
{
    uint64_t gone = 1;
    if (recycler == NULL) {
        return;
    }
    LULL_INVARIANT(!recycler->is_freed, "a recycler was freed twice");
    asserting_owner(recycler, NULL, "freed on a thread that is not the owner's");
    drop_local(recycler);
    recycler->keep = 0;
    recycler->is_freed = true;
    recycler_collect_ports(recycler);
    if (IS_POOLING) {
        atomic_store_explicit(&recycler->left, in_use(recycler) + 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&recycler->left, recycler_count_ports(recycler),
                              memory_order_relaxed);
    if (IS_POOLING) {
        gone += close_list(recycler);
    }
    gone += recycler_leave_ports(recycler);
    recycler_leave(recycler, gone);
}

void lull_recycler_stats(const struct lull_recycler *recycler, struct lull_recycler_stats *out)
{
    const size_t size = out->size < sizeof(*out) ? out->size : sizeof(*out);
    const uint64_t claimed = claims(recycler);
    const uint64_t here =
        releases(recycler) - recycler->releases_foreign - recycler->releases_port;
    const uint64_t out_now =
        in_use(recycler); /* asked once: without a pool other threads move it */
    const struct lull_recycler_stats stats = {
        .size = size,
        .claims = claimed,
        .claims_local = claimed - recycler->claims_foreign - recycler->claims_port -
                        recycler->claims_allocated,
        .claims_foreign = recycler->claims_foreign,
        .claims_allocated = recycler->claims_allocated,
        .releases = here,
        .releases_foreign = claimed - here - recycler->releases_port - out_now,
        .dropped = recycler->refused + recycler->trimmed,
        .in_use = out_now,
        .kept = recycler->pushes - recycler->pops,
        .claims_port = recycler->claims_port,
        .releases_port = recycler->releases_port,
        .ports_full = recycler_ports_full(recycler),
        .ports = recycler_count_ports(recycler),
    };
    if (size >= sizeof(stats.size)) {
        memcpy(out, &stats, size);
    }
}
