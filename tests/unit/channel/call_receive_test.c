/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_receive.c: what is told, in which order, and what a pause holds back.
 */
#include "channel/call_receive.h"

#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a, b;

static struct peer *begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

START_TEST(headers_then_messages_then_the_end)
{
    struct peer *peer = begin();
    peer_headers(peer, 1, 0, ":status", "200", "content-type", "application/grpc", "x-a", "1",
                 "x-b", "2", NULL);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "H"); /* not held back until there is a message */
    ck_assert_uint_eq(a.headers, 2);
    server_send(peer, 1, "one", 3);
    server_send(peer, 1, "", 0);
    server_send(peer, 1, "two", 3);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "HMMM");
    ck_assert_str_eq(a.text, "one,,two,");
    peer_headers(peer, 1, FLAG_END_STREAM, "grpc-status", "0", "x-t", "3", NULL);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMMMC");
    ck_assert_uint_eq(a.trailers, 1);
    end();
}
END_TEST

/* All in one read, so that everything is there when the task runs. */
START_TEST(what_came_together_is_told_in_order)
{
    struct peer *peer = begin();
    server_headers(peer, 1);
    server_send(peer, 1, "one", 3);
    server_send(peer, 1, "two", 3);
    peer_trailers(peer, 1, "7");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_PERMISSION_DENIED, "HMMC");
    end();
}
END_TEST

START_TEST(a_trailers_only_response_has_no_headers)
{
    struct peer *peer = begin();
    peer_headers(peer, 1, FLAG_END_STREAM, ":status", "200", "content-type", "application/grpc",
                 "grpc-status", "12", "x-t", "1", NULL);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_UNIMPLEMENTED, "C");
    ck_assert_uint_eq(a.trailers, 1);
    end();
}
END_TEST

START_TEST(a_page_is_not_told_as_headers)
{
    struct peer *peer = begin();
    peer_headers(peer, 1, 0, ":status", "502", "content-type", "text/html", NULL);
    peer_frame(peer, FRAME_DATA, FLAG_END_STREAM, 1, "<h1>bad</h1>", 12);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_UNAVAILABLE, "C");
    told_expect_text(&a, "<h1>bad</h1>");
    end();
}
END_TEST

/* A stream may end OK with any number of messages; only a unary call counts them. */
START_TEST(no_message_under_ok_is_fine)
{
    struct peer *peer = begin();
    server_headers(peer, 1);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HC");
    end();
}
END_TEST

START_TEST(a_message_cut_under_ok_is_no_ok)
{
    struct peer *peer = begin();
    server_headers(peer, 1);
    server_send(peer, 1, "one", 3);
    peer_frame(peer, FRAME_DATA, 0, 1, "\0\0\0\0\11ha", 7);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_INTERNAL, "HMC");
    told_expect_text(&a, "middle of a message");
    end();
}
END_TEST

/* scenario 272 */
START_TEST(half_a_message_before_a_reset_is_never_told)
{
    struct peer *peer = begin();
    server_headers(peer, 1);
    server_send(peer, 1, "whole", 5);
    peer_frame(peer, FRAME_DATA, 0, 1, "\0\0\0\0\11ha", 7);
    peer_rst(peer, 1, 0);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_INTERNAL, "HMC");
    told_expect_text(&a, "NO_ERROR");
    ck_assert_str_eq(a.text, "whole,");
    end();
}
END_TEST

START_TEST(a_lost_connection_comes_behind_its_messages)
{
    struct peer *peer = begin();
    server_headers(peer, 1);
    server_send(peer, 1, "last words", 10);
    peer_close(peer);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_UNAVAILABLE, "HMC");
    ck_assert_str_eq(a.text, "last words,");
    end();
}
END_TEST

/* ---- turns for everybody */

static size_t told_of_a; /* when b was told of its message */

static void look_at_a(struct told *told, char what)
{
    (void)told;
    if (what == 'M') {
        told_of_a = a.messages;
    }
}

START_TEST(many_messages_of_one_call_do_not_hold_up_another)
{
    struct peer *peer = begin();
    b.then = look_at_a;
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    server_headers(peer, 1);
    server_headers(peer, 3);
    rig_settle(&rig);
    for (int i = 0; i < 500; i++) {
        server_send(peer, 1, "m", 1);
    }
    server_send(peer, 3, "m", 1);
    rig_settle(&rig);
    ck_assert_uint_eq(told_of_a, CALL_RECEIVE_BURST);
    ck_assert_uint_eq(a.messages, 500);
    end();
}
END_TEST

/* ---- pausing */

static void pause_at_first(struct told *told, char what)
{
    if (what == 'M' && told->messages == 1) {
        lull_call_pause(told->handle);
    }
}

START_TEST(a_pause_holds_messages_and_the_end_behind_them)
{
    struct peer *peer = begin();
    a.then = pause_at_first;
    server_headers(peer, 1);
    server_send(peer, 1, "one", 3);
    server_send(peer, 1, "two", 3);
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "HM");
    rig_advance(&rig, 3600 * LULL_SECOND);
    ck_assert_str_eq(a.order, "HM");
    ck_assert_int_eq(lull_call_send(a.handle, lull_slice_static("", 0)), LULL_RC_CLOSED);
    lull_call_resume(a.handle);
    ck_assert_str_eq(a.order, "HM"); /* never inline */
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HMMC");
    end();
}
END_TEST

START_TEST(a_pause_holds_neither_headers_nor_an_end_without_messages)
{
    struct peer *peer = begin();
    lull_call_pause(a.handle);
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "H");
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, "HC");
    end();
}
END_TEST

static void pause_and_resume(struct told *told, char what)
{
    if (what == 'M' && told->closed == 0) {
        lull_call_pause(told->handle);
        lull_call_resume(told->handle);
    }
}

START_TEST(a_pause_that_ends_at_once_loses_nothing)
{
    struct peer *peer = begin();
    a.then = pause_and_resume;
    server_headers(peer, 1);
    for (int i = 0; i < 100; i++) {
        server_send(peer, 1, "m", 1);
    }
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_OK, NULL);
    ck_assert_uint_eq(a.messages, 100);
    end();
}
END_TEST

/* RULINGS 19, scenario 202 */
START_TEST(a_status_that_came_stands_though_the_deadline_passes_unread)
{
    struct peer *peer = begin();
    told_start_with(&rig, &b, LULL_SECOND, 0);
    rig_settle(&rig);
    lull_call_pause(b.handle);
    server_headers(peer, 3);
    server_send(peer, 3, "unread", 6);
    peer_trailers(peer, 3, "0");
    rig_settle(&rig);
    ck_assert_str_eq(b.order, "H");
    rig_advance(&rig, 5 * LULL_SECOND);
    ck_assert_str_eq(b.order, "H");
    lull_call_resume(b.handle);
    rig_settle(&rig);
    told_expect(&b, LULL_CODE_OK, "HMC");
    ck_assert_int_eq(b.at_ns, 5 * LULL_SECOND);
    end();
}
END_TEST

/* The status stands for a cancel too; but who cancels wants no more messages. */
START_TEST(a_cancel_after_the_status_drops_messages_and_keeps_the_status)
{
    struct peer *peer = begin();
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    server_send(peer, 1, "unread", 6);
    peer_trailers(peer, 1, "5");
    rig_settle(&rig);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_NOT_FOUND, "HC");
    end();
}
END_TEST

START_TEST(closing_the_channel_does_the_same)
{
    struct peer *peer = begin();
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    server_send(peer, 1, "unread", 6);
    peer_trailers(peer, 1, "5");
    rig_settle(&rig);
    lull_channel_close(rig.channel);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_NOT_FOUND, "HC");
    end();
}
END_TEST

START_TEST(our_own_ends_drop_what_was_not_told)
{
    struct peer *peer = begin();
    told_start_with(&rig, &b, LULL_SECOND, 0);
    rig_settle(&rig);
    lull_call_pause(a.handle);
    lull_call_pause(b.handle);
    for (uint32_t id = 1; id <= 3; id += 2) {
        server_headers(peer, id);
        server_send(peer, id, "unread", 6);
    }
    rig_settle(&rig);
    lull_call_cancel(a.handle);
    rig_settle(&rig);
    told_expect(&a, LULL_CODE_CANCELLED, "HC");
    rig_advance(&rig, LULL_SECOND);
    told_expect(&b, LULL_CODE_DEADLINE_EXCEEDED, "HC");
    ck_assert_uint_eq(peer_count(peer, FRAME_RST), 2);
    end();
}
END_TEST

/* ---- memory */

static struct lull_slice kept;

static void keep(struct lull_call *call, struct lull_slice message, void *ctx)
{
    (void)call;
    (void)ctx;
    kept = lull_slice_ref(message);
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    *(int *)ctx += 1 + 100 * (int)status->code;
}

START_TEST(a_kept_message_outlives_everything)
{
    struct lull_call_handler handler = {
        .size = sizeof(handler), .on_message = keep, .on_closed = on_closed};
    struct lull_call_options options;
    int closed = 0;
    struct peer *peer = begin();
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(lull_call_start(rig.channel, &options, &handler, &closed, NULL, NULL),
                     LULL_OK);
    rig_settle(&rig);
    peer_answer(peer, 3, "kept");
    rig_settle(&rig);
    ck_assert_int_eq(closed, 1);
    lull_channel_close(rig.channel);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_uint_eq(kept.len, 4);
    ck_assert_mem_eq(kept.data, "kept", 4);
    lull_slice_unref(kept);
    end();
}
END_TEST

/* Ten messages come in one read, headers and trailers with them, and the n-th block from here on is not to be had. */
static bool ten_without_block(uint64_t n, bool *has_gap_been_met)
{
    static const char all[] = "0,1,2,3,4,5,6,7,8,9,";
    struct peer *peer = begin();
    bool was_ok;
    peer_headers(peer, 1, 0, ":status", "200", "content-type", "application/grpc", "x-a", "1",
                 NULL);
    for (int i = 0; i < 10; i++) {
        char digit = (char)('0' + i);
        server_send(peer, 1, &digit, 1);
    }
    peer_headers(peer, 1, FLAG_END_STREAM, "grpc-status", "0", "x-t", "3", NULL);
    rig.memory.fail_at = rig.memory.asked + n;
    rig_settle(&rig);
    was_ok = rig.memory.asked < rig.memory.fail_at;
    rig.memory.fail_at = 0;
    rig_advance(&rig, LULL_SECOND);
    ck_assert_int_eq(strncmp(a.text, all, strlen(a.text)), 0);
    if (a.code == LULL_CODE_OK) {
        ck_assert_str_eq(a.text, all);
        ck_assert_uint_eq(a.headers, 1);
        ck_assert_uint_eq(a.trailers, 1);
    } else if (a.code == LULL_CODE_RESOURCE_EXHAUSTED) {
        told_expect_text(&a, "no memory for ");
        *has_gap_been_met = *has_gap_been_met || strstr(a.line, "no memory for a message") != NULL;
    }
    end();
    return was_ok;
}

START_TEST(what_is_lost_for_want_of_memory_is_the_end_and_nothing_behind_it_is_told)
{
    bool has_gap_been_met = false;
    for (uint64_t n = 1; !ten_without_block(n, &has_gap_been_met); n++) {
        ck_assert_uint_lt(n, 500);
    }
    ck_assert(has_gap_been_met);
}
END_TEST

static void one_try(uint64_t fail_after, bool *was_ok)
{
    struct lull_call_handler handler = {.size = sizeof(handler), .on_closed = on_closed};
    struct rig_step step = {.what = RIG_ACCEPT};
    struct lull_call_options options;
    struct lull_call *call;
    int closed = 0;
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    lull_call_options_init(&options, "/a/b");
    options.timeout_ns = 10 * LULL_SECOND;
    options.read_timeout_ns = LULL_SECOND;
    rig.memory.fail_at = rig.memory.asked + fail_after;
    int rc = lull_call_start(rig.channel, &options, &handler, &closed, &call, NULL);
    if (rc == LULL_OK) {
        for (int i = 0; i < 3; i++) {
            int sent = lull_call_send(call, lull_slice_static("m", 1));
            ck_assert(sent == LULL_OK || sent == LULL_RC_NOMEM || sent == LULL_RC_CLOSED);
            rig_settle(&rig);
        }
        if (rig.attempt_count > 0 && rig.attempts[0].peer != NULL && server.count > 0) {
            server_headers(rig_peer(&rig, 0), 1);
            server_send(rig_peer(&rig, 0), 1, "x", 1);
            server_send(rig_peer(&rig, 0), 1, "y", 1);
            peer_trailers(rig_peer(&rig, 0), 1, "0");
            rig_settle(&rig);
        }
        *was_ok = rig.memory.asked < rig.memory.fail_at;
        rig.memory.fail_at = 0;
        rig_advance(&rig, 20 * LULL_SECOND);
        lull_call_unref(call);
        ck_assert_msg(closed % 100 == 1, "allocation %llu: closed %d",
                      (unsigned long long)fail_after, closed);
        ck_assert(!*was_ok || closed == 1);
    } else {
        ck_assert_int_eq(rc, LULL_RC_NOMEM);
    }
    rig.memory.fail_at = 0;
    end();
}

START_TEST(no_memory_ends_in_a_code_or_a_status)
{
    bool was_ok = false;
    for (uint64_t i = 1; !was_ok; i++) {
        one_try(i, &was_ok);
        ck_assert_uint_lt(i, 500);
    }
}
END_TEST

static Suite *call_receive_suite(void)
{
    Suite *suite = suite_create("call_receive");
    TCase *tcase = tcase_create("call_receive");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, headers_then_messages_then_the_end);
    tcase_add_test(tcase, what_came_together_is_told_in_order);
    tcase_add_test(tcase, a_trailers_only_response_has_no_headers);
    tcase_add_test(tcase, a_page_is_not_told_as_headers);
    tcase_add_test(tcase, no_message_under_ok_is_fine);
    tcase_add_test(tcase, a_message_cut_under_ok_is_no_ok);
    tcase_add_test(tcase, half_a_message_before_a_reset_is_never_told);
    tcase_add_test(tcase, a_lost_connection_comes_behind_its_messages);
    tcase_add_test(tcase, many_messages_of_one_call_do_not_hold_up_another);
    tcase_add_test(tcase, a_pause_holds_messages_and_the_end_behind_them);
    tcase_add_test(tcase, a_pause_holds_neither_headers_nor_an_end_without_messages);
    tcase_add_test(tcase, a_pause_that_ends_at_once_loses_nothing);
    tcase_add_test(tcase, a_status_that_came_stands_though_the_deadline_passes_unread);
    tcase_add_test(tcase, a_cancel_after_the_status_drops_messages_and_keeps_the_status);
    tcase_add_test(tcase, closing_the_channel_does_the_same);
    tcase_add_test(tcase, our_own_ends_drop_what_was_not_told);
    tcase_add_test(tcase, a_kept_message_outlives_everything);
    tcase_add_test(tcase, what_is_lost_for_want_of_memory_is_the_end_and_nothing_behind_it_is_told);
    tcase_add_test(tcase, no_memory_ends_in_a_code_or_a_status);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_receive", call_receive_suite)
