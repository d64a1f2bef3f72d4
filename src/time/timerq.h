/* SPDX-License-Identifier: MIT */
/*
 * The timer queue: a 4-ary heap on (at, seq).
 *
 * Decides: in which order timers come due, and which of them a due pass runs. Called by exec/timer.c
 * (arm, disarm) and exec/turn.c (the due pass). Must not know: executors, turns, clocks; `now` is an
 * argument.
 *
 * A heap entry holds the instant and a pointer, 16 bytes; four children share one cache line. The
 * timer is looked at only when two instants are equal. A timer's slot is reserved when it is made,
 * which is the only thing here that can fail: there are never more armed timers than reserved slots.
 *
 * A due pass takes everything due out of the heap at once and hands it out one by one. A timer
 * disarmed meanwhile is not handed out; one armed meanwhile waits for the next pass, however early.
 */
#ifndef TIME_TIMERQ_H
#define TIME_TIMERQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/allocator.h"
#include "lull/timer.h"
#include "lull/trace.h"

/* Marks in lull_timer.slot; a smaller value is an index in the heap. */
#define TIMERQ_SLOT_IDLE UINT32_MAX       /* not armed */
#define TIMERQ_SLOT_DUE  (UINT32_MAX - 1) /* taken out by the due pass under way, not run yet */

/* The queue never shrinks below this many slots. */
#define TIMERQ_SLOTS_MIN 8u

struct timerq_entry {
    int64_t at_ns;
    struct lull_timer *timer;
};

struct timerq {
    struct timerq_entry *heap; /* heap[1] starts a cache line */
    uint32_t count;            /* entries in the heap */
    uint32_t capacity;         /* slots there is memory for */
    uint32_t reserved;         /* slots promised to timers; count + due never exceeds it */
    uint32_t low_for;          /* unreserves in a row that left most slots unused */
    uint64_t next_seq;
    struct lull_timer *due_first; /* taken out by the due pass, in order */
    struct lull_timer *due_last;
    void *memory; /* the block that holds the heap */
    const struct lull_allocator *allocator;
    struct lull_counters *counters; /* timer_arms, _disarms, _fires, timers_armed, allocations */
};

/* An empty queue; takes no memory yet. `allocator` [borrow, nullable], `counters` [borrow]. */
void timerq_init(struct timerq *queue, const struct lull_allocator *allocator,
                 struct lull_counters *counters);

/* Gives the memory back. No slot may be reserved (asserted). */
void timerq_fini(struct timerq *queue);

/* Promises one more timer its slot. LULL_OK, LULL_RC_NOMEM (nothing changed). */
int timerq_reserve(struct timerq *queue);

/* The same if there is memory for it already: true. */
static inline bool timerq_reserve_at_hand(struct timerq *queue)
{
    const bool is_at_hand = queue->reserved < queue->capacity;
    queue->reserved += is_at_hand;
    return is_at_hand;
}

/* Gives one promise back. Memory goes back when most of it has been unused for a while. */
void timerq_unreserve(struct timerq *queue);

/* Gives back all memory that no reserved slot needs. */
void timerq_trim(struct timerq *queue);

/*
 * Puts the timer at `at` with a new place among equals, wherever it was before. The timer holds a
 * reserved slot; `at` is not LULL_NEVER.
 */
void timerq_arm(struct timerq *queue, struct lull_timer *timer, struct lull_instant at);

/* Takes the timer out, also from the due pass under way. Harmless when it is not armed. */
void timerq_disarm(struct timerq *queue, struct lull_timer *timer);

/* The instant of the first timer in the heap, LULL_NEVER when it is empty. */
static inline struct lull_instant timerq_earliest(const struct timerq *queue)
{
    return lull_at(queue->count == 0 ? LULL_NEVER : queue->heap[0].at_ns);
}

/* Starts a due pass: takes out all timers with at <= now. The last pass was run to its end. */
void timerq_take_due(struct timerq *queue, struct lull_instant now);

/* The next timer of the pass, not armed any more; NULL at the end. The caller calls its function. */
struct lull_timer *timerq_next_due(struct timerq *queue);

/* True from arming until the timer is handed out or disarmed. */
static inline bool timerq_is_armed(const struct lull_timer *timer)
{
    return timer->slot != TIMERQ_SLOT_IDLE;
}

#endif
