/* SPDX-License-Identifier: MIT */
/*
 * See server_age.h.
 */
#include "server/server_age.h"

#include "base/container.h"
#include "base/random.h"
#include "server/server.h"
#include "server/server_conn.h"

/* RFC 9113 section 7. */
#define H2_NO_ERROR          0x0u
#define H2_PROTOCOL_ERROR    0x1u
#define H2_ENHANCE_YOUR_CALM 0xbu

static struct server_conn *conn_of(struct server_age *age)
{
    return container_of(age, struct server_conn, age);
}

static struct lull_instant now_of(const struct server_conn *conn)
{
    return lull_executor_now(conn->server->executor);
}

static void set_timer(struct server_age *age)
{
    struct lull_instant at = conn_age_next_at(&age->age);
    if (lull_instant_before(age->at_most, at)) {
        at = age->at_most;
    }
    lull_rescheduler_set(&age->wake, at);
}

/* ---- carrying out; nghttp2 is not on the stack, and the connection may be over when these return */

static void drain(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    const char *why = conn_age_reason_text(age->age.reason);
    TRACE(&conn->server->trace, LULL_EVENT_GOAWAY, 0, "%s is told to go: %s", conn->peer,
          *why == '\0' ? "the server shuts down" : why);
    /* The answer to a PING behind h2's own tells the policy that the first GOAWAY has arrived. */
    if (h2_transport_shutdown(conn->transport, why) != LULL_OK) {
        server_conn_close(conn, why);
    } else if (!list_is_linked(&age->notice.link)) {
        (void)h2_transport_ping(conn->transport, &age->notice);
    }
}

/* The second GOAWAY, with the first one before it if an order for that waited still and was replaced. */
static void last_goaway(struct server_conn *conn)
{
    const char *why = conn_age_reason_text(conn->age.age.reason);
    if (h2_transport_shutdown(conn->transport, why) != LULL_OK ||
        h2_transport_shutdown_now(conn->transport) != LULL_OK) {
        server_conn_close(conn, why);
    }
}

/*
 * The last stream is over, or the grace. With no stream left the transport closes by itself as soon as all is written, which a
 * client that reads no more must not put off for ever, nor beyond the grace.
 */
static void close_drained(struct server_conn *conn, bool is_last_goaway_due)
{
    struct server_age *age = &conn->age;
    if (age->age.streams > 0) {
        h2_transport_write_now(conn->transport); /* what this turn has finished */
        if (!age->is_over) {
            server_conn_close(conn, conn_age_reason_text(age->age.reason));
        }
        return;
    }
    age->at_most = lull_instant_add(now_of(conn), SERVER_AGE_LAST_WRITE_NS);
    if (lull_instant_before(age->age.close_at, age->at_most)) {
        age->at_most = age->age.close_at;
    }
    age->at_most_text = "the last answers were not taken";
    set_timer(age);
    if (is_last_goaway_due) {
        last_goaway(conn);
    }
}

static void carry_out(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    const enum conn_age_action ordered = age->ordered;
    if (age->is_over || conn->server->is_silent) {
        return;
    }
    age->ordered = CONN_AGE_NONE;
    if (age->has_too_many_pings || age->has_too_many_resets) {
        const char *why = age->has_too_many_pings ? PING_POLICE_GOAWAY_DEBUG : "too_many_resets";
        TRACE(&conn->server->trace, LULL_EVENT_GOAWAY, 0, "%s is sent away: %s", conn->peer, why);
        h2_transport_close(conn->transport, H2_ENHANCE_YOUR_CALM, why);
        return;
    }
    switch (ordered) {
    case CONN_AGE_DRAIN:
        drain(conn);
        break;
    case CONN_AGE_LAST_GOAWAY:
        last_goaway(conn);
        break;
    case CONN_AGE_GOAWAY_AND_CLOSE:
    case CONN_AGE_CLOSE:
        close_drained(conn, ordered == CONN_AGE_GOAWAY_AND_CLOSE);
        break;
    default:
        break;
    }
}

static void run_work(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    carry_out(conn_of(container_of(task, struct server_age, work)));
}

/* A later order replaces one that waits: a close says the last GOAWAY itself. */
static void take_step(struct server_conn *conn, struct conn_age_step step)
{
    struct server_age *age = &conn->age;
    if (step.action != CONN_AGE_NONE) {
        age->ordered = age->ordered == CONN_AGE_LAST_GOAWAY && step.action == CONN_AGE_CLOSE
                           ? CONN_AGE_GOAWAY_AND_CLOSE
                           : step.action;
        lull_executor_post(conn->server->executor, &age->work);
    }
    set_timer(age);
}

/* The client has seen the first GOAWAY; from a task. */
static void on_noticed(struct h2_ping *ping, int64_t rtt_ns, const char *why)
{
    struct server_conn *conn = conn_of(container_of(ping, struct server_age, notice));
    (void)why;
    if (rtt_ns >= 0 && !conn->age.is_over) {
        take_step(conn, conn_age_on_drain_acked(&conn->age.age, now_of(conn)));
    }
}

/* What the socket still holds is heard before anybody is judged. */
static void expired(struct lull_rescheduler *wake, struct lull_instant now)
{
    struct server_conn *conn = conn_of(container_of(wake, struct server_age, wake));
    struct server_age *age = &conn->age;
    if (conn->server->is_silent) {
        return; /* server_age_on_awake */
    }
    h2_transport_read_now(conn->transport);
    if (age->is_over) {
        return;
    }
    if (!lull_instant_before(now, age->at_most)) {
        h2_transport_close(conn->transport, age->is_greeted ? H2_NO_ERROR : H2_PROTOCOL_ERROR,
                           age->at_most_text);
        return;
    }
    if (lull_instant_before(now, conn_age_next_at(&age->age))) {
        set_timer(age);
        return;
    }
    take_step(conn, conn_age_on_timer(&age->age, now));
    (void)lull_executor_unpost(conn->server->executor, &age->work);
    carry_out(conn);
}

/* ---- facts */

int server_age_init(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    const struct lull_server_options *options = &conn->server->options;
    const struct lull_instant now = now_of(conn);
    struct conn_age_options ages;
    const struct ping_police_options pings = {
        .permit_ns = options->permit_keepalive_time_ns,
        .max_strikes = (int)options->max_ping_strikes,
        .permit_without_calls = options->permit_keepalive_without_calls,
    };
    int rc = lull_rescheduler_init(&age->wake, conn->server->executor, expired);
    if (rc != LULL_OK) {
        return rc;
    }
    conn_age_options_init(&ages);
    ages.max_idle_ns = options->max_connection_idle_ns;
    ages.max_age_ns = options->max_connection_age_ns;
    ages.max_age_grace_ns = options->max_connection_age_grace_ns;
    ages.allow_short_timers = options->allow_short_timers;
    conn_age_init(&age->age, &ages);
    ping_police_init(&age->pings, &pings);
    reset_police_init(&age->resets, now);
    lull_task_init(&age->work, run_work);
    h2_ping_init(&age->notice, on_noticed);
    age->at_most = lull_instant_add(now, SERVER_AGE_GREETING_NS);
    age->at_most_text = "no SETTINGS came";
    age->answers_seen = 0;
    age->ordered = CONN_AGE_NONE;
    age->has_too_many_pings = age->has_too_many_resets = false;
    age->is_greeted = age->is_over = false;
    take_step(conn, conn_age_on_opened(
                        &age->age, lull_random_between(conn->server->world.random, 0.0, 1.0), now));
    return LULL_OK;
}

void server_age_fini(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    age->is_over = true;
    (void)conn_age_on_closed(&age->age);
    h2_ping_cancel(&age->notice);
    (void)lull_executor_unpost(conn->server->executor, &age->work);
    lull_rescheduler_fini(&age->wake);
}

void server_age_on_greeted(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    if (!age->is_greeted && !age->is_over) {
        age->is_greeted = true;
        age->at_most = lull_at(LULL_NEVER);
        set_timer(age);
    }
}

void server_age_on_stream_opened(struct server_conn *conn)
{
    if (!conn->age.is_over) {
        ping_police_on_stream_opened(&conn->age.pings);
        take_step(conn, conn_age_on_stream_opened(&conn->age.age));
    }
}

void server_age_on_stream_closed(struct server_conn *conn)
{
    struct server_age *age = &conn->age;
    if (age->is_over) {
        return;
    }
    take_step(conn, conn_age_on_stream_closed(&age->age, now_of(conn)));
    if (age->age.streams == 0) {
        ping_police_on_last_stream_closed(&age->pings);
    }
}

void server_age_on_ping(struct server_conn *conn, struct lull_instant now)
{
    struct server_age *age = &conn->age;
    struct lull_server_stats *stats = &conn->server->stats;
    const uint64_t answers = h2_transport_answers_sent(conn->transport);
    if (age->is_over) {
        return;
    }
    stats->pings++;
    if (answers != age->answers_seen) {
        age->answers_seen = answers;
        ping_police_on_sent(&age->pings);
    }
    switch (ping_police_on_ping(&age->pings, now)) {
    case PING_POLICE_STRIKE:
        stats->ping_strikes++;
        TRACE(&conn->server->trace, LULL_EVENT_PING, 0, "%s pings too early (strike %llu of %u)",
              conn->peer, (unsigned long long)age->pings.strikes,
              conn->server->options.max_ping_strikes);
        break;
    case PING_POLICE_CLOSE:
        stats->ping_strikes++;
        stats->too_many_pings++;
        age->has_too_many_pings = true;
        lull_executor_post(conn->server->executor, &age->work);
        break;
    default:
        break;
    }
}

void server_age_on_reset(struct server_conn *conn, struct lull_instant now)
{
    struct server_age *age = &conn->age;
    if (age->is_over || age->has_too_many_resets || reset_police_permits(&age->resets, now)) {
        return;
    }
    conn->server->stats.too_many_resets++;
    age->has_too_many_resets = true;
    lull_executor_post(conn->server->executor, &age->work);
}

void server_age_shut_down(struct server_conn *conn, int64_t grace_ns)
{
    if (!conn->age.is_over) {
        take_step(conn, conn_age_on_shutdown(&conn->age.age, grace_ns, now_of(conn)));
    }
}

void server_age_on_awake(struct server_conn *conn)
{
    if (!conn->age.is_over) {
        lull_executor_post(conn->server->executor, &conn->age.work);
        set_timer(&conn->age);
    }
}
