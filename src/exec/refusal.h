/* SPDX-License-Identifier: MIT */
/*
 * What happens when the host's loop refuses an alarm (RULINGS 18).
 *
 * Decides: who is told, and when: before the turn ends, so that nobody waits for a time that will not come. Called by turn.c; those
 * who have timeouts register. Must not know: what waits, or why the loop refused. In context.
 */
#ifndef EXEC_REFUSAL_H
#define EXEC_REFUSAL_H

#include "base/list.h"
#include "lull/executor.h"

struct refusal_watch;

/*
 * The loop refused an alarm. What is due before `standing_at` (the alarm that stands, LULL_NEVER: none) will not be heard of in
 * time: fail it. The tasks that this posts run in the same turn. Told again if the loop refuses once more.
 */
typedef void (*refusal_fn)(struct refusal_watch *watch, struct lull_instant standing_at);

/* Embedded in its owner. */
struct refusal_watch {
    struct list_node link;
    refusal_fn refused;
};

void refusal_watch_start(struct refusal_watch *watch, struct lull_executor *executor,
                         refusal_fn refused);

/* Harmless on zeroed memory and the second time. */
void refusal_watch_stop(struct refusal_watch *watch);

/* The turn has asked for its alarm: tells of a refusal, runs what comes of that, and asks again. */
void refusal_settle(struct lull_executor *executor);

#endif
