/* SPDX-License-Identifier: MIT */
#include "channel/channel_fd.h"

#include "base/container.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/channel.h"
#include "exec/executor.h"
#include "net/target.h"

/* Whose host a TLS server must prove to be unless the options say it: of what is behind a descriptor nobody knows the name. */
#define AUTHORITY "localhost"

int channel_fd_target(int fd, struct target *out, struct lull_error *error)
{
    struct strbuf sb;
    int rc = dial_fd_check(fd, &out->addrs[0], error);
    if (rc != LULL_OK) {
        return rc;
    }
    out->addr_count = 1;
    out->port = 0;
    out->server.len = 0;
    strbuf_init(&sb, out->host, sizeof(out->host));
    strbuf_add(&sb, AUTHORITY);
    strbuf_init(&sb, out->authority, sizeof(out->authority));
    strbuf_add(&sb, AUTHORITY);
    return LULL_OK;
}

/* What there is to say to those who want a connection. Why is what the channel's state tells of it. */
static void outcome_of(const struct lull_channel *channel, const char *what_of_it, char *text, size_t size,
                       struct call_outcome *outcome)
{
    const struct subchannel *sub = &channel->subchannel;
    struct strbuf sb;
    strbuf_init(&sb, text, size);
    strbuf_printf(&sb, "the connection given as %s %s and there is none to dial: %s", sub->addresses[0].addr.text,
                  what_of_it, channel->reason);
    *outcome = (struct call_outcome){
        .code = LULL_CODE_UNAVAILABLE,
        .reason = subchannel_last_failure(sub)->is_tls ? LULL_REASON_TLS : LULL_REASON_CONNECT,
        .what = text,
        .sys_errno = subchannel_last_failure(sub)->sys_errno,
        .http2_error = -1,
        /* What a call has got already is told, however long its reader takes. */
        .is_peers = true,
    };
}

static void run_gone(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_channel *channel = container_of(task, struct lull_channel, fd.gone);
    (void)executor;
    channel->fd.is_gone_held = false;
    if (!channel_is_closed(channel)) {
        char text[CHANNEL_REASON_BYTES];
        struct call_outcome outcome;
        outcome_of(channel, "is gone", text, sizeof(text), &outcome);
        channel_close_because(channel, &outcome);
    }
    channel_release(channel);
}

void channel_fd_set_up(struct lull_channel *channel)
{
    dialer_fd_init(&channel->fd.dialer);
    lull_task_init(&channel->fd.gone, run_gone);
    channel->world.dial = &channel->fd.dialer.base;
}

void channel_fd_take(struct lull_channel *channel, int fd)
{
    bool had_to_enter = executor_enter(channel->executor);
    dialer_fd_take(&channel->fd.dialer, channel->executor, fd);
    executor_leave(channel->executor, had_to_enter);
}

void channel_fd_stop(struct lull_channel *channel)
{
    if (channel->fd.is_given) {
        dialer_fd_drop(&channel->fd.dialer, channel->executor);
    }
}

bool channel_fd_has_refused(struct lull_channel *channel)
{
    char text[CHANNEL_REASON_BYTES];
    struct call_outcome outcome;
    if (!channel->fd.is_given || channel->fd.dialer.fd >= 0 || channel->subchannel.phase != SUBCHANNEL_IDLE) {
        return false;
    }
    outcome_of(channel, "takes no more calls", text, sizeof(text), &outcome);
    LIST_FOR_EACH_SAFE(node, after, &channel->queue)
    {
        call_end(LIST_ENTRY(node, struct lull_call, in_queue), &outcome);
    }
    return true;
}

void channel_fd_on_gone(struct lull_channel *channel)
{
    if (channel->fd.is_given && !channel->fd.is_gone_held && !channel_is_closed(channel)) {
        channel->fd.is_gone_held = true;
        channel_hold(channel);
        lull_executor_post(channel->executor, &channel->fd.gone);
    }
}
