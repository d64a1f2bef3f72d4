/* SPDX-License-Identifier: MIT */
/*
 * Ordering a channel about, on any thread: close it, give it back, connect, fall idle, forget the backoff.
 *
 * Decides: where an order is carried out. At once, if this thread is in context or may visit it now; else by the channel's one
 * command task, in the next turn. An order never waits for a turn that is under way: a callback in it may be waiting for us.
 * Must not know what the orders do.
 */
#include "channel/channel.h"

#include "base/container.h"
#include "base/invariant.h"
#include "exec/executor.h"
#include "exec/orphan.h"
#include "loop/loop.h"

/* Orders on their way, in lull_channel.commands. They are carried out in this order; of those that contradict each other the last one
 * given is left. */
#define COMMAND_ENTER_IDLE    1u
#define COMMAND_RESET_BACKOFF 2u
#define COMMAND_CONNECT       4u
#define COMMAND_CLOSE         8u

static void carry_out(struct lull_channel *channel, unsigned commands)
{
    if (executor_is_orphan(channel->executor)) {
        return; /* a forked child: what is open is closed with the loop */
    }
    if ((commands & COMMAND_ENTER_IDLE) != 0) {
        channel_enter_idle(channel);
    }
    if ((commands & COMMAND_RESET_BACKOFF) != 0) {
        channel_reset_backoff(channel);
    }
    if ((commands & COMMAND_CONNECT) != 0) {
        channel_connect(channel);
    }
    if ((commands & COMMAND_CLOSE) != 0) {
        channel_close(channel);
    }
}

static void run_commands(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, command_task);
    (void)executor;
    carry_out(channel, atomic_exchange_explicit(&channel->commands, 0, memory_order_acquire));
    channel_unref(channel);
}

/* By the command task, which takes over a reference that the caller has [own]. */
static void order_later(struct lull_channel *channel, unsigned command, unsigned instead_of)
{
    unsigned before = atomic_load_explicit(&channel->commands, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&channel->commands, &before,
                                                  (before & ~instead_of) | command,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    if (!lull_executor_submit(channel->executor, &channel->command_task)) {
        /* It is in the inbox, with a reference of its own: this one cannot be the last. */
        channel_unref(channel);
    }
}

/* Orders that this thread gave earlier and that are still on their way come before this one. */
static void order(struct lull_channel *channel, unsigned command, unsigned instead_of)
{
    bool had_to_enter;
    if (!executor_try_enter(channel->executor, &had_to_enter)) {
        channel_ref(channel);
        order_later(channel, command, instead_of);
        return;
    }
    unsigned earlier = 0;
    if (atomic_load_explicit(&channel->commands, memory_order_relaxed) != 0) {
        earlier = atomic_exchange_explicit(&channel->commands, 0, memory_order_acquire);
    }
    carry_out(channel, earlier & ~instead_of);
    carry_out(channel, command);
    executor_leave(channel->executor, had_to_enter);
}

void channel_outside_init(struct lull_channel *channel)
{
    atomic_init(&channel->commands, 0);
    lull_task_init(&channel->command_task, run_commands);
    executor_task_set_quiet(&channel->command_task);
}

const char *channel_closed_text(const struct lull_channel *channel)
{
    /* It is written before the state, and the state is read here as an atomic. */
    return channel_is_closed(channel) ? channel->reason : "channel closed";
}

bool channel_is_closing(const struct lull_channel *channel)
{
    return channel_is_closed(channel) ||
           (atomic_load_explicit(&channel->commands, memory_order_relaxed) & COMMAND_CLOSE) != 0;
}

/* The loop, when it is the channel's own and this thread is in no callback: nobody but this thread may be there to drive it. */
static struct lull_loop *keep_own_loop(const struct lull_channel *channel)
{
    return lull_executor_in_context(channel->executor) ? NULL : loop_keep(channel->world.loop);
}

/* In a forked child that is the end of its copies: threads that hold the channel in the parent, or keep the loop, do not do so here, and
 * never give it back. */
static void leave_own_loop(struct lull_loop *own, bool is_ending)
{
    if (is_ending) {
        loop_settle(own);
    }
    if (own != NULL && lull_loop_is_forked(own)) {
        loop_close_copies(own);
    }
    loop_unkeep(own);
}

void lull_channel_close(struct lull_channel *channel)
{
    struct lull_loop *own = keep_own_loop(channel);
    if (executor_is_kept(channel->executor)) {
        executor_set_ending(channel->executor);
    }
    order(channel, COMMAND_CLOSE, 0);
    leave_own_loop(own, true);
}

void lull_channel_enter_idle(struct lull_channel *channel)
{
    order(channel, COMMAND_ENTER_IDLE, COMMAND_CONNECT | COMMAND_RESET_BACKOFF);
}

enum lull_state lull_channel_state(struct lull_channel *channel, bool try_to_connect)
{
    enum lull_state state = channel->state;
    if (try_to_connect && state == LULL_STATE_IDLE) {
        order(channel, COMMAND_CONNECT, 0);
    }
    return state;
}

void lull_channel_reset_backoff(struct lull_channel *channel)
{
    if (channel->state == LULL_STATE_TRANSIENT_FAILURE) {
        order(channel, COMMAND_RESET_BACKOFF, 0);
    }
}

void channel_ref(struct lull_channel *channel)
{
    (void)atomic_fetch_add_explicit(&channel->refs, 1, memory_order_relaxed);
}

void lull_channel_ref(struct lull_channel *channel)
{
    if (channel != NULL) {
        (void)atomic_fetch_add_explicit(&channel->users, 1, memory_order_relaxed);
        channel_ref(channel);
    }
}

/* Gives back a reference that is not the last. */
static bool give_back(struct lull_channel *channel)
{
    unsigned refs = atomic_load_explicit(&channel->refs, memory_order_acquire);
    LULL_INVARIANT(refs > 0, "a channel was given back more often than it was taken");
    while (refs > 1) {
        if (atomic_compare_exchange_weak_explicit(&channel->refs, &refs, refs - 1,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

void channel_unref(struct lull_channel *channel)
{
    bool had_to_enter;
    if (give_back(channel)) {
        return;
    }
    struct lull_executor *executor = channel->executor;
    if (!executor_try_enter(executor, &had_to_enter)) {
        order_later(channel, COMMAND_CLOSE, 0);
        return;
    }
    /* The last reference is kept until all is closed, so that nothing of it frees the channel too early. */
    if (!executor_is_orphan(executor)) {
        channel_close(channel);
        channel_end(channel);
    }
    executor_leave(executor, had_to_enter);
}

void lull_channel_unref(struct lull_channel *channel)
{
    if (channel == NULL) {
        return;
    }
    struct lull_loop *own = keep_own_loop(channel);
    bool is_last = atomic_fetch_sub_explicit(&channel->users, 1, memory_order_acq_rel) == 1;
    if (is_last && executor_is_kept(channel->executor)) {
        /* Who could drive it is gone: the calls that are left cannot go on. */
        executor_set_ending(channel->executor);
        order(channel, COMMAND_CLOSE, 0);
    }
    channel_unref(channel);
    leave_own_loop(own, own != NULL && executor_is_ending(own->executor));
}
