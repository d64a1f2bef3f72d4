/* SPDX-License-Identifier: MIT */
/*
 * The pool of an executor's calls. See call_pool.h.
 */
#include "channel/call_pool.h"

#include "base/mem.h"
#include "exec/executor.h"

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

static struct call_pool *make(struct lull_executor *executor, size_t call_bytes)
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
    executor_set_pool_of_calls(executor, pool);
    return pool;
}

struct call_pool *call_pool_join(struct lull_executor *executor, size_t call_bytes)
{
    struct call_pool *pool = executor_pool_of_calls(executor);
    if (pool == NULL) {
        pool = make(executor, call_bytes);
    }
    if (pool != NULL) {
        pool->channels++;
    }
    return pool;
}

void call_pool_leave(struct lull_executor *executor, struct call_pool *pool)
{
    if (pool == NULL || --pool->channels != 0) {
        return;
    }
    executor_set_pool_of_calls(executor, NULL);
    call_arenas_fini(&pool->arenas);
    lull_recycler_free(pool->calls);
    mem_release(executor_allocator(executor), pool);
}

void call_pool_trim(struct call_pool *pool)
{
    call_arenas_trim(&pool->arenas);
    lull_recycler_trim(pool->calls);
}
