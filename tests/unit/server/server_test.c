/* SPDX-License-Identifier: MIT */
/*
 * src/server/server.c: making one, its methods, its shutdown, its silence; and what a channel sees of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raw;

/* ---- making one */

START_TEST(a_server_needs_a_loop_and_one_clock)
{
    struct lull_server_options options;
    struct lull_server *server = NULL;
    struct lull_fake_clock other;
    struct lull_error error;
    lull_server_options_init(&options);
    ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "loop"));
    ck_assert_int_eq(lull_server_new(NULL, &server, NULL), LULL_RC_INVALID);
    rig_start(&rig, APP_HOLDS);
    ck_assert_int_eq(lull_server_new(&rig.options, NULL, &error), LULL_RC_INVALID);
    options = rig.options;
    options.loop = &rig.sim.loop; /* another one than the world's */
    ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_RC_INVALID);
    lull_fake_clock_init(&other, 0, 0);
    struct lull_world world = rig.world.world;
    world.clock = &other.base;
    options = rig.options;
    options.world = &world;
    ck_assert_int_eq(lull_server_new(&options, &server, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "clock"));
    ck_assert_ptr_null(server);
    lull_server_free(NULL);
    rig_fini(&rig);
}
END_TEST

START_TEST(methods_are_judged_and_each_has_one_handler)
{
    struct lull_server_handler handler;
    rig_start(&rig, APP_HOLDS);
    lull_server_handler_init(&handler);
    ck_assert_int_eq(lull_server_add(rig.server, RIG_METHOD, &handler, NULL), LULL_RC_STATE);
    ck_assert_int_eq(lull_server_add(rig.server, "Method", &handler, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_add(rig.server, "/Method", &handler, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_add(rig.server, "/a.B/", &handler, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_add(rig.server, "//C", &handler, NULL), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_add(rig.server, "/a.B/C", NULL, NULL), LULL_RC_INVALID);
    handler.size = 1;
    ck_assert_int_eq(lull_server_add(rig.server, "/a.B/C", &handler, NULL), LULL_RC_INVALID);
    lull_server_handler_init(&handler);
    ck_assert_int_eq(lull_server_add(rig.server, "", &handler, NULL), LULL_OK);
    ck_assert_int_eq(lull_server_add(rig.server, NULL, &handler, NULL), LULL_RC_STATE);
    ck_assert_str_eq(server_find_method(rig.server, RIG_METHOD)->name, RIG_METHOD);
    ck_assert_str_eq(server_find_method(rig.server, "/x/y")->name, "");
    rig_fini(&rig);
}
END_TEST

START_TEST(a_handler_of_nothing_answers_nothing_and_breaks_nothing)
{
    struct lull_server_handler handler;
    struct unary unary;
    rig_start(&rig, APP_HOLDS);
    lull_server_handler_init(&handler);
    ck_assert_int_eq(lull_server_add(rig.server, "", &handler, NULL), LULL_OK);
    unary_start(&unary, &rig, "/x.Y/Z", "hello", LULL_SECOND);
    rig_advance(&rig, LULL_SECOND);
    unary_expect(&unary, LULL_CODE_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(rig_stats(&rig).calls, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(stats_fill_what_the_caller_knows)
{
    struct {
        struct lull_server_stats stats;
        uint64_t behind;
    } two = {.behind = 77};
    rig_start(&rig, APP_HOLDS);
    two.stats.size = sizeof(size_t) + sizeof(uint64_t);
    two.stats.calls = 99;
    lull_server_stats(rig.server, &two.stats);
    ck_assert_uint_eq(two.stats.calls, 99);
    ck_assert_uint_eq(two.stats.connections, 0);
    two.stats.size = sizeof(two);
    lull_server_stats(rig.server, &two.stats);
    ck_assert_uint_eq(two.stats.size, sizeof(two.stats));
    ck_assert_uint_eq(two.stats.calls, 0);
    ck_assert_uint_eq(two.behind, 77);
    rig_fini(&rig);
}
END_TEST

/* A simulated loop watches nothing: the server says so and stays whole. */
START_TEST(an_address_that_cannot_be_listened_at_is_an_error)
{
    struct lull_error error;
    rig_start(&rig, APP_HOLDS);
    ck_assert_int_eq(lull_server_listen(rig.server, "127.0.0.1:0", &error), LULL_RC_SYSTEM);
    ck_assert_int_eq(error.sys_errno, ENOSYS);
    ck_assert_int_eq(lull_server_listen(rig.server, NULL, &error), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_listen(rig.server, "", &error), LULL_RC_INVALID);
    ck_assert_int_eq(lull_server_listen(rig.server, "example.org:80", &error), LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(lull_server_listen(rig.server, "example.org:0", &error), LULL_RC_INVALID);
    ck_assert_ptr_null(lull_server_address(rig.server, 0));
    rig_fini(&rig);
}
END_TEST

/* ---- its end */

START_TEST(a_shutdown_without_connections_is_drained_at_once_but_from_a_task)
{
    struct lull_error error;
    rig_start(&rig, APP_HOLDS);
    lull_server_shutdown(rig.server, LULL_NEVER, rig_on_drained, &rig);
    ck_assert_uint_eq(rig.drained, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.drained, 1);
    ck_assert_int_eq(lull_server_listen(rig.server, "127.0.0.1:0", &error), LULL_RC_CLOSED);
    lull_server_shutdown(rig.server, 0, NULL, NULL);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.drained, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_shutdown_lets_calls_end_and_takes_no_more)
{
    struct unary unary;
    struct unary late;
    rig_start_holding(&rig, &unary);
    lull_server_shutdown(rig.server, LULL_NEVER, rig_on_drained, &rig);
    rig_advance(&rig, 3600 * LULL_SECOND);
    ck_assert_uint_eq(rig.drained, 0);
    ck_assert_uint_eq(unary.done, 0);
    unary_start(&late, &rig, RIG_METHOD, "late", LULL_SECOND);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(rig.begun, 1);
    ck_assert_uint_eq(late.done, 1);
    ck_assert_int_eq(lull_server_call_send(rig.calls[0].call, lull_slice_static("bye", 3)),
                     LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    unary_expect(&unary, LULL_CODE_OK);
    ck_assert_str_eq(unary.reply, "bye");
    ck_assert_uint_eq(rig.drained, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_shutdown_has_a_grace)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    lull_server_shutdown(rig.server, LULL_SECOND, rig_on_drained, &rig);
    rig_settle(&rig);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 1);
    for (size_t i = 0; i < raw_count(&raw, FRAME_PING); i++) {
        raw_ack_ping(&raw, i);
    }
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 2);
    ck_assert(raw_goaway_says(raw_find(&raw, FRAME_GOAWAY, 1), "shutdown"));
    rig_advance(&rig, LULL_SECOND - 1);
    ck_assert_uint_eq(rig.closed, 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_LOST);
    ck_assert_uint_eq(rig.drained, 1);
    ck_assert(raw.is_eof);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

/* A client that answers no PING: the second GOAWAY is due after 10 s at the latest, the end with the grace. */
START_TEST(a_client_that_answers_nothing_has_the_grace_and_no_more)
{
    static const int64_t graces_ns[] = {0, LULL_SECOND, 3 * LULL_SECOND, 15 * LULL_SECOND};
    for (size_t i = 0; i < sizeof(graces_ns) / sizeof(graces_ns[0]); i++) {
        const int64_t grace_ns = graces_ns[i];
        rig_start(&rig, APP_HOLDS);
        rig_join(&rig, &raw);
        raw_request(&raw, 1, RIG_METHOD, false, NULL);
        rig_advance(&rig, LULL_SECOND);
        const int64_t from_ns = rig_now(&rig);
        lull_server_shutdown(rig.server, grace_ns, rig_on_drained, &rig);
        rig_settle(&rig);
        ck_assert_uint_ge(raw_count(&raw, FRAME_GOAWAY), 1);
        ck_assert_uint_eq(rig.drained, grace_ns == 0);
        rig_advance(&rig, 60 * LULL_SECOND);
        ck_assert_uint_ge(raw_count(&raw, FRAME_GOAWAY), 2);
        ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 0)->last, 0x7fffffffu);
        ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 1)->last, 1);
        ck_assert_uint_eq(rig.drained, 1);
        ck_assert_int_eq(rig.drained_at_ns, from_ns + grace_ns);
        ck_assert_int_eq(raw.eof_at_ns, from_ns + grace_ns);
        ck_assert_int_eq(rig.calls[0].closed_at_ns, from_ns + grace_ns);
        raw_fini(&raw);
        rig_fini(&rig);
    }
}
END_TEST

/* In the turn of the shutdown: what was finished before it is written, and then nobody is waited for. */
START_TEST(an_answer_before_a_shutdown_without_grace_goes_out)
{
    rig_start(&rig, APP_HOLDS);
    rig_join(&rig, &raw);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    lull_server_shutdown(rig.server, 0, rig_on_drained, &rig);
    rig_settle(&rig);
    ck_assert(raw_has_field(&raw, 1, 0, "grpc-status: 0"));
    ck_assert_uint_eq(raw_find(&raw, FRAME_GOAWAY, 1)->last, 1);
    ck_assert(raw.is_eof);
    ck_assert_uint_eq(rig.drained, 1);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_client_that_takes_no_answer_has_the_grace_and_no_more)
{
    static const uint8_t zeros[30000];
    const struct pipe_options small = {.capacity_bytes = 4096};
    rig_init(&rig);
    rig.options.keepalive_time_ns = LULL_NEVER;
    rig_open(&rig);
    raw_open(&raw, &rig.sim, rig.server, &small);
    raw_hello(&raw);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    raw_set_deaf(&raw, true);
    ck_assert_int_eq(
        lull_server_call_send(rig.calls[0].call, lull_slice_static(zeros, sizeof(zeros))), LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(rig.calls[0].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
    rig_settle(&rig);
    lull_server_shutdown(rig.server, 3 * LULL_SECOND, rig_on_drained, &rig);
    rig_advance(&rig, 3 * LULL_SECOND - 1);
    ck_assert_uint_eq(rig.drained, 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(rig.drained, 1);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_close_ends_everything_now_and_drains_nobody)
{
    struct unary unary;
    rig_start_holding(&rig, &unary);
    lull_server_shutdown(rig.server, LULL_NEVER, rig_on_drained, &rig);
    lull_server_close(rig.server);
    lull_server_close(rig.server);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_int_eq(rig.calls[0].end, LULL_SERVER_END_CLOSED);
    ck_assert_str_eq(rig.calls[0].why, "the server was closed");
    unary_expect(&unary, LULL_CODE_UNAVAILABLE);
    ck_assert_uint_eq(rig.drained, 0);
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(freed_with_a_call_that_somebody_holds)
{
    struct unary unary;
    rig_start_holding(&rig, &unary);
    struct lull_server_call *call = rig.calls[0].call;
    lull_server_call_ref(call);
    lull_server_free(rig.server);
    rig.server = NULL;
    rig.host->refuse_errno = ECONNREFUSED;
    rig_settle(&rig);
    ck_assert_uint_eq(rig.closed, 1);
    ck_assert_str_eq(lull_server_call_method(call), RIG_METHOD);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_RC_CLOSED);
    lull_server_call_unref(call);
    rig_settle(&rig);
    rig_fini(&rig);
}
END_TEST

/* ---- silence */

START_TEST(a_silent_server_answers_nothing_and_closes_nothing)
{
    struct unary unary;
    rig_start(&rig, APP_ECHOES);
    rig_join(&rig, &raw);
    unary_run(&unary, &rig, RIG_METHOD, "one", LULL_CODE_OK);
    lull_server_set_silent(rig.server, true);
    lull_server_set_silent(rig.server, true);
    raw_ping(&raw);
    raw_request(&raw, 1, RIG_METHOD, true, NULL);
    unary_start(&unary, &rig, RIG_METHOD, "two", LULL_NEVER);
    rig_advance(&rig, 600 * LULL_SECOND);
    ck_assert_uint_eq(raw_acks(&raw), 0);
    ck_assert(!raw.is_eof);
    ck_assert_uint_eq(unary.done, 0);
    ck_assert_uint_eq(rig.begun, 1);
    lull_server_set_silent(rig.server, false);
    rig_settle(&rig);
    ck_assert_uint_eq(raw_acks(&raw), 1);
    unary_expect(&unary, LULL_CODE_OK);
    ck_assert_str_eq(unary.reply, "two");
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_connection_that_comes_in_the_silence_waits)
{
    struct unary unary;
    rig_start(&rig, APP_ECHOES);
    lull_server_set_silent(rig.server, true);
    unary_start(&unary, &rig, RIG_METHOD, "hello", 15 * LULL_SECOND);
    rig_advance(&rig, 10 * LULL_SECOND);
    ck_assert_uint_eq(unary.done, 0);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_CONNECTING);
    lull_server_set_silent(rig.server, false);
    rig_settle(&rig);
    unary_expect(&unary, LULL_CODE_OK);
    rig_fini(&rig);
}
END_TEST

START_TEST(what_was_due_in_the_silence_is_done_after_it)
{
    rig_init(&rig);
    rig.options.max_connection_idle_ns = LULL_SECOND;
    rig_open(&rig);
    rig_join(&rig, &raw);
    lull_server_set_silent(rig.server, true);
    rig_advance(&rig, 60 * LULL_SECOND);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 0);
    lull_server_set_silent(rig.server, false);
    rig_settle(&rig);
    ck_assert_uint_eq(raw_count(&raw, FRAME_GOAWAY), 1);
    raw_fini(&raw);
    rig_fini(&rig);
}
END_TEST

/* scenarios 121, 140, 281: the client's keepalive finds the silent server out */
START_TEST(a_client_with_keepalive_leaves_a_silent_server)
{
    struct unary unary;
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig.options.permit_keepalive_time_ns = 0;
    rig.channel_options.keepalive_time_ns = 10 * LULL_SECOND;
    rig.channel_options.keepalive_timeout_ns = 2 * LULL_SECOND;
    rig_open(&rig);
    unary_start(&unary, &rig, RIG_METHOD, "hello", LULL_NEVER);
    rig_advance(&rig, 35 * LULL_SECOND);
    ck_assert_uint_eq(unary.done, 0);
    ck_assert_uint_ge(rig_stats(&rig).pings, 3);
    lull_server_set_silent(rig.server, true);
    rig_advance(&rig, 12 * LULL_SECOND);
    unary_expect(&unary, LULL_CODE_UNAVAILABLE);
    lull_server_set_silent(rig.server, false);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.closed, 1);
    rig_fini(&rig);
}
END_TEST

/* ---- the ages, as a channel sees them */

static void start_ageing(enum app_way way)
{
    rig_init(&rig);
    rig.way = way;
    rig.options.allow_short_timers = true;
    rig.options.max_connection_age_ns = 100 * LULL_MS;
    rig.channel_options.allow_short_timers = true;
    rig.channel_options.backoff_initial_ns = LULL_MS;
    rig_open(&rig);
}

/* scenario 221: calls all the time, connections of 100 ms, no call fails */
START_TEST(connections_that_age_fail_no_call)
{
    unsigned made = 0;
    start_ageing(APP_ECHOES);
    for (; made < 1000; made++) {
        struct unary unary;
        unary_start(&unary, &rig, RIG_METHOD, "x", LULL_NEVER);
        rig_advance(&rig, LULL_MS);
        unary_expect(&unary, LULL_CODE_OK);
    }
    ck_assert_uint_ge(rig_stats(&rig).connections_made, 8);
    ck_assert_uint_le(rig_stats(&rig).connections_made, 13);
    rig_fini(&rig);
}
END_TEST

/* The same with calls that are under way when their connection is told to go. */
START_TEST(calls_under_way_outlive_the_drain)
{
    static struct unary unaries[50];
    start_ageing(APP_HOLDS);
    for (size_t i = 0; i < 50; i++) {
        unary_start(&unaries[i], &rig, RIG_METHOD, "x", LULL_NEVER);
        rig_advance(&rig, 10 * LULL_MS);
        if (i >= 30) {
            ck_assert_int_eq(
                lull_server_call_send(rig.calls[i - 30].call, lull_slice_static("y", 1)), LULL_OK);
            ck_assert_int_eq(
                lull_server_call_finish(rig.calls[i - 30].call, LULL_CODE_OK, NULL, NULL), LULL_OK);
        }
    }
    rig_settle(&rig);
    for (size_t i = 0; i < 20; i++) {
        unary_expect(&unaries[i], LULL_CODE_OK);
    }
    ck_assert_uint_eq(rig.begun, 50);
    ck_assert_uint_ge(rig_stats(&rig).connections_made, 4);
    lull_server_close(rig.server);
    rig_settle(&rig);
    rig_fini(&rig);
}
END_TEST

/* scenario 284 */
START_TEST(max_idle_makes_the_channel_idle_and_the_next_call_dials)
{
    struct unary unary;
    rig_init(&rig);
    rig.way = APP_ECHOES;
    rig.options.max_connection_idle_ns = 5 * LULL_SECOND;
    rig_open(&rig);
    unary_run(&unary, &rig, RIG_METHOD, "x", LULL_CODE_OK);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    rig_advance(&rig, 5 * LULL_SECOND);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_IDLE);
    ck_assert_uint_eq(rig_stats(&rig).connections, 0);
    unary_start(&unary, &rig, RIG_METHOD, "x", LULL_NEVER);
    rig_advance(&rig, LULL_SECOND);
    unary_expect(&unary, LULL_CODE_OK);
    ck_assert_uint_eq(rig_stats(&rig).connections_made, 2);
    rig_fini(&rig);
}
END_TEST

/* ---- what it leaves on its executor */

static struct lull_counters server_counters(void)
{
    struct lull_counters counters = {.size = sizeof(counters)};
    lull_executor_counters(rig.sim.peers, &counters);
    return counters;
}

/* scenario 92 for a server; RULINGS 3: the deadlines of calls that are over leave no timer behind the last connection */
START_TEST(without_connections_no_timer_of_a_deadline_is_left)
{
    static struct unary unary;
    for (int row = 0; row < 4; row++) {
        bool is_live = (row & 1) != 0;
        memset(&unary, 0, sizeof(unary));
        rig_start(&rig, is_live ? APP_HOLDS : APP_ECHOES);
        unary_start(&unary, &rig, RIG_METHOD, "x", 3600 * LULL_SECOND);
        rig_settle(&rig);
        ck_assert_uint_eq(unary.done, is_live ? 0 : 1);
        ck_assert_uint_ge(server_counters().timers_armed, 1);
        if ((row & 2) != 0) {
            lull_server_close(rig.server);
        } else {
            lull_channel_close(rig.channel);
        }
        rig_settle(&rig);
        ck_assert_uint_eq(unary.done, 1);
        ck_assert_uint_eq(rig_stats(&rig).connections, 0);
        ck_assert_uint_eq(server_counters().timers_armed, 0);
        uint64_t fires = server_counters().timer_fires;
        rig_advance(&rig, 7200 * LULL_SECOND);
        ck_assert_uint_eq(server_counters().timer_fires, fires);
        rig_fini(&rig);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server");
    TCase *t = tcase_create("server");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_server_needs_a_loop_and_one_clock);
    tcase_add_test(t, methods_are_judged_and_each_has_one_handler);
    tcase_add_test(t, a_handler_of_nothing_answers_nothing_and_breaks_nothing);
    tcase_add_test(t, stats_fill_what_the_caller_knows);
    tcase_add_test(t, an_address_that_cannot_be_listened_at_is_an_error);
    tcase_add_test(t, a_shutdown_without_connections_is_drained_at_once_but_from_a_task);
    tcase_add_test(t, a_shutdown_lets_calls_end_and_takes_no_more);
    tcase_add_test(t, a_shutdown_has_a_grace);
    tcase_add_test(t, a_client_that_answers_nothing_has_the_grace_and_no_more);
    tcase_add_test(t, an_answer_before_a_shutdown_without_grace_goes_out);
    tcase_add_test(t, a_client_that_takes_no_answer_has_the_grace_and_no_more);
    tcase_add_test(t, a_close_ends_everything_now_and_drains_nobody);
    tcase_add_test(t, freed_with_a_call_that_somebody_holds);
    tcase_add_test(t, a_silent_server_answers_nothing_and_closes_nothing);
    tcase_add_test(t, a_connection_that_comes_in_the_silence_waits);
    tcase_add_test(t, what_was_due_in_the_silence_is_done_after_it);
    tcase_add_test(t, a_client_with_keepalive_leaves_a_silent_server);
    tcase_add_test(t, connections_that_age_fail_no_call);
    tcase_add_test(t, calls_under_way_outlive_the_drain);
    tcase_add_test(t, max_idle_makes_the_channel_idle_and_the_next_call_dials);
    tcase_add_test(t, without_connections_no_timer_of_a_deadline_is_left);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server", suite)
