/* SPDX-License-Identifier: MIT */
/*
 * One channel and one scripted server in the simulated world, with a diary: the channel's transitions and warnings, and how its
 * calls ended, each with its instant in ns since the world began.
 */
#ifndef TESTS_SIM_LIFE_H
#define TESTS_SIM_LIFE_H

#include <check.h>

#include "lull/call.h"
#include "lull/channel.h"
#include "testkit/peer.h"
#include "testkit/sim.h"

#define LIFE_ADDRESS   "10.0.0.1:80"
#define LIFE_DIARY_MAX 200

#define MS(x) ((x)*LULL_MS)

struct life_line {
    int64_t at_ns;
    char text[160];
};

struct life_book {
    struct life_line lines[LIFE_DIARY_MAX];
    size_t count;
};

struct life {
    struct sim sim;
    struct peer peer;
    struct sim_host *host;
    struct lull_channel_options options;
    struct lull_channel *channel;
    struct life_book states; /* "READY -> IDLE: ..." */
    struct life_book warnings;
    struct life_book pings;
};

/* Everything but the channel: options and peer may be changed before life_open. */
void life_begin(struct life *life, uint64_t seed);
void life_open(struct life *life);
/* Closes everything; nothing may be left. */
void life_end(struct life *life);

/* To this instant. */
void life_at(struct life *life, int64_t at_ns);

enum lull_state life_state(struct life *life);
struct lull_channel_stats life_stats(const struct life *life);

/* The book's n-th line, from 0, has this text in it and this instant. */
void life_expect(const struct life_book *book, size_t n, int64_t at_ns, const char *part);

/* No timer, no connection, in idle mode. */
void life_expect_asleep(struct life *life);

struct life_call {
    struct life *life;
    struct lull_call *handle;
    unsigned done;
    int64_t at_ns;
    enum lull_code code;
    enum lull_reason reason;
    enum lull_phase phase;
    int sys_errno;
    char address[128];
    char line[1100];
};

/* Starts a unary call; timeout_ns LULL_NEVER: none. */
void life_call(struct life *life, struct life_call *call, int64_t timeout_ns, bool wait_for_ready);
void life_expect_call(const struct life_call *call, enum lull_code code, int64_t at_ns);

#endif
