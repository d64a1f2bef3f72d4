/* SPDX-License-Identifier: MIT */
/*
 * One pass over the addresses of a target: in order, the next one at once after a failure, and 250 ms after the last start while
 * nothing has connected (gRFC A61, RFC 8305 section 5). Arithmetic only.
 *
 * Decides: which address is dialled when, and when the pass is over. Called by channel/subchannel_dial.c, which reports facts and
 * does what a step says. Must not know sockets, or what the wait after a pass is (policy/backoff).
 */
#ifndef POLICY_EYEBALLS_H
#define POLICY_EYEBALLS_H

#include <stddef.h>

#include "lull/types.h"

#define EYEBALLS_MAX           16
#define EYEBALLS_HEAD_START_NS (250 * LULL_MS)

/* No address. */
#define EYEBALLS_NONE ((size_t)-1)

enum eyeballs_state { EYEBALLS_UNTRIED, EYEBALLS_TRYING, EYEBALLS_FAILED };

enum eyeballs_action {
    EYEBALLS_WAIT,   /* until next_at, if no fact comes before */
    EYEBALLS_START,  /* dial `index` */
    EYEBALLS_EXPIRE, /* `index` has had its time: it failed */
    EYEBALLS_OVER    /* every address has failed */
};

struct eyeballs_step {
    enum eyeballs_action action;
    size_t index;
    struct lull_instant next_at; /* WAIT */
};

struct eyeballs_try {
    enum eyeballs_state state;
    struct lull_instant limit_at; /* TRYING: when it has had its time */
};

struct eyeballs {
    struct eyeballs_try *tries; /* [borrow] one an address */
    size_t count;
    size_t winner;                     /* connected, and not yet READY; else EYEBALLS_NONE */
    struct lull_instant next_start_at; /* the end of the last one's head start */
};

/* A new pass over `count` addresses, EYEBALLS_MAX at most; the first starts at once. `tries` [borrow] has room for as many. */
void eyeballs_init(struct eyeballs *eyeballs, struct eyeballs_try *tries, size_t count);

/* What is to be done now. Asked again after each fact, and at next_at. */
struct eyeballs_step eyeballs_next(const struct eyeballs *eyeballs, struct lull_instant now);

/* The dial of `index` has started; it may take until `limit_at`. */
void eyeballs_on_started(struct eyeballs *eyeballs, size_t index, struct lull_instant now,
                         struct lull_instant limit_at);

/* It failed, or was given up: the next one's time has come. */
void eyeballs_on_failed(struct eyeballs *eyeballs, size_t index, struct lull_instant now);

/* It connected: nothing more is started unless it fails. */
void eyeballs_on_connected(struct eyeballs *eyeballs, size_t index);

#endif
