/* SPDX-License-Identifier: MIT */
/*
 * Asking for a channel's addresses. See channel_resolve.h.
 *
 * Queries start from a task of ours and answers come from tasks of the resolver's, so neither meets nghttp2 or a half-done change of
 * the channel. An answer to a question that is no longer ours has another epoch.
 */
#include "channel/channel_resolve.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "channel/channel.h"
#include "channel/failure.h"
#include "exec/executor.h"
#include "net/resolver.h"
#include "net/target.h"

#define WHY_BYTES      (TARGET_HOST_BYTES + 20)
#define DURATION_BYTES 40

/* Of a channel whose target is a name. */
struct channel_resolve {
    struct lull_channel *channel;
    struct addr server; /* whom to ask; len 0: whom the system asks */
    uint16_t port;
    int64_t floor_ns;
    int64_t limit_ns;
    struct lull_task ask;
    bool is_ask_posted;
    struct resolver_lookup *lookup; /* while it goes on */
    uint64_t epoch;                 /* of the last question */
    struct lull_instant asked_at;
    struct lull_instant good_at;    /* when the question of the last good answer was asked; INT64_MIN: none yet */
    struct backoff backoff;         /* of queries that fail */
    struct lull_rescheduler retry;  /* TRANSIENT_FAILURE without addresses: the next query */
    bool is_forgotten;              /* idle mode came since the last answer */
    bool is_doubtful;               /* nothing was READY since a loss or a failed pass */
    bool is_stale;                  /* other addresses were wanted too early to ask */
    char why[RESOLVER_WHY_BYTES];   /* the last query failed; "" */
    char host[];
};

static struct lull_instant now_of(const struct channel_resolve *r)
{
    return lull_executor_now(r->channel->executor);
}

static bool is_asking(const struct channel_resolve *r)
{
    return r->is_ask_posted || r->lookup != NULL;
}

static bool has_addresses(const struct channel_resolve *r)
{
    return r->channel->subchannel.address_count > 0;
}

static bool is_floor_over(const struct channel_resolve *r)
{
    return !lull_instant_before(now_of(r), lull_instant_add(r->good_at, r->floor_ns));
}

/* No dial before the next answer. */
static bool needs_answer(const struct channel_resolve *r)
{
    return !has_addresses(r) || (r->is_forgotten && (is_asking(r) || r->is_doubtful || is_floor_over(r)));
}

static void ask_soon(struct channel_resolve *r)
{
    if (!is_asking(r)) {
        r->is_ask_posted = true;
        lull_executor_post(r->channel->executor, &r->ask);
    }
}

/* ---- answers */

/* There are addresses: whoever waits for a connection gets one dialled. TRANSIENT_FAILURE goes on to READY by itself. */
static void go_on(struct lull_channel *channel)
{
    struct subchannel *sub = &channel->subchannel;
    if (channel->is_wanted || !list_is_empty(&channel->queue) ||
        channel->state == LULL_STATE_TRANSIENT_FAILURE) {
        subchannel_connect(sub);
    } else if (sub->phase == SUBCHANNEL_IDLE && channel->state != LULL_STATE_IDLE) {
        channel_set_state(channel, LULL_STATE_IDLE, "nobody waits for a connection any more");
    }
    channel_queue_on_phase(channel);
}

static void trace_failure(const struct channel_resolve *r, struct lull_instant next_at)
{
    char next[DURATION_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, next, sizeof(next));
    strbuf_duration(&sb, lull_instant_diff(next_at, now_of(r)));
    trace_tell(&r->channel->trace, LULL_EVENT_NAME_FAILED, 0, "%s: %s; %s%s", r->host, r->why,
               has_addresses(r) ? "the addresses that are known stay" : "next in ",
               has_addresses(r) ? "" : next);
}

static void on_failed(struct channel_resolve *r, const char *why)
{
    struct lull_channel *channel = r->channel;
    struct lull_instant next_at = backoff_on_failed(&r->backoff, now_of(r));
    struct strbuf sb;
    strbuf_init(&sb, r->why, sizeof(r->why));
    strbuf_add(&sb, why);
    if (trace_wants(&channel->trace, LULL_EVENT_NAME_FAILED)) {
        trace_failure(r, next_at);
    }
    r->is_forgotten = false;
    if (has_addresses(r)) {
        r->is_stale = true;
        go_on(channel);
        return;
    }
    lull_rescheduler_set(&r->retry, next_at);
    channel->is_wanted = false;
    channel_set_state(channel, LULL_STATE_TRANSIENT_FAILURE, r->why);
    channel_queue_on_phase(channel);
    channel_queue_on_attempt_failed(channel);
}

static void trace_answer(const struct channel_resolve *r, const struct resolver_answer *answer)
{
    char text[512];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    for (size_t i = 0; i < answer->count; i++) {
        strbuf_printf(&sb, " %s", answer->addrs[i].text);
    }
    trace_tell(&r->channel->trace, LULL_EVENT_NAME, 0, "%s:%s%s", r->host, text,
               answer->is_last ? "" : ", and perhaps more");
}

static void on_answer(void *ctx, const struct resolver_answer *answer)
{
    struct channel_resolve *r = ctx;
    if (answer->epoch != r->epoch) {
        return;
    }
    if (answer->is_last) {
        r->lookup = NULL;
    }
    if (answer->count == 0) {
        on_failed(r, answer->why);
        return;
    }
    if (trace_wants(&r->channel->trace, LULL_EVENT_NAME)) {
        trace_answer(r, answer);
    }
    if (subchannel_set_addresses(&r->channel->subchannel, answer->addrs, answer->count) !=
        LULL_OK) {
        on_failed(r, "no memory for the addresses");
        return;
    }
    backoff_on_settings(&r->backoff);
    lull_rescheduler_disarm(&r->retry);
    r->good_at = r->asked_at;
    r->is_forgotten = false;
    r->is_stale = false;
    r->why[0] = '\0';
    go_on(r->channel);
}

/* ---- questions */

static void run_ask(struct lull_task *task, struct lull_executor *executor)
{
    struct channel_resolve *r = container_of(task, struct channel_resolve, ask);
    struct lull_channel *channel = r->channel;
    struct lull_resolver *resolver = channel->world.resolve;
    const struct resolver_question question = {
        .host = r->host,
        .port = r->port,
        .server = r->server.len > 0 ? &r->server : NULL,
        .limit_ns = r->limit_ns,
        .epoch = ++r->epoch,
    };
    struct lull_error error;
    r->is_ask_posted = false;
    r->asked_at = now_of(r);
    (void)backoff_on_attempt_started(&r->backoff, r->asked_at,
                                     lull_random_between(channel->world.random, 0.0, 1.0));
    lull_rescheduler_disarm(&r->retry);
    TRACE(&channel->trace, LULL_EVENT_NAME, 0, "%s is asked for", r->host);
    if (resolver->ops->start(resolver, channel->world.loop, executor, &question, on_answer, r,
                             &r->lookup, &error) != LULL_OK) {
        r->lookup = NULL;
        on_failed(r, error.text);
    }
}

static void retry_expired(struct lull_rescheduler *retry, struct lull_instant now)
{
    (void)now;
    ask_soon(container_of(retry, struct channel_resolve, retry));
}

static void forget_question(struct channel_resolve *r)
{
    if (r->is_ask_posted) {
        (void)lull_executor_unpost(r->channel->executor, &r->ask);
        r->is_ask_posted = false;
    }
    if (r->lookup != NULL) {
        r->channel->world.resolve->ops->cancel(r->lookup);
        r->lookup = NULL;
    }
    r->epoch++;
}

/* ---- what the channel asks for */

int channel_resolve_init(struct lull_channel *channel, const struct target *target)
{
    const struct lull_channel_options *options = &channel->options;
    const struct backoff_options *curve = &channel->subchannel.backoff.options;
    size_t len = strlen(target->host) + 1;
    if (target->addr_count > 0) {
        return subchannel_set_addresses(&channel->subchannel, target->addrs, target->addr_count);
    }
    struct channel_resolve *r = mem_zeroed(channel->allocator, sizeof(*r) + len);
    if (r == NULL) {
        return LULL_RC_NOMEM;
    }
    channel->counters->allocations++;
    if (lull_rescheduler_init(&r->retry, channel->executor, retry_expired) != LULL_OK) {
        mem_release(channel->allocator, r);
        return LULL_RC_NOMEM;
    }
    r->channel = channel;
    r->server = target->server;
    r->port = target->port;
    memcpy(r->host, target->host, len);
    r->good_at = lull_at(INT64_MIN);
    r->floor_ns = CHANNEL_RESOLVE_FLOOR_NS;
    r->limit_ns = CHANNEL_RESOLVE_LIMIT_NS;
    if (options->min_connect_timeout_ns < r->limit_ns) {
        r->limit_ns = options->min_connect_timeout_ns;
    }
    /* Tests and demonstrations with short waits want a floor to match. */
    if (options->allow_short_timers && curve->initial_ns < r->floor_ns) {
        r->floor_ns = curve->initial_ns;
    }
    backoff_init(&r->backoff, curve);
    lull_task_init(&r->ask, run_ask);
    channel->resolve = r;
    return LULL_OK;
}

void channel_resolve_stop(struct lull_channel *channel)
{
    if (channel->resolve != NULL) {
        forget_question(channel->resolve);
        lull_rescheduler_fini(&channel->resolve->retry);
    }
}

void channel_resolve_fini(struct lull_channel *channel)
{
    mem_release(channel->allocator, channel->resolve);
    channel->resolve = NULL;
}

void channel_resolve_connect(struct lull_channel *channel)
{
    struct channel_resolve *r = channel->resolve;
    if (channel_fd_has_refused(channel)) {
        return;
    }
    if (r == NULL || !needs_answer(r)) {
        if (r != NULL) {
            r->is_forgotten = false;
        }
        subchannel_connect(&channel->subchannel);
        if (r != NULL && r->is_stale) {
            channel_resolve_refresh(channel);
        }
        return;
    }
    if (!lull_rescheduler_is_enabled(&r->retry)) {
        ask_soon(r);
    }
    if (channel->state == LULL_STATE_IDLE) {
        char why[WHY_BYTES];
        struct strbuf sb;
        strbuf_init(&sb, why, sizeof(why));
        strbuf_printf(&sb, "resolving %s", r->host);
        channel_set_state(channel, LULL_STATE_CONNECTING, why);
    }
}

void channel_resolve_refresh(struct lull_channel *channel)
{
    struct channel_resolve *r = channel->resolve;
    if (r == NULL) {
        return;
    }
    r->is_doubtful = true;
    if (is_asking(r)) {
        return;
    }
    struct lull_instant now = now_of(r);
    if (is_floor_over(r) && !lull_instant_before(now, backoff_next_at(&r->backoff, now))) {
        r->is_stale = false;
        ask_soon(r);
    } else {
        r->is_stale = true;
    }
}

void channel_resolve_on_ready(struct lull_channel *channel)
{
    if (channel->resolve != NULL) {
        channel->resolve->is_doubtful = false;
    }
}

void channel_resolve_reset_backoff(struct lull_channel *channel)
{
    struct channel_resolve *r = channel->resolve;
    if (r == NULL) {
        return;
    }
    struct lull_instant next_at = backoff_reset(&r->backoff, now_of(r));
    if (lull_rescheduler_is_enabled(&r->retry)) {
        lull_rescheduler_set(&r->retry, next_at);
    } else {
        channel_resolve_refresh(channel);
    }
}

void channel_resolve_fall_idle(struct lull_channel *channel)
{
    struct channel_resolve *r = channel->resolve;
    if (r == NULL) {
        return;
    }
    forget_question(r);
    lull_rescheduler_disarm(&r->retry);
    (void)backoff_reset(&r->backoff, now_of(r));
    r->is_forgotten = true;
    r->is_stale = false;
    r->why[0] = '\0';
}

bool channel_is_resolving(const struct lull_channel *channel)
{
    const struct channel_resolve *r = channel->resolve;
    return r != NULL && channel->subchannel.phase == SUBCHANNEL_IDLE && needs_answer(r);
}

void channel_resolve_facts(const struct lull_channel *channel, struct failure_facts *facts)
{
    const struct channel_resolve *r = channel->resolve;
    int64_t after_ns = lull_instant_diff(lull_rescheduler_run_at(&r->retry), now_of(r));
    facts->address = r->host;
    facts->attempts = 0;
    facts->is_attempting = is_asking(r);
    facts->last_attempt = r->why[0] != '\0' ? r->why : NULL;
    facts->next_attempt_after_ns = LULL_NEVER;
    if (lull_rescheduler_is_enabled(&r->retry)) {
        facts->next_attempt_after_ns = after_ns > 0 ? after_ns : 0;
    }
}
