/* SPDX-License-Identifier: MIT */
/*
 * Decides the keepalive time that a channel's next connection starts with: the configured one,
 * doubled for each too_many_pings (gRFC A8), halved for each day without one. Called by the channel
 * when it dials and by the transport when a GOAWAY comes. Must not know pings under way or which
 * connection is which. Its public side is lull/keepalive.h.
 */
#include "lull/keepalive.h"

#include <string.h>

/* HTTP/2 error code, RFC 9113 section 7. */
#define ENHANCE_YOUR_CALM UINT32_C(0xb)

void lull_keepalive_interval_init(struct lull_keepalive_interval *interval, int64_t time_ns,
                                  bool allow_short_timers)
{
    if (time_ns <= 0) {
        time_ns = LULL_NEVER;
    } else if (time_ns < LULL_KEEPALIVE_TIME_MIN_NS && !allow_short_timers) {
        time_ns = LULL_KEEPALIVE_TIME_MIN_NS;
    }
    interval->configured_ns = time_ns;
    interval->current_ns = time_ns;
    interval->struck_at = lull_at(INT64_MIN);
}

int64_t lull_keepalive_interval_ns(const struct lull_keepalive_interval *interval,
                                   struct lull_instant now)
{
    if (interval->current_ns == interval->configured_ns) {
        return interval->configured_ns;
    }
    int64_t periods = lull_instant_diff(now, interval->struck_at) / LULL_KEEPALIVE_DECAY_NS;
    int64_t time_ns = interval->current_ns;
    while (periods > 0 && time_ns > interval->configured_ns) {
        time_ns /= 2;
        periods--;
    }
    return time_ns > interval->configured_ns ? time_ns : interval->configured_ns;
}

void lull_keepalive_interval_on_too_many_pings(struct lull_keepalive_interval *interval,
                                               int64_t used_ns, struct lull_instant now)
{
    if (interval->configured_ns == LULL_NEVER || used_ns <= 0) {
        return;
    }
    int64_t current_ns = lull_keepalive_interval_ns(interval, now);
    int64_t doubled_ns = used_ns < LULL_NEVER / 2 ? 2 * used_ns : LULL_NEVER - 1;
    /* A connection that used an older, shorter time must not shorten what a later one has learned.
     */
    interval->current_ns = doubled_ns > current_ns ? doubled_ns : current_ns;
    interval->struck_at = now;
}

bool lull_keepalive_is_too_many_pings(uint32_t goaway_code, const void *debug, size_t len)
{
    static const char words[] = "too_many_pings";
    return goaway_code == ENHANCE_YOUR_CALM && len == sizeof(words) - 1 &&
           memcmp(debug, words, len) == 0;
}
