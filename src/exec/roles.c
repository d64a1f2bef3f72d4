/* SPDX-License-Identifier: MIT */
/*
 * Who polls. See roles.h.
 */
#include "exec/roles.h"

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

/* ---- with the lock held */

/* In context, for the counter. The waiter's memory may be gone from here on. */
static void wake(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits)
{
    list_remove(&waiter->link);
    executor->counters.wakeups++;
    wait_cell_set(&waiter->cell, bits);
}

static void hand_over(struct lull_executor *executor)
{
    struct list_node *first = list_first(&executor->waiters);
    if (first == NULL) {
        executor->has_poller = false;
    } else {
        wake(executor, waiter_of(first), ROLE_POLLS);
    }
}

/* ---- taking it */

bool roles_take(struct lull_executor *executor)
{
    wait_cell_lock(&executor->roles_lock);
    const bool takes = !executor->has_poller;
    executor->has_poller = true;
    wait_cell_unlock(&executor->roles_lock);
    return takes;
}

bool roles_are_taken(struct lull_executor *executor)
{
    wait_cell_lock(&executor->roles_lock);
    const bool are_taken = executor->has_poller;
    wait_cell_unlock(&executor->roles_lock);
    return are_taken;
}

void roles_enlist(struct lull_executor *executor, struct role_waiter *waiter)
{
    wait_cell_lock(&executor->roles_lock);
    if (wait_cell_read(&waiter->cell) != 0) {
        /* What it is to wait for has happened: nobody would take it off the list. */
    } else if (!executor->has_poller) {
        /* Whoever it was has left since this thread looked. Nobody waits, or that one would poll by now. */
        executor->has_poller = true;
        (void)atomic_fetch_or_explicit(&waiter->cell.word, ROLE_POLLS, memory_order_relaxed);
    } else if (waiter->is_driver) {
        list_push_front(&executor->waiters, &waiter->link);
    } else {
        list_push_back(&executor->waiters, &waiter->link);
    }
    wait_cell_unlock(&executor->roles_lock);
}

void roles_tell(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits,
                bool is_self)
{
    wait_cell_lock(&executor->roles_lock);
    if (is_self) {
        list_remove(&waiter->link);
        (void)atomic_fetch_or_explicit(&waiter->cell.word, bits, memory_order_relaxed);
    } else {
        wake(executor, waiter, bits);
    }
    wait_cell_unlock(&executor->roles_lock);
}

void roles_leave(struct lull_executor *executor)
{
    wait_cell_lock(&executor->roles_lock);
    hand_over(executor);
    wait_cell_unlock(&executor->roles_lock);
}

void roles_give_up(struct lull_executor *executor, struct role_waiter *waiter)
{
    if (!roles_withdraw(executor, waiter) && (wait_cell_read(&waiter->cell) & ROLE_POLLS) != 0) {
        roles_leave(executor);
    }
}

bool roles_withdraw(struct lull_executor *executor, struct role_waiter *waiter)
{
    wait_cell_lock(&executor->roles_lock);
    const bool is_untold = wait_cell_read(&waiter->cell) == 0;
    list_remove(&waiter->link);
    wait_cell_unlock(&executor->roles_lock);
    return is_untold;
}

void roles_stop_drivers(struct lull_executor *executor)
{
    struct list_node *first;
    wait_cell_lock(&executor->roles_lock);
    while ((first = list_first(&executor->waiters)) != NULL && waiter_of(first)->is_driver) {
        wake(executor, waiter_of(first), ROLE_STOP);
    }
    wait_cell_unlock(&executor->roles_lock);
}
