/* SPDX-License-Identifier: MIT */
/*
 * What all resolvers share. See resolver.h.
 */
#include "net/resolver.h"

#include <config.h>

#ifdef HAVE_CARES
#include "net/resolver_ares.h"
#endif

struct lull_resolver *resolver_default(void)
{
#ifdef HAVE_CARES
    return resolver_ares_system();
#else
    return NULL;
#endif
}

size_t resolver_interleave(const struct addr *ip6, size_t ip6_count, const struct addr *ip4,
                           size_t ip4_count, struct addr *out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < ip6_count || i < ip4_count; i++) {
        if (i < ip6_count && count < max) {
            out[count++] = ip6[i];
        }
        if (i < ip4_count && count < max) {
            out[count++] = ip4[i];
        }
    }
    return count;
}
