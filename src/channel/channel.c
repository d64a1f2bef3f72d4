/* SPDX-License-Identifier: MIT */
/*
 * The channel's public side and its connectivity. See channel.h and lull/channel.h.
 */
#include "channel/channel.h"

#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/rc.h"
#include "base/strbuf.h"
#include "channel/call.h"
#include "channel/channel_idle.h"
#include "channel/channel_resolve.h"
#include "channel/options.h"
#include "exec/executor.h"
#include "exec/lane.h"
#include "lull/credentials.h"
#include "loop/loop.h"
#include "lull/version.h"
#include "net/endpoint_tls.h"
#include "net/resolver.h"
#include "net/target.h"

#define OUR_USER_AGENT "grpc-c-lull/" LULL_VERSION

const char *lull_state_name(int state)
{
    static const char *const names[] = {"IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE",
                                        "SHUTDOWN"};
    return state < 0 || (size_t)state >= sizeof(names) / sizeof(names[0]) ? "unknown"
                                                                          : names[state];
}

/* ---- counts */

static void free_channel(struct lull_channel *channel)
{
    executor_on_channel_freed(channel->executor);
    /* A loop of its own is kept by whoever brought us here, out of any turn, and goes with that one. */
    loop_unkeep_not_last(channel->world.loop);
    channel_watch_fini(channel);
    channel_timeouts_stop(channel);
    channel_resolve_fini(channel);
    subchannel_fini(&channel->subchannel);
    call_arenas_fini(&channel->arenas);
    lull_recycler_free(channel->recycler);
    mem_release(channel->allocator, channel->target);
    mem_release(channel->allocator, channel->authority);
    mem_release(channel->allocator, channel->user_agent);
    lull_credentials_unref(channel->options.credentials);
    mem_release(channel->allocator, channel);
}

static void run_dead(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    free_channel(container_of(task, struct lull_channel, dead));
}

static void free_if_gone(struct lull_channel *channel)
{
    if (channel->refs != 0 || channel->holds != 0 || channel->is_dying ||
        !subchannel_is_gone(&channel->subchannel)) {
        return;
    }
    channel->is_dying = true;
    lanes_disarm_empty(executor_lanes(channel->executor));
    if (executor_is_in_turn(channel->executor)) {
        executor_post_dead(channel->executor, &channel->dead);
    } else {
        free_channel(channel);
    }
}

void channel_hold(struct lull_channel *channel)
{
    channel->holds++;
}

void channel_release(struct lull_channel *channel)
{
    LULL_INVARIANT(channel->holds > 0, "a hold on a channel was given back twice");
    channel->holds--;
    free_if_gone(channel);
}

/* ---- connectivity */

void channel_set_state(struct lull_channel *channel, enum lull_state state, const char *why)
{
    struct strbuf sb;
    if (channel->state == state) {
        return;
    }
    strbuf_init(&sb, channel->reason, sizeof(channel->reason));
    strbuf_add(&sb, why);
    TRACE(&channel->trace, LULL_EVENT_STATE, 0, "%s -> %s: %s",
          lull_state_name((int)channel->state), lull_state_name((int)state), why);
    channel->state = state;
    channel->state_at = lull_executor_now(channel->executor);
    channel_watch_on_state(channel);
}

static struct lull_channel *channel_of(struct subchannel *subchannel)
{
    return container_of(subchannel, struct lull_channel, subchannel);
}

/*
 * The channel's state from its subchannel's phase. TRANSIENT_FAILURE is sticky (gRFC A62): the attempts that follow do
 * not show until one succeeds, so that calls which do not want to wait fail at once while the server is away.
 */
static void on_phase(struct subchannel *subchannel, const char *why)
{
    struct lull_channel *channel = channel_of(subchannel);
    switch (subchannel->phase) {
    case SUBCHANNEL_IDLE:
        if (channel->state == LULL_STATE_READY) {
            channel_resolve_refresh(channel);
        }
        channel_set_state(channel, LULL_STATE_IDLE, why);
        break;
    case SUBCHANNEL_SPACING:
    case SUBCHANNEL_DIALLING:
    case SUBCHANNEL_GREETING:
        if (channel->state != LULL_STATE_TRANSIENT_FAILURE) {
            channel_set_state(channel, LULL_STATE_CONNECTING, why);
        }
        break;
    case SUBCHANNEL_READY:
        channel->is_wanted = false;
        channel_resolve_on_ready(channel);
        channel_set_state(channel, LULL_STATE_READY, why);
        break;
    case SUBCHANNEL_BACKOFF:
        channel->is_wanted = false;
        channel_set_state(channel, LULL_STATE_TRANSIENT_FAILURE, why);
        break;
    case SUBCHANNEL_CLOSED:
        break;
    }
    channel_queue_on_phase(channel);
}

static void on_attempt_failed(struct subchannel *subchannel)
{
    channel_queue_on_attempt_failed(channel_of(subchannel));
    channel_resolve_refresh(channel_of(subchannel));
}

static void on_capacity(struct subchannel *subchannel)
{
    struct lull_channel *channel = channel_of(subchannel);
    if (!list_is_empty(&channel->queue)) {
        channel_post_pump(channel);
    }
}

static bool is_wanted(struct subchannel *subchannel)
{
    const struct lull_channel *channel = channel_of(subchannel);
    return channel->is_wanted || !list_is_empty(&channel->queue);
}

static void on_connection_gone(struct subchannel *subchannel)
{
    struct lull_channel *channel = channel_of(subchannel);
    channel_idle_on_connection_gone(channel);
    free_if_gone(channel);
}

static const struct subchannel_ops subchannel_ops = {
    .on_phase = on_phase,
    .on_attempt_failed = on_attempt_failed,
    .on_capacity = on_capacity,
    .is_wanted = is_wanted,
    .on_connection_gone = on_connection_gone,
};

/* ---- making one */

static int copy_text(struct lull_channel *channel, char **out, const char *text, const char *more)
{
    size_t len = strlen(text);
    size_t more_len = strlen(more);
    char *copy = mem_alloc(channel->allocator, len + more_len + 1);
    if (copy == NULL) {
        return LULL_RC_NOMEM;
    }
    channel->counters->allocations++;
    memcpy(copy, text, len);
    memcpy(copy + len, more, more_len + 1);
    *out = copy;
    return LULL_OK;
}

/* The world's members, and the real thing where it has none. */
static int resolve_world(const struct lull_channel_options *options, struct lull_loop *own,
                         struct lull_world *world, struct lull_error *error)
{
    lull_world_init(world);
    if (options->world != NULL) {
        *world = *options->world;
    }
    if (options->loop != NULL && world->loop != NULL && options->loop != world->loop) {
        return rc_fail(error, LULL_RC_INVALID, "options loop and world->loop are two loops");
    }
    if (options->loop != NULL) {
        world->loop = options->loop;
    }
    if (world->loop == NULL) {
        world->loop = own;
    }
    struct lull_clock *clock = lull_executor_clock(lull_loop_executor(world->loop));
    if (world->clock != NULL && world->clock != clock) {
        return rc_fail(error, LULL_RC_INVALID,
                       "world->clock (%s) is not the clock of the loop's executor (%s)",
                       world->clock->name, clock->name);
    }
    world->clock = clock;
    if (world->dial == NULL) {
        world->dial = dialer_tcp();
    }
    if (world->resolve == NULL) {
        world->resolve = resolver_default();
    }
    return LULL_OK;
}

static int set_up_texts(struct lull_channel *channel, const char *target,
                        const struct target *parsed)
{
    const char *authority =
        channel->options.authority != NULL ? channel->options.authority : parsed->authority;
    const char *agent = channel->options.user_agent != NULL ? channel->options.user_agent : "";
    int rc = copy_text(channel, &channel->target, target, "");
    if (rc == LULL_OK) {
        rc = copy_text(channel, &channel->authority, authority, "");
    }
    if (rc == LULL_OK) {
        rc = copy_text(channel, &channel->user_agent, agent,
                       *agent != '\0' ? " " OUR_USER_AGENT : OUR_USER_AGENT);
    }
    return rc;
}

static int set_up_subchannel(struct lull_channel *channel, const struct target *target)
{
    const struct lull_channel_options *o = &channel->options;
    const bool is_tls = o->credentials != NULL;
    if (o->on_socket != NULL && channel->world.dial == dialer_tcp()) {
        dialer_hooked_init(&channel->hooked, o->on_socket, o->on_socket_ctx);
        channel->world.dial = &channel->hooked.base;
    }
    struct subchannel_options options = {
        .executor = channel->executor,
        .loop = channel->world.loop,
        .dialer = is_tls ? &channel->tls.base : channel->world.dial,
        .random = channel->world.random,
        .trace = &channel->trace,
        .allocator = channel->allocator,
        .keepalive_interval = &channel->keepalive_interval,
        .name = channel->target,
        .tcp_keepalive = o->tcp_keepalive,
        .transport =
            {
                .stream_window_bytes = o->stream_window_bytes,
                .connection_window_bytes = o->connection_window_bytes,
                .max_metadata_bytes = o->max_metadata_bytes,
                .scheme = is_tls ? "https" : "http",
                .authority = channel->authority,
                .user_agent = channel->user_agent,
                .keepalive = {.timeout_ns = o->keepalive_timeout_ns,
                              .without_calls = o->keepalive_without_calls},
            },
    };
    if (is_tls) {
        dialer_tls_init(&channel->tls, channel->world.dial, o->credentials, channel->authority);
    }
    backoff_options_init(&options.backoff);
    options.backoff.initial_ns = o->backoff_initial_ns;
    options.backoff.max_ns = o->backoff_max_ns;
    options.backoff.multiplier = o->backoff_multiplier;
    options.backoff.jitter = o->backoff_jitter;
    options.backoff.min_connect_ns = o->min_connect_timeout_ns;
    /* Tests and demonstrations with short waits want a spacing to match. */
    if (o->allow_short_timers && o->backoff_initial_ns < options.backoff.spacing_ns) {
        options.backoff.spacing_ns = o->backoff_initial_ns;
    }
    bool had_to_enter = executor_enter(channel->executor);
    int rc = subchannel_init(&channel->subchannel, &subchannel_ops, &options);
    if (rc == LULL_OK) {
        rc = channel_resolve_init(channel, target);
        if (rc == LULL_OK) {
            rc = channel_idle_init(channel);
        }
        if (rc != LULL_OK) {
            channel_resolve_stop(channel);
            subchannel_close(&channel->subchannel);
        }
    }
    executor_leave(channel->executor, had_to_enter);
    return rc;
}

static int set_up_recycler(struct lull_channel *channel)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "call", sizeof(struct lull_call));
    options.allocator = channel->allocator;
    options.counters = channel->counters;
    options.is_owner = executor_is_owner;
    options.owner = channel->executor;
    return lull_recycler_new(&options, &channel->recycler);
}

/* Zeroed, with what cannot fail set up; NULL: no memory. */
static struct lull_channel *make_channel(const struct lull_channel_options *options,
                                         const struct lull_world *world)
{
    struct lull_executor *executor = lull_loop_executor(world->loop);
    const struct lull_allocator *allocator = executor_allocator(executor);
    struct lull_channel *channel = mem_zeroed(allocator, sizeof(*channel));
    if (channel == NULL) {
        return NULL;
    }
    channel->options = *options;
    lull_credentials_ref(options->credentials);
    channel->world = *world;
    channel->executor = executor;
    channel->allocator = allocator;
    channel->counters = executor_counters(executor);
    channel->counters->allocations++;
    executor_on_channel_made(executor);
    (void)executor_keep(executor);
    channel->users = 1;
    channel->refs = 1;
    channel->state = LULL_STATE_IDLE;
    channel->state_at = lull_executor_now(executor);
    lull_keepalive_interval_init(&channel->keepalive_interval, options->keepalive_time_ns,
                                 options->allow_short_timers);
    list_init(&channel->calls);
    channel_queue_init(channel);
    channel_watch_init(channel);
    lull_task_init(&channel->dead, run_dead);
    channel_outside_init(channel);
    call_arenas_init(&channel->arenas, allocator, channel->counters);
    channel_timeouts_start(channel);
    if (channel->world.random == NULL) {
        /* System calls are loop's and net's, so the seed is what differs anyway: when this is, and where the channel lies.
         * Jitter has to spread a fleet, not to keep a secret. */
        uint64_t seed = (uint64_t)lull_executor_now(executor).ns;
        seed = random_splitmix(&seed) ^ (uint64_t)(uintptr_t)channel;
        lull_random_seed(&channel->seeded, random_splitmix(&seed));
        channel->world.random = &channel->seeded.base;
    }
    return channel;
}

/* `own` [nullable] is the channel's own loop, for options that have none. */
static int make_on(const char *target, const struct lull_channel_options *options,
                   struct lull_loop *own, struct lull_channel **out, struct lull_error *error)
{
    struct lull_channel_options resolved;
    struct lull_world world;
    struct target parsed;
    if (target == NULL || out == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL", target == NULL ? "target" : "out");
    }
    int rc = options_resolve(options, &resolved, error);
    if (rc == LULL_OK) {
        rc = resolve_world(&resolved, own, &world, error);
    }
    if (rc == LULL_OK) {
        rc = target_parse(target, resolved.credentials != NULL ? TARGET_PORT_TLS : TARGET_PORT_PLAINTEXT,
                          &parsed, error);
    }
    if (rc == LULL_OK && parsed.addr_count == 0 && world.resolve == NULL) {
        rc = rc_fail(error, LULL_RC_UNSUPPORTED,
                     "target: host \"%.100s\" is a name, and this lull was built without c-ares: write an "
                     "address, a unix socket or localhost",
                     parsed.host);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    struct lull_channel *channel = make_channel(&resolved, &world);
    if (channel == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a channel");
    }
    rc = set_up_texts(channel, target, &parsed);
    if (rc == LULL_OK) {
        rc = set_up_recycler(channel);
    }
    if (rc == LULL_OK) {
        rc = set_up_subchannel(channel, &parsed);
    }
    if (rc != LULL_OK) {
        free_channel(channel);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a channel");
    }
    channel->options.world = &channel->world;
    channel->options.loop = channel->world.loop;
    channel->options.authority = channel->authority;
    channel->options.user_agent = channel->user_agent;
    channel->trace.hook = resolved.trace;
    channel->trace.executor = channel->executor;
    channel->trace.target = channel->target;
    if (resolved.credentials != NULL && tls_is_insecure(resolved.credentials)) {
        TRACE(&channel->trace, LULL_EVENT_WARNING, 0,
              "insecure_skip_verify: any server will be believed to be %s", channel->authority);
    }
    *out = channel;
    return rc_ok(error);
}

static bool has_no_loop(const struct lull_channel_options *options)
{
    return options != NULL && options->size == sizeof(*options) && options->loop == NULL &&
           (options->world == NULL || options->world->loop == NULL);
}

int lull_channel_new(const char *target, const struct lull_channel_options *options,
                     struct lull_channel **out, struct lull_error *error)
{
    struct lull_loop *own = NULL;
    if (has_no_loop(options)) {
        struct lull_executor_options made;
        lull_executor_options_init(&made);
        made.clock = options->world != NULL ? options->world->clock : NULL;
        if (loop_new_kept(&made, &own) != LULL_OK) {
            return rc_fail(error, LULL_RC_NOMEM, "no memory for a loop");
        }
    }
    int rc = make_on(target, options, own, out, error);
    loop_unkeep(own);
    return rc;
}

/* ---- its end */

void channel_close(struct lull_channel *channel)
{
    struct call_outcome outcome = {
        .code = LULL_CODE_UNAVAILABLE,
        .reason = LULL_REASON_CHANNEL_CLOSED,
        .what = "channel closed",
        .http2_error = -1,
    };
    if (channel_is_closed(channel)) {
        return;
    }
    channel_set_state(channel, LULL_STATE_SHUTDOWN, "channel closed");
    LIST_FOR_EACH_SAFE(node, after, &channel->calls)
    {
        call_end(LIST_ENTRY(node, struct lull_call, in_calls), &outcome);
    }
    channel_queue_stop(channel);
    channel_idle_stop(channel);
    channel_resolve_stop(channel);
    subchannel_close(&channel->subchannel);
    lanes_disarm_empty(executor_lanes(channel->executor)); /* RULINGS 3: hard */
}

void channel_end(struct lull_channel *channel)
{
    channel->refs = 0;
    free_if_gone(channel);
}

/* ---- orders, in context */

void channel_connect(struct lull_channel *channel)
{
    if (channel->state == LULL_STATE_IDLE) {
        channel->is_wanted = true;
        channel_idle_on_connect_asked(channel);
        channel_resolve_connect(channel);
    }
}

void channel_reset_backoff(struct lull_channel *channel)
{
    if (channel->state == LULL_STATE_TRANSIENT_FAILURE) {
        subchannel_reset_backoff(&channel->subchannel);
        channel_resolve_reset_backoff(channel);
    }
}

/* ---- asking it */

const struct lull_channel_options *
lull_channel_effective_options(const struct lull_channel *channel)
{
    return &channel->options;
}

struct lull_loop *lull_channel_loop(const struct lull_channel *channel)
{
    return channel->world.loop;
}

const char *lull_channel_target(const struct lull_channel *channel)
{
    return channel->target;
}
