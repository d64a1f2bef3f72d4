/* SPDX-License-Identifier: MIT */
/*
 * What a log line of an event is: its level and its words.
 *
 * Decides: which kinds of events are worth which level. Called by channel/trace, which has the events. Must not know what an event is
 * about, nor who listens. The public side is lull/log.h, and lull_event_name of lull/trace.h.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "lull/log.h"
#include "lull/trace.h"

/* The level of a kind. A server's lost connections are its clients' coming and going. */
enum lull_log_level log_level_of(enum lull_event_kind kind, bool is_server);

/* The kinds that a log listens to, a bit each, by number. */
uint32_t log_kinds(const struct lull_log *log, bool is_server);

/* The line's text: "dial failed: DETAIL", "call 3 sent: DETAIL", of a warning DETAIL alone; the detail is one line already. */
void log_text(struct strbuf *sb, enum lull_event_kind kind, uint64_t call_id, const char *detail);

#endif
