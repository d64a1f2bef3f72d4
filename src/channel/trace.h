/* SPDX-License-Identifier: MIT */
/*
 * Events of a channel, told to the hook of its options.
 *
 * Decides: that no text is made where nobody listens. Called by everything in channel/. Must not know what the
 * events mean. In context.
 */
#ifndef CHANNEL_TRACE_H
#define CHANNEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/executor.h"
#include "lull/trace.h"

struct trace {
    struct lull_trace hook;
    struct lull_executor *executor;
    const char *target; /* [borrow] */
};

static inline bool trace_is_on(const struct trace *trace)
{
    return trace->hook.event != NULL;
}

/* Formats and tells; only behind trace_is_on. `call_id` 0: not about a call. */
void trace_tell(const struct trace *trace, enum lull_event_kind kind, uint64_t call_id,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The arguments are not evaluated when nobody listens. */
#define TRACE(trace, ...) (trace_is_on(trace) ? trace_tell(trace, __VA_ARGS__) : (void)0)

#endif
