/* SPDX-License-Identifier: MIT */
/*
 * One turn of the executor.
 *
 * Decides: the order of a turn's phases. What already happened, bytes or commands, is heard before
 * any timer judges; what was written in this turn is flushed once at its end; nothing is freed while
 * somebody may still hold it. Called by whoever drives. Must not know: what the tasks do.
 */
#include "exec/executor.h"

#include "exec/executor_parts.h"
#include "exec/refusal.h"

/*
 * Everything that was submitted before this moment, whatever the budget: the commands are heard
 * before the timers. It is finite, for the inbox is taken once. In a quiet turn the others become local tasks.
 */
static void run_inbox(struct lull_executor *executor, bool is_quiet)
{
    struct task_queue taken;
    task_queue_init(&taken);
    struct lull_task *task = inbox_take(&executor->inbox);
    while (task != NULL) {
        struct lull_task *next = task->inbox_next;
        executor->counters.submits++;
        /* After this another thread may submit it again, and writes inbox_next. */
        inbox_release(task);
        /* One that is posted as well runs once, where it is queued. */
        (void)task_queue_push(is_quiet && !executor_task_is_quiet(task) ? &executor->tasks : &taken, task);
        task = next;
    }
    while ((task = task_queue_pop(&taken)) != NULL) {
        executor->counters.posts++;
        task->run(task, executor);
    }
}

/* Who was told something does not wait for a callback of somebody else's. */
static void before(struct lull_executor *executor, const struct lull_task *task)
{
    if (executor->told_count != 0 && task->quiet == 0) {
        roles_wake_told(executor);
    }
}

/* Runs what is queued now, once each; what is put there meanwhile waits. */
static void run_snapshot(struct lull_executor *executor, struct task_queue *queue)
{
    struct task_queue now_queued;
    struct lull_task *task;
    if (task_queue_is_empty(queue)) {
        return;
    }
    task_queue_move(&now_queued, queue);
    while ((task = task_queue_pop(&now_queued)) != NULL) {
        task->run(task, executor);
    }
}

/* Local tasks until there is none, or until this turn has run its share. */
static void run_tasks(struct lull_executor *executor)
{
    while (executor->budget_left > 0) {
        struct lull_task *task = task_queue_pop(&executor->tasks);
        if (task == NULL) {
            return;
        }
        executor->budget_left--;
        executor->counters.posts++;
        before(executor, task);
        task->run(task, executor);
    }
}

/*
 * The due pass goes by the turn's first now, stale or not: that costs no clock read in the many turns
 * in which nothing is due, and never fires early. Who fires is told the fresh one.
 */
static void run_due(struct lull_executor *executor)
{
    struct lull_timer *timer;
    if (timerq_earliest(&executor->timers).ns > executor->turn_now.ns) {
        return;
    }
    roles_wake_told(executor);
    timerq_take_due(&executor->timers, executor->turn_now);
    while ((timer = timerq_next_due(&executor->timers)) != NULL) {
        timer->expired(timer, executor_fresh_now(executor));
    }
}

void executor_run_dead(struct lull_executor *executor)
{
    struct lull_task *task;
    while ((task = task_queue_pop(&executor->dead)) != NULL) {
        task->run(task, executor);
    }
}

void executor_run_rest(struct lull_executor *executor)
{
    run_tasks(executor);
    atomic_store_explicit(&executor->is_held, false, memory_order_relaxed);
    run_snapshot(executor, &executor->flushes);
    run_tasks(executor); /* from writes that failed */
    run_snapshot(executor, &executor->flushes);
    executor_run_dead(executor);
}

/* The phases; in context. */
static void run_phases(struct lull_executor *executor)
{
    run_inbox(executor, false);
    run_snapshot(executor, &executor->ready);
    run_tasks(executor);
    run_due(executor);
    executor_run_rest(executor);
}

/* The turn of an executor that has just been claimed. */
static void run_claimed(struct lull_executor *executor, struct lull_instant now)
{
    struct role_waiter *told[ROLES_TOLD_MAX];
    if (executor->is_orphan) {
        executor_yield(executor);
        return;
    }
    executor_drive(executor);
    executor->counters.turns++;
    executor->turn_now = now;
    executor->front.now_is_stale = false;
    executor->turns_with_frees++;
    executor->is_turn = true;
    atomic_store_explicit(&executor->is_calling_back, true, memory_order_relaxed);
    executor->budget_left = executor->task_budget;
    executor_alarm_on_turn(executor, now);
    run_phases(executor);
    executor_alarm_update(executor);
    refusal_settle(executor);
    roles_on_turn_end(executor);
    executor->is_turn = false;
    atomic_store_explicit(&executor->is_calling_back, false, memory_order_relaxed);
    const unsigned told_count = roles_take_told(executor, told);
    executor_yield(executor);
    roles_wake(told, told_count);
}

/* ---- a quiet turn */

/* The quiet ones among the local tasks and among those that they post; the others keep their order. */
static void run_quiet_tasks(struct lull_executor *executor)
{
    struct task_queue others;
    struct lull_task *task;
    task_queue_init(&others);
    while ((task = task_queue_pop(&executor->tasks)) != NULL) {
        if (!executor_task_is_quiet(task) || executor->budget_left == 0) {
            (void)task_queue_push(&others, task);
        } else {
            executor->budget_left--;
            executor->counters.posts++;
            task->run(task, executor);
        }
    }
    task_queue_move(&executor->tasks, &others);
}

static void flush_quietly(struct lull_executor *executor)
{
    atomic_store_explicit(&executor->is_held, false, memory_order_relaxed);
    run_snapshot(executor, &executor->flushes);
    run_quiet_tasks(executor); /* a stream that may go elsewhere after a write that failed */
    run_snapshot(executor, &executor->flushes);
}

static void begin_quiet_turn(struct lull_executor *executor)
{
    executor->counters.turns++;
    executor->is_turn = true;
    executor->is_quiet = true;
    executor->budget_left = executor->task_budget;
    run_inbox(executor, true);
    run_quiet_tasks(executor);
}

static void end_quiet_turn(struct lull_executor *executor)
{
    executor->is_turn = false;
    executor->is_quiet = false;
    executor_alarm_after_quiet(executor);
}

void executor_quiet_turn_taken(struct lull_executor *executor)
{
    if (!executor->is_orphan) {
        begin_quiet_turn(executor);
        flush_quietly(executor);
        end_quiet_turn(executor);
    }
}

void executor_quiet_turn_shared(struct lull_executor *executor, bool counts_on_poller)
{
    if (!executor->is_orphan) {
        begin_quiet_turn(executor);
        if (!roles_may_hold(executor, counts_on_poller)) {
            flush_quietly(executor);
        }
        end_quiet_turn(executor);
    }
}

void executor_flush_held(struct lull_executor *executor)
{
    if (atomic_load_explicit(&executor->is_held, memory_order_relaxed)) {
        executor_quiet_turn_shared(executor, false);
    }
}

int executor_quiet_turn(struct lull_executor *executor)
{
    if (executor_is_here(executor)) {
        return LULL_RC_IN_TURN;
    }
    if (!executor_take_open(executor)) {
        const int rc = lull_executor_enter(executor);
        if (rc != LULL_OK) {
            return rc;
        }
    }
    executor_quiet_turn_taken(executor);
    executor_yield(executor);
    return LULL_OK;
}

/* ---- who drives */

int lull_executor_turn(struct lull_executor *executor, struct lull_instant now)
{
    if (!executor_claim(executor)) {
        executor_alarm_on_refused(executor);
        return LULL_RC_IN_TURN;
    }
    run_claimed(executor, now);
    return LULL_OK;
}

int executor_turn_by_alarm(struct lull_executor *executor)
{
    if (!executor_claim(executor)) {
        if (executor_is_here(executor)) {
            executor_on_alarm_gone(executor);
        }
        return LULL_RC_IN_TURN;
    }
    executor_on_alarm_gone(executor);
    executor->counters.clock_reads++;
    run_claimed(executor, lull_clock_now(executor->clock));
    return LULL_OK;
}

int lull_executor_turn_now(struct lull_executor *executor)
{
    if (!executor_claim(executor)) {
        executor_alarm_on_refused(executor);
        return LULL_RC_IN_TURN;
    }
    executor_turn_taken(executor);
    return LULL_OK;
}

void executor_turn_taken(struct lull_executor *executor)
{
    executor->counters.clock_reads++;
    run_claimed(executor, lull_clock_now(executor->clock));
}
