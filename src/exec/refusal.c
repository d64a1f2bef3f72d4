/* SPDX-License-Identifier: MIT */
/*
 * Refused alarms. See refusal.h.
 */
#include "exec/refusal.h"

#include "exec/executor_parts.h"

/* A call may be started anew by the end of one that failed: so often in one turn, then the loop is asked for another. */
#define PASSES_MAX 3

void refusal_watch_start(struct refusal_watch *watch, struct lull_executor *executor,
                         refusal_fn refused)
{
    watch->refused = refused;
    list_push_back(&executor->refusal_watches, &watch->link);
}

void refusal_watch_stop(struct refusal_watch *watch)
{
    if (watch->link.next != NULL) {
        list_remove(&watch->link);
    }
}

static void tell(struct lull_executor *executor)
{
    LIST_FOR_EACH_SAFE(node, after, &executor->refusal_watches)
    {
        struct refusal_watch *watch = LIST_ENTRY(node, struct refusal_watch, link);
        watch->refused(watch, executor->alarm_at);
    }
}

void refusal_settle(struct lull_executor *executor)
{
    for (int pass = 0; pass < PASSES_MAX && executor->is_alarm_refused; pass++) {
        tell(executor);
        if (!executor_has_work(executor)) {
            return; /* nobody counted on it */
        }
        executor_run_rest(executor);
        executor_alarm_update(executor);
    }
    if (executor->is_alarm_refused && executor_has_work(executor)) {
        executor_ask_soon(executor);
    }
}
