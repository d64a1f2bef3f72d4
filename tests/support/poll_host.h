/* SPDX-License-Identifier: MIT */
/*
 * A host's loop on poll(2): the four verbs of the seam as an application would write them, with an alarm that may be hostile.
 *
 * Decides: when it sleeps and what it tells lull. Called by tests. Must not know what runs on it. One that refuses alarms has turns
 * for other reasons too: each round is one.
 */
#ifndef TESTS_SUPPORT_POLL_HOST_H
#define TESTS_SUPPORT_POLL_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/loop.h"
#include "tests/support/hostile_alarm.h"

#define POLL_HOST_FDS 64

struct poll_host {
    struct lull_loop loop; /* first */
    struct hostile_alarm alarm;
    struct lull_watch *watches[POLL_HOST_FDS];
    size_t count;
    int wake_fd;
    bool is_turn_wanted;
    unsigned refused_inside; /* turns that were refused inside `alarm` */
};

void poll_host_init(struct poll_host *host, unsigned ways, unsigned refuse_every, uint64_t seed);
void poll_host_fini(struct poll_host *host);

/* Waits until something is ready, wanted or due, `wait_ns` at most, and does it. */
void poll_host_round(struct poll_host *host, int64_t wait_ns);

#endif
