/* SPDX-License-Identifier: MIT */
/*
 * What -v prints on stderr: see timeline.h.
 */
#include "timeline.h"

#include <string.h>

#include "base64.h"
#include "text.h"

static double milliseconds(int64_t ns)
{
    return (double)ns / (double)LULL_MS;
}

void tool_timeline_start(struct timeline *timeline, struct lull_instant now)
{
    timeline->start_at = now;
}

void tool_timeline_event(void *ctx, const struct lull_event *event)
{
    const struct timeline *timeline = ctx;
    int64_t since_ns = lull_instant_diff(event->at, timeline->start_at);
    (void)fprintf(stderr, "%10.3f ms  %-11s  %s\n", milliseconds(since_ns),
                  lull_event_name((int)event->kind), event->detail);
}

static bool is_binary(const struct lull_metadatum *pair)
{
    return pair->key_len >= 4 && memcmp(pair->key + pair->key_len - 4, "-bin", 4) == 0;
}

void tool_timeline_metadata(char mark, const struct lull_metadata *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct lull_metadatum *pair = &metadata->items[i];
        (void)fprintf(stderr, "%c ", mark);
        tool_text_put(stderr, pair->key, pair->key_len);
        (void)fputs(": ", stderr);
        if (is_binary(pair)) {
            tool_base64_put(stderr, pair->value, pair->value_len);
        } else {
            tool_text_put(stderr, pair->value, pair->value_len);
        }
        (void)fputc('\n', stderr);
    }
}

void tool_timeline_request(const char *method, int64_t bytes, const struct lull_metadata *metadata)
{
    (void)fputs("> ", stderr);
    tool_text_put(stderr, method, strlen(method));
    if (bytes >= 0) {
        (void)fprintf(stderr, " (%lld bytes)", (long long)bytes);
    }
    (void)fputc('\n', stderr);
    tool_timeline_metadata('>', metadata);
}

void tool_timeline_failure(const struct lull_failure *failure)
{
    (void)fprintf(stderr,
                  "reason %s, phase %s, after %.3f ms:", lull_reason_name((int)failure->reason),
                  lull_phase_name((int)failure->phase), milliseconds(failure->elapsed_ns));
    const char *separator = " ";
    for (int phase = 0; phase < LULL_PHASE_COUNT; phase++) {
        if (failure->phase_ns[phase] > 0) {
            (void)fprintf(stderr, "%s%s %.3f ms", separator, lull_phase_name(phase),
                          milliseconds(failure->phase_ns[phase]));
            separator = ", ";
        }
    }
    (void)fputc('\n', stderr);
}
