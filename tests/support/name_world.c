/* SPDX-License-Identifier: MIT */
#include "tests/support/name_world.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lull/executor.h"

#define PATIENCE_MS 10000

/* A turn that asks for another one at once, again and again, is a fault. */
#define TURNS_AT_ONCE 100

/* A name server and c-ares say no more than this to each other. */
#define SETTLE_ROUNDS 1000

static struct name_world *world_of(struct lull_loop *loop)
{
    return (struct name_world *)(void *)loop;
}

static int watch(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    struct name_world *world = world_of(loop);
    size_t i = 0;

    while (i < world->count && world->watches[i] != w) {
        i++;
    }
    if (want == LULL_WANT_NONE && i < world->count) {
        world->watches[i] = world->watches[--world->count];
    } else if (want != LULL_WANT_NONE && i == world->count) {
        if (world->is_watch_refused || world->count == NAME_WORLD_WATCHES) {
            return ENOSPC;
        }
        world->watches[world->count++] = w;
    }
    return 0;
}

static int set_alarm(struct lull_loop *loop, struct lull_instant at)
{
    world_of(loop)->alarm_at = at;
    return 0;
}

static void want_turn(struct lull_loop *loop)
{
    world_of(loop)->is_turn_wanted = true;
}

static const struct lull_loop_ops ops = {
    .watch = watch, .alarm = set_alarm, .wake = want_turn, .soon = want_turn};

void name_world_init(struct name_world *world, const struct lull_allocator *allocator)
{
    struct lull_executor_options options;
    int tries = 100;

    memset(world, 0, sizeof(*world));
    lull_fake_clock_init(&world->clock, -5 * LULL_SECOND, 0);
    lull_executor_options_init(&options);
    options.clock = &world->clock.base;
    options.allocator = allocator;
    ck_assert_int_eq(lull_loop_init(&world->loop, &ops, "names", &options), LULL_OK);
    world->alarm_at = lull_at(LULL_NEVER);
    world->executor = lull_loop_executor(&world->loop);
    for (;; tries--) {
        ck_assert_int_gt(tries, 0);
        ck_assert(name_server_init(&world->servers[0], 1, "one.", 0));
        if (name_server_init(&world->servers[1], 2, "two.", world->servers[0].port)) {
            return;
        }
        name_server_fini(&world->servers[0]);
    }
}

void name_world_fini(struct name_world *world)
{
    struct lull_counters counters = {.size = sizeof(counters)};

    ck_assert_int_eq(lull_executor_turn_now(world->executor), LULL_OK);
    lull_executor_counters(world->executor, &counters);
    ck_assert_uint_eq(counters.timers_armed, 0);
    ck_assert_uint_eq(world->count, 0);
    lull_loop_fini(&world->loop);
    for (size_t i = 0; i < NAME_WORLD_SERVERS; i++) {
        name_server_fini(&world->servers[i]);
    }
}

static unsigned ready_of(short events)
{
    return ((events & (POLLIN | POLLERR | POLLHUP)) != 0 ? (unsigned)LULL_WANT_READ : 0U) |
           ((events & (POLLOUT | POLLERR | POLLHUP)) != 0 ? (unsigned)LULL_WANT_WRITE : 0U);
}

static bool is_due(const struct name_world *world)
{
    return !lull_instant_before(world->clock.mono_at, world->alarm_at);
}

static void run_turn(struct name_world *world)
{
    world->is_turn_wanted = false;
    if (is_due(world)) {
        world->alarm_at = lull_at(LULL_NEVER);
        ck_assert_int_eq(lull_loop_on_alarm(&world->loop), LULL_OK);
    } else {
        ck_assert_int_eq(lull_executor_turn_now(world->executor), LULL_OK);
    }
}

/* False: nothing was ready. */
static bool run_round(struct name_world *world, int timeout_ms)
{
    struct pollfd polled[NAME_WORLD_WATCHES + NAME_WORLD_SERVERS * NAME_SERVER_FDS];
    struct lull_watch *watches[NAME_WORLD_WATCHES];
    const size_t watched = world->count;
    size_t count = watched;

    for (size_t i = 0; i < watched; i++) {
        const unsigned want = world->watches[i]->want;

        watches[i] = world->watches[i];
        polled[i].fd = watches[i]->fd;
        polled[i].events = (short)(((want & LULL_WANT_READ) != 0 ? POLLIN : 0) |
                                   ((want & LULL_WANT_WRITE) != 0 ? POLLOUT : 0));
    }
    for (size_t i = 0; i < NAME_WORLD_SERVERS; i++) {
        count += name_server_fds(&world->servers[i], &polled[count]);
    }
    const bool is_wanted = world->is_turn_wanted || is_due(world);
    const int ready = poll(polled, count, is_wanted ? 0 : timeout_ms);
    ck_assert_int_ge(ready, 0);
    if (ready == 0 && !is_wanted) {
        return false;
    }
    for (size_t i = 0; i < NAME_WORLD_SERVERS; i++) {
        name_server_serve(&world->servers[i]);
    }
    for (size_t i = 0; i < watched; i++) {
        if (polled[i].revents != 0) {
            lull_watch_ready(&world->loop, watches[i],
                             ready_of(polled[i].revents) & watches[i]->want);
        }
    }
    if (world->before_turn != NULL) {
        world->before_turn(world->ctx);
    }
    run_turn(world);
    return true;
}

void name_world_round(struct name_world *world)
{
    ck_assert_msg(run_round(world, PATIENCE_MS), "nothing came");
}

void name_world_settle(struct name_world *world)
{
    int rounds = 0;

    while (run_round(world, 0)) {
        ck_assert_int_lt(++rounds, SETTLE_ROUNDS);
    }
}

void name_world_pass(struct name_world *world, int64_t by_ns)
{
    int turns = 0;

    lull_fake_clock_advance(&world->clock, by_ns);
    while (world->is_turn_wanted || is_due(world)) {
        ck_assert_int_lt(++turns, TURNS_AT_ONCE);
        run_turn(world);
    }
}
