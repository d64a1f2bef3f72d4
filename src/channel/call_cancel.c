/* SPDX-License-Identifier: MIT */
/*
 * Commands and cancels. See call_cancel.h.
 */
#include "channel/call_cancel.h"

#include "channel/call.h"
#include "exec/executor.h"

void call_command_instead(struct lull_call *call, unsigned command, unsigned instead_of)
{
    struct lull_executor *executor = call->channel->executor;
    bool is_here = lull_executor_in_context(executor);
    unsigned before = atomic_load_explicit(&call->commands, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&call->commands, &before,
                                                  (before & ~instead_of) | command,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    if (before != 0 && !is_here) {
        /* Whoever put the first one there has the task on its way, which takes this one along. */
        return;
    }
    if (command != CALL_COMMAND_START) {
        call_hold(call); /* (before the start nothing gives the library's reference back) */
    }
    if (is_here) {
        lull_executor_post(executor, &call->command_task);
    } else if (!lull_executor_submit(executor, &call->command_task)) {
        call_drop(call); /* it is in the inbox already, with a reference of its own */
    }
}

void call_command(struct lull_call *call, unsigned command)
{
    call_command_instead(call, command, 0);
}

void call_cancel(struct lull_call *call)
{
    struct call_outcome outcome = {
        .code = LULL_CODE_CANCELLED,
        .reason = LULL_REASON_CANCELLED,
        .what = "cancelled by the application",
        .http2_error = -1,
    };
    call_end(call, &outcome);
}

/* In context: what a cancel would do here. */
enum cancel_way {
    CANCEL_NOT,        /* over, and told of all */
    CANCEL_WITH_START, /* the start is on the way and will see this */
    CANCEL_NOW
};

static enum cancel_way way(const struct lull_call *call)
{
    if (call->stage == CALL_OVER && !call_receive_is_holding(call)) {
        return CANCEL_NOT;
    }
    return call->stage == CALL_NEW ? CANCEL_WITH_START : CANCEL_NOW;
}

void lull_call_cancel(struct lull_call *call)
{
    if (call == NULL) {
        return;
    }
    struct lull_executor *executor = call->channel->executor;
    bool is_here = lull_executor_in_context(executor);
    enum cancel_way by = CANCEL_NOW;
    if (is_here) {
        by = way(call);
    } else if (executor_visit(executor)) {
        by = way(call);
        executor_end_visit(executor);
    }
    if (by == CANCEL_WITH_START) {
        atomic_fetch_or_explicit(&call->commands, CALL_COMMAND_CANCEL, memory_order_release);
    } else if (by == CANCEL_NOW && is_here) {
        call_cancel(call);
    } else if (by == CANCEL_NOW) {
        call_command(call, CALL_COMMAND_CANCEL);
    }
}
