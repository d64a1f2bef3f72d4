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
    waiter->due = 0;
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

/* The same, when the turn is over. */
static void wake_behind(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits)
{
    if (!executor->is_turn || executor->told_count == ROLES_TOLD_MAX) {
        wake(executor, waiter, bits);
        return;
    }
    list_remove(&waiter->link);
    executor->counters.wakeups++;
    waiter->due = bits;
    executor->told[executor->told_count++] = waiter;
}

static void hand_over(struct lull_executor *executor)
{
    struct list_node *first = list_first(&executor->waiters);
    if (first == NULL) {
        executor->has_poller = false;
        atomic_store_explicit(&executor->is_held, false, memory_order_relaxed);
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
    if (wait_cell_read(&waiter->cell) != 0 || waiter->due != 0) {
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

/* A poller's own word: who enlisted and was told to poll is on no list, and nobody else writes there but in context. */
static void note(struct role_waiter *waiter, uint32_t bits)
{
    const uint32_t before = atomic_load_explicit(&waiter->cell.word, memory_order_relaxed);
    atomic_store_explicit(&waiter->cell.word, before | bits, memory_order_relaxed);
}

void roles_tell(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits,
                bool is_self)
{
    if (is_self && (wait_cell_read(&waiter->cell) & ROLE_POLLS) != 0) {
        note(waiter, bits);
        executor->leaver = waiter;
        return;
    }
    wait_cell_lock(&executor->roles_lock);
    if (is_self) {
        list_remove(&waiter->link);
        (void)atomic_fetch_or_explicit(&waiter->cell.word, bits, memory_order_relaxed);
    } else {
        if ((bits & ROLE_COMES) != 0) {
            (void)atomic_fetch_add_explicit(&executor->comers, 1, memory_order_relaxed);
        }
        wake_behind(executor, waiter, bits);
    }
    wait_cell_unlock(&executor->roles_lock);
}

/* ---- a turn's end */

void roles_on_turn_end(struct lull_executor *executor)
{
    if (executor->leaver != NULL) {
        note(executor->leaver, ROLE_LEFT);
        executor->leaver = NULL;
        roles_leave(executor);
    }
}

unsigned roles_take_told(struct lull_executor *executor, struct role_waiter *told[])
{
    const unsigned count = executor->told_count;
    for (unsigned i = 0; i < count; i++) {
        told[i] = executor->told[i];
    }
    executor->told_count = 0;
    return count;
}

void roles_wake(struct role_waiter *told[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        wait_cell_set(&told[i]->cell, told[i]->due);
    }
}

void roles_wake_told(struct lull_executor *executor)
{
    roles_wake(executor->told, executor->told_count);
    executor->told_count = 0;
}

/* ---- one write for several */

/* A poller says in context that it sleeps. */
static bool is_awake(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->loop_state, memory_order_relaxed) == EXECUTOR_LOOP_AWAKE;
}

static bool has_comers(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->comers, memory_order_seq_cst) != 0;
}

bool roles_may_hold(struct lull_executor *executor, bool counts_on_poller)
{
    const bool has_poller = counts_on_poller && is_awake(executor);
    if (!has_poller && !has_comers(executor)) {
        return false;
    }
    /* "I hold, then I look who comes" on this side, "I have come, then I look what is held" on the other: not both can miss. */
    atomic_store_explicit(&executor->is_held, true, memory_order_seq_cst);
    return has_poller || has_comers(executor);
}

bool roles_has_everybody_come(const struct lull_executor *executor)
{
    return atomic_load_explicit(&executor->is_held, memory_order_relaxed) && !has_comers(executor);
}

void roles_come(struct lull_executor *executor)
{
    if (atomic_fetch_sub_explicit(&executor->comers, 1, memory_order_seq_cst) != 1 ||
        !atomic_load_explicit(&executor->is_held, memory_order_seq_cst)) {
        return;
    }
    if (executor_visit(executor)) {
        executor_quiet_turn_taken(executor);
        lull_executor_leave(executor);
    } else {
        /* Not at the expense of this thread, whose call is over. */
        executor_wake_if_asleep(executor);
    }
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
