/* SPDX-License-Identifier: MIT */
/*
 * Keepalive and the write timeout of one transport: lull/keepalive.h's arithmetic on one Rescheduler.
 *
 * Decides: when this transport's timer stands, and what is done when it expires: read, then ask the policy (a PING, the end), or take
 * the write timeout back. The other files report facts and touch no timer. With keepalive off there is no PING and, on an endpoint that
 * needs no taking back, no timer either. Either role. Must not know streams or calls. All in context.
 *
 * The write timeout (RULINGS 7; TCP_USER_TIMEOUT) is set at connect and before the first write after a quiet spell. While it is set,
 * the system ends a quiet connection for one probe of its own that got lost; so when nothing was read or written for as long as the system
 * waits before it probes, and all is acknowledged, it is taken back. That costs no timer of its own: the one Rescheduler stands at the earlier of the two.
 */
#ifndef H2_KEEPALIVE_GLUE_H
#define H2_KEEPALIVE_GLUE_H

#include <stdbool.h>

#include "lull/keepalive.h"
#include "lull/rescheduler.h"

struct h2_transport;
struct strbuf;

struct keepalive_glue {
    struct lull_keepalive keepalive;
    struct lull_rescheduler wake;
    struct lull_instant active_at; /* of the last byte in or out */
    bool has_timer;                /* `wake` is made */
    bool is_awaited; /* an answer is, by keepalive */
    int64_t grid_ns;               /* a power of two; 0: keepalive is off */
    bool is_probed;                /* the system probes the connection when it is quiet */
    bool is_limited;               /* the endpoint's write timeout is set */
};

/* The connection is there. LULL_OK or LULL_RC_NOMEM (nothing is left to be undone). */
int keepalive_glue_init(struct h2_transport *t);

/* The transport ends, or is not made after all. The timer leaves the queue at once; later facts are ignored. */
void keepalive_glue_fini(struct h2_transport *t);

/* Bytes came. */
void keepalive_glue_on_read(struct h2_transport *t, struct lull_instant now);

/* A stream was opened, and nghttp2 has not framed its HEADERS yet: a PING that is due goes first. Not while nghttp2 is on the stack,
 * unless the stream was opened by the peer. */
void keepalive_glue_on_stream_opened(struct h2_transport *t);

/* The last stream is gone. */
void keepalive_glue_on_last_stream_closed(struct h2_transport *t);

/* From ping.c: keepalive's PING, or the one it joined, has reached the socket; was answered. */
void keepalive_glue_on_ping_written(struct h2_transport *t, struct lull_instant now);
void keepalive_glue_on_ping_acked(struct h2_transport *t, struct lull_instant now);

/* An errno that means: the system waited for the peer, and gave it up. */
bool keepalive_glue_has_given_up(int sys_errno);

/* Adds ": what was written was not acknowledged within 20 s" or the like to such an errno's text, nothing to another's. */
void keepalive_glue_explain(const struct h2_transport *t, int sys_errno, struct strbuf *sb);

/* Around each flush. `written_before`: send.written_bytes before it. */
void keepalive_glue_before_flush(struct h2_transport *t);
void keepalive_glue_after_flush(struct h2_transport *t, uint64_t written_before);

#endif
