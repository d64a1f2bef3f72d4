/* SPDX-License-Identifier: MIT */
/*
 * What a channel leaves on its executor when it sleeps or is gone: no timer of a deadline that nobody waits for, no memory for a next
 * call. src/channel/channel_idle.c and the end in src/channel/channel.c.
 */
#include "channel/channel_idle.h"

#include "sleeper.h"
#include "tests/support/check_main.h"

#define HOUR_NS (3600 * LULL_SECOND)

static uint64_t armed(void)
{
    return rig_counters(&rig).timers_armed;
}

static void start_timed(struct rig_call *which, int64_t timeout_ns, int64_t read_timeout_ns)
{
    struct lull_call_options options;
    lull_call_options_init(&options, "/pkg.Service/Method");
    options.timeout_ns = timeout_ns;
    options.read_timeout_ns = read_timeout_ns;
    rig_call(&rig, which, &options);
}

static void answered(void)
{
    peer_answer(rig_peer(&rig, 0), 1, "x");
}

static void cancelled(void)
{
    lull_call_cancel(call.handle);
}

static void hung_up(void)
{
    peer_close(rig_peer(&rig, 0));
}

/* scenarios 77, 90 with a deadline; RULINGS 3: an IDLE channel holds 0 timers */
START_TEST(the_last_call_that_outlived_idle_mode_leaves_no_timer)
{
    static const struct {
        int64_t timeout_ns;
        int64_t read_timeout_ns;
        void (*end)(void);
        enum lull_code code;
    } rows[] = {
        {HOUR_NS, LULL_NEVER, answered, LULL_CODE_OK},
        {HOUR_NS, LULL_NEVER, cancelled, LULL_CODE_CANCELLED},
        {HOUR_NS, LULL_NEVER, hung_up, LULL_CODE_UNAVAILABLE},
        {LULL_NEVER, 600 * LULL_SECOND, answered, LULL_CODE_OK},
        {LULL_NEVER, 600 * LULL_SECOND, cancelled, LULL_CODE_CANCELLED},
        {HOUR_NS, 600 * LULL_SECOND, hung_up, LULL_CODE_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(RIG_ACCEPT, 0);
        rig.on_request = rig_stay_silent;
        start_timed(&call, rows[i].timeout_ns, rows[i].read_timeout_ns);
        rig_settle(&rig);
        enter_idle();
        rig_advance_to(&rig, LULL_SECOND);
        ck_assert(is_in_idle_mode());
        ck_assert_uint_eq(armed(), 1); /* the call's own */
        rows[i].end();
        rig_settle(&rig);
        rig_expect(&call, rows[i].code, LULL_SECOND);
        ck_assert(is_in_idle_mode());
        ck_assert_uint_eq(armed(), 0);
        ck_assert(list_is_empty(&rig.channel->subchannel.connections));
        uint64_t fires = rig_counters(&rig).timer_fires;
        rig_advance(&rig, 2 * HOUR_NS);
        ck_assert_uint_eq(rig_counters(&rig).timer_fires, fires);
        rig_fini(&rig);
    }
}
END_TEST

START_TEST(entering_and_cancelling_in_one_turn_leaves_no_timer)
{
    for (int is_entered_first = 0; is_entered_first <= 1; is_entered_first++) {
        begin(RIG_ACCEPT, 0);
        rig.on_request = rig_stay_silent;
        start_timed(&call, HOUR_NS, LULL_NEVER);
        rig_settle(&rig);
        if (is_entered_first) {
            enter_idle();
            cancelled();
        } else {
            cancelled();
            enter_idle();
        }
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_CANCELLED, 0);
        expect_asleep(1);
        rig_fini(&rig);
    }
}
END_TEST

/* One of two ends: the other one's deadline stands, exactly, and nothing is left behind it. */
START_TEST(a_call_that_still_runs_keeps_its_deadline)
{
    begin(RIG_ACCEPT, 0);
    rig.on_request = rig_stay_silent;
    start_timed(&call, HOUR_NS, LULL_NEVER);
    start_timed(&other, 50 * LULL_SECOND, LULL_NEVER);
    rig_settle(&rig);
    enter_idle();
    rig_advance_to(&rig, LULL_SECOND);
    cancelled();
    rig_advance_to(&rig, 50 * LULL_SECOND - 1);
    ck_assert_uint_eq(other.done, 0);
    rig_advance(&rig, 1);
    rig_expect(&other, LULL_CODE_DEADLINE_EXCEEDED, 50 * LULL_SECOND);
    expect_asleep(1);
    rig_fini(&rig);
}
END_TEST

/* Twenty rounds, the last of which outlives idle mode or not; live bytes when all is asleep. */
static uint64_t bytes_asleep(bool is_drained)
{
    begin(RIG_ACCEPT, 0);
    uint64_t born = rig.memory.live_bytes;
    rig.on_request = rig_stay_silent;
    for (uint32_t i = 0; i < 20; i++) {
        start_timed(&call, HOUR_NS, LULL_NEVER);
        start_timed(&other, HOUR_NS / 2, LULL_NEVER);
        rig_settle(&rig);
        if (is_drained && i == 19) {
            enter_idle();
            rig_settle(&rig);
        }
        peer_answer(rig_peer(&rig, 0), 1 + 4 * i, "a");
        peer_answer(rig_peer(&rig, 0), 3 + 4 * i, "b");
        rig_settle(&rig);
        rig_expect(&call, LULL_CODE_OK, 0);
        rig_expect(&other, LULL_CODE_OK, 0);
    }
    if (!is_drained) {
        rig_advance_to(&rig, I_NS);
    }
    expect_asleep(1);
    peer_close(rig_peer(&rig, 0)); /* our end of the pipe goes with it */
    rig_settle(&rig);
    uint64_t kept = rig.memory.live_bytes - born;
    rig_fini(&rig);
    return kept;
}

/* scenarios 77, 90; C34: memory goes with the last call that drains as it does with the timer */
START_TEST(the_last_call_that_outlived_idle_mode_gives_the_memory_back)
{
    ck_assert_uint_eq(bytes_asleep(false), 0);
    ck_assert_uint_eq(bytes_asleep(true), 0);
}
END_TEST

/* scenario 92; RULINGS 3: hard on shutdown. Read at once, and after the last reference */
START_TEST(closing_takes_every_timer_away_at_once)
{
    for (int row = 0; row < 4; row++) {
        bool is_live = (row & 1) != 0;
        begin(RIG_ACCEPT, 0);
        rig.on_request = is_live ? rig_stay_silent : rig_answer_hello;
        start_timed(&call, HOUR_NS, LULL_NEVER);
        rig_settle(&rig);
        if ((row & 2) != 0) {
            enter_idle();
            rig_settle(&rig);
        } else {
            ck_assert_uint_ge(armed(), 1);
        }
        lull_channel_close(rig.channel);
        ck_assert_uint_eq(armed(), 0);
        rig_settle(&rig);
        rig_expect(&call, is_live ? LULL_CODE_UNAVAILABLE : LULL_CODE_OK, 0);
        lull_channel_unref(rig.channel);
        rig.channel = NULL;
        rig_settle(&rig);
        ck_assert_uint_eq(armed(), 0);
        uint64_t fires = rig_counters(&rig).timer_fires;
        rig_advance(&rig, 2 * HOUR_NS);
        ck_assert_uint_eq(rig_counters(&rig).timer_fires, fires);
        rig_fini(&rig);
    }
}
END_TEST

/* scenario 92: the idle timer alone costs one disarm and never fires */
START_TEST(closing_disarms_the_idle_timer_once)
{
    begin(RIG_ACCEPT, 0);
    start_call();
    rig_settle(&rig);
    expect_awake_until(I_NS);
    struct lull_counters before = rig_counters(&rig);
    lull_channel_close(rig.channel);
    struct lull_counters after = rig_counters(&rig);
    ck_assert_uint_eq(after.timers_armed, 0);
    ck_assert_uint_eq(after.timer_disarms, before.timer_disarms + 1);
    rig_advance(&rig, 10 * I_NS);
    ck_assert_uint_eq(rig_counters(&rig).timer_fires, before.timer_fires);
    ck_assert_int_eq(state(), LULL_STATE_SHUTDOWN);
    ck_assert(!rig_has_traced(&rig, "-> IDLE"));
    rig_fini(&rig);
}
END_TEST

/* An unref with a call under way lets it end first; then nothing is left either. */
START_TEST(a_channel_that_went_with_its_last_call_leaves_no_timer)
{
    begin(RIG_ACCEPT, 0);
    rig.on_request = rig_stay_silent;
    start_timed(&call, HOUR_NS, LULL_NEVER);
    rig_settle(&rig);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 0);
    answered();
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_uint_eq(armed(), 0);
    rig_fini(&rig);
}
END_TEST

static Suite *channel_rest_suite(void)
{
    Suite *suite = suite_create("channel_rest");
    TCase *tcase = tcase_create("channel_rest");
    tcase_add_test(tcase, the_last_call_that_outlived_idle_mode_leaves_no_timer);
    tcase_add_test(tcase, entering_and_cancelling_in_one_turn_leaves_no_timer);
    tcase_add_test(tcase, a_call_that_still_runs_keeps_its_deadline);
    tcase_add_test(tcase, the_last_call_that_outlived_idle_mode_gives_the_memory_back);
    tcase_add_test(tcase, closing_takes_every_timer_away_at_once);
    tcase_add_test(tcase, closing_disarms_the_idle_timer_once);
    tcase_add_test(tcase, a_channel_that_went_with_its_last_call_leaves_no_timer);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel_rest", channel_rest_suite)
