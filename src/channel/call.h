/* SPDX-License-Identifier: MIT */
/*
 * One RPC from its creation to the return of `on_closed`. A unary call is the same with a handler of ours that collects
 * (call_unary.c).
 *
 * Decides: when a call is over, that exactly one `on_closed` comes, and who keeps the object until when. Called by the
 * public API (lull/call.h), by the queue and by the facts of its stream. Must not know frames or sockets. In context,
 * unless it says otherwise.
 *
 * Everything the application is told comes from one task, `work_task`: what was recorded is judged, headers and messages are
 * told in order, the end last. References: the library's, from creation until `on_closed` has returned and the stream is
 * closed; one for a command that is in the inbox; the application's. The last one frees in the turn's free phase.
 */
#ifndef CHANNEL_CALL_H
#define CHANNEL_CALL_H

#include <stdatomic.h>

#include "base/list.h"
#include "channel/call_arena.h"
#include "channel/call_outside.h"
#include "channel/call_receive.h"
#include "channel/call_send.h"
#include "channel/call_timeouts.h"
#include "channel/channel.h"
#include "channel/response.h"
#include "h2/stream.h"
#include "lull/call.h"

/* A call that was never sent may go elsewhere unseen so many times. */
#define CALL_RETRIES_MAX 1000

enum call_stage {
    CALL_NEW,     /* created; its start is posted or in the inbox */
    CALL_WAITING, /* in the channel's queue */
    CALL_OPEN,    /* on a stream */
    CALL_OVER /* it has its status; `on_closed` waits for messages before it, is posted, or has been called */
};

/* Commands from outside the turn, in lull_call.commands. */
#define CALL_COMMAND_START      1u
#define CALL_COMMAND_CANCEL     2u
#define CALL_COMMAND_SEND       4u /* what waits goes to the stream */
#define CALL_COMMAND_WORK       8u /* work_task has something to do */
#define CALL_COMMAND_HALF_CLOSE 16u
#define CALL_COMMAND_WRITABLE   32u /* somebody was told to wait */
#define CALL_COMMAND_PAUSE      64u
#define CALL_COMMAND_RESUME     128u

/* What is looked at together stands together: a hundred calls at once are more than the first cache holds. */
struct lull_call {
    /* each made by its own init, or before it is first read */
    struct h2_stream stream;
    struct lull_call_handler handler; /* the application's side */
    struct call_sending sending;
    struct call_receiving receiving;
    struct call_timeouts timeouts;
    struct lull_task dead;
    struct lull_task command_task; /* runs `commands` */
    struct lull_task work_task;    /* judges what came, tells the application */

    /* zeros at first, from here to `response` */
    struct lull_channel *channel;
    struct call_arena *arena;
    struct connection *connection; /* while the stream is open */
    enum call_stage stage;
    enum lull_phase phase; /* atomic where call_phase_seen may look */
    struct lull_instant phase_at;
    atomic_uint commands;
    atomic_uint refs;     /* any thread */
    atomic_bool is_taken; /* of a call that blocks: its end is written down, or will not be */
    bool wait_for_ready;
    bool is_unary;
    bool is_stream_open;
    bool has_stream_ref; /* the library's reference is the stream's now: work_task gives it back once that is closed */
    bool
        is_sent; /* what the response can answer: all of the request, or, while it goes on, its HEADERS */
    bool was_refused;  /* it was replayed after a refusal: once a call */
    bool has_goaway;   /* the last connection's, for the text */
    bool is_delivered; /* on_closed was called */
    int64_t phase_ns[LULL_PHASE_COUNT];
    struct lull_instant created_at;
    struct list_node in_calls;
    struct list_node in_queue;
    uint64_t id;
    uint64_t stream_closed_turn; /* the stream's memory is h2's until the end of this turn */
    uint64_t bytes_read_at_sent; /* the connection's count when the request was out */
    uint64_t bytes_read;         /* since then, taken when the stream ended */
    uint32_t max_recv_message_bytes;
    uint32_t attempts_before; /* the subchannel's count when the call began to wait for it */
    uint32_t attempts;        /* that the call waited for before it got a stream */
    uint32_t retries;         /* unseen ones */
    struct lull_slice message; /* unary: the response's first one */
    lull_unary_fn done;        /* unary */
    void *ctx;
    struct lull_status status;
    struct call_outside outside;

    struct response response; /* its texts, which few calls have, are the last bytes */
};

/* How a call ends. Texts are borrowed for call_end. */
struct call_outcome {
    enum lull_code code;
    enum lull_reason reason;
    const char *what; /* [nullable] see failure_facts */
    int sys_errno;
    int64_t http2_error; /* -1: none */
    bool is_servers;     /* the message is the server's, in the arena */
    bool is_peers; /* the peer made this end: messages that came before it are told before it */
};

/*
 * Ends the call: it leaves its lane and its queue, a stream that is open is reset, on_closed is posted. The first time
 * counts. After an end of the peer's that still waits for its messages to be told, an end of ours drops the messages; the status
 * stays (RULINGS 19).
 */
void call_end(struct lull_call *call, const struct call_outcome *outcome);

/* UNAVAILABLE for want of a connection, with the last attempt's failure. */
void call_end_unconnected(struct lull_call *call);

/* Accounts for the time since the last phase began. */
void call_set_phase(struct lull_call *call, enum lull_phase phase);

/* The phase as whoever drives left it. Any thread that holds the call. */
static inline enum lull_phase call_phase_seen(const struct lull_call *call)
{
    return __atomic_load_n(&call->phase, __ATOMIC_RELAXED);
}

/* Counts attempts from now on, with the one that is under way and the one whose failure stands. */
void call_count_attempts(struct lull_call *call);

/* The part of a call's making that is call.c's. */
void call_set_up_tasks(struct lull_call *call);

/* Any thread; the last drop frees, in context. */
void call_hold(struct lull_call *call);
void call_drop(struct lull_call *call);

#endif
