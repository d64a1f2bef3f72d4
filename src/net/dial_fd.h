/* SPDX-License-Identifier: MIT */
/*
 * Dialling by a socket that is connected already: somebody else's connect, an accept, a socketpair.
 *
 * Decides: which descriptors will do, what they are called, and who closes one that was never used. It dials once. Called by channels. Must not
 * know what happens when the connection is gone.
 */
#ifndef NET_DIAL_FD_H
#define NET_DIAL_FD_H

#include "net/dial.h"

struct dialer_fd {
    struct lull_dialer base;
    int fd; /* [own] -1: none, or none any more */
};

/* "fd:" and the longest int. */
#define DIAL_FD_NAME_BYTES 16

/* The name of a descriptor: "fd:7". */
void dial_fd_name(int fd, char name[DIAL_FD_NAME_BYTES]);

/*
 * Looks whether it is a connected stream socket, and changes nothing of it. LULL_OK, and `peer` is the other end with a text of "fd:7",
 * or "fd:7 (127.0.0.1:80)" where that has a name; LULL_RC_INVALID with a text that says what it is instead. Any thread.
 */
int dial_fd_check(int fd, struct addr *peer, struct lull_error *error);

/* Without a descriptor: it dials EBADF. */
void dialer_fd_init(struct dialer_fd *dialer);

/* It has one from now on [own], which exec closes. In context, as the rest. */
void dialer_fd_take(struct dialer_fd *dialer, struct lull_executor *executor, int fd);

/* Closes what was not dialled. The second time nothing happens. */
void dialer_fd_drop(struct dialer_fd *dialer, struct lull_executor *executor);

#endif
