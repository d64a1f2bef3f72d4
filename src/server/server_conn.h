/* SPDX-License-Identifier: MIT */
/*
 * One connection of a server.
 *
 * Decides: nothing but who is told what: facts of the transport go to the calls and to server_age.h. Called by server.c and by h2/'s ops.
 * Must not know methods, frames or timers. In context.
 *
 * References: the transport's, until its on_closed; one for each call.
 */
#ifndef SERVER_SERVER_CONN_H
#define SERVER_SERVER_CONN_H

#include <stdbool.h>

#include "base/list.h"
#include "h2/serving.h"
#include "net/addr.h"
#include "server/server_age.h"

struct lull_server;

struct server_conn {
    struct lull_server *server;
    struct h2_transport *transport; /* NULL once it is over */
    struct list_node in_conns;
    struct list_node calls; /* whose stream is open */
    unsigned refs;
    bool says_goaway; /* the client has said that it goes */
    struct server_age age;
    struct lull_task dead;
    char peer[ADDR_TEXT_BYTES];
};

/* Takes a connected endpoint [own] on LULL_OK and puts the connection into its server's list. LULL_OK, LULL_RC_NOMEM, LULL_RC_SYSTEM. */
int server_conn_open(struct lull_server *server, struct endpoint *endpoint);

/* Ends it at once. Not from an op. */
void server_conn_close(struct server_conn *conn, const char *why);

/* A call took it, gave it back. */
void server_conn_hold(struct server_conn *conn);
void server_conn_drop(struct server_conn *conn);

#endif
