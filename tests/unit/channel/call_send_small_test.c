/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_send.c: a small message behind another one goes in one step (add_message). It is judged, ordered and counted as every
 * other one.
 */
#include <pthread.h>
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a, b;
static char seen[64];
static const uint8_t block[600];

static void note_message(struct peer *peer, struct server_stream *stream, const uint8_t *bytes, size_t len)
{
    (void)peer;
    (void)stream;
    if (len < 10 && strlen(seen) + len + 1 < sizeof(seen)) {
        strncat(seen, (const char *)bytes, len);
    }
}

/* `then` acts from a's first message on: the response has begun, and it is a turn. */
static struct peer *begin(void (*then)(struct told *told, char what))
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    server.on_message = note_message;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(seen, 0, sizeof(seen));
    rig_open(&rig);
    a.then = then;
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    server_headers(rig_peer(&rig, 0), 1);
    server_send(rig_peer(&rig, 0), 1, "go", 2);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

static int send_text(const char *text)
{
    return lull_call_send(a.handle, lull_slice_static(text, strlen(text)));
}

static int send_len(size_t len)
{
    return lull_call_send(a.handle, lull_slice_static(block, len));
}

/* The second one has made room for more: whatever is taken from here on may take the short way. */
static void open_room(void)
{
    ck_assert_int_eq(send_text("1"), LULL_OK);
    ck_assert_int_eq(send_text("2"), LULL_OK);
    ck_assert_uint_gt(a.handle->stream.out.room, 0);
}

static void send_wrong_ones(struct told *told, char what)
{
    struct lull_slice nowhere = {NULL, 1, NULL};
    if (what != 'M') {
        return;
    }
    rig.channel->options.max_send_message_bytes = 10;
    open_room();
    ck_assert_int_eq(send_len(11), LULL_RC_LIMIT);
    ck_assert_int_eq(lull_call_send(told->handle, nowhere), LULL_RC_INVALID);
    ck_assert_int_eq(lull_call_send(told->handle, lull_slice_static(NULL, 0)), LULL_OK);
    ck_assert_int_eq(send_text("3"), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(told->handle), LULL_OK);
    ck_assert_int_eq(send_text("4"), LULL_RC_STATE);
    lull_call_cancel(told->handle);
    ck_assert_int_eq(send_text("5"), LULL_RC_CLOSED);
}

START_TEST(it_is_judged_like_every_other)
{
    (void)begin(send_wrong_ones);
    rig_settle(&rig);
    ck_assert_str_eq(a.order, "HMC");
    end();
}
END_TEST

static void fill(struct told *told, char what)
{
    if (what == 'M') {
        while (send_len(60) == LULL_OK) {
            told->tag++;
        }
        ck_assert_int_eq(send_len(60), LULL_RC_AGAIN);
    }
}

START_TEST(the_queue_is_full_at_64_kib_of_small_ones_too)
{
    (void)begin(fill);
    rig_settle(&rig);
    ck_assert_uint_eq(a.tag, 1009);
    ck_assert_uint_eq(server.streams[0].messages, 1009);
    ck_assert_str_eq(a.order, "HMW");
    end();
}
END_TEST

static int sent_there;

static void *send_there(void *text)
{
    sent_there = send_text(text);
    return NULL;
}

static void send_from_two_threads(struct told *told, char what)
{
    pthread_t thread;
    static char text[] = "3";
    (void)told;
    if (what != 'M') {
        return;
    }
    open_room();
    ck_assert_int_eq(pthread_create(&thread, NULL, send_there, text), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(sent_there, LULL_OK);
    ck_assert_int_eq(send_text("4"), LULL_OK);
    ck_assert_int_eq(send_text("5"), LULL_OK);
}

START_TEST(what_another_thread_sent_before_goes_before)
{
    (void)begin(send_from_two_threads);
    rig_settle(&rig);
    ck_assert_str_eq(seen, "12345");
    end();
}
END_TEST

static void send_all_kinds(struct told *told, char what)
{
    (void)told;
    if (what != 'M') {
        return;
    }
    open_room();
    ck_assert_int_eq(send_len(513), LULL_OK); /* in its own memory, behind which no pack is open */
    ck_assert_int_eq(send_text("3"), LULL_OK);
    ck_assert_int_eq(send_text(""), LULL_OK);
    ck_assert_int_eq(send_text("4"), LULL_OK);
}

START_TEST(among_larger_and_empty_ones_it_keeps_its_place)
{
    (void)begin(send_all_kinds);
    rig_settle(&rig);
    ck_assert_str_eq(seen, "1234");
    ck_assert_uint_eq(server.streams[0].messages, 6);
    ck_assert_uint_eq(server.streams[0].total, 4 + 513);
    end();
}
END_TEST

/* b's message and a's end came in one read; a's queue waits for a window, with room in its last pack. */
static void send_on_a(struct told *told, char what)
{
    (void)told;
    if (what == 'M') {
        ck_assert_uint_eq(a.closed, 0);
        ck_assert_int_eq(send_text("late"), LULL_RC_CLOSED);
    }
}

START_TEST(behind_an_end_that_has_just_come_it_is_refused)
{
    struct peer *peer = begin(NULL);
    const bool by_trailers = _i == 1;
    rig_settle(&rig);
    server.credits = false;
    for (int i = 0; i < 3; i++) {
        while (send_len(60) == LULL_OK) {
        }
        rig_settle(&rig);
    }
    ck_assert_uint_gt(h2_stream_queued_bytes(&a.handle->stream), 0);
    b.then = send_on_a;
    told_start(&rig, &b, NULL);
    rig_settle(&rig);
    server_headers(peer, 3);
    rig_settle(&rig);
    server_send(peer, 3, "m", 1);
    if (by_trailers) {
        peer_trailers(peer, 1, "9");
    } else {
        peer_rst(peer, 1, 2);
    }
    rig_settle(&rig);
    ck_assert_uint_eq(a.closed, 1);
    ck_assert_int_eq(a.code, by_trailers ? LULL_CODE_FAILED_PRECONDITION : LULL_CODE_INTERNAL);
    ck_assert_str_eq(b.order, "HM");
    end();
}
END_TEST

static Suite *call_send_small_suite(void)
{
    Suite *suite = suite_create("call_send_small");
    TCase *tcase = tcase_create("call_send_small");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, it_is_judged_like_every_other);
    tcase_add_test(tcase, the_queue_is_full_at_64_kib_of_small_ones_too);
    tcase_add_test(tcase, what_another_thread_sent_before_goes_before);
    tcase_add_test(tcase, among_larger_and_empty_ones_it_keeps_its_place);
    tcase_add_loop_test(tcase, behind_an_end_that_has_just_come_it_is_refused, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_send_small", call_send_small_suite)
