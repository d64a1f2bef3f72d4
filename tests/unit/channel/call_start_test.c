/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_start.c: starting streams, in a turn and outside, in callbacks.
 */
#include <string.h>

#include "exec/executor.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a, b;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

static void ignore_closed(struct lull_call *call, const struct lull_status *status,
                          const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)status;
    (void)trailers;
    if (ctx != NULL) {
        *(unsigned *)ctx += 1;
    }
}

START_TEST(a_handler_that_cannot_be_told_the_end_is_refused)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;
    begin();
    lull_call_options_init(&options, "/a/b");
    lull_call_handler_init(&handler);
    ck_assert_int_eq(lull_call_start(rig.channel, &options, NULL, NULL, NULL, &error),
                     LULL_RC_INVALID);
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, NULL, &error),
                     LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "on_closed"));
    handler.on_closed = ignore_closed;
    handler.size--;
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, NULL, &error),
                     LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "handler size"));
    handler.size++;
    options.read_timeout_ns = -1;
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, NULL, &error),
                     LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "read_timeout_ns"));
    rig_settle(&rig);
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 0);
    end();
}
END_TEST

/* With nothing but on_closed everything else passes by. */
START_TEST(a_call_without_a_handle_and_without_ears_ends_all_the_same)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    unsigned closed = 0;
    begin();
    lull_call_options_init(&options, "/a/b");
    lull_call_handler_init(&handler);
    handler.on_closed = ignore_closed;
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, &closed, NULL, NULL),
                     LULL_OK);
    memset(&handler, 0, sizeof(handler)); /* it was copied */
    rig_settle(&rig);
    ck_assert_uint_eq(closed, 0);
    peer_answer(rig_peer(&rig, 0), 1, "unheard");
    rig_settle(&rig);
    ck_assert_uint_eq(closed, 1);
    end();
}
END_TEST

/* ---- in a callback */

static uint64_t turn_of_callback;
static struct told *to_start;

static void start_another(struct told *told, char what)
{
    if (what == 'H') {
        turn_of_callback = executor_turn_number(told->rig->executor);
        told_start(told->rig, to_start, NULL);
        told_send(to_start, "at once");
        told_send(told, "this too");
    }
}

/* One write: both calls' frames left in the flush of the turn of the callback. */
START_TEST(a_call_started_in_a_callback_leaves_in_that_turns_flush)
{
    begin();
    to_start = &b;
    a.then = start_another;
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    struct peer *peer = rig_peer(&rig, 0);
    server_headers(peer, 1);
    uint64_t reads = peer->reads;
    uint64_t turns = rig_counters(&rig).turns;
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "H");
    ck_assert_uint_eq(peer_count_on(peer, FRAME_HEADERS, 3), 1);
    ck_assert_uint_eq(server.streams[0].messages, 1);
    ck_assert_uint_eq(server.streams[1].messages, 1);
    ck_assert_uint_eq(peer->reads - reads, 1);
    ck_assert_uint_eq(turn_of_callback, turns + 1);
    end();
}
END_TEST

static void start_when_closed(struct told *told, char what)
{
    if (what == 'C' && told->tag > 0) {
        struct told *next = told + 1;
        next->tag = told->tag - 1;
        next->then = start_when_closed;
        told_start(told->rig, next, NULL);
        ck_assert_int_eq(lull_call_half_close(next->handle), LULL_OK);
    }
}

static void answer_twice(struct peer *peer, struct server_stream *stream)
{
    server_headers(peer, stream->id);
    server_send(peer, stream->id, "x", 1);
    server_send(peer, stream->id, "y", 1);
    peer_trailers(peer, stream->id, "0");
}

START_TEST(calls_started_by_ends_of_calls_all_end)
{
    static struct told chain[101];
    begin();
    server.on_end = answer_twice;
    memset(chain, 0, sizeof(chain));
    chain[0].tag = 100;
    chain[0].then = start_when_closed;
    told_start(&rig, &chain[0], NULL);
    ck_assert_int_eq(lull_call_half_close(chain[0].handle), LULL_OK);
    rig_settle(&rig);
    for (size_t i = 0; i < 101; i++) {
        told_expect(&chain[i], LULL_CODE_OK, "HMMC");
        ck_assert_str_eq(chain[i].text, "x,y,");
    }
    end();
}
END_TEST

/* ---- outside a turn, in every order */

START_TEST(what_is_done_before_the_first_turn_leaves_in_one_write)
{
    begin();
    server.on_end = answer_twice;
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    struct peer *peer = rig_peer(&rig, 0);
    uint64_t reads = peer->reads;
    told_start(&rig, &a, NULL);
    told_send(&a, "one");
    told_send(&a, "two");
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    ck_assert_uint_eq(peer->reads - reads, 1);
    ck_assert_uint_eq(peer_count_on(peer, FRAME_DATA, 3), 1); /* END_STREAM among it */
    ck_assert_uint_eq(server.streams[0].id, 3);
    ck_assert_uint_eq(server.streams[0].messages, 2);
    told_expect(&a, LULL_CODE_OK, "HMMC");
    end();
}
END_TEST

START_TEST(cancelled_before_the_first_turn_it_sends_and_dials_nothing)
{
    begin();
    told_start(&rig, &a, NULL);
    told_send(&a, "never");
    lull_call_cancel(a.handle);
    ck_assert_uint_eq(a.closed, 0);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "C");
    ck_assert_uint_eq(rig.attempt_count, 0);
    end();
}
END_TEST

START_TEST(an_empty_stream_ends_in_the_write_of_its_headers)
{
    begin();
    server.on_end = answer_twice;
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    struct peer *peer = rig_peer(&rig, 0);
    uint64_t reads = peer->reads;
    told_start(&rig, &a, NULL);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMMC");
    ck_assert_uint_eq(server.streams[0].messages, 0);
    ck_assert(server.streams[0].is_ended);
    ck_assert_uint_eq(peer->reads - reads, 1);
    end();
}
END_TEST

START_TEST(a_closed_channel_starts_nothing)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    begin();
    lull_call_options_init(&options, "/a/b");
    lull_call_handler_init(&handler);
    handler.on_closed = ignore_closed;
    told_start(&rig, &a, NULL);
    told_send(&a, "never");
    lull_channel_close(rig.channel);
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, NULL, NULL),
                     LULL_RC_CLOSED);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_UNAVAILABLE, "C");
    told_expect_text(&a, "channel closed");
    end();
}
END_TEST

START_TEST(metadata_beyond_a_header_block_is_refused_with_both_sizes)
{
    static char letters[70001];
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_error error;
    begin();
    memset(letters, 'v', sizeof(letters) - 1);
    const struct lull_metadatum pair = lull_metadatum_text("k", letters);
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.metadata = (struct lull_metadata){&pair, 1};
    lull_call_handler_init(&handler);
    handler.on_closed = ignore_closed;
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, NULL, NULL, &error),
                     LULL_RC_LIMIT);
    ck_assert_str_eq(error.text, "the metadata takes 70032 bytes of a header block, of "
                                 "which at most 65536 can be sent");
    end();
}
END_TEST

static Suite *call_start_suite(void)
{
    Suite *suite = suite_create("call_start");
    TCase *tcase = tcase_create("call_start");
    tcase_add_test(tcase, a_handler_that_cannot_be_told_the_end_is_refused);
    tcase_add_test(tcase, a_call_without_a_handle_and_without_ears_ends_all_the_same);
    tcase_add_test(tcase, a_call_started_in_a_callback_leaves_in_that_turns_flush);
    tcase_add_test(tcase, calls_started_by_ends_of_calls_all_end);
    tcase_add_test(tcase, what_is_done_before_the_first_turn_leaves_in_one_write);
    tcase_add_test(tcase, cancelled_before_the_first_turn_it_sends_and_dials_nothing);
    tcase_add_test(tcase, an_empty_stream_ends_in_the_write_of_its_headers);
    tcase_add_test(tcase, a_closed_channel_starts_nothing);
    tcase_add_test(tcase, metadata_beyond_a_header_block_is_refused_with_both_sizes);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_start", call_start_suite)
