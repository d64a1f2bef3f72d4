/* SPDX-License-Identifier: MIT */
/*
 * An executor whose thread does not exist: the copy in a child that was forked while another thread of the parent was in context.
 *
 * Decides: how the child comes into the context that nobody will give back, and what an executor still does then: nothing. The other
 * thread may have been anywhere, so no queue, no list and no session is touched; the memory stays. Called by those who
 * give back what lives on an executor, and by exec/ itself. Must not know how a child is told from its parent.
 */
#ifndef EXEC_ORPHAN_H
#define EXEC_ORPHAN_H

#include <stdbool.h>

struct lull_executor;
struct lull_loop;

/* How to ask whether this process is a child that has only a copy of the loop. By the loop's maker. */
void executor_set_fork_question(struct lull_executor *executor, bool (*is_forked)(const struct lull_loop *loop));

/* True for such a copy, entered by this process or not. A child asks on one thread at a time. */
bool executor_is_orphan(const struct lull_executor *executor);

/* For executor_claim, which failed: the thread that is in context, not this one, exists no more, and this thread has the context now. */
bool executor_inherit(struct lull_executor *executor);

#endif
