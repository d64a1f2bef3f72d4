/* SPDX-License-Identifier: MIT */
/*
 * What all loops have in common (lull/loop.h): the executor, stopping, and running by the seam's
 * own verbs. The built-in loop is loop_epoll.c or loop_poll.c.
 */
#include "loop/loop.h"

#include "base/invariant.h"
#include "exec/executor.h"
#include "loop/loop_fork.h"

/* The most turns that lull_loop_fini runs for work that waits and ends no call. */
#define LAST_TURNS 64

int loop_init_telling(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                      const struct lull_executor_options *options)
{
    int rc;

    loop->ops = ops;
    loop->name = name;
    loop->executor = NULL;
    loop->owner_pid = 0;
    loop->fork_mark = NULL;
    loop->is_stopping = 0;
    rc = lull_executor_new(options, &loop->executor);
    if (rc != LULL_OK) {
        return rc;
    }
    executor_set_loop(loop->executor, loop);
    return LULL_OK;
}

int lull_loop_init(struct lull_loop *loop, const struct lull_loop_ops *ops, const char *name,
                   const struct lull_executor_options *options)
{
    int rc = loop_init_telling(loop, ops, name, options);

    if (rc == LULL_OK) {
        loop_fork_own(loop);
        executor_set_loop_silent(loop->executor);
    }
    return rc;
}

void lull_loop_fini(struct lull_loop *loop)
{
    const struct lull_counters *counters = executor_counters(loop->executor);
    int idle_turns = 0;

    /* What was closed outside a turn waits for the free phase of one, and every call has its end told, however many there are.
     * Whoever posts for ever is not waited for. */
    while (idle_turns < LAST_TURNS && lull_executor_next_at(loop->executor).ns == INT64_MIN) {
        uint64_t closed = counters->calls_closed;

        (void)lull_executor_turn_now(loop->executor);
        idle_turns = counters->calls_closed != closed ? 0 : idle_turns + 1;
    }
    LULL_INVARIANT(executor_channels(loop->executor) == 0,
                   "a loop is freed while a channel on it, or the handle of a call, is still held");
    lull_executor_free(loop->executor);
    loop->executor = NULL;
    loop_fork_fini(loop);
}

struct lull_executor *lull_loop_executor(const struct lull_loop *loop)
{
    return loop->executor;
}

void lull_watch_ready(struct lull_loop *loop, struct lull_watch *w, unsigned ready)
{
    w->ready |= ready;
    executor_post_ready(loop->executor, &w->on_ready);
}

/* One round by the loop's own verb, as a code. */
static int run_until(struct lull_loop *loop, struct lull_instant until)
{
    if (loop->ops->run_once == NULL || lull_loop_is_forked(loop)) {
        return LULL_RC_UNSUPPORTED;
    }
    if (lull_executor_in_context(loop->executor)) {
        return LULL_RC_IN_TURN;
    }
    return loop->ops->run_once(loop, until) == 0 ? LULL_OK : LULL_RC_SYSTEM;
}

int lull_loop_run(struct lull_loop *loop)
{
    int rc = lull_executor_in_context(loop->executor) ? LULL_RC_IN_TURN : LULL_OK;

    /* A stop that came before the run is not lost: the thread that asked cannot know how far we
     * are. */
    while (rc == LULL_OK && __atomic_exchange_n(&loop->is_stopping, 0, __ATOMIC_SEQ_CST) == 0) {
        rc = run_until(loop, lull_at(LULL_NEVER));
    }
    return rc;
}

int lull_loop_run_once(struct lull_loop *loop, int64_t timeout_ns)
{
    struct lull_instant until = lull_at(LOOP_UNTIL_NOW);

    if (timeout_ns == LULL_NEVER) {
        until = lull_at(LULL_NEVER);
    } else if (timeout_ns > 0 && !lull_executor_in_context(loop->executor)) {
        until = lull_instant_add(lull_executor_now(loop->executor), timeout_ns);
    }
    return run_until(loop, until);
}

int lull_loop_dispatch(struct lull_loop *loop)
{
    return run_until(loop, lull_at(LOOP_UNTIL_NOW));
}

int lull_loop_on_alarm(struct lull_loop *loop)
{
    return lull_loop_is_forked(loop) ? LULL_RC_UNSUPPORTED : executor_turn_by_alarm(loop->executor);
}

int lull_loop_flush(struct lull_loop *loop)
{
    return lull_loop_is_forked(loop) ? LULL_RC_UNSUPPORTED : executor_quiet_turn(loop->executor);
}

void lull_loop_stop(struct lull_loop *loop)
{
    __atomic_store_n(&loop->is_stopping, 1, __ATOMIC_SEQ_CST);
    /* In a callback the loop looks at the mark before it sleeps. */
    if (!lull_executor_in_context(loop->executor)) {
        loop->ops->wake(loop);
    }
}
