/* SPDX-License-Identifier: MIT */
/*
 * The inbox: tasks handed over from any thread.
 *
 * Decides: the order in which they come out, first in first out for each submitting thread. Called
 * by lull_executor_submit (push, any thread) and by the turn (take, driving thread). Must not know:
 * executors, loops, who has to be woken.
 */
#ifndef EXEC_INBOX_H
#define EXEC_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lull/executor.h"

/* A stack, newest first. Only the taker looks behind the head, after it owns the whole stack. */
struct inbox {
    _Atomic(struct lull_task *) head;
};

enum inbox_push {
    INBOX_PUSHED_FIRST, /* the inbox was empty */
    INBOX_PUSHED,       /* behind others */
    INBOX_ALREADY       /* submitted before and not yet taken; it stays where it is */
};

void inbox_init(struct inbox *inbox);

/* Any thread. Lock-free, cannot fail. */
enum inbox_push inbox_push(struct inbox *inbox, struct lull_task *task);

/* Takes everything, oldest first, linked by inbox_next; NULL when empty. One taker at a time. */
struct lull_task *inbox_take(struct inbox *inbox);

/* Lets the task be submitted again. The taker calls it before the task runs, on each it took. */
void inbox_release(struct lull_task *task);

/*
 * True when nothing waits. Any thread. Sequentially consistent with inbox_push, so that "I say that
 * I sleep, then I look" on one side and "I push, then I look who sleeps" on the other cannot both
 * miss.
 */
static inline bool inbox_is_empty(struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->head, memory_order_seq_cst) == NULL;
}

#endif
