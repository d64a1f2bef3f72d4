/* SPDX-License-Identifier: MIT */
/*
 * The state machine of one address. See subchannel.h.
 */
#include "channel/subchannel.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "channel/failure.h"
#include "exec/executor.h"

#define DEBUG_QUOTED_BYTES 48

static void start_attempt(struct subchannel *sub, struct lull_instant now);

const char *subchannel_phase_name(enum subchannel_phase phase)
{
    static const char *const names[] = {"idle",  "spacing", "dialling", "greeting",
                                        "ready", "backoff", "closed"};
    return names[phase];
}

static void set_phase(struct subchannel *sub, enum subchannel_phase phase, const char *why)
{
    if (sub->phase != phase) {
        sub->phase = phase;
        sub->ops->on_phase(sub, why);
    }
}

/* ---- the end of an attempt */

static void set_failure(struct subchannel *sub, int sys_errno, const char *reason)
{
    struct strbuf sb;
    sub->last_failure.sys_errno = sys_errno;
    strbuf_init(&sb, sub->last_failure.reason, sizeof(sub->last_failure.reason));
    strbuf_add(&sb, reason);
}

/*
 * A server that speaks TLS waits for a ClientHello: to a plaintext channel it says nothing until somebody gives up, or closes.
 * One that answers with an alert is named by h2/preface.c.
 */
static const char *tls_hint(const struct subchannel *sub)
{
    return strcmp(sub->options.transport.scheme, "http") == 0 ? " (a TLS port?)" : "";
}

/* The current connection is not current any more; its transport is told to close unless it ends by itself. */
static void drop_current(struct subchannel *sub, const char *why)
{
    struct connection *connection = sub->current;
    sub->current = NULL;
    if (connection != NULL && why != NULL) {
        h2_transport_close(connection->transport, 0, why);
    }
    endpoint_close(sub->dialled);
    sub->dialled = NULL;
}

static void fail_attempt(struct subchannel *sub, int sys_errno, const char *reason)
{
    struct lull_instant now = lull_executor_now(sub->options.executor);
    drop_current(sub, "the attempt to connect failed");
    set_failure(sub, sys_errno, reason);
    sub->next_at = backoff_on_failed(&sub->backoff, now);
    lull_rescheduler_set(&sub->timer, sub->next_at);

    if (trace_is_on(sub->options.trace)) {
        char next[40];
        struct strbuf sb;
        strbuf_init(&sb, next, sizeof(next));
        strbuf_duration(&sb, lull_instant_diff(sub->next_at, now));
        trace_tell(sub->options.trace, LULL_EVENT_DIAL_FAILED, 0,
                   "%s attempt %" PRIu32 ": %s; next in %s", sub->addr.text, sub->attempts, reason,
                   next);
    }
    set_phase(sub, SUBCHANNEL_BACKOFF, sub->last_failure.reason);
    sub->ops->on_attempt_failed(sub);
}

static void fail_attempt_errno(struct subchannel *sub, int sys_errno)
{
    char text[SUBCHANNEL_REASON_BYTES];
    failure_errno_text(sys_errno, text, sizeof(text));
    fail_attempt(sub, sys_errno, text);
}

/* The endpoint said IO_FAIL. A reason that is no errno says what was done as well. */
static void fail_attempt_endpoint(struct subchannel *sub, const struct endpoint *endpoint)
{
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    if (endpoint->reason_text == NULL) {
        fail_attempt_errno(sub, endpoint->sys_errno);
        return;
    }
    strbuf_init(&sb, text, sizeof(text));
    strbuf_printf(&sb, "%s: %s", endpoint->phase_text, endpoint->reason_text);
    fail_attempt(sub, 0, text);
}

static void on_limit_reached(struct subchannel *sub, struct lull_instant now)
{
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    int64_t took_ns = lull_instant_diff(now, sub->attempt_at);
    strbuf_init(&sb, text, sizeof(text));
    if (sub->phase == SUBCHANNEL_DIALLING) {
        strbuf_add(&sb, subchannel_is_shaking_hands(sub) ? "the TLS handshake was not over within "
                                                         : "no answer within ");
        strbuf_duration(&sb, took_ns);
    } else {
        strbuf_printf(&sb, "no SETTINGS from %s within ", sub->addr.text);
        strbuf_duration(&sb, took_ns);
        strbuf_printf(&sb, ": the peer accepts but does not speak HTTP/2%s", tls_hint(sub));
    }
    fail_attempt(sub, 0, text);
}

/* ---- facts of the transport */

static void on_settings(struct h2_transport *transport)
{
    struct connection *connection = h2_transport_owner(transport);
    struct subchannel *sub = connection->subchannel;
    if (connection != sub->current || sub->phase != SUBCHANNEL_GREETING) {
        return;
    }
    backoff_on_settings(&sub->backoff);
    /* A connection that is up needs no timer: what is armed would only wake a sleeping machine. */
    lull_rescheduler_disarm(&sub->timer);
    set_failure(sub, 0, "");
    sub->history.connections_made++;
    TRACE(sub->options.trace, LULL_EVENT_SETTINGS, 0, "%s", sub->addr.text);
    set_phase(sub, SUBCHANNEL_READY, sub->addr.text);
    sub->ops->on_capacity(sub);
}

static void on_goaway(struct h2_transport *transport, uint32_t code, int32_t last_stream_id,
                      const uint8_t *debug, size_t debug_len)
{
    struct connection *connection = h2_transport_owner(transport);
    struct subchannel *sub = connection->subchannel;
    struct strbuf sb;
    connection->has_goaway = true;
    strbuf_init(&sb, connection->goaway_text, sizeof(connection->goaway_text));
    strbuf_printf(&sb, "GOAWAY(%s", status_h2_error_name(code));
    if (debug_len > 0) {
        strbuf_add(&sb, ", ");
        strbuf_quoted(&sb, debug, debug_len, DEBUG_QUOTED_BYTES);
    }
    strbuf_add(&sb, ")");
    TRACE(sub->options.trace, LULL_EVENT_GOAWAY, 0, "%s: %s, last stream %" PRId32, sub->addr.text,
          connection->goaway_text, last_stream_id);
    if (lull_keepalive_is_too_many_pings(code, debug, debug_len)) {
        subchannel_on_too_many_pings(connection);
    }
    /* Before SETTINGS it is a failed attempt, which on_closed will tell. */
    if (connection == sub->current && sub->phase == SUBCHANNEL_READY) {
        sub->current = NULL;
        set_phase(sub, SUBCHANNEL_IDLE, connection->goaway_text);
    }
}

static void on_capacity(struct h2_transport *transport)
{
    struct connection *connection = h2_transport_owner(transport);
    if (connection == connection->subchannel->current) {
        connection->subchannel->ops->on_capacity(connection->subchannel);
    }
}

static void on_read(struct h2_transport *transport, struct lull_instant now)
{
    /* Life is the transport's own affair (h2/keepalive_glue). */
    (void)transport;
    (void)now;
}

static void fail_greeting(struct subchannel *sub, const struct h2_transport_end *end)
{
    char text[SUBCHANNEL_REASON_BYTES];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    bool is_mute =
        end->bytes_read == 0 &&
        (end->kind == H2_LOST_EOF || (end->kind == H2_LOST_ERRNO && end->sys_errno == ECONNRESET));
    strbuf_printf(&sb, "%s%s", end->text, is_mute ? tls_hint(sub) : "");
    fail_attempt(sub, end->sys_errno, text);
}

static void on_transport_closed(struct h2_transport *transport, const struct h2_transport_end *end)
{
    struct connection *connection = h2_transport_owner(transport);
    struct subchannel *sub = connection->subchannel;
    bool was_current = connection == sub->current;
    list_remove(&connection->link);
    subchannel_keep_pings(connection);
    if (!end->before_settings && end->kind != H2_LOST_LOCAL) {
        sub->history.connections_lost++;
    }
    mem_release(sub->options.allocator, connection);
    if (was_current) {
        sub->current = NULL;
        if (sub->phase == SUBCHANNEL_GREETING) {
            fail_greeting(sub, end);
        } else if (sub->phase == SUBCHANNEL_READY) {
            TRACE(sub->options.trace, LULL_EVENT_LOST, 0, "%s: %s", sub->addr.text, end->text);
            set_failure(sub, end->sys_errno, end->text);
            set_phase(sub, SUBCHANNEL_IDLE, end->text);
        }
    }
    sub->ops->on_connection_gone(sub);
}

static const struct h2_transport_ops transport_ops = {
    .on_settings = on_settings,
    .on_goaway = on_goaway,
    .on_capacity = on_capacity,
    .on_read = on_read,
    .on_closed = on_transport_closed,
};

/* ---- an attempt */

/* From an endpoint that is connected to a transport that waits for SETTINGS. */
static void greet(struct subchannel *sub)
{
    struct connection *connection = mem_zeroed(sub->options.allocator, sizeof(*connection));
    if (connection == NULL) {
        fail_attempt(sub, 0, "no memory for a connection");
        return;
    }
    executor_counters(sub->options.executor)->allocations++;
    struct h2_transport_options options = sub->options.transport;
    connection->subchannel = sub;
    connection->keepalive_time_ns = lull_keepalive_interval_ns(
        sub->options.keepalive_interval, lull_executor_now(sub->options.executor));
    options.keepalive.time_ns = connection->keepalive_time_ns;
    options.keepalive.is_system_off = !sub->options.tcp_keepalive;
    if (h2_transport_new(sub->options.executor, sub->dialled, &options, &transport_ops, connection,
                         &connection->transport) != LULL_OK) {
        mem_release(sub->options.allocator, connection);
        fail_attempt(sub, 0, "no memory for a connection");
        return;
    }
    if (trace_is_on(sub->options.trace)) {
        char text[ADDR_TEXT_BYTES + 96];
        struct strbuf sb;
        strbuf_init(&sb, text, sizeof(text));
        strbuf_add(&sb, sub->addr.text);
        endpoint_describe(sub->dialled, &sb);
        trace_tell(sub->options.trace, LULL_EVENT_CONNECTED, 0, "%s", text);
    }
    sub->dialled = NULL;
    sub->current = connection;
    list_push_back(&sub->connections, &connection->link);
    subchannel_watch_pings(connection);
    set_phase(sub, SUBCHANNEL_GREETING, sub->addr.text);
}

static void on_dialled_ready(struct endpoint *endpoint, unsigned ready)
{
    struct subchannel *sub = endpoint->owner;
    (void)ready;
    if (endpoint != sub->dialled) {
        return;
    }
    switch (endpoint_finish_connect(endpoint)) {
    case IO_AGAIN:
        break;
    case IO_OK:
        greet(sub);
        break;
    default:
        fail_attempt_endpoint(sub, endpoint);
        break;
    }
}

static void start_attempt(struct subchannel *sub, struct lull_instant now)
{
    double unit = lull_random_between(sub->options.random, 0.0, 1.0);
    struct lull_instant limit_at = backoff_on_attempt_started(&sub->backoff, now, unit);
    sub->attempts++;
    sub->attempt_at = now;
    lull_rescheduler_set(&sub->timer, limit_at);
    set_phase(sub, SUBCHANNEL_DIALLING, sub->addr.text);
    TRACE(sub->options.trace, LULL_EVENT_DIAL, 0, "%s attempt %" PRIu32, sub->addr.text,
          sub->attempts);

    int err = sub->options.dialer->ops->dial(sub->options.dialer, sub->options.loop,
                                             sub->options.executor, &sub->addr, &sub->dialled);
    if (err != 0) {
        sub->dialled = NULL;
        fail_attempt_errno(sub, err);
        return;
    }
    sub->dialled->owner = sub;
    sub->dialled->on_ready = on_dialled_ready;
    if (!sub->options.tcp_keepalive) {
        /* Best effort, as switching it on is. */
        (void)endpoint_system_keepalive(sub->dialled, false);
    }
    err = endpoint_want(sub->dialled, LULL_WANT_WRITE);
    if (err != 0) {
        fail_attempt_errno(sub, err);
    }
}

static void timer_expired(struct lull_rescheduler *timer, struct lull_instant now)
{
    struct subchannel *sub = container_of(timer, struct subchannel, timer);
    switch (sub->phase) {
    case SUBCHANNEL_SPACING:
        if (!sub->ops->is_wanted(sub)) {
            set_phase(sub, SUBCHANNEL_IDLE, "nobody waits for a connection any more");
            break;
        }
        start_attempt(sub, now);
        break;
    case SUBCHANNEL_BACKOFF:
        start_attempt(sub, now);
        break;
    case SUBCHANNEL_DIALLING:
    case SUBCHANNEL_GREETING:
        on_limit_reached(sub, now);
        break;
    default:
        break;
    }
}

/* ---- what the channel asks for */

int subchannel_init(struct subchannel *subchannel, const struct subchannel_ops *ops,
                    const struct subchannel_options *options, const struct addr *addr)
{
    memset(subchannel, 0, sizeof(*subchannel));
    subchannel->ops = ops;
    subchannel->options = *options;
    subchannel->addr = *addr;
    subchannel->phase = SUBCHANNEL_IDLE;
    subchannel->next_at = lull_at(LULL_NEVER);
    backoff_init(&subchannel->backoff, &options->backoff);
    list_init(&subchannel->connections);
    subchannel_pings_init(subchannel);
    return lull_rescheduler_init(&subchannel->timer, options->executor, timer_expired);
}

void subchannel_connect(struct subchannel *subchannel)
{
    struct lull_instant now = lull_executor_now(subchannel->options.executor);
    if (subchannel->phase != SUBCHANNEL_IDLE) {
        return;
    }
    struct lull_instant at = backoff_on_connection_lost(&subchannel->backoff, now);
    if (lull_instant_before(now, at)) {
        subchannel->next_at = at;
        lull_rescheduler_set(&subchannel->timer, at);
        set_phase(subchannel, SUBCHANNEL_SPACING, subchannel->addr.text);
        return;
    }
    start_attempt(subchannel, now);
}

void subchannel_reset_backoff(struct subchannel *subchannel)
{
    struct lull_instant now = lull_executor_now(subchannel->options.executor);
    if (subchannel->phase != SUBCHANNEL_BACKOFF) {
        return;
    }
    subchannel->next_at = backoff_reset(&subchannel->backoff, now);
    if (lull_instant_before(now, subchannel->next_at)) {
        lull_rescheduler_set(&subchannel->timer, subchannel->next_at);
        return;
    }
    start_attempt(subchannel, now);
}

void subchannel_close(struct subchannel *subchannel)
{
    if (subchannel->phase == SUBCHANNEL_CLOSED) {
        return;
    }
    subchannel->phase = SUBCHANNEL_CLOSED;
    lull_rescheduler_fini(&subchannel->timer);
    drop_current(subchannel, NULL);
    LIST_FOR_EACH_SAFE(node, after, &subchannel->connections)
    {
        h2_transport_close(LIST_ENTRY(node, struct connection, link)->transport, 0,
                           "channel closed");
    }
}

void subchannel_retire(struct subchannel *subchannel)
{
    struct connection *connection = subchannel->current;
    if (connection == NULL || subchannel->phase != SUBCHANNEL_READY) {
        return;
    }
    subchannel->current = NULL;
    h2_transport_drain(connection->transport);
    set_phase(subchannel, SUBCHANNEL_IDLE, "the connection takes no more calls");
}

void subchannel_fall_idle(struct subchannel *subchannel, const char *why)
{
    if (subchannel->phase == SUBCHANNEL_CLOSED) {
        return;
    }
    lull_rescheduler_disarm(&subchannel->timer);
    subchannel->next_at = lull_at(LULL_NEVER);
    (void)backoff_reset(&subchannel->backoff, lull_executor_now(subchannel->options.executor));
    set_failure(subchannel, 0, "");
    drop_current(subchannel, NULL);
    LIST_FOR_EACH_SAFE(node, after, &subchannel->connections)
    {
        struct h2_transport *transport = LIST_ENTRY(node, struct connection, link)->transport;
        if (h2_transport_streams(transport) == 0) {
            h2_transport_close(transport, 0, why);
        } else {
            h2_transport_drain(transport);
        }
    }
    set_phase(subchannel, SUBCHANNEL_IDLE, why);
}

void subchannel_on_call_completed(struct subchannel *subchannel,
                                  const struct connection *connection)
{
    bool is_spaced = subchannel->phase == SUBCHANNEL_SPACING;
    /* When a later attempt has begun, its spacing is its own, and this call says nothing about it. */
    if (connection != subchannel->current && subchannel->phase != SUBCHANNEL_IDLE && !is_spaced) {
        return;
    }
    backoff_on_call_completed(&subchannel->backoff);
    if (is_spaced) {
        /* nghttp2 may be on the stack: the timer dials. */
        struct lull_instant now = lull_executor_now(subchannel->options.executor);
        subchannel->next_at = backoff_next_at(&subchannel->backoff, now);
        lull_rescheduler_set(&subchannel->timer, subchannel->next_at);
    }
}

struct connection *subchannel_ready_connection(const struct subchannel *subchannel)
{
    return subchannel->phase == SUBCHANNEL_READY ? subchannel->current : NULL;
}

bool subchannel_is_shaking_hands(const struct subchannel *subchannel)
{
    return subchannel->dialled != NULL && *subchannel->dialled->phase_text != '\0';
}

bool subchannel_is_attempting(const struct subchannel *subchannel)
{
    return subchannel->phase == SUBCHANNEL_DIALLING || subchannel->phase == SUBCHANNEL_GREETING;
}

int64_t subchannel_next_attempt_after(const struct subchannel *subchannel, struct lull_instant now)
{
    if (subchannel->phase != SUBCHANNEL_BACKOFF && subchannel->phase != SUBCHANNEL_SPACING) {
        return LULL_NEVER;
    }
    int64_t after_ns = lull_instant_diff(subchannel->next_at, now);
    return after_ns > 0 ? after_ns : 0;
}

bool subchannel_is_gone(const struct subchannel *subchannel)
{
    return subchannel->phase == SUBCHANNEL_CLOSED && list_is_empty(&subchannel->connections);
}
