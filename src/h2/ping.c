/* SPDX-License-Identifier: MIT */
/*
 * PINGs of ours. See ping.h.
 *
 * nghttp2 puts a PING into its urgent queue, in front of all HEADERS and DATA that it has not framed yet (gRFC A8 asks for that order).
 */
#include "h2/ping.h"

#include <string.h>

#include "base/invariant.h"
#include "exec/linger.h"
#include "h2/inner.h"

#define FRAME_BYTES 17 /* 9 of head */

static const char kind_letters[PING_KINDS] = {'k', 'u', 'd'};

/* "lul", the kind, the number. */
static void make_payload(enum ping_kind kind, uint32_t serial, uint8_t payload[PING_BYTES])
{
    memcpy(payload, "lul", 3);
    payload[3] = (uint8_t)kind_letters[kind];
    payload[4] = (uint8_t)(serial >> 24);
    payload[5] = (uint8_t)(serial >> 16);
    payload[6] = (uint8_t)(serial >> 8);
    payload[7] = (uint8_t)serial;
}

/* True: a payload of our making. */
static bool read_payload(const uint8_t payload[PING_BYTES], enum ping_kind *kind, uint32_t *serial)
{
    if (memcmp(payload, "lul", 3) != 0) {
        return false;
    }
    *serial = (uint32_t)payload[4] << 24 | (uint32_t)payload[5] << 16 | (uint32_t)payload[6] << 8 |
              payload[7];
    for (unsigned i = 0; i < PING_KINDS; i++) {
        if (payload[3] == (uint8_t)kind_letters[i]) {
            *kind = (enum ping_kind)i;
            return true;
        }
    }
    return false;
}

static void tell(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    ping_tell(container_of(task, struct h2_transport, ping.tell));
}

void ping_init(struct h2_transport *t)
{
    for (unsigned i = 0; i < PING_KINDS; i++) {
        list_init(&t->ping.slots[i].waiters);
    }
    list_init(&t->ping.told);
    lull_task_init(&t->ping.tell, tell);
    t->ping.stats.last_rtt_ns = LULL_NEVER;
    t->ping.stats.min_rtt_ns = LULL_NEVER;
    t->ping.stats.max_rtt_ns = LULL_NEVER;
}

/* ---- asking */

void h2_ping_init(struct h2_ping *ping, h2_ping_fn on_done)
{
    list_init(&ping->link);
    ping->on_done = on_done;
    ping->rtt_ns = -1;
}

void h2_ping_cancel(struct h2_ping *ping)
{
    list_remove(&ping->link);
}

/* Somebody waits for this one (exec/linger.h). */
static void note_asked(struct h2_transport *t, enum ping_kind kind, unsigned change)
{
    if (kind == PING_USER) {
        executor_linger(t->executor)->asked += change;
    }
}

static int submit(struct h2_transport *t, enum ping_kind kind)
{
    struct ping_slot *slot = &t->ping.slots[kind];
    uint8_t payload[PING_BYTES];
    make_payload(kind, slot->serial + 1, payload);
    if (nghttp2_submit_ping(t->session.nghttp2, NGHTTP2_FLAG_NONE, payload) != 0) {
        return LULL_RC_NOMEM;
    }
    slot->serial++;
    slot->state = PING_QUEUED;
    note_asked(t, kind, 1u);
    t->ping.unwritten++;
    executor_post_flush(t->executor, &t->flush);
    return LULL_OK;
}

/* One PING of a kind for all who ask while it is out. */
static int join(struct h2_transport *t, enum ping_kind kind, struct h2_ping *ping)
{
    struct ping_slot *slot = &t->ping.slots[kind];
    int rc = LULL_OK;
    LULL_INVARIANT(!t->session.is_busy, "a ping is asked for while nghttp2 is on the stack");
    LULL_INVARIANT(!list_is_linked(&ping->link), "a ping is asked for twice");
    if (t->is_lost) {
        return LULL_RC_CLOSED;
    }
    if (slot->state == PING_NONE && kind == PING_DRAIN) {
        slot->state = PING_HELD;
    } else if (slot->state == PING_NONE) {
        rc = submit(t, kind);
    }
    if (rc == LULL_OK) {
        list_push_back(&slot->waiters, &ping->link);
    }
    return rc;
}

int h2_transport_ping(struct h2_transport *transport, struct h2_ping *ping)
{
    return join(transport, PING_USER, ping);
}

int ping_for_drain(struct h2_transport *t, struct h2_ping *ping)
{
    return join(t, PING_DRAIN, ping);
}

void ping_on_notice_framed(struct h2_transport *t)
{
    if (t->ping.slots[PING_DRAIN].state == PING_HELD && submit(t, PING_DRAIN) != LULL_OK) {
        t->is_out_of_memory = true;
    }
}

static bool is_unwritten(const struct ping_slot *slot)
{
    return slot->state == PING_QUEUED || slot->state == PING_FRAMED;
}

void ping_for_keepalive(struct h2_transport *t)
{
    if (t->ping.slots[PING_USER].state != PING_NONE) {
        t->ping.has_keepalive_joined = true;
        return;
    }
    /* One that waits for a full socket will be as good as a second one behind it. */
    if (!is_unwritten(&t->ping.slots[PING_KEEPALIVE]) && submit(t, PING_KEEPALIVE) != LULL_OK) {
        t->is_out_of_memory = true; /* the flush ends it */
        executor_post_flush(t->executor, &t->flush);
    }
}

bool ping_is_keepalive_stuck(const struct h2_transport *t)
{
    return is_unwritten(&t->ping.slots[t->ping.has_keepalive_joined ? PING_USER : PING_KEEPALIVE]);
}

void h2_transport_ping_stats(const struct h2_transport *transport, struct h2_ping_stats *out)
{
    *out = transport->ping.stats;
}

void h2_transport_watch_pings(struct h2_transport *transport,
                              void (*on_ping)(struct h2_transport *transport, int64_t rtt_ns))
{
    transport->ping.on_ping = on_ping;
}

/* ---- on its way */

static void tell_watcher(struct h2_transport *t, int64_t rtt_ns)
{
    if (t->ping.on_ping != NULL) {
        t->ping.on_ping(t, rtt_ns);
    }
}

void ping_on_framed(struct h2_transport *t, const uint8_t payload[PING_BYTES])
{
    enum ping_kind kind;
    uint32_t serial;
    t->ping.stats.sent++;
    executor_counters(t->executor)->pings_sent++;
    if (read_payload(payload, &kind, &serial) && serial == t->ping.slots[kind].serial) {
        t->ping.slots[kind].state = PING_FRAMED;
        /* nghttp2 tells this before send.c counts the frame. */
        t->ping.slots[kind].end_at = t->send.pulled_bytes + FRAME_BYTES;
    }
    tell_watcher(t, -1);
}

void ping_on_flushed(struct h2_transport *t)
{
    if (t->ping.unwritten == 0) {
        return;
    }
    for (unsigned i = 0; i < PING_KINDS; i++) {
        struct ping_slot *slot = &t->ping.slots[i];
        if (slot->state != PING_FRAMED || slot->end_at > t->send.written_bytes) {
            continue;
        }
        slot->state = PING_WRITTEN;
        slot->at = lull_executor_now(t->executor);
        t->ping.unwritten--;
        if (i == PING_KEEPALIVE || (i == PING_USER && t->ping.has_keepalive_joined)) {
            keepalive_glue_on_ping_written(t, slot->at);
        }
    }
}

/* ---- answered */

static void measure(struct h2_transport *t, int64_t rtt_ns)
{
    struct h2_ping_stats *stats = &t->ping.stats;
    stats->last_rtt_ns = rtt_ns;
    if (rtt_ns < stats->min_rtt_ns) {
        stats->min_rtt_ns = rtt_ns;
    }
    if (stats->max_rtt_ns == LULL_NEVER || rtt_ns > stats->max_rtt_ns) {
        stats->max_rtt_ns = rtt_ns;
    }
    stats->late += rtt_ns > lull_keepalive_timeout_ns(&t->keepalive.keepalive);
}

static void answer_waiters(struct h2_transport *t, struct ping_slot *slot, int64_t rtt_ns)
{
    if (list_is_empty(&slot->waiters)) {
        return;
    }
    LIST_FOR_EACH(node, &slot->waiters)
    {
        LIST_ENTRY(node, struct h2_ping, link)->rtt_ns = rtt_ns;
    }
    list_append(&t->ping.told, &slot->waiters);
    lull_executor_post(t->executor, &t->ping.tell);
}

static void on_newest_acked(struct h2_transport *t, enum ping_kind kind, struct lull_instant now)
{
    struct ping_slot *slot = &t->ping.slots[kind];
    const int64_t rtt_ns = lull_instant_diff(now, slot->at);
    slot->state = PING_NONE;
    note_asked(t, kind, -1u);
    measure(t, rtt_ns);
    answer_waiters(t, slot, rtt_ns);
    tell_watcher(t, rtt_ns);
}

/* Of ours, on the wire, and not answered before. A peer that makes up an ACK gains nothing. */
static bool is_awaited(const struct ping_slot *slot, uint32_t serial)
{
    const uint32_t newest = is_unwritten(slot) ? slot->serial - 1 : slot->serial;
    /* Numbers wrap: they are compared by their distance from the last one answered. */
    return serial != slot->acked_serial &&
           serial - slot->acked_serial <= newest - slot->acked_serial;
}

void ping_on_ack(struct h2_transport *t, const uint8_t payload[PING_BYTES])
{
    enum ping_kind kind;
    uint32_t serial;
    struct lull_instant now;
    bool is_keepalives;
    if (!read_payload(payload, &kind, &serial)) {
        return;
    }
    now = lull_executor_now(t->executor);
    ping_on_flushed(t);
    if (!is_awaited(&t->ping.slots[kind], serial)) {
        return;
    }
    t->ping.slots[kind].acked_serial = serial;
    t->ping.stats.acked++;
    is_keepalives = kind == PING_KEEPALIVE || (kind == PING_USER && t->ping.has_keepalive_joined);
    if (serial == t->ping.slots[kind].serial) {
        on_newest_acked(t, kind, now);
    } else {
        t->ping.stats.late++; /* other bytes had kept the connection; its instant is not kept */
    }
    if (kind == PING_USER) {
        t->ping.has_keepalive_joined = false;
    }
    if (is_keepalives) {
        keepalive_glue_on_ping_acked(t, now);
    }
}

/* ---- told */

void ping_on_lost(struct h2_transport *t)
{
    for (unsigned i = 0; i < PING_KINDS; i++) {
        if (t->ping.slots[i].state != PING_NONE) {
            note_asked(t, (enum ping_kind)i, -1u);
        }
        t->ping.slots[i].state = PING_NONE;
        answer_waiters(t, &t->ping.slots[i], -1);
    }
    t->ping.unwritten = 0;
}

void ping_tell(struct h2_transport *t)
{
    struct list_node *node;
    (void)lull_executor_unpost(t->executor, &t->ping.tell);
    while ((node = list_pop_front(&t->ping.told)) != NULL) {
        struct h2_ping *ping = LIST_ENTRY(node, struct h2_ping, link);
        ping->on_done(ping, ping->rtt_ns, ping->rtt_ns < 0 ? t->end.text : NULL);
    }
}
