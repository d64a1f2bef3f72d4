/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_ping.c: pings that the application asks for.
 */
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call;

struct asked {
    unsigned told;
    int64_t rtt_ns;
    char why[300];
    void (*then)(struct asked *asked);
};

static struct asked first, second;

static void on_pong(void *ctx, int64_t rtt_ns, const char *why)
{
    struct asked *asked = ctx;
    asked->told++;
    asked->rtt_ns = rtt_ns;
    ck_assert_int_eq(why == NULL, rtt_ns >= 0);
    snprintf(asked->why, sizeof(asked->why), "%s", why != NULL ? why : "");
    if (asked->then != NULL) {
        asked->then(asked);
    }
}

static void begin(void)
{
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    memset(&call, 0, sizeof(call));
    rig_start(&rig, RIG_ACCEPT, 0);
    rig.on_request = rig_stay_silent;
}

static void connect_now(void)
{
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
}

static void ask(struct asked *asked)
{
    struct lull_error error;
    ck_assert_msg(lull_channel_ping(rig.channel, on_pong, asked, &error) == LULL_OK, "%s",
                  error.text);
    ck_assert_str_eq(error.text, "");
}

/* The ACK of the n-th PING that the client sent. */
static void ack(size_t n)
{
    const struct peer_frame *ping = peer_find(rig_peer(&rig, 0), FRAME_PING, n);
    ck_assert_ptr_nonnull(ping);
    peer_frame(rig_peer(&rig, 0), FRAME_PING, FLAG_ACK, 0, ping->head, 8);
    rig_settle(&rig);
}

START_TEST(the_round_trip_is_told_once)
{
    begin();
    connect_now();
    ask(&first);
    ck_assert_uint_eq(first.told, 0);
    rig_advance(&rig, 35 * LULL_MS);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_PING), 1);
    ack(0);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_int_eq(first.rtt_ns, 35 * LULL_MS);
    ack(0); /* scenario 148: the same ACK again answers nothing */
    ck_assert_uint_eq(first.told, 1);
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(rig.channel, &stats);
    ck_assert_uint_eq(stats.pings_sent, 1);
    ck_assert_uint_eq(stats.pings_acked, 1);
    ck_assert_int_eq(stats.rtt_ns, 35 * LULL_MS);
    ck_assert(rig_has_traced(&rig, "127.0.0.1:2379: answered in 35 ms"));
    rig_fini(&rig);
}
END_TEST

/* scenario 148 */
START_TEST(two_at_once_share_one)
{
    begin();
    connect_now();
    ask(&first);
    ask(&second);
    rig_advance(&rig, LULL_MS);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_PING), 1);
    ack(0);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_uint_eq(second.told, 1);
    rig_fini(&rig);
}
END_TEST

/* scenario 150 */
START_TEST(a_connection_that_closes_fails_it)
{
    begin();
    connect_now();
    ask(&first);
    rig_settle(&rig);
    peer_close(rig_peer(&rig, 0));
    rig_settle(&rig);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_int_lt(first.rtt_ns, 0);
    ck_assert_str_ne(first.why, "");
    rig_fini(&rig);
}
END_TEST

START_TEST(closing_the_channel_fails_it)
{
    begin();
    connect_now();
    ask(&first);
    rig_settle(&rig);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_int_lt(first.rtt_ns, 0);
    ck_assert_ptr_nonnull(strstr(first.why, "channel closed"));
    rig_fini(&rig);
}
END_TEST

static void ask_again(struct asked *asked)
{
    asked->then = NULL;
    ask(&second);
}

START_TEST(a_callback_may_ask_again)
{
    begin();
    connect_now();
    first.then = ask_again;
    ask(&first);
    rig_settle(&rig);
    ack(0);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_uint_eq(second.told, 0);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_PING), 2);
    ack(1);
    ck_assert_uint_eq(second.told, 1);
    rig_fini(&rig);
}
END_TEST

/* It is no activity, and idle mode does not wait for it. */
START_TEST(idle_mode_fails_it_and_is_not_put_off)
{
    begin();
    lull_channel_unref(rig.channel);
    rig.options.idle_timeout_ns = 60 * LULL_SECOND;
    rig_open(&rig);
    connect_now();
    rig_advance_to(&rig, 60 * LULL_SECOND - 1);
    ask(&first);
    rig_advance(&rig, 1);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    ck_assert_uint_eq(first.told, 1);
    ck_assert_int_lt(first.rtt_ns, 0);
    ck_assert_ptr_nonnull(strstr(first.why, "idle"));
    rig_fini(&rig);
}
END_TEST

START_TEST(without_a_connection_it_is_refused_and_nothing_is_dialled)
{
    struct lull_error error;
    begin();
    ck_assert_int_eq(lull_channel_ping(rig.channel, on_pong, &first, &error), LULL_RC_STATE);
    ck_assert_ptr_nonnull(strstr(error.text, "IDLE"));
    ck_assert_int_eq(lull_channel_ping(rig.channel, on_pong, &first, NULL), LULL_RC_STATE);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_int_eq(lull_channel_ping(rig.channel, NULL, NULL, &error), LULL_RC_INVALID);
    connect_now();
    rig.memory.fail_at = rig.memory.asked + 1;
    ck_assert_int_eq(lull_channel_ping(rig.channel, on_pong, &first, &error), LULL_RC_NOMEM);
    rig.memory.fail_at = 0;
    lull_channel_close(rig.channel);
    ck_assert_int_eq(lull_channel_ping(rig.channel, on_pong, &first, &error), LULL_RC_CLOSED);
    rig_settle(&rig);
    ck_assert_uint_eq(first.told, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_ping_suite(void)
{
    Suite *suite = suite_create("channel_ping");
    TCase *tcase = tcase_create("channel_ping");
    tcase_add_test(tcase, the_round_trip_is_told_once);
    tcase_add_test(tcase, two_at_once_share_one);
    tcase_add_test(tcase, a_connection_that_closes_fails_it);
    tcase_add_test(tcase, closing_the_channel_fails_it);
    tcase_add_test(tcase, a_callback_may_ask_again);
    tcase_add_test(tcase, idle_mode_fails_it_and_is_not_put_off);
    tcase_add_test(tcase, without_a_connection_it_is_refused_and_nothing_is_dialled);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_ping", channel_ping_suite)
