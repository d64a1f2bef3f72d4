/* SPDX-License-Identifier: MIT */
/*
 * Who drives a loop, as a test sees it: open, round, close.
 *
 * Decides: which of lull's ways to be driven a test runs on. Called by tests that say the same of each. Must not know what runs on
 * it. Another way to drive is a value here and a branch in driver.c.
 */
#ifndef TESTS_SUPPORT_DRIVER_H
#define TESTS_SUPPORT_DRIVER_H

#include "lull/channel.h"
#include "tests/support/poll_host.h"

enum driver_kind {
    DRIVER_BUILT_IN, /* lull_loop_run_once */
    DRIVER_NESTED,   /* lull_loop_fd in a poll, lull_loop_dispatch */
    DRIVER_HOST,     /* the four verbs, on poll_host.h */
    DRIVER_BLOCKED,  /* a caller that blocks in lull_sync_unary */
    DRIVERS
};

struct driver {
    enum driver_kind kind;
    struct lull_loop *loop;
    struct poll_host host; /* DRIVER_HOST */
    int fd;                /* DRIVER_NESTED */
    struct lull_channel *nowhere; /* DRIVER_BLOCKED: where nobody listens, so that its calls wait until their deadline */
};

/* `ways` and `refuse_every` are a host's (hostile_alarm.h). */
void driver_open(struct driver *driver, enum driver_kind kind, unsigned ways, unsigned refuse_every, uint64_t seed);
void driver_close(struct driver *driver);

/* Waits, `wait_ns` at most, for something to do, and does it. Outside a turn, `wait_ns` finite. */
void driver_round(struct driver *driver, int64_t wait_ns);

/* True when an alarm was refused that a call may have counted on. */
bool driver_has_bitten(const struct driver *driver);

#endif
