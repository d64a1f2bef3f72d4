/* SPDX-License-Identifier: MIT */
/*
 * Many connections with keepalive and no calls on one executor, for many periods: none is lost, and each costs what one does. Each
 * far end answers PINGs, 3 ms after they were written.
 */
#include "h2/inner.h"
#include "h2/transport.h"
#include "lull/clock.h"
#include "net/endpoint_pipe.h"

#include "tests/support/check_main.h"
#include "tests/support/rounds.h"

#define MANY    1000
#define MS(x)   ((x)*LULL_MS)

struct connection {
    struct h2_transport *transport;
    struct endpoint *far;
    struct lull_timer answer; /* a PING waits for its ACK */
    uint8_t ack[17];
    unsigned pings;
    struct lull_instant pinged_at;
    uint8_t head[32];
    size_t skip; /* of the stream of bytes: the rest of a payload */
    size_t head_len;
    bool is_silent;
};

static struct connection many[MANY];
static struct lull_fake_clock fake;
static struct lull_executor *executor;
static unsigned lost;

static void nothing(struct h2_transport *transport)
{
    (void)transport;
}

static void on_goaway(struct h2_transport *transport, uint32_t code, int32_t last,
                      const uint8_t *debug, size_t debug_len)
{
    (void)transport;
    (void)code;
    (void)last;
    (void)debug;
    (void)debug_len;
}

static void on_read(struct h2_transport *transport, struct lull_instant now)
{
    (void)transport;
    (void)now;
}

static void on_closed(struct h2_transport *transport, const struct h2_transport_end *end)
{
    struct connection *c = h2_transport_owner(transport);
    c->transport = NULL;
    lost += end->kind == H2_LOST_KEEPALIVE;
}

static const struct h2_transport_ops ops = {nothing, on_goaway, nothing, on_read, on_closed};

static void answer(struct lull_timer *timer, struct lull_instant now)
{
    struct connection *c = container_of(timer, struct connection, answer);
    struct io_piece piece = {c->ack, sizeof(c->ack)};
    size_t wrote;
    (void)now;
    ck_assert_int_eq(endpoint_writev(c->far, &piece, 1, &wrote), IO_OK);
}

static void hear_ping(struct connection *c, const uint8_t frame[17])
{
    struct lull_instant now = lull_executor_now(executor);
    memcpy(c->ack, frame, 17);
    c->ack[4] = 1;
    if (c->pings > 0 && lull_instant_diff(now, c->pinged_at) != MS(10003)) {
        ck_abort_msg("ping %u after %lld ns", c->pings,
                     (long long)lull_instant_diff(now, c->pinged_at));
    }
    c->pings++;
    c->pinged_at = now;
    if (!c->is_silent) {
        lull_timer_arm(&c->answer, lull_instant_add(now, MS(3)));
    }
}

/* Past the magic, frames: PINGs are looked at, all else is skipped. */
static void hear_byte(struct connection *c, uint8_t byte)
{
    size_t len;
    if (c->skip > 0) {
        c->skip--;
        return;
    }
    c->head[c->head_len++] = byte;
    if (c->head_len < 9) {
        return;
    }
    len = (size_t)c->head[0] << 16 | (size_t)c->head[1] << 8 | c->head[2];
    if (c->head[3] != 6) {
        c->skip = len;
        c->head_len = 0;
    } else if (c->head_len == 9 + len) {
        ck_assert_uint_eq(len, 8);
        hear_ping(c, c->head);
        c->head_len = 0;
    }
}

static void far_ready(struct endpoint *far, unsigned ready)
{
    struct connection *c = far->owner;
    uint8_t bytes[512];
    size_t got = 0;
    (void)ready;
    if (endpoint_read(far, bytes, sizeof(bytes), &got) != IO_OK) {
        (void)endpoint_want(far, LULL_WANT_NONE);
        return;
    }
    for (size_t i = 0; i < got; i++) {
        hear_byte(c, bytes[i]);
    }
}

static void connect_one(struct connection *c)
{
    struct h2_transport_options options = {
        .stream_window_bytes = 256 * 1024,
        .connection_window_bytes = 1024 * 1024,
        .scheme = "http",
        .authority = "svc.test:80",
        .user_agent = "lull-c/0.1.0",
        .keepalive = {.time_ns = MS(10000), .timeout_ns = MS(20000), .without_calls = true},
    };
    struct pipe_options pipe = {.capacity_bytes = 512};
    struct addr addr;
    struct endpoint *near;
    struct io_piece settings = {"\0\0\0\4\0\0\0\0\0", 9};
    size_t wrote;
    memset(c, 0, sizeof(*c));
    c->skip = 24;
    ck_assert(addr_from_ip(&addr, "10.0.0.2", 80));
    ck_assert_int_eq(endpoint_pipe_new(executor, executor, &addr, &addr, &pipe, &near, &c->far), 0);
    ck_assert_int_eq(lull_timer_init(&c->answer, executor, answer), LULL_OK);
    c->far->on_ready = far_ready;
    c->far->owner = c;
    (void)endpoint_want(c->far, LULL_WANT_READ);
    ck_assert_int_eq(endpoint_writev(c->far, &settings, 1, &wrote), IO_OK);
    ck_assert_int_eq(h2_transport_new(executor, near, &options, &ops, c, &c->transport), LULL_OK);
}

static void begin(void)
{
    struct lull_executor_options options;
    lost = 0;
    lull_fake_clock_init(&fake, -MS(77777), 0);
    lull_executor_options_init(&options);
    options.clock = &fake.base;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(executor, &fake), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    for (size_t i = 0; i < MANY; i++) {
        connect_one(&many[i]);
    }
    lull_executor_leave(executor);
    lull_fake_clock_settle(&fake);
}

static void end(void)
{
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    for (size_t i = 0; i < MANY; i++) {
        if (many[i].transport != NULL) {
            h2_transport_close(many[i].transport, 0, "test over");
        }
        endpoint_close(many[i].far);
        lull_timer_fini(&many[i].answer);
    }
    lull_executor_leave(executor);
    lull_fake_clock_settle(&fake);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    lull_executor_leave(executor);
    lull_executor_free(executor);
}

static struct lull_counters counters(void)
{
    struct lull_counters copy = {.size = sizeof(copy)};
    lull_executor_counters(executor, &copy);
    return copy;
}

START_TEST(thousand_connections_without_calls_stay_alive)
{
    const unsigned periods = test_rounds(50, 5);
    struct lull_counters before;
    struct lull_counters after;
    begin();
    before = counters();
    ck_assert_uint_eq(before.timers_armed, MANY);
    lull_fake_clock_advance(&fake, periods * MS(10003));
    after = counters();
    ck_assert_uint_eq(lost, 0);
    for (size_t i = 0; i < MANY; i++) {
        struct h2_ping_stats stats;
        ck_assert_ptr_nonnull(many[i].transport);
        h2_transport_ping_stats(many[i].transport, &stats);
        ck_assert_uint_eq(stats.sent, periods);
        ck_assert_uint_eq(stats.acked, periods);
        ck_assert_uint_eq(stats.late, 0);
        ck_assert_int_eq(stats.min_rtt_ns, MS(3));
        ck_assert_int_eq(stats.max_rtt_ns, MS(3));
    }
    ck_assert_uint_eq(after.pings_sent, MANY * periods);
    /* A period: the verdict's arming, and its move to the next ping when the answer came; the far end's delay is a timer, too. */
    ck_assert_uint_eq(after.timer_arms - before.timer_arms, MANY * periods * (2 + 1));
    ck_assert_uint_eq(after.timer_fires - before.timer_fires, MANY * periods * (1 + 1));
    ck_assert_uint_eq(after.timer_disarms - before.timer_disarms, 0);
    ck_assert_uint_eq(after.timers_armed, MANY);
    end();
}
END_TEST

START_TEST(only_the_silent_ones_are_lost)
{
    begin();
    for (size_t i = 0; i < MANY; i += 10) {
        many[i].is_silent = true;
    }
    lull_fake_clock_advance(&fake, MS(29999));
    ck_assert_uint_eq(lost, 0);
    lull_fake_clock_advance(&fake, MS(1));
    ck_assert_uint_eq(lost, MANY / 10);
    lull_fake_clock_advance(&fake, MS(100000));
    ck_assert_uint_eq(lost, MANY / 10);
    ck_assert_uint_eq(counters().timers_armed, MANY - MANY / 10);
    end();
}
END_TEST

/* A stall longer than time and timeout together, with all answers lost in it or not yet given: nobody is condemned. */
START_TEST(stall_of_the_whole_process_loses_none)
{
    begin();
    lull_fake_clock_jump(&fake, 3600 * LULL_SECOND);
    ck_assert_uint_eq(lost, 0);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(many[i].pings, 1);
    }
    lull_fake_clock_jump(&fake, 3600 * LULL_SECOND);
    ck_assert_uint_eq(lost, 0);
    end();
}
END_TEST

static Suite *keepalive_many_suite(void)
{
    Suite *suite = suite_create("keepalive_many");
    TCase *tc = tcase_create("keepalive_many");
    tcase_add_test(tc, thousand_connections_without_calls_stay_alive);
    tcase_add_test(tc, only_the_silent_ones_are_lost);
    tcase_add_test(tc, stall_of_the_whole_process_loses_none);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("keepalive_many", keepalive_many_suite)
