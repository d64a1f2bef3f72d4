/* SPDX-License-Identifier: MIT */
/*
 * src/h2/keepalive_glue.c: the cases that were reported in public (pain-cases C06 to C11), scenarios 117 to 141 as far as they are a
 * transport's, and peers that are half dead.
 */
#include "h2/keepalive_glue.h"

#include "policy/ping_police.h"
#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/h2/pings.h"

static void run_at(int64_t ms)
{
    go_to(MS(ms));
}

/* pain-case C06 */
START_TEST(ping_is_due_from_the_last_byte_read)
{
    begin_keepalive(MS(20000), MS(10000), false);
    (void)world_ready(1);
    run_at(12000);
    SAY(F6 F7);
    run_at(13000);
    SAY(F8);
    run();
    ck_assert_str_eq(calls[0].grpc_status, "0");
    run_at(14000);
    (void)open_call(1);
    run_at(32999);
    ck_assert_uint_eq(pings(), 0);
    run_at(33000);
    ck_assert_uint_eq(pings(), 1);
    run_at(33010);
    ack(0);
    run_at(53009);
    ck_assert_uint_eq(pings(), 1);
    run_at(53010);
    ck_assert_uint_eq(pings(), 2);
    ck_assert_int_eq(ping_stats().last_rtt_ns, MS(10));
    world_end();
}
END_TEST

/* A unary call, done at `ms`. */
static void one_call(unsigned n, int64_t ms)
{
    struct heard *h = open_call(n);
    go_to(MS(ms));
    say_answer((uint32_t)h->stream.id);
    run();
    ck_assert_uint_eq(h->closed, 1);
}

/* pain-case C07 */
START_TEST(call_after_a_quiet_spell_finds_the_dead_peer)
{
    struct sent_frame frame;
    unsigned before;
    begin_keepalive(MS(30000), MS(20000), false);
    (void)world_ready(0);
    one_call(0, 1000);
    run_at(40000);
    ck_assert_uint_eq(pings(), 0);
    before = writes;
    out_len = MAGIC_BYTES;
    (void)open_call(1);
    run();
    ck_assert_uint_eq(writes - before, 1);
    ck_assert(sent_frame(256, UINT32_MAX, 0, &frame) && frame.type == 6 && frame.flags == 0);
    ck_assert(sent_frame(256, UINT32_MAX, 1, &frame) && frame.type == 1 && frame.id == 3);
    run_at(59999);
    ck_assert_uint_eq(told.closed, 0);
    run_at(60000);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_str_eq(told.end.text,
                     "keepalive: no answer to a PING within 20 s; last byte read 59000 ms ago");
    ck_assert_int_eq(calls[1].end.kind, H2_END_TRANSPORT); /* it was sent: not replayed */
    ck_assert_str_eq(calls[1].end.text, told.end.text);
    world_end();
}
END_TEST

/* pain-case C07, the variant: a server with A8's police sees nothing wrong. */
START_TEST(hundred_quiet_spells_are_no_strike)
{
    struct ping_police_options options;
    struct ping_police police;
    const unsigned spells = test_rounds(100, 30);
    ping_police_options_init(&options);
    ping_police_init(&police, &options);
    begin_keepalive(MS(30000), MS(20000), false);
    (void)world_ready(0);
    for (unsigned i = 0; i < spells; i++) {
        const int64_t at = 40000 * (int64_t)(i + 1);
        run_at(at);
        ck_assert_uint_eq(pings(), i);
        ping_police_on_stream_opened(&police);
        (void)open_call(i);
        run();
        ck_assert_uint_eq(pings(), i + 1);
        ck_assert_int_eq(ping_police_on_ping(&police, lull_at(MS(at))), PING_POLICE_NONE);
        run_at(at + 20);
        ack(i);
        say_answer(1 + 2 * i);
        run();
        ping_police_on_sent(&police);
        ping_police_on_last_stream_closed(&police);
    }
    ck_assert_uint_eq(police.strikes, 0);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(ping_stats().acked, spells);
    world_end();
}
END_TEST

/* pain-case C08 */
START_TEST(any_byte_is_a_sign_of_life)
{
    begin_keepalive(MS(10000), MS(5000), false);
    (void)world_ready(1);
    SAY(F6);
    run_at(9999);
    ck_assert_uint_eq(pings(), 0);
    run_at(10000);
    ck_assert_uint_eq(pings(), 1);
    run_at(12000);
    SAY(F7);
    run_at(15000);
    ck_assert_uint_eq(told.closed, 0);
    run_at(21999);
    ck_assert_uint_eq(pings(), 1);
    run_at(22000);
    ck_assert_uint_eq(pings(), 2);
    run_at(26999);
    ck_assert_uint_eq(told.closed, 0);
    run_at(27000);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    world_end();
}
END_TEST

/* pain-case C10, the transport's part: the owner is told, and the next connection takes the doubled time. */
START_TEST(too_many_pings_doubles_the_time_of_the_next_connection)
{
    struct lull_keepalive_interval interval;
    struct h2_transport_options options = world_options();
    int64_t want_ms = 10000;
    lull_keepalive_interval_init(&interval, MS(10000), false);
    options.keepalive.timeout_ns = MS(20000);
    options.keepalive.without_calls = true;
    world_begin();
    for (int i = 0; i < 5; i++, want_ms *= 2) {
        int64_t from = clock_.mono_at.ns;
        options.keepalive.time_ns = lull_keepalive_interval_ns(&interval, clock_.mono_at);
        connect_again(&options, (struct pipe_options){0}, false);
        (void)world_ready(0);
        go_to(from + MS(want_ms) - 1);
        ck_assert_uint_eq(pings(), 0);
        go_to(from + MS(want_ms));
        ck_assert_uint_eq(pings(), 1);
        SAY(F5);
        run();
        ck_assert_uint_eq(told.goaways, 1);
        ck_assert(lull_keepalive_is_too_many_pings(told.goaway_code, told.goaway_debug,
                                                   strlen(told.goaway_debug)));
        lull_keepalive_interval_on_too_many_pings(&interval, options.keepalive.time_ns,
                                                  clock_.mono_at);
        ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
        ck_assert_uint_eq(armed(), 0);
    }
    world_end();
}
END_TEST

/* pain-case C11 */
START_TEST(off_means_no_ping_at_all)
{
    static uint8_t chunk[16384];
    const uint32_t unary = test_rounds(10000, 500);
    begin_keepalive(LULL_NEVER, MS(20000), true);
    (void)world_ready(0);
    for (uint32_t i = 0; i < unary; i++) {
        struct heard *h = &calls[0];
        memset(h, 0, sizeof(*h));
        (void)open_call(0);
        run();
        say_frame(1, END_BOTH, 1 + 2 * i, HEADERS_OK TRAILERS_OK,
                  sizeof(HEADERS_OK TRAILERS_OK) - 1);
        run();
        ck_assert_uint_eq(h->closed, 1);
    }
    out_len = MAGIC_BYTES;
    (void)open_call(1);
    run();
    say_headers(1 + 2 * unary);
    chunk[3] = 0x3f; /* one message of 16384 - 5 bytes, as long as the frame */
    chunk[4] = 0xfb;
    for (unsigned i = 0; i < 64; i++) {
        go_to(clock_.mono_at.ns + MS(3600000) / 64);
        say_frame(0, 0, 1 + 2 * unary, chunk, sizeof(chunk));
        SAY(F2);
        run();
    }
    ck_assert_uint_eq(calls[1].messages, 64);
    ck_assert_uint_eq(pings(), 0);
    ck_assert_uint_eq(sent_count(6, 0), 64); /* the server's are answered */
    ck_assert_uint_eq(counters().pings_sent, 0);
    ck_assert_uint_eq(counters().timer_arms, 0);
    world_end();
}
END_TEST

/* scenario 117, from the transport's side */
START_TEST(peer_that_only_said_settings_is_left_after_110_ms)
{
    begin_keepalive(MS(100), MS(10), true);
    (void)world_ready(0);
    run_at(109);
    ck_assert_uint_eq(told.closed, 0);
    run_at(110);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_str_eq(told.end.text,
                     "keepalive: no answer to a PING within 10 ms; last byte read 110 ms ago");
    world_end();
}
END_TEST

/* scenarios 118 and 122 */
START_TEST(answering_peer_is_kept)
{
    const unsigned periods = test_rounds(200, 40);
    begin_keepalive(MS(55), MS(1000), true);
    (void)world_ready(0);
    for (unsigned i = 0; i < periods; i++) {
        run_at(55 + 55 * (int64_t)i);
        ck_assert_uint_eq(pings(), i + 1);
        ack(i);
    }
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(ping_stats().acked, periods);
    world_end();
}
END_TEST

/* scenarios 120 and 128 */
START_TEST(no_stream_no_ping)
{
    begin_keepalive(MS(10), MS(10), false);
    (void)world_ready(0);
    run_at(500);
    ck_assert_uint_eq(pings(), 0);
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(counters().timer_arms, 0);
    world_end();
}
END_TEST

/* scenario 121 */
START_TEST(acks_that_stop_end_a_silent_stream)
{
    begin_keepalive(MS(10), MS(100), false);
    (void)world_ready(1);
    run_at(10);
    ack(0);
    run_at(20);
    ack(1);
    run_at(129);
    ck_assert_uint_eq(told.closed, 0);
    run_at(130);
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    world_end();
}
END_TEST

/* scenario 141 */
START_TEST(reads_delay_the_ping)
{
    begin_keepalive(MS(2000), MS(500), false);
    (void)world_ready(1);
    for (int64_t ms = 100; ms <= 5000; ms += 100) {
        run_at(ms);
        say_something();
    }
    run_at(6999);
    ck_assert_uint_eq(pings(), 0);
    run_at(7000);
    ck_assert_uint_eq(pings(), 1);
    world_end();
}
END_TEST

/* ---- half dead */

/* The socket takes nothing more, and a stream has something to say. */
static void block_writes(int64_t time_ms, int64_t timeout_ms)
{
    static uint8_t big[60000];
    struct h2_transport_options options = world_options();
    struct h2_request request = a_request();
    options.keepalive.time_ns = MS(time_ms);
    options.keepalive.timeout_ns = MS(timeout_ms);
    world_begin();
    connect_again(&options, (struct pipe_options){.capacity_bytes = 4096}, false);
    SAY(F1);
    run();
    world_drain(false);
    request.message = lull_slice_static(big, sizeof(big));
    (void)open_with(0, &request);
    run();
    ck_assert_uint_eq(endpoint_pipe_in_flight(near_end), 4096);
}

START_TEST(peer_that_talks_and_does_not_read_is_alive)
{
    block_writes(10000, 5000);
    for (int64_t s = 1; s <= 600; s++) {
        go_to(s * LULL_SECOND);
        say_something();
    }
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(ping_stats().sent, 0);
    /* Whether our bytes arrive is the write timeout's question, which is the system's. */
    ck_assert_int_eq(endpoint_pipe_write_timeout(near_end), MS(5000));
    world_end();
}
END_TEST

START_TEST(ping_that_the_socket_does_not_take_is_judged_from_its_order)
{
    block_writes(10000, 5000);
    run_at(10000);
    ck_assert_int_eq(due_at(), MS(15000));
    run_at(14999);
    ck_assert_uint_eq(told.closed, 0);
    run_at(15000);
    ck_assert_int_eq(told.end.kind, H2_LOST_KEEPALIVE);
    ck_assert_str_eq(told.end.text, "keepalive: the socket took no PING, and nothing came, within "
                                    "5 s; last byte read 15000 ms ago");
    ck_assert_int_eq(calls[0].end.kind, H2_END_TRANSPORT);
    world_end();
}
END_TEST

START_TEST(ping_that_the_socket_takes_late_is_judged_from_then)
{
    block_writes(10000, 5000);
    run_at(10000);
    run_at(13000);
    world_drain(true);
    run();
    ck_assert_uint_eq(pings(), 1);
    ck_assert_int_eq(due_at(), MS(18000));
    run_at(13007);
    ack(0);
    ck_assert_int_eq(ping_stats().last_rtt_ns, MS(7));
    world_end();
}
END_TEST

/* It has left when its last byte has. */
START_TEST(half_a_ping_is_not_written)
{
    struct h2_transport_options options = world_options();
    options.keepalive.time_ns = MS(10000);
    options.keepalive.timeout_ns = MS(5000);
    world_begin();
    connect_again(&options, (struct pipe_options){.capacity_bytes = 3 * 17 + 10}, false);
    (void)world_ready(1);
    world_drain(false);
    SAY(F2 F2 F2);
    run(); /* the answers leave room for 10 bytes */
    run_at(10000);
    ck_assert_uint_eq(endpoint_pipe_in_flight(near_end), 3 * 17 + 10);
    run_at(13000);
    ck_assert(ping_is_keepalive_stuck(t));
    ck_assert_int_eq(due_at(), MS(15000));
    world_drain(true);
    run();
    ck_assert(!ping_is_keepalive_stuck(t));
    ck_assert_int_eq(due_at(), MS(18000));
    world_end();
}
END_TEST

/* A PING that still waits is not followed by another one. */
START_TEST(pings_do_not_pile_up_before_a_full_socket)
{
    block_writes(10000, 5000);
    for (int i = 0; i < 20; i++) {
        go_to(clock_.mono_at.ns + MS(14000));
        say_something();
    }
    world_drain(true);
    run();
    ck_assert_uint_eq(pings(), 1);
    ck_assert_uint_eq(told.closed, 0);
    ack(0);
    go_to(clock_.mono_at.ns + MS(10000));
    ck_assert_uint_eq(pings(), 2);
    world_end();
}
END_TEST

static void add_half_dead(Suite *suite)
{
    TCase *tc = tcase_create("half dead");
    tcase_add_test(tc, peer_that_talks_and_does_not_read_is_alive);
    tcase_add_test(tc, ping_that_the_socket_does_not_take_is_judged_from_its_order);
    tcase_add_test(tc, ping_that_the_socket_takes_late_is_judged_from_then);
    tcase_add_test(tc, half_a_ping_is_not_written);
    tcase_add_test(tc, pings_do_not_pile_up_before_a_full_socket);
    suite_add_tcase(suite, tc);
}

static Suite *keepalive_cases_suite(void)
{
    Suite *suite = suite_create("keepalive_cases");
    TCase *tc = tcase_create("cases");
    tcase_add_test(tc, ping_is_due_from_the_last_byte_read);
    tcase_add_test(tc, call_after_a_quiet_spell_finds_the_dead_peer);
    tcase_add_test(tc, hundred_quiet_spells_are_no_strike);
    tcase_add_test(tc, any_byte_is_a_sign_of_life);
    tcase_add_test(tc, too_many_pings_doubles_the_time_of_the_next_connection);
    tcase_add_test(tc, off_means_no_ping_at_all);
    tcase_add_test(tc, peer_that_only_said_settings_is_left_after_110_ms);
    tcase_add_test(tc, answering_peer_is_kept);
    tcase_add_test(tc, no_stream_no_ping);
    tcase_add_test(tc, acks_that_stop_end_a_silent_stream);
    tcase_add_test(tc, reads_delay_the_ping);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    add_half_dead(suite);
    return suite;
}

LULL_TEST_MAIN("keepalive_cases", keepalive_cases_suite)
