/* SPDX-License-Identifier: MIT */
/*
 * What a message on a stream costs, counted: memory, timer-queue work, tasks, writes.
 */
#include <string.h>

#include "channel/call.h"
#include "exec/executor.h"
#include "tests/support/check_main.h"
#include "told.h"

#define WARM_UP 50
#define STEADY  1000

static struct rig rig;
static struct server server;
static struct told a;

static void echo(struct peer *peer, struct server_stream *stream, const uint8_t *bytes, size_t len)
{
    if (stream->messages == 1) {
        server_headers(peer, stream->id);
    }
    server_send(peer, stream->id, bytes, len);
}

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    server.on_message = echo;
    rig.wants_trace = false;
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    told_start_with(&rig, &a, 3600 * LULL_SECOND, 60 * LULL_SECOND);
    rig_settle(&rig);
}

static void one_round(unsigned messages)
{
    for (unsigned i = 0; i < messages; i++) {
        ck_assert_int_eq(lull_call_send(a.handle, lull_slice_static("ping", 4)), LULL_OK);
    }
    rig_settle(&rig);
}

static void end(void)
{
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    rig_fini(&rig);
    server_fini(&server);
}

static void expect_free(unsigned messages, unsigned rounds)
{
    struct lull_counters before = rig_counters(&rig);
    uint64_t reads = rig_peer(&rig, 0)->reads;
    uint64_t asked = rig.memory.asked;
    size_t told = a.messages;
    for (unsigned i = 0; i < rounds; i++) {
        one_round(messages);
    }
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(a.messages - told, messages * rounds);
    ck_assert_uint_eq(after.timer_arms - before.timer_arms, 0);
    ck_assert_uint_eq(after.timer_disarms - before.timer_disarms, 0);
    ck_assert_uint_eq(after.timer_fires - before.timer_fires, 0);
#ifndef LULL_NO_POOL
    /* Not by us and not by nghttp2. */
    ck_assert_uint_eq(after.pool_misses - before.pool_misses, 0);
    ck_assert_uint_eq(rig.memory.asked - asked, 0);
#else
    /* Without the pool each claim is a block of its own (RULINGS 26): there is nothing else. */
    ck_assert_uint_eq(after.pool_misses - before.pool_misses,
                      after.pool_claims - before.pool_claims);
    ck_assert_uint_eq(rig.memory.asked - asked, after.pool_claims - before.pool_claims);
#endif
    /* One write a turn, the command and the work of one turn each. */
    ck_assert_uint_eq(rig_peer(&rig, 0)->reads - reads, rounds);
    ck_assert_uint_le(after.submits - before.submits, rounds);
    ck_assert_uint_le(after.posts - before.posts, rounds * (2 + messages / CALL_RECEIVE_BURST + 1));
    ck_assert_uint_le(after.turns - before.turns, 2 * rounds);
}

START_TEST(a_steady_ping_pong_allocates_nothing_and_touches_no_timer)
{
    begin();
    for (int i = 0; i < WARM_UP; i++) {
        one_round(1);
    }
    expect_free(1, STEADY);
    end();
}
END_TEST

START_TEST(many_messages_a_turn_allocate_nothing_either)
{
    begin();
    for (int i = 0; i < WARM_UP; i++) {
        one_round(50);
    }
    expect_free(50, 100);
    end();
}
END_TEST

/* A message in a turn is given straight to the stream: no task, no node. */
static void send_back(struct told *told, char what)
{
    if (what == 'M' && told->tag > 0) {
        told->tag--;
        ck_assert_int_eq(lull_call_send(told->handle, lull_slice_static("pong", 4)), LULL_OK);
    }
}

START_TEST(an_answer_in_a_callback_needs_no_command)
{
    begin();
    for (int i = 0; i < WARM_UP; i++) {
        one_round(1);
    }
    struct lull_counters before = rig_counters(&rig);
    a.then = send_back;
    a.tag = STEADY;
    one_round(1);
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(a.tag, 0);
    ck_assert_uint_eq(after.submits - before.submits, 1);
    ck_assert_uint_le(after.posts - before.posts, STEADY + 3);
    ck_assert_uint_le(after.turns - before.turns, STEADY + 3);
    end();
}
END_TEST

static Suite *call_stream_cost_suite(void)
{
    Suite *suite = suite_create("call_stream_cost");
    TCase *tcase = tcase_create("call_stream_cost");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_steady_ping_pong_allocates_nothing_and_touches_no_timer);
    tcase_add_test(tcase, many_messages_a_turn_allocate_nothing_either);
    tcase_add_test(tcase, an_answer_in_a_callback_needs_no_command);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_stream_cost", call_stream_cost_suite)
