/* SPDX-License-Identifier: MIT */
/*
 * The executor's inner side: the phases of a turn that the layers above hang their work on. Its public side is
 * lull/executor.h. Everything here is for the driving thread in context, unless it says otherwise.
 */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/thread_id.h"
#include "lull/executor.h"
#include "lull/loop.h"

struct lanes;
struct size_classes;
struct timerq;

/* The beginning of every executor: what is asked and said once a message, and so without a call. */
struct executor_front {
    /* The thread that is in context, 0 when nobody is. Taken by compare-and-swap: two drivers at
     * once are refused, not mixed. */
    _Atomic(uintptr_t) owner;
    bool now_is_stale; /* a user callback has returned since the turn's now was read */
};

/* lull_executor_in_context. Relaxed: a thread finds its own id there only if it wrote it itself, and
 * what others write is not equal to it. */
static inline bool executor_is_here(const struct lull_executor *executor)
{
    const struct executor_front *front = (const struct executor_front *)executor;
    return atomic_load_explicit(&front->owner, memory_order_relaxed) == thread_id();
}

/* Bytes of the shared read buffer and of the shared write buffer. */
#define EXECUTOR_BUFFER_BYTES ((size_t)64 * 1024)

/* Bytes of the buffer for TLS records: a batch of the write buffer with a frame more, enciphered, and a record's plaintext. */
#define EXECUTOR_RECORD_BYTES ((size_t)112 * 1024)

/*
 * Enters the context unless this thread is in it; true when it had to, to be handed to executor_leave. For public functions of what
 * lives on the executor. Where visits are allowed (below) any thread, which waits for its turn; elsewhere the driving thread,
 * asserted.
 */
bool executor_enter(struct lull_executor *executor);
void executor_leave(struct lull_executor *executor, bool had_to_enter);

/* The same without waiting and without asserting, on any thread: false, this thread cannot be in context now. */
bool executor_try_enter(struct lull_executor *executor, bool *had_to_enter);

/* True inside a turn: what others may hold is freed by executor_post_dead. In a visit there are no others. In context. */
bool executor_is_in_turn(const struct lull_executor *executor);

/* Marks a task that calls nobody back and posts what does: it runs in a quiet turn as well. After lull_task_init. */
static inline void executor_task_set_quiet(struct lull_task *task)
{
    task->quiet |= 1;
}

/* Marks one that calls back the library itself and nobody else: who waits for a call. */
static inline void executor_task_set_ours(struct lull_task *task)
{
    task->quiet |= 2;
}

static inline bool executor_task_is_quiet(const struct lull_task *task)
{
    return (task->quiet & 1) != 0;
}

/*
 * A quiet turn: the inbox, quiet tasks, flushes. No user code, no read, no timer, no free, and no clock unless a task asks for it:
 * what was started outside a turn reaches the wire. The rest waits in its order for the next turn, which the loop is asked for.
 * LULL_OK or LULL_RC_IN_TURN. For any thread that may drive, or visit: then it waits for the context. The second one is for
 * a visitor who stays in it. The third does not flush what may be held (exec/roles.h): another thread does it soon.
 */
int executor_quiet_turn(struct lull_executor *executor);
void executor_quiet_turn_taken(struct lull_executor *executor);
void executor_quiet_turn_shared(struct lull_executor *executor, bool counts_on_poller);

/* The poller is about to sleep: what is held for it goes out. In context. */
void executor_flush_held(struct lull_executor *executor);

/* Queues for the phases of a turn. A task is in one queue at a time; posting one that is queued does nothing. */
void executor_post_ready(struct lull_executor *executor, struct lull_task *task); /* ready endpoints: read phase; also legal outside a turn on the driving thread */
void executor_post_flush(struct lull_executor *executor, struct lull_task *task); /* transports to flush, once each */
void executor_post_dead(struct lull_executor *executor, struct lull_task *task);  /* frees, at the very end of the turn */

/* Somebody is in a turn that is not quiet. Any thread; it may be over when this returns. */
bool executor_is_calling_back(const struct lull_executor *executor);

/* A user callback has just returned, or a TLS handshake has done its arithmetic: `now` is stale, its next reader reads the clock again. */
static inline void executor_on_user_returned(struct lull_executor *executor)
{
    struct executor_front *front = (struct executor_front *)executor;
    front->now_is_stale = true;
}

/* lull_executor_now for those who know that they are in context: the turn's now, read again once when it is stale. */
struct lull_instant executor_fresh_now(struct lull_executor *executor);

/* Scratch memory for one read or one gathered write; valid until the caller returns. Made at first use; NULL: no memory. */
uint8_t *executor_read_buffer(struct lull_executor *executor);
uint8_t *executor_write_buffer(struct lull_executor *executor);
uint8_t *executor_record_buffer(struct lull_executor *executor);

/* Counters that the layers above add to. */
struct lull_counters *executor_counters(struct lull_executor *executor);
const struct lull_allocator *executor_allocator(const struct lull_executor *executor);
struct timerq *executor_timerq(struct lull_executor *executor);

/* A channel is on this executor from its making until its last call handle is given back: lull_loop_free asserts that there is none. */
void executor_on_channel_made(struct lull_executor *executor);
void executor_on_channel_freed(struct lull_executor *executor);
unsigned executor_channels(const struct lull_executor *executor);

/*
 * What those here share who come and go: the first makes it, and when nobody uses it any more it is there for who comes next, until the
 * executor is trimmed or freed. The first member of what it is.
 */
struct executor_share {
    unsigned users;
    void (*free)(struct lull_executor *executor, struct executor_share *share);
};

enum executor_share_of {
    EXECUTOR_SHARE_CALLS,       /* channel/call_pool.h */
    EXECUTOR_SHARE_CONNECTIONS, /* h2/stock.h */
    EXECUTOR_SHARES,
};

/* Where it is, and whoever makes it puts it; NULL there: there is none. In context. */
struct executor_share **executor_share(struct lull_executor *executor, enum executor_share_of of);

/* Blocks of many small sizes, used again by everything on this executor: nghttp2's. Trimmed with the executor. */
struct size_classes *executor_classes(struct lull_executor *executor);

/* True on the thread that is in context, and when nobody is, on the one that was last: what recyclers of this executor call their
 * owner. `executor` is a struct lull_executor. Any thread. */
bool executor_is_owner(void *executor);

/* The executor's deadline lanes. Made with the executor. */
struct lanes *executor_lanes(struct lull_executor *executor);

/* Counts turns from 1; 0 before the first. A quiet turn belongs to the next one, whose free phase is the first behind it. Tells
 * whether two facts belong to one turn. */
uint64_t executor_turn_number(const struct lull_executor *executor);

/*
 * The loop that alarms and wakes; NULL: driven by hand or by a fake clock, and the alarm of a loop that was ever asked for one is taken
 * back with alarm(LULL_NEVER). After a turn, and when a leave moved the next instant earlier, loop->ops->alarm is called,
 * only then; when work is left it is called for the turn's own now. An alarm that fired is forgotten by
 * executor_on_alarm_gone, or by a turn at or after its instant: it may fire early, late, twice, or inside `alarm`. A refused
 * alarm is asked for again every turn, and after a visit soon (RULINGS 18). Freeing the executor sets NULL here: the loop must
 * still be able to answer.
 */
void executor_set_loop(struct lull_executor *executor, struct lull_loop *loop);
struct lull_loop *executor_loop(const struct lull_executor *executor);
void executor_on_alarm_gone(struct lull_executor *executor);

/* A turn at the clock's now that an alarm brought: as lull_executor_turn_now, and the alarm that stood is forgotten, refused or not. */
int executor_turn_by_alarm(struct lull_executor *executor);

/* True while the alarm that was last asked for stands refused. exec/refusal.h tells those who counted on it. */
bool executor_is_alarm_refused(const struct lull_executor *executor);

/*
 * The loop is about to sleep in its poll (or to give its fd to a host's poll) / has woken. A submit from another thread calls
 * wake only when it finds the loop asleep. Returns false from _sleep when the inbox is not empty: do not sleep. A submit on
 * the driving thread outside the context, and a ready post there that finds the loop asleep, call soon (wake without one),
 * once until the next turn; a loop that always looks at next_at before it sleeps should have a cheap `soon`.
 */
bool executor_sleep(struct lull_executor *executor);
void executor_awake(struct lull_executor *executor);

/* Calls the loop's `soon` or `wake`; on the driving thread of a host's loop in context, so that no turn runs inside it. Any thread. */
void executor_call_verb(struct lull_executor *executor, void (*verb)(struct lull_loop *loop));

/* Wakes the loop if it sleeps: something was put in from another thread. Any thread. */
void executor_wake_if_asleep(struct lull_executor *executor);

/*
 * Visits: outside a turn a thread becomes the one in context for a moment, without driving. Any thread may if the loop says when it
 * sleeps, for such a loop waits for its turn (executor_take); elsewhere only the driving thread, since a host's turn would be
 * refused. False: not this thread, or somebody is in context. A visit ends with executor_end_visit if nothing was posted and no timer
 * moved, else with lull_executor_leave.
 */
bool executor_may_be_visited(const struct lull_executor *executor); /* by any thread */
bool executor_visit(struct lull_executor *executor);
void executor_end_visit(struct lull_executor *executor);

/*
 * Waits until nobody else is in context and becomes the one who is; ends as a visit does, or with executor_turn_taken: a turn at
 * the clock's now, which gives the context back. Not in context; of a loop that says when it sleeps. Of another loop
 * executor_take_open returns false; executor_take_within does when nobody gave the context back for so long.
 * executor_take_between_turns waits for visitors and for a quiet turn, which call nobody back, but returns false when another
 * thread is in a turn.
 */
void executor_take(struct lull_executor *executor);
bool executor_take_within(struct lull_executor *executor, int64_t patience_ns);
bool executor_take_open(struct lull_executor *executor);
bool executor_take_between_turns(struct lull_executor *executor);
void executor_turn_taken(struct lull_executor *executor);

/* This thread was in a turn last, or asleep in the poll. Any thread. */
bool executor_is_driver(const struct lull_executor *executor);

/*
 * Who keeps a loop that nobody frees by hand: the channel whose own it is, and threads that are on their way through it. Of other
 * loops nobody counts. _keep is false there; _unkeep is true when the last one went: the loop is to be freed. Any thread.
 */
void executor_set_kept(struct lull_executor *executor); /* by its maker, before anybody else knows it */
bool executor_is_kept(const struct lull_executor *executor); /* somebody counts */
bool executor_keep(struct lull_executor *executor);
bool executor_unkeep(struct lull_executor *executor);

/* Its channel is to be closed: who drives such a loop settles it before he leaves. Any thread. */
void executor_set_ending(struct lull_executor *executor);
bool executor_is_ending(const struct lull_executor *executor);

/* For a host's loop that cannot tell when it sleeps: it is taken for asleep between turns, so that the first submit after
 * each turn wakes it. It must answer every wake with a turn. */
void executor_set_loop_silent(struct lull_executor *executor);

/* Gives back what no made timer and no waiting entry needs: buffers, slots, empty lanes. For a channel that goes idle. */
void executor_trim(struct lull_executor *executor);

#endif
