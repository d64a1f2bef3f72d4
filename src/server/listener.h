/* SPDX-License-Identifier: MIT */
/*
 * One address that a server listens at.
 *
 * Decides: how many connections are taken at a time, and what happens when the system has no descriptor or memory left: accepting pauses
 * until a connection has closed or a second has passed, so that a full process does not spin on a socket that stays readable. Called by
 * server.c. Must not know what is done with a connection. In context.
 */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stdbool.h>

#include "base/list.h"
#include "lull/loop.h"
#include "lull/rescheduler.h"
#include "net/addr.h"

struct lull_server;

/* Taken in one turn; the rest is told again in the next. */
#define LISTENER_ACCEPTS_MAX 64

/* How long accepting pauses when no connection closes meanwhile. */
#define LISTENER_PAUSE_NS LULL_SECOND

struct listener {
    struct list_node in_listeners;
    struct lull_server *server;
    struct lull_watch watch;
    struct lull_rescheduler resume;
    struct lull_task dead;
    struct addr addr; /* where it is, with the port that the system chose */
    bool is_paused;   /* for want of something */
    bool is_silent;
    bool is_closed;
};

/*
 * Listens at an address that lull_server_listen takes and puts the listener at the end of the server's list. LULL_OK, or a code and a
 * text.
 */
int listener_open(struct lull_server *server, const char *address, struct lull_error *error);

/* Stops; a unix socket's path is removed. It stays in the list, without an address, until listener_free. */
void listener_close(struct listener *listener);

/* Closes it, takes it out of the list and frees it in the turn's free phase. */
void listener_free(struct listener *listener);

void listener_set_silent(struct listener *listener, bool is_silent);

/* A connection has closed: there may be a descriptor. */
void listener_on_room(struct listener *listener);

#endif
