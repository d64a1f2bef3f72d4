/* SPDX-License-Identifier: MIT */
/*
 * Reads a target string (grpc/doc/naming.md) into what to dial and what to call the server. Numeric
 * targets, unix sockets and `localhost` (RFC 6761 §6.3: loopback without asking anybody) need no
 * resolver; a name does, and this file only says so.
 */
#ifndef NET_TARGET_H
#define NET_TARGET_H

#include "net/addr.h"

#define TARGET_AUTHORITY_BYTES 300

struct target {
    struct addr addr;                       /* what to dial */
    char authority[TARGET_AUTHORITY_BYTES]; /* the default `:authority` */
};

/*
 * LULL_OK; LULL_RC_INVALID for what no resolver could read (empty, unknown scheme, port 0 or above
 * 65535, missing port, empty path, stray characters), with the part named in error->text;
 * LULL_RC_UNSUPPORTED for a name that needs a resolver.
 */
int target_parse(const char *text, struct target *out, struct lull_error *error);

#endif
