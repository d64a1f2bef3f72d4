/* SPDX-License-Identifier: MIT */
/*
 * The common half of the built-in loops. See loop_builtin.h.
 */
#include "loop/loop_builtin.h"

#include <errno.h>
#include <limits.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/sized.h"
#include "exec/executor.h"
#include "exec/linger.h"
#include "loop/loop.h"

struct loop_builtin *loop_builtin_of(struct lull_loop *loop)
{
    return loop->ops == &loop_builtin_kind.ops ? container_of(loop, struct loop_builtin, base) : NULL;
}

struct lull_counters *loop_builtin_counters(struct loop_builtin *loop)
{
    return executor_counters(loop->base.executor);
}

/* ---- its life */

int lull_loop_new(const struct lull_executor_options *options, struct lull_loop **out)
{
    const struct lull_allocator *allocator =
        options != NULL && options->size >= SIZED_UP_TO(struct lull_executor_options, allocator) ? options->allocator : NULL;
    struct loop_builtin *loop = (struct loop_builtin *)mem_zeroed(allocator, loop_builtin_kind.size);
    int rc;

    if (loop == NULL) {
        return LULL_RC_NOMEM;
    }
    loop->allocator = allocator;
    loop_builtin_kind.init(loop);
    rc = loop_init_telling(&loop->base, &loop_builtin_kind.ops, loop_builtin_kind.name, options);
    if (rc != LULL_OK) {
        mem_release(allocator, loop);
        return rc;
    }
    *out = &loop->base;
    return LULL_OK;
}

void lull_loop_free(struct lull_loop *base)
{
    struct loop_builtin *loop;

    if (base == NULL) {
        return;
    }
    loop = loop_builtin_of(base);
    LULL_INVARIANT(loop != NULL, "lull_loop_free of a host's loop");
    LULL_INVARIANT(!lull_executor_in_context(base->executor), "lull_loop_free in a callback");
    lull_loop_fini(base);
    loop_builtin_kind.close(loop);
    mem_release(loop->allocator, loop);
}

void loop_close_copies(struct lull_loop *base)
{
    struct loop_builtin *loop = loop_builtin_of(base);

    loop_fork_close(base);
    if (loop != NULL) {
        loop_builtin_kind.close(loop);
    }
}

/* ---- one round */

void loop_builtin_ask_turn(struct loop_builtin *loop)
{
    __atomic_store_n(&loop->is_due, 1, __ATOMIC_SEQ_CST);
}

bool loop_builtin_is_turn_due(struct loop_builtin *loop)
{
    return loop->is_alarm_due || __atomic_load_n(&loop->is_due, __ATOMIC_SEQ_CST) != 0 ||
           lull_executor_next_at(loop->base.executor).ns == INT64_MIN;
}

static int timeout_until(struct loop_builtin *loop, struct lull_instant until)
{
    int64_t left_ns, ms;

    if (until.ns == LOOP_UNTIL_NOW || loop_builtin_is_turn_due(loop) || !executor_sleep(loop->base.executor)) {
        return 0;
    }
    if (until.ns == LULL_NEVER) {
        return -1;
    }
    left_ns = lull_instant_diff(until, lull_executor_now(loop->base.executor));
    if (left_ns <= 0) {
        loop->is_time_up = true;
        return 0;
    }
    ms = left_ns / LULL_MS + (left_ns % LULL_MS != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int loop_builtin_begin(struct loop_builtin *loop, struct lull_instant until,
                       int (*prepare)(struct loop_builtin *loop, struct lull_instant *until), int *timeout_ms)
{
    struct lull_executor *executor = loop->base.executor;
    int err;

    if (!lull_executor_in_context(executor)) {
        executor_take(executor);
    }
    loop_tell_stop(&loop->base);
    loop->is_time_up = false;
    executor_flush_held(executor);
    err = prepare(loop, &until);
    if (err == 0) {
        *timeout_ms = timeout_until(loop, until);
        loop->lingers = *timeout_ms != 0 && linger_begin(executor, loop->watches);
    }
    executor_end_visit(executor);
    return err;
}

void loop_builtin_linger(struct loop_builtin *loop, struct pollfd *fds, nfds_t count, int *timeout_ms)
{
    const int most_ms = (int)(LINGER_NS / LULL_MS);
    const int ms = *timeout_ms < 0 || *timeout_ms > most_ms ? most_ms : *timeout_ms;
    const int heard = poll(fds, count, ms);

    linger_end(loop->base.executor);
    if (heard != 0) {
        *timeout_ms = 0;
    } else if (*timeout_ms > 0) {
        *timeout_ms -= ms;
    }
}

int loop_builtin_wake(struct loop_builtin *loop, int count)
{
    int err = count < 0 && errno != EINTR ? errno : 0;

    /* Visitors free nothing that an event could still point to: frees are for a turn, and turns are ours. */
    executor_take(loop->base.executor);
    loop_builtin_counters(loop)->syscalls += loop->lingers ? 2 : 1;
    loop_builtin_counters(loop)->wakeups += loop->lingers ? 2 : 1;
    executor_awake(loop->base.executor);
    return err;
}

void loop_builtin_turn(struct loop_builtin *loop, int err)
{
    if (loop->is_alarm_due) {
        executor_on_alarm_gone(loop->base.executor);
    }
    loop->is_alarm_due = false;
    /* A store of this kind costs more than a look. Whoever asks behind the look gets the next round. */
    if (__atomic_load_n(&loop->is_due, __ATOMIC_SEQ_CST) != 0) {
        __atomic_store_n(&loop->is_due, 0, __ATOMIC_SEQ_CST);
    }
    if (err == 0) {
        executor_turn_taken(loop->base.executor);
    } else {
        executor_end_visit(loop->base.executor);
    }
}
