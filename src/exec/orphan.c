/* SPDX-License-Identifier: MIT */
/*
 * Executors whose thread did not come along. See orphan.h.
 */
#include "exec/orphan.h"

#include "exec/executor_parts.h"

void executor_set_fork_question(struct lull_executor *executor, bool (*is_forked)(const struct lull_loop *loop))
{
    executor->is_forked = is_forked;
}

/* Somebody else is in context, and this process has one thread that was not there when it began. */
static bool is_left_behind(const struct lull_executor *executor)
{
    const uintptr_t owner = atomic_load_explicit(&executor->front.owner, memory_order_relaxed);
    return owner != 0 && owner != thread_id() && executor->is_forked != NULL && executor->loop != NULL &&
           executor->is_forked(executor->loop);
}

bool executor_is_orphan(const struct lull_executor *executor)
{
    return executor->is_orphan || is_left_behind(executor);
}

bool executor_inherit(struct lull_executor *executor)
{
    if (executor->is_orphan || !is_left_behind(executor)) {
        return false;
    }
    executor->is_orphan = true;
    /* Who waited is gone as well, and whoever held the lock. */
    wait_cell_init(&executor->turn_free);
    wait_cell_init(&executor->roles_lock);
    list_init(&executor->waiters);
    executor->has_poller = false;
    executor->leaver = NULL;
    executor->told_count = 0;
    executor->is_turn = false;
    executor->is_quiet = false;
    executor->is_asking_alarm = false;
    executor->is_asking_soon = false;
    atomic_store_explicit(&executor->is_calling_back, false, memory_order_relaxed);
    atomic_store_explicit(&executor->takers, 0, memory_order_relaxed);
    atomic_store_explicit(&executor->comers, 0, memory_order_relaxed);
    atomic_store_explicit(&executor->is_held, false, memory_order_relaxed);
    atomic_store_explicit(&executor->front.owner, thread_id(), memory_order_seq_cst);
    return true;
}
