/* SPDX-License-Identifier: MIT */
/*
 * The inbox, see inbox.h.
 *
 * A push is one compare-and-swap on the head; a take is one exchange that empties it, then a
 * reversal. Nobody takes a single node, so the head may come back to an old value without harm (no
 * ABA problem).
 */
#include "exec/inbox.h"

void inbox_init(struct inbox *inbox)
{
    atomic_init(&inbox->head, NULL);
}

enum inbox_push inbox_push(struct inbox *inbox, struct lull_task *task)
{
    /*
     * Release: who submits a task that is submitted already has written something for it to find,
     * and relies on the run to come. The taker's exchange in inbox_release reads this flag and
     * acquires what stood before it. Acquire: the flag found clear means that the taker is done with
     * inbox_next, which we are about to write.
     */
    if (__atomic_exchange_n(&task->submitted, (unsigned char)1, __ATOMIC_ACQ_REL) != 0) {
        return INBOX_ALREADY;
    }
    struct lull_task *head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
    do {
        task->inbox_next = head;
        /*
         * Release publishes the task and all that its submitter wrote. Sequentially consistent,
         * because the submitter next asks whether the loop sleeps: see inbox_is_empty.
         */
    } while (!atomic_compare_exchange_weak_explicit(&inbox->head, &head, task, memory_order_seq_cst,
                                                    memory_order_relaxed));
    return head == NULL ? INBOX_PUSHED_FIRST : INBOX_PUSHED;
}

struct lull_task *inbox_take(struct inbox *inbox)
{
    /* A plain look first: an idle inbox's line stays shared. */
    if (atomic_load_explicit(&inbox->head, memory_order_relaxed) == NULL) {
        return NULL;
    }
    /*
     * Acquire pairs with the release of every push in the stack: each push is a read-modify-write
     * of the head, so all of them are in one release sequence.
     */
    struct lull_task *newest = atomic_exchange_explicit(&inbox->head, NULL, memory_order_acquire);
    struct lull_task *oldest = NULL;
    while (newest != NULL) {
        struct lull_task *older = newest->inbox_next;
        newest->inbox_next = oldest;
        oldest = newest;
        newest = older;
    }
    return oldest;
}

void inbox_release(struct lull_task *task)
{
    /* An exchange, not a store: it must read the last submitter's flag to acquire its writes. */
    (void)__atomic_exchange_n(&task->submitted, (unsigned char)0, __ATOMIC_ACQ_REL);
}
