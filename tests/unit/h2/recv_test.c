/* SPDX-License-Identifier: MIT */
#include "h2/recv.h"

#include <errno.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/h2/frames.h"

/* ---- not HTTP/2 */

static const struct {
    const char *bytes;
    size_t len;
    bool hang_up;
    const char *text;
} strangers[] = {
    {"HTTP/1.1 400 Bad Request\r\n\r\n", 28, false,
     "the peer speaks HTTP/1.1, not HTTP/2: \"HTTP/1.1 400 Bad Request\""},
    {"\x15\3\3\0\2\2\x28", 7, true,
     "the peer speaks TLS, and we do not: TLS alert 15 03 03 00 02 02 28"},
    {"SSH-2.0-x\r\n", 11, false, "the peer does not speak HTTP/2: \"SSH-2.0-x\""},
    {F2, 17, false, "the peer's first frame was PING, not SETTINGS"},
    {F1A, 9, false, "the peer's first frame was an acknowledgement of SETTINGS, not its own"},
    {F3, 17, false, "the peer's first frame was GOAWAY, not SETTINGS"},
    {"HT", 2, true, "the peer speaks HTTP/1.1, not HTTP/2: \"HT\""},
};

START_TEST(stranger_ends_the_transport_by_name)
{
    world_begin();
    run();
    say(strangers[_i].bytes, strangers[_i].len);
    if (strangers[_i].hang_up) {
        hang_up();
    }
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert(told.end.before_settings);
    ck_assert_uint_eq(told.end.bytes_read, strangers[_i].len);
    ck_assert_str_eq(told.end.text, strangers[_i].text);
    ck_assert_uint_eq(told.settings, 0);
    world_end();
}
END_TEST

START_TEST(stranger_byte_by_byte_ends_it_too)
{
    world_begin();
    for (size_t i = 0; i < strangers[_i].len && t != NULL; i++) {
        say(strangers[_i].bytes + i, 1);
        run();
    }
    hang_up();
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    world_end();
}
END_TEST

START_TEST(close_before_settings_says_so)
{
    world_begin();
    if (_i == 1) {
        say(F1, 5);
    }
    run();
    hang_up();
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    ck_assert(told.end.before_settings);
    ck_assert_str_eq(told.end.text, "the peer closed the connection before its SETTINGS");
    world_end();
}
END_TEST

/* ---- lost */

START_TEST(close_ends_open_streams)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    hang_up();
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    ck_assert(!told.end.before_settings);
    ck_assert_uint_eq(told.open_at_end, 0);
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    ck_assert_str_eq(h->end.text, "the peer closed the connection");
    world_end();
}
END_TEST

START_TEST(answer_before_the_close_counts)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    say_answer(1);
    hang_up();
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    world_end();
}
END_TEST

static const struct {
    int sys_errno;
    bool is_peer_dead; /* the system waited, and gave up */
} read_errors[] = {{ETIMEDOUT, true},    {ENETUNREACH, true}, {EHOSTUNREACH, true},
                   {EHOSTDOWN, true},    {ECONNRESET, false}, {ECONNABORTED, false},
                   {ECONNREFUSED, false}};

START_TEST(failed_read_ends_it_with_its_errno)
{
    const int sys_errno = read_errors[_i].sys_errno;
    struct heard *h;
    world_begin();
    h = world_ready(1);
    endpoint_pipe_break(near_end, sys_errno);
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_ERRNO);
    ck_assert_int_eq(told.end.sys_errno, sys_errno);
    ck_assert_ptr_nonnull(strstr(told.end.text, "read failed: "));
    ck_assert_int_eq(h->end.sys_errno, sys_errno);
    ck_assert_int_eq(h->end.is_peer_dead, read_errors[_i].is_peer_dead);
    world_end();
}
END_TEST

/* ---- broken HTTP/2: one text each, never an assertion */

static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} faults[] = {
    {"\0\0\0\0\0\0\0\0\0", 9, "DATA: stream_id == 0"},
    {"\0\0\1\0\0\0\0\0\x63x", 10, "DATA: stream in idle"},
    {"\0\0\1\1\4\0\0\0\2\x88", 10, "client received request"},
    {"\0\0\1\1\4\0\0\0\x63\x88", 10, "client received request"},
    {"\0\0\1\1\4\0\0\0\1\x80", 10, "COMPRESSION_ERROR"},
    {"\0\0\5\6\0\0\0\0\0\0\0\0\0\0", 14, "FRAME_SIZE_ERROR"},
    {"\0\0\4\3\0\0\0\0\x63\0\0\0\0", 13, "RST_STREAM: stream in idle"},
    {"\0\0\4\x08\0\0\0\0\0\0\0\0\0", 13, "WINDOW_UPDATE: window_size_increment == 0"},
    {"\0\0\0\x09\4\0\0\0\1", 9, "CONTINUATION: unexpected"},
    {F1A "\0\0\5\5\4\0\0\0\1\0\0\0\2\x88", 23, "PUSH_PROMISE: push disabled"},
    {"\1\0\0\x77\0\0\0\0\1", 9, "too large frame size"},
    {"\0\0\6\4\0\0\0\0\0\0\2\0\0\0\1", 15, "server attempted to enable push"},
    {"\0\0\6\4\0\0\0\0\0\0\4\xff\xff\xff\xff", 15, "SETTINGS_INITIAL_WINDOW_SIZE"},
    {"\0\0\0\4\1\0\0\0\0\0\0\0\4\1\0\0\0\0", 18, "SETTINGS: unexpected ACK"},
    {"\0\0\x08\7\0\0\0\0\0\0\0\0\2\0\0\0\0", 17, "GOAWAY: invalid last_stream_id"},
};

START_TEST(broken_http2_ends_the_transport_with_a_reason)
{
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    h = world_ready(1);
    say(faults[_i].bytes, faults[_i].len);
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert_msg(strstr(told.end.text, faults[_i].text) != NULL, "%s", told.end.text);
    ck_assert_int_eq(strncmp(told.end.text, "the peer broke HTTP/2: ", 23), 0);
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    ck_assert(sent_frame(7, 0, 0, &frame)); /* our GOAWAY */
    ck_assert_uint_ne(get32(frame.payload + 4), 0);
    world_end();
}
END_TEST

/* HEADERS of one stream, then of another, so that DATA of the first has to be looked at. */
#define HEAD_OF(id)                                                                                \
    "\0\0\x13\1\4\0\0\0" id "\x88\x5f\x10"                                                         \
    "application/grpc"
#define EMPTY_OF(id) "\0\0\5\0\0\0\0\0" id "\0\0\0\0\0"

START_TEST(headers_that_cannot_be_read_do_not_make_their_stream_break_the_order)
{
    struct heard *h;
    world_begin();
    h = world_ready(2);
    SAY("\0\0\1\1\4\0\0\0\1\x80" HEAD_OF("\3") EMPTY_OF("\1"));
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    ck_assert_ptr_nonnull(strstr(h->end.text, "COMPRESSION_ERROR"));
    world_end();
}
END_TEST

/* The end of stream 1 when all memory is gone after `given` more blocks. */
static struct h2_stream_end end_without_memory(long given)
{
    const struct h2_transport_options options = world_options();
    const struct pipe_options pipe = {.capacity_bytes = 1024 * 1024};
    struct counting_allocator memory;
    struct h2_stream_end end;
    struct heard *h;
    counting_init(&memory);
    world_begin_as(&options, pipe, &memory.base);
    h = world_ready(2);
    SAY(HEAD_OF("\1") HEAD_OF("\3") EMPTY_OF("\1"));
    atomic_store(&memory.fail_from, atomic_load(&memory.asked) + given);
    run();
    counting_replenish(&memory);
    end = h->end;
    world_end();
    ck_assert_int_eq(atomic_load(&memory.live), 0);
    return end;
}

START_TEST(headers_without_memory_do_not_make_their_stream_break_the_order)
{
    unsigned lost = 0;
    for (long given = 0; given < 32; given++) {
        const struct h2_stream_end end = end_without_memory(given);
        ck_assert_int_ne(end.kind, H2_END_PROTOCOL);
        if (end.kind == H2_END_TRANSPORT && strcmp(end.text, "no memory for HTTP/2 input") == 0) {
            lost++;
        }
    }
    ck_assert_uint_gt(lost, 0);
}
END_TEST

/* The head of a frame may come in two reads; what follows is read from where it ends. */
START_TEST(head_in_two_parts_is_one_head)
{
    uint8_t frame[9 + 7];
    world_begin();
    (void)world_ready(2);
    (void)put_frame(frame, 0, 0, 3, MESSAGE_2, 7);
    say(frame, (size_t)_i);
    run();
    say(frame + _i, sizeof(frame) - (size_t)_i);
    say_answer(1);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_PROTOCOL);
    ck_assert_str_eq(calls[1].end.text, "DATA before HEADERS");
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(told.closed, 0);
    world_end();
}
END_TEST

START_TEST(push_that_crosses_our_settings_is_refused)
{
    struct sent_frame frame;
    struct heard *h;
    world_begin();
    h = world_ready(1);
    SAY("\0\0\5\5\4\0\0\0\1\0\0\0\2\x88");
    SAY(F6 F7 F8);
    run();
    ck_assert(sent_frame(3, 2, 0, &frame));
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(h->pairs, 2);
    world_end();
}
END_TEST

START_TEST(broken_http2_is_found_though_the_socket_is_full)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1000};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 60000);
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 60000);
    (void)open_with(0, &request);
    run();
    SAY("\0\0\0\0\0\0\0\0\0");
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    world_end();
    free(big);
}
END_TEST

/* ---- floods: the answers pile up only as far as nghttp2 lets them */

static const struct {
    const char *frame;
    size_t len;
} floods[] = {{F2, 17}, {F1, 9}};

START_TEST(flood_behind_a_full_socket_ends_it)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 4096};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 60000);
    unsigned n = 0;
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 60000);
    (void)open_with(0, &request);
    run();
    while (t != NULL && ++n < 3000) {
        say(floods[_i].frame, floods[_i].len);
        run();
    }
    ck_assert_uint_lt(n, 1100);
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(told.end.text, "Flooding was detected"));
    world_end();
    free(big);
}
END_TEST

START_TEST(flood_that_is_answered_is_borne)
{
    world_begin();
    (void)world_ready(0);
    for (int i = 0; i < 5000; i++) {
        SAY(F2);
        SAY(F1);
        if (i % 100 == 0) {
            run();
        }
    }
    run();
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(sent_count(6, 0), 5000);
    ck_assert_uint_eq(sent_count(4, 0), 5002); /* ours, and an ACK for each */
    world_end();
}
END_TEST

START_TEST(resets_of_closed_streams_are_ignored)
{
    world_begin();
    (void)world_ready(1);
    say_answer(1);
    run();
    for (int i = 0; i < 5000; i++) {
        say_frame32(3, 1, 8);
        SAY(F2);
        if (i % 100 == 0) {
            run();
        }
    }
    run();
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(sent_count(6, 0), 5000);
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    world_end();
}
END_TEST

/* ---- reading */

START_TEST(full_read_is_followed_by_another)
{
    uint8_t *body = calloc(1, 16384);
    struct heard *h;
    unsigned before;
    world_begin();
    h = world_ready(1);
    SAY(F6);
    memcpy(body, "\0\0\1\x86\x9b", 5); /* 99 995 + 5 bytes */
    for (int i = 0; i < 6; i++) {
        say_frame(0, 0, 1, body, 16384);
        memset(body, 0, 5);
    }
    say_frame(0, 0, 1, body, 100000 - 6 * 16384);
    before = reads;
    run();
    ck_assert_uint_eq(h->messages, 1);
    ck_assert_uint_eq(h->message_len, 99995);
    ck_assert_uint_eq(reads - before, 2); /* 64 KiB, and a short one: drained */
    ck_assert_uint_eq(h2_transport_bytes_read(t), 9 + 29 + 100000 + 7 * 9);
    world_end();
    free(body);
}
END_TEST

START_TEST(read_now_reads_once_a_turn)
{
    struct heard *h;
    unsigned before;
    world_begin();
    h = world_ready(1);
    (void)endpoint_want(near_end, LULL_WANT_NONE);
    run();
    lull_executor_leave(x);
    lull_fake_clock_advance(&clock_, 1);
    ck_assert_int_eq(lull_executor_turn_now(x), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
    say_answer(1);
    before = reads;
    h2_transport_read_now(t);
    h2_transport_read_now(t);
    ck_assert_uint_eq(reads - before, 1);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

START_TEST(life_is_told_for_each_read)
{
    unsigned before;
    world_begin();
    (void)world_ready(0);
    before = told.reads;
    lull_executor_leave(x);
    lull_fake_clock_advance(&clock_, LULL_SECOND);
    ck_assert_int_eq(lull_executor_enter(x), LULL_OK);
    SAY(F2);
    run();
    ck_assert_uint_eq(told.reads, before + 1);
    world_end();
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Of many streams the answers are read little by little, a read a turn; of few all at once. Whoever must know reads on. */
START_TEST(answers_of_many_streams_are_read_in_several_turns)
{
    enum { MANY = 1500, FEW = 100, BYTES = 40 };
    for (unsigned round = 0; round < 2; round++) {
        const unsigned count = round == 0 ? MANY : FEW;
        const size_t sent = (size_t)count * BYTES;
        unsigned reads_before;
        uint64_t bytes;
        world_begin();
        (void)world_ready(count);
        for (unsigned i = 0; i < count; i++) {
            say_answer(2 * i + 1);
        }
        reads_before = reads;
        bytes = t->recv.bytes;
        run_turn();
        ck_assert_uint_eq(reads, reads_before + 1);
        if (count == MANY) {
            ck_assert_uint_eq(t->recv.bytes - bytes, 16384);
            ck_assert_uint_gt(calls_open, 0);
            run_turn();
            ck_assert_uint_eq(reads, reads_before + 2);
            h2_transport_read_now(t); /* there is more, and somebody is about to be condemned */
            ck_assert_uint_eq(reads, reads_before + 3);
        } else {
            ck_assert_uint_gt(t->recv.bytes - bytes, sent);
            ck_assert_uint_eq(calls_open, 0);
        }
        run();
        ck_assert_uint_eq(calls_open, 0);
        for (unsigned i = 0; i < count; i++) {
            ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
        }
        world_end();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/recv");
    TCase *tc = tcase_create("recv");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, stranger_ends_the_transport_by_name, 0, COUNT(strangers));
    tcase_add_loop_test(tc, stranger_byte_by_byte_ends_it_too, 0, COUNT(strangers));
    tcase_add_loop_test(tc, close_before_settings_says_so, 0, 2);
    tcase_add_test(tc, close_ends_open_streams);
    tcase_add_test(tc, answer_before_the_close_counts);
    tcase_add_loop_test(tc, failed_read_ends_it_with_its_errno, 0,
                        (int)(sizeof(read_errors) / sizeof(read_errors[0])));
    tcase_add_loop_test(tc, broken_http2_ends_the_transport_with_a_reason, 0, COUNT(faults));
    tcase_add_test(tc, headers_that_cannot_be_read_do_not_make_their_stream_break_the_order);
    tcase_add_test(tc, headers_without_memory_do_not_make_their_stream_break_the_order);
    tcase_add_loop_test(tc, head_in_two_parts_is_one_head, 1, 9);
    tcase_add_test(tc, push_that_crosses_our_settings_is_refused);
    tcase_add_test(tc, broken_http2_is_found_though_the_socket_is_full);
    tcase_add_loop_test(tc, flood_behind_a_full_socket_ends_it, 0, 2);
    tcase_add_test(tc, flood_that_is_answered_is_borne);
    tcase_add_test(tc, resets_of_closed_streams_are_ignored);
    tcase_add_test(tc, full_read_is_followed_by_another);
    tcase_add_test(tc, read_now_reads_once_a_turn);
    tcase_add_test(tc, answers_of_many_streams_are_read_in_several_turns);
    tcase_add_test(tc, life_is_told_for_each_read);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/recv", suite)
