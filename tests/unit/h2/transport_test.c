/* SPDX-License-Identifier: MIT */
#include "h2/transport.h"

#include "tests/support/check_main.h"
#include "tests/unit/h2/peer.h"

START_TEST(settings_make_streams_possible)
{
    world_begin();
    run();
    ck_assert(!h2_transport_can_open(t));
    ck_assert_str_eq(h2_transport_peer(t), "10.0.0.2:80");
    ck_assert_ptr_eq(h2_transport_owner(t), &told);
    SAY(F1);
    run();
    ck_assert_uint_eq(told.settings, 1);
    ck_assert(h2_transport_can_open(t));
    SAY(F1);
    run();
    ck_assert_uint_eq(told.settings, 1);
    ck_assert_uint_eq(told.capacity, 0);
    world_end();
}
END_TEST

START_TEST(settings_byte_by_byte_make_it_too)
{
    static const char bytes[] = F9;
    world_begin();
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        ck_assert_uint_eq(told.settings, 0);
        say(&bytes[i], 1);
        run();
    }
    ck_assert_uint_eq(told.settings, 1);
    (void)open_call(0);
    ck_assert(!h2_transport_can_open(t));
    world_end();
}
END_TEST

/* scenario 249 */
START_TEST(limit_is_kept_and_room_is_told)
{
    world_begin();
    SAY(F9);
    run();
    (void)open_call(0);
    run();
    ck_assert(!h2_transport_can_open(t));
    ck_assert_uint_eq(told.capacity, 0);
    say_answer(1);
    run();
    ck_assert_uint_eq(told.capacity, 1);
    (void)open_call(1);
    run();
    h2_stream_reset(&calls[1].stream, 8);
    ck_assert_uint_eq(told.capacity, 2);
    world_end();
}
END_TEST

START_TEST(limit_of_none_is_legal_and_may_be_raised)
{
    world_begin();
    SAY(F10);
    run();
    ck_assert_uint_eq(told.settings, 1);
    ck_assert(!h2_transport_can_open(t));
    SAY(F9);
    run();
    ck_assert_uint_eq(told.capacity, 1);
    ck_assert(h2_transport_can_open(t));
    world_end();
}
END_TEST

START_TEST(limit_may_fall_below_what_is_open)
{
    world_begin();
    (void)world_ready(3);
    SAY(F9);
    run();
    ck_assert(!h2_transport_can_open(t));
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(told.capacity, 0);
        say_answer(2 * i + 1);
        run();
        ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
    }
    ck_assert_uint_eq(told.capacity, 1);
    world_end();
}
END_TEST

START_TEST(reset_makes_room_in_the_same_turn)
{
    world_begin();
    SAY(F9);
    run();
    (void)open_call(0);
    run();
    h2_stream_reset(&calls[0].stream, 8);
    (void)open_call(1);
    run();
    ck_assert_uint_eq(sent_count(3, 1), 1);
    ck_assert_uint_eq(sent_count(1, 3), 1);
    say_answer(3);
    run();
    ck_assert_int_eq(calls[1].end.kind, H2_END_FINISHED);
    world_end();
}
END_TEST

START_TEST(drain_waits_for_the_last_stream)
{
    world_begin();
    (void)world_ready(2);
    h2_transport_drain(t);
    ck_assert(!h2_transport_can_open(t));
    run();
    say_answer(1);
    run();
    ck_assert_ptr_nonnull(t);
    say_answer(3);
    run();
    ck_assert_int_eq(told.end.kind, H2_LOST_LOCAL);
    ck_assert_str_eq(told.end.text, "drained");
    ck_assert_uint_eq(sent_count(7, 0), 1);
    world_end();
}
END_TEST

START_TEST(drain_without_streams_ends_at_once)
{
    world_begin();
    (void)world_ready(0);
    h2_transport_drain(t);
    run();
    ck_assert_uint_eq(told.closed, 1);
    world_end();
}
END_TEST

/* scenario 228 */
START_TEST(last_stream_id_drains_the_connection)
{
    struct h2_request request = a_request();
    world_begin();
    (void)world_ready(0);
    ck_assert_int_eq(nghttp2_session_set_next_stream_id(t->session.nghttp2, INT32_MAX), 0);
    (void)open_call(0);
    ck_assert_int_eq(calls[0].stream.id, INT32_MAX);
    ck_assert(!h2_transport_can_open(t));
    h2_stream_init(&calls[1].stream, &stream_ops, 100);
    ck_assert_int_eq(h2_transport_open(t, &calls[1].stream, &request), LULL_RC_LIMIT);
    ck_assert_ptr_null(calls[1].stream.transport);
    run();
    say_answer(INT32_MAX);
    run();
    ck_assert_int_eq(calls[0].end.kind, H2_END_FINISHED);
    ck_assert_str_eq(told.end.text, "drained: stream ids are used up");
    world_end();
}
END_TEST

START_TEST(close_ends_all_before_it_is_told)
{
    world_begin();
    (void)world_ready(4);
    (void)open_call(4);
    h2_stream_reset(&calls[0].stream, 8);
    h2_transport_close(t, 0, "bye");
    ck_assert(!h2_transport_can_open(t));
    h2_stream_reset(&calls[1].stream, 8); /* too late */
    run();
    ck_assert_uint_eq(told.open_at_end, 0);
    ck_assert_int_eq(calls[0].end.kind, H2_END_LOCAL);
    ck_assert_int_eq(calls[1].end.kind, H2_END_TRANSPORT);
    ck_assert_str_eq(calls[1].end.text, "closed by us: bye");
    ck_assert_int_eq(calls[4].end.kind, H2_END_NOT_SENT);
    world_end();
}
END_TEST

/*
 * A steady unary call asks for no memory of ours. nghttp2 1.52 asks for 7 blocks, this answer's literal fields among them: two queue
 * items, the copied fields, the stream, and what inflating a field takes.
 */
START_TEST(steady_call_allocates_nothing)
{
    struct lull_counters before = {.size = sizeof(before)};
    uint64_t theirs = 0;
    world_begin();
    (void)world_ready(0);
    for (unsigned i = 0; i < 1000; i++) {
        struct h2_request request = a_request();
        struct lull_metadatum items[2] = {{"a-bin", 5, "\1\2\3", 3}, {"x", 1, "y", 1}};
        struct lull_metadata metadata = {items, 2};
        request.metadata = &metadata;
        request.timeout_ns = LULL_SECOND;
        (void)open_with(i, &request);
        run();
        say_answer(2 * i + 1);
        run();
        ck_assert_int_eq(calls[i].end.kind, H2_END_FINISHED);
        if (i == 99) {
            before = world_counters();
            theirs = t->session.blocks;
        }
    }
    world_expect_no_memory(&before);
    theirs = t->session.blocks - theirs;
    /* The answer's message, and nghttp2's blocks. */
    ck_assert_uint_eq(world_counters().pool_claims - before.pool_claims, 900 + theirs);
    ck_assert_uint_le(theirs, 900 * 7);
    world_end();
}
END_TEST

START_TEST(hundred_calls_at_once_against_a_server)
{
    nghttp2_settings_entry limit = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100};
    world_begin();
    peer_begin(100, &limit, 1);
    run();
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 100; i++) {
            (void)open_call(round * 100 + i);
        }
        ck_assert(!h2_transport_can_open(t));
        run();
        for (unsigned i = 0; i < 100; i++) {
            ck_assert_int_eq(calls[round * 100 + i].end.kind, H2_END_FINISHED);
        }
    }
    ck_assert_uint_eq(told.capacity, 10);
    ck_assert_uint_eq(peer.resets, 0);
    peer_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/transport");
    TCase *tc = tcase_create("transport");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, settings_make_streams_possible);
    tcase_add_test(tc, settings_byte_by_byte_make_it_too);
    tcase_add_test(tc, limit_is_kept_and_room_is_told);
    tcase_add_test(tc, limit_of_none_is_legal_and_may_be_raised);
    tcase_add_test(tc, limit_may_fall_below_what_is_open);
    tcase_add_test(tc, reset_makes_room_in_the_same_turn);
    tcase_add_test(tc, drain_waits_for_the_last_stream);
    tcase_add_test(tc, drain_without_streams_ends_at_once);
    tcase_add_test(tc, last_stream_id_drains_the_connection);
    tcase_add_test(tc, close_ends_all_before_it_is_told);
    tcase_add_test(tc, steady_call_allocates_nothing);
    tcase_add_test(tc, hundred_calls_at_once_against_a_server);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/transport", suite)
