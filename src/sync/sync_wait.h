/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits for a call, and drives meanwhile if nobody else does.
 *
 * Decides: who may block on a loop, when the caller polls, when it sleeps, and when it leaves. Called by the blocking calls. Must not
 * know what they wait for.
 *
 * On a loop of ours the caller takes the turn for a quiet one, so that what it asked for is on the wire before it sleeps, whoever
 * polls. A host's loop belongs to its thread: that thread runs rounds of it, others wait for it.
 */
#ifndef SYNC_SYNC_WAIT_H
#define SYNC_SYNC_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/roles.h"
#include "lull/channel.h"

struct lull_error;
struct lull_loop;

/* On the caller's stack. */
struct sync_wait {
    struct role_waiter waiter;
    struct lull_executor *executor;
    struct lull_loop *loop;
    uintptr_t thread;
    bool is_open; /* a loop that may be visited */
    bool polls;
};

/* LULL_OK, or why this thread cannot block on the channel's loop. */
int sync_wait_init(struct sync_wait *wait, struct lull_channel *channel, struct lull_error *error);
void sync_wait_fini(struct sync_wait *wait);

/* Between these two the caller asks for what it will wait for: in context where that is possible. After `go` sync_wait_run has to
 * follow; sync_wait_stay is for a caller that will not wait after all. */
void sync_wait_ask(struct sync_wait *wait);
void sync_wait_go(struct sync_wait *wait);
void sync_wait_stay(struct sync_wait *wait);

/* As sync_wait_stay, and what was asked for is on the wire. */
void sync_wait_flush(struct sync_wait *wait);

/* Waits for sync_wait_tell. LULL_OK, or LULL_RC_SYSTEM: the loop could not be run, and it was not told. */
int sync_wait_run(struct sync_wait *wait);

/* It has happened; the waiter may be gone when this returns. In a turn. */
void sync_wait_tell(struct sync_wait *wait);

/* After LULL_RC_SYSTEM: a turn without a poll, which may tell; or a waiter that nobody will tell gives up. */
void sync_wait_turn(struct sync_wait *wait);
void sync_wait_give_up(struct sync_wait *wait);

#endif
