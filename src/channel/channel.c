/* SPDX-License-Identifier: MIT */
/*
 * The channel's connectivity, how long it lives and how it ends. See channel.h and lull/channel.h; channel_make.c makes one.
 */
#include "channel/channel.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/channel_idle.h"
#include "channel/channel_resolve.h"
#include "exec/executor.h"
#include "exec/lane.h"
#include "lull/credentials.h"
#include "loop/loop.h"

const char *lull_state_name(int state)
{
    static const char *const names[] = {"IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE",
                                        "SHUTDOWN"};
    return state < 0 || (size_t)state >= sizeof(names) / sizeof(names[0]) ? "unknown"
                                                                          : names[state];
}

/* ---- counts */

void channel_free(struct lull_channel *channel)
{
    executor_on_channel_freed(channel->executor);
    /* A loop of its own is kept by whoever brought us here, out of any turn, and goes with that one. */
    loop_unkeep_not_last(channel->world.loop);
    channel_watch_fini(channel);
    channel_timeouts_stop(channel);
    channel_resolve_fini(channel);
    subchannel_fini(&channel->subchannel);
    call_pool_leave(channel->pool);
    mem_release(channel->allocator, channel->reason_there);
    mem_release(channel->allocator, channel->texts);
    lull_credentials_unref(channel->options.credentials);
    mem_release(channel->allocator, channel);
}

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    channel_free(container_of(task, struct lull_channel, dead));
}

static void free_if_gone(struct lull_channel *channel)
{
    if (channel->refs != 0 || channel->holds != 0 || channel->is_dying ||
        !subchannel_is_gone(&channel->subchannel)) {
        return;
    }
    channel->is_dying = true;
    lanes_disarm_empty(executor_lanes(channel->executor));
    if (executor_is_in_turn(channel->executor)) {
        executor_post_dead(channel->executor, &channel->dead);
    } else {
        channel_free(channel);
    }
}

void channel_counts_init(struct lull_channel *channel)
{
    channel->users = 1;
    channel->refs = 1;
    lull_task_init(&channel->dead, run_dead);
}

void channel_hold(struct lull_channel *channel)
{
    channel->holds++;
}

void channel_release(struct lull_channel *channel)
{
    LULL_INVARIANT(channel->holds > 0, "a hold on a channel was given back twice");
    channel->holds--;
    free_if_gone(channel);
}

/* ---- connectivity */

/* Copies `why`, cut to what there is room for. */
static void set_reason(struct lull_channel *channel, const char *why)
{
    const struct lull_allocator *allocator = channel->allocator;
    size_t len = strlen(why);
    char *there = NULL;
    struct strbuf sb;
    if (len >= CHANNEL_REASON_BYTES) {
        len = CHANNEL_REASON_BYTES - 1;
    }
    if (len >= sizeof(channel->reason_here)) {
        there = mem_alloc(allocator, len + 1);
        channel->counters->allocations += there != NULL;
    }
    if (there != NULL) {
        strbuf_init(&sb, there, len + 1);
    } else {
        strbuf_init(&sb, channel->reason_here, sizeof(channel->reason_here));
    }
    strbuf_add(&sb, why);
    mem_release(allocator, channel->reason_there);
    channel->reason_there = there;
    channel->reason = there != NULL ? there : channel->reason_here;
}

void channel_set_state(struct lull_channel *channel, enum lull_state state, const char *why)
{
    if (channel->state == state) {
        return;
    }
    set_reason(channel, why);
    TRACE(&channel->trace, LULL_EVENT_STATE, 0, "%s -> %s: %s",
          lull_state_name((int)channel->state), lull_state_name((int)state), why);
    channel->state = state;
    channel->state_at = lull_executor_now(channel->executor);
    channel_watch_on_state(channel);
}

static struct lull_channel *channel_of(struct subchannel *subchannel)
{
    return container_of(subchannel, struct lull_channel, subchannel);
}

/*
 * The channel's state from its subchannel's phase. TRANSIENT_FAILURE is sticky (gRFC A62): the attempts that follow do
 * not show until one succeeds, so that calls which do not want to wait fail at once while the server is away.
 */
static void on_phase(struct subchannel *subchannel, const char *why)
{
    struct lull_channel *channel = channel_of(subchannel);
    switch (subchannel->phase) {
    case SUBCHANNEL_IDLE:
        if (channel->state == LULL_STATE_READY) {
            channel_resolve_refresh(channel);
        }
        channel_set_state(channel, LULL_STATE_IDLE, why);
        break;
    case SUBCHANNEL_SPACING:
    case SUBCHANNEL_DIALLING:
    case SUBCHANNEL_GREETING:
        if (channel->state != LULL_STATE_TRANSIENT_FAILURE) {
            channel_set_state(channel, LULL_STATE_CONNECTING, why);
        }
        break;
    case SUBCHANNEL_READY:
        channel->is_wanted = false;
        channel_resolve_on_ready(channel);
        channel_set_state(channel, LULL_STATE_READY, why);
        break;
    case SUBCHANNEL_BACKOFF:
        channel->is_wanted = false;
        channel_set_state(channel, LULL_STATE_TRANSIENT_FAILURE, why);
        break;
    case SUBCHANNEL_CLOSED:
        break;
    }
    channel_queue_on_phase(channel);
}

static void on_attempt_failed(struct subchannel *subchannel)
{
    if (channel_of(subchannel)->fd.is_given) {
        channel_fd_on_gone(channel_of(subchannel));
        return;
    }
    channel_queue_on_attempt_failed(channel_of(subchannel));
    channel_resolve_refresh(channel_of(subchannel));
}

static void on_capacity(struct subchannel *subchannel)
{
    struct lull_channel *channel = channel_of(subchannel);
    if (!list_is_empty(&channel->queue)) {
        channel_post_pump(channel);
    }
}

static bool is_wanted(struct subchannel *subchannel)
{
    const struct lull_channel *channel = channel_of(subchannel);
    return channel->is_wanted || !list_is_empty(&channel->queue);
}

static void on_connection_gone(struct subchannel *subchannel)
{
    struct lull_channel *channel = channel_of(subchannel);
    channel_idle_on_connection_gone(channel);
    channel_fd_on_gone(channel);
    free_if_gone(channel);
}

static const struct subchannel_ops subchannel_ops = {
    .on_phase = on_phase,
    .on_attempt_failed = on_attempt_failed,
    .on_capacity = on_capacity,
    .is_wanted = is_wanted,
    .on_connection_gone = on_connection_gone,
};

const struct subchannel_ops *channel_subchannel_ops(void)
{
    return &subchannel_ops;
}

/* ---- its end */

/* The application's close reaches calls even behind another one: those that are over and keep messages for a reader that is paused. */
void channel_close_because(struct lull_channel *channel, const struct call_outcome *outcome)
{
    const bool was_closed = channel_is_closed(channel);
    if (!was_closed) {
        channel->closed_for = outcome->reason;
        channel_set_state(channel, LULL_STATE_SHUTDOWN, outcome->what);
    }
    LIST_FOR_EACH_SAFE(node, after, &channel->calls)
    {
        call_end(LIST_ENTRY(node, struct lull_call, in_calls), outcome);
    }
    if (was_closed) {
        return;
    }
    channel_queue_stop(channel);
    channel_idle_stop(channel);
    channel_resolve_stop(channel);
    subchannel_close(&channel->subchannel);
    channel_fd_stop(channel);
    lanes_disarm_empty(executor_lanes(channel->executor)); /* RULINGS 3: hard */
}

void channel_close(struct lull_channel *channel)
{
    const struct call_outcome outcome = {
        .code = LULL_CODE_UNAVAILABLE,
        .reason = LULL_REASON_CHANNEL_CLOSED,
        .what = "channel closed",
        .http2_error = -1,
    };
    channel_close_because(channel, &outcome);
}

void channel_end(struct lull_channel *channel)
{
    channel->refs = 0;
    free_if_gone(channel);
}

/* ---- orders, in context */

void channel_connect(struct lull_channel *channel)
{
    if (channel->state == LULL_STATE_IDLE) {
        channel->is_wanted = true;
        channel_idle_on_connect_asked(channel);
        channel_resolve_connect(channel);
    }
}

void channel_reset_backoff(struct lull_channel *channel)
{
    if (channel->state == LULL_STATE_TRANSIENT_FAILURE) {
        subchannel_reset_backoff(&channel->subchannel);
        channel_resolve_reset_backoff(channel);
    }
}

/* ---- asking it */

const struct lull_channel_options *
lull_channel_effective_options(const struct lull_channel *channel)
{
    return &channel->options;
}

struct lull_loop *lull_channel_loop(const struct lull_channel *channel)
{
    return channel->world.loop;
}

const char *lull_channel_target(const struct lull_channel *channel)
{
    return channel->target;
}
