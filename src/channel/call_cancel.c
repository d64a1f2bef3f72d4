/* SPDX-License-Identifier: MIT */
/*
 * Commands and cancels. See call_cancel.h.
 */
#include "channel/call_cancel.h"

#include "channel/call.h"

void call_command(struct lull_call *call, unsigned command)
{
    struct lull_executor *executor = call->channel->executor;
    atomic_fetch_or_explicit(&call->commands, command, memory_order_release);
    call_hold(call);
    if (!lull_executor_in_context(executor)) {
        if (!lull_executor_submit(executor, &call->command_task)) {
            call_drop(call); /* it is in the inbox already, with a reference of its own */
        }
        return;
    }
    lull_executor_post(executor, &call->command_task);
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

void lull_call_cancel(struct lull_call *call)
{
    if (call == NULL || (call->stage == CALL_OVER && !call_receive_is_holding(call))) {
        return;
    }
    if (call->stage == CALL_NEW) {
        /* Its start is on the way and will see this. */
        atomic_fetch_or_explicit(&call->commands, CALL_COMMAND_CANCEL, memory_order_release);
        return;
    }
    if (lull_executor_in_context(call->channel->executor)) {
        call_cancel(call);
        return;
    }
    call_command(call, CALL_COMMAND_CANCEL);
}
