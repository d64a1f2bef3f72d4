/* SPDX-License-Identifier: MIT */
/*
 * Calls and channels in the hands of threads that do not drive (src/channel/call_outside.c, channel_outside.c). The rig's loop is a
 * host's, so such a thread never gets into the context: all that it does goes through the inbox. Most threads here are joined before
 * the turn, so that each test has one order; the storm at the end has none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct rig_call call;
static struct told a;
static uint8_t block[40 * 1024];

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    memset(&call, 0, sizeof(call));
    memset(&a, 0, sizeof(a));
}

static void begin_stream(void)
{
    begin();
    server_init(&rig, &server);
    rig_open(&rig);
}

static void end_stream(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

/* Runs it to its end on another thread. */
static void elsewhere(void *(*fn)(void *arg), void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static const char *script;

static void elsewhere_with(void *(*fn)(void *arg), const char *text)
{
    script = text;
    elsewhere(fn, NULL);
}

/* ---- starts */

static void *start_unary(void *arg)
{
    rig_call_with(&rig, arg, LULL_SECOND, false);
    return NULL;
}

static void *drop_handle(void *arg)
{
    struct rig_call *dropped = arg;
    lull_call_unref(dropped->handle);
    dropped->handle = NULL;
    return NULL;
}

START_TEST(a_start_from_another_thread_is_one_submit_and_comes_to_the_same)
{
    begin();
    rig_open(&rig);
    elsewhere(start_unary, &call);
    ck_assert_uint_eq(call.done, 0);
    ck_assert_uint_eq(rig_counters(&rig).calls_started, 0);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_str_eq(call.reply, "hello");
    struct lull_counters counters = rig_counters(&rig);
    ck_assert_uint_eq(counters.submits, 1);
    ck_assert_uint_eq(counters.calls_started, 1);
    ck_assert_uint_eq(rig.channel->waiting_calls, 0);
    ck_assert_uint_eq(rig.channel->starting_calls, 0);
    ck_assert_uint_eq(lull_idle_calls(&rig.channel->idle), 0);
    rig_fini(&rig);
}
END_TEST

static uint64_t calls_claimed(void)
{
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    lull_recycler_stats(rig.channel->recycler, &stats);
    return stats.claims;
}

/* RULINGS 26: the pool of calls is not for threads that are not in context. */
START_TEST(it_asks_the_allocator_where_one_in_context_claims)
{
    begin();
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_settle(&rig);
    ck_assert_uint_eq(calls_claimed(), 1);
    elsewhere(start_unary, &call);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_uint_eq(calls_claimed(), 1);
    rig_fini(&rig);
}
END_TEST

static int start_rc;

static unsigned ends;

static void count_end(struct lull_call *ended, const struct lull_unary_result *result, void *ctx)
{
    (void)ended;
    (void)result;
    (void)ctx;
    ends++;
}

static void *start_with_metadata(void *arg)
{
    (void)arg;
    struct lull_call_options options;
    struct lull_metadatum item = {.key = "k", .key_len = 1, .value = "v", .value_len = 1};
    lull_call_options_init(&options, "/a/b");
    options.metadata.items = &item;
    options.metadata.count = 1;
    start_rc = lull_call_unary(rig.channel, &options, lull_slice_static(NULL, 0), count_end, NULL, NULL, NULL);
    return NULL;
}

START_TEST(a_start_without_memory_is_refused_and_leaves_nothing)
{
    uint64_t fails = 0;
    begin();
    rig_open(&rig);
    do {
        uint64_t live = rig.memory.live_bytes;
        rig.memory.fail_at = rig.memory.asked + ++fails;
        elsewhere(start_with_metadata, NULL);
        ck_assert(start_rc == LULL_OK || rig.memory.live_bytes == live);
    } while (start_rc == LULL_RC_NOMEM);
    ck_assert_int_eq(start_rc, LULL_OK);
    ck_assert_uint_gt(fails, 3); /* the call, its arena, its method, its metadata */
    rig.memory.fail_at = 0;
    lull_channel_close(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.channel->starting_calls, 0);
    ck_assert_uint_eq(ends, 1);
    rig_fini(&rig);
}
END_TEST

static void *start_and_cancel(void *arg)
{
    rig_call_with(&rig, arg, LULL_SECOND, false);
    lull_call_cancel(call.handle);
    lull_call_cancel(call.handle);
    return NULL;
}

/* scenario 198 */
START_TEST(cancelled_behind_its_start_it_dials_nothing_and_needs_no_second_node)
{
    begin();
    rig_open(&rig);
    elsewhere(start_and_cancel, &call);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(rig.attempt_count, 0);
    ck_assert_uint_eq(rig_counters(&rig).submits, 1);
    rig_fini(&rig);
}
END_TEST

static void *cancel_twice(void *arg)
{
    lull_call_cancel(arg);
    lull_call_cancel(arg);
    return NULL;
}

START_TEST(cancels_of_a_call_on_the_wire_are_one_submit_and_one_reset)
{
    begin();
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    uint64_t submits = rig_counters(&rig).submits;
    elsewhere(cancel_twice, call.handle);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_CANCELLED, 0);
    ck_assert_uint_eq(rig_counters(&rig).submits, submits + 1);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_RST), 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(the_last_handle_may_go_elsewhere)
{
    begin();
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    lull_call_ref(call.handle);
    struct rig_call kept = call;
    rig_settle(&rig);
    elsewhere(drop_handle, &kept);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.channel->holds, 0);
    rig_fini(&rig);
}
END_TEST

/* ---- streams */

static void *start_stream(void *arg)
{
    (void)arg;
    told_start(&rig, &a, NULL);
    told_send(&a, "1");
    told_send(&a, "2");
    told_send(&a, "3");
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    ck_assert_int_eq(lull_call_send(a.handle, lull_slice_static("4", 1)), LULL_RC_STATE);
    return NULL;
}

static char seen[64];

static void note_message(struct peer *peer, struct server_stream *stream, const uint8_t *bytes,
                         size_t len)
{
    (void)peer;
    (void)stream;
    strncat(seen, (const char *)bytes, len);
}

static void answer_end(struct peer *peer, struct server_stream *stream)
{
    server_headers(peer, stream->id);
    server_send(peer, stream->id, seen, strlen(seen));
    peer_trailers(peer, stream->id, "0");
}

START_TEST(a_whole_stream_from_another_thread_is_one_submit_in_order)
{
    begin_stream();
    seen[0] = '\0';
    server.on_message = note_message;
    server.on_end = answer_end;
    elsewhere(start_stream, NULL);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    ck_assert_str_eq(a.text, "123,");
    ck_assert_uint_eq(rig_counters(&rig).submits, 1);
    end_stream();
}
END_TEST

static void *send_two(void *arg)
{
    char one[2] = {script[0], '\0'};
    char two[2] = {script[1], '\0'};
    (void)arg;
    told_send(&a, one);
    told_send(&a, two);
    return NULL;
}

/* Whoever comes next in context takes over first. */
START_TEST(what_was_sent_elsewhere_before_is_sent_before)
{
    begin_stream();
    seen[0] = '\0';
    server.on_message = note_message;
    server.on_end = answer_end;
    told_start(&rig, &a, NULL);
    elsewhere_with(send_two, "ab");
    told_send(&a, "c");
    elsewhere_with(send_two, "de");
    rig_settle(&rig);
    elsewhere_with(send_two, "fg");
    told_send(&a, "h");
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_OK);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMC");
    ck_assert_str_eq(a.text, "abcdefgh,");
    end_stream();
}
END_TEST

static int last_rc;
static unsigned taken;

static void *send_until_told_to_wait(void *arg)
{
    (void)arg;
    for (taken = 0; taken < 10; taken++) {
        last_rc = lull_call_send(a.handle, lull_slice_static(block, sizeof(block)));
        if (last_rc != LULL_OK) {
            return NULL;
        }
    }
    return NULL;
}

START_TEST(a_full_queue_is_told_elsewhere_as_well_and_room_follows)
{
    begin_stream();
    server.credits = true;
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    elsewhere(send_until_told_to_wait, NULL);
    ck_assert_int_eq(last_rc, LULL_RC_AGAIN);
    ck_assert_uint_eq(taken, 2); /* 64 KiB and a message at most */
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "W");
    /* What is queued elsewhere counts: nothing of these is in context yet. */
    elsewhere(send_until_told_to_wait, NULL);
    ck_assert_uint_eq(taken, 2);
    elsewhere(send_until_told_to_wait, NULL);
    ck_assert_uint_eq(taken, 0);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "WW");
    ck_assert_uint_eq(server.streams[0].messages, 4);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "WWC");
    end_stream();
}
END_TEST

static void *send_one(void *arg)
{
    last_rc = lull_call_send(arg, lull_slice_static("late", 4));
    return NULL;
}

START_TEST(after_the_end_it_is_closed_elsewhere_and_a_late_message_is_dropped)
{
    begin_stream();
    a.keeps_handle = true;
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    elsewhere(send_one, a.handle);
    ck_assert_int_eq(last_rc, LULL_OK);
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_OK);
    lull_call_cancel(a.handle);
    lull_executor_leave(rig.executor);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "C");
    elsewhere(send_one, a.handle);
    ck_assert_int_eq(last_rc, LULL_RC_CLOSED);
    ck_assert_int_eq(lull_call_half_close(a.handle), LULL_RC_CLOSED);
    lull_call_unref(a.handle);
    end_stream();
}
END_TEST

static void *pause_and_resume(void *arg)
{
    const char *orders = script;
    (void)arg;
    for (; *orders != '\0'; orders++) {
        (*orders == 'p' ? lull_call_pause : lull_call_resume)(a.handle);
    }
    return NULL;
}

static void answer_each(struct peer *peer, struct server_stream *stream, const uint8_t *bytes,
                        size_t len)
{
    server_headers(peer, stream->id);
    server_send(peer, stream->id, bytes, len);
}

START_TEST(of_pauses_and_resumes_elsewhere_the_last_one_counts)
{
    begin_stream();
    server.on_message = answer_each;
    told_start(&rig, &a, NULL);
    elsewhere_with(pause_and_resume, "prp");
    told_send(&a, "x");
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "H");
    elsewhere_with(pause_and_resume, "pr");
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "HM");
    /* One on its way is overtaken by one that is carried out at once. */
    elsewhere_with(pause_and_resume, "p");
    lull_call_resume(a.handle);
    rig_settle(&rig);
    ck_assert(!a.handle->receiving.is_paused);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "HMC");
    end_stream();
}
END_TEST

/* ---- the channel */

static void *close_and_start(void *arg)
{
    (void)arg;
    struct lull_call_options options;
    lull_call_options_init(&options, "/a/b");
    lull_channel_close(rig.channel);
    start_rc = lull_call_unary(rig.channel, &options, lull_slice_static(NULL, 0),
                               count_end, NULL, NULL, NULL);
    return NULL;
}

START_TEST(a_close_from_another_thread_is_carried_out_in_the_next_turn)
{
    begin();
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    elsewhere(close_and_start, NULL);
    ck_assert_int_eq(start_rc, LULL_RC_CLOSED);
    ck_assert_uint_eq(call.done, 0);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 0);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_SHUTDOWN);
    rig_fini(&rig);
}
END_TEST

static void *unref_channel(void *arg)
{
    lull_channel_unref(arg);
    return NULL;
}

START_TEST(the_last_reference_may_go_elsewhere)
{
    begin();
    rig_open(&rig);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    lull_channel_ref(rig.channel);
    elsewhere(unref_channel, rig.channel);
    elsewhere(unref_channel, rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    rig_fini(&rig);
}
END_TEST

static void *order_idle(void *arg)
{
    (void)arg;
    (void)lull_channel_state(rig.channel, true);
    lull_channel_enter_idle(rig.channel);
    return NULL;
}

static void *order_connect(void *arg)
{
    (void)arg;
    lull_channel_enter_idle(rig.channel);
    (void)lull_channel_state(rig.channel, true);
    return NULL;
}

START_TEST(of_orders_that_contradict_each_other_the_last_one_counts)
{
    begin();
    rig_open(&rig);
    elsewhere(order_idle, NULL);
    rig_settle(&rig);
    ck_assert_uint_eq(rig.attempt_count, 0);
    elsewhere(order_connect, NULL);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

/* ---- all at once */

#define STORMERS 4

static unsigned storm_rounds;
static _Atomic(unsigned) storm_started, storm_finished;
static unsigned storm_done; /* the driving thread's */

static void count_done(struct lull_call *ended, const struct lull_unary_result *result, void *ctx)
{
    (void)ended;
    unsigned *times = ctx;
    ck_assert_uint_eq((*times)++, 0);
    ck_assert(result->status.code == LULL_CODE_OK || result->status.code == LULL_CODE_CANCELLED);
    storm_done++;
}

static unsigned storm_times[STORMERS][2000];

static void *storm(void *arg)
{
    unsigned *times = arg;
    struct lull_call_options options;
    lull_call_options_init(&options, "/a/b");
    for (unsigned i = 0; i < storm_rounds; i++) {
        struct lull_call *handle = NULL;
        if (lull_call_unary(rig.channel, &options, lull_slice_static("x", 1), count_done, &times[i],
                            i % 3 == 0 ? NULL : &handle, NULL) != LULL_OK) {
            break;
        }
        atomic_fetch_add(&storm_started, 1);
        if (i % 3 == 2) {
            lull_call_cancel(handle);
            lull_call_cancel(handle);
        }
        lull_call_unref(handle);
        lull_channel_ref(rig.channel);
        lull_channel_unref(rig.channel);
    }
    atomic_fetch_add(&storm_finished, 1);
    return NULL;
}

START_TEST(each_call_of_a_storm_ends_once)
{
    pthread_t threads[STORMERS];
    storm_rounds = getenv("LULL_TEST_FEWER") != NULL ? 100 : 2000;
    begin();
    rig.limit = 50; /* the peers' pipes are short */
    rig_open(&rig);
    for (size_t i = 0; i < STORMERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, storm, storm_times[i]), 0);
    }
    while (atomic_load(&storm_finished) < STORMERS) {
        rig_settle(&rig);
    }
    for (size_t i = 0; i < STORMERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    rig_settle(&rig);
    ck_assert_uint_eq(storm_started, STORMERS * storm_rounds);
    ck_assert_uint_eq(storm_done, storm_started);
    ck_assert_uint_eq(rig.channel->holds, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *call_outside_suite(void)
{
    Suite *suite = suite_create("call_outside");
    TCase *cases = tcase_create("call_outside");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, a_start_from_another_thread_is_one_submit_and_comes_to_the_same);
    tcase_add_test(cases, it_asks_the_allocator_where_one_in_context_claims);
    tcase_add_test(cases, a_start_without_memory_is_refused_and_leaves_nothing);
    tcase_add_test(cases, cancelled_behind_its_start_it_dials_nothing_and_needs_no_second_node);
    tcase_add_test(cases, cancels_of_a_call_on_the_wire_are_one_submit_and_one_reset);
    tcase_add_test(cases, the_last_handle_may_go_elsewhere);
    tcase_add_test(cases, a_whole_stream_from_another_thread_is_one_submit_in_order);
    tcase_add_test(cases, what_was_sent_elsewhere_before_is_sent_before);
    tcase_add_test(cases, a_full_queue_is_told_elsewhere_as_well_and_room_follows);
    tcase_add_test(cases, after_the_end_it_is_closed_elsewhere_and_a_late_message_is_dropped);
    tcase_add_test(cases, of_pauses_and_resumes_elsewhere_the_last_one_counts);
    tcase_add_test(cases, a_close_from_another_thread_is_carried_out_in_the_next_turn);
    tcase_add_test(cases, the_last_reference_may_go_elsewhere);
    tcase_add_test(cases, of_orders_that_contradict_each_other_the_last_one_counts);
    tcase_add_test(cases, each_call_of_a_storm_ends_once);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("call_outside", call_outside_suite)
