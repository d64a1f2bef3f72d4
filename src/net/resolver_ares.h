/* SPDX-License-Identifier: MIT */
/*
 * Names by c-ares: /etc/hosts, resolv.conf, DNS over UDP and TCP.
 *
 * Decides: how c-ares' sockets and timeouts become watches and one timer, and in which words its failures are told. Called through
 * the ops of net/resolver.h. Must not know who asks.
 *
 * One c-ares channel a lookup: it is made when the lookup starts, so that a changed resolv.conf counts from the next lookup on, and
 * goes with it, so that a channel that asks nothing holds no descriptor, no timer and none of the 70 KB that c-ares takes.
 */
#ifndef NET_RESOLVER_ARES_H
#define NET_RESOLVER_ARES_H

#include "net/resolver.h"

struct resolver_ares {
    struct lull_resolver base;
    const char *resolv_conf; /* [borrow, nullable] NULL: the system's */
    uint16_t port;           /* for tests: of the servers in resolv_conf; 0: 53 */
    bool hosts_from_env;     /* for tests: CARES_HOSTS in the environment names the hosts file */
};

void resolver_ares_init(struct resolver_ares *resolver);

/* With the system's files. Static. */
struct lull_resolver *resolver_ares_system(void);

#endif
