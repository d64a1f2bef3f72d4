/* SPDX-License-Identifier: MIT */
/*
 * Two endpoints joined in memory, for tests and simulations: bytes written to one are read from the
 * other, in order. The rate, delay and faults are the simulator's, which sets the knobs; without
 * them bytes are told in the reading executor's next read phase.
 *
 * Decides: what a socket would have said. Level-triggered as a socket is: what is ready and wanted
 * is told again each turn until it is used up or not wanted any more. The two executors may be one;
 * if they are two, one thread drives both, and neither runs a turn inside the other's.
 */
#ifndef NET_ENDPOINT_PIPE_H
#define NET_ENDPOINT_PIPE_H

#include "net/endpoint.h"

struct lull_allocator;

struct pipe_options {
    size_t capacity_bytes;    /* in flight each way before writev says IO_AGAIN; 0: 64 KiB */
    size_t read_chunk_bytes;  /* a read gives at most so many; 0: no limit */
    size_t write_chunk_bytes; /* a writev takes at most so many; 0: no limit */
    bool connecting; /* the first end starts unconnected: endpoint_pipe_connected or _refuse
                                 decides; until then it reads and writes IO_AGAIN */
};

/* Both ends live on their executors, which may be one and the same. `options` may be NULL. 0 or
 * ENOMEM. */
int endpoint_pipe_new(struct lull_executor *a_executor, struct lull_executor *b_executor,
                      const struct addr *a_peer, const struct addr *b_peer,
                      const struct pipe_options *options, struct endpoint **a, struct endpoint **b);

/*
 * The knobs below take an end that is open, or closed while the other end is not freed yet (a
 * closed end's last bytes can still be held). On the driving thread.
 */

/* Lets the first end's connect succeed, or fail with an errno. Nothing happens when that is decided
 * or the end is closed. */
void endpoint_pipe_connected(struct endpoint *a);
void endpoint_pipe_refuse(struct endpoint *a, int sys_errno);

/* From now on every read and write of this end fails with an errno (a reset, an unreachable host);
 * what was on its way to it is lost. The other end is not told. */
void endpoint_pipe_break(struct endpoint *end, int sys_errno);

/*
 * Stops or lets go: while held, what this end wrote, and its end of the stream, stay in flight, and
 * its peer is told nothing. It may go on writing up to the capacity, as into the send buffer of a
 * socket whose route is gone.
 */
void endpoint_pipe_hold(struct endpoint *end, bool held);

/* Bytes written by this end and not yet read. */
size_t endpoint_pipe_in_flight(const struct endpoint *end);

/* Bytes ever written, and ever read, by this end. */
uint64_t endpoint_pipe_bytes_written(const struct endpoint *end);
uint64_t endpoint_pipe_bytes_read(const struct endpoint *end);

/* What endpoint_write_timeout last said; LULL_NEVER at first. */
int64_t endpoint_pipe_write_timeout(const struct endpoint *end);

#endif
