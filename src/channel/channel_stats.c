/* SPDX-License-Identifier: MIT */
/*
 * What a channel has done and is about to do, for people and for monitoring.
 *
 * Decides: nothing; it collects from those who know. The public side is lull_channel_stats of lull/channel.h.
 */
#include <string.h>

#include "channel/channel.h"
#include "exec/executor.h"

/* In context, or on the driving thread of a loop that nobody visits. */
static void collect(const struct lull_channel *channel, struct lull_channel_stats *out)
{
    const struct subchannel *sub = &channel->subchannel;
    struct lull_instant now = lull_executor_now(channel->executor);
    size_t size = out->size < sizeof(*out) ? out->size : sizeof(*out);
    struct h2_ping_stats pings;
    subchannel_ping_stats(sub, &pings);
    struct lull_channel_stats stats = {
        .size = size,
        .state = channel->state,
        .is_in_idle_mode = lull_idle_is_idle(&channel->idle),
        .state_for_ns = lull_instant_diff(now, channel->state_at),
        .reason = channel->reason,
        .calls = lull_idle_calls(&channel->idle),
        .calls_waiting = channel->waiting_calls,
        .idle_after_ns = lull_idle_left_ns(&channel->idle, now),
        .attempts = sub->history.dials,
        .connections_made = sub->history.connections_made,
        .connections_lost = sub->history.connections_lost,
        .keepalive_time_ns = lull_keepalive_interval_ns(&channel->keepalive_interval, now),
        .pings_sent = pings.sent,
        .pings_acked = pings.acked,
        .pings_late = pings.late,
        .rtt_ns = pings.last_rtt_ns,
        .rtt_min_ns = pings.min_rtt_ns,
        .rtt_max_ns = pings.max_rtt_ns,
    };
    if (size >= sizeof(stats.size)) {
        memcpy(out, &stats, size);
    }
}

void lull_channel_stats(const struct lull_channel *channel, struct lull_channel_stats *out)
{
    struct lull_executor *executor = channel->executor;
    bool had_to_visit = !lull_executor_in_context(executor) && executor_take_open(executor);
    collect(channel, out);
    if (had_to_visit) {
        executor_end_visit(executor);
    }
}
