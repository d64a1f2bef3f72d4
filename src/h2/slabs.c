/* SPDX-License-Identifier: MIT */
/*
 * Claiming slabs. See slabs.h.
 */
#include "h2/slabs.h"

#include "h2/inner.h"
#include "lull/recycler.h"

struct kept_slab {
    struct lull_slab slab;
    struct lull_recycler *from;
    uint8_t bytes[];
};

/* It may outlive the transport and be let go on any thread: hence foreign, which stays legal when the recycler is freed. */
static void release_kept(struct lull_slab *slab)
{
    struct kept_slab *kept = container_of(slab, struct kept_slab, slab);
    lull_recycler_release_foreign(kept->from, kept);
}

static struct lull_recycler *make(struct h2_transport *t, const char *name, size_t bytes, uint32_t keep)
{
    struct lull_recycler_options options;
    struct lull_recycler *recycler = NULL;
    lull_recycler_options_init(&options, name, sizeof(struct kept_slab) + bytes);
    options.keep = keep;
    options.allocator = executor_allocator(t->executor);
    options.counters = executor_counters(t->executor);
    options.is_owner = executor_is_owner;
    options.owner = t->executor;
    (void)lull_recycler_new(&options, &recycler);
    return recycler;
}

struct lull_slab *slabs_claim(struct h2_transport *t, struct lull_recycler **from, const char *name, size_t bytes, uint32_t keep)
{
    struct kept_slab *kept;
    if (*from == NULL) {
        *from = make(t, name, bytes, keep);
    }
    kept = *from == NULL ? NULL : lull_recycler_claim(*from);
    if (kept == NULL) {
        return NULL;
    }
    kept->from = *from;
    slab_init(&kept->slab, kept->bytes, bytes, release_kept);
    return &kept->slab;
}
