/* SPDX-License-Identifier: MIT */
/*
 * Who polls. See roles.h.
 */
#include "exec/roles.h"

#include "base/invariant.h"
#include "exec/executor_parts.h"

void role_waiter_init(struct role_waiter *waiter, bool is_driver)
{
    list_init(&waiter->link);
    wait_cell_init(&waiter->cell);
    waiter->is_driver = is_driver;
}

void role_waiter_fini(struct role_waiter *waiter)
{
    wait_cell_fini(&waiter->cell);
}

static struct role_waiter *waiter_of(struct list_node *node)
{
    return LIST_ENTRY(node, struct role_waiter, link);
}

bool roles_take(struct lull_executor *executor)
{
    LULL_INVARIANT(executor_is_here(executor), "a role is taken outside the context");
    if (executor->has_poller) {
        return false;
    }
    executor->has_poller = true;
    return true;
}

bool roles_are_taken(const struct lull_executor *executor)
{
    return executor->has_poller;
}

void roles_enlist(struct lull_executor *executor, struct role_waiter *waiter)
{
    LULL_INVARIANT(executor_is_here(executor), "a waiter is enlisted outside the context");
    if (waiter->is_driver) {
        list_push_front(&executor->waiters, &waiter->link);
    } else {
        list_push_back(&executor->waiters, &waiter->link);
    }
}

void roles_tell(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits,
                bool is_self)
{
    (void)executor;
    list_remove(&waiter->link);
    if (is_self) {
        (void)atomic_fetch_or_explicit(&waiter->cell.word, bits, memory_order_relaxed);
        return;
    }
    /* The waiter's memory may be gone from here on. */
    executor->counters.wakeups++;
    wait_cell_set(&waiter->cell, bits);
}

void roles_leave(struct lull_executor *executor)
{
    struct list_node *first = list_first(&executor->waiters);
    if (first == NULL) {
        executor->has_poller = false;
        return;
    }
    roles_tell(executor, waiter_of(first), ROLE_POLLS, false);
}

void roles_give_up(struct lull_executor *executor, struct role_waiter *waiter)
{
    list_remove(&waiter->link);
    if ((wait_cell_read(&waiter->cell) & ROLE_POLLS) != 0) {
        roles_leave(executor);
    }
}

void roles_stop_drivers(struct lull_executor *executor)
{
    struct list_node *first;
    while ((first = list_first(&executor->waiters)) != NULL && waiter_of(first)->is_driver) {
        roles_tell(executor, waiter_of(first), ROLE_STOP, false);
    }
}
