/* SPDX-License-Identifier: MIT */
/*
 * What the pings of a subchannel's connections came to: sums, events, and the server's word that they are too many.
 *
 * Decides: how they read, and that a strike counts against the time which the struck connection went by. When to ping is the
 * transport's affair. Called by subchannel.c and for lull_channel_stats. See subchannel.h.
 */
#include "base/strbuf.h"
#include "channel/subchannel.h"

#define DURATION_BYTES 40

void subchannel_on_too_many_pings(const struct connection *connection)
{
    struct subchannel *sub = connection->subchannel;
    struct lull_keepalive_interval *interval = sub->options.keepalive_interval;
    struct lull_instant now = lull_executor_now(sub->options.executor);
    int64_t before_ns = lull_keepalive_interval_ns(interval, now);
    lull_keepalive_interval_on_too_many_pings(interval, connection->keepalive_time_ns, now);
    if (trace_wants(sub->options.trace, LULL_EVENT_WARNING)) {
        char from[DURATION_BYTES];
        char to[DURATION_BYTES];
        struct strbuf sb;
        strbuf_init(&sb, from, sizeof(from));
        strbuf_duration(&sb, before_ns);
        strbuf_init(&sb, to, sizeof(to));
        strbuf_duration(&sb, lull_keepalive_interval_ns(interval, now));
        trace_tell(sub->options.trace, LULL_EVENT_WARNING, 0,
                   "%s says too_many_pings: keepalive time was %s, is %s for later connections",
                   connection_peer_text(connection), from, to);
    }
}

/* Adds what one connection's pings did. The last round trip is the one that `more` has, if it has any. */
static void add_pings(struct h2_ping_stats *sum, const struct h2_ping_stats *more)
{
    sum->sent += more->sent;
    sum->acked += more->acked;
    sum->late += more->late;
    if (more->last_rtt_ns == LULL_NEVER) {
        return;
    }
    bool is_first = sum->last_rtt_ns == LULL_NEVER;
    sum->last_rtt_ns = more->last_rtt_ns;
    sum->min_rtt_ns =
        is_first || more->min_rtt_ns < sum->min_rtt_ns ? more->min_rtt_ns : sum->min_rtt_ns;
    sum->max_rtt_ns =
        is_first || more->max_rtt_ns > sum->max_rtt_ns ? more->max_rtt_ns : sum->max_rtt_ns;
}

void subchannel_keep_pings(const struct connection *connection)
{
    struct h2_ping_stats pings;
    h2_transport_ping_stats(connection->transport, &pings);
    add_pings(&connection->subchannel->history.pings, &pings);
}

void subchannel_ping_stats(const struct subchannel *subchannel, struct h2_ping_stats *out)
{
    *out = subchannel->history.pings;
    LIST_FOR_EACH(node, &subchannel->connections)
    {
        struct h2_ping_stats pings;
        h2_transport_ping_stats(LIST_ENTRY(node, struct connection, link)->transport, &pings);
        add_pings(out, &pings);
    }
}

static void on_ping(struct h2_transport *transport, int64_t rtt_ns)
{
    const struct connection *connection = h2_transport_owner(transport);
    const struct subchannel *sub = connection->subchannel;
    char text[DURATION_BYTES];
    struct strbuf sb;
    if (rtt_ns < 0) {
        trace_tell(sub->options.trace, LULL_EVENT_PING, 0, "%s: sent", connection_peer_text(connection));
        return;
    }
    strbuf_init(&sb, text, sizeof(text));
    strbuf_duration(&sb, rtt_ns);
    trace_tell(sub->options.trace, LULL_EVENT_PING, 0, "%s: answered in %s", connection_peer_text(connection), text);
}

void subchannel_watch_pings(const struct connection *connection)
{
    if (trace_wants(connection->subchannel->options.trace, LULL_EVENT_PING)) {
        h2_transport_watch_pings(connection->transport, on_ping);
    }
}

void subchannel_pings_init(struct subchannel *subchannel)
{
    struct h2_ping_stats *pings = &subchannel->history.pings;
    pings->last_rtt_ns = LULL_NEVER;
    pings->min_rtt_ns = LULL_NEVER;
    pings->max_rtt_ns = LULL_NEVER;
}
