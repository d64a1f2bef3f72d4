/* SPDX-License-Identifier: MIT */
/* The executor (src/exec/executor.c) with real threads: the serializer's scenarios 21 and 22, and submit
 * storms from four threads. Nothing here sleeps: threads wait for each other. */
#include "exec/executor.h"

#include <pthread.h>

#include "tests/unit/exec/fixture.h"
#include "lull/timer.h"
#include "tests/support/death.h"
#include "tests/support/rounds.h"

static struct rig rig;

static void setup(void)
{
    rig_init(&rig, 0);
}

static void teardown(void)
{
    rig_fini(&rig);
}

/* ---- two threads: S is inside task a while the main thread tries things */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_inside;
    bool may_end;
    uintptr_t b_ran_on; /* pthread_self */
    bool in_context_inside;
} meeting = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wait_inside(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    pthread_mutex_lock(&meeting.mutex);
    meeting.in_context_inside = lull_executor_in_context(executor);
    meeting.is_inside = true;
    pthread_cond_broadcast(&meeting.changed);
    while (!meeting.may_end) {
        pthread_cond_wait(&meeting.changed, &meeting.mutex);
    }
    pthread_mutex_unlock(&meeting.mutex);
}

static void note_thread(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    meeting.b_ran_on = (uintptr_t)pthread_self();
}

static void *drive_until_quiet(void *arg)
{
    struct lull_executor *executor = arg;
    while (lull_executor_next_at(executor).ns <= 0) {
        (void)lull_executor_turn(executor, lull_at(0));
    }
    return NULL;
}

/* S runs `run`, which calls wait_inside, in `drive`. */
static pthread_t start_inside_with(struct lull_task *task, lull_task_fn run, void *(*drive)(void *))
{
    pthread_t s;
    lull_task_init(task, run);
    meeting.is_inside = false;
    meeting.may_end = false;
    ck_assert(lull_executor_submit(rig.executor, task));
    ck_assert_int_eq(pthread_create(&s, NULL, drive, rig.executor), 0);
    pthread_mutex_lock(&meeting.mutex);
    while (!meeting.is_inside) {
        pthread_cond_wait(&meeting.changed, &meeting.mutex);
    }
    pthread_mutex_unlock(&meeting.mutex);
    return s;
}

static pthread_t start_inside(struct lull_task *task)
{
    return start_inside_with(task, wait_inside, drive_until_quiet);
}

static void let_end(pthread_t s)
{
    pthread_mutex_lock(&meeting.mutex);
    meeting.may_end = true;
    pthread_cond_broadcast(&meeting.changed);
    pthread_mutex_unlock(&meeting.mutex);
    ck_assert_int_eq(pthread_join(s, NULL), 0);
}

/* scenario 21 */
START_TEST(while_another_thread_drains_a_submit_returns_and_its_task_runs_there)
{
    struct lull_task inside, note;
    pthread_t s = start_inside(&inside);
    meeting.b_ran_on = 0;
    lull_task_init(&note, note_thread);
    ck_assert(lull_executor_submit(rig.executor, &note));
    /* We cannot drain either: S does. */
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_RC_IN_TURN);
    ck_assert_uint_eq(meeting.b_ran_on, 0);
    const uintptr_t s_id = (uintptr_t)s;
    let_end(s);
    ck_assert_uint_eq(meeting.b_ran_on, s_id);
}
END_TEST

static void post_a_note(void)
{
    static struct lull_task note;
    lull_task_init(&note, note_thread);
    lull_executor_post(rig.executor, &note);
}

static void post_inside(struct lull_task *task, struct lull_executor *executor)
{
    wait_inside(task, executor);
    post_a_note();
}

/* scenario 22 */
START_TEST(only_the_draining_thread_is_in_context_and_others_are_told_so)
{
    struct lull_task inside;
    meeting.b_ran_on = 0;
    ck_assert(!lull_executor_in_context(rig.executor));
    pthread_t s = start_inside_with(&inside, post_inside, drive_until_quiet);
    ck_assert(!lull_executor_in_context(rig.executor));
    expect_death(post_a_note, "a task is posted outside the context");
    const uintptr_t s_id = (uintptr_t)s;
    let_end(s);
    ck_assert(meeting.in_context_inside);
    ck_assert_uint_eq(meeting.b_ran_on, s_id); /* inside it passes */
    ck_assert(!lull_executor_in_context(rig.executor));
    expect_death(post_a_note, "a task is posted outside the context");
}
END_TEST

/* ---- scenario 29: t1 blocks its turn, the timer t2 comes due meanwhile, t3 is submitted; then t1 may take t2 back */

static struct {
    struct lull_timer t2;
    bool t1_cancels;
    bool was_t2_pending; /* when t1 went on */
    unsigned t2_runs, t3_runs;
} late;

static void run_t1(struct lull_task *task, struct lull_executor *executor)
{
    wait_inside(task, executor);
    late.was_t2_pending = lull_timer_is_armed(&late.t2);
    if (late.t1_cancels) {
        lull_timer_disarm(&late.t2);
    }
}

static void run_t2(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    late.t2_runs++;
}

static void run_t3(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    late.t3_runs++;
}

static void *drive_by_the_clock(void *arg)
{
    while (!lull_instant_before(lull_clock_now(&rig.clock.base), lull_executor_next_at(arg))) {
        (void)lull_executor_turn_now(arg);
    }
    return NULL;
}

START_TEST(a_task_that_outlasts_an_expiry_still_cancels_it)
{
    struct lull_task t1, t3;
    memset(&late, 0, sizeof(late));
    late.t1_cancels = _i == 1;
    rig_enter(&rig);
    ck_assert_int_eq(lull_timer_init(&late.t2, rig.executor, run_t2), LULL_OK);
    lull_timer_arm(&late.t2, lull_at(10));
    rig_leave(&rig);
    pthread_t s = start_inside_with(&t1, run_t1, drive_by_the_clock);
    rig.clock.mono_at = lull_at(10); /* S reads it after it has gone on */
    lull_task_init(&t3, run_t3);
    ck_assert(lull_executor_submit(rig.executor, &t3));
    let_end(s);
    ck_assert(late.was_t2_pending);
    ck_assert_uint_eq(late.t2_runs, late.t1_cancels ? 0 : 1);
    ck_assert_uint_eq(late.t3_runs, 1);
    lull_fake_clock_advance(&rig.clock, 1000);
    ck_assert_uint_eq(late.t2_runs, late.t1_cancels ? 0 : 1);
    rig_enter(&rig);
    lull_timer_fini(&late.t2);
    rig_leave(&rig);
}
END_TEST

/* ---- storms: four threads submit, one drives and sleeps in between. A stranded task would hang it. */

#define THREADS 4

struct storm_loop {
    struct lull_loop base;
    pthread_mutex_t mutex;
    pthread_cond_t woken;
    bool is_woken;
};

struct stormer {
    struct lull_task task[64];
    struct storm *storm;
    uint32_t added;
    uint32_t each; /* to add */
};

struct storm {
    struct storm_loop loop;
    struct stormer stormer[THREADS];
    _Atomic(uint32_t) finished;
    uint64_t ran; /* the driving thread's */
};

static struct storm storm;

static int storm_alarm(struct lull_loop *loop, struct lull_instant at)
{
    (void)loop;
    (void)at;
    return 0;
}

static void storm_wake(struct lull_loop *loop)
{
    struct storm_loop *s = (struct storm_loop *)(void *)loop;
    pthread_mutex_lock(&s->mutex);
    s->is_woken = true;
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->mutex);
}

static const struct lull_loop_ops storm_ops = {.alarm = storm_alarm, .wake = storm_wake};

static void count_run(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    storm.ran++;
}

static void *submit_storm(void *arg)
{
    struct stormer *me = arg;
    uint32_t i = 0;
    while (me->added < me->each) {
        me->added += lull_executor_submit(rig.executor, &me->task[i++ % 64]);
    }
    atomic_fetch_add(&me->storm->finished, 1);
    /* For the driver's last look at `finished`. */
    storm_wake(&me->storm->loop.base);
    return NULL;
}

static void sleep_until_woken(struct storm_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    while (!loop->is_woken) {
        pthread_cond_wait(&loop->woken, &loop->mutex);
    }
    loop->is_woken = false;
    pthread_mutex_unlock(&loop->mutex);
}

static void run_storm(bool is_silent)
{
    const uint32_t each = test_rounds(20000, 1000);
    pthread_t thread[THREADS];
    memset(&storm, 0, sizeof(storm));
    storm.loop.base.ops = &storm_ops;
    pthread_mutex_init(&storm.loop.mutex, NULL);
    pthread_cond_init(&storm.loop.woken, NULL);
    executor_set_loop(rig.executor, &storm.loop.base);
    if (is_silent) {
        executor_set_loop_silent(rig.executor);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        storm.stormer[t].storm = &storm;
        storm.stormer[t].each = each;
        for (uint32_t i = 0; i < 64; i++) {
            lull_task_init(&storm.stormer[t].task[i], count_run);
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        ck_assert_int_eq(pthread_create(&thread[t], NULL, submit_storm, &storm.stormer[t]), 0);
    }
    while (atomic_load(&storm.finished) < THREADS || storm.ran < (uint64_t)THREADS * each) {
        if (lull_executor_next_at(rig.executor).ns <= 0) {
            MUST(lull_executor_turn_now(rig.executor) == LULL_OK);
        } else if (is_silent) {
            /* A wake is answered by a turn, whether or not there seems to be work: only a turn
             * makes the next submit wake again. */
            sleep_until_woken(&storm.loop);
            MUST(lull_executor_turn_now(rig.executor) == LULL_OK);
        } else if (executor_sleep(rig.executor)) {
            sleep_until_woken(&storm.loop);
            executor_awake(rig.executor);
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
    }
    ck_assert_uint_eq(storm.ran, (uint64_t)THREADS * each);
    ck_assert_uint_eq(rig_counters(&rig).submits, (uint64_t)THREADS * each);
    executor_set_loop(rig.executor, NULL);
}

START_TEST(no_submit_of_four_threads_is_stranded_by_a_loop_that_sleeps)
{
    run_storm(false);
}
END_TEST

START_TEST(no_submit_of_four_threads_is_stranded_by_a_silent_host)
{
    run_storm(true);
}
END_TEST

static Suite *executor_threads_suite(void)
{
    Suite *suite = suite_create("exec/executor_threads");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 240);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, while_another_thread_drains_a_submit_returns_and_its_task_runs_there);
    tcase_add_test(cases, only_the_draining_thread_is_in_context_and_others_are_told_so);
    tcase_add_loop_test(cases, a_task_that_outlasts_an_expiry_still_cancels_it, 0, 2);
    tcase_add_test(cases, no_submit_of_four_threads_is_stranded_by_a_loop_that_sleeps);
    tcase_add_test(cases, no_submit_of_four_threads_is_stranded_by_a_silent_host);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("executor_threads", executor_threads_suite)
