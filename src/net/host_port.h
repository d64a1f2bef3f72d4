/* SPDX-License-Identifier: MIT */
/*
 * Reads `host[:port]`, a part of a target.
 *
 * Decides: what is an address, what is a name that a resolver could read, and what is neither. Called by net/target.c, which
 * knows the schemes around it. Must not know who resolves a name.
 */
#ifndef NET_HOST_PORT_H
#define NET_HOST_PORT_H

#include "net/addr.h"

/* A run of bytes of the target. */
struct span {
    const char *at;
    size_t len;
};

/* The whole target that is being read, and where the fault goes. */
struct reading {
    const char *text;
    struct lull_error *error; /* [nullable] */
};

struct host_port {
    struct span host;      /* without brackets */
    struct span port_text; /* empty: none was written */
    uint16_t port;
    bool is_bracketed;
    bool is_localhost; /* RFC 6761 section 6.3: loopback, and nobody is asked */
    bool is_numeric;   /* `addr` is the address */
    struct addr addr;
};

struct span span_of(const char *text);

/* The part before the first `c`; true when there is one, and *rest is what follows it, else empty. */
bool span_cut(struct span text, char c, struct span *head, struct span *rest);

/* Says which part was wrong: `part`, its bytes in quotes, and what is wrong with it. Returns `rc`. */
int host_port_refuse(const struct reading *r, enum lull_rc rc, const char *part, struct span bytes,
                     const char *why);

/*
 * `default_port` 0: a port must be written. LULL_OK, or LULL_RC_INVALID with a text that names the part that was wrong. A host that
 * is neither numeric nor localhost is a name of letters, digits, "-" and "_" in labels of 1 to 63 bytes.
 */
int host_port_read(const struct reading *r, struct span text, uint16_t default_port,
                   struct host_port *out);

#endif
