/* SPDX-License-Identifier: MIT */
/*
 * The nghttp2 session of a transport: how it is made, where its memory comes from, whether it has given the connection up.
 *
 * Decides: nghttp2's options and our SETTINGS. HTTP messaging checks are off, because the owner of a stream maps a malformed
 * response by itself (headers.c and session_cb.c judge instead); automatic WINDOW_UPDATEs are off, because flow.c credits. Called by
 * transport.c, send.c and recv.c. Must not know what streams carry.
 */
#ifndef H2_SESSION_H
#define H2_SESSION_H

#include "base/cold.h"

#include <stdbool.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

struct h2_stock;
struct h2_transport;
struct size_classes;

struct session {
    nghttp2_session *nghttp2; /* NULL before session_init */
    nghttp2_mem mem;
    struct size_classes *classes; /* the executor's: sessions of one executor share them */
    struct h2_stock *stock;       /* likewise */
    void *frame;                  /* the frame buffer that it was lent; NULL before it asked */
    uint64_t blocks;              /* that nghttp2 asked for, and moves of one; from wherever they came */
    bool is_busy;    /* an nghttp2 function is on the stack */
};

/* Makes the session with SETTINGS and the connection's window queued, behind a client's preface, which send.c puts first. LULL_OK or LULL_RC_NOMEM. */
LULL_COLD int session_init(struct h2_transport *t);

/* Frees it. Harmless before session_init. */
void session_fini(struct session *session);

/*
 * True when nghttp2 has found a connection error and queued its GOAWAY. On a server, and after a peer's GOAWAY, it cannot be told apart
 * from a session that ends in order: then false, and send.c sees nghttp2's own GOAWAY go by.
 */
bool session_is_condemned(const struct h2_transport *t);

#endif
