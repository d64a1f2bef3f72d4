/* SPDX-License-Identifier: MIT */
/*
 * Ending by the caller's own clock. See sync_late.h.
 */
#include "sync/sync_late.h"

#include <string.h>

#include "channel/call.h"
#include "channel/failure.h"
#include "exec/executor.h"
#include "sync/sync_result.h"
#include "sync/sync_wait.h"

struct lull_instant sync_late_at(const struct lull_call *call)
{
    /* Fixed when the call was made, so any thread may look. */
    return lull_instant_add(call->timeouts.deadline.deadline_at, SYNC_WAIT_GRACE_NS);
}

static const char *why_nobody(const struct lull_executor *executor)
{
    return executor_is_calling_back(executor)
               ? "nobody drove the loop behind the deadline: a turn of it has not ended, so a callback does not return"
               : "nobody drove the loop behind the deadline: it is in no turn, so its thread is elsewhere";
}

void sync_late_keep(struct lull_sync_result *result, const struct lull_call *call)
{
    static const int64_t unknown[LULL_PHASE_COUNT];
    static const struct lull_metadata none;
    struct lull_executor *executor = call->channel->executor;
    struct failure failure;
    /* What the turn alone may read, the peer and where the time went, stays unsaid. */
    const struct failure_facts facts = {
        .code = LULL_CODE_DEADLINE_EXCEEDED,
        .reason = LULL_REASON_DEADLINE,
        .phase = call_phase_seen(call),
        .is_unheard = true,
        .method = call->arena->method,
        .address = call->channel->target,
        .what = why_nobody(executor),
        .http2_error = -1,
        .elapsed_ns = lull_instant_diff(lull_executor_now(executor), call->timeouts.created_at),
        .phase_ns = unknown,
        .next_attempt_after_ns = LULL_NEVER,
    };
    failure_write(&failure, &facts);
    const struct lull_status status = {.code = facts.code,
                                       .message = failure.message,
                                       .message_len = strlen(failure.message),
                                       .failure = &failure.record};
    sync_result_keep(result, &status, &none, &none, lull_slice_static(NULL, 0));
}
