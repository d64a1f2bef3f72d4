/* SPDX-License-Identifier: MIT */
/*
 * src/channel/channel.c: making, connectivity, closing, counting.
 */
#include "channel/channel.h"

#include <string.h>

#include "lull/version.h"
#include "net/resolver.h"
#include "rig.h"
#include "tests/support/check_main.h"

static struct rig rig;
static struct rig_call call, other;

static void begin(void)
{
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.on_request = rig_stay_silent;
    rig_open(&rig);
    memset(&call, 0, sizeof(call));
    memset(&other, 0, sizeof(other));
}

START_TEST(states_and_version_have_names)
{
    ck_assert_str_eq(lull_state_name(LULL_STATE_IDLE), "IDLE");
    ck_assert_str_eq(lull_state_name(LULL_STATE_TRANSIENT_FAILURE), "TRANSIENT_FAILURE");
    ck_assert_str_eq(lull_state_name(LULL_STATE_SHUTDOWN), "SHUTDOWN");
    ck_assert_str_eq(lull_state_name(-1), "unknown");
    ck_assert_str_eq(lull_state_name(5), "unknown");
    ck_assert_str_eq(lull_version(), LULL_VERSION);
}
END_TEST

static int try_new(const char *target, struct lull_error *error)
{
    struct lull_channel *channel = (struct lull_channel *)(void *)&rig;
    int rc = lull_channel_new(target, &rig.options, &channel, error);
    if (rc == LULL_OK) {
        lull_channel_unref(channel);
    } else {
        ck_assert_ptr_eq(channel, &rig);
    }
    return rc;
}

START_TEST(what_cannot_be_is_refused_with_a_text)
{
    struct lull_error error;
    struct lull_fake_clock another;
    begin();
    ck_assert_int_eq(try_new("127.0.0.1:1", &error), LULL_OK);
    ck_assert_int_eq(try_new("127.0.0.1:0", &error), LULL_RC_INVALID);
    /* A name is taken as it is, and asked for when somebody calls; without c-ares there is nobody to ask. */
    ck_assert_int_eq(try_new("example.org:443", &error),
                     resolver_default() != NULL ? LULL_OK : LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(try_new(NULL, &error), LULL_RC_INVALID);
    rig.world.loop = NULL;
    ck_assert_int_eq(try_new(RIG_TARGET, &error), LULL_OK); /* with a loop of its own */
    rig.options.loop = &rig.loop;
    ck_assert_int_eq(try_new(RIG_TARGET, &error), LULL_OK);
    lull_fake_clock_init(&another, 0, 0);
    rig.world.clock = &another.base;
    ck_assert_int_eq(try_new(RIG_TARGET, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "clock"));
    rig.world.clock = NULL;
    rig.options.backoff_jitter = 2.0;
    ck_assert_int_eq(try_new(RIG_TARGET, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "backoff_jitter"));
    ck_assert_int_eq(lull_channel_new(RIG_TARGET, NULL, NULL, &error), LULL_RC_INVALID);
    rig_fini(&rig);
}
END_TEST

START_TEST(options_can_be_read_back)
{
    char agent[] = "app/1";
    struct rig_step step = {.what = RIG_ACCEPT};
    rig_init(&rig);
    rig_step(&rig, step);
    rig.options.authority = "service.test";
    rig.options.user_agent = agent;
    rig.options.min_connect_timeout_ns = 1;
    rig.world.random = NULL;
    rig_open(&rig);
    memset(agent, 'x', 5); /* it was copied */
    const struct lull_channel_options *effective = lull_channel_effective_options(rig.channel);
    ck_assert_int_eq(effective->min_connect_timeout_ns, 10 * LULL_MS);
    ck_assert_str_eq(effective->authority, "service.test");
    ck_assert_str_eq(effective->user_agent, "app/1 grpc-c-lull/" LULL_VERSION);
    ck_assert_ptr_eq(effective->loop, &rig.loop);
    ck_assert_ptr_eq(effective->world->clock, &rig.clock.base);
    ck_assert_ptr_nonnull(effective->world->random);
    ck_assert_str_eq(lull_channel_target(rig.channel), RIG_TARGET);
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 1, ":authority"), "service.test");
    ck_assert_str_eq(peer_field(rig_peer(&rig, 0), 1, "user-agent"),
                     "app/1 grpc-c-lull/" LULL_VERSION);
    rig_fini(&rig);
}
END_TEST

static void refuse_done(struct lull_call *handle, const struct lull_unary_result *result, void *ctx)
{
    (void)handle;
    (void)result;
    (void)ctx;
    ck_abort_msg("done of a call that was refused");
}

/* scenario 189 */
START_TEST(closing_ends_every_call_and_says_goodbye)
{
    struct rig_call queued = {0};
    struct lull_call_options options;
    struct lull_error error;
    begin();
    rig.limit = 1;
    rig_call_with(&rig, &call, LULL_SECOND, false);
    rig_call_with(&rig, &queued, LULL_SECOND, true);
    rig_settle(&rig);
    rig_call_with(&rig, &other, LULL_SECOND, true); /* in the inbox still */
    lull_channel_close(rig.channel);
    lull_channel_close(rig.channel);
    ck_assert_int_eq(lull_channel_state(rig.channel, true), LULL_STATE_SHUTDOWN);
    ck_assert_uint_eq(call.done + queued.done + other.done, 0);
    lull_call_options_init(&options, "/a/b");
    ck_assert_int_eq(lull_call_unary(rig.channel, &options, lull_slice_static("", 0), refuse_done,
                                     NULL, NULL, &error),
                     LULL_RC_CLOSED);
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, 0);
    rig_expect(&queued, LULL_CODE_UNAVAILABLE, 0);
    rig_expect(&other, LULL_CODE_UNAVAILABLE, 0);
    rig_expect_text(&call, "channel closed");
    ck_assert_int_eq(other.failure.reason, LULL_REASON_CHANNEL_CLOSED);
    ck_assert_uint_eq(peer_count(rig_peer(&rig, 0), FRAME_GOAWAY), 1);
    ck_assert_uint_eq(peer_find(rig_peer(&rig, 0), FRAME_GOAWAY, 0)->code, 0);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    ck_assert(rig_has_traced(&rig, "READY -> SHUTDOWN"));
    rig_fini(&rig);
}
END_TEST

/* scenario 157 */
START_TEST(closing_while_connecting_never_becomes_ready)
{
    begin();
    rig.steps[0].after_ns = LULL_SECOND;
    rig_call_with(&rig, &call, LULL_NEVER, true);
    rig_advance(&rig, LULL_MS);
    lull_channel_close(rig.channel);
    rig_advance(&rig, 10 * LULL_SECOND);
    rig_expect(&call, LULL_CODE_UNAVAILABLE, LULL_MS);
    ck_assert(!rig_has_traced(&rig, "READY"));
    ck_assert_uint_eq(rig_counters(&rig).timers_armed, 0);
    rig_fini(&rig);
}
END_TEST

/* A call keeps its channel: the owner may go first. */
START_TEST(the_last_reference_closes_when_the_last_call_is_over)
{
    begin();
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    lull_channel_ref(rig.channel); /* rig_fini's */
    lull_channel_unref(rig.channel);
    lull_channel_unref(rig.channel);
    rig_settle(&rig);
    ck_assert_uint_eq(call.done, 0);
    ck_assert(!rig_peer(&rig, 0)->is_eof);
    peer_answer(rig_peer(&rig, 0), 1, "late");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    rig.channel = NULL;
    rig_fini(&rig);
}
END_TEST

static void close_channel(struct rig_call *done)
{
    lull_channel_close(done->rig->channel);
}

static void unref_channel(struct rig_call *done)
{
    lull_channel_unref(done->rig->channel);
    done->rig->channel = NULL;
}

static void start_other(struct rig_call *done)
{
    rig_call_with(done->rig, &other, LULL_SECOND, false);
    ck_assert_int_eq(lull_channel_state(done->rig->channel, true), LULL_STATE_READY);
    lull_channel_reset_backoff(done->rig->channel);
}

START_TEST(a_callback_may_close_the_channel)
{
    begin();
    call.then = close_channel;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_call_with(&rig, &other, LULL_NEVER, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    rig_expect(&other, LULL_CODE_UNAVAILABLE, 0);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_callback_may_give_the_channel_back)
{
    begin();
    call.then = unref_channel;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    rig_settle(&rig);
    rig_expect(&call, LULL_CODE_OK, 0);
    ck_assert(rig_peer(&rig, 0)->is_eof);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_call_started_in_a_callback_is_on_the_wire_in_that_turn)
{
    begin();
    call.then = start_other;
    rig_call_with(&rig, &call, LULL_NEVER, false);
    rig_settle(&rig);
    peer_answer(rig_peer(&rig, 0), 1, "x");
    uint64_t turns = rig_counters(&rig).turns;
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_uint_eq(call.done, 1);
    ck_assert_uint_eq(rig_counters(&rig).turns, turns + 1);
    ck_assert_int_eq(lull_executor_turn_now(rig.peers), LULL_OK);
    ck_assert_uint_eq(peer_count_on(rig_peer(&rig, 0), FRAME_HEADERS, 3), 1);
    ck_assert_uint_eq(peer_count_on(rig_peer(&rig, 0), FRAME_DATA, 3), 1);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_channel_that_never_dialled_goes_at_once)
{
    begin();
    uint64_t live = rig.memory.live_bytes;
    lull_channel_unref(rig.channel);
    ck_assert_uint_lt(rig.memory.live_bytes, live);
    rig.channel = NULL;
    lull_channel_ref(NULL);
    lull_channel_unref(NULL);
    rig_fini(&rig);
}
END_TEST

/* The loop may go right after the channel: what is left is done in its last turns. */
START_TEST(a_connected_channel_and_its_loop_may_go_without_a_turn_between)
{
    begin();
    (void)lull_channel_state(rig.channel, true);
    rig_settle(&rig);
    ck_assert_int_eq(lull_channel_state(rig.channel, false), LULL_STATE_READY);
    lull_channel_unref(rig.channel);
    rig.channel = NULL;
    rig_fini(&rig);
}
END_TEST

/* Out of memory, wherever it strikes: a code, nothing left, and the next try works. */
START_TEST(no_memory_for_a_channel_is_a_code)
{
    struct lull_error error;
    begin();
    for (uint64_t i = 1;; i++) {
        uint64_t live = rig.memory.live_bytes;
        rig.memory.fail_at = rig.memory.asked + i;
        int rc = try_new(RIG_TARGET, &error);
        rig.memory.fail_at = 0;
        ck_assert_uint_eq(rig.memory.live_bytes, live);
        if (rc == LULL_OK) {
            ck_assert_uint_gt(i, 3);
            break;
        }
        ck_assert_int_eq(rc, LULL_RC_NOMEM);
    }
    rig_fini(&rig);
}
END_TEST

static Suite *channel_suite(void)
{
    Suite *suite = suite_create("channel");
    TCase *tcase = tcase_create("channel");
    tcase_add_test(tcase, states_and_version_have_names);
    tcase_add_test(tcase, what_cannot_be_is_refused_with_a_text);
    tcase_add_test(tcase, options_can_be_read_back);
    tcase_add_test(tcase, closing_ends_every_call_and_says_goodbye);
    tcase_add_test(tcase, closing_while_connecting_never_becomes_ready);
    tcase_add_test(tcase, the_last_reference_closes_when_the_last_call_is_over);
    tcase_add_test(tcase, a_callback_may_close_the_channel);
    tcase_add_test(tcase, a_callback_may_give_the_channel_back);
    tcase_add_test(tcase, a_call_started_in_a_callback_is_on_the_wire_in_that_turn);
    tcase_add_test(tcase, a_channel_that_never_dialled_goes_at_once);
    tcase_add_test(tcase, a_connected_channel_and_its_loop_may_go_without_a_turn_between);
    tcase_add_test(tcase, no_memory_for_a_channel_is_a_code);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("channel", channel_suite)
