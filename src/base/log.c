/* SPDX-License-Identifier: MIT */
/*
 * Levels and words of log lines. See log.h.
 */
#include "base/log.h"

#include <inttypes.h>

static const struct {
    const char *name;
    enum lull_log_level level;
} kinds[] = {
    [LULL_EVENT_STATE] = {"state", LULL_LOG_INFO},
    [LULL_EVENT_DIAL] = {"dial", LULL_LOG_INFO},
    [LULL_EVENT_CONNECTED] = {"connected", LULL_LOG_INFO},
    [LULL_EVENT_SETTINGS] = {"settings", LULL_LOG_INFO},
    [LULL_EVENT_DIAL_FAILED] = {"dial failed", LULL_LOG_WARNING},
    [LULL_EVENT_LOST] = {"lost", LULL_LOG_WARNING},
    [LULL_EVENT_GOAWAY] = {"goaway", LULL_LOG_INFO},
    [LULL_EVENT_CALL_STARTED] = {"started", LULL_LOG_DEBUG},
    [LULL_EVENT_CALL_SENT] = {"sent", LULL_LOG_DEBUG},
    [LULL_EVENT_CALL_HEADERS] = {"headers", LULL_LOG_DEBUG},
    [LULL_EVENT_CALL_MESSAGE] = {"message", LULL_LOG_DEBUG},
    [LULL_EVENT_CALL_CLOSED] = {"closed", LULL_LOG_DEBUG},
    [LULL_EVENT_PING] = {"ping", LULL_LOG_DEBUG},
    [LULL_EVENT_WARNING] = {"warning", LULL_LOG_WARNING},
    [LULL_EVENT_NAME] = {"name", LULL_LOG_INFO},
    [LULL_EVENT_NAME_FAILED] = {"name failed", LULL_LOG_WARNING},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *lull_event_name(int kind)
{
    return kind < 0 || (size_t)kind >= KINDS ? "event" : kinds[kind].name;
}

const char *lull_log_level_name(int level)
{
    switch (level) {
    case LULL_LOG_WARNING:
        return "warning";
    case LULL_LOG_INFO:
        return "info";
    case LULL_LOG_DEBUG:
        return "debug";
    default:
        return "unknown";
    }
}

enum lull_log_level log_level_of(enum lull_event_kind kind, bool is_server)
{
    return is_server && kind == LULL_EVENT_LOST ? LULL_LOG_INFO : kinds[kind].level;
}

uint32_t log_kinds(const struct lull_log *log, bool is_server)
{
    const int level = log->level == 0 ? LULL_LOG_INFO : log->level;
    uint32_t set = 0;
    for (size_t kind = 0; log->line != NULL && kind < KINDS; kind++) {
        if ((int)log_level_of((enum lull_event_kind)kind, is_server) <= level) {
            set |= UINT32_C(1) << kind;
        }
    }
    return set;
}

void log_text(struct strbuf *sb, enum lull_event_kind kind, uint64_t call_id, const char *detail)
{
    if (call_id != 0) {
        strbuf_printf(sb, "call %" PRIu64 "%s", call_id, kind == LULL_EVENT_WARNING ? ": " : " ");
    }
    if (kind != LULL_EVENT_WARNING) {
        strbuf_printf(sb, "%s: ", kinds[kind].name);
    }
    strbuf_add(sb, detail);
}
