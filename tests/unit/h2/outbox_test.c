/* SPDX-License-Identifier: MIT */
/* Sending on an open stream: order, frames, half-close, room, ends. */
#include "h2/outbox.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/h2/peer.h"

static struct h2_request streaming(void)
{
    struct h2_request request = a_request();
    request.has_message = false;
    request.ends = false;
    return request;
}

static struct heard *open_stream(unsigned n)
{
    struct h2_request request = streaming();
    return open_with(n, &request);
}

/* A message whose bytes can be told from every other's. */
static struct lull_slice numbered(uint8_t *bytes, size_t len, unsigned n)
{
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)(n * 31 + i * 7 + i / 253);
    }
    return lull_slice_static(bytes, len);
}

static uint32_t add_sum(uint32_t sum, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static uint32_t add_message(uint32_t sum, struct lull_slice message)
{
    uint8_t prefix[5];
    framing_prefix(prefix, (uint32_t)message.len);
    return add_sum(add_sum(sum, prefix, 5), message.data, message.len);
}

START_TEST(headers_go_alone_and_messages_follow)
{
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    h = open_stream(0);
    run();
    ck_assert_uint_eq(sent_count(1, 1), 1);
    ck_assert_uint_eq(sent_count(0, 1), 0);
    ck_assert_uint_eq(h->sent, 1);
    ck_assert_uint_eq(h->sent_last, 0);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("hey", 3), false), LULL_OK);
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 8);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 0);
    ck_assert(sent_frame(0, 1, 0, &frame));
    ck_assert_uint_eq(frame.len, 8);
    ck_assert_uint_eq(frame.flags, 0);
    ck_assert_mem_eq(frame.payload, "\0\0\0\0\3hey", 8);
    ck_assert_uint_eq(h->sent_last, 0);
    world_end();
}
END_TEST

START_TEST(messages_of_one_turn_share_a_frame_and_a_write)
{
    struct sent_frame frame;
    struct heard *h;
    unsigned before;
    world_begin();
    (void)world_ready(0);
    h = open_stream(0);
    run();
    before = writes;
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("0123456789", 10), false),
                         LULL_OK);
    }
    run();
    ck_assert_uint_eq(writes - before, 1);
    ck_assert_uint_eq(sent_count(0, 1), 1);
    ck_assert(sent_frame(0, 1, 0, &frame));
    ck_assert_uint_eq(frame.len, 1500);
    world_end();
}
END_TEST

START_TEST(half_close_with_nothing_queued_is_an_empty_frame)
{
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    h = open_stream(0);
    run();
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_OK);
    run();
    ck_assert(sent_frame(0, 1, 0, &frame));
    ck_assert_uint_eq(frame.len, 0);
    ck_assert_uint_eq(frame.flags, END_STREAM);
    ck_assert_uint_eq(h->sent_last, 1);
    say_answer(1);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(sent_count(3, 1), 0);
    world_end();
}
END_TEST

/* Three ways to half-close behind a message give the same bytes. */
START_TEST(half_close_rides_on_the_last_frame)
{
    struct h2_request request = streaming();
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    request.has_message = _i == 0;
    request.ends = _i == 0;
    h = open_with(0, &request);
    if (_i != 0) {
        ck_assert_int_eq(h2_stream_send(&h->stream, request.message, _i == 1), LULL_OK);
    }
    if (_i == 2) {
        ck_assert_int_eq(h2_stream_end(&h->stream), LULL_OK);
    }
    run();
    ck_assert_uint_eq(sent_count(0, 1), 1);
    ck_assert(sent_frame(0, 1, 0, &frame));
    ck_assert_uint_eq(frame.flags, END_STREAM);
    ck_assert_uint_eq(frame.len, 8);
    ck_assert_uint_eq(h->sent, 1);
    ck_assert_uint_eq(h->sent_last, 1);
    ck_assert_int_eq(h2_stream_send(&h->stream, request.message, false), LULL_RC_STATE);
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_RC_STATE);
    world_end();
}
END_TEST

START_TEST(sending_on_no_stream_and_on_a_finished_one_says_closed)
{
    struct heard *h = &calls[0];
    world_begin();
    (void)world_ready(0);
    h2_stream_init(&h->stream, &stream_ops, 100);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_RC_CLOSED);
    h = open_stream(0);
    run();
    h2_stream_reset(&h->stream, 8);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("a", 1), false), LULL_RC_CLOSED);
    run();
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_RC_CLOSED);
    h2_stream_consumed(&h->stream, 1);
    ck_assert_uint_eq(h->closed, 1);
    world_end();
}
END_TEST

/* Every mix of lengths around what is copied and what is not, counted and static, arrives as it was sent. */
static const size_t lengths[] = {0,    1,    3,     4090,  4091,  4095,  4096, 4097, 5000,
                                 8192, 8193, 16379, 16380, 16384, 40000, 7,    2,    70000};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static void send_mix(struct pipe_options pipe, bool counted, unsigned a_turn)
{
    static uint8_t bytes[LENGTHS][70000];
    struct h2_transport_options options = world_options();
    uint32_t sum = 0;
    size_t total = 0;
    struct heard *h;
    world_begin_as(&options, pipe, NULL);
    peer_begin(2, NULL, 0);
    run();
    h = open_stream(0);
    for (unsigned i = 0; i < LENGTHS; i++) {
        struct lull_slice message = numbered(bytes[i], lengths[i], i);
        sum = add_message(sum, message);
        total += 5 + lengths[i];
        if (counted) {
            ck_assert_int_eq(lull_slice_copy(NULL, bytes[i], lengths[i], &message), LULL_OK);
        }
        ck_assert_int_eq(h2_stream_send(&h->stream, message, i == LENGTHS - 1), LULL_OK);
        lull_slice_unref(message);
        if (i % a_turn == a_turn - 1) {
            run();
        }
    }
    run();
    ck_assert_uint_eq(peer.asked[0], total);
    ck_assert_uint_eq(peer.sum[0], sum);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_uint_eq(h->sent_last, 1);
    peer_end();
}

START_TEST(messages_of_all_lengths_arrive_in_order)
{
    const struct pipe_options narrow = {
        .capacity_bytes = 3000, .read_chunk_bytes = 911, .write_chunk_bytes = 333};
    const struct pipe_options wide = {.capacity_bytes = 1024 * 1024};
    for (unsigned a_turn = 1; a_turn < 5; a_turn++) {
        send_mix(_i < 2 ? wide : narrow, _i % 2 == 1, a_turn);
    }
}
END_TEST

START_TEST(thousand_messages_allocate_nothing_in_the_steady_state)
{
    struct lull_counters before = {.size = sizeof(before)};
    struct heard *h;
    world_begin();
    peer_begin(2, NULL, 0);
    run();
    h = open_stream(0);
    run();
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 100; i++) {
            ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static("0123456789", 10), false),
                             LULL_OK);
        }
        run();
        if (round == 1) {
            before = world_counters();
        }
    }
    world_expect_no_memory(&before);
    ck_assert_uint_eq(peer.asked[0], 15000);
    ck_assert_int_eq(h2_stream_end(&h->stream), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    peer_end();
}
END_TEST

/* The window is 65 535: what is above waits, is told when it went, and on_writable comes once. */
START_TEST(room_is_told_once_the_queue_is_below_half)
{
    static uint8_t bytes[20000];
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    h = open_stream(0);
    run();
    for (unsigned i = 0; i < 7; i++) {
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 20000), false),
                         LULL_OK);
    }
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 7 * 20005 - 65535);
    ck_assert_uint_eq(h->writable, 0);
    say_frame32(8, 0, 1000000);
    say_frame32(8, 1, 41732); /* 32 768 are left */
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 32768);
    ck_assert_uint_eq(h->writable, 0);
    say_frame32(8, 1, 1);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 32767);
    ck_assert_uint_eq(h->writable, 1);
    say_frame32(8, 1, 100000);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 0);
    ck_assert_uint_eq(h->writable, 1);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 100), false), LULL_OK);
    run();
    ck_assert_uint_eq(h->writable, 1); /* it was never full again */
    world_end();
}
END_TEST

START_TEST(stream_without_window_does_not_hold_up_another)
{
    static uint8_t bytes[100000];
    world_begin();
    (void)world_ready(0);
    say_frame32(8, 0, 1000000);
    (void)open_stream(0);
    (void)open_stream(1);
    ck_assert_int_eq(h2_stream_send(&calls[0].stream, lull_slice_static(bytes, 100000), false),
                     LULL_OK);
    run();
    ck_assert_int_eq(h2_stream_send(&calls[1].stream, lull_slice_static("b", 1), true), LULL_OK);
    run();
    ck_assert_uint_gt(h2_stream_queued_bytes(&calls[0].stream), 0);
    ck_assert_uint_eq(calls[1].sent_last, 1);
    world_end();
}
END_TEST

/* ---- ends while messages are queued: exactly one on_closed, and every reference is given back */

enum way { BY_RESET, BY_PEERS_RESET, BY_ANSWER, BY_GOAWAY, BY_LOSS, BY_CLOSE, BY_FAULT, WAYS };

static void end_it(struct heard *h, enum way way)
{
    switch (way) {
    case BY_RESET:
        h2_stream_reset(&h->stream, 8);
        break;
    case BY_PEERS_RESET:
        say_frame32(3, 1, 8);
        break;
    case BY_ANSWER:
        say_answer(1);
        break;
    case BY_GOAWAY:
        say_goaway(0, 0, "bye");
        break;
    case BY_LOSS:
        hang_up();
        break;
    case BY_CLOSE:
        h2_transport_close(t, 0, "test");
        break;
    case BY_FAULT:
        say_headers(1);
        say_frame(0, 0, 1, "\7\0\0\0\0", 5);
        break;
    case WAYS:
        break;
    }
}

static const enum h2_end expected[WAYS] = {H2_END_LOCAL,       H2_END_RESET,     H2_END_FINISHED,
                                           H2_END_UNPROCESSED, H2_END_TRANSPORT, H2_END_TRANSPORT,
                                           H2_END_PROTOCOL};

START_TEST(end_with_messages_queued_is_told_once_and_lets_go)
{
    const enum way way = (enum way)(_i / 2);
    static uint8_t bytes[50000];
    struct lull_slice message;
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    h = open_stream(0);
    run();
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, 50000, &message), LULL_OK);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(h2_stream_send(&h->stream, message, false), LULL_OK);
    }
    if (_i % 2 == 0) {
        run(); /* 65 535 of it go */
    }
    ck_assert_uint_gt(h2_stream_queued_bytes(&h->stream), 100000);
    end_it(h, way);
    run();
    ck_assert_uint_eq(h->closed, 1);
    ck_assert_int_eq(h->end.kind, expected[way]);
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 0);
    ck_assert(slab_is_sole(message.slab));
    ck_assert_uint_eq(h->writable, 0);
    if (way == BY_ANSWER) {
        struct sent_frame frame; /* RFC 9113 section 8.1 */
        ck_assert(sent_frame(3, 1, 0, &frame));
        ck_assert_uint_eq(get32(frame.payload), 0);
    }
    lull_slice_unref(message);
    world_end();
}
END_TEST

/* on_writable may reset the stream. */
static void reset_in_writable(struct h2_stream *stream)
{
    heard_of(stream)->writable++;
    h2_stream_reset(stream, 8);
}

START_TEST(reset_from_on_writable_is_legal)
{
    static uint8_t bytes[70000];
    struct h2_stream_ops ops = stream_ops;
    struct heard *h;
    world_begin();
    (void)world_ready(0);
    ops.on_writable = reset_in_writable;
    h = open_stream(0);
    h->stream.ops = &ops;
    run();
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 70000), false), LULL_OK);
    run();
    ck_assert_uint_eq(h->writable, 1);
    ck_assert_int_eq(h->end.kind, H2_END_LOCAL);
    ck_assert_uint_eq(h->closed, 1);
    world_end();
}
END_TEST

/* ---- memory */

static size_t given_bytes;

/* Nothing is taken back while one asks. */
static void *giving(void *ctx, size_t size)
{
    given_bytes += size;
    return counting_alloc(ctx, size);
}

static void *giving_more(void *ctx, void *memory, size_t size)
{
    given_bytes += size;
    return counting_resize(ctx, memory, size);
}

/*
 * A peer that does not read leaves the queue as long as it may get: its memory is of that order, whatever lengths follow one another.
 * (Larger messages are not copied: theirs is the sender's.)
 */
START_TEST(what_waits_takes_memory_of_the_order_of_its_bytes)
{
    static const size_t mixed[][4] = {
        {513, 0, 513, 0}, {512, 513, 512, 513}, {1, 1, 1, 1}, {60, 60, 60, 2000}, {300, 1, 600, 0}};
    struct h2_transport_options options = world_options();
    static uint8_t bytes[100000];
    struct counting_allocator memory;
    struct heard *h;
    counting_init(&memory);
    memory.base.alloc = giving;
    memory.base.resize = giving_more;
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 1000}, &memory.base);
    (void)world_ready(0);
    h = open_stream(0);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 100000), false), LULL_OK);
    run();
    const size_t queued = h2_stream_queued_bytes(&h->stream);
    given_bytes = 0;
    for (unsigned i = 0; h2_stream_queued_bytes(&h->stream) < queued + 65536; i++) {
        ck_assert_int_eq(
            h2_stream_send(&h->stream, lull_slice_static(bytes, mixed[_i][i % 4]), false),
            LULL_OK);
    }
    /* A node is twice as long as the shortest messages; packs are what the queue is four times over. */
    ck_assert_uint_le(given_bytes, 65536 * 6 + queued * 4);
    h2_stream_reset(&h->stream, 8);
    run();
    world_end();
    ck_assert_int_eq(memory.live, 0);
}
END_TEST

/* A life whose i-th allocation from the first send on fails, if it comes so far. */
static long live(struct counting_allocator *memory, long fail_at)
{
    struct h2_transport_options options = world_options();
    static uint8_t bytes[9000];
    unsigned failed = 0;
    struct heard *h;
    long used;
    counting_init(memory);
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 1000}, &memory->base);
    (void)world_ready(0);
    h = open_stream(0);
    run();
    memory->asked = 0;
    memory->fail_from = fail_at;
    for (unsigned i = 0; i < 12 && h->closed == 0; i++) {
        const size_t before = h2_stream_queued_bytes(&h->stream);
        const int rc =
            h2_stream_send(&h->stream, lull_slice_static(bytes, i % 4 == 0 ? 9000 : 10), false);
        ck_assert(rc == LULL_OK || rc == LULL_RC_NOMEM);
        if (rc == LULL_RC_NOMEM) {
            failed++;
            ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), before);
        }
        if (i % 3 == 2) {
            run();
        }
    }
    if (h->closed == 0) {
        ck_assert_int_eq(h2_stream_end(&h->stream), LULL_OK);
        run();
        ck_assert(h->closed != 0 || h->sent_last == 1);
    }
    ck_assert(fail_at < 0 || failed > 0 || memory->asked <= fail_at || h->closed != 0);
    used = memory->asked;
    memory->fail_from = -1;
    world_end();
    ck_assert_int_eq(memory->live, 0);
    return used;
}

START_TEST(each_allocation_may_fail)
{
    struct counting_allocator memory;
    const long all = live(&memory, -1);
    ck_assert_int_gt(all, 5);
    for (long i = 0; i < all; i++) {
        (void)live(&memory, i);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/outbox");
    TCase *tc = tcase_create("outbox");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, headers_go_alone_and_messages_follow);
    tcase_add_test(tc, messages_of_one_turn_share_a_frame_and_a_write);
    tcase_add_test(tc, half_close_with_nothing_queued_is_an_empty_frame);
    tcase_add_loop_test(tc, half_close_rides_on_the_last_frame, 0, 3);
    tcase_add_test(tc, sending_on_no_stream_and_on_a_finished_one_says_closed);
    tcase_add_loop_test(tc, messages_of_all_lengths_arrive_in_order, 0, 4);
    tcase_add_test(tc, thousand_messages_allocate_nothing_in_the_steady_state);
    tcase_add_test(tc, room_is_told_once_the_queue_is_below_half);
    tcase_add_test(tc, stream_without_window_does_not_hold_up_another);
    tcase_add_loop_test(tc, end_with_messages_queued_is_told_once_and_lets_go, 0, 2 * WAYS);
    tcase_add_test(tc, reset_from_on_writable_is_legal);
    tcase_add_loop_test(tc, what_waits_takes_memory_of_the_order_of_its_bytes, 0, 5);
    tcase_add_test(tc, each_allocation_may_fail);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/outbox", suite)
