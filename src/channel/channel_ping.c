/* SPDX-License-Identifier: MIT */
/*
 * A PING that the application asks for.
 *
 * Decides: which connection is asked, and that a channel which has none is not dialled for it. The PING itself, and who shares
 * it, is h2/ping's. The public side is lull_channel_ping of lull/channel.h.
 */
#include "base/container.h"
#include "base/mem.h"
#include "base/rc.h"
#include "channel/channel.h"
#include "exec/executor.h"
#include "h2/ping.h"

struct channel_ping {
    struct h2_ping ping;
    struct lull_channel *channel; /* held */
    lull_channel_ping_fn fn;
    void *ctx;
};

static void on_done(struct h2_ping *ping, int64_t rtt_ns, const char *why)
{
    struct channel_ping *asked = container_of(ping, struct channel_ping, ping);
    struct lull_channel *channel = asked->channel;
    asked->fn(asked->ctx, rtt_ns, why);
    executor_on_user_returned(channel->executor);
    mem_release(channel->allocator, asked);
    channel_release(channel);
}

/* In context. */
static int ask(struct lull_channel *channel, lull_channel_ping_fn fn, void *ctx,
               struct lull_error *error)
{
    if (channel_is_closed(channel)) {
        return rc_fail(error, LULL_RC_CLOSED, "%s", channel_closed_text(channel));
    }
    struct connection *connection = subchannel_ready_connection(&channel->subchannel);
    if (connection == NULL) {
        return rc_fail(error, LULL_RC_STATE, "there is no connection to ping: the channel is %s",
                       lull_state_name((int)channel->state));
    }
    struct channel_ping *asked = mem_zeroed(channel->allocator, sizeof(*asked));
    if (asked == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a ping");
    }
    channel->counters->allocations++;
    h2_ping_init(&asked->ping, on_done);
    asked->channel = channel;
    asked->fn = fn;
    asked->ctx = ctx;
    int rc = h2_transport_ping(connection->transport, &asked->ping);
    if (rc != LULL_OK) {
        mem_release(channel->allocator, asked);
        return rc_fail(error, (enum lull_rc)rc, "the connection takes no ping");
    }
    channel_hold(channel);
    return rc_ok(error);
}

int lull_channel_ping(struct lull_channel *channel, lull_channel_ping_fn fn, void *ctx,
                      struct lull_error *error)
{
    if (fn == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "fn is NULL");
    }
    bool had_to_enter = executor_enter(channel->executor);
    int rc = ask(channel, fn, ctx, error);
    executor_leave(channel->executor, had_to_enter);
    return rc;
}
