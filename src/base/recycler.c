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
 * Before each object lies a header of two words: the recycler, and a link. The link is the object's
 * state as well: CLAIMED while it is out, else the next idle object (0 for the last). So a guarded
 * release is one exchange of the link, which exactly one of two racing releases sees CLAIMED; the
 * other traps. A claim, and an unguarded release, load and store it. What cannot be caught: a
 * second release after the object was claimed again, or after it went back to the allocator.
 *
 * Other threads push to one list by compare-and-swap; the owner takes the whole list at once when
 * its own stack is empty, so no ABA can arise. When the recycler is freed that list is closed for
 * good: whoever then finds it closed frees the object itself, and the last object out frees the
 * recycler. LULL_NO_POOL (--disable-pool) is a recycler whose list is closed from the start: each
 * claim is an allocation and each release, on any thread, gives it back, so valgrind and ASan see
 * them all.
 */
#include "lull/recycler.h"

#include <stdatomic.h>

#include "lull/trace.h"

#include "base/invariant.h"
#include "base/mem.h"

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

#define KEEP_DEFAULT 256

/* Values of a link that are no header's address. */
#define LINK_END     ((uintptr_t)0)
#define LINK_CLAIMED ((uintptr_t)1)
/* The foreign list takes no more. */
#define LIST_CLOSED ((uintptr_t)1)

#define CACHE_LINE_BYTES 64

struct header {
    _Alignas(max_align_t) struct lull_recycler *recycler;
    _Atomic uintptr_t link;
};

struct lull_recycler {
    /* Set once. */
    const char *name;
    size_t object_bytes;
    const struct lull_allocator *allocator;
    struct lull_counters *counters;

    /* The owner's. */
    struct header *local;
    uint32_t kept;
    uint32_t keep;
    bool is_freed;
    uint64_t claims_local;
    uint64_t claims_foreign;
    uint64_t claims_allocated;
    uint64_t releases;
    uint64_t releases_foreign;
    uint64_t dropped;

    /* Everybody's, on another cache line than the owner's. */
    char apart[CACHE_LINE_BYTES];
    _Atomic uintptr_t foreign;
    _Atomic uint64_t
        left; /* list closed: the objects still out, and one until lull_recycler_free is through */
};

static void *object_of(struct header *header)
{
    return header + 1;
}

static struct header *next_of(struct header *header)
{
    return (struct header *)atomic_load_explicit(&header->link, memory_order_relaxed);
}

static void set_next(struct header *header, struct header *next)
{
    atomic_store_explicit(&header->link, (uintptr_t)next, memory_order_relaxed);
}

int lull_recycler_new(const struct lull_recycler_options *options, struct lull_recycler **out)
{
    struct lull_recycler *recycler;
    if (options == NULL || out == NULL || options->size < sizeof(*options) ||
        options->name == NULL || options->object_bytes == 0 ||
        options->object_bytes > SIZE_MAX - sizeof(struct header)) {
        return LULL_RC_INVALID;
    }
    recycler = mem_zeroed(options->allocator, sizeof(*recycler));
    if (recycler == NULL) {
        return LULL_RC_NOMEM;
    }
    recycler->name = options->name;
    recycler->object_bytes = options->object_bytes;
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

static _Noreturn void trap(const struct lull_recycler *recycler, const void *object,
                           const char *what)
{
    invariant_failed(__FILE__, __LINE__, "recycler \"%s\": object %p %s", recycler->name, object,
                     what);
}

/*
 * The one release path: judges the object. `is_guarded` is a constant at every call, so each
 * release function has one of the two bodies. The exchange needs no order: it only decides who goes
 * on; the bytes of the object are ordered by the list it goes to. Without the guard it is the store
 * of the next object, when the object goes to the stack, that makes it idle.
 */
static inline struct header *take_back(struct lull_recycler *recycler, void *object,
                                       const bool is_guarded)
{
    struct header *header = (struct header *)object - 1;
    uintptr_t was;
    if (header->recycler != recycler) {
        trap(recycler, object, "belongs to another recycler");
    }
    if (is_guarded) {
        was = atomic_exchange_explicit(&header->link, LINK_END, memory_order_relaxed);
    } else {
        was = atomic_load_explicit(&header->link, memory_order_relaxed);
    }
    if (was != LINK_CLAIMED) {
        trap(recycler, object, "released twice");
    }
    POISON(object, recycler->object_bytes);
    return header;
}

static void free_object(struct lull_recycler *recycler, struct header *header)
{
    UNPOISON(object_of(header), recycler->object_bytes);
    mem_release(recycler->allocator, header);
}

/* `count` of those that `left` counts are gone; the last one frees the recycler. */
static void leave(struct lull_recycler *recycler, uint64_t count)
{
    if (atomic_fetch_sub_explicit(&recycler->left, count, memory_order_acq_rel) == count) {
        mem_release(recycler->allocator, recycler);
    }
}

/* An object is idle and the owner's: keep it or let it go. The recycler may be gone afterwards. */
static void keep_or_drop(struct lull_recycler *recycler, struct header *header)
{
    if (recycler->kept < recycler->keep) {
        set_next(header, recycler->local);
        recycler->local = header;
        recycler->kept++;
        return;
    }
    recycler->dropped++;
    free_object(recycler, header);
    if (atomic_load_explicit(&recycler->foreign, memory_order_relaxed) == LIST_CLOSED) {
        leave(recycler, 1);
    }
}

/* Takes what other threads gave back. Acquire: what they did to the objects comes before. */
static void collect(struct lull_recycler *recycler)
{
    uintptr_t seen = atomic_load_explicit(&recycler->foreign, memory_order_relaxed);
    struct header *header;
    if (seen == LINK_END || seen == LIST_CLOSED) {
        return;
    }
    header = (struct header *)atomic_exchange_explicit(&recycler->foreign, LINK_END,
                                                       memory_order_acquire);
    while (header != NULL) {
        struct header *next = next_of(header);
        recycler->releases_foreign++;
        keep_or_drop(recycler, header);
        header = next;
    }
}

static struct header *pop_local(struct lull_recycler *recycler)
{
    struct header *header = recycler->local;
    recycler->local = next_of(header);
    recycler->kept--;
    return header;
}

static struct header *allocate(struct lull_recycler *recycler)
{
    struct header *header =
        mem_alloc(recycler->allocator, sizeof(*header) + recycler->object_bytes);
    if (header == NULL) {
        return NULL;
    }
    header->recycler = recycler;
    atomic_init(&header->link, LINK_END);
    recycler->claims_allocated++;
    if (recycler->counters != NULL) {
        recycler->counters->pool_misses++;
        recycler->counters->allocations++;
    }
    if (!IS_POOLING) {
        atomic_fetch_add_explicit(&recycler->left, 1, memory_order_relaxed);
    }
    return header;
}

/* The owner's stack is empty. */
static struct header *claim_elsewhere(struct lull_recycler *recycler)
{
    LULL_INVARIANT(!recycler->is_freed, "claimed from a recycler that was freed");
    collect(recycler);
    if (recycler->local == NULL) {
        return allocate(recycler);
    }
    recycler->claims_foreign++;
    return pop_local(recycler);
}

void *lull_recycler_claim(struct lull_recycler *recycler)
{
    struct header *header;
    if (recycler->local != NULL) {
        recycler->claims_local++;
        header = pop_local(recycler);
    } else {
        header = claim_elsewhere(recycler);
        if (header == NULL) {
            return NULL;
        }
    }
    /* Only we know the object: a plain store is enough. */
    atomic_store_explicit(&header->link, LINK_CLAIMED, memory_order_relaxed);
    if (recycler->counters != NULL) {
        recycler->counters->pool_claims++;
    }
    UNPOISON(object_of(header), recycler->object_bytes);
    return object_of(header);
}

static inline void release_here(struct lull_recycler *recycler, void *object, const bool is_guarded)
{
    if (object != NULL) {
        struct header *header = take_back(recycler, object, is_guarded);
        recycler->releases++;
        keep_or_drop(recycler, header);
    }
}

void lull_recycler_release(struct lull_recycler *recycler, void *object)
{
    release_here(recycler, object, true);
}

void lull_recycler_release_unguarded(struct lull_recycler *recycler, void *object)
{
    release_here(recycler, object, false);
}

void lull_recycler_release_foreign(struct lull_recycler *recycler, void *object)
{
    struct header *header;
    uintptr_t head;
    if (object == NULL) {
        return;
    }
    header = take_back(recycler, object, true);
    head = atomic_load_explicit(&recycler->foreign, memory_order_acquire);
    do {
        if (head == LIST_CLOSED) {
            free_object(recycler, header);
            leave(recycler, 1);
            return;
        }
        atomic_store_explicit(&header->link, head, memory_order_relaxed);
        /* Once it is on the list the owner may free it and the recycler: touch neither again. */
    } while (!atomic_compare_exchange_weak_explicit(&recycler->foreign, &head, (uintptr_t)header,
                                                    memory_order_release, memory_order_acquire));
}

static void drop_local(struct lull_recycler *recycler)
{
    while (recycler->local != NULL) {
        recycler->dropped++;
        free_object(recycler, pop_local(recycler));
    }
}

void lull_recycler_trim(struct lull_recycler *recycler)
{
    collect(recycler);
    drop_local(recycler);
}

/* Claimed and not known to be back. */
static uint64_t in_use(const struct lull_recycler *recycler)
{
    uint64_t claims =
        recycler->claims_local + recycler->claims_foreign + recycler->claims_allocated;
    if (!IS_POOLING) {
        return atomic_load_explicit(&recycler->left, memory_order_relaxed) - 1;
    }
    return claims - recycler->releases - recycler->releases_foreign;
}

void lull_recycler_free(struct lull_recycler *recycler)
{
    uint64_t gone = 1;
    if (recycler == NULL) {
        return;
    }
    LULL_INVARIANT(!recycler->is_freed, "a recycler was freed twice");
    drop_local(recycler);
    recycler->keep = 0;
    recycler->is_freed = true;
    if (IS_POOLING) {
        struct header *header;
        /* The exchange publishes `left` to whoever finds the list closed. */
        atomic_store_explicit(&recycler->left, in_use(recycler) + 1, memory_order_relaxed);
        header = (struct header *)atomic_exchange_explicit(&recycler->foreign, LIST_CLOSED,
                                                           memory_order_acq_rel);
        while (header != NULL) {
            struct header *next = next_of(header);
            free_object(recycler, header);
            gone++;
            header = next;
        }
    }
    leave(recycler, gone);
}

void lull_recycler_stats(const struct lull_recycler *recycler, struct lull_recycler_stats *out)
{
    out->claims_local = recycler->claims_local;
    out->claims_foreign = recycler->claims_foreign;
    out->claims_allocated = recycler->claims_allocated;
    out->claims = out->claims_local + out->claims_foreign + out->claims_allocated;
    out->releases = recycler->releases;
    out->in_use = in_use(recycler);
    out->releases_foreign = out->claims - out->releases - out->in_use;
    out->dropped = recycler->dropped;
    out->kept = recycler->kept;
}
