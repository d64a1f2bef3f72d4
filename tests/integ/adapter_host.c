/* SPDX-License-Identifier: MIT */
/* A host's loop and lull in it: when it sleeps, what wakes it, alarms, the host's own callbacks, being run by lull's verbs. */
#include <pthread.h>

#include "tests/integ/adapter_support.h"

/* ---- a call that was started outside of lull's callbacks */

static struct lull_counters at_start;
static unsigned waits_before_write, sleeps_before_write;
static bool is_started;

static void look_at_wire(int timeout_ms)
{
    if (is_started && counted().writes == at_start.writes) {
        waits_before_write++;
        sleeps_before_write += timeout_ms != 0;
    }
}

static void start_one(void)
{
    wakes = soons = 0;
    waits_before_write = sleeps_before_write = 0;
    at_start = counted();
    start_call(ECHO_METHOD, LULL_MINUTE);
    ck_assert_uint_eq(counted().writes, at_start.writes);
    is_started = true;
}

static void expect_no_wake_up(void)
{
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    ck_assert_uint_le(sleeps_before_write, host->sleeps_before_turn);
    ck_assert_uint_le(waits_before_write, host->rounds_before_turn);
    if (!host->is_own) {
        ck_assert_uint_eq(wakes, 0);
        ck_assert_uint_ge(soons, 1);
    }
}

START_TEST(a_call_started_in_a_hosts_callback_leaves_before_the_host_sleeps)
{
    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    for (int i = 0; i < 3; i++) {
        is_started = false;
        outcome.closed = 0;
        on_wait = look_at_wire;
        host->call_back(start_one);
        run_until(is_closed);
        expect_no_wake_up();
    }
    tear_down();
}
END_TEST

START_TEST(a_call_started_outside_of_the_loop_leaves_before_the_host_sleeps)
{
    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    on_wait = look_at_wire;
    start_one();
    run_until(is_closed);
    expect_no_wake_up();
    tear_down();
}
END_TEST

START_TEST(a_flush_writes_at_once)
{
    struct lull_counters before;

    set_up(NULL);
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    before = counted();
    start_call(ECHO_METHOD, LULL_MINUTE);
    ck_assert_int_eq(lull_loop_flush(loop), LULL_OK);
    ck_assert_uint_eq(counted().writes, before.writes + 1);
    run_until(is_closed);
    tear_down();
}
END_TEST

/* ---- other threads */

struct note {
    struct lull_task task;
    unsigned runs;
};

static struct note note;

static void note_run(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    note.runs++;
}

static void *submit_it(void *executor)
{
    lull_executor_submit((struct lull_executor *)executor, &note.task);
    return NULL;
}

static unsigned runs_expected;

static bool has_run(void)
{
    return note.runs == runs_expected;
}

START_TEST(a_submit_from_another_thread_wakes_a_sleeping_host)
{
    pthread_t thread;

    set_up(NULL);
    lull_task_init(&note.task, note_run);
    note.runs = 0;
    for (runs_expected = 1; runs_expected <= 200; runs_expected++) {
        const struct lull_instant from = now();

        ck_assert_int_eq(pthread_create(&thread, NULL, submit_it, lull_loop_executor(loop)), 0);
        run_until(has_run);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_int_lt(lull_instant_diff(now(), from), 5 * LULL_SECOND); /* a wake, not the round's end */
    }
    ck_assert(host->is_own || wakes > 0);
    tear_down();
}
END_TEST

static void *stop_it(void *which)
{
    lull_loop_stop((struct lull_loop *)which);
    return NULL;
}

START_TEST(a_stop_from_another_thread_ends_the_run)
{
    pthread_t thread;

    set_up(NULL);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, stop_it, loop), 0);
        ck_assert_int_eq(lull_loop_run(loop), LULL_OK);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    tear_down();
}
END_TEST

static void stop_run(void)
{
    ck_assert_int_eq(lull_loop_run(loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_flush(loop), LULL_RC_IN_TURN);
    lull_loop_stop(loop);
}

START_TEST(it_is_run_by_lulls_own_verbs_too)
{
    struct lull_instant from;
    struct lull_counters before;
    unsigned rounds = 0;

    set_up(NULL);
    outcome.in_closed = stop_run;
    start_call(ECHO_METHOD, LULL_MINUTE);
    ck_assert_int_eq(lull_loop_run(loop), LULL_OK);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    before = counted();
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK);
    ck_assert_uint_ge(counted().turns, before.turns + 1);
    /* It waits: what is left of the call may end some rounds early, but not all. */
    from = now();
    while (lull_instant_diff(now(), from) < 30 * LULL_MS) {
        ck_assert_int_eq(lull_loop_run_once(loop, 3 * LULL_MS + 1), LULL_OK);
        rounds++;
    }
    ck_assert_uint_le(rounds, 20);
    ck_assert(host->is_own || lull_loop_fd(loop) == -1);
    tear_down();
}
END_TEST

/* ---- alarms */

struct fired {
    struct lull_timer timer;
    struct lull_instant at;
    unsigned count;
};

static struct fired fired;

static void note_fired(struct lull_timer *timer, struct lull_instant at)
{
    (void)timer;
    fired.at = at;
    fired.count++;
}

static bool has_fired(void)
{
    return fired.count > 0;
}

static void enter(void)
{
    ck_assert_int_eq(lull_executor_enter(lull_loop_executor(loop)), LULL_OK);
}

static void leave(void)
{
    lull_executor_leave(lull_loop_executor(loop));
}

static struct lull_instant arm_in(int64_t after_ns)
{
    struct lull_instant at;

    fired.count = 0;
    enter();
    at = lull_instant_add(lull_executor_now(lull_loop_executor(loop)), after_ns);
    lull_timer_arm(&fired.timer, at);
    leave();
    return at;
}

static void arm_and_check(void)
{
    for (int i = 0; i < 40; i++) {
        const struct lull_counters before = counted();
        const struct lull_instant at = arm_in(LULL_MS / 2 + 170 * LULL_US * i + 1);

        run_until(has_fired);
        ck_assert_int_ge(fired.at.ns, at.ns);
        /* One turn: no alarm came early, for which another would have had to be asked for. */
        ck_assert_uint_eq(counted().turns, before.turns + 1);
    }
}

static void timer_make(void)
{
    enter();
    ck_assert_int_eq(lull_timer_init(&fired.timer, lull_loop_executor(loop), note_fired), LULL_OK);
    leave();
}

static void timer_drop(void)
{
    enter();
    lull_timer_fini(&fired.timer);
    leave();
}

START_TEST(an_alarm_is_one_turn_and_never_early)
{
    set_up(NULL);
    timer_make();
    arm_and_check();
    timer_drop();
    tear_down();
}
END_TEST

static struct lull_instant armed_at;

/* A callback that took its time: what the host takes for now is old, and an alarm counted from it would be early. */
static void dawdle_and_arm(void)
{
    const struct lull_instant until = lull_instant_add(now(), 7 * LULL_MS);

    while (lull_instant_before(now(), until)) {
    }
    armed_at = arm_in(3 * LULL_MS + 1);
}

START_TEST(an_alarm_set_in_a_long_callback_is_not_early)
{
    set_up(NULL);
    timer_make();
    for (int i = 0; i < 10; i++) {
        struct lull_counters before;

        armed_at = lull_at(LULL_NEVER);
        fired.count = 0;
        before = counted();
        host->call_back(dawdle_and_arm);
        run_until(has_fired);
        ck_assert_int_ge(fired.at.ns, armed_at.ns);
        ck_assert_uint_eq(counted().turns, before.turns + 1);
    }
    timer_drop();
    tear_down();
}
END_TEST

START_TEST(an_alarm_moves_earlier_and_one_that_is_due_is_a_turn)
{
    struct lull_instant at;

    set_up(NULL);
    timer_make();
    arm_in(3600 * LULL_SECOND);
    at = arm_in(2 * LULL_MS);
    run_until(has_fired);
    ck_assert_int_ge(fired.at.ns, at.ns);
    ck_assert_int_lt(lull_instant_diff(fired.at, at), 5 * LULL_SECOND); /* the alarm, not the round's end */
    at = arm_in(0);
    run_until(has_fired);
    ck_assert_int_lt(lull_instant_diff(fired.at, at), 5 * LULL_SECOND);
    /* the end of time, and just before it */
    arm_in(LULL_NEVER);
    arm_in(LULL_NEVER - 1);
    host->round(0);
    ck_assert_uint_eq(fired.count, 0);
    timer_drop();
    tear_down();
}
END_TEST

/* ---- the host inside the host */

static unsigned depth, deepest;

static bool is_nest_over(void)
{
    return is_closed();
}

static void nest_once_more(void)
{
    depth++;
    deepest = depth > deepest ? depth : deepest;
    start_call(ECHO_METHOD, LULL_MINUTE);
    if (depth < 2) {
        host->call_back(nest_once_more);
    }
    host->nest(is_nest_over);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    depth--;
}

/* Where the library does not allow it, lull's verbs say so. */
static void refuse_to_nest(void)
{
    depth++;
    deepest = 2;
    ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_RC_SYSTEM);
    start_call(ECHO_METHOD, LULL_MINUTE);
}

START_TEST(the_hosts_loop_may_be_run_inside_itself_where_the_library_allows_it)
{
    set_up(NULL);
    depth = deepest = 0;
    outcome.closed = 0;
    host->call_back(host->nest != NULL ? nest_once_more : refuse_to_nest);
    if (host->nest != NULL) {
        run_until(is_closed);
    } else {
        while (!is_closed()) {
            ck_assert_int_eq(lull_loop_run_once(loop, LULL_SECOND), LULL_OK);
        }
    }
    ck_assert_uint_eq(deepest, 2);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

static void run_host_inside(void)
{
    const struct lull_counters before = counted();

    if (host->nest != NULL) {
        host->round(0); /* no turn inside a turn */
        host->round(0);
    }
    ck_assert_uint_eq(counted().turns, before.turns);
}

START_TEST(the_hosts_loop_run_in_a_callback_of_lull_runs_no_turn)
{
    set_up(NULL);
    outcome.in_closed = run_host_inside;
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    outcome.in_closed = NULL;
    start_call(ECHO_METHOD, LULL_MINUTE);
    run_until(is_closed);
    ck_assert_int_eq(outcome.code, LULL_CODE_OK);
    tear_down();
}
END_TEST

void adapter_add_host(TCase *cases)
{
    tcase_add_test(cases, a_call_started_in_a_hosts_callback_leaves_before_the_host_sleeps);
    tcase_add_test(cases, a_call_started_outside_of_the_loop_leaves_before_the_host_sleeps);
    tcase_add_test(cases, a_flush_writes_at_once);
    tcase_add_test(cases, a_submit_from_another_thread_wakes_a_sleeping_host);
    tcase_add_test(cases, a_stop_from_another_thread_ends_the_run);
    tcase_add_test(cases, it_is_run_by_lulls_own_verbs_too);
    tcase_add_test(cases, an_alarm_is_one_turn_and_never_early);
    tcase_add_test(cases, an_alarm_set_in_a_long_callback_is_not_early);
    tcase_add_test(cases, an_alarm_moves_earlier_and_one_that_is_due_is_a_turn);
    tcase_add_test(cases, the_hosts_loop_may_be_run_inside_itself_where_the_library_allows_it);
    tcase_add_test(cases, the_hosts_loop_run_in_a_callback_of_lull_runs_no_turn);
}
