/* SPDX-License-Identifier: MIT */
/*
 * c-ares' failures in the words that a person looks for.
 *
 * Decides: wording only. Called by resolver_ares.c. Must not know lookups.
 */
#ifndef NET_RESOLVER_ARES_TEXT_H
#define NET_RESOLVER_ARES_TEXT_H

#include <ares.h>

#include "base/strbuf.h"

/* "NXDOMAIN", "SERVFAIL", "no A and no AAAA record"; c-ares' own words for what has no name in DNS. Static. */
const char *resolver_ares_status(int status);

/* How many name servers it knows. */
unsigned resolver_ares_servers(ares_channel channel);

/* "asked 127.0.0.1:5353, [::1]:53", three servers at most; "no name server is known". */
void resolver_ares_asked(ares_channel channel, struct strbuf *out);

#endif
