/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel_watch.c: who is told of a change of state, when, and once.
 */
#include <errno.h>
#include <string.h>

#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call;

#define TOLD_MAX 16

/* What one watcher was told. */
struct watcher {
    unsigned told;
    enum lull_state states[TOLD_MAX];
    int64_t at_ns[TOLD_MAX];
    bool asks_again;
    void (*then)(struct watcher *watcher);
};

static struct watcher a, b;

static void on_state(struct lull_channel *channel, enum lull_state now, void *ctx)
{
    struct watcher *watcher = ctx;
    ck_assert_uint_lt(watcher->told, TOLD_MAX);
    ck_assert_int_eq(lull_channel_state(channel, false), now);
    watcher->states[watcher->told] = now;
    watcher->at_ns[watcher->told] = rig_now(&rig);
    watcher->told++;
    if (watcher->asks_again) {
        int rc = lull_channel_watch(channel, now, on_state, watcher);
        ck_assert_int_eq(rc, now == LULL_STATE_SHUTDOWN ? LULL_RC_CLOSED : LULL_OK);
    }
    if (watcher->then != NULL) {
        watcher->then(watcher);
    }
}

static void watch(struct watcher *watcher, enum lull_state not_this)
{
    ck_assert_int_eq(lull_channel_watch(rig.channel, not_this, on_state, watcher), LULL_OK);
}

static void begin(int64_t connect_ns)
{
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&call, 0, sizeof(call));
    rig_start(&rig, RIG_ACCEPT, connect_ns);
}

/* scenario 177 */
START_TEST(told_when_the_state_is_another_one)
{
    begin(LULL_SECOND);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    watch(&a, LULL_STATE_CONNECTING);
    rig_advance_to(&rig, LULL_SECOND - 1);
    ck_assert_uint_eq(a.told, 0);
    rig_advance(&rig, 1);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_int_eq(a.states[0], LULL_STATE_READY);
    ck_assert_int_eq(a.at_ns[0], LULL_SECOND);
    lull_channel_enter_idle(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1); /* once is once */
    rig_fini(&rig);
    ck_assert_uint_eq(a.told, 1);
}
END_TEST

/* scenario 177, the end of it */
START_TEST(told_at_once_but_from_a_task_when_it_is_so_already)
{
    begin(0);
    watch(&a, LULL_STATE_CONNECTING);
    ck_assert_uint_eq(a.told, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_int_eq(a.states[0], LULL_STATE_IDLE);
    rig_fini(&rig);
}
END_TEST

START_TEST(asking_again_follows_the_states_to_the_end)
{
    begin(LULL_SECOND);
    a.asks_again = true;
    watch(&a, LULL_STATE_IDLE);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, 2 * LULL_SECOND);
    lull_channel_enter_idle(rig.channel);
    rig_advance(&rig, LULL_SECOND);
    lull_channel_close(rig.channel);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(a.told, 4);
    ck_assert_int_eq(a.states[0], LULL_STATE_CONNECTING);
    ck_assert_int_eq(a.at_ns[0], 0);
    ck_assert_int_eq(a.states[1], LULL_STATE_READY);
    ck_assert_int_eq(a.at_ns[1], LULL_SECOND);
    ck_assert_int_eq(a.states[2], LULL_STATE_IDLE);
    ck_assert_int_eq(a.at_ns[2], 2 * LULL_SECOND);
    ck_assert_int_eq(a.states[3], LULL_STATE_SHUTDOWN);
    ck_assert_int_eq(a.at_ns[3], 3 * LULL_SECOND);
    rig_fini(&rig);
}
END_TEST

/* scenario 178 */
START_TEST(shutdown_is_told_and_is_the_last)
{
    begin(0);
    watch(&a, LULL_STATE_IDLE);
    lull_channel_close(rig.channel);
    ck_assert_uint_eq(a.told, 0);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_int_eq(a.states[0], LULL_STATE_SHUTDOWN);
    ck_assert_int_eq(lull_channel_watch(rig.channel, LULL_STATE_SHUTDOWN, on_state, &b),
                     LULL_RC_CLOSED);
    watch(&b, LULL_STATE_READY);
    rig_settle(&rig);
    ck_assert_uint_eq(b.told, 1);
    ck_assert_int_eq(b.states[0], LULL_STATE_SHUTDOWN);
    (void)lull_channel_state(rig.channel, true);
    rig_advance(&rig, LULL_SECOND);
    ck_assert_uint_eq(a.told + b.told, 2);
    rig_fini(&rig);
}
END_TEST

START_TEST(the_last_reference_may_go_before_it_is_told)
{
    begin(0);
    watch(&a, LULL_STATE_IDLE);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_int_eq(a.states[0], LULL_STATE_SHUTDOWN);
    rig_fini(&rig);
}
END_TEST

START_TEST(taken_back_it_is_not_told)
{
    begin(0);
    watch(&a, LULL_STATE_IDLE);
    watch(&a, LULL_STATE_IDLE);
    watch(&b, LULL_STATE_IDLE);
    ck_assert(lull_channel_unwatch(rig.channel, on_state, &a));
    ck_assert(!lull_channel_unwatch(rig.channel, on_state, &a));
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 0);
    ck_assert_uint_eq(b.told, 1);
    /* Due, but its task has not run. */
    watch(&a, LULL_STATE_IDLE);
    ck_assert(lull_channel_unwatch(rig.channel, on_state, &a));
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 0);
    rig_fini(&rig);
}
END_TEST

static void take_b_back(struct watcher *watcher)
{
    (void)watcher;
    ck_assert(lull_channel_unwatch(rig.channel, on_state, &b));
}

START_TEST(a_callback_may_take_another_back)
{
    begin(0);
    a.then = take_b_back;
    watch(&a, LULL_STATE_IDLE);
    watch(&b, LULL_STATE_IDLE);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_uint_eq(b.told, 0);
    rig_fini(&rig);
}
END_TEST

static void drop_channel(struct watcher *watcher)
{
    (void)watcher;
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
}

START_TEST(a_callback_may_give_the_channel_back)
{
    begin(0);
    a.then = drop_channel;
    watch(&a, LULL_STATE_IDLE);
    watch(&b, LULL_STATE_IDLE);
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_uint_eq(b.told, 1); /* of the SHUTDOWN that the first one made */
    ck_assert_int_eq(b.states[0], LULL_STATE_SHUTDOWN);
    rig_fini(&rig);
}
END_TEST

static void ask_for_what_is_not(struct watcher *watcher)
{
    if (watcher->told < 5) {
        watch(watcher, LULL_STATE_TRANSIENT_FAILURE);
    }
}

/* Nobody can hold up a turn by asking for what is so already: each asking waits for a task of its own. */
START_TEST(asking_for_what_is_so_already_takes_a_task_each)
{
    begin(0);
    a.then = ask_for_what_is_not;
    watch(&a, LULL_STATE_READY);
    uint64_t posts = rig_counters(&rig).posts;
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 5);
    ck_assert_uint_ge(rig_counters(&rig).posts - posts, 5);
    rig_fini(&rig);
}
END_TEST

/* The state that is back when the task runs was never another one. */
START_TEST(a_state_that_comes_and_goes_within_a_turn_is_not_told)
{
    begin(500 * LULL_MS);
    rig_call_with(&rig, &call, LULL_NEVER, true);
    rig_settle(&rig);
    watch(&a, LULL_STATE_CONNECTING);
    lull_channel_enter_idle(rig.channel); /* IDLE, and CONNECTING at once for the call that waits */
    rig_settle(&rig);
    ck_assert(rig_has_traced(&rig, "CONNECTING -> IDLE"));
    ck_assert_uint_eq(a.told, 0);
    rig_advance(&rig, 2 * LULL_SECOND);
    ck_assert_uint_eq(a.told, 1);
    ck_assert_int_eq(a.states[0], LULL_STATE_READY);
    rig_fini(&rig);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    begin(0);
    ck_assert_int_eq(lull_channel_watch(rig.channel, LULL_STATE_IDLE, NULL, NULL), LULL_RC_INVALID);
    rig.memory.fail_at = rig.memory.asked + 1;
    ck_assert_int_eq(lull_channel_watch(rig.channel, LULL_STATE_IDLE, on_state, &a), LULL_RC_NOMEM);
    rig.memory.fail_at = 0;
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_uint_eq(a.told, 0);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_watch_suite(void)
{
    Suite *suite = suite_create("channel_watch");
    TCase *tcase = tcase_create("channel_watch");
    tcase_add_test(tcase, told_when_the_state_is_another_one);
    tcase_add_test(tcase, told_at_once_but_from_a_task_when_it_is_so_already);
    tcase_add_test(tcase, asking_again_follows_the_states_to_the_end);
    tcase_add_test(tcase, shutdown_is_told_and_is_the_last);
    tcase_add_test(tcase, the_last_reference_may_go_before_it_is_told);
    tcase_add_test(tcase, taken_back_it_is_not_told);
    tcase_add_test(tcase, a_callback_may_take_another_back);
    tcase_add_test(tcase, a_callback_may_give_the_channel_back);
    tcase_add_test(tcase, asking_for_what_is_so_already_takes_a_task_each);
    tcase_add_test(tcase, a_state_that_comes_and_goes_within_a_turn_is_not_told);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_watch", channel_watch_suite)
