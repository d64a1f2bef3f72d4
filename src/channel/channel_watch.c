/* SPDX-License-Identifier: MIT */
/*
 * Those who wait for the channel's state to change (BEHAVIOUR 2.9).
 *
 * Decides: whom a change concerns: whoever waits for a state other than his own, and finds it when the task runs. States that
 * come and go within a turn are not told. Called by channel.c. Must not know why a state changed. In context.
 */
#include <stdbool.h>

#include "base/mem.h"
#include "channel/channel.h"
#include "exec/executor.h"

struct channel_watch {
    struct list_node link;
    uint64_t number;
    enum lull_state not_this;
    lull_channel_watch_fn fn;
    void *ctx;
};

static struct channel_watch *watch_of(struct list_node *node)
{
    return LIST_ENTRY(node, struct channel_watch, link);
}

/* The first that is due and not younger than `last`; NULL: there is none. */
static struct channel_watch *find_due(struct lull_channel *channel, uint64_t last)
{
    LIST_FOR_EACH(node, &channel->watches)
    {
        struct channel_watch *watch = watch_of(node);
        if (watch->number > last) {
            return NULL;
        }
        if (watch->not_this != channel->state) {
            return watch;
        }
    }
    return NULL;
}

static void forget(struct lull_channel *channel, struct channel_watch *watch)
{
    list_remove(&watch->link);
    mem_release(channel->allocator, watch);
}

static void run_tell(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, tell_watches);
    uint64_t last = channel->last_watch;
    struct channel_watch *watch;
    channel->is_tell_held = false;
    /* From the start each time: a callback may take others back. Those it registers wait for a task of their own. */
    while ((watch = find_due(channel, last)) != NULL) {
        lull_channel_watch_fn fn = watch->fn;
        void *ctx = watch->ctx;
        forget(channel, watch);
        fn(channel, channel->state, ctx);
        executor_on_user_returned(executor);
    }
    channel_release(channel);
}

void channel_watch_init(struct lull_channel *channel)
{
    list_init(&channel->watches);
    lull_task_init(&channel->tell_watches, run_tell);
}

void channel_watch_fini(struct lull_channel *channel)
{
    LIST_FOR_EACH_SAFE(node, after, &channel->watches)
    {
        forget(channel, watch_of(node));
    }
}

void channel_watch_on_state(struct lull_channel *channel)
{
    if (!list_is_empty(&channel->watches) && !channel->is_tell_held) {
        channel->is_tell_held = true;
        channel_hold(channel);
        lull_executor_post(channel->executor, &channel->tell_watches);
    }
}

/* In context. */
static int watch(struct lull_channel *channel, enum lull_state not_this, lull_channel_watch_fn fn,
                 void *ctx)
{
    if (channel_is_closed(channel) && not_this == LULL_STATE_SHUTDOWN) {
        return LULL_RC_CLOSED;
    }
    struct channel_watch *asked = mem_zeroed(channel->allocator, sizeof(*asked));
    if (asked == NULL) {
        return LULL_RC_NOMEM;
    }
    channel->counters->allocations++;
    asked->number = ++channel->last_watch;
    asked->not_this = not_this;
    asked->fn = fn;
    asked->ctx = ctx;
    list_push_back(&channel->watches, &asked->link);
    if (not_this != channel->state) {
        channel_watch_on_state(channel);
    }
    return LULL_OK;
}

int lull_channel_watch(struct lull_channel *channel, enum lull_state not_this,
                       lull_channel_watch_fn fn, void *ctx)
{
    if (fn == NULL) {
        return LULL_RC_INVALID;
    }
    bool had_to_enter = executor_enter(channel->executor);
    int rc = watch(channel, not_this, fn, ctx);
    executor_leave(channel->executor, had_to_enter);
    return rc;
}

bool lull_channel_unwatch(struct lull_channel *channel, lull_channel_watch_fn fn, void *ctx)
{
    bool had_one = false;
    bool had_to_enter = executor_enter(channel->executor);
    LIST_FOR_EACH_SAFE(node, after, &channel->watches)
    {
        struct channel_watch *watch = watch_of(node);
        if (watch->fn == fn && watch->ctx == ctx) {
            forget(channel, watch);
            had_one = true;
        }
    }
    executor_leave(channel->executor, had_to_enter);
    return had_one;
}
