/* SPDX-License-Identifier: MIT */
/*
 * What the connections of an executor share.
 *
 * Decides: what one connection need not keep for itself because one at a time uses it: nghttp2's frame buffer, the fields of the header block
 * that is being made, those of responses that come again and again, and the slabs that messages come in. Made with the executor's first connection, and kept for the next one
 * when the last has gone, until the executor is trimmed or freed. Called by transport.c, session.c, headers.c and framing.c. Must not know which connection is at work. In context.
 *
 * The frame buffer: a session asks for one when it is made, 16 KiB of which a few hundred bytes are ever written. A frame is made and
 * copied out within one nghttp2_session_mem_send, and what the next call finds there is not read: send.c takes all that one call gives, sends no
 * frame in parts, and puts the client's preface, the only bytes that wait there, by itself. So the sessions of an executor write into the
 * same one (session.c lends it); the frames of a CONTINUATION behind the first have buffers of their own.
 */
#ifndef H2_STOCK_H
#define H2_STOCK_H

#include "base/cold.h"

#include <stddef.h>
#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "exec/executor.h"
#include "h2/headers.h"

struct lull_recycler;
struct h2_transport;

/* What nghttp2 asks for, in all its versions: a frame's head, a pad length, 16 KiB. */
#define H2_STOCK_FRAME_BYTES ((size_t)9 + 1 + 16384)

struct h2_stock {
    struct executor_share share; /* its users: transports */
    struct lull_recycler *small; /* slabs of one small message; NULL before the first */
    struct lull_recycler *runs;  /* slabs of many; NULL before the first */
    nghttp2_nv *fields;
    size_t fields_cap;
    const struct h2_transport *fields_of; /* whose own fields, of a request, they begin with; NULL: nobody's */
    char *encoded; /* base64 of "-bin" values */
    size_t encoded_cap;
    struct headers_known known; /* fields of responses that were read before */
    uint8_t frame[H2_STOCK_FRAME_BYTES];
};

/* One more connection; NULL: no memory. */
LULL_COLD struct h2_stock *stock_join(struct lull_executor *executor);

/* One less. `stock` is [nullable]. */
LULL_COLD void stock_leave(struct h2_stock *stock);

/* Room in `fields` for so many, in `encoded` for so many bytes; kept. LULL_OK or LULL_RC_NOMEM. */
int stock_reserve_fields(struct lull_executor *executor, struct h2_stock *stock, size_t count, size_t encoded);

#endif
