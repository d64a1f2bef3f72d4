/* SPDX-License-Identifier: MIT */
#include "h2/send.h"

#include <errno.h>

#include "tests/support/check_main.h"
#include "tests/unit/h2/peer.h"

START_TEST(preface_settings_and_window_are_one_write)
{
    struct sent_frame frame;
    world_begin();
    run();
    ck_assert_uint_eq(writes, 1);
    ck_assert_mem_eq(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", MAGIC_BYTES);
    ck_assert(sent_frame(256, UINT32_MAX, 0, &frame));
    ck_assert_uint_eq(frame.type, 4);
    ck_assert_uint_eq(frame.len, 18);
    ck_assert_mem_eq(frame.payload, "\0\2\0\0\0\0\0\4\0\4\0\0\0\6\0\0\x40\0", 18);
    ck_assert(sent_frame(256, UINT32_MAX, 1, &frame));
    ck_assert_uint_eq(frame.type, 8);
    ck_assert_uint_eq(get32(frame.payload), 1024 * 1024 - 65535);
    ck_assert(!sent_frame(256, UINT32_MAX, 2, &frame));
    world_end();
}
END_TEST

START_TEST(hundred_streams_of_one_turn_are_one_write)
{
    unsigned before;
    world_begin();
    SAY(F1);
    run();
    before = writes;
    for (unsigned i = 0; i < 100; i++) {
        (void)open_call(i);
    }
    run();
    ck_assert_uint_eq(writes - before, 1);
    ck_assert_uint_eq(sent_count(1, UINT32_MAX), 100);
    ck_assert_uint_eq(sent_count(0, UINT32_MAX), 100);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_uint_eq(calls[i].sent, 1); /* HEADERS and the last byte in one */
        ck_assert_uint_eq(calls[i].sent_last, 1);
    }
    world_end();
}
END_TEST

START_TEST(turn_with_nothing_to_say_writes_nothing)
{
    unsigned before;
    world_begin();
    (void)world_ready(1);
    before = writes;
    SAY(F6);
    run();
    say_frame(0, 0, 1, MESSAGE_2, 7);
    run();
    ck_assert_uint_eq(writes, before);
    world_end();
}
END_TEST

START_TEST(ping_is_answered_in_the_turn_it_was_read_in)
{
    struct sent_frame frame;
    world_begin();
    (void)world_ready(0);
    SAY(F2);
    run_turn(); /* read, and flushed */
    run_turn(); /* the far end reads */
    ck_assert(sent_frame(6, 0, 0, &frame));
    ck_assert_uint_eq(frame.flags, 1);
    ck_assert_mem_eq(frame.payload, "\1\2\3\4\5\6\7\x08", 8);
    ck_assert_mem_eq(frame.payload - 9, F2A, 17);
    world_end();
}
END_TEST

/* Which lengths are copied and which are not makes no difference on the wire. */
static const size_t lengths[] = {0,     1,     4090,  4091,   4095,    4096,
                                 4097,  16378, 16379, 16380,  16384,   20479,
                                 32763, 65530, 65535, 100000, 1000000, 3000000};

static uint32_t sum_of(const uint8_t *bytes, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static void upload(size_t len, struct pipe_options pipe, bool counted)
{
    struct h2_transport_options options = world_options();
    struct h2_request request = a_request();
    uint8_t *bytes = malloc(len + 1);
    uint8_t prefix[5];
    struct heard *h;
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    world_begin_as(&options, pipe, NULL);
    peer_begin(2, NULL, 0);
    run();
    if (counted) {
        ck_assert_int_eq(lull_slice_copy(NULL, bytes, len, &request.message), LULL_OK);
    } else {
        request.message = lull_slice_static(bytes, len);
    }
    h = open_with(0, &request);
    if (counted) {
        lull_slice_unref(request.message); /* the transport has its own */
    }
    /* The server gives window as it receives. */
    run();
    ck_assert_uint_eq(peer.asked[0], len + 5);
    framing_prefix(prefix, (uint32_t)len);
    ck_assert_uint_eq(peer.sum[0], sum_of(bytes, len, sum_of(prefix, 5, 0)));
    ck_assert_uint_eq(h->sent_last, 1);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(peer.resets, 0);
    peer_end();
    free(bytes);
}

START_TEST(request_of_any_length_arrives_whole)
{
    upload(lengths[_i], (struct pipe_options){.capacity_bytes = 1024 * 1024}, false);
    upload(lengths[_i], (struct pipe_options){.capacity_bytes = 1024 * 1024}, true);
}
END_TEST

START_TEST(request_arrives_whole_through_a_narrow_pipe)
{
    const struct pipe_options pipe = {
        .capacity_bytes = 1500, .read_chunk_bytes = 700, .write_chunk_bytes = 333};
    upload(lengths[_i], pipe, false);
    upload(lengths[_i], pipe, true);
}
END_TEST

START_TEST(payload_goes_from_the_messages_own_memory)
{
    struct h2_request request = a_request();
    struct lull_slice message;
    uint8_t *bytes = calloc(1, 60000);
    struct heard *h;
    struct lull_counters before, after;
    world_begin();
    (void)world_ready(0);
    /* The first large request makes the write buffer and nghttp2's own; the second shows the steady state. */
    request.message = lull_slice_static(bytes, 30000);
    (void)open_with(0, &request);
    run();
    ck_assert_int_eq(lull_slice_copy(NULL, bytes, 30000, &message), LULL_OK);
    request.message = message;
    before = world_counters();
    h = open_with(1, &request);
    run();
    /* The first stream is still open, so nghttp2 needs small blocks for a second one; there is no other. */
    after = world_counters();
    ck_assert_uint_eq(after.allocations - before.allocations,
                      after.pool_misses - before.pool_misses);
    ck_assert_uint_eq(h->sent_last, 1);
    ck_assert(slab_is_sole(message.slab)); /* let go when it was sent */
    lull_slice_unref(message);
    world_end();
    free(bytes);
}
END_TEST

START_TEST(blocked_socket_is_not_pulled_for)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 2000};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 60000);
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 60000);
    (void)open_with(0, &request);
    run();
    ck_assert_uint_eq(calls[0].sent, 1); /* the HEADERS fitted */
    ck_assert_uint_eq(calls[0].sent_last, 0);
    ck_assert_ptr_nonnull(t->send.unsent);
    ck_assert_uint_eq(near_end->watch.want, LULL_WANT_READ | LULL_WANT_WRITE);
    ck_assert_uint_le(t->send.pulled_bytes - t->send.written_bytes, 64 * 1024 + 16393);
    world_drain(true);
    run();
    ck_assert_ptr_null(t->send.unsent);
    ck_assert_uint_eq(near_end->watch.want, LULL_WANT_READ);
    ck_assert_uint_eq(calls[0].sent_last, 1);
    ck_assert_uint_eq(calls[0].sent, 2);
    world_end();
    free(big);
}
END_TEST

START_TEST(rst_stream_overtakes_data_that_was_not_pulled)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 65536};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 1000000);
    struct sent_frame frame;
    size_t data = 0;
    world_begin_as(&options, pipe, NULL);
    SAY("\0\0\6\4\0\0\0\0\0\0\4\0\x10\0\0"); /* windows of 1 MiB for streams */
    say_frame32(8, 0, 1000000);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 1000000);
    (void)open_with(0, &request);
    run();
    h2_stream_reset(&calls[0].stream, 8);
    run();
    world_drain(true);
    run();
    for (unsigned n = 0; sent_frame(0, 1, n, &frame); n++) {
        data += frame.len;
    }
    ck_assert_uint_gt(data, 60000);
    ck_assert_uint_lt(data, 65536 * 2 + 16384);
    ck_assert(sent_frame(3, 1, 0, &frame));
    world_end();
    free(big);
}
END_TEST

START_TEST(blocked_socket_leaves_messages_in_the_queue)
{
    struct h2_transport_options options = world_options();
    static uint8_t bytes[30000];
    struct h2_request request = a_request();
    struct heard *h;
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 2000}, NULL);
    SAY("\0\0\6\4\0\0\0\0\0\0\4\0\x10\0\0");
    say_frame32(8, 0, 1000000);
    run();
    request.has_message = false;
    request.ends = false;
    h = open_with(0, &request);
    run();
    world_drain(false);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 30000), i == 19),
                         LULL_OK);
        run();
    }
    ck_assert_uint_ge(h2_stream_queued_bytes(&h->stream), 20 * 30005 - 2 * 65536 - 16384);
    world_drain(true);
    run();
    ck_assert_uint_eq(h2_stream_queued_bytes(&h->stream), 0);
    ck_assert_uint_eq(h->writable, 1);
    ck_assert_uint_eq(h->sent_last, 1);
    world_end();
}
END_TEST

/* What of the near end's writes waits for more, as a system that keeps back every last packet would. */
static struct {
    unsigned more, last; /* writes of each kind */
    unsigned pushes;
    bool is_held;
} hints;

static enum io hinted_writev(struct endpoint *endpoint, const struct io_piece *pieces, size_t count,
                             size_t *wrote)
{
    const enum io io = pipe_ops->writev(endpoint, pieces, count, wrote);
    hints.more += endpoint->more_follows;
    hints.last += !endpoint->more_follows;
    hints.is_held = endpoint->more_follows;
    return io;
}

static void hinted_push(struct endpoint *endpoint)
{
    (void)endpoint;
    hints.pushes++;
    hints.is_held = false;
}

/* A request of so many bytes to a server with these windows, sent as far as they go. */
static void send_hinted(size_t len, uint32_t window, uint32_t connection_window)
{
    static uint8_t big[3000000];
    struct h2_transport_options options = world_options();
    struct h2_request request = a_request();
    uint8_t settings[] = "\0\0\6\4\0\0\0\0\0\0\4\0\0\0";
    world_begin_as(&options, (struct pipe_options){.capacity_bytes = 4 * 1024 * 1024}, NULL);
    settings[11] = (uint8_t)(window >> 24);
    settings[12] = (uint8_t)(window >> 16);
    settings[13] = (uint8_t)(window >> 8);
    settings[14] = (uint8_t)window;
    say(settings, 15);
    say_frame32(8, 0, connection_window - 65535);
    run();
    memset(&hints, 0, sizeof(hints));
    counted_ops.writev = hinted_writev;
    counted_ops.push = hinted_push;
    request.message = lull_slice_static(big, len);
    (void)open_with(0, &request);
    run();
    counted_ops.writev = counted_writev;
}

START_TEST(all_writes_of_a_long_message_but_the_last_say_that_more_follows)
{
    send_hinted(500000, 1000000, 1000000);
    ck_assert_uint_eq(calls[0].sent_last, 1);
    ck_assert_uint_eq(hints.more, 7);
    ck_assert_uint_eq(hints.last, 1);
    ck_assert_uint_eq(hints.pushes, 0);
    world_end();
}
END_TEST

/* More writes than a flush makes. */
START_TEST(what_a_flush_leaves_for_the_next_is_announced_as_well)
{
    send_hinted(3000000, 4000000, 4000000);
    ck_assert_uint_eq(calls[0].sent_last, 1);
    ck_assert_uint_eq(hints.more, 45);
    ck_assert_uint_eq(hints.last, 1);
    world_end();
}
END_TEST

/* Its length in frames is a write's: nghttp2 knows only when it is asked that the window of the stream has run out. */
START_TEST(nothing_waits_for_more_when_a_window_has_run_out)
{
    send_hinted(500000, 65536, 1000000);
    ck_assert_uint_eq(calls[0].sent_last, 0);
    ck_assert_uint_eq(hints.more, 1);
    ck_assert_uint_eq(hints.pushes, 1);
    ck_assert(!hints.is_held);
    /* the connection's is known beforehand, which saves the push */
    counted_ops.push = NULL;
    world_end();
    send_hinted(500000, 1000000, 131070);
    ck_assert_uint_eq(calls[0].sent_last, 0);
    ck_assert(!hints.is_held);
    ck_assert_uint_eq(hints.pushes, 0);
    world_end();
}
END_TEST

/* A server that answers, closes and so makes our write fail (RULINGS 19). */
START_TEST(answer_that_is_there_counts_when_the_write_fails)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    say_answer(1);
    hang_up();
    (void)open_call(1); /* makes the flush write; the turn reads first, so hold that back */
    (void)endpoint_want(near_end, LULL_WANT_NONE);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_int_eq(calls[1].end.kind, H2_END_NOT_SENT);
    ck_assert_int_eq(told.end.kind, H2_LOST_ERRNO);
    ck_assert_int_eq(told.end.sys_errno, EPIPE);
    ck_assert_str_eq(told.end.text, "write failed: broken pipe (errno 32)");
    world_end();
}
END_TEST

START_TEST(write_that_fails_ends_the_transport_with_its_errno)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    (void)open_call(1);
    (void)endpoint_want(near_end, LULL_WANT_NONE);
    endpoint_pipe_break(near_end, ECONNRESET);
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_ERRNO);
    ck_assert_int_eq(told.end.sys_errno, ECONNRESET);
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    ck_assert_int_eq(h->end.sys_errno, ECONNRESET);
    ck_assert_int_eq(calls[1].end.kind, H2_END_NOT_SENT);
    ck_assert_uint_eq(told.open_at_end, 0);
    world_end();
}
END_TEST

/* One life with everything in it, twice. */
static size_t live(uint8_t *copy)
{
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 100000);
    size_t len;
    world_begin();
    SAY(F1);
    run();
    for (unsigned i = 0; i < 40; i++) {
        request.timeout_ns = i % 3 == 0 ? LULL_NEVER : (int64_t)(i % 5 + 1) * LULL_MS;
        request.message = lull_slice_static(big, (size_t)i * 2500);
        (void)open_with(i, &request);
        if (i % 7 == 0) {
            h2_stream_reset(&calls[i].stream, 8);
        } else if (i % 4 == 0) {
            run();
            say_answer(2 * i + 1);
        }
        say_frame32(8, 0, 20000);
    }
    run();
    len = out_len;
    memcpy(copy, out, len);
    world_end();
    free(big);
    return len;
}

START_TEST(same_life_gives_the_same_bytes)
{
    uint8_t *first = malloc(OUT_MAX);
    uint8_t *second = malloc(OUT_MAX);
    const size_t len = live(first);
    ck_assert_uint_gt(len, 400000);
    ck_assert_uint_eq(live(second), len);
    ck_assert_mem_eq(first, second, len);
    free(first);
    free(second);
}
END_TEST

#define LENGTHS ((int)(sizeof(lengths) / sizeof(lengths[0])))

static Suite *suite(void)
{
    Suite *s = suite_create("h2/send");
    TCase *tc = tcase_create("send");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, preface_settings_and_window_are_one_write);
    tcase_add_test(tc, hundred_streams_of_one_turn_are_one_write);
    tcase_add_test(tc, turn_with_nothing_to_say_writes_nothing);
    tcase_add_test(tc, ping_is_answered_in_the_turn_it_was_read_in);
    tcase_add_loop_test(tc, request_of_any_length_arrives_whole, 0, LENGTHS);
    tcase_add_loop_test(tc, request_arrives_whole_through_a_narrow_pipe, 0, LENGTHS - 2);
    tcase_add_test(tc, payload_goes_from_the_messages_own_memory);
    tcase_add_test(tc, blocked_socket_is_not_pulled_for);
    tcase_add_test(tc, rst_stream_overtakes_data_that_was_not_pulled);
    tcase_add_test(tc, blocked_socket_leaves_messages_in_the_queue);
    tcase_add_test(tc, all_writes_of_a_long_message_but_the_last_say_that_more_follows);
    tcase_add_test(tc, what_a_flush_leaves_for_the_next_is_announced_as_well);
    tcase_add_test(tc, nothing_waits_for_more_when_a_window_has_run_out);
    tcase_add_test(tc, answer_that_is_there_counts_when_the_write_fails);
    tcase_add_test(tc, write_that_fails_ends_the_transport_with_its_errno);
    tcase_add_test(tc, same_life_gives_the_same_bytes);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/send", suite)
