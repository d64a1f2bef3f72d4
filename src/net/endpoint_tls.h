/* SPDX-License-Identifier: MIT */
/*
 * TLS over another endpoint, a socket or a pipe.
 *
 * Decides: when the handshake is over and the peer is who it should be; what of a write counts as
 * written (bytes whose records the endpoint below has taken); and how a failure reads. Called by
 * dialers and servers. Must not know frames.
 *
 * As a socket, it takes what it can: bytes offered to a writev that said IO_AGAIN may be enciphered
 * already, so the next writev offers the same bytes first, never fewer (RULINGS 24); where they lie
 * does not matter. Closing says close_notify if that needs no waiting, and says nothing in a forked
 * child (RULINGS 27). A peer that ends without close_notify is an IO_FAIL with that text.
 *
 * This page has no OpenSSL in it: a library without TLS has the same functions, in tls_none.c.
 */
#ifndef NET_ENDPOINT_TLS_H
#define NET_ENDPOINT_TLS_H

#include "base/cold.h"
#include "lull/credentials.h"
#include "net/endpoint.h"

/*
 * A client over an endpoint [own on success] whose connect may be under way: finish_connect covers
 * both. The peer must prove `authority`'s host, or the credentials' server_name. `loop` [nullable]
 * tells of forks. 0 or an errno; a failing identity callback is told by finish_connect.
 */
LULL_COLD int endpoint_tls_client(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, const char *authority,
                        struct endpoint **out);

/* The server's side, over a connected endpoint; reads and writes say IO_AGAIN until the handshake
 * is over. As above. */
int endpoint_tls_server(struct lull_loop *loop, struct endpoint *inner,
                        struct lull_credentials *credentials, struct endpoint **out);

/* The credentials have a certificate to show. */
bool tls_can_serve(const struct lull_credentials *credentials);

/* They believe anybody. */
bool tls_is_insecure(const struct lull_credentials *credentials);

#endif
