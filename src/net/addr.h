/* SPDX-License-Identifier: MIT */
/*
 * One socket address as a value, with its text. Built from numbers only: no name is looked up here.
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include "lull/rc.h"

#include <sys/socket.h>

#define ADDR_TEXT_BYTES 128

struct addr {
    struct sockaddr_storage storage;
    socklen_t len;              /* 0: no address */
    char text[ADDR_TEXT_BYTES]; /* "127.0.0.1:2379", "[::1]:80", "unix:/run/x", never NULL */
};

/* Numeric IPv4 or IPv6 (no brackets, an optional %zone) and a port. false: not a numeric address of
 * that family. */
bool addr_from_ip(struct addr *out, const char *host, uint16_t port);

/* A filesystem path; false: empty or too long for sun_path. */
bool addr_from_unix(struct addr *out, const char *path);

/* A name in the abstract namespace; false: empty or too long, or no such thing on this system. */
bool addr_from_abstract(struct addr *out, const char *name);

/* From what the kernel gave (accept, getsockname). */
void addr_from_sockaddr(struct addr *out, const struct sockaddr *sa, socklen_t len);

#endif
