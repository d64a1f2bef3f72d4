/* SPDX-License-Identifier: MIT */
/**
 * @file recycler.h
 * Typed free lists that belong to an executor and move with the thread that drives it. Claiming is
 * a store; a guarded release is one atomic exchange that traps the loser of two racing releases; an
 * unguarded release is for a proven single owner and still tests. Other threads give objects back
 * by one shared list or, when they do so often, by a port of their own.
 *
 * A library configured with --enable-asserting-pool traps more mistakes, and says so with the
 * recycler's name: a thread that is not the owner's, a write to an object after its release or past
 * its end, two threads in one port, any second release of an object that is idle.
 */
#ifndef LULL_RECYCLER_H
#define LULL_RECYCLER_H

#include <lull/allocator.h>
#include <lull/rc.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_counters;
struct lull_recycler;
struct lull_recycler_port;

/** Options of a recycler. Fill with lull_recycler_options_init. In a struct of another release, from
 * 0.3, what is missing has its default, and what this one does not know has to be zero. Since 0.1. */
struct lull_recycler_options {
    size_t size;
    const char *name;                       /**< [borrow] for messages; a static string */
    size_t object_bytes;                    /**< size of one object, above 0 */
    uint32_t keep;                          /**< objects kept for reuse at most; 0: 256 */
    const struct lull_allocator *allocator; /**< [borrow, nullable] NULL: the system's */
    struct lull_counters
        *counters; /**< [borrow, nullable] where claims, misses and allocations are counted */
    bool (*is_owner)(
        void *owner); /**< [nullable] whether the calling thread is the owner's now; an
                         asserting library asks it where it says "owner's thread", until
                         lull_recycler_free; NULL: nobody asks. Since 0.3 */
    void *owner;      /**< [borrow, nullable] handed to is_owner. Since 0.3 */
};

/** Fills in the defaults. Since 0.1. */
static inline void lull_recycler_options_init(struct lull_recycler_options *options,
                                              const char *name, size_t object_bytes)
{
    options->size = sizeof(*options);
    options->name = name;
    options->object_bytes = object_bytes;
    options->keep = 0;
    options->allocator = NULL;
    options->counters = NULL;
    options->is_owner = NULL;
    options->owner = NULL;
}

/** What a recycler did, path by path. Set `size` before asking. Since 0.1. */
struct lull_recycler_stats {
    size_t size;               /**< set by the caller to sizeof; then: how much of it was filled */
    uint64_t claims;           /**< objects handed out */
    uint64_t claims_local;     /**< of these, from the local stack */
    uint64_t claims_foreign;   /**< of these, from the list that other threads share */
    uint64_t claims_allocated; /**< of these, from the allocator */
    uint64_t releases;         /**< objects that came back on the owner's side */
    uint64_t releases_foreign; /**< objects that came back from other threads by the shared list, as
                                  far as they were collected */
    uint64_t dropped;          /**< objects given back to the allocator because enough were kept */
    uint64_t in_use; /**< claimed and not yet released (foreign ones count until collected) */
    uint64_t kept;   /**< waiting for reuse */
    uint64_t claims_port;   /**< of the claims, from a port. Since 0.3 */
    uint64_t releases_port; /**< objects that came back by ports, as far as they were collected.
                               Since 0.3 */
    uint64_t ports_full;    /**< releases by a port that was full: they went to the shared list and
                               are in releases_foreign once collected. Since 0.3 */
    uint64_t ports;         /**< ports that are not freed, or freed and not yet noticed. Since 0.3 */
};

/**
 * Makes a recycler.
 * @param options [borrow]
 * @param out receives it, owned by the caller
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID. Since 0.1.
 */
LULL_API int lull_recycler_new(const struct lull_recycler_options *options,
                               struct lull_recycler **out);

/** Frees it and what it keeps. An object still claimed is freed by its own later release; NULL is
 * harmless. Owner's thread. Since 0.1. */
LULL_API void lull_recycler_free(struct lull_recycler *recycler);

/** An object of object_bytes, aligned as malloc's, contents undefined; NULL when there is no
 * memory. Owner's thread. Since 0.1. */
LULL_API void *lull_recycler_claim(struct lull_recycler *recycler);

/** Gives an object back, guarded: a second release, even a racing one, traps with the recycler's
 * name. NULL is harmless. Owner's thread. Since 0.1. */
LULL_API void lull_recycler_release(struct lull_recycler *recycler, void *object);

/** Gives an object back that provably has one owner: a plain load, test and store. NULL is
 * harmless. Owner's thread. Since 0.1. */
LULL_API void lull_recycler_release_unguarded(struct lull_recycler *recycler, void *object);

/** Gives an object back from a thread that is not the owner's (guarded). NULL is harmless. Any
 * thread. Since 0.1. */
LULL_API void lull_recycler_release_foreign(struct lull_recycler *recycler, void *object);

/**
 * Makes a port: one other thread's own way to give objects back, without an atomic read-modify-write
 * on what threads share. The owner empties it when its stack is empty, or in lull_recycler_trim.
 * @param recycler [borrow]
 * @param capacity objects it holds at most, rounded up to a power of two; 0: 256. A full port does
 * not lose or block: what does not fit goes by the shared list
 * @param out receives it; it belongs to the thread that will release
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID (NULL, or a capacity above 2^24). Owner's thread;
 * the handing over of *out is the caller's, with a happens-before. Since 0.3.
 */
LULL_API int lull_recycler_port_new(struct lull_recycler *recycler, uint32_t capacity,
                                    struct lull_recycler_port **out);

/** Gives an object of the port's recycler back (guarded). NULL object is harmless. One thread at a
 * time, the port's. Stays legal when the recycler was freed: the object is then freed, and with it
 * what was in the port at that moment. Since 0.3. */
LULL_API void lull_recycler_port_release(struct lull_recycler_port *port, void *object);

/** Ends the use of a port, before or after its recycler was freed; nothing in it is lost. NULL is
 * harmless. The port's thread. Since 0.3. */
LULL_API void lull_recycler_port_free(struct lull_recycler_port *port);

/** Gives what is kept back to the allocator. Owner's thread. Since 0.1. */
LULL_API void lull_recycler_trim(struct lull_recycler *recycler);

/** Fills `out` as far as its `size` says. Owner's thread. Since 0.1. */
LULL_API void lull_recycler_stats(const struct lull_recycler *recycler,
                                  struct lull_recycler_stats *out);

#ifdef __cplusplus
}
#endif

#endif
