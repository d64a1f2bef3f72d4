/* SPDX-License-Identifier: MIT */
/* scenarios 253, 254 and 276, pain-case C26. */
#include "h2/flow.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/peer.h"

static void download(uint32_t len, struct pipe_options pipe)
{
    struct h2_transport_options options = world_options();
    struct heard *h;
    world_begin_as(&options, pipe, NULL);
    peer_begin(len, NULL, 0);
    run();
    h = open_call(0);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(h->message_len, len);
    for (size_t i = 0; i < KEPT_MESSAGE && i < len; i++) {
        ck_assert_uint_eq(h->message[i], (uint8_t)(i + 5));
    }
    peer_end();
}

START_TEST(message_larger_than_the_windows_flows)
{
    download(1048576, (struct pipe_options){.capacity_bytes = 65536});
    download(4194304, (struct pipe_options){.capacity_bytes = 65536});
    download(4194304, (struct pipe_options){.capacity_bytes = 2 * 1024 * 1024});
}
END_TEST

START_TEST(message_flows_through_a_narrow_pipe)
{
    download(300000, (struct pipe_options){.capacity_bytes = 999, .read_chunk_bytes = 77});
}
END_TEST

/* 256 KiB are credited in half-window steps: 4 MiB are 32 updates for the stream, 8 for the connection. */
START_TEST(updates_come_in_half_windows)
{
    world_begin();
    peer_begin(4194304, NULL, 0);
    run();
    (void)open_call(0);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_uint_ge(sent_count(8, 1), 28);
    ck_assert_uint_le(sent_count(8, 1), 32);
    ck_assert_uint_le(sent_count(8, 0), 9);
    peer_end();
}
END_TEST

START_TEST(many_large_answers_share_the_connection)
{
    world_begin();
    peer_begin(700000, NULL, 0);
    run();
    for (unsigned i = 0; i < 40; i++) {
        (void)open_call(i);
    }
    run();
    for (unsigned i = 0; i < 40; i++) {
        ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
        ck_assert_uint_eq(calls[i].message_len, 700000);
    }
    peer_end();
}
END_TEST

/* C26: what comes for a stream that we reset is credited to the connection. */
START_TEST(data_of_a_reset_stream_is_credited)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    uint8_t *body = calloc(1, 16384);
    size_t credited = 0;
    size_t said = 0;
    struct sent_frame frame;
    options.connection_window_bytes = 65535;
    options.stream_window_bytes = 65535;
    world_begin_as(&options, pipe, NULL);
    (void)world_ready(2);
    say_headers(1);
    run();
    h2_stream_reset(&calls[0].stream, 8);
    run();
    for (int i = 0; i < 4; i++) {
        say_frame(0, 0, 1, body, i < 3 ? 16384 : 16383);
    }
    run();
    for (unsigned n = 0; sent_frame(8, 0, n, &frame); n++) {
        credited += get32(frame.payload);
    }
    ck_assert_uint_gt(credited, 65535 / 2);
    /* Stream 3 then gets 1 MB, never more at a time than the window allows. */
    say_headers(3);
    memcpy(body, "\0\0\x0f\x42\x3b", 5); /* 999 995 */
    for (said = 0; said < 1000000; said += 10000) {
        say_frame(0, 0, 3, body, 10000);
        memset(body, 0, 5);
        run();
        ck_assert_uint_eq(calls[1].closed, 0);
    }
    say_trailers(3);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(calls[1].message_len, 999995);
    world_end();
    free(body);
}
END_TEST

/* scenario 253: a stream whose bytes are not taken over stops itself, not the others. Raw bytes are taken over too. */
START_TEST(raw_bytes_are_credited)
{
    uint8_t *body = calloc(1, 16384);
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h->wants_raw = true;
    say(F12, 26);
    for (int i = 0; i < 40; i++) {
        say_frame(0, 0, 1, body, 16384);
        run();
    }
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_uint_ge(sent_count(8, 1), 4);
    world_end();
    free(body);
}
END_TEST

START_TEST(padding_is_credited)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    uint8_t body[256] = {255};
    struct heard *h;
    options.connection_window_bytes = 65535;
    options.stream_window_bytes = 65535;
    world_begin_as(&options, pipe, NULL);
    h = world_ready(1);
    SAY(F6);
    for (int i = 0; i < 2000; i++) {
        say_frame(0, 8, 1, body, 256);
        run();
    }
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_ptr_nonnull(t);
    say_trailers(1);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

/* ---- a stream whose owner holds its peer back */

static size_t credited(uint32_t id)
{
    struct sent_frame frame;
    size_t sum = 0;
    for (unsigned n = 0; sent_frame(8, id, n, &frame); n++) {
        sum += get32(frame.payload);
    }
    return sum;
}

/* One message in frames of 10 000 bytes, as far as `bytes` of it (with its prefix). */
static void say_message(uint32_t id, size_t len, size_t bytes)
{
    static uint8_t body[10000];
    for (size_t said = 0; said < bytes;) {
        const size_t chunk = bytes - said < sizeof(body) ? bytes - said : sizeof(body);
        memset(body, 0, 5);
        if (said == 0) {
            framing_prefix(body, (uint32_t)len);
        }
        say_frame(0, 0, id, body, chunk);
        said += chunk;
        run();
    }
}

/*
 * The window is 64 000 and the updates come in halves. Whole messages that nobody took hold their bytes and 5 more back; the part of one
 * that is not whole is credited. What is expected is what the peer may send after all that: in windows, less what no update told yet.
 */
static const struct {
    const char *name;
    size_t lengths[4]; /* whole messages; 0: none */
    unsigned taken;    /* of these */
    size_t part;       /* bytes of one more, of 3 000 000 */
    size_t stream;     /* credit on the stream */
} windows[] = {
    {"nothing is taken", {20000, 20000, 15000}, 0, 0, 0},
    {"half a window is taken", {20000, 20000, 15000}, 2, 0, 40010},
    {"less than half is taken", {20000, 20000, 15000}, 1, 0, 0},
    {"all is taken; the rest waits for half a window", {20000, 20000, 15000}, 3, 0, 40010},
    {"a part flows though a message is held", {1000}, 0, 40000, 40000},
    {"a part under half a window is not told yet", {1000}, 0, 30000, 0},
    {"a part that is larger than the window", {1000}, 0, 500000, 480000},
    {"a message of the window's size flowed as it came", {63995}, 0, 0, 40000},
    {"it is taken; the rest waits for half a window", {63995}, 1, 0, 40000},
    {"a message larger than the window, taken", {200000}, 1, 0, 200000},
};

#define WINDOWS ((int)(sizeof(windows) / sizeof(windows[0])))

START_TEST(credit_follows_what_is_taken)
{
    struct h2_transport_options options = world_options();
    const struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    size_t arrived = 0;
    struct heard *h;
    options.stream_window_bytes = 64000;
    world_begin_as(&options, pipe, NULL);
    h = world_ready(1);
    h->stream.auto_consume = false;
    say_headers(1);
    for (unsigned i = 0; i < 4 && windows[_i].lengths[i] != 0; i++) {
        const size_t len = windows[_i].lengths[i];
        say_message(1, len, len + 5);
        arrived += len + 5;
    }
    for (unsigned i = 0; i < windows[_i].taken; i++) {
        h2_stream_consumed(&h->stream, windows[_i].lengths[i]);
    }
    say_message(1, 3000000, windows[_i].part);
    run();
    arrived += windows[_i].part;
    ck_assert_uint_eq(h->closed, 0);
    ck_assert_msg(credited(1) == windows[_i].stream, "%s: %zu, not %zu", windows[_i].name,
                  credited(1), windows[_i].stream);
    /* The connection's is credited whatever the stream does. */
    ck_assert_uint_ge(credited(0) + 524288, 1024 * 1024 - 65535 + arrived);
    world_end();
}
END_TEST

START_TEST(taking_too_much_or_too_late_does_no_harm)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    h->stream.auto_consume = false;
    say_headers(1);
    say_frame(0, 0, 1, MESSAGE_2, 7);
    run();
    h2_stream_consumed(&h->stream, 2);
    h2_stream_consumed(&h->stream, 2);
    h2_stream_consumed(&h->stream, 1000000);
    say_trailers(1);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    h2_stream_consumed(&h->stream, 2);
    run();
    ck_assert_uint_eq(sent_count(8, 1), 0);
    world_end();
}
END_TEST

/* Messages without bytes cost their prefixes: nobody sends them without an end. */
START_TEST(empty_messages_hold_their_prefixes)
{
    static uint8_t body[16380];
    struct h2_transport_options options = world_options();
    struct heard *h;
    options.stream_window_bytes = 65520;
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024}, NULL);
    h = world_ready(1);
    h->stream.auto_consume = false;
    say_headers(1);
    for (int i = 0; i < 4; i++) {
        say_frame(0, 0, 1, body, sizeof(body));
    }
    run();
    ck_assert_uint_eq(h->messages, 13104);
    ck_assert_uint_eq(credited(1), 0);
    for (unsigned i = 0; i < 13104; i++) {
        h2_stream_consumed(&h->stream, 0);
    }
    run();
    ck_assert_uint_ge(credited(1), 32760);
    world_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/flow");
    TCase *tc = tcase_create("flow");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, message_larger_than_the_windows_flows);
    tcase_add_test(tc, message_flows_through_a_narrow_pipe);
    tcase_add_test(tc, updates_come_in_half_windows);
    tcase_add_test(tc, many_large_answers_share_the_connection);
    tcase_add_test(tc, data_of_a_reset_stream_is_credited);
    tcase_add_test(tc, raw_bytes_are_credited);
    tcase_add_test(tc, padding_is_credited);
    tcase_add_loop_test(tc, credit_follows_what_is_taken, 0, WINDOWS);
    tcase_add_test(tc, taking_too_much_or_too_late_does_no_harm);
    tcase_add_test(tc, empty_messages_hold_their_prefixes);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/flow", suite)
