/* SPDX-License-Identifier: MIT */
#include "testkit/sim_server.h"

#include "server/server.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- the peers' executor as a loop: nothing to watch, and the fake clock asks the executor itself when to run */

static int watch_nothing(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    (void)loop;
    (void)w;
    (void)want;
    return ENOSYS;
}

static int alarm_nothing(struct lull_loop *loop, struct lull_instant at)
{
    (void)loop;
    (void)at;
    return 0;
}

static void wake_nothing(struct lull_loop *loop)
{
    (void)loop;
}

static const struct lull_loop_ops loop_ops = {
    .watch = watch_nothing,
    .alarm = alarm_nothing,
    .wake = wake_nothing,
    .soon = wake_nothing,
};

static void record_event(void *ctx, const struct lull_event *event)
{
    struct sim *sim = (struct sim *)ctx;

    tape_line(&sim->tape, event->at, "server", "%d call %" PRIu64 " %s", (int)event->kind, event->call_id, event->detail);
}

void sim_server_world_init(struct sim_server_world *world, struct sim *sim)
{
    memset(world, 0, sizeof(*world));
    world->sim = sim;
    world->loop.ops = &loop_ops;
    world->loop.name = "sim peers";
    world->loop.executor = sim->peers;
    lull_world_init(&world->world);
    world->world.clock = &sim->clock.base;
    world->world.random = &sim->random.base;
    world->world.loop = &world->loop;
}

void sim_server_options(struct sim_server_world *world, struct lull_server_options *options)
{
    lull_server_options_init(options);
    options->world = &world->world;
    options->trace.event = record_event;
    options->trace.ctx = world->sim;
}

static void accept_end(struct sim *sim, struct endpoint *far_end, void *ctx)
{
    (void)sim;
    server_accept((struct lull_server *)ctx, far_end);
}

struct sim_host *sim_host_server(struct sim *sim, const char *address, struct lull_server *server)
{
    return sim_host_add(sim, address, accept_end, server);
}
