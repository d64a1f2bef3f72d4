/* SPDX-License-Identifier: MIT */
/*
 * The pool of an executor's calls. See call_pool.h.
 */
#include "channel/call_pool.h"

#include "base/container.h"
#include "base/mem.h"

/* What is kept behind the last channel: 3 KiB each. */
#define FEW_CALLS 4

static struct lull_recycler *make_recycler(struct lull_executor *executor, size_t call_bytes)
{
    struct lull_recycler_options options;
    struct lull_recycler *recycler = NULL;
    lull_recycler_options_init(&options, "call", call_bytes);
    options.allocator = executor_allocator(executor);
    options.counters = executor_counters(executor);
    options.is_owner = executor_is_owner;
    options.owner = executor;
    (void)lull_recycler_new(&options, &recycler);
    return recycler;
}

static void free_pool(struct lull_executor *executor, struct executor_share *share)
{
    struct call_pool *pool = container_of(share, struct call_pool, share);
    call_arenas_fini(&pool->arenas);
    lull_recycler_free(pool->calls);
    mem_release(executor_allocator(executor), pool);
}

static struct executor_share *make(struct lull_executor *executor, size_t call_bytes)
{
    struct call_pool *pool = mem_zeroed(executor_allocator(executor), sizeof(*pool));
    if (pool == NULL) {
        return NULL;
    }
    pool->calls = make_recycler(executor, call_bytes);
    if (pool->calls == NULL) {
        mem_release(executor_allocator(executor), pool);
        return NULL;
    }
    executor_counters(executor)->allocations++;
    call_arenas_init(&pool->arenas, executor_allocator(executor), executor_counters(executor));
    pool->share.free = free_pool;
    return &pool->share;
}

struct call_pool *call_pool_join(struct lull_executor *executor, size_t call_bytes)
{
    struct executor_share **at = executor_share(executor, EXECUTOR_SHARE_CALLS);
    if (*at == NULL && (*at = make(executor, call_bytes)) == NULL) {
        return NULL;
    }
    (*at)->users++;
    return container_of(*at, struct call_pool, share);
}

void call_pool_leave(struct call_pool *pool)
{
    if (pool != NULL && --pool->share.users == 0 && pool->arenas.kept > FEW_CALLS) {
        call_pool_trim(pool);
    }
}

void call_pool_trim(struct call_pool *pool)
{
    call_arenas_trim(&pool->arenas);
    lull_recycler_trim(pool->calls);
}
