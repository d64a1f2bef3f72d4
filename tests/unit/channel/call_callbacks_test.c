/* SPDX-License-Identifier: MIT */
/*
 * Everything is legal in every callback: each action in each of the four, and what comes of it.
 */
#include <string.h>

#include "channel/call.h"
#include "tests/support/check_main.h"
#include "told.h"

static struct rig rig;
static struct server server;
static struct told a, other, extra;
static uint8_t block[1024];

enum action {
    DO_CANCEL,
    DO_CANCEL_TWICE,
    DO_PAUSE,
    DO_PAUSE_RESUME,
    DO_SEND,
    DO_HALF_CLOSE,
    DO_UNREF,
    DO_CANCEL_OTHER,
    DO_START,
    DO_ENTER_IDLE,
    DO_DROP_CHANNEL,
    DO_CLOSE_CHANNEL,
    ACTIONS
};

static const char where[] = "HMWC";
static enum action action;
static char place;
static bool has_acted;

static void act_on_call(struct told *told)
{
    switch (action) {
    case DO_CANCEL_TWICE:
        lull_call_cancel(told->handle);
        lull_call_cancel(told->handle);
        break;
    case DO_CANCEL:
        lull_call_cancel(told->handle);
        break;
    case DO_PAUSE:
        lull_call_pause(told->handle);
        break;
    case DO_PAUSE_RESUME:
        lull_call_pause(told->handle);
        lull_call_resume(told->handle);
        break;
    case DO_SEND:
        (void)lull_call_send(told->handle, lull_slice_static("x", 1));
        break;
    case DO_HALF_CLOSE:
        (void)lull_call_half_close(told->handle);
        break;
    default:
        lull_call_unref(told->handle);
        told->handle = NULL;
        break;
    }
}

static void act_elsewhere(void)
{
    switch (action) {
    case DO_CANCEL_OTHER:
        lull_call_cancel(other.handle);
        break;
    case DO_START:
        told_start(&rig, &extra, NULL);
        told_send(&extra, "from a callback");
        break;
    case DO_ENTER_IDLE:
        lull_channel_enter_idle(rig.channel);
        break;
    case DO_DROP_CHANNEL:
        lull_channel_unref(rig.channel);
        rig.channel = NULL;
        break;
    default:
        lull_channel_close(rig.channel);
        break;
    }
}

static void maybe_act(struct told *told, char what)
{
    if (what != place || has_acted) {
        return;
    }
    has_acted = true;
    if (action <= DO_UNREF) {
        act_on_call(told);
    } else {
        act_elsewhere();
    }
}

/* A call that is told W, H, M, M, C, in this order and in a turn each; and another that is quiet. */
static void run(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    server_init(&rig, &server);
    server.credits = false;
    rig_open(&rig);
    memset(&a, 0, sizeof(a));
    memset(&other, 0, sizeof(other));
    memset(&extra, 0, sizeof(extra));
    has_acted = false;
    a.then = maybe_act;
    told_start(&rig, &a, NULL);
    told_start(&rig, &other, NULL);
    rig_settle(&rig);
    while (lull_call_send(a.handle, lull_slice_static(block, sizeof(block))) == LULL_OK) {
        ck_assert_uint_eq(a.closed, 0);
    }
    rig_settle(&rig);
    struct peer *peer = rig_peer(&rig, 0);
    server_credit(peer, 1, 65536);
    rig_settle(&rig);
    server_headers(peer, 1);
    rig_settle(&rig);
    for (int i = 0; i < 2; i++) {
        server_send(peer, 1, "m", 1);
        rig_settle(&rig);
    }
    peer_trailers(peer, 1, "0");
    rig_settle(&rig);
}

static enum lull_code expected_code(void)
{
    if (place == 'C') {
        return LULL_CODE_OK;
    }
    switch (action) {
    case DO_CANCEL:
    case DO_CANCEL_TWICE:
        return LULL_CODE_CANCELLED;
    case DO_CLOSE_CHANNEL:
        return LULL_CODE_UNAVAILABLE;
    default:
        return LULL_CODE_OK;
    }
}

START_TEST(any_action_in_any_callback_ends_in_one_end)
{
    action = (enum action)(_i / 4);
    place = where[_i % 4];
    run();
    ck_assert_msg(has_acted, "%c was never told: %s", place, a.order);
    if (action == DO_PAUSE && place != 'C') {
        ck_assert_uint_eq(a.closed, place == 'M' || place == 'H' || place == 'W' ? 0u : 1u);
        lull_call_resume(a.handle);
        rig_settle(&rig);
    }
    told_expect(&a, expected_code(), NULL);
    if (expected_code() == LULL_CODE_OK) {
        ck_assert_str_eq(a.order, "WHMMC");
    } else {
        ck_assert_int_eq(a.order[a.events - 2], place); /* nothing but the end after it */
    }
    if (action == DO_CANCEL_OTHER) {
        told_expect(&other, LULL_CODE_CANCELLED, "C");
    } else if (action == DO_CLOSE_CHANNEL) {
        told_expect(&other, LULL_CODE_UNAVAILABLE, "C");
    } else {
        ck_assert_uint_eq(other.closed, 0);
        lull_call_cancel(other.handle);
    }
    if (action == DO_START) {
        lull_call_cancel(extra.handle);
    }
    rig_settle(&rig);
    ck_assert_uint_eq(other.closed, 1);
    ck_assert_uint_eq(extra.closed, action == DO_START ? 1u : 0u);
    rig_fini(&rig);
    server_fini(&server);
}
END_TEST

static Suite *call_callbacks_suite(void)
{
    Suite *suite = suite_create("call_callbacks");
    TCase *tcase = tcase_create("call_callbacks");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, any_action_in_any_callback_ends_in_one_end, 0, 4 * ACTIONS);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_callbacks", call_callbacks_suite)
