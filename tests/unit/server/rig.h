/* SPDX-License-Identifier: MIT */
/*
 * A server on a fake clock, an application that records what it is told, and a channel to it: the client of src/channel against our
 * server, in one simulated world.
 */
#ifndef TESTS_UNIT_SERVER_RIG_H
#define TESTS_UNIT_SERVER_RIG_H

#include <check.h>

#include "lull/call.h"
#include "lull/channel.h"
#include "lull/server.h"
#include "testkit/frame.h"
#include "testkit/sim.h"
#include "testkit/sim_server.h"
#include "tests/unit/server/raw.h"

#define RIG_TARGET    "10.0.0.1:80"
#define RIG_CALLS_MAX 4096
#define RIG_METHOD    "/pkg.Service/Method"

/* What the application does of its own accord. */
enum app_way {
    APP_HOLDS,  /* nothing */
    APP_ECHOES, /* each message comes back; OK at the half-close */
    APP_FAILS   /* INVALID_ARGUMENT "no" in on_call */
};

struct rig;

/* One call as the application saw it. */
struct app_call {
    struct lull_server_call *call; /* until its on_closed */
    unsigned begun, messages, half_closed, writable, closed;
    uint64_t bytes;
    char method[64];
    char authority[64];
    char last[64]; /* the last message, cut */
    size_t metadata;
    int64_t left_ns;
    int64_t begun_at_ns, closed_at_ns;
    enum lull_server_end end;
    char why[200];
};

struct rig {
    struct sim sim;
    struct sim_server_world world;
    struct lull_server_options options; /* changed before rig_open */
    struct lull_channel_options channel_options;
    struct lull_server *server;
    struct lull_channel *channel;
    struct sim_host *host;
    enum app_way way;
    bool pauses;       /* in on_call */
    unsigned frees_in; /* frees the server in the callback of that number, from 1 */
    unsigned callbacks;
    struct app_call *calls; /* RIG_CALLS_MAX, by id - 1 */
    unsigned begun, closed; /* in all */
    unsigned drained;
    int64_t drained_at_ns;
};

void rig_init(struct rig *rig);
/* The server, its handler of everything, and a channel that has not dialled. */
void rig_open(struct rig *rig);
/* Both at once. */
void rig_start(struct rig *rig, enum app_way way);
/* Closes what is open and checks that every call that began was closed, once. */
void rig_fini(struct rig *rig);

/* A client by hand that has said hello. */
void rig_join(struct rig *rig, struct raw *raw);

void rig_settle(struct rig *rig);
void rig_advance(struct rig *rig, int64_t by_ns);
int64_t rig_now(const struct rig *rig);
struct lull_server_stats rig_stats(const struct rig *rig);
/* For lull_server_shutdown; ctx: the rig. */
void rig_on_drained(struct lull_server *server, void *ctx);

/* A unary call of the client and how it ended. */
struct unary {
    struct rig *rig;
    struct lull_call *call;
    unsigned done;
    int64_t at_ns;
    enum lull_code code;
    char message[300];
    char reply[64];
    size_t reply_len;
    size_t headers, trailers;
};

void unary_start(struct unary *unary, struct rig *rig, const char *method, const char *request,
                 int64_t timeout_ns);
void unary_start_with(struct unary *unary, struct rig *rig, const struct lull_call_options *options,
                      struct lull_slice request);
/* It has ended, once, and so. */
void unary_expect(struct unary *unary, enum lull_code code);
/* rig_start, and one call that the application holds: rig.calls[0]. */
void rig_start_holding(struct rig *rig, struct unary *unary);
/* Starts, settles and expects this end. */
void unary_run(struct unary *unary, struct rig *rig, const char *method, const char *request,
               enum lull_code code);

#endif
