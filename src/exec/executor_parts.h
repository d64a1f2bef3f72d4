/* SPDX-License-Identifier: MIT */
/*
 * What an executor is made of, for the files of exec/ and nobody else.
 */
#ifndef EXEC_EXECUTOR_PARTS_H
#define EXEC_EXECUTOR_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/executor.h"
#include "base/list.h"
#include "base/size_classes.h"
#include "exec/inbox.h"
#include "exec/lane.h"
#include "exec/linger.h"
#include "exec/orphan.h"
#include "exec/roles.h"
#include "exec/task_queue.h"
#include "exec/wait_cell.h"
#include "time/timerq.h"

/* Keeps what other threads write off the driving thread's lines. */
#define EXECUTOR_LINE_BYTES 64

/* What a loop has told us, and so whether a submit from another thread has to wake it. */
enum executor_loop_state {
    EXECUTOR_LOOP_AWAKE, /* it looks at the inbox before it sleeps */
    EXECUTOR_LOOP_ASLEEP /* the first submit wakes it */
};

struct lull_executor {
    struct executor_front front;
    _Atomic(uintptr_t) driver; /* the thread that was in context last; at first the maker's */

    struct lull_instant turn_now; /* what this turn or visit goes by; INT64_MIN: not read yet */
    bool is_turn;                 /* who is in context runs a turn */
    bool is_quiet;                /* of the quiet kind */
    unsigned told_count;          /* roles.c: who is to be told, */
    struct role_waiter *told[ROLES_TOLD_MAX];
    struct role_waiter *leaver;   /* and who polls and was told in this turn; NULL */
    uint64_t turns_with_frees;    /* begun */
    uint32_t task_budget;
    uint32_t budget_left; /* of this turn */

    struct task_queue ready;
    struct task_queue tasks;
    struct task_queue flushes;
    struct task_queue dead;
    struct timerq timers;
    struct lanes lanes;

    struct lull_loop *loop;           /* NULL: driven by hand */
    struct lull_instant alarm_at;     /* the alarm that stands at the loop, LULL_NEVER: none */
    bool has_asked_alarm;             /* the loop may have one, over here or not */
    bool is_asking_alarm;             /* inside loop->ops->alarm */
    bool is_alarm_lost;               /* it was used up before it returned */
    bool is_asking_soon;              /* inside loop->ops->soon or wake, in context */
    bool is_soon_lost;                /* a turn was refused inside that */
    bool is_alarm_refused;            /* the last one asked for was refused */
    struct list_node refusal_watches; /* who is told of that */
    bool (*is_forked)(const struct lull_loop *loop); /* [nullable] orphan.c */
    bool is_orphan;                                  /* orphan.c */
    bool is_loop_silent; /* it never says when it sleeps: take it for asleep between turns */

    unsigned channels; /* made and not freed */
    struct executor_share *shares[EXECUTOR_SHARES];
    struct lull_clock *clock;
    struct lull_fake_clock *driven_by; /* [nullable] */
    const struct lull_allocator *allocator;
    void *block; /* that this stands in */
    struct size_classes classes;
    uint8_t *read_buffer;
    uint8_t *write_buffer;
    uint8_t *record_buffer;
    struct lull_counters counters;
    struct lingering linger;

    char other_threads[EXECUTOR_LINE_BYTES]; /* what follows is written by any thread */
    _Atomic(unsigned) keepers; /* 0: nobody counts */
    _Atomic(bool) is_ending;   /* of a loop that goes with its channel */
    _Atomic(bool) is_calling_back; /* who is in context runs a turn that is not quiet */
    struct inbox inbox;
    _Atomic(int) loop_state;     /* enum executor_loop_state */
    _Atomic(bool) is_soon_asked; /* the loop was asked for a turn that has not come yet */
    _Atomic(uint32_t) takers;    /* threads that wait for the turn */
    _Atomic(uint32_t) comers;    /* roles.c: threads that were told to go on and have not come */
    _Atomic(bool) is_held;       /* the flushes that are queued wait for those, or for the poller */
    struct wait_cell roles_lock; /* roles.c: of the next two */
    bool has_poller;             /* a thread polls the loop, or is about to */
    struct list_node waiters;
    struct wait_cell turn_free;  /* counts up when it is given back while somebody waits */
    char end[EXECUTOR_LINE_BYTES];
};

/* This thread drives from now on: its submits outside the context ask for a turn `soon`. */
void executor_drive(struct lull_executor *executor);

/* Becomes the one in context, without driving. False: somebody is. */
bool executor_claim(struct lull_executor *executor);

/* The loop says when it sleeps and waits for its own turn: any thread may visit. */
static inline bool executor_is_open(const struct lull_executor *executor)
{
    return executor->loop != NULL && !executor->is_loop_silent;
}

/* Ends being in context. */
void executor_yield(struct lull_executor *executor);

/* True when a turn would find something to do at any instant. Driving thread. */
bool executor_has_work(struct lull_executor *executor);

/* exec/turn.c: runs the queued frees, and those that they queue. */
void executor_run_dead(struct lull_executor *executor);

/* exec/turn.c: the tail of a turn, for what came after its flush. */
void executor_run_rest(struct lull_executor *executor);

/* exec/alarm.c: a turn begins; the alarm that brought it, or that is overdue, stands no more. */
void executor_alarm_on_turn(struct lull_executor *executor, struct lull_instant now);

/* exec/alarm.c: a turn was refused; if that was inside `alarm`, the alarm is used up. */
void executor_alarm_on_refused(struct lull_executor *executor);

/* exec/alarm.c: the turn or the visit ends: asks for an alarm if the next instant moved earlier. */
void executor_alarm_update(struct lull_executor *executor);

/* exec/alarm.c: a quiet turn ends: an alarm as above, and a turn soon for the work that it left. */
void executor_alarm_after_quiet(struct lull_executor *executor);

/* exec/alarm.c: something was put in from the driving thread, outside the context. */
void executor_ask_soon(struct lull_executor *executor);

#endif
