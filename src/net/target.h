/* SPDX-License-Identifier: MIT */
/*
 * Reads a target string (grpc/doc/naming.md) into what to dial and what to call the server.
 *
 * Decides: which targets are addresses, which are names that a resolver must be asked for, and which are neither. Numeric
 * targets, unix sockets and `localhost` (RFC 6761 section 6.3: loopback without asking anybody) are addresses at once. Called by
 * channels and listeners. Must not know who resolves a name.
 */
#ifndef NET_TARGET_H
#define NET_TARGET_H

#include "net/addr.h"

/* Addresses of one target, listed or resolved: what is beyond is left out when a resolver said it, refused when it was written. */
#define TARGET_ADDRS_MAX 16

#define TARGET_HOST_BYTES      256
#define TARGET_AUTHORITY_BYTES 300

/* The port of a target that has none: gRPC's is https's; in plaintext it is http's, as in grpc-java. */
#define TARGET_PORT_NONE      0 /* it must be written */
#define TARGET_PORT_PLAINTEXT 80
#define TARGET_PORT_TLS       443

/* Where a name server listens. */
#define TARGET_PORT_DNS 53

struct target {
    struct addr addrs[TARGET_ADDRS_MAX]; /* what to dial, in this order */
    size_t addr_count;                   /* 0: `host` is a name, and somebody has to be asked */
    char host[TARGET_HOST_BYTES]; /* as written, without brackets and zone; of a list the first; "localhost" for unix sockets */
    uint16_t port;                /* written, or the default; 0 for unix sockets */
    struct addr server;           /* dns://server/: who is to be asked; len 0: whom the system asks */
    char authority[TARGET_AUTHORITY_BYTES]; /* the default `:authority` */
};

/*
 * `default_port` is one of TARGET_PORT_*. LULL_OK; LULL_RC_INVALID for what nobody could resolve (empty, unknown scheme, port 0 or
 * above 65535, missing port, empty path, stray characters), with the part named in error->text; LULL_RC_UNSUPPORTED
 * for an abstract socket where there is no such thing.
 */
int target_parse(const char *text, uint16_t default_port, struct target *out,
                 struct lull_error *error);

#endif
