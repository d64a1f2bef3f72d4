/* SPDX-License-Identifier: MIT */
/*
 * The naming seam: from a host and a port to a list of addresses, by and by.
 *
 * Decides: what a lookup is and how its answers come. Called by channel/channel_resolve.c, which decides when to ask and what an
 * answer means. Must not know channels or connections. All in context, on the driving thread.
 *
 * Answers are told from tasks only, never inside start or cancel, and never with c-ares on the stack: so inside one, everything is
 * legal. Each carries the epoch of its question, so that whoever has moved on can tell.
 */
#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include "lull/loop.h"
#include "lull/world.h"
#include "net/addr.h"
#include "net/target.h"

/* An answer has so many addresses at most: what is beyond is left out. */
#define RESOLVER_ADDRS_MAX TARGET_ADDRS_MAX

#define RESOLVER_WHY_BYTES 240

/* RFC 8305 section 3: how long one family is waited for when the other is here. */
#define RESOLVER_GRACE_NS (50 * LULL_MS)

struct resolver_lookup;

struct resolver_question {
    const char *host; /* [borrow] a name, not a number */
    uint16_t port;
    const struct addr *server; /* [borrow, nullable] whom to ask; NULL: whom the system asks */
    int64_t limit_ns;          /* after that "no answer" is the answer */
    uint64_t epoch;            /* the asker's, handed back */
};

/* Borrowed for the callback. */
struct resolver_answer {
    uint64_t epoch;
    const struct addr *addrs; /* in the order to try them: IPv6 and IPv4 in turn (RFC 8305 section 4) */
    size_t count;
    bool is_last;    /* the lookup is over and its handle gone; else what is here so far, and more may come */
    const char *why; /* one line: what went wrong; NULL when there are addresses */
};

typedef void (*resolver_answer_fn)(void *ctx, const struct resolver_answer *answer);

struct resolver_ops {
    /*
     * Starts to ask. LULL_OK: *out is the lookup, until its last answer or cancel. Else nothing was made: LULL_RC_NOMEM, or
     * LULL_RC_SYSTEM for what the resolver could not set up, with a text.
     */
    int (*start)(struct lull_resolver *resolver, struct lull_loop *loop,
                 struct lull_executor *executor, const struct resolver_question *question,
                 resolver_answer_fn on_answer, void *ctx, struct resolver_lookup **out,
                 struct lull_error *error);
    /* No answer comes any more; its descriptors and its timer are gone at once. Legal inside an answer that was not the last. */
    void (*cancel)(struct resolver_lookup *lookup);
};

struct lull_resolver {
    const struct resolver_ops *ops;
};

/* The system's names by c-ares. Static. NULL: this library was built without it. */
struct lull_resolver *resolver_default(void);

/*
 * Puts two families in turn, IPv6 first (RFC 8305 section 4 with a count of one), each in the order given, which is the name
 * server's. Returns how many went to `out`, `max` at most.
 */
size_t resolver_interleave(const struct addr *ip6, size_t ip6_count, const struct addr *ip4,
                           size_t ip4_count, struct addr *out, size_t max);

#endif
