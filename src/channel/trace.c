/* SPDX-License-Identifier: MIT */
/*
 * Formatting of events. See trace.h.
 */
#include "channel/trace.h"

#include <stdarg.h>

#include "base/strbuf.h"

#define DETAIL_BYTES 1024

void trace_tell(const struct trace *trace, enum lull_event_kind kind, uint64_t call_id,
                const char *format, ...)
{
    char detail[DETAIL_BYTES];
    struct strbuf sb;
    va_list args;
    strbuf_init(&sb, detail, sizeof(detail));
    va_start(args, format);
    strbuf_vprintf(&sb, format, args);
    va_end(args);

    struct lull_event event = {
        .kind = kind,
        .at = lull_executor_now(trace->executor),
        .call_id = call_id,
        .target = trace->target,
        .detail = detail,
    };
    trace->hook.event(trace->hook.ctx, &event);
}
