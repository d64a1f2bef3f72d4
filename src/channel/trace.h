/* SPDX-License-Identifier: MIT */
/*
 * Events of a channel or server, told to the hook and the log of its options.
 *
 * Decides: that no text is made where nobody listens. Called by everything in channel/ and server/. Must not know what the events
 * mean. In context, or in the function that makes the channel.
 */
#ifndef CHANNEL_TRACE_H
#define CHANNEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cold.h"
#include "lull/executor.h"
#include "lull/log.h"
#include "lull/trace.h"

struct trace {
    uint32_t wanted; /* the kinds that somebody listens to, a bit each */
    uint32_t logged; /* of these, those that the log does */
    bool is_server;
    struct lull_trace hook;
    struct lull_log log;
    struct lull_executor *executor;
    const char *target; /* [borrow] */
};

void trace_init(struct trace *trace, const struct lull_trace *hook, const struct lull_log *log,
                bool is_server, struct lull_executor *executor, const char *target);

static inline bool trace_wants(const struct trace *trace, enum lull_event_kind kind)
{
    return (trace->wanted >> kind & 1u) != 0;
}

/* Formats and tells; only behind trace_wants. `call_id` 0: not about a call. */
LULL_COLD void trace_tell(const struct trace *trace, enum lull_event_kind kind, uint64_t call_id,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The arguments are not evaluated when nobody listens. */
#define TRACE(trace, kind, ...) \
    (trace_wants(trace, kind) ? trace_tell(trace, kind, __VA_ARGS__) : (void)0)

#endif
