/* SPDX-License-Identifier: MIT */
/*
 * Decides when a connection is probed and when its peer is dead (gRFC A8). Called by the
 * transport's keepalive glue (and by users with a transport of their own), which owns the
 * Rescheduler and the socket. Must not know frames, sockets or calls.
 *
 * Four phases and one instant. What is left of `time` is computed from the last byte on every
 * question, never remembered, so that a connection that went quiet, lost its streams and got new
 * ones cannot ping early.
 */
#include "lull/keepalive.h"

#include "base/sized.h"

/* Somebody wants to know whether the peer is alive. */
static bool is_wanted(const struct lull_keepalive *k)
{
    return k->time_ns != LULL_NEVER && (k->has_streams || k->without_calls);
}

static void settle(struct lull_keepalive *k)
{
    k->phase = is_wanted(k) ? LULL_KEEPALIVE_WATCHING : LULL_KEEPALIVE_RESTING;
}

static struct lull_keepalive_step answer(const struct lull_keepalive *k,
                                         enum lull_keepalive_action action)
{
    struct lull_keepalive_step step = {action, lull_keepalive_next_at(k)};
    return step;
}

static struct lull_keepalive_step send_ping(struct lull_keepalive *k, struct lull_instant now)
{
    k->phase = LULL_KEEPALIVE_PINGED;
    k->ping_at = now;
    k->is_written = false;
    k->pings_sent++;
    return answer(k, LULL_KEEPALIVE_SEND_PING);
}

int lull_keepalive_init(struct lull_keepalive *keepalive,
                        const struct lull_keepalive_options *options)
{
    static const struct sized kind = {.first = SIZED_UP_TO(struct lull_keepalive_options, allow_short_timers),
                                      .own = sizeof(*options)};
    struct lull_keepalive_options chosen;
    lull_keepalive_options_init(&chosen);
    if (options != NULL && sized_take(&kind, &chosen, options, NULL) != LULL_OK) {
        return LULL_RC_INVALID;
    }
    options = &chosen;
    struct lull_keepalive_interval interval;
    lull_keepalive_interval_init(&interval, options->time_ns, options->allow_short_timers);
    int64_t floor_ns = options->allow_short_timers ? 1 : LULL_KEEPALIVE_TIMEOUT_MIN_NS;

    keepalive->time_ns = interval.configured_ns;
    keepalive->timeout_ns = options->timeout_ns > floor_ns ? options->timeout_ns : floor_ns;
    keepalive->last_read_at = lull_at(INT64_MIN);
    keepalive->ping_at = lull_at(INT64_MIN);
    keepalive->rtt_ns = LULL_NEVER;
    keepalive->pings_sent = 0;
    keepalive->pings_acked = 0;
    keepalive->pings_late = 0;
    keepalive->phase = LULL_KEEPALIVE_CLOSED;
    keepalive->without_calls = options->without_calls;
    keepalive->has_streams = false;
    keepalive->is_written = false;
    return LULL_OK;
}

struct lull_keepalive_step lull_keepalive_on_transport_opened(struct lull_keepalive *keepalive,
                                                              struct lull_instant now)
{
    keepalive->last_read_at = now;
    keepalive->has_streams = false;
    keepalive->rtt_ns = LULL_NEVER;
    keepalive->pings_sent =
        0; /* what an earlier connection left unanswered is nothing to this one */
    keepalive->pings_acked = 0;
    keepalive->pings_late = 0;
    settle(keepalive);
    return answer(keepalive, LULL_KEEPALIVE_NONE);
}

struct lull_keepalive_step lull_keepalive_on_transport_closed(struct lull_keepalive *keepalive)
{
    keepalive->phase = LULL_KEEPALIVE_CLOSED;
    return answer(keepalive, LULL_KEEPALIVE_NONE);
}

struct lull_keepalive_step lull_keepalive_on_read(struct lull_keepalive *keepalive,
                                                  struct lull_instant now)
{
    if (keepalive->phase != LULL_KEEPALIVE_CLOSED) {
        keepalive->last_read_at = now;
        if (keepalive->phase == LULL_KEEPALIVE_PINGED) {
            settle(keepalive);
        }
    }
    return answer(keepalive, LULL_KEEPALIVE_NONE);
}

struct lull_keepalive_step lull_keepalive_on_stream_opened(struct lull_keepalive *keepalive,
                                                           struct lull_instant now)
{
    keepalive->has_streams = true;
    if (keepalive->phase == LULL_KEEPALIVE_RESTING) {
        settle(keepalive);
    }
    if (keepalive->phase != LULL_KEEPALIVE_WATCHING) {
        return answer(keepalive, LULL_KEEPALIVE_NONE);
    }
    /* Quiet for `time` already: the probe goes out before this stream's HEADERS. */
    return lull_keepalive_on_timer(keepalive, now);
}

struct lull_keepalive_step lull_keepalive_on_last_stream_closed(struct lull_keepalive *keepalive)
{
    keepalive->has_streams = false;
    if (keepalive->phase == LULL_KEEPALIVE_WATCHING) {
        settle(keepalive);
    }
    return answer(keepalive, LULL_KEEPALIVE_NONE);
}

struct lull_keepalive_step lull_keepalive_on_ping_written(struct lull_keepalive *keepalive,
                                                          struct lull_instant now)
{
    if (keepalive->pings_sent > keepalive->pings_acked && !keepalive->is_written) {
        keepalive->is_written = true;
        keepalive->ping_at = now;
    }
    return answer(keepalive, LULL_KEEPALIVE_NONE);
}

struct lull_keepalive_step lull_keepalive_on_ping_acked(struct lull_keepalive *keepalive,
                                                        struct lull_instant now)
{
    uint64_t under_way = keepalive->pings_sent - keepalive->pings_acked;
    if (under_way > 0) {
        keepalive->pings_acked++;
    }
    /* With more under way, this ack belongs to an older ping, whose instant is not kept. */
    if (under_way == 1) {
        keepalive->rtt_ns = lull_instant_diff(now, keepalive->ping_at);
        if (keepalive->rtt_ns > keepalive->timeout_ns) {
            keepalive->pings_late++;
        }
    }
    return lull_keepalive_on_read(keepalive, now);
}

struct lull_keepalive_step lull_keepalive_on_timer(struct lull_keepalive *keepalive,
                                                   struct lull_instant now)
{
    struct lull_instant due_at = lull_keepalive_next_at(keepalive);
    if (due_at.ns == LULL_NEVER || lull_instant_before(now, due_at)) {
        return answer(keepalive, LULL_KEEPALIVE_NONE);
    }
    if (keepalive->phase == LULL_KEEPALIVE_WATCHING) {
        return send_ping(
            keepalive,
            now); /* its timeout counts from now, so a stall cannot condemn in this turn */
    }
    keepalive->phase = LULL_KEEPALIVE_CLOSED;
    return answer(keepalive, LULL_KEEPALIVE_PEER_IS_DEAD);
}

struct lull_instant lull_keepalive_next_at(const struct lull_keepalive *keepalive)
{
    switch (keepalive->phase) {
    case LULL_KEEPALIVE_WATCHING:
        return lull_instant_add(keepalive->last_read_at, keepalive->time_ns);
    case LULL_KEEPALIVE_PINGED:
        return lull_instant_add(keepalive->ping_at, keepalive->timeout_ns);
    default:
        return lull_at(LULL_NEVER);
    }
}

int64_t lull_keepalive_quiet_ns(const struct lull_keepalive *keepalive, struct lull_instant now)
{
    return lull_instant_diff(now, keepalive->last_read_at);
}

enum lull_keepalive_phase lull_keepalive_phase_of(const struct lull_keepalive *keepalive)
{
    return (enum lull_keepalive_phase)keepalive->phase;
}

int64_t lull_keepalive_time_ns(const struct lull_keepalive *keepalive)
{
    return keepalive->time_ns;
}

int64_t lull_keepalive_timeout_ns(const struct lull_keepalive *keepalive)
{
    return keepalive->timeout_ns;
}

int64_t lull_keepalive_write_timeout_ns(const struct lull_keepalive *keepalive)
{
    return keepalive->time_ns == LULL_NEVER ? LULL_KEEPALIVE_TIMEOUT_DEFAULT_NS
                                            : keepalive->timeout_ns;
}

void lull_keepalive_stats(const struct lull_keepalive *keepalive, struct lull_keepalive_stats *out)
{
    out->pings_sent = keepalive->pings_sent;
    out->pings_acked = keepalive->pings_acked;
    out->pings_late = keepalive->pings_late;
    out->rtt_ns = keepalive->rtt_ns;
}
