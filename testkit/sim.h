/* SPDX-License-Identifier: MIT */
/*
 * A simulated world on one thread: fake clock, seeded chance, a network of pipes. A channel made with its options
 * lives in it as if it were real, and the same seed gives the same run to the byte.
 *
 * Decides: when a simulated connect succeeds or fails, and what goes on the tape. Called by tests. Must not know what the bytes mean: the
 * peers do (testkit/peer.h).
 */
#ifndef TESTKIT_SIM_H
#define TESTKIT_SIM_H

#include "lull/channel.h"
#include "lull/clock.h"
#include "lull/loop.h"
#include "lull/timer.h"
#include "lull/world.h"
#include "net/dial.h"
#include "net/endpoint.h"
#include "net/endpoint_pipe.h"
#include "testkit/tape.h"

#define SIM_HOSTS_MAX 8

struct sim;

/* Takes a new connection's far end [own]. In the context of `peers`. */
typedef void (*sim_accept_fn)(struct sim *sim, struct endpoint *far_end, void *ctx);

/* What answers at an address. */
struct sim_host {
    const char *address;         /* as addr.text: "10.0.0.1:80" */
    int64_t connect_after_ns;    /* until the connect is decided; LULL_NEVER: never (a black hole) */
    int refuse_errno;            /* not 0: the connect fails with it */
    sim_accept_fn accept;
    void *ctx;
    struct pipe_options pipe;
    unsigned dials;              /* attempts so far */
    struct lull_instant dialled_at; /* the last of them */
};

struct sim_dial;

struct sim {
    struct lull_fake_clock clock;
    struct lull_instant began_at;
    struct lull_loop loop;
    struct lull_executor *peers; /* drives what answers, so that the loop's counters are the client's alone */
    struct lull_random_seeded random;
    struct lull_dialer dialer;
    struct lull_world world;
    struct sim_host hosts[SIM_HOSTS_MAX];
    size_t host_count;
    struct sim_dial *dials;      /* connects not yet decided */
    struct tape tape;
    uint64_t seed;
};

/* Prints the seed, so that a failed run can be repeated. 0 or an enum lull_rc. */
int sim_init(struct sim *sim, uint64_t seed);

/* Channels and peers must be gone. */
void sim_fini(struct sim *sim);

/* The executor of the simulated loop. */
struct lull_executor *sim_executor(struct sim *sim);

/* What it has counted: the client's doing only. */
struct lull_counters sim_counters(const struct sim *sim);

/* Channel options filled with defaults and this world; its events go on the tape. */
void sim_channel_options(struct sim *sim, struct lull_channel_options *options);

/* Adds an address. The caller may change the fields at any time. NULL: no room. */
struct sim_host *sim_host_add(struct sim *sim, const char *address, sim_accept_fn accept, void *ctx);

/* Time. Runs every turn that becomes due. */
void sim_advance(struct sim *sim, int64_t by_ns);

/* ns since the world began. */
int64_t sim_elapsed_ns(const struct sim *sim);

/* Runs what is due now. */
void sim_settle(struct sim *sim);

/* Bits and ranges from the seed; below(0) is 0. */
uint64_t sim_below(struct sim *sim, uint64_t bound);

#endif
