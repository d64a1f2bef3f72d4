/* SPDX-License-Identifier: MIT */
/*
 * One RPC that came in, from its HEADERS to the return of on_closed.
 *
 * Decides: when it is over and why, what is told in which order, and that exactly one on_closed comes. Called by the public API
 * (lull/server.h), by server_conn.c and by the facts of its stream. Must not know frames or sockets. In context, unless it says
 * otherwise.
 *
 * References: the library's, from the HEADERS until on_closed has returned; the stream's, while it is open; the application's. The
 * last one frees in the turn's free phase.
 */
#ifndef SERVER_SERVER_CALL_H
#define SERVER_SERVER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/metadata.h"
#include "exec/lane.h"
#include "h2/stream.h"
#include "lull/server.h"

struct h2_incoming;
struct server_conn;
struct server_method;

/* A message that waits to be told. */
struct server_held {
    struct list_node link;
    struct h2_run run;
};

struct lull_server_call {
    struct h2_stream stream;
    struct server_conn *conn; /* holds one of its references */
    struct lull_server *server;
    struct list_node in_calls;          /* of the connection, while the stream is open */
    const struct server_method *method; /* NULL: nobody's */
    void *ctx;
    uint64_t id;
    char *name; /* the method's, then the authority, NUL-terminated both, in one block */
    const char *authority;
    struct metadata_list metadata;
    struct lane_entry deadline;
    struct lull_instant deadline_at;
    struct list_node held; /* messages that came and were not told */
    struct lull_task work; /* tells what is to be told */
    struct lull_task dead;
    unsigned refs;
    /* what came */
    bool is_half_closed;
    bool is_stream_open;
    bool has_stream_ref; /* given back by `work` once the stream is closed */
    /* what was told */
    bool is_told;
    bool is_half_closed_told;
    bool is_closed_told;
    /* what the application said */
    bool is_paused;
    bool has_responded;
    bool is_finishing;
    bool wants_room; /* it was told LULL_RC_AGAIN */
    bool has_room;   /* and on_writable is owed */
    /* the end */
    bool is_over;
    enum lull_server_end end;
    char why[160];
};

/* A call for a request, with its stream set up; NULL: no memory, or the server takes no more. From h2's on_stream op. */
struct lull_server_call *server_call_new(struct server_conn *conn,
                                         const struct h2_incoming *incoming);

/*
 * Ends it: its deadline is left, a stream that is open is reset, or at the deadline ended with its status if no message is half out,
 * on_closed is posted. Once; then nothing. Also from an op, LULL_SERVER_END_DEADLINE not.
 */
void server_call_end(struct lull_server_call *call, enum lull_server_end end, const char *why);

void server_call_hold(struct lull_server_call *call);
void server_call_drop(struct lull_server_call *call);

/* ---- server_call_stream.c: the facts of the stream */

/* What the stream's owner is told of it. */
extern const struct h2_stream_ops server_call_stream_ops;

/* Takes the first of the messages that wait, which there is; lets go of all. */
struct lull_slice server_call_take_held(struct lull_server_call *call);
void server_call_drop_held(struct lull_server_call *call);

#endif
