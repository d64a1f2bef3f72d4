/* SPDX-License-Identifier: MIT */
/*
 * Small messages that come many in one piece: h2/framing.c makes a run of them, channel/call_receive.c tells it. Nobody can tell it
 * from messages that came one by one.
 */
#include <stdio.h>
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

#define EACH  20 /* bytes of a message with its prefix */
#define COUNT 600

static struct rig rig;
static struct server server;
static uint8_t wire[COUNT * EACH];

/* What one call was told, checked as it comes. */
static struct {
    struct lull_call *call;
    unsigned messages;
    unsigned closed;
    enum lull_code code;
    int act_at; /* the message at which the test acts, by `act` */
    void (*act)(void);
    struct lull_slice kept;
} got;

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    char expected[EACH];
    (void)call;
    (void)ctx;
    snprintf(expected, sizeof(expected), "message %06u!", got.messages);
    if ((int)got.messages == got.act_at) {
        got.act();
        got.kept = lull_slice_ref(message);
    }
    ck_assert_uint_eq(message.len, EACH - 5);
    ck_assert_mem_eq(message.data, expected, EACH - 5);
    got.messages++;
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    got.closed++;
    got.code = status->code;
}

static struct peer *begin(int act_at, void (*act)(void))
{
    struct rig_step step = {.what = RIG_ACCEPT};
    struct lull_call_handler handler = {.size = sizeof(handler), .on_message = on_message, .on_closed = on_closed};
    struct lull_call_options options;
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&got, 0, sizeof(got));
    got.act_at = act_at;
    got.act = act;
    for (unsigned i = 0; i < COUNT; i++) {
        char text[EACH];
        snprintf(text, sizeof(text), "message %06u!", i);
        memcpy(wire + i * EACH, "\0\0\0\0\17", 5);
        memcpy(wire + i * EACH + 5, text, EACH - 5);
    }
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, &got.call, NULL), LULL_OK);
    rig_settle(&rig);
    server_headers(rig_peer(&rig, 0), 1);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    lull_slice_unref(got.kept);
    lull_call_unref(got.call);
    rig_fini(&rig);
    server_fini(&server);
}

START_TEST(messages_of_one_piece_are_told_in_order_wherever_it_is_cut)
{
    /* Around the borders of messages, of a slab of 512 bytes and of one of 4096. */
    static const size_t cuts[] = {0, 1, 4, 5, 6, 19, 20, 21, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 11999};
    const size_t cut = cuts[_i];
    struct peer *peer = begin(-1, NULL);
    peer_frame(peer, FRAME_DATA, 0, 1, wire, cut);
    peer_frame(peer, FRAME_DATA, 0, 1, wire + cut, sizeof(wire) - cut);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    ck_assert_uint_eq(got.messages, COUNT);
    ck_assert_uint_eq(got.closed, 1);
    ck_assert_int_eq(got.code, LULL_CODE_OK);
    end();
}
END_TEST

START_TEST(a_wrong_prefix_ends_the_call_and_what_came_before_it_was_told)
{
    struct peer *peer = begin(-1, NULL);
    wire[300 * EACH] = 2; /* neither 0 nor 1 */
    peer_frame(peer, FRAME_DATA, 0, 1, wire, sizeof(wire));
    rig_settle(&rig);
    ck_assert_uint_le(got.messages, 300);
    ck_assert_uint_eq(got.closed, 1);
    ck_assert_int_eq(got.code, LULL_CODE_INTERNAL);
    end();
}
END_TEST

static void cancel(void)
{
    lull_call_cancel(got.call);
}

/* The message at hand is looked at after the call let go of all that it held. */
START_TEST(a_cancel_within_a_run_leaves_the_message_at_hand_and_drops_the_rest)
{
    struct peer *peer = begin(7, cancel);
    peer_frame(peer, FRAME_DATA, 0, 1, wire, sizeof(wire));
    rig_settle(&rig);
    ck_assert_uint_eq(got.messages, 8);
    ck_assert_int_eq(got.code, LULL_CODE_CANCELLED);
    ck_assert_mem_eq(got.kept.data, "message 000007!", EACH - 5);
    end();
}
END_TEST

static void hold(void)
{
    lull_call_pause(got.call);
}

START_TEST(a_pause_within_a_run_holds_the_rest_and_its_credit)
{
    struct peer *peer = begin(7, hold);
    size_t credited;
    peer_frame(peer, FRAME_DATA, 0, 1, wire, sizeof(wire));
    rig_settle(&rig);
    ck_assert_uint_eq(got.messages, 8);
    credited = server_credited(peer, 1);
    ck_assert_uint_le(credited, 8 * EACH);
    lull_call_resume(got.call);
    rig_settle(&rig);
    ck_assert_uint_eq(got.messages, COUNT);
    end();
}
END_TEST

static void ignore(void)
{
}

START_TEST(a_kept_message_of_a_run_outlives_the_channel)
{
    struct peer *peer = begin(COUNT - 1, ignore);
    peer_frame(peer, FRAME_DATA, 0, 1, wire, sizeof(wire));
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    lull_channel_close(rig.channel);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_mem_eq(got.kept.data, "message 000599!", EACH - 5);
    end();
}
END_TEST

/* Frames of two tiny messages each do not take a slab of a run each. */
START_TEST(what_a_paused_call_holds_takes_memory_of_the_order_of_what_came)
{
    struct peer *peer = begin(0, hold);
    static const uint8_t tiny[12] = {0, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 1, 'b'};
    uint64_t before;
    peer_frame(peer, FRAME_DATA, 0, 1, wire, EACH);
    rig_settle(&rig);
    before = rig.memory.asked;
    for (int i = 0; i < 2000; i++) {
        peer_frame(peer, FRAME_DATA, 0, 1, tiny, sizeof(tiny));
    }
    rig_settle(&rig);
    ck_assert_uint_eq(got.messages, 1);
    /* 24 000 bytes: 50 slabs of 512, and what they are kept in. */
    ck_assert_uint_le(rig.memory.asked - before, 120);
    lull_call_cancel(got.call);
    rig_settle(&rig);
    end();
}
END_TEST

/* ---- bytes held, by the memory hooks */

/* Frames of so many messages of so many bytes, of two kinds in turn. */
static const struct shape {
    unsigned count[2];
    size_t len[2];
} shapes[] = {
    {{1, 1}, {1, 1}},    {{2, 2}, {1, 1}},     {{1, 1}, {0, 0}},     {{10, 10}, {1, 1}},   {{43, 43}, {1, 1}},    {{345, 345}, {1, 1}},
    {{700, 700}, {1, 1}}, {{1, 43}, {1, 1}},    {{1, 1}, {100, 100}}, {{1, 1}, {257, 257}}, {{1, 1}, {300, 513}},  {{1, 1}, {1, 513}},
    {{1, 345}, {1, 1}},  {{43, 345}, {1, 1}},  {{1, 700}, {0, 0}},   {{1, 1}, {512, 512}}, {{1, 1}, {1, 512}},     {{3, 43}, {80, 1}},
};

static size_t add_frame(struct peer *peer, unsigned count, size_t len)
{
    static uint8_t frame[16384];
    for (unsigned i = 0; i < count; i++) {
        uint8_t *at = frame + i * (5 + len);
        memset(at, 0, 5 + len);
        at[3] = (uint8_t)(len >> 8);
        at[4] = (uint8_t)len;
    }
    peer_frame(peer, FRAME_DATA, 0, 1, frame, count * (5 + len));
    return count * (5 + len);
}

START_TEST(what_a_peer_sends_that_nobody_takes_is_held_in_three_times_its_bytes)
{
    const struct shape *shape = &shapes[_i];
    struct peer *peer = begin(0, hold);
    size_t before;
    size_t came = 0;
    peer_frame(peer, FRAME_DATA, 0, 1, wire, EACH);
    rig_settle(&rig);
    before = rig.memory.live_bytes;
    for (unsigned i = 0; came < 150000; i++) {
        came += add_frame(peer, shape->count[i % 2], shape->len[i % 2]);
        rig_settle(&rig);
    }
    ck_assert_uint_le(rig.memory.live_bytes - before, 3 * came);
    lull_call_cancel(got.call);
    rig_settle(&rig);
    end();
}
END_TEST

static Suite *call_run_suite(void)
{
    Suite *s = suite_create("call_run");
    TCase *cases = tcase_create("runs");
    tcase_add_loop_test(cases, messages_of_one_piece_are_told_in_order_wherever_it_is_cut, 0, 22);
    tcase_add_test(cases, a_wrong_prefix_ends_the_call_and_what_came_before_it_was_told);
    tcase_add_test(cases, a_cancel_within_a_run_leaves_the_message_at_hand_and_drops_the_rest);
    tcase_add_test(cases, a_pause_within_a_run_holds_the_rest_and_its_credit);
    tcase_add_test(cases, a_kept_message_of_a_run_outlives_the_channel);
    tcase_add_test(cases, what_a_paused_call_holds_takes_memory_of_the_order_of_what_came);
    tcase_add_loop_test(cases, what_a_peer_sends_that_nobody_takes_is_held_in_three_times_its_bytes, 0,
                        (int)(sizeof(shapes) / sizeof(shapes[0])));
    suite_add_tcase(s, cases);
    return s;
}

LULL_TEST_MAIN("call_run", call_run_suite)
