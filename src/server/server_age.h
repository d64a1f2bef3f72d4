/* SPDX-License-Identifier: MIT */
/*
 * How long a server's connection may live: the glue of policy/conn_age (idleness, age, drains), policy/ping_police and reset_police.h, and
 * the limit on the client's first SETTINGS; with the connection's one Rescheduler.
 *
 * Decides: when a verdict is carried out. Facts come while nghttp2 may be on the stack, so a verdict waits for a task; what a timer finds is
 * carried out at once, after a read. While the server is silent nothing is. Called by server_conn.c. Must not know calls. In context.
 */
#ifndef SERVER_SERVER_AGE_H
#define SERVER_SERVER_AGE_H

#include <stdbool.h>

#include "h2/ping.h"
#include "lull/executor.h"
#include "lull/rescheduler.h"
#include "policy/conn_age.h"
#include "policy/ping_police.h"
#include "server/reset_police.h"

struct server_conn;

/* From accept to the client's first SETTINGS (the same in all of gRPC's implementations). */
#define SERVER_AGE_GREETING_NS (120 * LULL_SECOND)

/* What is left to write when the last call is over has so long to go. */
#define SERVER_AGE_LAST_WRITE_NS (10 * LULL_SECOND)

struct server_age {
    struct conn_age age;
    struct ping_police pings;
    struct reset_police resets;
    struct lull_rescheduler wake;
    struct lull_task work;
    struct h2_ping notice;       /* is answered when the client has seen the first GOAWAY */
    struct lull_instant at_most; /* the greeting's limit, or the last write's; LULL_NEVER: none */
    const char *at_most_text;
    uint64_t answers_seen;        /* h2_transport_answers_sent at the last PING */
    enum conn_age_action ordered; /* not carried out yet */
    bool has_too_many_pings;      /* the same */
    bool has_too_many_resets;
    bool is_greeted;
    bool is_over;
};

/* The connection is there; its transport is not yet. LULL_OK or LULL_RC_NOMEM, and nothing is left to be undone. */
int server_age_init(struct server_conn *conn);

/* The transport is gone, or was not made. Later facts are ignored. */
void server_age_fini(struct server_conn *conn);

void server_age_on_greeted(struct server_conn *conn);
void server_age_on_stream_opened(struct server_conn *conn);
void server_age_on_stream_closed(struct server_conn *conn);
void server_age_on_ping(struct server_conn *conn, struct lull_instant now);
void server_age_on_reset(struct server_conn *conn, struct lull_instant now);

/* The server shuts down, and gives its calls so long. Not from an op. */
void server_age_shut_down(struct server_conn *conn, int64_t grace_ns);

/* The server is not silent any more: what was due meanwhile is looked at. */
void server_age_on_awake(struct server_conn *conn);

#endif
