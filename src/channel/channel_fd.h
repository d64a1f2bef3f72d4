/* SPDX-License-Identifier: MIT */
/*
 * A channel over one connection that it was given (lull_channel_from_fd).
 *
 * Decides: what the end of that connection means: there is none to dial, so the channel closes behind it, and who waits is told why.
 * Called by channel_make.c, channel.c, channel_idle.c and channel_resolve.c, for every channel: one that dials is not given, and nothing
 * happens. Must not know descriptors (net/dial_fd.h). In context.
 *
 * A connection that got a GOAWAY drains: its calls go on, those that are new fail, and the close waits until it is gone.
 */
#ifndef CHANNEL_CHANNEL_FD_H
#define CHANNEL_CHANNEL_FD_H

#include "lull/executor.h"
#include "net/dial_fd.h"

struct lull_channel;
struct target;

struct channel_fd {
    struct dialer_fd dialer;
    bool is_given; /* the channel is over a descriptor; from its making on */
    bool is_gone_held;
    struct lull_task gone;
};

/* What stands in for a target that is parsed. As dial_fd_check. */
int channel_fd_target(int fd, struct target *out, struct lull_error *error);

/* The channel's dialer is one for a descriptor, which it has not got yet. */
void channel_fd_set_up(struct lull_channel *channel);

/* Now it has it [own]. */
void channel_fd_take(struct lull_channel *channel, int fd);

/* The channel closes. */
void channel_fd_stop(struct lull_channel *channel);

/* A connection is wanted. True: there is none and there will be none, and who waits for it has been told. */
bool channel_fd_has_refused(struct lull_channel *channel);

/* The attempt has failed, or the connection is gone: the channel closes, from a task. Legal with nghttp2 on the stack. */
void channel_fd_on_gone(struct lull_channel *channel);

#endif
