/* SPDX-License-Identifier: MIT */
/*
 * What calls leave for the next ones: one pool an executor, for all channels on it. A thousand quiet channels keep what one does.
 *
 * Decides: when the pool is made and how much of it stays. Called by channel_make.c, channel.c and channel_idle.c; calls claim from it by the
 * channel's pointers. Must not know what a call is made of. In context, or where nobody else can be.
 */
#ifndef CHANNEL_CALL_POOL_H
#define CHANNEL_CALL_POOL_H

#include "channel/call_arena.h"
#include "exec/executor.h"
#include "lull/recycler.h"

struct call_pool {
    struct executor_share share; /* its users: channels */
    struct lull_recycler *calls;
    struct call_arenas arenas;
};

/* One channel more uses the executor's pool, which the first one makes. NULL: no memory. `call_bytes`: what a call takes. */
struct call_pool *call_pool_join(struct lull_executor *executor, size_t call_bytes);

/* One less. Behind the last it is kept, but for what many calls left. NULL: nothing happens. */
void call_pool_leave(struct call_pool *pool);

/* Gives back what is kept for the next call. */
void call_pool_trim(struct call_pool *pool);

#endif
