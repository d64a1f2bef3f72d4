/* SPDX-License-Identifier: MIT */
/*
 * A channel as lines of text, for people who look at one that does not do what they think.
 *
 * Decides: how the lines read; the numbers are those of who knows them. The public side is lull_channel_dump of lull/channel.h. Must not
 * change anything: it asks and prints.
 */
#include <inttypes.h>

#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/channel.h"
#include "channel/channel_resolve.h"
#include "exec/executor.h"

/* A state with its reason is the longest. */
#define LINE_BYTES (CHANNEL_REASON_BYTES + 256)

/* Of a longer queue only the first calls are shown. */
#define CALLS_SHOWN 32

struct dump {
    const struct lull_channel *channel;
    lull_channel_line_fn fn;
    void *ctx;
    struct lull_instant now;
    char text[LINE_BYTES];
    struct strbuf line;
};

/* The line that is being written; put ends it. */
static struct strbuf *begin(struct dump *dump)
{
    strbuf_init(&dump->line, dump->text, sizeof(dump->text));
    return &dump->line;
}

static void put(struct dump *dump)
{
    dump->fn(dump->ctx, dump->text);
}

/* "before 1.2 s" since then. */
static void add_since(struct dump *dump, const char *before, struct lull_instant then)
{
    strbuf_add(&dump->line, before);
    strbuf_duration(&dump->line, lull_instant_diff(dump->now, then));
}

static void dump_state(struct dump *dump)
{
    const struct lull_channel *channel = dump->channel;
    struct strbuf *line = begin(dump);
    strbuf_printf(line, "channel %.200s: %s", channel->target, lull_state_name((int)channel->state));
    add_since(dump, " for ", channel->state_at);
    if (channel->reason[0] != '\0') {
        strbuf_printf(line, ": %s", channel->reason);
    }
    put(dump);
}

static void dump_idle(struct dump *dump)
{
    const struct lull_idle *idle = &dump->channel->idle;
    const int64_t left_ns = lull_idle_left_ns(idle, dump->now);
    struct strbuf *line = begin(dump);
    if (lull_idle_is_idle(idle)) {
        strbuf_add(line, "idle: now, until the next call");
    } else if (left_ns == LULL_NEVER) {
        strbuf_printf(line, "idle: %s", lull_idle_calls(idle) > 0 ? "not while calls run" : "never");
    } else {
        strbuf_add(line, "idle: in ");
        strbuf_duration(line, left_ns);
    }
    put(dump);
}

static void dump_attempts(struct dump *dump)
{
    const struct subchannel *sub = &dump->channel->subchannel;
    const int64_t next_ns = subchannel_next_attempt_after(sub, dump->now);
    struct strbuf *line = begin(dump);
    strbuf_printf(line, "attempts: %s, %" PRIu64 " dial%s, %" PRIu64 " connection%s made, %" PRIu64 " lost",
                  subchannel_phase_name(sub->phase), sub->history.dials, plural_s(sub->history.dials),
                  sub->history.connections_made, plural_s(sub->history.connections_made),
                  sub->history.connections_lost);
    if (next_ns != LULL_NEVER) {
        strbuf_add(line, "; next in ");
        strbuf_duration(line, next_ns);
    }
    if (subchannel_last_failure(sub)->reason[0] != '\0') {
        strbuf_printf(line, "; the last failure: %s", subchannel_last_failure(sub)->reason);
    }
    put(dump);
}

static void dump_addresses(struct dump *dump)
{
    const struct subchannel *sub = &dump->channel->subchannel;
    if (channel_is_resolving(dump->channel)) {
        strbuf_add(begin(dump), "address: waiting for the name to be resolved");
        put(dump);
    }
    for (size_t i = 0; i < sub->address_count; i++) {
        const struct subchannel_address *address = &sub->addresses[i];
        strbuf_printf(begin(dump), "address %s: ", address->addr.text);
        if (address->dialled_at.ns == INT64_MIN) {
            strbuf_add(&dump->line, "never dialled");
        } else {
            add_since(dump, "dialled ", address->dialled_at);
            strbuf_add(&dump->line, address->dialled != NULL ? " ago, under way" : " ago");
        }
        put(dump);
    }
}

static const char *connection_role(const struct subchannel *sub, const struct connection *connection)
{
    if (connection != sub->current) {
        return "takes no more calls";
    }
    return sub->phase == SUBCHANNEL_READY ? "takes calls" : "waits for SETTINGS";
}

static void dump_connection(struct dump *dump, const struct connection *connection)
{
    const struct h2_transport *transport = connection->transport;
    struct strbuf *line = begin(dump);
    struct h2_ping_stats pings;
    h2_transport_ping_stats(transport, &pings);
    const size_t streams = h2_transport_streams(transport);
    const uint64_t bytes = h2_transport_bytes_read(transport);
    strbuf_printf(line, "connection %s: %s, %zu stream%s, %" PRIu64 " byte%s read",
                  connection_peer_text(connection),
                  connection_role(&dump->channel->subchannel, connection),
                  streams, plural_s(streams), bytes, plural_s(bytes));
    if (connection->keepalive_time_ns != LULL_NEVER) {
        strbuf_add(line, ", keepalive after ");
        strbuf_duration(line, connection->keepalive_time_ns);
    }
    strbuf_printf(line, ", %" PRIu64 " ping%s sent, %" PRIu64 " answered", pings.sent,
                  plural_s(pings.sent), pings.acked);
    if (pings.last_rtt_ns != LULL_NEVER) {
        strbuf_add(line, ", the last in ");
        strbuf_duration(line, pings.last_rtt_ns);
    }
    if (connection->has_goaway) {
        strbuf_printf(line, ", %s", connection->goaway_text);
    }
    put(dump);
}

static void dump_calls(struct dump *dump)
{
    const struct lull_channel *channel = dump->channel;
    unsigned shown = 0;
    strbuf_printf(begin(dump), "calls: %" PRIu64 ", %" PRIu32 " of them waiting",
                  lull_idle_calls(&channel->idle),
                  atomic_load_explicit(&channel->waiting_calls, memory_order_relaxed));
    put(dump);
    for (struct list_node *node = channel->calls.next; node != &channel->calls; node = node->next) {
        const struct lull_call *call = LIST_ENTRY(node, struct lull_call, in_calls);
        if (call->stage != CALL_WAITING) {
            continue;
        }
        if (shown++ == CALLS_SHOWN) {
            strbuf_add(begin(dump), "call: and more that wait");
            put(dump);
            return;
        }
        strbuf_printf(begin(dump), "call %" PRIu64 " %.200s: %s", call->id, call->arena->method,
                      lull_phase_name((int)call->phase));
        add_since(dump, ", waiting for ", call->created_at);
        strbuf_add(&dump->line, call->wait_for_ready ? ", wait_for_ready" : "");
        put(dump);
    }
}

void lull_channel_dump(const struct lull_channel *channel, lull_channel_line_fn line, void *ctx)
{
    struct lull_executor *executor = channel->executor;
    bool had_to_visit = !lull_executor_in_context(executor) && executor_take_open(executor);
    struct dump dump = {.channel = channel, .fn = line, .ctx = ctx, .now = lull_executor_now(executor)};
    dump_state(&dump);
    dump_idle(&dump);
    dump_attempts(&dump);
    dump_addresses(&dump);
    for (struct list_node *node = channel->subchannel.connections.next;
         node != &channel->subchannel.connections; node = node->next) {
        dump_connection(&dump, LIST_ENTRY(node, struct connection, link));
    }
    dump_calls(&dump);
    if (had_to_visit) {
        executor_end_visit(executor);
    }
}
