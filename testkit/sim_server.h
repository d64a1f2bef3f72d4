/* SPDX-License-Identifier: MIT */
/*
 * A real lull server at an address of the simulated world.
 *
 * Decides: where it lives: on the executor of the world's peers, as the scripted ones do, so that the client's counters stay the client's.
 * Called by tests that want both ends to be lull's, on one fake clock. Must not know what the server does.
 */
#ifndef TESTKIT_SIM_SERVER_H
#define TESTKIT_SIM_SERVER_H

#include "lull/server.h"
#include "testkit/sim.h"

/* The world as its servers see it. Outlives them, and is outlived by the sim. */
struct sim_server_world {
    struct sim *sim;
    struct lull_loop loop;
    struct lull_world world;
};

void sim_server_world_init(struct sim_server_world *world, struct sim *sim);

/* Server options filled with defaults and this world; its events go on the tape. */
void sim_server_options(struct sim_server_world *world, struct lull_server_options *options);

/* Connects of channels to `address` reach the server [borrow], which outlives them. NULL: no room. */
struct sim_host *sim_host_server(struct sim *sim, const char *address, struct lull_server *server);

#endif
