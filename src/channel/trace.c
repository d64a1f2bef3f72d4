/* SPDX-License-Identifier: MIT */
/*
 * Formatting of events. See trace.h.
 */
#include "channel/trace.h"

#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"

#define DETAIL_BYTES 1024

/* A detail behind the longest that log_text puts before it. */
#define LINE_BYTES (DETAIL_BYTES + 64)

void trace_init(struct trace *trace, const struct lull_trace *hook, const struct lull_log *log,
                bool is_server, struct lull_executor *executor, const char *target)
{
    *trace = (struct trace){
        .logged = log_kinds(log, is_server),
        .is_server = is_server,
        .hook = *hook,
        .log = *log,
        .executor = executor,
        .target = target,
    };
    trace->wanted = hook->event != NULL ? UINT32_MAX : trace->logged;
}

static void tell_log(const struct trace *trace, const struct lull_event *event)
{
    char text[LINE_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    log_text(&sb, event->kind, event->call_id, event->detail);
    const struct lull_log_line line = {
        .size = sizeof(line),
        .level = log_level_of(event->kind, trace->is_server),
        .at = event->at,
        .name = event->target,
        .text = text,
    };
    trace->log.line(trace->log.ctx, &line);
}

void trace_tell(const struct trace *trace, enum lull_event_kind kind, uint64_t call_id,
                const char *format, ...)
{
    char given[DETAIL_BYTES];
    char detail[DETAIL_BYTES];
    struct strbuf sb;
    va_list args;
    strbuf_init(&sb, given, sizeof(given));
    va_start(args, format);
    strbuf_vprintf(&sb, format, args);
    va_end(args);
    /* Peers' bytes are quoted where they come in; who forgot that once shall not forge a line. */
    strbuf_init(&sb, detail, sizeof(detail));
    strbuf_one_line(&sb, given, strlen(given));

    const struct lull_event event = {
        .kind = kind,
        .at = lull_executor_now(trace->executor),
        .call_id = call_id,
        .target = trace->target,
        .detail = detail,
    };
    if (trace->hook.event != NULL) {
        trace->hook.event(trace->hook.ctx, &event);
    }
    if ((trace->logged >> kind & 1u) != 0) {
        tell_log(trace, &event);
    }
}
