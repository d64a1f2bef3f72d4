/* SPDX-License-Identifier: MIT */
/*
 * Letting answers gather. See linger.h.
 */
#include "exec/linger.h"

#include "exec/executor_parts.h"
#include "lull/loop.h"

bool linger_begin(struct lull_executor *executor, size_t watches)
{
    struct lingering *linger = &executor->linger;
    const struct lull_counters *counters = &executor->counters;
    const bool is_on = linger->awaited > 1 && linger->asked == 0 && linger->connections == watches &&
                       counters->calls_started == counters->calls_closed;
    atomic_store_explicit(&linger->is_on, is_on, memory_order_relaxed);
    return is_on;
}

void linger_end(struct lull_executor *executor)
{
    atomic_store_explicit(&executor->linger.is_on, false, memory_order_relaxed);
}

void linger_interrupt(struct lull_executor *executor)
{
    if (atomic_exchange_explicit(&executor->linger.is_on, false, memory_order_relaxed)) {
        executor->loop->ops->wake(executor->loop);
    }
}
