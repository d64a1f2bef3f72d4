/* SPDX-License-Identifier: MIT */
/*
 * Streams under random operations of both sides, against an oracle that knows what may have been told: messages are whole, in
 * order and a prefix of what was sent, nothing is told in a pause or after the end, the end comes once and last, and what had been
 * said before a status is told before it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "tests/support/must.h"
#include "told.h"

#define CALLS 6
#define STEPS 600
#define SEEDS 12

/* What is known of one call. */
struct model {
    struct lull_call *call; /* NULL: never started */
    uint32_t stream;        /* 0: the server has not seen it */
    unsigned sent;          /* by the application, accepted */
    unsigned server_got;
    unsigned server_sent;
    unsigned told;
    size_t window_used; /* bytes of DATA that the server sent */
    bool is_half_closed, is_paused, is_cancelled, server_has_headers, server_is_done, is_closed;
    bool server_saw_end;
    bool was_again; /* and not yet writable */
    unsigned headers_told;
    enum lull_code code;
    enum lull_code server_code;
    bool was_reset;
};

/* What the runs of one test came to: they have to be about something. */
static struct totals {
    unsigned ok, cancelled, refused_by_server, told, got, again, writable;
} totals;

static struct rig rig;
static struct server server;
static struct model models[CALLS];
static uint64_t state;
static uint64_t seed;

static uint32_t below(uint32_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % bound;
}

#define HOLDS(condition) MUST_MSG(condition, "seed %llu: %s", (unsigned long long)seed, #condition)

/* A message: its number, then bytes that follow from it. */
static size_t message_size(unsigned number)
{
    return 4 + (size_t)(number * 2654435761u >> 20) % 3000;
}

static void write_message(uint8_t *bytes, unsigned number)
{
    memcpy(bytes, &number, 4);
    memset(bytes + 4, (int)(number & 255), message_size(number) - 4);
}

static void expect_message(const uint8_t *bytes, size_t len, unsigned number)
{
    unsigned got = 0;
    HOLDS(len == message_size(number));
    memcpy(&got, bytes, 4);
    HOLDS(got == number);
    HOLDS(len == 4 || (bytes[4] == (number & 255) && bytes[len - 1] == (number & 255)));
}

/* ---- the application */

static void on_headers(struct lull_call *call, const struct lull_metadata *headers, void *ctx)
{
    struct model *m = ctx;
    (void)call;
    HOLDS(headers->count == 0);
    HOLDS(!m->is_closed && m->told == 0 && m->headers_told == 0);
    m->headers_told++;
}

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct model *m = ctx;
    HOLDS(call == m->call && !m->is_closed && !m->is_paused && !m->is_cancelled);
    HOLDS(m->headers_told == 1);
    HOLDS(m->told < m->server_sent);
    expect_message(message.data, message.len, m->told);
    m->told++;
    totals.told++;
    if (below(20) == 0) {
        lull_call_pause(call);
        m->is_paused = true;
    } else if (below(800) == 0) {
        lull_call_cancel(call);
        m->is_cancelled = true;
    }
}

static void on_writable(struct lull_call *call, void *ctx)
{
    struct model *m = ctx;
    (void)call;
    HOLDS(m->was_again && !m->is_closed && !m->is_half_closed);
    m->was_again = false;
    totals.writable++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct model *m = ctx;
    (void)call;
    (void)trailers;
    HOLDS(!m->is_closed);
    m->is_closed = true;
    m->code = status->code;
    totals.ok += status->code == LULL_CODE_OK;
    totals.cancelled += status->code == LULL_CODE_CANCELLED;
    totals.refused_by_server +=
        status->code == LULL_CODE_ABORTED || status->code == LULL_CODE_INTERNAL;
    if (m->is_cancelled && status->code == LULL_CODE_CANCELLED) {
        return;
    }
    HOLDS(m->server_is_done);
    HOLDS(status->code == m->server_code);
    /* Nothing that was said before it is lost, unless the application did not want it any more. */
    HOLDS(m->told == m->server_sent || m->is_cancelled);
}

static const struct lull_call_handler handler = {
    .size = sizeof(handler),
    .on_headers = on_headers,
    .on_message = on_message,
    .on_writable = on_writable,
    .on_closed = on_closed,
};

static void send_next(struct model *m)
{
    uint8_t bytes[4 + 3000];
    struct lull_slice message;
    bool is_full = call_send_queued(m->call) >= LULL_CALL_QUEUE_BYTES;
    write_message(bytes, m->sent);
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, message_size(m->sent), &message), LULL_OK);
    int rc = lull_call_send(m->call, message);
    lull_slice_unref(message);
    if (rc == LULL_RC_CLOSED) {
        HOLDS(m->is_closed || m->is_cancelled || m->server_is_done);
    } else if (m->is_half_closed) {
        HOLDS(rc == LULL_RC_STATE);
    } else if (is_full) {
        HOLDS(rc == LULL_RC_AGAIN);
        m->was_again = true;
        totals.again++;
    } else {
        HOLDS(rc == LULL_OK);
        m->sent++;
    }
}

static void act(struct model *m)
{
    struct lull_call_options options;
    if (m->call == NULL) {
        lull_call_options_init(&options, "/oracle/Call");
        if (below(2) == 0) {
            options.timeout_ns = 100000 * LULL_SECOND;
            options.read_timeout_ns = 10000 * LULL_SECOND;
        }
        ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, m, &m->call, NULL),
                         LULL_OK);
        return;
    }
    switch (below(16)) {
    case 0:
        if (lull_call_half_close(m->call) == LULL_OK) {
            m->is_half_closed = true;
        }
        break;
    case 1:
        lull_call_pause(m->call);
        m->is_paused = true;
        break;
    case 2:
    case 3:
        lull_call_resume(m->call);
        m->is_paused = false;
        break;
    case 4:
        if (below(40) == 0) {
            lull_call_cancel(m->call);
            m->is_cancelled = true;
        }
        break;
    default:
        for (uint32_t n = below(40); n > 0; n--) {
            send_next(m);
        }
        break;
    }
}

/* ---- the server */

static struct model *model_of(uint32_t stream)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (models[i].stream == stream) {
            return &models[i];
        }
    }
    return NULL;
}

/* Streams are opened in the order of the calls' starts; which call is which the first message cannot say, the id can. */
static void meet(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct model *m = &models[i];
        if (m->call != NULL && m->stream == 0 && m->call->is_stream_open) {
            m->stream = (uint32_t)m->call->stream.id;
        }
    }
}

static void server_got(struct peer *peer, struct server_stream *stream, const uint8_t *bytes,
                       size_t len)
{
    (void)peer;
    meet();
    struct model *m = model_of(stream->id);
    HOLDS(m != NULL && m->server_got < m->sent);
    expect_message(bytes, len, m->server_got);
    m->server_got++;
    totals.got++;
}

static void server_end(struct peer *peer, struct server_stream *stream)
{
    (void)peer;
    meet();
    struct model *m = model_of(stream->id);
    HOLDS(m != NULL && m->is_half_closed && m->server_got == m->sent);
    m->server_saw_end = true;
}

static void finish(struct peer *peer, struct model *m, enum lull_code code)
{
    char text[8];
    snprintf(text, sizeof(text), "%d", (int)code);
    m->server_is_done = true;
    m->server_code = code;
    if (m->server_has_headers) {
        peer_trailers(peer, m->stream, text);
    } else {
        peer_headers(peer, m->stream, FLAG_END_STREAM, ":status", "200", "content-type",
                     "application/grpc", "grpc-status", text, NULL);
    }
}

static void say_messages(struct peer *peer, struct model *m)
{
    uint8_t bytes[4 + 3000];
    for (uint32_t n = below(30); n > 0; n--) {
        size_t size = message_size(m->server_sent) + 5;
        if (m->window_used + size > 256 * 1024 + server_credited(peer, m->stream)) {
            return;
        }
        write_message(bytes, m->server_sent);
        server_send(peer, m->stream, bytes, size - 5);
        m->server_sent++;
        m->window_used += size;
        if (endpoint_pipe_in_flight(peer->end) > 40 * 1024) {
            return;
        }
    }
}

static void answer(struct peer *peer, struct model *m)
{
    if (m->stream == 0 || m->server_is_done || m->is_closed) {
        return;
    }
    switch (below(40)) {
    case 0:
        finish(peer, m, below(3) == 0 ? LULL_CODE_ABORTED : LULL_CODE_OK);
        break;
    case 1:
        m->server_is_done = true;
        m->server_code = LULL_CODE_INTERNAL;
        peer_rst(peer, m->stream, 2);
        break;
    case 2:
    case 3:
    case 4:
        server_credit(peer, m->stream, below(100 * 1024) + 1);
        break;
    default:
        if (!m->server_has_headers) {
            m->server_has_headers = true;
            server_headers(peer, m->stream);
        }
        say_messages(peer, m);
        break;
    }
}

/* ---- a run */

static void finish_all(struct peer *peer)
{
    rig_settle(&rig);
    meet();
    for (size_t i = 0; i < CALLS; i++) {
        struct model *m = &models[i];
        if (m->call == NULL) {
            continue;
        }
        if (m->stream != 0 && !m->server_is_done && !m->is_closed && !m->is_cancelled) {
            server_credit(peer, m->stream, 1024 * 1024);
            rig_settle(&rig);
            HOLDS(m->server_got == m->sent);
            HOLDS(m->server_saw_end == m->is_half_closed);
            HOLDS(!m->was_again || m->is_half_closed);
            finish(peer, m, LULL_CODE_OK);
        }
        rig_settle(&rig);
        lull_call_resume(m->call);
        m->is_paused = false;
        for (int round = 0; round < 1000 && !m->is_closed; round++) {
            rig_settle(&rig);
            lull_call_resume(m->call); /* on_message pauses now and then */
            m->is_paused = false;
        }
        HOLDS(m->is_closed);
        lull_call_unref(m->call);
    }
    HOLDS(rig.channel->replay_bytes == 0);
}

static void run(uint64_t with_seed)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    seed = with_seed;
    state = seed * UINT64_C(0x9E3779B97F4A7C15);
    memset(models, 0, sizeof(models));
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    server.credits = below(2) == 0;
    server.on_message = server_got;
    server.on_end = server_end;
    rig.wants_trace = false;
    rig_open(&rig);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    struct peer *peer = rig_peer(&rig, 0);
    for (int i = 0; i < STEPS; i++) {
        act(&models[below(CALLS)]);
        if (below(3) != 0) {
            continue;
        }
        rig_settle(&rig);
        meet();
        for (uint32_t n = below(4); n > 0; n--) {
            answer(peer, &models[below(CALLS)]);
            rig_settle(&rig);
        }
        rig_advance(&rig, below(1000) * LULL_MS);
    }
    finish_all(peer);
    rig_fini(&rig);
    server_fini(&server);
}

START_TEST(random_streams_agree_with_the_oracle)
{
    const char *given = getenv("LULL_TEST_SEED");
    if (given != NULL) {
        run(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t i = 1; i <= SEEDS; i++) {
        run(i + (uint64_t)_i * SEEDS);
    }
    ck_assert_msg(totals.ok >= 10 && totals.cancelled >= 5 && totals.refused_by_server >= 10 &&
                      totals.told >= 4000 && totals.got >= 5000 && totals.again >= 500 &&
                      totals.writable >= 5,
                  "%u OK, %u cancelled, %u refused, %u told, %u received, %u again, %u writable",
                  totals.ok, totals.cancelled, totals.refused_by_server, totals.told, totals.got,
                  totals.again, totals.writable);
}
END_TEST

static Suite *call_oracle_suite(void)
{
    Suite *suite = suite_create("call_oracle");
    TCase *tcase = tcase_create("call_oracle");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, random_streams_agree_with_the_oracle, 0, 5);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_oracle", call_oracle_suite)
