/* SPDX-License-Identifier: MIT */
/*
 * A server without a socket, for counting: it answers each request while it is being written, always with the same bytes.
 *
 * Decides: what the client of bench/guard_ops talks to. Nothing of the library's is in it but the two structs of the seams, so
 * whatever of src/ is counted is the client's. Must not check what it is sent: tests do.
 */
#ifndef BENCH_GUARD_PEER_H
#define BENCH_GUARD_PEER_H

struct lull_dialer;

/* Dials it; one connection at a time. Static. */
struct lull_dialer *guard_peer_dialer(void);

#endif
