/* SPDX-License-Identifier: MIT */
/*
 * A channel: its connectivity, its calls, and the queue of those that wait for a stream.
 *
 * Decides: what a call meets that finds no connection (it waits, or it fails), in which order waiting calls get
 * streams, and when everything may be freed. Called by the public API (lull/channel.h) and by the files of a call.
 * Must not know frames or how a response reads. In context, unless it says otherwise.
 *
 * Two counts keep a channel: `refs`, the application's and one for each call that is not over, which end in closing it;
 * and `holds`, whatever still points here (call objects, posted tasks), which end in freeing it.
 */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include <stdatomic.h>

#include "base/list.h"
#include "channel/call_pool.h"
#include "channel/channel_fd.h"
#include "channel/subchannel.h"
#include "channel/trace.h"
#include "exec/refusal.h"
#include "lull/channel.h"
#include "lull/idle.h"
#include "lull/keepalive.h"
#include "lull/recycler.h"

struct call_outcome;
struct channel_resolve;
struct lull_call;

#define CHANNEL_REASON_BYTES SUBCHANNEL_REASON_BYTES

/* A reason as short as an address, or as idle mode's, has its place in the channel. */
#define CHANNEL_REASON_HERE_BYTES 40

struct lull_channel {
    struct lull_channel_options options; /* in force */
    struct lull_world world;             /* resolved */
    struct lull_executor *executor;
    const struct lull_allocator *allocator;
    struct lull_counters *counters;
    struct lull_random_seeded seeded; /* when the world has no chance of its own */
    struct trace trace;
    struct dialer_hooked hooked; /* with on_socket: what world.dial then is */
    struct channel_fd fd;        /* of lull_channel_from_fd: what world.dial then is */
    struct dialer_tls tls;       /* with credentials: dials by world.dial */
    char *texts; /* the block of the next three */
    const char *target;
    const char *authority;
    const char *user_agent;

    struct subchannel subchannel;
    struct channel_resolve *resolve; /* channel_resolve.c; NULL: the target is no name */
    _Atomic(enum lull_state) state; /* written in context */
    bool is_wanted; /* the application asked for a connection, and has neither got it nor a failure */
    bool is_trim_held;
    bool is_tell_held;
    struct lull_instant state_at;      /* since when; the channel's birth at first */
    const char *reason; /* of the last transition */
    char reason_here[CHANNEL_REASON_HERE_BYTES];
    char *reason_there; /* one that is longer, as of failures; else NULL */

    /* channel_idle.c */
    struct lull_idle idle;             /* which counts the calls */
    struct lull_rescheduler idle_wake; /* the one timer of idle mode */
    struct lull_task trim;

    struct lull_keepalive_interval keepalive_interval; /* outlives connections and idle mode */

    /* channel_watch.c */
    struct list_node watches;
    struct lull_task tell_watches;
    uint64_t last_watch;

    struct refusal_watch refusal; /* call_timeouts.c's */

    struct list_node calls; /* those whose end has not been told, in the order of their ids */
    struct list_node queue; /* of these, the ones without a stream */
    bool is_queue_unsorted; /* calls came back to it that are older than others in it */
    _Atomic(uint32_t) waiting_calls; /* created, without a stream and not over: what max_queued_calls limits; written in context */
    _Atomic(uint32_t) starting_calls; /* started outside the context, and not known in it yet; any thread */
    _Atomic(uint64_t) last_call_id;   /* any thread */
    struct call_pool *pool;         /* the executor's; the next two are in it */
    struct lull_recycler *recycler; /* of calls */
    struct call_arenas *arenas;
    size_t replay_bytes; /* what all calls together keep to send again */

    struct lull_task pump;      /* streams for those that wait */
    struct lull_task next_turn; /* in the free phase: pump once more in the next turn */
    struct lull_task dead;
    bool is_pump_held; /* pump or next_turn are posted, each with a hold */
    bool is_next_turn_held;
    struct lull_task command_task; /* channel_outside.c; in the inbox it has a reference */
    atomic_uint commands;          /* any thread */
    _Atomic(unsigned) users;       /* references of the application's, which are in `refs` too; any thread */
    _Atomic(unsigned) refs;        /* and those of calls and orders; any thread */
    unsigned holds;
    bool is_dying; /* `dead` was posted */
    enum lull_reason closed_for; /* once it is closed: what calls fail for */
};

/* For channel_make.c: one reference, the application's; and what is left of a channel that was not made whole. */
void channel_counts_init(struct lull_channel *channel);
void channel_free(struct lull_channel *channel);
const struct subchannel_ops *channel_subchannel_ops(void);

void channel_hold(struct lull_channel *channel);
void channel_release(struct lull_channel *channel);

/* In context; nghttp2 may be on the stack. `why` is copied. */
void channel_set_state(struct lull_channel *channel, enum lull_state state, const char *why);

static inline bool channel_is_closed(const struct lull_channel *channel)
{
    return channel->state == LULL_STATE_SHUTDOWN;
}

/* One more or one less of waiting_calls: there is one writer at a time, and the readers elsewhere take any recent value. In context. */
static inline void channel_count_waiting(struct lull_channel *channel, int by)
{
    uint32_t waiting = atomic_load_explicit(&channel->waiting_calls, memory_order_relaxed);
    atomic_store_explicit(&channel->waiting_calls, waiting + (uint32_t)by, memory_order_relaxed);
}

/* The public orders of the same names are channel_outside.c's, which carries these out in context. The last reference is the
 * caller's of channel_end, and gone with it. */
void channel_close(struct lull_channel *channel);
void channel_close_because(struct lull_channel *channel, const struct call_outcome *outcome);
void channel_connect(struct lull_channel *channel);
void channel_enter_idle(struct lull_channel *channel);
void channel_reset_backoff(struct lull_channel *channel);
void channel_end(struct lull_channel *channel);

/* ---- channel_outside.c */

void channel_outside_init(struct lull_channel *channel);

/* References of the library's own, for calls and orders: those do not keep a channel open that has its own loop. Any thread. */
void channel_ref(struct lull_channel *channel);
void channel_unref(struct lull_channel *channel);

/* Why it is closed, once it is: nothing changes that any more. Any thread. */
const char *channel_closed_text(const struct lull_channel *channel);

/* Closed, or to be closed by an order that is on its way. Any thread. */
bool channel_is_closing(const struct lull_channel *channel);

/* ---- channel_watch.c */

void channel_watch_init(struct lull_channel *channel);

/* The channel is freed: what is still registered is forgotten. */
void channel_watch_fini(struct lull_channel *channel);

/* The state changed: who waits for that is told from a task. */
void channel_watch_on_state(struct lull_channel *channel);

/* ---- channel_queue.c */

/* The call, which is in no queue, waits for a stream, or fails at once; one that comes back takes its old place. */
void channel_enqueue(struct lull_channel *channel, struct lull_call *call);

/* Has the queue looked at in the task phase of this turn. Legal with nghttp2 on the stack. */
void channel_post_pump(struct lull_channel *channel);

/* Sets up the tasks; taken back by channel_queue_stop when the channel closes. */
void channel_queue_init(struct lull_channel *channel);
void channel_queue_stop(struct lull_channel *channel);

/* The phase of the subchannel changed, or an attempt failed: what that means for those that wait. */
void channel_queue_on_phase(struct lull_channel *channel);
void channel_queue_on_attempt_failed(struct lull_channel *channel);

/* How many calls are before this one, as the queue stands; counted no further than this, for many may ask in one turn. */
#define CHANNEL_QUEUE_COUNTED ((size_t)1000)

size_t channel_queue_before(const struct lull_channel *channel, const struct lull_call *call);

#endif
