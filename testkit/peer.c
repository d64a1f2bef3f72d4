/* SPDX-License-Identifier: MIT */
#include "testkit/peer.h"

#include "base/container.h"
#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)16 * 1024)

struct peer_reply {
    struct lull_instant at;
    uint32_t stream;
};

struct peer_conn {
    struct peer *peer;
    struct endpoint *endpoint;
    struct lull_timer timer; /* the next step or reply */
    struct lull_instant accepted_at;
    struct buf in;
    struct buf out;
    bool has_preface;
    bool is_deaf;
    bool was_ping;     /* the last frame */
    bool is_condemned; /* by the police: to be closed once what is said is out */
    struct ping_police police;
    size_t open_streams;
    size_t step;
    bool expected_seen;
    struct peer_reply *replies;
    size_t reply_count;
    size_t reply_cap;
    struct peer_conn *next;
};

static void must(int rc)
{
    LULL_INVARIANT(rc == 0, "a scripted peer ran out of memory");
}

static void want_what_matters(struct peer_conn *conn)
{
    unsigned want = conn->is_deaf ? LULL_WANT_NONE : LULL_WANT_READ;

    if (buf_len(&conn->out) > 0) {
        want |= LULL_WANT_WRITE;
    }
    endpoint_want(conn->endpoint, want);
}

static void hang_up(struct peer_conn *conn)
{
    struct peer_conn **link = &conn->peer->conns;

    while (*link != conn) {
        link = &(*link)->next;
    }
    *link = conn->next;
    conn->peer->closed++;
    conn->peer->closed_ns = sim_elapsed_ns(conn->peer->sim);
    tape_line(&conn->peer->sim->tape, lull_executor_now(conn->endpoint->executor), conn->peer->name, "closes");
    lull_timer_fini(&conn->timer);
    endpoint_close(conn->endpoint);
    buf_fini(&conn->in);
    buf_fini(&conn->out);
    free(conn->replies);
    free(conn);
}

/* False: the connection is gone, and so is conn. */
static bool flush(struct peer_conn *conn)
{
    while (buf_len(&conn->out) > 0) {
        struct io_piece piece = {buf_data(&conn->out), buf_len(&conn->out)};
        size_t wrote = 0;
        enum io io = endpoint_writev(conn->endpoint, &piece, 1, &wrote);

        if (io == IO_AGAIN) {
            break;
        }
        if (io != IO_OK) {
            hang_up(conn);
            return false;
        }
        conn->peer->bytes_out += wrote;
        conn->peer->byte_out_ns = sim_elapsed_ns(conn->peer->sim);
        tape_bytes(&conn->peer->sim->tape, lull_executor_now(conn->endpoint->executor), conn->peer->name, piece.data, wrote);
        buf_consume(&conn->out, wrote);
    }
    want_what_matters(conn);
    return true;
}

/* ---- what the client sends */

static void reply_later(struct peer_conn *conn, uint32_t stream, struct lull_instant now)
{
    struct peer *peer = conn->peer;
    int64_t after_ns = peer->reply_after_ns + (int64_t)sim_below(peer->sim, (uint64_t)peer->reply_jitter_ns);

    peer->requests++;
    peer->request_ns = sim_elapsed_ns(peer->sim);
    if (!peer->replies) {
        return;
    }
    if (conn->reply_count == conn->reply_cap) {
        conn->reply_cap = conn->reply_cap * 2 + 4;
        conn->replies = (struct peer_reply *)realloc(conn->replies, conn->reply_cap * sizeof(conn->replies[0]));
        LULL_INVARIANT(conn->replies != NULL, "a scripted peer ran out of memory");
    }
    conn->replies[conn->reply_count].at = lull_instant_add(now, after_ns);
    conn->replies[conn->reply_count].stream = stream;
    conn->reply_count++;
}

static void forget_reply(struct peer_conn *conn, size_t i)
{
    memmove(&conn->replies[i], &conn->replies[i + 1], (conn->reply_count - i - 1) * sizeof(conn->replies[0]));
    conn->reply_count--;
}

static void drop_replies_to(struct peer_conn *conn, uint32_t stream)
{
    for (size_t i = conn->reply_count; i-- > 0;) {
        if (conn->replies[i].stream == stream) {
            forget_reply(conn, i);
        }
    }
}

static void credit(struct peer_conn *conn, const struct frame *f)
{
    if (!conn->peer->credits || f->len == 0) {
        return;
    }
    must(frame_put_u32(&conn->out, FRAME_WINDOW_UPDATE, 0, f->len));
    if ((f->flags & FRAME_END_STREAM) == 0) {
        must(frame_put_u32(&conn->out, FRAME_WINDOW_UPDATE, f->stream, f->len));
    }
}

/* ---- the police */

static void on_stream_opened(struct peer_conn *conn)
{
    conn->open_streams++;
    ping_police_on_stream_opened(&conn->police);
}

static void on_stream_closed(struct peer_conn *conn)
{
    if (conn->open_streams > 0 && --conn->open_streams == 0) {
        ping_police_on_last_stream_closed(&conn->police);
    }
}

static void on_ping(struct peer_conn *conn, struct lull_instant now)
{
    if (!conn->peer->is_policed) {
        return;
    }
    switch (ping_police_on_ping(&conn->police, now)) {
    case PING_POLICE_STRIKE:
        conn->peer->strikes++;
        break;
    case PING_POLICE_CLOSE:
        conn->peer->strikes++;
        conn->peer->thrown_out++;
        conn->is_condemned = true;
        must(frame_put_goaway(&conn->out, 0x7fffffff, 0xb, PING_POLICE_GOAWAY_DEBUG));
        break;
    default:
        break;
    }
}

static void on_frame(struct peer_conn *conn, const struct frame *f, const uint8_t *payload, struct lull_instant now)
{
    struct peer *peer = conn->peer;
    bool ack = (f->flags & FRAME_ACK) != 0;

    peer->pings_before_headers += conn->was_ping && f->type == FRAME_HEADERS;
    conn->was_ping = f->type == FRAME_PING && !ack;
    if (f->type == FRAME_SETTINGS) {
        peer->settings_acks += ack;
        if (!ack && peer->sends_settings) {
            must(frame_put(&conn->out, FRAME_SETTINGS, FRAME_ACK, 0, NULL, 0));
        }
    } else if (f->type == FRAME_PING) {
        peer->ping_acks += ack;
        peer->pings += !ack;
        if (!ack) {
            peer->ping_ns = sim_elapsed_ns(peer->sim);
            on_ping(conn, now);
        }
        if (!ack && peer->acks_pings) {
            must(frame_put(&conn->out, FRAME_PING, FRAME_ACK, 0, payload, f->len));
        }
    } else if (f->type == FRAME_HEADERS || f->type == FRAME_DATA) {
        if (f->type == FRAME_DATA) {
            credit(conn, f);
        } else {
            on_stream_opened(conn); /* requests have no trailers */
        }
        if ((f->flags & FRAME_END_STREAM) != 0) {
            reply_later(conn, f->stream, now);
        }
    } else if (f->type == FRAME_RST_STREAM) {
        peer->resets++;
        on_stream_closed(conn);
        drop_replies_to(conn, f->stream);
    } else if (f->type == FRAME_GOAWAY) {
        peer->goaways++;
        peer->goaway_ns = sim_elapsed_ns(peer->sim);
    }
    if (conn->step < peer->script_len && peer->script[conn->step].kind == PEER_EXPECT) {
        const struct peer_step *s = &peer->script[conn->step];

        conn->expected_seen |= (s->type == PEER_ANY || s->type == f->type) && (s->stream == PEER_ANY || s->stream == f->stream);
    }
}

static void cut_frames(struct peer_conn *conn, struct lull_instant now)
{
    if (!conn->has_preface) {
        if (buf_len(&conn->in) < FRAME_PREFACE_BYTES) {
            return;
        }
        LULL_INVARIANT(memcmp(buf_data(&conn->in), FRAME_PREFACE, FRAME_PREFACE_BYTES) == 0, "no HTTP/2 client preface");
        buf_consume(&conn->in, FRAME_PREFACE_BYTES);
        conn->has_preface = true;
    }
    while (buf_len(&conn->in) >= FRAME_HEAD_BYTES && !conn->is_condemned) {
        struct frame f = frame_parse(buf_data(&conn->in));

        if (buf_len(&conn->in) < FRAME_HEAD_BYTES + (size_t)f.len) {
            return;
        }
        on_frame(conn, &f, buf_data(&conn->in) + FRAME_HEAD_BYTES, now);
        buf_consume(&conn->in, FRAME_HEAD_BYTES + (size_t)f.len);
    }
}

/* False: the connection is gone, and so is conn. */
static bool take_bytes(struct peer_conn *conn, struct lull_instant now)
{
    for (;;) {
        uint8_t *room;
        size_t got = 0;
        enum io io;

        must(buf_reserve(&conn->in, CHUNK_BYTES, &room));
        io = endpoint_read(conn->endpoint, room, CHUNK_BYTES, &got);
        if (io == IO_AGAIN) {
            return true;
        }
        if (io != IO_OK) {
            hang_up(conn);
            return false;
        }
        conn->peer->bytes_in += got;
        tape_bytes(&conn->peer->sim->tape, now, "client", room, got);
        buf_commit(&conn->in, got);
        cut_frames(conn, now);
        if (conn->is_condemned) {
            if (flush(conn)) {
                hang_up(conn);
            }
            return false;
        }
    }
}

/* ---- what the server says */

static void send_due_replies(struct peer_conn *conn, struct lull_instant now)
{
    struct peer *peer = conn->peer;

    for (size_t i = 0; i < conn->reply_count;) {
        uint32_t stream = conn->replies[i].stream;

        if (lull_instant_before(now, conn->replies[i].at)) {
            i++;
            continue;
        }
        forget_reply(conn, i);
        must(frame_put_grpc_headers(&conn->out, stream));
        if (peer->grpc_status == 0) {
            must(frame_put_message(&conn->out, stream, peer->message, peer->message_len));
        }
        must(frame_put_trailers(&conn->out, stream, peer->grpc_status));
        ping_police_on_sent(&conn->police);
        on_stream_closed(conn);
    }
}

/* When the step may be done; LULL_NEVER while it waits for a frame. */
static struct lull_instant step_at(const struct peer_conn *conn)
{
    const struct peer_step *s;

    if (conn->step >= conn->peer->script_len) {
        return lull_at(LULL_NEVER);
    }
    s = &conn->peer->script[conn->step];
    if (s->kind == PEER_EXPECT && !conn->expected_seen) {
        return lull_at(LULL_NEVER);
    }
    return lull_instant_add(conn->accepted_at, s->at_ns);
}

/* False: the script closed the connection, and conn is gone. */
static bool run_script(struct peer_conn *conn, struct lull_instant now)
{
    while (!lull_instant_before(now, step_at(conn)) && conn->step < conn->peer->script_len) {
        const struct peer_step *s = &conn->peer->script[conn->step];

        conn->step++;
        conn->expected_seen = false;
        if (s->kind == PEER_SEND) {
            must(buf_append(&conn->out, s->bytes, s->len));
        } else if (s->kind == PEER_STOP_READING || s->kind == PEER_READ_ON) {
            conn->is_deaf = s->kind == PEER_STOP_READING;
        } else if (s->kind == PEER_CLOSE) {
            if (flush(conn)) {
                hang_up(conn);
            }
            return false;
        }
    }
    return true;
}

static void arm_next(struct peer_conn *conn)
{
    struct lull_instant at = step_at(conn);

    for (size_t i = 0; i < conn->reply_count; i++) {
        if (lull_instant_before(conn->replies[i].at, at)) {
            at = conn->replies[i].at;
        }
    }
    lull_timer_arm(&conn->timer, at);
}

static void run(struct peer_conn *conn, struct lull_instant now)
{
    if (!run_script(conn, now)) {
        return;
    }
    send_due_replies(conn, now);
    if (flush(conn)) {
        arm_next(conn);
    }
}

static void on_timer(struct lull_timer *timer, struct lull_instant now)
{
    run(container_of(timer, struct peer_conn, timer), now);
}

static void on_ready(struct endpoint *endpoint, unsigned ready)
{
    struct peer_conn *conn = (struct peer_conn *)endpoint->owner;
    struct lull_instant now = lull_executor_now(endpoint->executor);

    if ((ready & LULL_WANT_READ) != 0 && !conn->is_deaf && !take_bytes(conn, now)) {
        return;
    }
    run(conn, now);
}

/* ---- the server */

void peer_init(struct peer *peer, struct sim *sim, const char *name)
{
    memset(peer, 0, sizeof(*peer));
    peer->sim = sim;
    peer->name = name;
    peer->sends_settings = true;
    peer->acks_pings = true;
    peer->replies = true;
    peer->credits = true;
    peer->message = "\x08\x01";
    peer->message_len = 2;
    ping_police_options_init(&peer->police);
    peer->accepted_ns = -1;
    peer->closed_ns = -1;
    peer->request_ns = -1;
    peer->ping_ns = -1;
    peer->goaway_ns = -1;
    peer->byte_out_ns = -1;
}

static void enter(struct peer *peer)
{
    int rc = lull_executor_enter(peer->sim->peers);

    LULL_INVARIANT(rc == LULL_OK, "a scripted peer was told what to do inside a turn");
}

void peer_fini(struct peer *peer)
{
    enter(peer);
    while (peer->conns != NULL) {
        hang_up(peer->conns);
    }
    lull_executor_leave(peer->sim->peers);
    lull_fake_clock_settle(&peer->sim->clock);
}

void peer_accept(struct sim *sim, struct endpoint *far_end, void *ctx)
{
    struct peer *peer = (struct peer *)ctx;
    struct peer_conn *conn = (struct peer_conn *)calloc(1, sizeof(*conn));

    LULL_INVARIANT(conn != NULL, "a scripted peer ran out of memory");
    conn->peer = peer;
    conn->endpoint = far_end;
    ping_police_init(&conn->police, &peer->police);
    conn->accepted_at = lull_executor_now(sim->peers);
    buf_init(&conn->in, NULL, 0);
    buf_init(&conn->out, NULL, 0);
    must(lull_timer_init(&conn->timer, sim->peers, on_timer));
    conn->next = peer->conns;
    peer->conns = conn;
    peer->accepted++;
    peer->accepted_ns = sim_elapsed_ns(sim);
    far_end->owner = conn;
    far_end->on_ready = on_ready;
    if (peer->sends_settings) {
        must(frame_put(&conn->out, FRAME_SETTINGS, 0, 0, NULL, 0));
    }
    run(conn, conn->accepted_at);
}

bool peer_say(struct peer *peer, const void *bytes, size_t len)
{
    if (peer->conns == NULL) {
        return false;
    }
    enter(peer);
    must(buf_append(&peer->conns->out, bytes, len));
    flush(peer->conns);
    lull_executor_leave(peer->sim->peers);
    lull_fake_clock_settle(&peer->sim->clock);
    return true;
}

bool peer_hang_up(struct peer *peer)
{
    if (peer->conns == NULL) {
        return false;
    }
    enter(peer);
    hang_up(peer->conns);
    lull_executor_leave(peer->sim->peers);
    lull_fake_clock_settle(&peer->sim->clock);
    return true;
}

size_t peer_open_connections(const struct peer *peer)
{
    return peer->accepted - peer->closed;
}
