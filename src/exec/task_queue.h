/* SPDX-License-Identifier: MIT */
/*
 * A local queue of tasks, first in first out.
 *
 * Decides: nothing but order. A ring with a sentinel, so that a task can be taken out without
 * knowing which queue it is in. Called by the executor, in context. The `queued` flag is kept here:
 * it is set exactly while the task is in some queue.
 */
#ifndef EXEC_TASK_QUEUE_H
#define EXEC_TASK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/executor.h"

struct task_queue {
    struct lull_task ring; /* the sentinel; its `run` is never called */
};

static inline void task_queue_init(struct task_queue *queue)
{
    queue->ring.run = NULL;
    queue->ring.prev = &queue->ring;
    queue->ring.next = &queue->ring;
}

static inline bool task_queue_is_empty(const struct task_queue *queue)
{
    return queue->ring.next == &queue->ring;
}

/* Puts the task at the end. One that is in a queue stays where it is: false. */
static inline bool task_queue_push(struct task_queue *queue, struct lull_task *task)
{
    if (task->queued != 0) {
        return false;
    }
    task->queued = 1;
    task->prev = queue->ring.prev;
    task->next = &queue->ring;
    queue->ring.prev->next = task;
    queue->ring.prev = task;
    return true;
}

/* Takes the task out of the queue it is in. One that is in none: false. */
static inline bool task_queue_remove(struct lull_task *task)
{
    if (task->queued == 0) {
        return false;
    }
    task->queued = 0;
    task->prev->next = task->next;
    task->next->prev = task->prev;
    task->prev = NULL;
    task->next = NULL;
    return true;
}

/* Takes the oldest out; NULL when there is none. */
static inline struct lull_task *task_queue_pop(struct task_queue *queue)
{
    if (task_queue_is_empty(queue)) {
        return NULL;
    }
    struct lull_task *task = queue->ring.next;
    (void)task_queue_remove(task);
    return task;
}

/* Moves all of `from` to the raw queue `to`, in order. */
static inline void task_queue_move(struct task_queue *to, struct task_queue *from)
{
    task_queue_init(to);
    if (task_queue_is_empty(from)) {
        return;
    }
    to->ring.next = from->ring.next;
    to->ring.prev = from->ring.prev;
    to->ring.next->prev = &to->ring;
    to->ring.prev->next = &to->ring;
    task_queue_init(from);
}

#endif
