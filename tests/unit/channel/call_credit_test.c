/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_receive.c: credit for the server, as the application takes (BEHAVIOUR 2.15).
 */
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a;
static uint8_t block[1024 * 1024];

static struct peer *begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    told_start(&rig, &a, NULL);
    rig_settle(&rig);
    return rig_peer(&rig, 0);
}

static void end(void)
{
    rig_fini(&rig);
    server_fini(&server);
}

START_TEST(credit_follows_what_the_application_takes)
{
    struct peer *peer = begin();
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    for (int i = 0; i < 10; i++) {
        server_send(peer, 1, block, 20 * 1024);
        rig_settle(&rig);
    }
    ck_assert_uint_eq(server_credited(peer, 1), 0);
    ck_assert_uint_gt(server_credited(peer, 0),
                      0); /* a stream nobody reads starves no other (scenario 253) */
    lull_call_resume(a.handle);
    rig_settle(&rig);
    ck_assert_uint_eq(a.messages, 10);
    /* Updates come in half-window steps. */
    ck_assert_uint_ge(server_credited(peer, 1), 128 * 1024);
    end();
}
END_TEST

/* scenario 254 */
START_TEST(a_message_larger_than_the_window_arrives)
{
    struct peer *peer = begin();
    size_t sent = 5;
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    peer_frame(peer, FRAME_DATA, 0, 1, "\0\0\x10\0\0", 5); /* 1 MiB */
    for (int rounds = 0; sent < 1024 * 1024 + 5; rounds++) {
        while (sent < 1024 * 1024 + 5 && sent + 16384 <= 256 * 1024 + server_credited(peer, 1)) {
            size_t left = 1024 * 1024 + 5 - sent;
            size_t part = left < 16384 ? left : 16384;
            peer_frame(peer, FRAME_DATA, 0, 1, block, part);
            sent += part;
            rig_settle(&rig);
        }
        ck_assert_int_lt(rounds, 100);
        rig_settle(&rig);
    }
    lull_call_resume(a.handle);
    rig_settle(&rig);
    ck_assert_uint_eq(a.messages, 1);
    ck_assert_uint_eq(a.bytes, 1024 * 1024);
    end();
}
END_TEST

/* One window, and the message that began in it: then the server has to wait, whatever it has to say. */
START_TEST(a_paused_call_holds_no_more_than_a_window)
{
    struct peer *peer = begin();
    size_t sent = 0;
    lull_call_pause(a.handle);
    server_headers(peer, 1);
    while (sent + 1029 <= 256 * 1024 + server_credited(peer, 1)) {
        server_send(peer, 1, block, 1024);
        sent += 1029;
        rig_settle(&rig);
        ck_assert_uint_lt(sent, 600 * 1024);
    }
    ck_assert_uint_le(sent, 256 * 1024);
    ck_assert_str_eq(a.order, "H");
    lull_call_resume(a.handle);
    rig_settle(&rig);
    ck_assert_uint_eq(a.messages * 1029, sent);
    ck_assert_uint_ge(server_credited(peer, 1), sent / 2);
    end();
}
END_TEST

static Suite *call_credit_suite(void)
{
    Suite *suite = suite_create("call_credit");
    TCase *tcase = tcase_create("call_credit");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, credit_follows_what_the_application_takes);
    tcase_add_test(tcase, a_message_larger_than_the_window_arrives);
    tcase_add_test(tcase, a_paused_call_holds_no_more_than_a_window);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_credit", call_credit_suite)
