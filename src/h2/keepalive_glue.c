/* SPDX-License-Identifier: MIT */
/*
 * Keepalive on a transport. See keepalive_glue.h.
 */
#include "h2/keepalive_glue.h"

#include <errno.h>

#include "base/cold.h"
#include "base/strbuf.h"
#include "exec/linger.h"
#include "h2/inner.h"
#include "net/endpoint_tcp.h"

/* Silence after which the system may probe: the write timeout must be gone before a probe can be missed. */
#define PROBED_AFTER_NS (TCP_KEEPALIVE_IDLE_S * LULL_SECOND)

/* 268 ms. */
#define GRID_MAX_NS (INT64_C(1) << 28)

static bool is_on(const struct keepalive_glue *glue)
{
    return lull_keepalive_time_ns(&glue->keepalive) != LULL_NEVER;
}

/* ---- the timer */

/* When the write timeout is to be taken back. */
static struct lull_instant lift_at(const struct keepalive_glue *glue)
{
    return glue->is_probed && glue->is_limited ? lull_instant_add(glue->active_at, PROBED_AFTER_NS)
                                               : lull_at(LULL_NEVER);
}

/*
 * Where several channels share a loop their PINGs share wake-ups: silence may last until the next line of a grid that all of them go
 * by, which is never early (servers count PINGs that are) and late by one part in 64 at most. An ACK is waited for exactly.
 */
static struct lull_instant on_grid(struct keepalive_glue *glue, struct lull_instant at)
{
    const struct h2_transport *t = container_of(glue, struct h2_transport, keepalive);
    if (glue->grid_ns == 0 || at.ns > LULL_NEVER - glue->grid_ns || executor_channels(t->executor) < 2 ||
        lull_keepalive_phase_of(&glue->keepalive) != LULL_KEEPALIVE_WATCHING) {
        return at;
    }
    return lull_at((at.ns + glue->grid_ns - 1) & -glue->grid_ns);
}

static int64_t grid_of(int64_t time_ns)
{
    int64_t grid_ns = 1;
    while (grid_ns < GRID_MAX_NS && grid_ns * 2 <= time_ns / 64) {
        grid_ns *= 2;
    }
    return grid_ns;
}

static void set_timer(struct keepalive_glue *glue)
{
    const struct lull_instant ask_at = on_grid(glue, lull_keepalive_next_at(&glue->keepalive));
    const struct lull_instant back_at = lift_at(glue);
    if (glue->has_timer) {
        lull_rescheduler_set(&glue->wake, lull_instant_before(back_at, ask_at) ? back_at : ask_at);
    }
}

LULL_COLD static void lose_dead(struct h2_transport *t, struct lull_instant now)
{
    const struct lull_keepalive *k = &t->keepalive.keepalive;
    char text[sizeof(t->end.text)];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_add(&sb, ping_is_keepalive_stuck(t)
                        ? "keepalive: the socket took no PING, and nothing came, within "
                        : "keepalive: no answer to a PING within ");
    strbuf_duration(&sb, lull_keepalive_timeout_ns(k));
    strbuf_printf(&sb, "; last byte read %lld ms ago",
                  (long long)(lull_keepalive_quiet_ns(k, now) / LULL_MS));
    transport_lose(t, H2_LOST_KEEPALIVE, 0, text);
}

/* So many answers are to come (exec/linger.h). */
static void note_awaited(struct h2_transport *t, bool is_awaited)
{
    struct keepalive_glue *glue = &t->keepalive;
    if (glue->is_awaited != is_awaited) {
        glue->is_awaited = is_awaited;
        executor_linger(t->executor)->awaited += is_awaited ? 1u : -1u;
    }
}

static void carry_out(struct h2_transport *t, struct lull_keepalive_step step,
                      struct lull_instant now)
{
    switch (step.action) {
    case LULL_KEEPALIVE_NONE:
        break;
    case LULL_KEEPALIVE_SEND_PING:
        ping_for_keepalive(t);
        break;
    case LULL_KEEPALIVE_PEER_IS_DEAD:
        lose_dead(t, now);
        return;
    }
    note_awaited(t, lull_keepalive_phase_of(&t->keepalive.keepalive) == LULL_KEEPALIVE_PINGED);
    set_timer(&t->keepalive);
}

/* What is still in our output, or on the way and not acknowledged, is not quiet. */
static void lift_if_quiet(struct h2_transport *t, struct lull_instant now)
{
    struct keepalive_glue *glue = &t->keepalive;
    if (lull_instant_before(now, lift_at(glue))) {
        return;
    }
    if (t->send.unsent != NULL || endpoint_write_timeout(t->endpoint, LULL_NEVER) == EAGAIN) {
        glue->active_at = now;
        return;
    }
    glue->is_limited = false;
}

static void expired(struct lull_rescheduler *wake, struct lull_instant now)
{
    struct h2_transport *t = container_of(wake, struct h2_transport, keepalive.wake);
    struct keepalive_glue *glue = &t->keepalive;
    if (lull_keepalive_next_at(&glue->keepalive).ns <= now.ns) {
        /* After a stall the answer is often in the socket. */
        h2_transport_read_now(t);
        if (t->is_lost) {
            return;
        }
    }
    lift_if_quiet(t, now);
    carry_out(t, lull_keepalive_on_timer(&glue->keepalive, now), now);
}

/* ---- the write timeout */

/* That it cannot be set is no fault of the connection (gRFC A18). */
static void limit(struct h2_transport *t)
{
    const int64_t after_ns = lull_keepalive_write_timeout_ns(&t->keepalive.keepalive);
    if (after_ns != LULL_NEVER) {
        (void)endpoint_write_timeout(t->endpoint, after_ns);
        t->keepalive.is_limited = true;
    }
}

void keepalive_glue_before_flush(struct h2_transport *t)
{
    if (!t->keepalive.is_limited && !t->is_lost &&
        nghttp2_session_want_write(t->session.nghttp2) != 0) {
        limit(t);
    }
}

void keepalive_glue_after_flush(struct h2_transport *t, uint64_t written_before)
{
    struct keepalive_glue *glue = &t->keepalive;
    if (glue->is_probed && !t->is_lost && t->send.written_bytes != written_before) {
        glue->active_at = lull_executor_now(t->executor);
        set_timer(glue);
    }
}

/* ---- the system's word */

/* On a connection that stands, a network that says it is unreachable is not believed before the system's patience ends; the errno
 * is the network's then (RFC 1122 section 4.2.3.9). */
bool keepalive_glue_has_given_up(int sys_errno)
{
    return sys_errno == ETIMEDOUT || sys_errno == ENETUNREACH || sys_errno == EHOSTUNREACH ||
           sys_errno == EHOSTDOWN;
}

void keepalive_glue_explain(const struct h2_transport *t, int sys_errno, struct strbuf *sb)
{
    const struct keepalive_glue *glue = &t->keepalive;
    const int64_t limit_ns = lull_keepalive_write_timeout_ns(&glue->keepalive);
    if (!keepalive_glue_has_given_up(sys_errno) || limit_ns == LULL_NEVER) {
        return;
    }
    if (glue->is_limited) {
        strbuf_add(sb, ": what was written was not acknowledged within ");
        strbuf_duration(sb, limit_ns);
    } else {
        strbuf_add(sb, ": TCP keepalive was not answered");
    }
}

/* ---- a life */

int keepalive_glue_init(struct h2_transport *t)
{
    struct keepalive_glue *glue = &t->keepalive;
    struct lull_keepalive_options options;
    lull_keepalive_options_init(&options);
    options.allow_short_timers = true; /* the values are effective already */
    options.time_ns = t->options.keepalive.time_ns;
    options.without_calls = t->options.keepalive.without_calls;
    if (t->options.keepalive.timeout_ns > 0) {
        options.timeout_ns = t->options.keepalive.timeout_ns;
    }
    (void)lull_keepalive_init(&glue->keepalive, &options); /* fails for a wrong size only */
    glue->is_probed =
        t->endpoint->ops->system_keepalive != NULL && !t->options.keepalive.is_system_off;
    if (is_on(glue) || glue->is_probed) {
        const int rc = lull_rescheduler_init(&glue->wake, t->executor, expired);
        if (rc != LULL_OK) {
            return rc;
        }
        glue->has_timer = true;
    }
    glue->grid_ns = is_on(glue) ? grid_of(lull_keepalive_time_ns(&glue->keepalive)) : 0;
    glue->active_at = lull_executor_now(t->executor);
    limit(t);
    carry_out(t, lull_keepalive_on_transport_opened(&glue->keepalive, glue->active_at),
              glue->active_at);
    return LULL_OK;
}

void keepalive_glue_fini(struct h2_transport *t)
{
    struct keepalive_glue *glue = &t->keepalive;
    (void)lull_keepalive_on_transport_closed(&glue->keepalive);
    note_awaited(t, false);
    if (glue->has_timer) {
        lull_rescheduler_fini(&glue->wake);
        glue->has_timer = false;
    }
}

/* ---- facts */

void keepalive_glue_on_read(struct h2_transport *t, struct lull_instant now)
{
    t->keepalive.active_at = now;
    carry_out(t, lull_keepalive_on_read(&t->keepalive.keepalive, now), now);
}

void keepalive_glue_on_stream_opened(struct h2_transport *t)
{
    if (is_on(&t->keepalive)) {
        const struct lull_instant now = executor_fresh_now(t->executor);
        if (t->open > 1 &&
            lull_instant_before(now, lull_keepalive_next_at(&t->keepalive.keepalive))) {
            return; /* it knows that there are streams, and its timer stands */
        }
        carry_out(t, lull_keepalive_on_stream_opened(&t->keepalive.keepalive, now), now);
    }
}

void keepalive_glue_on_last_stream_closed(struct h2_transport *t)
{
    if (is_on(&t->keepalive)) {
        (void)lull_keepalive_on_last_stream_closed(&t->keepalive.keepalive);
        set_timer(&t->keepalive);
    }
}

void keepalive_glue_on_ping_written(struct h2_transport *t, struct lull_instant now)
{
    carry_out(t, lull_keepalive_on_ping_written(&t->keepalive.keepalive, now), now);
}

void keepalive_glue_on_ping_acked(struct h2_transport *t, struct lull_instant now)
{
    carry_out(t, lull_keepalive_on_ping_acked(&t->keepalive.keepalive, now), now);
}
