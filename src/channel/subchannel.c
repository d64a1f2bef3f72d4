/* SPDX-License-Identifier: MIT */
/*
 * The state machine: phases, facts of the transports, and what the channel asks for. See subchannel.h.
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

const char *subchannel_phase_name(enum subchannel_phase phase)
{
    static const char *const names[] = {"idle",  "spacing", "dialling", "greeting",
                                        "ready", "backoff", "closed"};
    return names[phase];
}

void subchannel_set_phase(struct subchannel *sub, enum subchannel_phase phase, const char *why)
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
    subchannel_forget_last(sub);
    struct subchannel_failure *failure = subchannel_note(sub, &sub->last_failure);
    if (failure != NULL) {
        failure->sys_errno = sys_errno;
        strbuf_init(&sb, failure->reason, sizeof(failure->reason));
        strbuf_add(&sb, reason);
    }
}

/*
 * A server that speaks TLS waits for a ClientHello: to a plaintext channel it says nothing until somebody gives up, or closes.
 * One that answers with an alert is named by h2/preface.c.
 */
const char *subchannel_tls_hint(const struct subchannel *sub)
{
    return strcmp(sub->options.transport.scheme, "http") == 0 ? " (a TLS port?)" : "";
}

const char *connection_peer_text(const struct connection *connection)
{
    return h2_transport_peer(connection->transport);
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
    subchannel_forget_last(sub);
    subchannel_forget_so_far(sub);
    sub->history.connections_made++;
    TRACE(sub->options.trace, LULL_EVENT_SETTINGS, 0, "%s", connection_peer_text(connection));
    subchannel_set_phase(sub, SUBCHANNEL_READY, connection_peer_text(connection));
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
    status_goaway_text(&sb, code, debug, debug_len);
    TRACE(sub->options.trace, LULL_EVENT_GOAWAY, 0, "%s: %s, last stream %" PRId32,
          connection_peer_text(connection), connection->goaway_text, last_stream_id);
    if (lull_keepalive_is_too_many_pings(code, debug, debug_len)) {
        subchannel_on_too_many_pings(connection);
    }
    /* Before SETTINGS it is a failed attempt, which on_closed will tell. */
    if (connection == sub->current && sub->phase == SUBCHANNEL_READY) {
        sub->current = NULL;
        subchannel_set_phase(sub, SUBCHANNEL_IDLE, connection->goaway_text);
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
    strbuf_printf(&sb, "%s%s", end->text, is_mute ? subchannel_tls_hint(sub) : "");
    /* TLS 1.3 (RFC 8446 section 4.4.2): a client is up before the server has judged its certificate. */
    const bool is_tls = end->kind == H2_LOST_ERRNO && end->sys_errno == 0;
    subchannel_on_greeting_failed(sub, end->sys_errno, is_tls, text);
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
            TRACE(sub->options.trace, LULL_EVENT_LOST, 0, "%s: %s",
                  h2_transport_peer(transport), end->text);
            set_failure(sub, end->sys_errno, end->text);
            subchannel_set_phase(sub, SUBCHANNEL_IDLE, end->text);
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

const struct h2_transport_ops *subchannel_transport_ops(void)
{
    return &transport_ops;
}

/* ---- time */

static void timer_expired(struct lull_rescheduler *timer, struct lull_instant now)
{
    struct subchannel *sub = container_of(timer, struct subchannel, timer);
    switch (sub->phase) {
    case SUBCHANNEL_SPACING:
        if (!sub->ops->is_wanted(sub)) {
            subchannel_set_phase(sub, SUBCHANNEL_IDLE, "nobody waits for a connection any more");
            break;
        }
        subchannel_start_pass(sub, now);
        break;
    case SUBCHANNEL_BACKOFF:
        subchannel_start_pass(sub, now);
        break;
    case SUBCHANNEL_DIALLING:
    case SUBCHANNEL_GREETING:
        subchannel_advance(sub);
        break;
    default:
        break;
    }
}

/* ---- what the channel asks for */

int subchannel_init(struct subchannel *subchannel, const struct subchannel_ops *ops,
                    const struct subchannel_options *options)
{
    memset(subchannel, 0, sizeof(*subchannel));
    subchannel->ops = ops;
    subchannel->options = *options;
    subchannel->phase = SUBCHANNEL_IDLE;
    eyeballs_init(&subchannel->eyeballs, NULL, 0);
    subchannel->next_at = lull_at(LULL_NEVER);
    subchannel->options.backoff = NULL;
    backoff_init(&subchannel->backoff, options->backoff);
    list_init(&subchannel->connections);
    subchannel_pings_init(subchannel);
    return lull_rescheduler_init(&subchannel->timer, options->executor, timer_expired);
}

void subchannel_fini(struct subchannel *subchannel)
{
    subchannel_forget_last(subchannel);
    subchannel_forget_so_far(subchannel);
    mem_release(subchannel->options.allocator, subchannel->addresses);
    subchannel->addresses = NULL;
    eyeballs_init(&subchannel->eyeballs, NULL, 0);
    subchannel->address_count = 0;
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
        subchannel_set_phase(subchannel, SUBCHANNEL_SPACING, subchannel_address_text(subchannel));
        return;
    }
    subchannel_start_pass(subchannel, now);
}

void subchannel_reset_backoff(struct subchannel *subchannel)
{
    struct lull_instant now = lull_executor_now(subchannel->options.executor);
    if (subchannel->phase != SUBCHANNEL_BACKOFF || subchannel->options.is_once) {
        return;
    }
    subchannel->next_at = backoff_reset(&subchannel->backoff, now);
    if (lull_instant_before(now, subchannel->next_at)) {
        lull_rescheduler_set(&subchannel->timer, subchannel->next_at);
        return;
    }
    subchannel_start_pass(subchannel, now);
}

void subchannel_close(struct subchannel *subchannel)
{
    if (subchannel->phase == SUBCHANNEL_CLOSED) {
        return;
    }
    subchannel->phase = SUBCHANNEL_CLOSED;
    lull_rescheduler_fini(&subchannel->timer);
    subchannel_drop_attempt(subchannel, NULL);
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
    subchannel_set_phase(subchannel, SUBCHANNEL_IDLE, "the connection takes no more calls");
}

void subchannel_fall_idle(struct subchannel *subchannel, const char *why)
{
    if (subchannel->phase == SUBCHANNEL_CLOSED) {
        return;
    }
    lull_rescheduler_disarm(&subchannel->timer);
    subchannel->next_at = lull_at(LULL_NEVER);
    (void)backoff_reset(&subchannel->backoff, lull_executor_now(subchannel->options.executor));
    subchannel_forget_last(subchannel);
    subchannel_drop_attempt(subchannel, NULL);
    LIST_FOR_EACH_SAFE(node, after, &subchannel->connections)
    {
        struct h2_transport *transport = LIST_ENTRY(node, struct connection, link)->transport;
        if (h2_transport_streams(transport) == 0) {
            h2_transport_close(transport, 0, why);
        } else {
            h2_transport_drain(transport);
        }
    }
    subchannel_set_phase(subchannel, SUBCHANNEL_IDLE, why);
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
    for (size_t i = 0; i < subchannel->address_count; i++) {
        const struct endpoint *dialled = subchannel->addresses[i].dialled;
        if (dialled != NULL && *dialled->phase_text != '\0') {
            return true;
        }
    }
    return false;
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
