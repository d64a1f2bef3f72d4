/* SPDX-License-Identifier: MIT */
/*
 * A Watch on a simulated etcd through an hour of silence: when it is pinged, that it keeps the channel awake, and when the channel
 * falls idle behind it (RULINGS 4, 6; C03). The peer says what etcd says, byte by byte, and counts pings as etcd does: one in 5 s.
 */
#include <string.h>

#include "base/buf.h"
#include "tests/sim/life.h"
#include "tests/support/check_main.h"
#include "tests/support/etcd_wire.h"

#define S(x) ((x)*LULL_SECOND)

#define KEEPALIVE_TIME    S(10)
#define KEEPALIVE_TIMEOUT S(5)
#define IDLE_TIMEOUT      S(1800)

enum { STREAM = 1, STEPS = 7, WATCH_ID = 7 };

static struct life life;

/* ---- the simulated etcd */

static struct buf said[STEPS];
static struct peer_step script[STEPS];

static void say_watch_response(struct buf *to, const struct etcd_watch_response *response)
{
    struct etcd_message message;
    etcd_write_watch_response(&message, response);
    ck_assert(!message.is_cut);
    ck_assert_int_eq(frame_put_message(to, STREAM, message.bytes, message.len), 0);
}

static void put_at(size_t step, int64_t at_ns, int64_t revision, const char *value)
{
    struct etcd_watch_response response = {
        .revision = revision, .watch_id = WATCH_ID, .events = 1, .puts = 1};
    struct etcd_kv *kv = &response.kv[0];
    (void)snprintf(kv->key, sizeof(kv->key), "lull/watched");
    (void)snprintf(kv->value, sizeof(kv->value), "%s", value);
    kv->create_revision = 11;
    kv->mod_revision = revision;
    kv->version = revision - 10;
    say_watch_response(&said[step], &response);
    script[step].at_ns = at_ns;
}

/* A watch on request; puts after 1 s, after an hour of silence, and a second later; the watch cancelled on request. */
static void etcd_begin(void)
{
    static const struct etcd_watch_response created = {
        .revision = 10, .watch_id = WATCH_ID, .is_created = true};
    static const struct etcd_watch_response canceled = {
        .revision = 13, .watch_id = WATCH_ID, .is_canceled = true};
    memset(script, 0, sizeof(script));
    for (size_t i = 0; i < STEPS; i++) {
        buf_init(&said[i], NULL, 0);
    }
    ck_assert_int_eq(frame_put_grpc_headers(&said[1], STREAM), 0);
    say_watch_response(&said[1], &created);
    put_at(2, S(1), 11, "one");
    put_at(3, S(3606), 12, "two");
    put_at(4, S(3607), 13, "three");
    say_watch_response(&said[6], &canceled);
    for (size_t i = 0; i < STEPS; i++) {
        script[i].kind = PEER_SEND;
        script[i].bytes = buf_data(&said[i]);
        script[i].len = buf_len(&said[i]);
    }
    script[0] = (struct peer_step){.kind = PEER_EXPECT, .type = FRAME_DATA, .stream = STREAM};
    script[5] = script[0];
    life.peer.replies = false;
    life.peer.is_policed = true;
    life.peer.police.permit_ns = S(5);
    life.peer.script = script;
    life.peer.script_len = STEPS;
}

/* ---- the client */

struct watch {
    struct lull_call *call;
    unsigned messages, unreadable, closed;
    struct etcd_watch_response last;
    int64_t last_ns, closed_ns;
    enum lull_code code;
    enum lull_reason reason;
};

static struct watch watch;

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)ctx;
    watch.messages++;
    watch.last_ns = sim_elapsed_ns(&life.sim);
    watch.unreadable += !etcd_read_watch_response(message.data, message.len, &watch.last);
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    watch.closed++;
    watch.closed_ns = sim_elapsed_ns(&life.sim);
    watch.code = status->code;
    watch.reason = status->failure == NULL ? LULL_REASON_NONE : status->failure->reason;
}

static void send_message(const struct etcd_message *message)
{
    struct lull_slice slice;
    ck_assert(!message->is_cut);
    ck_assert_int_eq(lull_slice_copy(NULL, message->bytes, message->len, &slice), LULL_OK);
    ck_assert_int_eq(lull_call_send(watch.call, slice), LULL_OK);
    lull_slice_unref(slice);
    sim_settle(&life.sim);
}

static void begin(int64_t keepalive_time_ns)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct etcd_message create;
    life_begin(&life, 12);
    etcd_begin();
    life.options.idle_timeout_ns = IDLE_TIMEOUT;
    life.options.keepalive_time_ns = keepalive_time_ns;
    life.options.keepalive_timeout_ns = KEEPALIVE_TIMEOUT;
    life_open(&life);
    memset(&watch, 0, sizeof(watch));
    lull_call_options_init(&options, "/etcdserverpb.Watch/Watch");
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(life.channel, &options, &handler, NULL, &watch.call, NULL),
                     LULL_OK);
    etcd_write_watch_create(&create, "lull/watched");
    send_message(&create);
    ck_assert_uint_eq(watch.messages, 1);
    ck_assert(watch.last.is_created);
}

static void end(void)
{
    lull_call_unref(watch.call);
    ck_assert_uint_eq(watch.closed, 1);
    ck_assert_uint_eq(watch.unreadable, 0);
    life_end(&life);
    for (size_t i = 0; i < STEPS; i++) {
        buf_fini(&said[i]);
    }
}

static void expect_put(unsigned messages, int64_t at_ns, int64_t revision, const char *value)
{
    ck_assert_uint_eq(watch.messages, messages);
    ck_assert_int_eq(watch.last_ns, at_ns);
    ck_assert_uint_eq(watch.last.events, 1);
    ck_assert_int_eq(watch.last.revision, revision);
    ck_assert_str_eq(watch.last.kv[0].key, "lull/watched");
    ck_assert_str_eq(watch.last.kv[0].value, value);
    ck_assert_int_eq(watch.last.kv[0].mod_revision, revision);
}

/* The n-th ping, from 1, at this instant and not before. */
static void expect_ping(unsigned n, int64_t at_ns)
{
    life_at(&life, at_ns - 1);
    ck_assert_msg(life.peer.pings == n - 1, "%u pings before %lld ms", life.peer.pings,
                  (long long)(at_ns / LULL_MS));
    sim_advance(&life.sim, 1);
    ck_assert_msg(life.peer.pings == n, "%u pings at %lld ms", life.peer.pings,
                  (long long)(at_ns / LULL_MS));
    ck_assert_int_eq(life.peer.ping_ns, at_ns);
    /* The stream is the channel's activity, whatever is silent. */
    ck_assert_int_eq(life_state(&life), LULL_STATE_READY);
    ck_assert_int_eq(life_stats(&life).idle_after_ns, LULL_NEVER);
}

/* Awake until the idle timeout after this instant, then asleep. */
static void expect_idle_after(int64_t ended_ns)
{
    unsigned pings = life.peer.pings;
    ck_assert_int_eq(life_stats(&life).idle_after_ns, IDLE_TIMEOUT);
    life_at(&life, ended_ns + IDLE_TIMEOUT - 1);
    ck_assert(!life_stats(&life).is_in_idle_mode);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    ck_assert_uint_eq(life.peer.pings, pings);
}

START_TEST(a_watch_lives_through_an_hour_of_silence_and_idle_mode_waits_for_its_end)
{
    struct etcd_message cancel;
    unsigned n = 0;
    begin(KEEPALIVE_TIME);
    life_at(&life, S(1));
    expect_put(2, S(1), 11, "one");

    for (int64_t due_ns = S(11); due_ns < S(3606);
         due_ns += S(10)) { /* 10 s from the last byte read: the put, then each ack */
        expect_ping(++n, due_ns);
    }
    ck_assert_uint_eq(n, 360);
    ck_assert_uint_eq(watch.messages, 2);
    life_at(&life, S(3606));
    expect_put(3, S(3606), 12, "two");
    life_at(&life, S(3607));
    expect_put(4, S(3607), 13, "three");
    expect_ping(++n, S(3617)); /* each put was life, too */

    life_at(&life, S(3620));
    etcd_write_watch_cancel(&cancel, watch.last.watch_id);
    send_message(&cancel);
    ck_assert_uint_eq(watch.messages, 5);
    ck_assert(watch.last.is_canceled);
    lull_call_cancel(watch.call); /* etcd leaves the stream open */
    sim_settle(&life.sim);
    ck_assert_int_eq(watch.closed_ns, S(3620));
    ck_assert_int_eq(watch.code, LULL_CODE_CANCELLED);
    ck_assert_uint_eq(life.peer.resets, 1);
    expect_idle_after(S(3620));

    ck_assert_uint_eq(life.peer.accepted, 1); /* one connection, and no strike on it */
    ck_assert_uint_eq(life.peer.strikes, 0);
    ck_assert_int_eq(life_stats(&life).keepalive_time_ns, KEEPALIVE_TIME);
    ck_assert_uint_eq(life_stats(&life).pings_acked, n);
    ck_assert_uint_eq(life.states.count, 3); /* CONNECTING, READY, IDLE */
    end();
}
END_TEST

START_TEST(a_watch_whose_etcd_dies_in_the_silence_is_told_and_idle_mode_counts_from_there)
{
    begin(KEEPALIVE_TIME);
    life_at(&life, S(1800));
    life.peer.acks_pings = false;
    life_at(&life, S(1801) + KEEPALIVE_TIMEOUT - 1); /* pinged after 11, 21, ... 1801 s */
    ck_assert_int_eq(life.peer.ping_ns, S(1801));
    ck_assert_uint_eq(watch.closed, 0);
    sim_advance(&life.sim, 1);
    ck_assert_uint_eq(watch.closed, 1);
    ck_assert_int_eq(watch.closed_ns, S(1801) + KEEPALIVE_TIMEOUT);
    ck_assert_int_eq(watch.code, LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(watch.reason, LULL_REASON_KEEPALIVE);
    ck_assert_uint_eq(watch.messages, 2);
    life_at(&life, S(1801) + KEEPALIVE_TIMEOUT + IDLE_TIMEOUT - 1);
    ck_assert(!life_stats(&life).is_in_idle_mode);
    sim_advance(&life.sim, 1);
    life_expect_asleep(&life);
    end();
}
END_TEST

START_TEST(without_keepalive_the_hour_costs_nothing)
{
    begin(LULL_NEVER);
    life_at(&life, S(1));
    struct lull_counters before = sim_counters(&life.sim);
    life_at(&life, S(3606) - 1);
    struct lull_counters after = sim_counters(&life.sim);
    ck_assert_uint_gt(before.turns, 0);
    ck_assert_uint_eq(after.turns, before.turns);
    ck_assert_uint_eq(after.timer_arms, before.timer_arms);
    ck_assert_uint_eq(after.timers_armed, 0);
    ck_assert_uint_eq(life.peer.pings, 0);
    sim_advance(&life.sim, 1);
    expect_put(3, S(3606), 12, "two");
    life_at(&life, S(3700));
    lull_call_cancel(watch.call);
    sim_settle(&life.sim);
    expect_idle_after(S(3700));
    end();
}
END_TEST

static Suite *watch_hour_suite(void)
{
    Suite *suite = suite_create("sim/watch_hour");
    TCase *t = tcase_create("watch");
    tcase_add_test(t, a_watch_lives_through_an_hour_of_silence_and_idle_mode_waits_for_its_end);
    tcase_add_test(t,
                   a_watch_whose_etcd_dies_in_the_silence_is_told_and_idle_mode_counts_from_there);
    tcase_add_test(t, without_keepalive_the_hour_costs_nothing);
    suite_add_tcase(suite, t);
    return suite;
}

LULL_TEST_MAIN("sim/watch_hour", watch_hour_suite)
