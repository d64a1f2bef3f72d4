/* SPDX-License-Identifier: MIT */
/*
 * Endpoints over stream sockets: TCP, and unix sockets, which are the same without TCP's options.
 *
 * Decides: which socket options a connection starts with, and what the kernel's answers mean.
 * Called by dialers and listeners. Must not know frames, or when to dial.
 *
 * A steady exchange costs one recv and one sendmsg a turn: `want` goes to the loop only when it
 * changes, and a short read is taken for a drained socket by the reader.
 */
#ifndef NET_ENDPOINT_TCP_H
#define NET_ENDPOINT_TCP_H

#include "base/cold.h"
#include "net/endpoint.h"

/* RULINGS 5: the first probe after 45 s of silence, then every 15 s, dead after 3. */
#define TCP_KEEPALIVE_IDLE_S     45
#define TCP_KEEPALIVE_INTERVAL_S 15
#define TCP_KEEPALIVE_PROBES     3

/* Sees a socket before it connects; an errno fails the attempt. */
struct socket_hook {
    int (*fn)(void *ctx, int fd);
    void *ctx;
};

/*
 * Starts to connect, without waiting. 0, or an errno (refused at once, no such path, no descriptor
 * left) and nothing was made; what the hook [nullable, borrow] refuses is told by finish_connect. In context, as everything here.
 */
LULL_COLD int endpoint_tcp_dial(struct lull_loop *loop, struct lull_executor *executor, const struct addr *to,
                      const struct socket_hook *hook, struct endpoint **out);

/* An endpoint on a connected, non-blocking stream socket, [own] on success. 0 or ENOMEM. */
int endpoint_tcp_adopt(struct lull_loop *loop, struct lull_executor *executor, int fd,
                       const struct addr *peer, struct endpoint **out);

#endif
