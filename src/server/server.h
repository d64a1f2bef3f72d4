/* SPDX-License-Identifier: MIT */
/*
 * A server: its methods, listeners and connections, and when it goes.
 *
 * Decides: what lives until when. Called by the public API (lull/server.h), by listeners, connections and calls. Must not know frames or
 * file descriptors. In context, unless it says otherwise.
 *
 * Holds: one for each connection and each call. The memory goes in a turn's free phase when the application has freed the server and the
 * last hold was given back.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "channel/trace.h"
#include "lull/executor.h"
#include "lull/recycler.h"
#include "lull/server.h"
#include "lull/world.h"

struct endpoint;
struct server_conn;

/* A method and who is told of its calls. */
struct server_method {
    struct list_node in_methods;
    struct lull_server_handler handler;
    void *ctx;
    char name[]; /* "": all that have no other */
};

struct lull_server {
    struct lull_server_options options; /* in force */
    struct lull_world world;
    struct lull_random_seeded seeded;
    struct lull_executor *executor;
    const struct lull_allocator *allocator;
    struct lull_counters *counters;
    struct trace trace;
    struct lull_server_stats stats;

    struct list_node methods;
    struct list_node listeners; /* in the order of lull_server_listen */
    struct list_node conns;
    struct lull_recycler *call_store; /* struct lull_server_call */
    struct lull_recycler *held_store; /* messages that wait to be told */

    unsigned holds;
    bool is_shut_down;
    bool is_closed;
    bool is_silent;
    bool is_freed; /* by the application */
    bool is_dying;
    int64_t grace_ns; /* of the shutdown */
    lull_server_drained_fn drained;
    void *drained_ctx;
    struct lull_task drained_task;
    struct lull_task dead;
};

void server_hold(struct lull_server *server);
void server_release(struct lull_server *server);

/* Serves a connection that was accepted [own]; what cannot be served is closed. Also for simulated worlds. */
void server_accept(struct lull_server *server, struct endpoint *endpoint);

/* Who is told of the method's calls; NULL: nobody. */
const struct server_method *server_find_method(const struct lull_server *server, const char *name);

/* A connection has left the list. */
void server_on_conn_gone(struct lull_server *server);

#endif
