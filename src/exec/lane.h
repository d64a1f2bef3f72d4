/* SPDX-License-Identifier: MIT */
/*
 * Deadline lanes: timeouts that cost a list move.
 *
 * Decides: which entries share a FIFO, and when each expires. Calls with the same relative timeout
 * expire in the order in which they joined, so a FIFO is their priority queue and only the lane's
 * Rescheduler is in the timer queue. Called by whoever has a timeout per call (channel/, server/);
 * in context. Must not know: calls, streams, what an expiry means.
 *
 * There are at most LANES_MAX lanes; one that has been empty is given to another value. Absolute instants, which come nearly in
 * order where each is what is left of a timeout, share one lane more; who would stand far from its end does not join it. Such an
 * instant, and a value that finds no lane, use the entry's own timer, for which lane_entry_init reserved the slot. So joining
 * cannot fail.
 */
#ifndef EXEC_LANE_H
#define EXEC_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "lull/executor.h"
#include "lull/rescheduler.h"
#include "lull/timer.h"

#define LANES_MAX 64u

/* An absolute instant stands in the lane of those only if no more than so many there come after it. */
#define LANE_INSTANT_STEPS 8u

struct lane;
struct lane_entry;

/* Called in the timer phase of a turn, once per joining, never before due_at. The entry has left:
 * the callback may join, leave or fini this and any other entry. */
typedef void (*lane_expired_fn)(struct lane_entry *entry, struct lull_instant now);

/* What waits for a timeout, embedded in its owner. The owner reads due_at and nothing else. */
struct lane_entry {
    struct list_node in_lane;   /* while it waits: in a lane's FIFO, or in the list of those expiring now */
    struct lull_instant due_at; /* LULL_NEVER when it waits for nothing */
    lane_expired_fn expired;
    struct lull_timer timer; /* armed: it is in no lane */
};

/* The lanes of one executor. */
struct lanes {
    struct lull_executor *executor;
    struct lane *last;      /* where the last join with a timeout went; counts as used */
    struct lane *instants;  /* of absolute ones, in `all` and by_value not; NULL before first use */
    struct lane **by_value; /* open addressing, slots_count a power of two; NULL before first use */
    void *by_value_block;
    uint32_t slots_count;
    uint32_t count;
    uint32_t hand; /* where the search for an unused lane goes on, as a clock's hand */
    struct lane *all[LANES_MAX];
    struct list_node expiring;
};

/* Makes no lane yet; cannot fail. */
void lanes_init(struct lanes *lanes, struct lull_executor *executor);

/* Frees the lanes. All entries have left (asserted). */
void lanes_fini(struct lanes *lanes);

/* Disarms the empty lanes, whose timers were left to die quietly: what sleeps or is over holds none. In context. */
void lanes_disarm_empty(struct lanes *lanes);

/* Frees those lanes that are empty, and their timers: a channel that goes idle holds none. */
void lanes_trim(struct lanes *lanes);

/* Makes an entry of raw memory and reserves its slot. LULL_OK or LULL_RC_NOMEM. */
int lane_entry_init(struct lane_entry *entry, struct lull_executor *executor,
                    lane_expired_fn expired);

/* Leaves and gives the slot back. Harmless on zeroed memory and the second time. */
void lane_entry_fini(struct lane_entry *entry);

/*
 * Waits until `now` + after_ns, instead of what it waited for before. LULL_NEVER: waits for nothing.
 * Not positive: due at once, that is in the next timer phase, never inline. `now` is the turn's.
 */
void lane_join(struct lane_entry *entry, struct lull_instant now, int64_t after_ns);

/* Waits until `at`, instead of what it waited for before. LULL_NEVER: for nothing. */
void lane_join_at(struct lane_entry *entry, struct lull_instant at);

/* Waits for nothing any more. Harmless when it does not wait. */
void lane_leave(struct lane_entry *entry);

/* The same as lane_join, for an entry that waits already: the window starts again. */
void lane_reopen(struct lane_entry *entry, struct lull_instant now, int64_t after_ns);

/* True from joining until it leaves or expires. */
bool lane_entry_is_waiting(const struct lane_entry *entry);

#endif
