/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits for a call, and drives meanwhile if nobody else does.
 *
 * Decides: who may block on a loop, when the caller polls, when it sleeps, and when it leaves. Called by the blocking calls. Must not
 * know what they wait for.
 *
 * On a loop of ours the caller takes the turn for a quiet one, so that what it asked for is on the wire before it sleeps, whoever
 * polls, or in the hands of a thread that runs (exec/roles.h). A host's loop belongs to its thread: that thread runs rounds of it, others wait for it.
 *
 * Whoever drives tells a waiter that its time is over. A driver may be long in coming, inside a callback that does not return, or away
 * from a host's loop; so the waiter has a time of its own, and nothing here waits for the context for longer than SYNC_WAIT_PATIENCE_NS.
 */
#ifndef SYNC_SYNC_WAIT_H
#define SYNC_SYNC_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/roles.h"
#include "lull/channel.h"

struct lull_error;
struct lull_loop;
struct lull_task;

/* How long a turn of somebody else's may take before what this thread asks for goes by the inbox. */
#define SYNC_WAIT_PATIENCE_NS (10 * LULL_MS)

/* How long behind its deadline a caller leaves it to whoever drives to say so. */
#define SYNC_WAIT_GRACE_NS (100 * LULL_MS)

enum sync_wait_end {
    SYNC_WAIT_TOLD,
    SYNC_WAIT_NO_LOOP, /* the loop could not be run, and it was not told */
    SYNC_WAIT_LATE     /* its time is over, and it was not told yet */
};

/* On the caller's stack. */
struct sync_wait {
    struct role_waiter waiter;
    struct lull_executor *executor;
    struct lull_loop *loop;
    uintptr_t thread;
    bool is_open;   /* a loop that may be visited */
    bool is_inside; /* it has the context, between `ask` and what follows */
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

/* What the caller asked for is told by this task, which calls back nobody but the caller. Between `ask` and what follows. */
void sync_wait_calls_back(struct sync_wait *wait, struct lull_task *task);

/* As sync_wait_stay, and what was asked for is on the wire. */
void sync_wait_flush(struct sync_wait *wait);

/* Waits for sync_wait_tell, or, unless it polls itself, until `until` by the channel's clock. */
enum sync_wait_end sync_wait_run(struct sync_wait *wait, struct lull_instant until);

/* Somebody is about to tell, or has told: waits for that alone, and drives nothing. */
void sync_wait_until_told(struct sync_wait *wait);

/* It has happened; the waiter may be gone when this returns. In a turn. */
void sync_wait_tell(struct sync_wait *wait);

/* This thread is the one that waits. */
bool sync_wait_is_own(const struct sync_wait *wait);

/* It has been told. */
bool sync_wait_is_told(const struct sync_wait *wait);

/* After SYNC_WAIT_NO_LOOP: a turn without a poll, which may tell. */
void sync_wait_turn(struct sync_wait *wait);

/* After SYNC_WAIT_NO_LOOP or SYNC_WAIT_LATE: a waiter that nobody will tell gives up. */
void sync_wait_give_up(struct sync_wait *wait);

#endif
