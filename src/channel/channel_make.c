/* SPDX-License-Identifier: MIT */
/*
 * Making a channel.
 *
 * Decides: what of a world that has gaps is the real thing, and in which order the parts are set up. Called by the application
 * (lull/channel.h). Must not know what the channel does from then on.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/rc.h"
#include "base/sized.h"
#include "channel/call.h"
#include "channel/channel.h"
#include "channel/channel_idle.h"
#include "channel/channel_resolve.h"
#include "channel/options.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "lull/credentials.h"
#include "lull/version.h"
#include "net/endpoint_tls.h"
#include "net/resolver.h"
#include "net/target.h"

#define OUR_USER_AGENT "grpc-c-lull/" LULL_VERSION

/* The world's members, and the real thing where it has none. */
static int resolve_world(const struct lull_channel_options *options, struct lull_loop *own,
                         struct lull_world *world, struct lull_error *error)
{
    int rc = loop_settle_world(options->world, options->loop, own, world, error);
    if (rc != LULL_OK) {
        return rc;
    }
    if (world->dial == NULL) {
        world->dial = dialer_tcp();
    }
    if (world->resolve == NULL) {
        world->resolve = resolver_default();
    }
    return LULL_OK;
}

/* Puts a text and its NUL at *at, which moves behind it. */
static const char *put_text(char **at, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*at, text, bytes);
    *at += bytes;
    return copy;
}

/* In one block. */
static int set_up_texts(struct lull_channel *channel, const char *target,
                        const struct target *parsed)
{
    const char *authority =
        channel->options.authority != NULL ? channel->options.authority : parsed->authority;
    const char *agent = channel->options.user_agent;
    const bool has_agent = agent != NULL && *agent != '\0';
    const size_t agent_len = has_agent ? strlen(agent) : 0;
    const size_t agent_bytes = has_agent ? agent_len + sizeof(" " OUR_USER_AGENT) : 0;
    char *at = mem_alloc(channel->allocator, strlen(target) + 1 + strlen(authority) + 1 + agent_bytes);
    if (at == NULL) {
        return LULL_RC_NOMEM;
    }
    channel->counters->allocations++;
    channel->texts = at;
    channel->target = put_text(&at, target);
    channel->authority = put_text(&at, authority);
    channel->user_agent = OUR_USER_AGENT;
    if (has_agent) {
        channel->user_agent = at;
        memcpy(at, agent, agent_len);
        memcpy(at + agent_len, " " OUR_USER_AGENT, sizeof(" " OUR_USER_AGENT));
    }
    return LULL_OK;
}

static int join_pool(struct lull_channel *channel)
{
    channel->pool = call_pool_join(channel->executor, sizeof(struct lull_call));
    if (channel->pool == NULL) {
        return LULL_RC_NOMEM;
    }
    channel->recycler = channel->pool->calls;
    channel->arenas = &channel->pool->arenas;
    return LULL_OK;
}

/* In context. */
static int start_subchannel(struct lull_channel *channel, const struct target *target,
                            const struct subchannel_options *options)
{
    int rc = subchannel_init(&channel->subchannel, channel_subchannel_ops(), options);
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
    return rc;
}

static int set_up_subchannel(struct lull_channel *channel, const struct target *target)
{
    const struct lull_channel_options *o = &channel->options;
    const bool is_tls = o->credentials != NULL;
    if (channel->fd.is_given) {
        channel_fd_set_up(channel);
    } else if (o->on_socket != NULL && channel->world.dial == dialer_tcp()) {
        dialer_hooked_init(&channel->hooked, o->on_socket, o->on_socket_ctx);
        channel->world.dial = &channel->hooked.base;
    }
    struct backoff_options waits;
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
        .is_once = channel->fd.is_given,
        .backoff = &waits,
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
    backoff_options_init(&waits);
    waits.initial_ns = o->backoff_initial_ns;
    waits.max_ns = o->backoff_max_ns;
    waits.multiplier = o->backoff_multiplier;
    waits.jitter = o->backoff_jitter;
    waits.min_connect_ns = o->min_connect_timeout_ns;
    /* Tests and demonstrations with short waits want a spacing to match. */
    if (o->allow_short_timers && o->backoff_initial_ns < waits.spacing_ns) {
        waits.spacing_ns = o->backoff_initial_ns;
    }
    int rc = join_pool(channel);
    return rc == LULL_OK ? start_subchannel(channel, target, &options) : rc;
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
    channel_counts_init(channel);
    channel->state = LULL_STATE_IDLE;
    channel->reason = "";
    channel->state_at = lull_executor_now(executor);
    lull_keepalive_interval_init(&channel->keepalive_interval, options->keepalive_time_ns,
                                 options->allow_short_timers);
    list_init(&channel->calls);
    channel_queue_init(channel);
    channel_watch_init(channel);
    channel_outside_init(channel);
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

/* What a channel is to: a target, or, that being NULL, what is behind a descriptor. */
struct origin {
    const char *target;
    int fd;
};

static int read_origin(const struct origin *origin, const struct lull_channel_options *options,
                       const struct lull_world *world, struct target *parsed, struct lull_error *error)
{
    if (origin->target == NULL) {
        return channel_fd_target(origin->fd, parsed, error);
    }
    int rc = target_parse(origin->target,
                          options->credentials != NULL ? TARGET_PORT_TLS : TARGET_PORT_PLAINTEXT, parsed, error);
    if (rc == LULL_OK && parsed->addr_count == 0 && world->resolve == NULL) {
        rc = rc_fail(error, LULL_RC_UNSUPPORTED,
                     "target: host \"%.100s\" is a name, and this lull was built without c-ares: write an "
                     "address, a unix socket or localhost",
                     parsed->host);
    }
    return rc;
}

static int set_up(struct lull_channel *channel, const struct origin *origin, const struct target *parsed)
{
    char fd_name[DIAL_FD_NAME_BYTES];
    channel->fd.is_given = origin->target == NULL;
    if (channel->fd.is_given) {
        dial_fd_name(origin->fd, fd_name);
    }
    int rc = set_up_texts(channel, origin->target != NULL ? origin->target : fd_name, parsed);
    return rc == LULL_OK ? set_up_subchannel(channel, parsed) : rc;
}

/* In context: the loop may be another thread's to drive, and what it counts is everybody's. NULL: no memory. */
static struct lull_channel *make_in_context(const struct origin *origin, const struct lull_channel_options *options,
                                            const struct lull_world *world, const struct target *parsed)
{
    struct lull_channel *channel = make_channel(options, world);
    if (channel == NULL) {
        return NULL;
    }
    if (set_up(channel, origin, parsed) != LULL_OK) {
        channel_free(channel);
        return NULL;
    }
    channel->options.world = &channel->world;
    channel->options.loop = channel->world.loop;
    channel->options.authority = channel->authority;
    channel->options.user_agent = channel->user_agent;
    trace_init(&channel->trace, &options->trace, &options->log, false, channel->executor,
               channel->target);
    if (options->credentials != NULL && tls_is_insecure(options->credentials)) {
        TRACE(&channel->trace, LULL_EVENT_WARNING, 0,
              "insecure_skip_verify: any server will be believed to be %s", channel->authority);
    }
    return channel;
}

/* `own` [nullable] is the channel's own loop, for options that have none. */
static int make_on(const struct origin *origin, const struct lull_channel_options *options,
                   struct lull_loop *own, struct lull_channel **out, struct lull_error *error)
{
    struct lull_channel_options resolved;
    struct lull_world world;
    struct target parsed;
    int rc = options_resolve(options, &resolved, error);
    if (rc == LULL_OK) {
        rc = resolve_world(&resolved, own, &world, error);
    }
    if (rc == LULL_OK) {
        rc = read_origin(origin, &resolved, &world, &parsed, error);
    }
    if (rc != LULL_OK) {
        return rc;
    }
    if (origin->target == NULL) {
        resolved.idle_timeout_ns = LULL_NEVER; /* it would not wake again */
    }
    struct lull_executor *executor = lull_loop_executor(world.loop);
    bool had_to_enter = executor_enter(executor);
    struct lull_channel *channel = make_in_context(origin, &resolved, &world, &parsed);
    executor_leave(executor, had_to_enter);
    if (channel == NULL) {
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a channel");
    }
    *out = channel;
    return rc_ok(error);
}

static bool has_no_loop(const struct lull_channel_options *options)
{
    return options != NULL && options->size >= SIZED_UP_TO(struct lull_channel_options, loop) && options->loop == NULL &&
           (options->world == NULL || options->world->loop == NULL);
}

/* On the loop that the options have, or one of its own. */
static int make_somewhere(const struct origin *origin, const struct lull_channel_options *options,
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
    int rc = make_on(origin, options, own, out, error);
    loop_unkeep(own);
    return rc;
}

int lull_channel_new(const char *target, const struct lull_channel_options *options,
                     struct lull_channel **out, struct lull_error *error)
{
    const struct origin origin = {.target = target, .fd = -1};
    if (target == NULL || out == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL", target == NULL ? "target" : "out");
    }
    return make_somewhere(&origin, options, out, error);
}

int lull_channel_from_fd(int fd, const struct lull_channel_options *options, struct lull_channel **out,
                         struct lull_error *error)
{
    const struct origin origin = {.target = NULL, .fd = fd};
    if (out == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "out is NULL");
    }
    int rc = make_somewhere(&origin, options, out, error);
    if (rc == LULL_OK) {
        /* Nothing can fail from here on: only now is it ours. */
        channel_fd_take(*out, fd);
    }
    return rc;
}
