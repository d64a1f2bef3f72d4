/* SPDX-License-Identifier: MIT */
/*
 * The simulated world of tests/sim/life.h with names and three more addresses: what tests of resolving and of passes over several
 * addresses share. Life's address is the first.
 */
#ifndef TESTS_UNIT_CHANNEL_TOWN_H
#define TESTS_UNIT_CHANNEL_TOWN_H

#include <errno.h>
#include <string.h>

#include "channel/channel.h"
#include "channel/channel_resolve.h"
#include "channel/failure.h"
#include "testkit/names.h"
#include "tests/sim/life.h"

#define TOWN_TARGET "svc.test:80"

struct town {
    struct life life;
    struct names names;
    struct name *name;        /* svc.test, answered with 10.0.0.1 at once */
    struct sim_host *hosts[4]; /* 10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80 and [::1]:80 */
};

static inline void town_begin(struct town *town)
{
    static const char *const addresses[] = {"10.0.0.2:80", "10.0.0.3:80", "[::1]:80"};
    memset(town, 0, sizeof(*town));
    life_begin(&town->life, 11);
    town->life.options.idle_timeout_ns = LULL_NEVER;
    town->hosts[0] = town->life.host;
    for (size_t i = 0; i < 3; i++) {
        town->hosts[i + 1] =
            sim_host_add(&town->life.sim, addresses[i], peer_accept, &town->life.peer);
        ck_assert_ptr_nonnull(town->hosts[i + 1]);
    }
    names_init(&town->names);
    town->name = names_add(&town->names, "svc.test", "10.0.0.1");
    town->life.sim.world.resolve = &town->names.base;
}

static inline void town_open(struct town *town, const char *target)
{
    struct lull_error error;
    int rc = lull_channel_new(target, &town->life.options, &town->life.channel, &error);
    ck_assert_msg(rc == LULL_OK, "%s", error.text);
}

/* Nothing is left of the channel, and nothing of its questions. */
static inline void town_end(struct town *town)
{
    life_end(&town->life);
    ck_assert_uint_eq(town->names.open, 0);
}

static inline void town_refuse(struct town *town, size_t host)
{
    town->hosts[host]->refuse_errno = ECONNREFUSED;
}

/* A call that ends OK at once. */
static inline void town_call_now(struct town *town)
{
    struct life *life = &town->life;
    struct life_call call;
    life_call(life, &call, LULL_NEVER, false);
    sim_settle(&life->sim);
    life_expect_call(&call, LULL_CODE_OK, sim_elapsed_ns(&life->sim));
}

/* The server goes away: its connection ends, and so does everything that dials it. */
static inline void town_lose(struct town *town)
{
    town_refuse(town, 0);
    ck_assert(peer_hang_up(&town->life.peer));
    sim_settle(&town->life.sim);
}

static inline void town_expect_line(const struct life_call *call, const char *part)
{
    ck_assert_msg(strstr(call->line, part) != NULL, "no \"%s\" in: %s", part, call->line);
}

/*
 * RULINGS 11: in TRANSIENT_FAILURE exactly one next step exists. Who makes it is the subchannel, by its one timer, or, while no address
 * is known, the question.
 */
static inline void town_expect_next_step(struct town *town)
{
    const struct subchannel *sub = &town->life.channel->subchannel;
    const bool sub_acts = sub->phase == SUBCHANNEL_BACKOFF || sub->phase == SUBCHANNEL_SPACING ||
                          subchannel_is_attempting(sub);
    if (life_state(&town->life) != LULL_STATE_TRANSIENT_FAILURE) {
        return;
    }
    ck_assert(sub_acts == lull_rescheduler_is_enabled(&sub->timer));
    if (!sub_acts) {
        struct failure_facts facts;
        memset(&facts, 0, sizeof(facts));
        channel_resolve_facts(town->life.channel, &facts);
        ck_assert_uint_eq(sub->address_count, 0);
        ck_assert(facts.is_attempting != (facts.next_attempt_after_ns != LULL_NEVER));
    }
}

#endif
