/* SPDX-License-Identifier: MIT */
/*
 * Who polls, and who waits for that or for something else to happen.
 *
 * Decides: which one of several threads sleeps in the poll of a loop, and to whom it hands over when it leaves: to one, so that no
 * thread is woken for nothing. Called by loop/ and sync/, for loops that may be visited. Must not know what the waiters wait for.
 * Any thread; in context where it says so.
 *
 * The poller gives up the turn while it sleeps, so others come into the context meanwhile. A thread that finds somebody polling
 * enlists and sleeps on its own cell. A lock of its own keeps all of this, not the context: who waits may give up while the poller is
 * inside a callback that does not return.
 */
#ifndef EXEC_ROLES_H
#define EXEC_ROLES_H

#include <stdbool.h>

#include "base/list.h"
#include "exec/wait_cell.h"

struct lull_executor;

/* Bits of a waiter's cell. */
#define ROLE_POLLS 1u /* this thread polls from now on */
#define ROLE_DONE  2u /* what it waited for has happened */
#define ROLE_STOP  4u /* the loop is to be stopped */
#define ROLE_LEFT  8u /* this thread polls no more: the turn that told it handed over */
#define ROLE_COMES 16u /* with another bit, by another thread: others count on this one, roles_come is to follow */

/* Threads that a turn tells before it wakes them. */
#define ROLES_TOLD_MAX 16u

struct role_waiter {
    struct list_node link;
    struct wait_cell cell;
    uint32_t due;   /* bits, when it is told behind the turn */
    bool is_driver; /* it wants to poll for longer than one answer takes: it comes first */
};

/* Nobody has it in a list, or not any more. */
void role_waiter_init(struct role_waiter *waiter, bool is_driver);
void role_waiter_fini(struct role_waiter *waiter);

/* True: nobody polls, and this thread does from now on, until roles_leave. */
bool roles_take(struct lull_executor *executor);

/* Somebody polls. */
bool roles_are_taken(struct lull_executor *executor);

/* Enlists one that waits, unless it has been told already. If nobody polls, this one does from now on, and its cell says so. */
void roles_enlist(struct lull_executor *executor, struct role_waiter *waiter);

/*
 * What it waited for has happened: it is enlisted no more and wakes, unless it is this thread itself. In a turn it is told when that is
 * over, or before somebody else is called back: a thread that is woken earlier may run at once, and would stand in front of the context.
 * From here on it waits for that, whatever its deadline. If it
 * is this thread, and it polls, it leaves with the turn. In context.
 */
void roles_tell(struct lull_executor *executor, struct role_waiter *waiter, uint32_t bits, bool is_self);

/* A turn's end: who was told and polls leaves. In context. */
void roles_on_turn_end(struct lull_executor *executor);

/* Who is to be told: their number, into told[ROLES_TOLD_MAX]. In context; they are woken behind it, and may be gone then. */
unsigned roles_take_told(struct lull_executor *executor, struct role_waiter *told[]);
void roles_wake(struct role_waiter *told[], unsigned count);

/* Both: somebody is about to be called back. In context. */
void roles_wake_told(struct lull_executor *executor);

/*
 * What callers ask for at the same time goes in one write. A thread that was told to go on (ROLE_COMES) runs soon and often asks for
 * something more, so what is to be written may wait for the last of those that come; and a poller that is awake writes before it sleeps.
 * Nobody waits for more than he does in any case, that a thread runs which can run.
 * roles_may_hold: there is somebody to count on; the write is held from now on. In context, behind what is to be written.
 * roles_come: one of them has come, and is the one to write if it is the last. Out of context.
 */
bool roles_may_hold(struct lull_executor *executor, bool counts_on_poller);
void roles_come(struct lull_executor *executor);

/* Something is held, and nobody comes any more: who asks is to write it. In context. */
bool roles_has_everybody_come(const struct lull_executor *executor);

/* Takes one off the list that gives up. If it was to poll, it has left the role with that. In context. */
void roles_give_up(struct lull_executor *executor, struct role_waiter *waiter);

/* Takes one off the list: nobody tells it anything from now on. False: it has been told already, and has what it was told. */
bool roles_withdraw(struct lull_executor *executor, struct role_waiter *waiter);

/* The poller leaves: one waiter polls from now on, if there is any. In context. */
void roles_leave(struct lull_executor *executor);

/* Wakes the drivers that wait for the poll. In context. */
void roles_stop_drivers(struct lull_executor *executor);

#endif
