/* SPDX-License-Identifier: MIT */
/*
 * A scripted resolver for simulated worlds: names that are answered after a while, with addresses or with a failure.
 *
 * Decides: when an answer comes. Put its `base` into a world as `resolve`. Called by tests. Must not know who asks.
 */
#ifndef TESTKIT_NAMES_H
#define TESTKIT_NAMES_H

#include "net/resolver.h"

#define NAMES_MAX         8
#define NAMES_LOOKUPS_MAX 64

/* What becomes of a question. The caller may change the fields at any time; they are read when the answer is due. */
struct name {
    const char *host;
    int64_t after_ns;      /* LULL_NEVER: no answer, until the question's limit */
    const char *addrs;     /* "10.0.0.1 ::1": numeric, in the order of the answer; NULL: it fails with `why` */
    const char *first;     /* [nullable] these come at once, as an answer that is not the last; after_ns is above 0 */
    const char *why;
    bool cannot_start;     /* start itself fails with `why` */
    unsigned questions;    /* so far */
    struct lull_instant asked_at; /* the last of them */
};

struct names {
    struct lull_resolver base;
    struct name names[NAMES_MAX];
    size_t count;
    unsigned questions; /* of all names */
    unsigned open;      /* lookups that have neither ended nor been cancelled */
    unsigned cancelled;
    bool answers_cancelled; /* a resolver that breaks its word: the answer comes although it was cancelled */
};

void names_init(struct names *names);

/* Adds a name; it is answered at once, with `addrs`. A host that was not added fails with NXDOMAIN. */
struct name *names_add(struct names *names, const char *host, const char *addrs);

#endif
