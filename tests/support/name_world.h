/* SPDX-License-Identifier: MIT */
/*
 * A loop for tests of resolving: c-ares on real loopback sockets, all else on a fake clock, name servers in the same thread.
 *
 * Decides: the order, which is a poll, then the servers, then one turn. Called by tests/unit/net/resolver_ares_*test.c. Must not know what they
 * ask. Its poll waits for a descriptor and never for a time: when nothing comes in 10 s the test has failed. Time passes only
 * where the test says so.
 */
#ifndef TESTS_SUPPORT_NAME_WORLD_H
#define TESTS_SUPPORT_NAME_WORLD_H

#include "lull/allocator.h"
#include "lull/clock.h"
#include "lull/loop.h"
#include "tests/support/name_server.h"

#define NAME_WORLD_WATCHES 32
#define NAME_WORLD_SERVERS 2

struct name_world {
    struct lull_loop loop; /* first */
    struct lull_fake_clock clock;
    struct lull_executor *executor;
    struct lull_watch *watches[NAME_WORLD_WATCHES];
    size_t count;
    struct lull_instant alarm_at;
    bool is_turn_wanted;
    bool is_watch_refused;
    void (*before_turn)(
        void *
            ctx); /* [nullable] the host's own code, when it has told what is ready, and not yet run the turn */
    void *ctx;
    struct name_server servers[NAME_WORLD_SERVERS];
};

/* With a server on 127.0.0.1 for the zone "one." and, on the same port, one on 127.0.0.2 for "two.". */
void name_world_init(struct name_world *world, const struct lull_allocator *allocator);

/* Nothing may be left: no watch, no timer. */
void name_world_fini(struct name_world *world);

/* Waits until a descriptor is ready, and does what it is ready for. */
void name_world_round(struct name_world *world);

/* The same for what is ready already, until nothing is. */
void name_world_settle(struct name_world *world);

/* Time goes by, and the turns come that an alarm is set for. Nothing is read in them that name_world_round has not brought. */
void name_world_pass(struct name_world *world, int64_t by_ns);

#endif
