/* SPDX-License-Identifier: MIT */
#include "testkit/sim.h"

#include "base/container.h"
#include "base/invariant.h"
#include "exec/executor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One connect that is under way. */
struct sim_dial {
    struct lull_timer decided;
    struct sim *sim;
    struct sim_host *host;
    struct endpoint *near_end;
    struct endpoint *far_end;
    struct sim_dial *next;
};

/* ---- the loop: nothing to watch, and the fake clock asks the executor itself when to run */

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

/* ---- connects */

static void forget(struct sim_dial *dial)
{
    struct sim_dial **link = &dial->sim->dials;

    while (*link != dial) {
        link = &(*link)->next;
    }
    *link = dial->next;
    lull_timer_fini(&dial->decided);
    free(dial);
}

/*
 * The near end is its owner's: a connect that was given up has closed it, and the pipe then tells nothing to anybody. The far end stays
 * ours until it is accepted.
 */
static void decide(struct lull_timer *timer, struct lull_instant now)
{
    struct sim_dial *dial = container_of(timer, struct sim_dial, decided);
    struct sim_host *host = dial->host;
    struct sim *sim = dial->sim;

    if (host->refuse_errno != 0) {
        tape_line(&sim->tape, now, host->address, "refuses (%d)", host->refuse_errno);
        endpoint_pipe_refuse(dial->near_end, host->refuse_errno);
        endpoint_close(dial->far_end);
    } else {
        tape_line(&sim->tape, now, host->address, "accepts");
        endpoint_pipe_connected(dial->near_end);
        host->accept(sim, dial->far_end, host->ctx);
    }
    forget(dial);
}

/* The far end of a connect that is not decided yet hears of the near end's close: nobody dials any more. */
static void given_up(struct endpoint *far_end, unsigned ready)
{
    struct sim_dial *dial = (struct sim_dial *)far_end->owner;

    (void)ready;
    tape_line(&dial->sim->tape, lull_executor_now(far_end->executor), dial->host->address, "was given up");
    endpoint_close(far_end);
    forget(dial);
}

static struct sim_host *find_host(struct sim *sim, const char *address)
{
    for (size_t i = 0; i < sim->host_count; i++) {
        if (strcmp(sim->hosts[i].address, address) == 0) {
            return &sim->hosts[i];
        }
    }
    return NULL;
}

static void enter_peers(struct sim *sim)
{
    int rc = lull_executor_enter(sim->peers);

    LULL_INVARIANT(rc == LULL_OK, "the simulated world is touched inside a turn of its peers");
}

/* The pipe, and the timer that decides. 0 or ENOMEM. In the context of both executors. */
static int begin(struct sim_dial *dial, struct sim_host *host, struct lull_executor *executor, const struct addr *to)
{
    struct sim *sim = dial->sim;
    struct pipe_options pipe = host->pipe;

    if (lull_timer_init(&dial->decided, sim->peers, decide) != LULL_OK) {
        return ENOMEM;
    }
    pipe.connecting = true;
    if (endpoint_pipe_new(executor, sim->peers, to, to, &pipe, &dial->near_end, &dial->far_end) != 0) {
        lull_timer_fini(&dial->decided);
        return ENOMEM;
    }
    dial->host = host;
    dial->next = sim->dials;
    sim->dials = dial;
    dial->far_end->owner = dial;
    dial->far_end->on_ready = given_up;
    endpoint_want(dial->far_end, LULL_WANT_READ);
    lull_timer_arm(&dial->decided, lull_instant_add(host->dialled_at, host->connect_after_ns));
    return 0;
}

static int dial_pipe(struct lull_dialer *dialer, struct lull_loop *loop, struct lull_executor *executor,
                     const struct addr *to, struct endpoint **out)
{
    struct sim *sim = container_of(dialer, struct sim, dialer);
    struct lull_instant now = lull_executor_now(executor);
    struct sim_host *host = find_host(sim, to->text);
    struct sim_dial *dial;
    int err;

    (void)loop;
    tape_line(&sim->tape, now, to->text, "is dialled");
    if (host == NULL) {
        return EHOSTUNREACH;
    }
    host->dials++;
    host->dialled_at = now;
    dial = (struct sim_dial *)calloc(1, sizeof(*dial));
    if (dial == NULL) {
        return ENOMEM;
    }
    dial->sim = sim;
    enter_peers(sim);
    err = begin(dial, host, executor, to);
    lull_executor_leave(sim->peers);
    if (err != 0) {
        free(dial);
        return err;
    }
    *out = dial->near_end;
    return 0;
}

static const struct dialer_ops dialer_ops = {.dial = dial_pipe};

/* ---- the world */

static void record_event(void *ctx, const struct lull_event *event)
{
    struct sim *sim = (struct sim *)ctx;

    tape_line(&sim->tape, event->at, "channel", "%d call %" PRIu64 " %s", (int)event->kind, event->call_id, event->detail);
}

int sim_init(struct sim *sim, uint64_t seed)
{
    struct lull_executor_options options;
    int64_t origin_ns;
    int rc;

    memset(sim, 0, sizeof(*sim));
    sim->seed = seed;
    printf("sim: seed %" PRIu64 "\n", seed);
    lull_random_seed(&sim->random, seed);
    /* Nothing may depend on where the clock starts: 0, before it, or far beyond any uptime. */
    origin_ns = (int64_t)(sim_below(sim, 3)) * 3000000 * LULL_SECOND - 3000000 * LULL_SECOND;
    lull_fake_clock_init(&sim->clock, origin_ns, INT64_C(1800000000) * LULL_SECOND);
    sim->began_at = sim->clock.mono_at;
    tape_init(&sim->tape);
    lull_executor_options_init(&options);
    options.clock = &sim->clock.base;
    rc = lull_loop_init(&sim->loop, &loop_ops, "sim", &options);
    if (rc != LULL_OK) {
        return rc;
    }
    rc = lull_executor_new(&options, &sim->peers);
    if (rc == LULL_OK) {
        rc = lull_executor_attach(sim->loop.executor, &sim->clock);
    }
    if (rc == LULL_OK) {
        rc = lull_executor_attach(sim->peers, &sim->clock);
    }
    if (rc != LULL_OK) {
        lull_loop_fini(&sim->loop);
        lull_executor_free(sim->peers);
        return rc;
    }
    sim->dialer.ops = &dialer_ops;
    lull_world_init(&sim->world);
    sim->world.clock = &sim->clock.base;
    sim->world.random = &sim->random.base;
    sim->world.dial = &sim->dialer;
    sim->world.loop = &sim->loop;
    return LULL_OK;
}

void sim_fini(struct sim *sim)
{
    enter_peers(sim);
    while (sim->dials != NULL) {
        endpoint_close(sim->dials->far_end);
        forget(sim->dials);
    }
    lull_executor_leave(sim->peers);
    lull_fake_clock_settle(&sim->clock);
    lull_loop_fini(&sim->loop);
    lull_executor_free(sim->peers);
    tape_fini(&sim->tape);
}

struct lull_executor *sim_executor(struct sim *sim)
{
    return sim->loop.executor;
}

struct lull_counters sim_counters(const struct sim *sim)
{
    struct lull_counters counters;

    memset(&counters, 0, sizeof(counters));
    counters.size = sizeof(counters);
    lull_executor_counters(sim->loop.executor, &counters);
    return counters;
}

void sim_channel_options(struct sim *sim, struct lull_channel_options *options)
{
    lull_channel_options_init(options);
    options->world = &sim->world;
    options->loop = &sim->loop;
    options->trace.event = record_event;
    options->trace.ctx = sim;
}

struct sim_host *sim_host_add(struct sim *sim, const char *address, sim_accept_fn accept, void *ctx)
{
    struct sim_host *host;

    if (sim->host_count == SIM_HOSTS_MAX) {
        return NULL;
    }
    host = &sim->hosts[sim->host_count++];
    memset(host, 0, sizeof(*host));
    host->address = address;
    host->accept = accept;
    host->ctx = ctx;
    return host;
}

void sim_advance(struct sim *sim, int64_t by_ns)
{
    lull_fake_clock_advance(&sim->clock, by_ns);
}

void sim_settle(struct sim *sim)
{
    lull_fake_clock_settle(&sim->clock);
}

int64_t sim_elapsed_ns(const struct sim *sim)
{
    return lull_instant_diff(sim->clock.mono_at, sim->began_at);
}

uint64_t sim_below(struct sim *sim, uint64_t bound)
{
    return bound == 0 ? 0 : sim->random.base.next(&sim->random.base) % bound;
}
