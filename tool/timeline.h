/* SPDX-License-Identifier: MIT */
/*
 * What -v prints on stderr: events with milliseconds since the start, metadata both ways, and where the time went.
 *
 * Decides: how it looks. Called by call.c and, through the trace hook, inside turns, so it calls nothing of lull that
 * is not inline or a name. Must not know: what the tool was asked for.
 */
#ifndef LULL_TOOL_TIMELINE_H
#define LULL_TOOL_TIMELINE_H

#include <lull/lull.h>

struct timeline {
    struct lull_instant start_at;
};

/* Starts the count; `now` is the system clock's. */
void tool_timeline_start(struct timeline *timeline, struct lull_instant now);

/* The trace hook; ctx is the timeline. */
void tool_timeline_event(void *ctx, const struct lull_event *event);

/* What is asked for: the method, the request's bytes (negative: there may be many messages), the metadata. */
void tool_timeline_request(const char *method, int64_t bytes, const struct lull_metadata *metadata);

/* One line a pair: mark ('>' sent, '<' received), name, value; base64 for "-bin" names. */
void tool_timeline_metadata(char mark, const struct lull_metadata *metadata);

/* Where a failed call was and where its time went. */
void tool_timeline_failure(const struct lull_failure *failure);

#endif
