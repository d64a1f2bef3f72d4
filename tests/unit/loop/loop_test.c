/* SPDX-License-Identifier: MIT */
/* What all loops have in common, on a host's loop that only takes notes. */
#include "loop/loop.h"

#include <errno.h>
#include <string.h>

#include "base/container.h"
#include "exec/executor.h"
#include "lull/call.h"
#include "lull/channel.h"
#include "lull/timer.h"
#include "tests/support/check_main.h"
#include "tests/support/death.h"

/* A host on the fake clock. */
struct host {
    struct lull_loop loop;
    struct lull_fake_clock clock;
    struct lull_instant alarm_at;
    struct lull_instant until;
    int alarms, wakes, soons, rounds;
    int round_errno;
    int stop_after; /* rounds */
    int expired;
};

static struct host host;

static int watch_none(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    (void)loop;
    (void)w;
    (void)want;
    return 0;
}

static int note_alarm(struct lull_loop *loop, struct lull_instant at)
{
    (void)loop;
    host.alarms++;
    host.alarm_at = at;
    return 0;
}

static void note_wake(struct lull_loop *loop)
{
    (void)loop;
    host.wakes++;
}

static void note_soon(struct lull_loop *loop)
{
    (void)loop;
    host.soons++;
}

static int run_round(struct lull_loop *loop, struct lull_instant until)
{
    host.rounds++;
    host.until = until;
    (void)lull_executor_turn_now(loop->executor);
    if (host.rounds == host.stop_after) {
        lull_loop_stop(loop);
    }
    return host.round_errno;
}

static const struct lull_loop_ops bare_ops = {
    .watch = watch_none, .alarm = note_alarm, .wake = note_wake};
static const struct lull_loop_ops full_ops = {.watch = watch_none,
                                              .alarm = note_alarm,
                                              .wake = note_wake,
                                              .soon = note_soon,
                                              .run_once = run_round};

static void begin(const struct lull_loop_ops *ops)
{
    struct lull_executor_options options;

    memset(&host, 0, sizeof(host));
    lull_fake_clock_init(&host.clock, 1000, 0);
    lull_executor_options_init(&options);
    options.clock = &host.clock.base;
    ck_assert_int_eq(lull_loop_init(&host.loop, ops, "host", &options), LULL_OK);
}

static void end(void)
{
    lull_loop_fini(&host.loop);
    ck_assert_ptr_null(host.loop.executor);
}

struct noting {
    struct lull_task task;
    struct lull_watch watch;
    int runs;
    int rc;
};

static void note_run(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    container_of(task, struct noting, task)->runs++;
}

static void note_ready(struct lull_task *task, struct lull_executor *executor)
{
    (void)executor;
    container_of(task, struct noting, watch.on_ready)->runs++;
}

START_TEST(a_host_loop_has_an_executor_on_its_clock)
{
    begin(&full_ops);
    ck_assert_ptr_nonnull(lull_loop_executor(&host.loop));
    ck_assert_ptr_eq(lull_executor_clock(lull_loop_executor(&host.loop)), &host.clock.base);
    ck_assert_ptr_eq(executor_loop(host.loop.executor), &host.loop);
    ck_assert(!lull_loop_is_forked(&host.loop));
    ck_assert_int_eq(lull_loop_fd(&host.loop), -1);
    end();
}
END_TEST

START_TEST(options_of_another_version_are_refused)
{
    struct lull_executor_options options;

    lull_executor_options_init(&options);
    options.size = 3;
    ck_assert_int_eq(lull_loop_init(&host.loop, &full_ops, "host", &options), LULL_RC_INVALID);
    ck_assert_ptr_null(host.loop.executor);
}
END_TEST

static int refused_watch;

static int watch_or_refuse(struct lull_loop *loop, struct lull_watch *w, unsigned want)
{
    (void)loop;
    (void)w;
    (void)want;
    return refused_watch;
}

static const struct lull_loop_ops forgetful_ops = {
    .watch = watch_or_refuse, .alarm = note_alarm, .wake = note_wake};

START_TEST(what_a_watch_is_for_is_kept_though_the_host_keeps_nothing)
{
    struct lull_watch w = {.fd = 0};

    begin(&forgetful_ops);
    refused_watch = 0;
    ck_assert_int_eq(loop_watch(&host.loop, &w, LULL_WANT_READ), 0);
    ck_assert_uint_eq(w.want, LULL_WANT_READ);
    refused_watch = ENOMEM;
    ck_assert_int_eq(loop_watch(&host.loop, &w, LULL_WANT_WRITE), ENOMEM);
    ck_assert_uint_eq(w.want, LULL_WANT_READ); /* the last wish stands */
    ck_assert_int_eq(loop_watch(&host.loop, &w, LULL_WANT_NONE), ENOMEM);
    ck_assert_uint_eq(w.want, LULL_WANT_NONE); /* its descriptor is closed next */
    end();
}
END_TEST

START_TEST(a_watch_that_is_ready_runs_in_the_next_turn)
{
    struct noting n = {.runs = 0};

    begin(&full_ops);
    lull_task_init(&n.watch.on_ready, note_ready);
    lull_watch_ready(&host.loop, &n.watch, LULL_WANT_READ);
    lull_watch_ready(&host.loop, &n.watch, LULL_WANT_WRITE);
    ck_assert_int_eq(n.runs, 0);
    ck_assert_uint_eq(n.watch.ready, LULL_WANT_READ | LULL_WANT_WRITE);
    /* the host is told that a turn is due, once */
    ck_assert_int_eq(host.soons, 1);
    ck_assert_int_eq(lull_loop_flush(&host.loop), LULL_OK);
    ck_assert_int_eq(n.runs, 0); /* a flush reads nothing */
    ck_assert_int_eq(lull_executor_turn_now(host.loop.executor), LULL_OK);
    ck_assert_int_eq(n.runs, 1);
    end();
}
END_TEST

START_TEST(a_loop_without_run_once_cannot_be_run)
{
    begin(&bare_ops);
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, 0), LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(lull_loop_dispatch(&host.loop), LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(lull_loop_start(&host.loop), LULL_RC_UNSUPPORTED);
    ck_assert_int_eq(lull_loop_join(&host.loop), LULL_RC_STATE);
    ck_assert_int_eq(lull_loop_flush(&host.loop), LULL_OK);
    end();
}
END_TEST

START_TEST(a_timeout_becomes_an_instant_of_the_clock)
{
    begin(&full_ops);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, 5), LULL_OK);
    ck_assert_int_eq(host.until.ns, 1005);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, 0), LULL_OK);
    ck_assert_int_eq(host.until.ns, LOOP_UNTIL_NOW);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, -7), LULL_OK);
    ck_assert_int_eq(host.until.ns, LOOP_UNTIL_NOW);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, LULL_NEVER), LULL_OK);
    ck_assert_int_eq(host.until.ns, LULL_NEVER);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, LULL_NEVER - 1), LULL_OK);
    ck_assert_int_eq(host.until.ns, LULL_NEVER);
    ck_assert_int_eq(lull_loop_dispatch(&host.loop), LULL_OK);
    ck_assert_int_eq(host.until.ns, LOOP_UNTIL_NOW);
    end();
}
END_TEST

START_TEST(run_goes_on_until_it_is_stopped)
{
    begin(&full_ops);
    host.stop_after = 3;
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_OK);
    ck_assert_int_eq(host.rounds, 3);
    ck_assert_int_eq(host.wakes, 1);
    end();
}
END_TEST

START_TEST(a_stop_before_the_run_is_not_lost_and_serves_once)
{
    begin(&full_ops);
    lull_loop_stop(&host.loop);
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_OK);
    ck_assert_int_eq(host.rounds, 0);
    host.stop_after = 1;
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_OK);
    ck_assert_int_eq(host.rounds, 1);
    end();
}
END_TEST

START_TEST(a_round_that_fails_ends_the_run)
{
    begin(&full_ops);
    host.round_errno = EMFILE;
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_RC_SYSTEM);
    ck_assert_int_eq(host.rounds, 1);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, 0), LULL_RC_SYSTEM);
    end();
}
END_TEST

static void try_all(struct lull_task *task, struct lull_executor *executor)
{
    struct noting *n = container_of(task, struct noting, task);

    (void)executor;
    n->runs++;
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_run_once(&host.loop, LULL_NEVER), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_dispatch(&host.loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_flush(&host.loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_on_alarm(&host.loop), LULL_RC_IN_TURN);
    lull_loop_stop(&host.loop);
}

START_TEST(driving_inside_a_callback_is_refused_and_stopping_is_not)
{
    struct noting n = {.runs = 0};

    begin(&full_ops);
    lull_task_init(&n.task, try_all);
    ck_assert(lull_executor_submit(host.loop.executor, &n.task));
    ck_assert_int_eq(lull_loop_run(&host.loop), LULL_OK);
    ck_assert_int_eq(host.rounds, 1);
    ck_assert_int_eq(n.runs, 1);
    ck_assert_int_eq(host.wakes, 0); /* a stop from a callback costs nothing */
    end();
}
END_TEST

START_TEST(soon_is_wake_where_there_is_no_soon)
{
    struct noting n = {.runs = 0};

    begin(&bare_ops);
    loop_soon(&host.loop);
    ck_assert_int_eq(host.wakes, 1);
    lull_task_init(&n.task, note_run);
    ck_assert(lull_executor_submit(host.loop.executor, &n.task));
    ck_assert_int_eq(host.wakes, 2);
    end();
    begin(&full_ops);
    loop_soon(&host.loop);
    ck_assert_int_eq(host.soons, 1);
    ck_assert_int_eq(host.wakes, 0);
    end();
}
END_TEST

/* ---- a host whose verbs run a turn instead of asking for one */

static struct {
    int (*turn)(void);
    int rc, calls;
    bool was_in_context;
} inside;

static int turn_now(void)
{
    return lull_executor_turn_now(host.loop.executor);
}

static int turn_by_alarm(void)
{
    return lull_loop_on_alarm(&host.loop);
}

static int flush_now(void)
{
    return lull_loop_flush(&host.loop);
}

static void turn_inside(struct lull_loop *loop)
{
    inside.calls++;
    inside.was_in_context = lull_executor_in_context(loop->executor);
    inside.rc = inside.turn();
}

static const struct lull_loop_ops eager_soon = {
    .watch = watch_none, .alarm = note_alarm, .wake = note_wake, .soon = turn_inside};
static const struct lull_loop_ops eager_wake = {
    .watch = watch_none, .alarm = note_alarm, .wake = turn_inside};

static const struct {
    const struct lull_loop_ops *ops;
    int (*turn)(void);
    bool is_by_watch;
    int alarms; /* a turn that was refused comes by the alarm */
} eager[] = {
    {&eager_soon, turn_now, false, 1},  {&eager_soon, turn_by_alarm, false, 1},
    {&eager_soon, turn_now, true, 1},   {&eager_soon, turn_by_alarm, true, 1},
    {&eager_wake, turn_now, false, 1},  {&eager_wake, turn_by_alarm, true, 1},
    {&eager_soon, flush_now, false, 0},
};

START_TEST(a_turn_inside_soon_or_wake_is_refused_and_still_wanted)
{
    struct noting n = {.runs = 0};

    memset(&inside, 0, sizeof(inside));
    inside.turn = eager[_i].turn;
    begin(eager[_i].ops);
    lull_task_init(&n.task, note_run);
    lull_task_init(&n.watch.on_ready, note_ready);
    for (int round = 1; round <= 2; round++) {
        if (eager[_i].is_by_watch) {
            lull_watch_ready(&host.loop, &n.watch, LULL_WANT_READ);
        } else {
            ck_assert(lull_executor_submit(host.loop.executor, &n.task));
        }
        ck_assert_int_eq(inside.calls, round);
        ck_assert_int_eq(inside.rc, LULL_RC_IN_TURN);
        ck_assert(inside.was_in_context);
        ck_assert_int_eq(n.runs, round - 1);
        ck_assert_int_eq(host.alarms, round * eager[_i].alarms);
        ck_assert(eager[_i].alarms == 0 || host.alarm_at.ns == host.clock.mono_at.ns);
        ck_assert_int_eq(lull_loop_on_alarm(&host.loop), LULL_OK);
        ck_assert_int_eq(n.runs, round);
    }
    end();
}
END_TEST

START_TEST(a_turn_inside_the_wake_of_a_stop_is_refused)
{
    memset(&inside, 0, sizeof(inside));
    inside.turn = turn_now;
    begin(&eager_wake);
    lull_loop_stop(&host.loop);
    ck_assert_int_eq(inside.calls, 1);
    ck_assert_int_eq(inside.rc, LULL_RC_IN_TURN);
    ck_assert(!lull_executor_in_context(host.loop.executor));
    end();
}
END_TEST

START_TEST(what_waits_at_the_end_is_run_first)
{
    struct noting n = {.runs = 0};
    struct noting dead = {.runs = 0};

    begin(&full_ops);
    lull_task_init(&n.task, note_run);
    lull_task_init(&dead.task, note_run);
    ck_assert(lull_executor_submit(host.loop.executor, &n.task));
    ck_assert_int_eq(lull_executor_enter(host.loop.executor), LULL_OK);
    executor_post_dead(host.loop.executor, &dead.task);
    lull_executor_leave(host.loop.executor);
    end();
    ck_assert_int_eq(n.runs, 1);
    ck_assert_int_eq(dead.runs, 1);
}
END_TEST

static void post_again(struct lull_task *task, struct lull_executor *executor)
{
    container_of(task, struct noting, task)->runs++;
    lull_executor_post(executor, task);
}

START_TEST(whoever_posts_for_ever_does_not_keep_the_loop_from_ending)
{
    struct noting n = {.runs = 0};

    begin(&full_ops);
    lull_task_init(&n.task, post_again);
    ck_assert(lull_executor_submit(host.loop.executor, &n.task));
    end();
    ck_assert_int_gt(n.runs, 1);
}
END_TEST

static void note_expired(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    host.expired++;
}

/* RULINGS 18: a host that rounds down calls back early. */
START_TEST(an_alarm_that_a_host_runs_early_is_asked_for_again)
{
    struct lull_timer timer;

    begin(&full_ops);
    ck_assert_int_eq(lull_executor_enter(host.loop.executor), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&timer, host.loop.executor, note_expired), LULL_OK);
    lull_timer_arm(&timer, lull_at(host.clock.mono_at.ns + 1999));
    lull_executor_leave(host.loop.executor);
    ck_assert_int_eq(host.alarms, 1);
    lull_fake_clock_advance(&host.clock, 900);
    ck_assert_int_eq(lull_executor_turn_now(host.loop.executor), LULL_OK);
    ck_assert_int_eq(host.alarms, 1); /* a turn for another reason: the alarm stands */
    lull_fake_clock_advance(&host.clock, 100);
    ck_assert_int_eq(lull_loop_on_alarm(&host.loop), LULL_OK);
    ck_assert_int_eq(host.expired, 0);
    ck_assert_int_eq(host.alarms, 2);
    lull_fake_clock_advance(&host.clock, 999);
    ck_assert_int_eq(lull_loop_on_alarm(&host.loop), LULL_OK);
    ck_assert_int_eq(host.expired, 1);
    ck_assert_int_eq(lull_loop_on_alarm(&host.loop), LULL_OK); /* and once more */
    ck_assert_int_eq(host.expired, 1);
    ck_assert_int_eq(host.alarms, 2);
    ck_assert_int_eq(lull_executor_enter(host.loop.executor), LULL_OK);
    lull_timer_fini(&timer);
    lull_executor_leave(host.loop.executor);
    end();
}
END_TEST

/* A call's `done` is a task that counts an end. */
static void note_end(struct lull_task *task, struct lull_executor *executor)
{
    container_of(task, struct noting, task)->runs++;
    executor_counters(executor)->calls_closed++;
}

START_TEST(every_end_is_told_before_the_loop_ends_however_small_a_turn_is)
{
    static struct noting ends[1000];
    struct lull_executor_options options;
    int told = 0;

    memset(ends, 0, sizeof(ends));
    memset(&host, 0, sizeof(host));
    lull_fake_clock_init(&host.clock, 1000, 0);
    lull_executor_options_init(&options);
    options.clock = &host.clock.base;
    options.task_budget = 1;
    ck_assert_int_eq(lull_loop_init(&host.loop, &full_ops, "host", &options), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(host.loop.executor), LULL_OK);
    for (int i = 0; i < 1000; i++) {
        lull_task_init(&ends[i].task, note_end);
        lull_executor_post(host.loop.executor, &ends[i].task);
    }
    lull_executor_leave(host.loop.executor);
    end();
    for (int i = 0; i < 1000; i++) {
        told += ends[i].runs;
    }
    ck_assert_int_eq(told, 1000);
}
END_TEST

static void free_the_loop(void)
{
    lull_loop_fini(&host.loop);
}

static void on_call_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
}

/* lull/loop.h: channels first, and the handles of their calls. */
START_TEST(freeing_it_under_a_channel_or_a_call_handle_is_caught)
{
    static const char words[] =
        "a loop is freed while a channel on it, or the handle of a call, is still held";
    struct lull_channel_options options;
    struct lull_call_options call_options;
    struct lull_channel *channel;
    struct lull_call *call;

    begin(&full_ops);
    lull_channel_options_init(&options);
    options.loop = &host.loop;
    ck_assert_int_eq(lull_channel_new("127.0.0.1:1", &options, &channel, NULL), LULL_OK);
    lull_call_options_init(&call_options, "/a.B/C");
    call_options.timeout_ns = 0; /* nothing is dialled */
    ck_assert_int_eq(lull_call_unary(channel, &call_options, lull_slice_static(NULL, 0),
                                     on_call_done, NULL, &call, NULL),
                     LULL_OK);
    expect_death(free_the_loop, words);
    lull_channel_unref(channel);
    expect_death(free_the_loop, words);
    lull_call_unref(call);
    end();
}
END_TEST

static Suite *loop_suite(void)
{
    Suite *suite = suite_create("loop");
    TCase *cases = tcase_create("loop");

    tcase_add_test(cases, a_host_loop_has_an_executor_on_its_clock);
    tcase_add_test(cases, options_of_another_version_are_refused);
    tcase_add_test(cases, what_a_watch_is_for_is_kept_though_the_host_keeps_nothing);
    tcase_add_test(cases, a_watch_that_is_ready_runs_in_the_next_turn);
    tcase_add_test(cases, a_loop_without_run_once_cannot_be_run);
    tcase_add_test(cases, a_timeout_becomes_an_instant_of_the_clock);
    tcase_add_test(cases, run_goes_on_until_it_is_stopped);
    tcase_add_test(cases, a_stop_before_the_run_is_not_lost_and_serves_once);
    tcase_add_test(cases, a_round_that_fails_ends_the_run);
    tcase_add_test(cases, driving_inside_a_callback_is_refused_and_stopping_is_not);
    tcase_add_test(cases, soon_is_wake_where_there_is_no_soon);
    tcase_add_loop_test(cases, a_turn_inside_soon_or_wake_is_refused_and_still_wanted, 0,
                        (int)(sizeof(eager) / sizeof(eager[0])));
    tcase_add_test(cases, a_turn_inside_the_wake_of_a_stop_is_refused);
    tcase_add_test(cases, what_waits_at_the_end_is_run_first);
    tcase_add_test(cases, whoever_posts_for_ever_does_not_keep_the_loop_from_ending);
    tcase_add_test(cases, an_alarm_that_a_host_runs_early_is_asked_for_again);
    tcase_add_test(cases, every_end_is_told_before_the_loop_ends_however_small_a_turn_is);
    tcase_add_test(cases, freeing_it_under_a_channel_or_a_call_handle_is_caught);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("loop", loop_suite)
