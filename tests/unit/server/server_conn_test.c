/* SPDX-License-Identifier: MIT */
/*
 * src/server/server_conn.c: connections that come, go, and cannot be made.
 */
#include "server/server_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "tests/support/check_main.h"
#include "tests/unit/server/rig.h"

static struct rig rig;
static struct raw raws[40];

START_TEST(many_connections_are_served_side_by_side)
{
    rig_start(&rig, APP_ECHOES);
    for (size_t i = 0; i < 40; i++) {
        rig_join(&rig, &raws[i]);
        raw_request(&raws[i], 1, RIG_METHOD, false, NULL);
    }
    ck_assert_uint_eq(rig_stats(&rig).connections, 40);
    ck_assert_uint_eq(rig_stats(&rig).calls, 40);
    for (size_t i = 0; i < 40; i++) {
        raw_message(&raws[39 - i], 1, "x", 1, true);
        ck_assert(raw_has_field(&raws[39 - i], 1, 1, "grpc-status: 0"));
        raw_fini(&raws[39 - i]);
        ck_assert_uint_eq(rig_stats(&rig).connections, 39 - i);
    }
    rig_fini(&rig);
}
END_TEST

START_TEST(the_options_reach_the_wire)
{
    rig_init(&rig);
    rig.options.max_streams = 77;
    rig.options.stream_window_bytes = 300000;
    rig.options.max_metadata_bytes = 5000;
    rig_open(&rig);
    rig_join(&rig, &raws[0]);
    const struct raw_frame *settings = raw_find(&raws[0], FRAME_SETTINGS, 0);
    ck_assert_ptr_nonnull(settings);
    unsigned seen = 0;
    for (uint32_t at = 0; at + 6 <= settings->len && at + 6 <= sizeof(settings->head); at += 6) {
        const uint8_t *entry = settings->head + at;
        const unsigned id = (unsigned)entry[0] << 8 | entry[1];
        const uint32_t value = (uint32_t)entry[2] << 24 | (uint32_t)entry[3] << 16 |
                               (uint32_t)entry[4] << 8 | entry[5];
        seen +=
            (id == 3 && value == 77) || (id == 4 && value == 300000) || (id == 6 && value == 5000);
    }
    ck_assert_uint_eq(seen, 3);
    raw_fini(&raws[0]);
    rig_fini(&rig);
}
END_TEST

/* scenario 275 */
START_TEST(one_stream_at_a_time_and_no_call_fails)
{
    static struct unary unaries[15];
    rig_init(&rig);
    rig.way = APP_ECHOES;
    rig.options.max_streams = 1;
    rig_open(&rig);
    unary_start(&unaries[0], &rig, RIG_METHOD, "warm", LULL_NEVER);
    rig_settle(&rig);
    unary_expect(&unaries[0], LULL_CODE_OK);
    for (size_t i = 0; i < 15; i++) {
        unary_start(&unaries[i], &rig, RIG_METHOD, "x", LULL_NEVER);
    }
    rig_settle(&rig);
    for (size_t i = 0; i < 15; i++) {
        unary_expect(&unaries[i], LULL_CODE_OK);
    }
    ck_assert_uint_eq(rig_stats(&rig).connections_made, 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_server_that_was_shut_down_takes_no_connection)
{
    rig_start(&rig, APP_ECHOES);
    lull_server_shutdown(rig.server, LULL_NEVER, NULL, NULL);
    raw_open(&raws[0], &rig.sim, rig.server, NULL);
    ck_assert(raws[0].is_eof);
    ck_assert_uint_eq(rig_stats(&rig).connections_made, 0);
    raw_fini(&raws[0]);
    rig_fini(&rig);
}
END_TEST

START_TEST(metadata_over_the_limit_ends_only_its_call)
{
    char value[121];
    rig_init(&rig);
    rig.way = APP_ECHOES;
    rig.options.max_metadata_bytes = 1024;
    rig_open(&rig);
    memset(value, 'v', 120);
    value[120] = '\0';
    rig_join(&rig, &raws[0]);
    raw_request(&raws[0], 1, RIG_METHOD, true, "x-1", value, "x-2", value, "x-3", value, "x-4",
                value, "x-5", value, "x-6", value, "x-7", value, "x-8", value, NULL);
    ck_assert_uint_eq(rig.begun, 0);
    ck_assert(!raws[0].is_eof);
    raw_request(&raws[0], 3, RIG_METHOD, true, NULL);
    ck_assert_uint_eq(rig.begun, 1);
    raw_fini(&raws[0]);
    rig_fini(&rig);
}
END_TEST

static void count_goaways(void *ctx, const struct lull_event *event)
{
    *(unsigned *)ctx += event->kind == LULL_EVENT_GOAWAY;
}

START_TEST(a_client_that_says_goaway_over_and_over_is_one_event)
{
    unsigned goaways = 0;
    rig_init(&rig);
    rig.way = APP_HOLDS;
    rig.options.trace = (struct lull_trace){.event = count_goaways, .ctx = &goaways};
    rig_open(&rig);
    rig_join(&rig, &raws[0]);
    raw_request(&raws[0], 1, RIG_METHOD, true, NULL); /* or the first would be the end of the connection */
    for (int i = 0; i < 100; i++) {
        raw_frame(&raws[0], FRAME_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0bye", 11);
    }
    ck_assert_uint_eq(goaways, 1);
    ck_assert(!raws[0].is_eof);
    raw_fini(&raws[0]);
    rig_fini(&rig);
}
END_TEST

/* Each block that a connection and a call ask for fails once: nothing leaks, nothing hangs, the next client is served. */
static uint64_t asked;
static uint64_t fails_at;

static void *failing_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return ++asked == fails_at ? NULL : malloc(size);
}

static void *failing_resize(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    return ++asked == fails_at ? NULL : realloc(memory, size);
}

static void plain_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static const struct lull_allocator failing = {failing_alloc, failing_resize, plain_release, NULL};

/* A server on an executor of its own, whose memory may fail. */
static uint64_t live_without_memory(uint64_t at)
{
    struct lull_executor_options executor;
    struct sim_server_world world;
    struct lull_server_handler handler;
    struct lull_server *server = NULL;
    struct lull_executor *peers;
    asked = 0;
    fails_at = 0;
    rig_init(&rig);
    rig_open(&rig);
    lull_executor_options_init(&executor);
    executor.clock = &rig.sim.clock.base;
    executor.allocator = &failing;
    ck_assert_int_eq(lull_executor_new(&executor, &peers), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(peers, &rig.sim.clock), LULL_OK);
    sim_server_world_init(&world, &rig.sim);
    world.loop.executor = peers;
    fails_at = at;
    asked = 0;
    rig.options.world = &world.world;
    if (lull_server_new(&rig.options, &server, NULL) == LULL_OK) {
        struct lull_executor *own = rig.sim.peers;
        lull_server_handler_init(&handler);
        (void)lull_server_add(server, RIG_METHOD, &handler, NULL);
        rig.sim.peers = peers;
        raw_open(&raws[0], &rig.sim, server, NULL);
        raw_hello(&raws[0]);
        raw_request(&raws[0], 1, RIG_METHOD, false, "x-a", "1", "grpc-timeout", "1S", NULL);
        raw_message(&raws[0], 1, "hello", 5, false);
        raw_message(&raws[0], 1, "hello", 5, true);
        rig_advance(&rig, LULL_SECOND);
        raw_fini(&raws[0]);
        lull_server_free(server);
        rig_settle(&rig);
        rig.sim.peers = own;
    }
    const uint64_t count = asked;
    fails_at = 0;
    lull_executor_free(peers);
    rig_fini(&rig);
    return count;
}

START_TEST(memory_may_fail_at_any_place)
{
    const uint64_t count = live_without_memory(0);
    ck_assert_uint_gt(count, 15);
    for (uint64_t at = 1; at <= count; at++) {
        (void)live_without_memory(at);
    }
}
END_TEST

static char logged[4096];

static void log_line(void *ctx, const struct lull_log_line *line)
{
    const size_t len = strlen(logged);
    ck_assert_ptr_eq(ctx, &rig);
    snprintf(logged + len, sizeof(logged) - len, "%s: %s\n", lull_log_level_name((int)line->level),
             line->text);
}

/* NO_ERROR, last stream 0, and debug data that wants a line of its own. */
static const uint8_t going[] = {0, 0, 0, 0, 0, 0, 0, 0, 'b', 'y', 'e', '\n', 'l', 'o', 's', 't'};

START_TEST(its_log_tells_who_comes_and_goes)
{
    rig_init(&rig);
    rig.options.log = (struct lull_log){log_line, &rig, LULL_LOG_INFO};
    logged[0] = '\0';
    rig_open(&rig);
    rig_join(&rig, &raws[0]);
    raw_request(&raws[0], 1, RIG_METHOD, true, NULL);
    raw_frame(&raws[0], FRAME_GOAWAY, 0, 0, going, sizeof(going));
    raw_fini(&raws[0]);
    rig_settle(&rig);
    lull_server_shutdown(rig.server, LULL_NEVER, NULL, NULL);
    rig_settle(&rig);
    lull_server_close(rig.server);
    const char *const parts[] = {
        "info: connected: ",
        "info: goaway: ",
        " says GOAWAY(NO_ERROR, \"bye\\x0alost\")\n",
        "info: lost: ",
        "info: state: shuts down with 0 connections\n",
        "info: state: closed with 0 connections\n",
    };
    const char *at = logged;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        at = strstr(at, parts[i]);
        ck_assert_msg(at != NULL, "\"%s\" is not in its place in:\n%s", parts[i], logged);
    }
    ck_assert_ptr_null(strstr(logged, "debug"));
    rig_fini(&rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("server/server_conn");
    TCase *t = tcase_create("server_conn");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, many_connections_are_served_side_by_side);
    tcase_add_test(t, the_options_reach_the_wire);
    tcase_add_test(t, one_stream_at_a_time_and_no_call_fails);
    tcase_add_test(t, a_server_that_was_shut_down_takes_no_connection);
    tcase_add_test(t, metadata_over_the_limit_ends_only_its_call);
    tcase_add_test(t, a_client_that_says_goaway_over_and_over_is_one_event);
    tcase_add_test(t, memory_may_fail_at_any_place);
    tcase_add_test(t, its_log_tells_who_comes_and_goes);
    suite_add_tcase(s, t);
    return s;
}

LULL_TEST_MAIN("server/server_conn", suite)
