/* SPDX-License-Identifier: MIT */
/* Our client against our server: many messages, windows, back-pressure, and random lives against an oracle. C26. */
#include "h2/stream.h"

#include "tests/support/check_main.h"
#include "tests/support/rounds.h"
#include "tests/unit/h2/duo.h"

#define WINDOW ((size_t)256 * 1024)

static size_t small(uint64_t pattern, unsigned n)
{
    return (size_t)(pattern + n) % 40;
}

static size_t mixed(uint64_t pattern, unsigned n)
{
    return (size_t)((pattern * 2654435761u + n * 40503u) % (n % 16 == 0 ? 20000 : 700));
}

static size_t huge(uint64_t pattern, unsigned n)
{
    (void)pattern;
    return n % 3 == 1 ? (size_t)100 : (size_t)4 * 1024 * 1024;
}

static size_t kilobyte(uint64_t pattern, unsigned n)
{
    (void)pattern;
    (void)n;
    return 1000;
}

static const struct pipe_options pipes[] = {
    {.capacity_bytes = 1024 * 1024},
    {.capacity_bytes = 65536},
    {.capacity_bytes = 2500, .read_chunk_bytes = 701, .write_chunk_bytes = 333},
};

/* ---- the three kinds, 1 000 messages each way */

static void pump(struct app *app, unsigned until, unsigned a_turn, bool is_server)
{
    for (unsigned i = 0; i < a_turn && app->sent < until; i++) {
        if (h2_stream_queued_bytes(&app->stream) >= H2_STREAM_FULL_BYTES) {
            break;
        }
        app_send(app, !is_server && app->sent + 1 == until);
    }
    if (is_server && app->sent == until && app->heard_end && !app->has_ended) {
        ck_assert_int_eq(h2_stream_trailers(&app->stream, 0, NULL, NULL), LULL_OK);
        app->has_ended = true;
    }
}

START_TEST(thousand_messages_each_way_arrive_in_order)
{
    const struct h2_transport_options options = world_options();
    const unsigned up = _i % 4 == 1 ? 1 : 1000;
    const unsigned down = _i % 4 == 0 ? 1 : 1000;
    struct app *client;
    struct app *other;
    duo_begin(&options, pipes[_i / 4], _i % 4 == 3 ? mixed : small);
    client = duo_open(0, 1);
    run();
    other = &servers[0];
    client->takes_at_once = true;
    other->takes_at_once = true;
    ck_assert_int_eq(h2_stream_respond(&other->stream, NULL), LULL_OK);
    for (unsigned turns = 0; client->closed == 0 && turns < 5000; turns++) {
        if (!client->has_ended) {
            pump(client, up, 50, false);
        }
        if (other->closed == 0 && (_i % 4 != 0 || other->heard_end)) {
            pump(other, down, 50, true);
        }
        run();
    }
    ck_assert_int_eq(client->end.kind, H2_END_FINISHED);
    ck_assert_int_eq(other->end.kind, H2_END_FINISHED);
    ck_assert_uint_eq(other->heard, up);
    ck_assert_uint_eq(client->heard, down);
    ck_assert_str_eq(client->grpc_status, "0");
    ck_assert_uint_eq(sent_count(3, UINT32_MAX), 0);
    duo_end();
}
END_TEST

/* ---- windows */

/* What a stream that nobody takes from may hold: its window, and one message more. */
START_TEST(peer_is_held_back_by_what_is_not_taken)
{
    const struct h2_transport_options options = world_options();
    struct app *client;
    struct app *other;
    duo_begin(&options, pipes[_i], kilobyte);
    client = duo_open(0, 1);
    run();
    other = &servers[0];
    ck_assert_int_eq(h2_stream_respond(&other->stream, NULL), LULL_OK);
    for (unsigned i = 0; i < 1000; i++) {
        app_send(other, false);
        app_send(client, false);
    }
    run();
    ck_assert_uint_le(client->untaken_bytes, WINDOW);
    ck_assert_uint_ge(client->untaken_bytes, WINDOW / 2);
    ck_assert_uint_le(other->untaken_bytes, WINDOW);
    ck_assert_uint_ge(other->untaken_bytes, WINDOW / 2);
    ck_assert_uint_gt(h2_stream_queued_bytes(&other->stream), 500000);
    /* Another stream goes on meanwhile. */
    (void)duo_open(1, 9);
    run();
    servers[1].takes_at_once = true;
    for (unsigned i = 0; i < 500; i++) {
        app_send(&clients[1], i == 499);
    }
    run();
    ck_assert_uint_eq(servers[1].heard, 500);
    /* And this one when it is taken from. */
    for (unsigned turns = 0; turns < 2000 && (client->heard < 1000 || other->heard < 1000);
         turns++) {
        app_catch_up(client, 7);
        app_catch_up(other, 7);
        run();
        ck_assert_uint_le(client->untaken_bytes, WINDOW);
    }
    ck_assert_uint_eq(client->heard, 1000);
    ck_assert_uint_eq(other->heard, 1000);
    ck_assert_uint_eq(client->writable + other->writable, 2);
    duo_end();
}
END_TEST

START_TEST(message_larger_than_the_window_reaches_a_stream_that_is_held_back)
{
    const struct h2_transport_options options = world_options();
    struct app *client;
    struct app *other;
    duo_begin(&options, pipes[_i], huge);
    client = duo_open(0, 1);
    run();
    other = &servers[0];
    ck_assert_int_eq(h2_stream_respond(&other->stream, NULL), LULL_OK);
    for (unsigned i = 0; i < 4; i++) {
        app_send(other, false);
        app_send(client, false);
    }
    run();
    ck_assert_uint_ge(client->heard, 1);
    ck_assert_uint_ge(other->heard, 1);
    ck_assert_uint_lt(client->heard, 3); /* not the second of 4 MiB */
    ck_assert_uint_le(client->untaken_bytes, huge(0, 0) + WINDOW);
    for (unsigned turns = 0; turns < 20 && (client->taken < 4 || other->taken < 4); turns++) {
        app_catch_up(client, 1);
        app_catch_up(other, 1);
        run();
        ck_assert_uint_le(client->untaken_bytes, huge(0, 0) + WINDOW);
    }
    ck_assert_uint_eq(client->taken, 4);
    ck_assert_uint_eq(other->taken, 4);
    duo_end();
}
END_TEST

/* ---- random lives */

static uint64_t seed_;

static unsigned roll(unsigned below)
{
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed_ >> 33) % below;
}

#define LIVES 8

/* What may be said of a pair at any time. */
static void check_pair(const struct app *a)
{
    const struct app *b = a->other;
    if (b == NULL) {
        return;
    }
    ck_assert_uint_le(a->heard, b->sent);
    ck_assert_uint_le(b->heard, a->sent);
    ck_assert_uint_le(a->taken, a->heard);
    ck_assert_uint_le(a->most_untaken, 65536 + a->largest + 5);
    ck_assert_uint_le(b->most_untaken, 65536 + b->largest + 5);
    if (a->closed != 0 && a->end.kind == H2_END_FINISHED && a->heard_end) {
        ck_assert_uint_eq(a->heard, b->sent);
    }
    if (b->heard_end) {
        ck_assert_uint_eq(b->heard, a->sent);
    }
}

static void act_client(struct app *app)
{
    const unsigned what = roll(20);
    if (app->closed != 0) {
        return;
    }
    if (what < 9 && !app->has_ended && !app->stream.has_local_end) {
        app_send(app, roll(20) == 0);
    } else if (what < 15) {
        app_catch_up(app, roll(5));
    } else if (what == 15) {
        app->takes_at_once = !app->takes_at_once;
        app_catch_up(app, app->takes_at_once ? UINT32_MAX : 0);
    } else if (what == 16 && !app->has_ended && !app->stream.has_local_end) {
        ck_assert_int_eq(h2_stream_end(&app->stream), LULL_OK);
        app->has_ended = true;
    } else if (what == 17 && roll(4) == 0) {
        h2_stream_reset(&app->stream, 8);
    }
}

static void act_server(struct app *app)
{
    const unsigned what = roll(20);
    if (app->stream.ops == NULL || app->closed != 0 || app->stream.has_local_end) {
        return;
    }
    if (!app->stream.has_responded && !app->has_ended) {
        ck_assert_int_eq(h2_stream_respond(&app->stream, NULL), LULL_OK);
    }
    if (what < 9 && !app->has_ended) {
        app_send(app, false);
    } else if (what < 15) {
        app_catch_up(app, roll(5));
    } else if (what == 15) {
        app->takes_at_once = !app->takes_at_once;
        app_catch_up(app, app->takes_at_once ? UINT32_MAX : 0);
    } else if (what == 16 && !app->has_ended && roll(3) == 0) {
        ck_assert_int_eq(
            h2_stream_trailers(&app->stream, roll(3), roll(2) == 0 ? "why" : NULL, NULL), LULL_OK);
        app->has_ended = true;
    } else if (what == 17 && roll(6) == 0) {
        h2_stream_reset(&app->stream, 2);
    }
}

/* Everybody takes and ends: nothing may be left open. */
static void wind_up(void)
{
    for (unsigned turns = 0; turns < 400; turns++) {
        bool is_open = false;
        for (unsigned n = 0; n < clients_open; n++) {
            struct app *client = &clients[n];
            struct app *other = &servers[n];
            app_catch_up(client, UINT32_MAX);
            if (client->closed == 0 && !client->has_ended && !client->stream.has_local_end) {
                ck_assert_int_eq(h2_stream_end(&client->stream), LULL_OK);
                client->has_ended = true;
            }
            if (other->stream.ops != NULL) {
                app_catch_up(other, UINT32_MAX);
                if (other->closed == 0 && !other->has_ended && !other->stream.has_local_end) {
                    ck_assert_int_eq(h2_stream_trailers(&other->stream, 0, NULL, NULL), LULL_OK);
                    other->has_ended = true;
                }
            }
            is_open =
                is_open || client->closed == 0 || (other->other != NULL && other->closed == 0);
        }
        if (!is_open) {
            return;
        }
        run();
    }
    ck_abort_msg("a stream is still open after everybody has ended");
}

static void live(uint64_t seed)
{
    struct h2_transport_options options = world_options();
    const unsigned steps = 600;
    seed_ = seed;
    options.stream_window_bytes = 65536;
    options.connection_window_bytes = 200000;
    duo_begin(&options, pipes[roll(3)], mixed);
    for (unsigned step = 0; step < steps && t != NULL; step++) {
        if (clients_open < LIVES && roll(20) == 0) {
            (void)duo_open(clients_open, seed + clients_open);
        }
        for (unsigned n = 0; n < clients_open; n++) {
            act_client(&clients[n]);
            act_server(&servers[n]);
        }
        if (roll(3) != 0) {
            run_turn();
        }
        if (roll(30) == 0) {
            run();
        }
        for (unsigned n = 0; n < clients_open; n++) {
            check_pair(&clients[n]);
        }
    }
    if (seed % 4 != 3) { /* every fourth is cut off in the middle */
        wind_up();
    }
    for (unsigned n = 0; n < clients_open; n++) {
        check_pair(&clients[n]);
    }
    ck_assert_uint_eq(told.closed, 0);
    ck_assert_uint_eq(server_closed, 0);
    duo_end();
}

START_TEST(random_lives_keep_to_the_oracle)
{
    for (uint64_t i = 0; i < test_rounds(20, 1); i++) {
        live((uint64_t)_i * 20 + i);
    }
}
END_TEST

/* ---- ends, from either side */

START_TEST(loss_with_messages_queued_on_both_sides_ends_all_once)
{
    const struct h2_transport_options options = world_options();
    duo_begin(&options, pipes[1], mixed);
    for (unsigned n = 0; n < 20; n++) {
        (void)duo_open(n, n);
    }
    run();
    ck_assert_uint_eq(served, 20);
    for (unsigned n = 0; n < 20; n++) {
        ck_assert_int_eq(h2_stream_respond(&servers[n].stream, NULL), LULL_OK);
        for (unsigned i = 0; i < 300; i++) {
            app_send(&clients[n], false);
            app_send(&servers[n], false);
        }
    }
    run_turn();
    endpoint_pipe_break(_i == 0 ? near_end : far_end, 104);
    run();
    duo_end(); /* asserts one on_closed each */
}
END_TEST

START_TEST(shutdown_of_the_server_lets_streams_finish)
{
    const struct h2_transport_options options = world_options();
    duo_begin(&options, pipes[_i], mixed);
    for (unsigned n = 0; n < 10; n++) {
        (void)duo_open(n, n);
        clients[n].takes_at_once = true;
    }
    run();
    ck_assert_int_eq(h2_transport_shutdown(server, "age"), LULL_OK);
    run();
    ck_assert_uint_eq(told.goaways, 2);
    ck_assert(!h2_transport_can_open(t));
    for (unsigned n = 0; n < 10; n++) {
        servers[n].takes_at_once = true;
        ck_assert_int_eq(h2_stream_respond(&servers[n].stream, NULL), LULL_OK);
        for (unsigned i = 0; i < 100; i++) {
            app_send(&servers[n], false);
        }
        ck_assert_int_eq(h2_stream_trailers(&servers[n].stream, 0, NULL, NULL), LULL_OK);
    }
    for (unsigned n = 0; n < 10; n++) {
        ck_assert_int_eq(h2_stream_end(&clients[n].stream), LULL_OK);
    }
    run();
    for (unsigned n = 0; n < 10; n++) {
        ck_assert_int_eq(clients[n].end.kind, H2_END_FINISHED);
        ck_assert_uint_eq(clients[n].heard, 100);
    }
    ck_assert_uint_eq(server_closed, 1);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_int_eq(told.end.kind, H2_LOST_GOAWAY);
    duo_end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/streaming");
    TCase *tc = tcase_create("streaming");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, thousand_messages_each_way_arrive_in_order, 0, 12);
    tcase_add_loop_test(tc, peer_is_held_back_by_what_is_not_taken, 0, 3);
    tcase_add_loop_test(tc, message_larger_than_the_window_reaches_a_stream_that_is_held_back, 0,
                        2);
    tcase_add_loop_test(tc, random_lives_keep_to_the_oracle, 0, 10);
    tcase_add_loop_test(tc, loss_with_messages_queued_on_both_sides_ends_all_once, 0, 2);
    tcase_add_loop_test(tc, shutdown_of_the_server_lets_streams_finish, 0, 3);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/streaming", suite)
