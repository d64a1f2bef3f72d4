/* SPDX-License-Identifier: MIT */
/* The server's side of a connection: its beginning, its limits, its silence, its close. How it goes in order is in goaway_test.c. */
#include <config.h>

#include "h2/serving.h"

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/unit/h2/serve_world.h"

/* ---- beginning */

START_TEST(settings_say_what_the_options_say)
{
    struct h2_transport_options options = world_options();
    struct sent_frame frame;
    options.max_streams = 7;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
    run();
    ck_assert(sent_frame(256, UINT32_MAX, 0, &frame)); /* the first thing, without a magic */
    ck_assert_uint_eq(frame.type, 4);
    ck_assert_uint_eq(frame.len, 18);
    ck_assert_mem_eq(frame.payload, "\0\3\0\0\0\7\0\4\0\4\0\0\0\6\0\0\x40\0", 18);
    serve_end();
}
END_TEST

START_TEST(without_a_limit_none_is_told)
{
    struct sent_frame frame;
    serve_begin();
    run();
    ck_assert(sent_frame(4, 0, 0, &frame));
    ck_assert_uint_eq(frame.len, 12);
    ck_assert(!h2_transport_can_open(t));
    serve_end();
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} strangers[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27,
     "the client does not speak HTTP/2 from the start: \"GET / HTTP/1.1\""},
    {"\x16\x03\x01\x02\x00\x01", 6, "the client does not speak HTTP/2 from the start: \"\\x16"},
    {"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 24, "the client does not speak HTTP/2 from the start: "},
    {MAGIC "\0\0\x08\6\0\0\0\0\0\1\2\3\4\5\6\7\x08", 24 + 17,
     "the peer's first frame was PING, not SETTINGS"},
    {MAGIC "hello there, friends", 24 + 20, "no frame follows the client's preface: 68 65 6c"},
    {F1, 9, "the client does not speak HTTP/2 from the start: "},
};

#define STRANGERS ((int)(sizeof(strangers) / sizeof(strangers[0])))

START_TEST(connection_that_is_no_http2_is_named)
{
    for (size_t cut = 0; cut < strangers[_i].len; cut++) {
        serve_begin();
        if (cut > 0) {
            say(strangers[_i].bytes, cut);
            run();
        }
        if (t != NULL) {
            say(strangers[_i].bytes + cut, strangers[_i].len - cut);
            run();
        }
        ck_assert_uint_eq(told.closed, 1);
        ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
        ck_assert(told.end.before_settings);
        if (cut == 0) {
            ck_assert_mem_eq(told.end.text, strangers[_i].text, strlen(strangers[_i].text));
        }
        ck_assert_uint_eq(sent_count(7, 0), 0);
        serve_end();
    }
}
END_TEST

START_TEST(client_that_hangs_up_in_its_preface_is_just_gone)
{
    serve_begin();
    say(MAGIC, 10);
    run();
    hang_up();
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert(told.end.before_settings);
    serve_end();
}
END_TEST

/* ---- limits */

/* Until our SETTINGS are acknowledged a stream too many is refused; after that it is a fault of the connection. */
START_TEST(stream_over_the_limit_is_refused)
{
    struct h2_transport_options options = world_options();
    const struct block block = good_request();
    struct sent_frame frame;
    options.max_streams = 2;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1024 * 1024});
    SAY(MAGIC F1);
    run();
    for (uint32_t id = 1; id <= 5; id += 2) {
        say_block(id, &block, true);
    }
    run();
    ck_assert_uint_eq(requests, 2);
    ck_assert(sent_frame(3, 5, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 7);
    SAY(F1A);
    run();
    /* One ends, so there is room. */
    ck_assert_int_eq(h2_stream_trailers(&calls[0].stream, 0, NULL, NULL), LULL_OK);
    run();
    say_block(7, &block, true);
    run();
    ck_assert_uint_eq(requests, 3);
    say_block(9, &block, true);
    run();
    ck_assert_uint_eq(requests, 3);
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert_int_eq(calls[1].end.kind, H2_END_TRANSPORT);
    serve_end();
}
END_TEST

START_TEST(broken_http2_ends_the_connection_with_a_goaway)
{
    struct sent_frame frame;
    serve_begin();
    serve_greet();
    (void)ask(1);
    say_frame(0, 0, 99, "x", 1); /* DATA on an idle stream */
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert(sent_frame(7, 0, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 1); /* the last stream it took */
    ck_assert_uint_eq(get32(frame.payload + 4), 1);
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    serve_end();
}
END_TEST

/* ---- facts for a police */

START_TEST(pings_and_resets_are_told)
{
    serve_begin();
    serve_greet();
    (void)ask(1);
    SAY(F2);
    SAY(F2);
    say_frame32(3, 1, 8);
    run();
    ck_assert_uint_eq(pings, 2);
    ck_assert_uint_eq(sent_count(6, 0), 2);
    ck_assert_uint_eq(resets, 1);
    serve_end();
}
END_TEST

/* A reset of a stream that got a plain answer, or was refused, counts as well. */
START_TEST(reset_of_nobodys_stream_is_told)
{
    const struct block block = good_request();
    serve_begin();
    serve_greet();
    refuses = true;
    say_block(1, &block, false);
    say_frame32(3, 1, 8);
    run();
    ck_assert_uint_eq(resets, 1);
    ck_assert_uint_eq(told.closed, 0);
    serve_end();
}
END_TEST

/* RULINGS 25: where nghttp2 can be told so, it does not end the connection by its own clock. */
START_TEST(resets_are_the_owners_matter)
{
    const struct block block = good_request();
    serve_begin();
    serve_greet();
    for (uint32_t i = 0; i < 1500 && t != NULL; i++) {
        say_block(2 * i + 1, &block, true);
        say_frame32(3, 2 * i + 1, 8);
        run();
    }
#ifdef HAVE_NGHTTP2_OPTION_SET_STREAM_RESET_RATE_LIMIT
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(resets, 1500);
#else
    ck_assert_uint_ge(resets, 1000);
#endif
    serve_end();
}
END_TEST

/* ---- silence */

START_TEST(silent_transport_neither_reads_nor_writes)
{
    unsigned before;
    struct heard *h;
    serve_begin();
    serve_greet();
    h = ask(1);
    h2_transport_set_silent(t, true);
    before = writes;
    SAY(F2);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    run();
    h2_transport_read_now(t);
    run();
    ck_assert_uint_eq(writes, before);
    ck_assert_uint_eq(pings, 0);
    ck_assert_uint_eq(told.closed, 0);
    h2_transport_set_silent(t, false);
    run();
    ck_assert_uint_eq(pings, 1);
    ck_assert_uint_eq(sent_count(6, 0), 1);
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    (void)ask(3);
    serve_end();
}
END_TEST

START_TEST(silent_transport_closes_without_a_word)
{
    serve_begin();
    serve_greet();
    (void)ask(1);
    h2_transport_set_silent(t, true);
    h2_transport_close(t, 0, "over");
    run();
    ck_assert_uint_eq(sent_count(7, 0), 0);
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    serve_end();
}
END_TEST

START_TEST(silence_while_the_socket_is_full_is_undone)
{
    struct h2_transport_options options = world_options();
    static uint8_t bytes[30000];
    struct heard *h;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 1000});
    SAY(MAGIC F1);
    run();
    SAY(F1A);
    run();
    h = ask(1);
    world_drain(false);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 30000), false), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    run();
    ck_assert_ptr_nonnull(t->send.unsent);
    h2_transport_set_silent(t, true);
    world_drain(true);
    run();
    ck_assert_ptr_nonnull(t->send.unsent);
    h2_transport_set_silent(t, false);
    run();
    ck_assert_ptr_null(t->send.unsent);
    (void)next_fields(1);
    ck_assert(next_fields(1).ends);
    serve_end();
}
END_TEST

/* ---- the end */

START_TEST(close_says_the_last_stream_that_it_took)
{
    struct sent_frame frame;
    serve_begin();
    serve_greet();
    (void)ask(1);
    (void)ask(3);
    h2_transport_close(t, 11, "too_many_pings");
    run();
    ck_assert(sent_frame(7, 0, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 3);
    ck_assert_uint_eq(get32(frame.payload + 4), 11);
    ck_assert_mem_eq(frame.payload + 8, "too_many_pings", 14);
    serve_end();
}
END_TEST

/* ---- memory */

/* A life whose i-th allocation after the greeting fails, if it comes so far. Whatever fails, each stream and the transport end once. */
static long live(struct counting_allocator *memory, long fail_at)
{
    struct h2_transport_options options = world_options();
    static uint8_t bytes[9000];
    struct lull_metadatum item = {.key = "note", .key_len = 4, .value = "x", .value_len = 1};
    const struct lull_metadata list = {.items = &item, .count = 1};
    struct block block = good_request();
    struct block other = bare_request();
    long used;
    counting_init(memory);
    serve_allocator = &memory->base;
    serve_begin_as(&options, (struct pipe_options){.capacity_bytes = 8000});
    serve_allocator = NULL;
    serve_greet();
    add_field(&block, "note", "in");
    memory->asked = 0;
    memory->fail_from = fail_at;
    for (uint32_t id = 1; id <= 9 && t != NULL; id += 2) {
        say_block(id, id == 5 ? &other : &block, true);
        run();
    }
    for (unsigned i = 0; i < requests && t != NULL; i++) {
        struct h2_stream *stream = &calls[i].stream;
        if (i > 0 && h2_stream_respond(stream, &list) == LULL_OK) {
            (void)h2_stream_send(stream, lull_slice_static(bytes, i * 2500), false);
            (void)h2_stream_send(stream, lull_slice_static(bytes, 10), false);
        }
        (void)h2_stream_trailers(stream, 5, "text", &list);
        run();
    }
    if (t != NULL && h2_transport_shutdown(t, "age") == LULL_OK) {
        run();
    }
    used = memory->asked;
    memory->fail_from = -1;
    serve_end();
    ck_assert_int_eq(memory->live, 0);
    return used;
}

START_TEST(each_allocation_may_fail)
{
    struct counting_allocator memory;
    const long all = live(&memory, -1);
    unsigned lost = 0;
    ck_assert_int_gt(all, 20);
    for (long i = 0; i < all; i++) {
        (void)live(&memory, i);
        lost += told.end.kind == H2_LOST_NOMEM;
    }
    ck_assert_uint_gt(lost, 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/serving");
    TCase *tc = tcase_create("serving");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, settings_say_what_the_options_say);
    tcase_add_test(tc, without_a_limit_none_is_told);
    tcase_add_loop_test(tc, connection_that_is_no_http2_is_named, 0, STRANGERS);
    tcase_add_test(tc, client_that_hangs_up_in_its_preface_is_just_gone);
    tcase_add_test(tc, stream_over_the_limit_is_refused);
    tcase_add_test(tc, broken_http2_ends_the_connection_with_a_goaway);
    tcase_add_test(tc, pings_and_resets_are_told);
    tcase_add_test(tc, reset_of_nobodys_stream_is_told);
    tcase_add_test(tc, resets_are_the_owners_matter);
    tcase_add_test(tc, silent_transport_neither_reads_nor_writes);
    tcase_add_test(tc, silent_transport_closes_without_a_word);
    tcase_add_test(tc, silence_while_the_socket_is_full_is_undone);
    tcase_add_test(tc, close_says_the_last_stream_that_it_took);
    tcase_add_test(tc, each_allocation_may_fail);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/serving", suite)
