/* SPDX-License-Identifier: MIT */
/* scenarios 214 to 222, pain-cases C21 and C22. */
#include "h2/goaway.h"

#include "base/strbuf.h"
#include "tests/support/check_main.h"
#include "tests/unit/h2/serve_world.h"

START_TEST(description_quotes_the_peers_bytes)
{
    struct goaway_state goaway = {.is_seen = true, .code = 11, .debug_len = 14};
    char text[200];
    struct strbuf sb;
    memcpy(goaway.debug, "too_many_pings", 14);
    strbuf_init(&sb, text, sizeof(text));
    goaway_describe(&goaway, &sb);
    ck_assert_str_eq(text, "GOAWAY(ENHANCE_YOUR_CALM, \"too_many_pings\")");
    goaway.code = 0;
    goaway.debug_len = 0;
    strbuf_init(&sb, text, sizeof(text));
    goaway_describe(&goaway, &sb);
    ck_assert_str_eq(text, "GOAWAY(NO_ERROR)");
}
END_TEST

/* C21 */
START_TEST(two_step_goaway_is_answered_and_drained)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    SAY(F3 F2);
    run();
    ck_assert_uint_eq(told.goaways, 1);
    ck_assert_int_eq(told.goaway_last, INT32_MAX);
    ck_assert(!h2_transport_can_open(t));
    ck_assert_uint_eq(sent_count(6, 0), 1);
    SAY(F4);
    run();
    ck_assert_uint_eq(told.goaways, 2);
    ck_assert_int_eq(told.goaway_last, 1);
    ck_assert_uint_eq(h->closed, 0);
    SAY(F6 F7 F8);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    ck_assert_str_eq(told.end.text, "drained after GOAWAY(NO_ERROR)");
    ck_assert_uint_eq(told.capacity, 0);
    world_end();
}
END_TEST

/* C22, scenario 214; RULINGS 20: whatever the code. */
static const uint32_t codes[] = {0, 1, 2, 7, 8, 11, 99};

START_TEST(streams_left_out_are_unprocessed_whatever_the_code)
{
    world_begin();
    (void)world_ready(3);
    say_goaway(1, codes[_i], "why");
    run();
    ck_assert_uint_eq(told.goaway_code, codes[_i]);
    ck_assert_str_eq(told.goaway_debug, "why");
    ck_assert_uint_eq(calls[0].closed, 0);
    for (unsigned i = 1; i < 3; i++) {
        ck_assert_int_eq(calls[i].end.kind, H2_END_UNPROCESSED);
        ck_assert_uint_eq(calls[i].end.code, codes[_i]);
        ck_assert(calls[i].end.has_code);
        ck_assert_ptr_nonnull(strstr(calls[i].end.text, "GOAWAY("));
        ck_assert_ptr_nonnull(strstr(calls[i].end.text, ", \"why\")"));
    }
    say_answer(1);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    ck_assert_uint_eq(told.end.goaway_code, codes[_i]);
    ck_assert(told.end.has_goaway);
    world_end();
}
END_TEST

/* scenario 216: HEADERS not handed to the socket were not seen by anybody. */
START_TEST(stream_that_never_left_is_not_sent)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 1024};
    struct h2_request request = a_request();
    uint8_t *big = calloc(1, 60000);
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, 60000);
    (void)open_with(0, &request);
    run();
    (void)open_call(1); /* waits in nghttp2 */
    run();
    SAY(F4);
    run();
    world_drain(true);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_NOT_SENT);
    ck_assert_uint_eq(sent_count(1, 3), 0);
    ck_assert_uint_eq(calls[0].closed, 0);
    say_answer(1);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    world_end();
    free(big);
}
END_TEST

START_TEST(headers_that_wait_in_our_own_output_are_not_sent)
{
    struct h2_transport_options options = world_options();
    struct pipe_options pipe = {.capacity_bytes = 300};
    world_begin_as(&options, pipe, NULL);
    SAY(F1);
    run();
    world_drain(false);
    for (unsigned i = 0; i < 20; i++) {
        (void)open_call(i);
    }
    run();
    ck_assert(calls[19].stream.headers_pulled && !calls[19].stream.headers_sent);
    ck_assert(calls[1].stream.headers_sent);
    SAY(F4);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_UNPROCESSED);
    ck_assert_int_eq(calls[19].end.kind, H2_END_NOT_SENT);
    world_end();
}
END_TEST

START_TEST(goaway_without_streams_ends_the_transport_at_once)
{
    world_begin();
    (void)world_ready(0);
    SAY(F5);
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    ck_assert_uint_eq(told.end.goaway_code, 11);
    ck_assert_str_eq(told.goaway_debug, "too_many_pings");
    ck_assert_str_eq(told.end.text, "drained after GOAWAY(ENHANCE_YOUR_CALM, \"too_many_pings\")");
    world_end();
}
END_TEST

/* scenario 222 */
START_TEST(close_after_goaway_says_both)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    SAY(F3);
    run();
    hang_up();
    run();
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    ck_assert(h->end.has_code);
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    ck_assert(told.end.has_goaway);
    ck_assert_str_eq(told.end.text, "the peer closed the connection after GOAWAY(NO_ERROR)");
    world_end();
}
END_TEST

/* scenario 220 */
START_TEST(even_or_growing_last_stream_is_a_connection_error)
{
    struct heard *h;
    world_begin();
    h = world_ready(1);
    if (_i == 0) {
        say_goaway(4, 0, "");
    } else {
        say_goaway(1, 0, "");
        say_goaway(3, 0, "");
    }
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(told.end.text, "GOAWAY: invalid last_stream_id"));
    ck_assert_int_eq(h->end.kind, H2_END_TRANSPORT);
    world_end();
}
END_TEST

START_TEST(debug_data_need_not_be_text)
{
    world_begin();
    (void)world_ready(0);
    say_frame(7, 0, 0, "\0\0\0\0\0\0\0\x0b\xff\xfe\0\n", 12);
    run();
    ck_assert_ptr_nonnull(strstr(told.end.text, "\"\\xff\\xfe\\x00\\x0a\""));
    world_end();
}
END_TEST

START_TEST(our_close_says_goaway_in_the_last_write)
{
    struct sent_frame frame;
    unsigned before;
    world_begin();
    (void)world_ready(1);
    before = writes;
    h2_transport_close(t, 0, "idle");
    h2_transport_close(t, 2, "again");
    ck_assert_uint_eq(told.closed, 0);
    run();
    ck_assert_uint_eq(writes - before, 1);
    ck_assert_uint_eq(sent_count(7, 0), 1);
    ck_assert(sent_frame(7, 0, 0, &frame));
    ck_assert_uint_eq(frame.len, 12);
    ck_assert_mem_eq(frame.payload, "\0\0\0\0\0\0\0\0idle", 12);
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    ck_assert_str_eq(told.end.text, "closed by us: idle");
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    world_end();
}
END_TEST

START_TEST(close_before_the_first_flush_writes_nothing)
{
    world_begin();
    h2_transport_close(t, 0, "never mind");
    run();
    ck_assert_uint_eq(writes, 0);
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    ck_assert(told.end.before_settings);
    world_end();
}
END_TEST

START_TEST(close_with_unsent_output_does_not_wait)
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
    h2_transport_close(t, 0, "now");
    run();
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    world_drain(true);
    run();
    ck_assert_uint_eq(sent_count(7, 0), 0); /* no frame in the middle of another */
    world_end();
    free(big);
}
END_TEST

/* ---- a server that goes in order */

static uint32_t drain_payload[2];

static void expect_notice(void)
{
    struct sent_frame frame;
    ck_assert(sent_frame(7, 0, 0, &frame));
    ck_assert_uint_eq(get32(frame.payload), 0x7fffffff);
    ck_assert_uint_eq(get32(frame.payload + 4), 0);
    ck_assert_uint_eq(frame.len, 8 + 7);
    ck_assert_mem_eq(frame.payload + 8, "max_age", 7);
    ck_assert_uint_eq(sent_count(7, 0), 1);
    ck_assert(sent_frame(6, 0, 0, &frame));
    ck_assert_uint_eq(frame.flags, 0);
    memcpy(drain_payload, frame.payload, 8);
}

static void expect_final(uint32_t last)
{
    struct sent_frame frame;
    ck_assert(sent_frame(7, 0, 1, &frame));
    ck_assert_uint_eq(get32(frame.payload), last);
    ck_assert_uint_eq(get32(frame.payload + 4), 0);
    ck_assert_uint_eq(frame.len, 8 + 7);
    ck_assert_mem_eq(frame.payload + 8, "max_age", 7);
    ck_assert_uint_eq(sent_count(7, 0), 2);
}

START_TEST(shutdown_says_goaway_twice_and_ends_with_its_last_stream)
{
    const struct block block = good_request();
    serve_begin();
    serve_greet();
    (void)ask(1);
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    ck_assert_int_eq(h2_transport_shutdown(t, "again"), LULL_OK);
    run();
    expect_notice();
    (void)ask(3); /* was on its way, or does not know yet */
    say_frame(6, 1, 0, drain_payload, 8);
    run();
    expect_final(3);
    say_block(5, &block, true); /* it has been told: nobody takes it */
    run();
    ck_assert_uint_eq(requests, 2);
    ck_assert_uint_eq(told.closed, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(h2_stream_respond(&calls[i].stream, NULL), LULL_OK);
        ck_assert_int_eq(h2_stream_trailers(&calls[i].stream, 0, NULL, NULL), LULL_OK);
    }
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    ck_assert_str_eq(told.end.text, "drained");
    ck_assert_uint_eq(sent_count(7, 0), 2);
    serve_end();
}
END_TEST

/* Nothing may stand before the SETTINGS (RFC 9113 section 3.4), and the PING's answer has to say that the notice came. */
START_TEST(notice_of_a_newborn_stands_between_its_settings_and_its_ping)
{
    static const uint8_t order[] = {4, 7, 6};
    struct sent_frame frame;
    serve_begin();
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    expect_notice();
    for (unsigned i = 0, n = 0; i < sizeof(order); n++) {
        ck_assert(sent_frame(256, 0, n, &frame));
        if (frame.type != 8) { /* the connection's window */
            ck_assert_uint_eq(frame.type, order[i++]);
        }
    }
    serve_greet();
    say_frame(6, 1, 0, drain_payload, 8);
    run();
    expect_final(0);
    ck_assert_uint_eq(told.closed, 1);
    serve_end();
}
END_TEST

START_TEST(shutdown_without_streams_ends_when_the_ping_is_answered)
{
    serve_begin();
    serve_greet();
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    expect_notice();
    ck_assert_uint_eq(told.closed, 0);
    say_frame(6, 1, 0, "\1\2\3\4\5\6\7\x08", 8); /* somebody else's */
    run();
    ck_assert_uint_eq(told.closed, 0);
    say_frame(6, 1, 0, drain_payload, 8);
    run();
    expect_final(0);
    ck_assert_uint_eq(told.closed, 1);
    serve_end();
}
END_TEST

START_TEST(owner_that_waits_no_longer_cuts_the_notice_short)
{
    serve_begin();
    serve_greet();
    ck_assert_int_eq(h2_transport_shutdown_now(t), LULL_OK); /* too early: nothing */
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    expect_notice();
    ck_assert_int_eq(h2_transport_shutdown_now(t), LULL_OK);
    ck_assert_int_eq(h2_transport_shutdown_now(t), LULL_OK);
    run();
    expect_final(0);
    ck_assert_uint_eq(told.closed, 1);
    serve_end();
}
END_TEST

/* The last answer is in our own output when its stream ends. */
START_TEST(shutdown_waits_for_a_full_socket)
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
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    expect_notice();
    world_drain(false);
    ck_assert_int_eq(h2_stream_respond(&h->stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_send(&h->stream, lull_slice_static(bytes, 30000), false), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&h->stream, 0, NULL, NULL), LULL_OK);
    ck_assert_int_eq(h2_transport_shutdown_now(t), LULL_OK);
    run();
    ck_assert_int_eq(h->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(told.closed, 0);
    world_drain(true);
    run();
    ck_assert_uint_eq(told.closed, 1);
    (void)next_fields(1);
    ck_assert(next_fields(1).ends);
    serve_end();
}
END_TEST

START_TEST(loss_within_the_notice_is_just_a_loss)
{
    serve_begin();
    serve_greet();
    (void)ask(1);
    ck_assert_int_eq(h2_transport_shutdown(t, "max_age"), LULL_OK);
    run();
    hang_up();
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_EOF);
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    serve_end();
}
END_TEST

/* A client's GOAWAY says that it goes: what it asked is still answered. */
START_TEST(goaway_of_the_client_lets_its_streams_end)
{
    serve_begin();
    serve_greet();
    (void)ask(1);
    say_goaway(0, 0, "idle");
    run();
    ck_assert_uint_eq(told.goaways, 1);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_int_eq(h2_stream_respond(&calls[0].stream, NULL), LULL_OK);
    ck_assert_int_eq(h2_stream_trailers(&calls[0].stream, 0, NULL, NULL), LULL_OK);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    serve_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/goaway");
    TCase *tc = tcase_create("goaway");
    tcase_add_test(tc, description_quotes_the_peers_bytes);
    tcase_add_test(tc, two_step_goaway_is_answered_and_drained);
    tcase_add_loop_test(tc, streams_left_out_are_unprocessed_whatever_the_code, 0, 7);
    tcase_add_test(tc, stream_that_never_left_is_not_sent);
    tcase_add_test(tc, headers_that_wait_in_our_own_output_are_not_sent);
    tcase_add_test(tc, goaway_without_streams_ends_the_transport_at_once);
    tcase_add_test(tc, close_after_goaway_says_both);
    tcase_add_loop_test(tc, even_or_growing_last_stream_is_a_connection_error, 0, 2);
    tcase_add_test(tc, debug_data_need_not_be_text);
    tcase_add_test(tc, our_close_says_goaway_in_the_last_write);
    tcase_add_test(tc, close_before_the_first_flush_writes_nothing);
    tcase_add_test(tc, close_with_unsent_output_does_not_wait);
    tcase_add_test(tc, shutdown_says_goaway_twice_and_ends_with_its_last_stream);
    tcase_add_test(tc, notice_of_a_newborn_stands_between_its_settings_and_its_ping);
    tcase_add_test(tc, shutdown_without_streams_ends_when_the_ping_is_answered);
    tcase_add_test(tc, owner_that_waits_no_longer_cuts_the_notice_short);
    tcase_add_test(tc, shutdown_waits_for_a_full_socket);
    tcase_add_test(tc, loss_within_the_notice_is_just_a_loss);
    tcase_add_test(tc, goaway_of_the_client_lets_its_streams_end);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/goaway", suite)
