/* SPDX-License-Identifier: MIT */
/*
 * Falling idle and waking. See channel_idle.h.
 *
 * A call costs no timer-queue work: its start leaves the timer alone, which then finds the call when it fires, and its end is one
 * store, since it moves the deadline out (grpc-java #4297). With every call counted from its creation on one executor, a
 * call and the entering of idle mode are never half-way at once: either the call was counted, and the timer finds it, or the
 * channel is in idle mode and the call wakes it. So nothing lingers.
 */
#include "channel/channel_idle.h"

#include "base/container.h"
#include "base/strbuf.h"
#include "channel/channel.h"
#include "channel/channel_resolve.h"
#include "exec/executor.h"
#include "exec/lane.h"

#define WHY_BYTES 80

/* Memory that was kept for the next call goes back; in the free phase, where nobody holds a scratch buffer. */
static void run_trim(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, trim);
    channel->is_trim_held = false;
    if (lull_idle_is_idle(&channel->idle)) {
        call_pool_trim(channel->pool);
        executor_trim(executor);
    }
    channel_release(channel);
}

/* Behind what this turn frees, which is trimmed with the rest. */
static void trim_later(struct lull_channel *channel)
{
    if (channel->is_trim_held) {
        (void)lull_executor_unpost(channel->executor, &channel->trim);
    } else {
        channel->is_trim_held = true;
        channel_hold(channel);
    }
    executor_post_dead(channel->executor, &channel->trim);
}

/* What a channel in idle mode does not hold: timers that are only left to die, and memory for the next call. */
static void give_back(struct lull_channel *channel)
{
    lanes_disarm_empty(executor_lanes(channel->executor));
    trim_later(channel);
}

/* A call or a connection that outlived the entering of idle mode is over. */
static void give_back_if_last(struct lull_channel *channel)
{
    if (!channel_is_closed(channel) && lull_idle_is_idle(&channel->idle) &&
        lull_idle_calls(&channel->idle) == 0) {
        give_back(channel);
    }
}

/* A call waits, and is counted: its end sets the timer. */
static void wake_up(struct lull_channel *channel)
{
    (void)lull_idle_on_woken(&channel->idle, lull_executor_now(channel->executor));
}

/* `idle` has entered idle mode; what that means for the rest. */
static void fall_idle(struct lull_channel *channel, const char *why)
{
    lull_rescheduler_disarm(&channel->idle_wake);
    channel->is_wanted = false;
    channel_set_state(channel, LULL_STATE_IDLE, why);
    subchannel_fall_idle(&channel->subchannel, why);
    channel_resolve_fall_idle(channel);
    give_back(channel);
    if (channel->waiting_calls == 0) {
        return;
    }
    /* An order from outside, and calls that wait: out again at once. Those whose start is still on its way dial when it comes. */
    wake_up(channel);
    if (!list_is_empty(&channel->queue)) {
        channel_resolve_connect(channel);
    }
}

static void expired(struct lull_rescheduler *wake, struct lull_instant now)
{
    struct lull_channel *channel = container_of(wake, struct lull_channel, idle_wake);
    struct lull_idle_step step = lull_idle_on_timer(&channel->idle, now);
    if (step.action != LULL_IDLE_ENTER) {
        lull_rescheduler_set(wake, step.next_at);
        return;
    }
    char why[WHY_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, why, sizeof(why));
    strbuf_add(&sb, "idle: no call for ");
    strbuf_duration(&sb, lull_idle_timeout_ns(&channel->idle));
    fall_idle(channel, why);
}

int channel_idle_init(struct lull_channel *channel)
{
    const struct lull_channel_options *options = &channel->options;
    lull_idle_init(&channel->idle, options->idle_timeout_ns, options->allow_short_timers);
    lull_task_init(&channel->trim, run_trim);
    return lull_rescheduler_init(&channel->idle_wake, channel->executor, expired);
}

void channel_idle_stop(struct lull_channel *channel)
{
    lull_rescheduler_fini(&channel->idle_wake);
}

void channel_idle_on_call_started(struct lull_channel *channel)
{
    /* To WAKE is to dial, and that is the queue's: a call that is cancelled before its start must not dial. */
    (void)lull_idle_on_call_started(&channel->idle);
}

void channel_idle_on_call_ended(struct lull_channel *channel, struct lull_instant ended_at)
{
    struct lull_idle_step step = lull_idle_on_call_ended(&channel->idle, ended_at);
    if (channel_is_closed(channel)) {
        return;
    }
    lull_rescheduler_set(&channel->idle_wake, step.next_at);
    if (step.next_at.ns == LULL_NEVER) {
        give_back_if_last(channel);
    }
}

void channel_idle_on_call_waits(struct lull_channel *channel)
{
    wake_up(channel);
    channel_resolve_connect(channel);
}

void channel_idle_on_connection_gone(struct lull_channel *channel)
{
    give_back_if_last(channel);
}

void channel_idle_on_connect_asked(struct lull_channel *channel)
{
    struct lull_idle_step step =
        lull_idle_on_woken(&channel->idle, lull_executor_now(channel->executor));
    lull_rescheduler_set(&channel->idle_wake, step.next_at);
}

void channel_enter_idle(struct lull_channel *channel)
{
    /* One that cannot dial would not wake again. */
    if (!channel_is_closed(channel) && !lull_idle_is_idle(&channel->idle) && !channel->fd.is_given) {
        (void)lull_idle_on_entered_idle(&channel->idle);
        fall_idle(channel, "idle: the application asked for it");
    }
}
