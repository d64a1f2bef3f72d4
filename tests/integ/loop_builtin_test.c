/* SPDX-License-Identifier: MIT */
/* The built-in loop, whichever it is, on the real kernel: alarms, wakes, being run. Nesting is loop_nested_test.c. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/container.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "lull/timer.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

static struct net_world world;

struct fired {
    struct lull_timer timer;
    struct lull_instant at; /* when it ran */
    int count;
};

static void note_fired(struct lull_timer *timer, struct lull_instant now)
{
    struct fired *fired = container_of(timer, struct fired, timer);

    fired->at = now;
    fired->count++;
}

static void timer_make(struct fired *fired)
{
    memset(fired, 0, sizeof(*fired));
    net_enter(&world);
    ck_assert_int_eq(lull_timer_init(&fired->timer, world.executor, note_fired), LULL_OK);
    net_leave(&world);
}

static struct lull_instant timer_arm_in(struct fired *fired, int64_t after_ns)
{
    struct lull_instant at;

    net_enter(&world);
    at = lull_instant_add(lull_executor_now(world.executor), after_ns);
    lull_timer_arm(&fired->timer, at);
    net_leave(&world);
    return at;
}

static void timer_drop(struct fired *fired)
{
    net_enter(&world);
    lull_timer_fini(&fired->timer);
    net_leave(&world);
}

static bool has_fired(void *ctx)
{
    return ((struct fired *)ctx)->count > 0;
}

START_TEST(an_unused_loop_holds_no_descriptor)
{
    int fds = net_count_fds();

    net_world_init(&world);
    ck_assert_int_eq(lull_loop_flush(world.loop), LULL_OK);
    ck_assert_int_eq(net_count_fds(), fds);
    net_world_fini(&world);
    ck_assert_int_eq(net_count_fds(), fds);
    lull_loop_free(NULL);
}
END_TEST

START_TEST(a_loop_that_was_used_leaves_no_descriptor)
{
    int fds = net_count_fds();
    struct fired fired;

    net_world_init(&world);
    timer_make(&fired);
    timer_arm_in(&fired, LULL_SECOND);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
#ifdef LULL_LOOP_POLL
    ck_assert_int_eq(lull_loop_fd(world.loop), -1);
#else
    ck_assert_int_ge(lull_loop_fd(world.loop), 0);
#endif
    ck_assert_int_eq(net_count_fds(), fds + (int)LOOP_FDS);
    timer_drop(&fired);
    net_world_fini(&world);
    ck_assert_int_eq(net_count_fds(), fds);
}
END_TEST

START_TEST(an_alarm_fires_and_never_early)
{
    struct fired fired;

    net_world_init(&world);
    timer_make(&fired);
    for (int i = 0; i < 20; i++) {
        struct lull_instant at = timer_arm_in(&fired, 300 * LULL_US * i + 1);

        fired.count = 0;
        net_run_until(&world, has_fired, &fired);
        ck_assert_int_eq(fired.count, 1);
        ck_assert_int_ge(fired.at.ns, at.ns);
    }
    timer_drop(&fired);
    net_world_fini(&world);
}
END_TEST

START_TEST(an_earlier_alarm_replaces_a_later_one)
{
    struct fired far_one, near_one;
    struct lull_instant at;
    struct lull_counters before;

    net_world_init(&world);
    timer_make(&far_one);
    timer_make(&near_one);
    timer_arm_in(&far_one, 3600 * LULL_SECOND);
    before = net_counted(&world);
    at = timer_arm_in(&near_one, 5 * LULL_MS);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + ALARM_SYSCALLS);
    ck_assert_uint_eq(net_counted(&world).alarms, before.alarms + 1);
    net_run_until(&world, has_fired, &near_one);
    ck_assert_int_ge(near_one.at.ns, at.ns);
    ck_assert_int_eq(far_one.count, 0);
    timer_drop(&far_one);
    timer_drop(&near_one);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_later_alarm_costs_no_system_call)
{
    struct fired near_one, far_one;
    struct lull_counters before;

    net_world_init(&world);
    timer_make(&near_one);
    timer_make(&far_one);
    timer_arm_in(&near_one, 5 * LULL_MS);
    before = net_counted(&world);
    timer_arm_in(&far_one, 7200 * LULL_SECOND);
    timer_arm_in(&near_one, 3600 * LULL_SECOND); /* moved out: the standing alarm comes early */
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls);
    ck_assert_uint_eq(net_counted(&world).alarms, before.alarms);
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    /* the wait, and the alarm for the hour */
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 1 + ALARM_SYSCALLS);
    ck_assert_uint_eq(net_counted(&world).alarms, before.alarms + 1);
    ck_assert_int_eq(near_one.count + far_one.count, 0);
    timer_drop(&near_one);
    timer_drop(&far_one);
    net_world_fini(&world);
}
END_TEST

/* The executor asks for later alarms too, when it does not know of an earlier one. */
START_TEST(an_alarm_that_stands_serves_for_later_ones)
{
    struct lull_loop *loop;
    struct lull_instant now;
    struct lull_counters before;

    net_world_init(&world);
    loop = world.loop;
    net_enter(&world);
    now = lull_executor_now(world.executor);
    ck_assert_int_eq(loop->ops->alarm(loop, lull_instant_add(now, 5 * LULL_MS)), 0);
    before = net_counted(&world);
    ck_assert_int_eq(loop->ops->alarm(loop, lull_instant_add(now, 3600 * LULL_SECOND)), 0);
    ck_assert_int_eq(loop->ops->alarm(loop, lull_at(LULL_NEVER)), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls);
    net_leave(&world);
    ck_assert_int_eq(lull_loop_run_once(loop, LULL_NEVER), LULL_OK);
    ck_assert_int_ge(lull_executor_now(world.executor).ns, now.ns + 5 * LULL_MS);
    /* it was used up: the same instant costs a call again */
    net_enter(&world);
    before = net_counted(&world);
    ck_assert_int_eq(loop->ops->alarm(loop, lull_instant_add(now, 3600 * LULL_SECOND)), 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + ALARM_SYSCALLS);
    net_leave(&world);
    net_world_fini(&world);
}
END_TEST

START_TEST(an_alarm_that_is_due_when_it_is_set_costs_no_system_call)
{
    struct fired fired;
    struct lull_counters before;

    net_world_init(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    timer_make(&fired);
    before = net_counted(&world);
    timer_arm_in(&fired, 0);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls);
    /* for ever, but something is due */
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    ck_assert_int_eq(fired.count, 1);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 1); /* the wait */
    timer_drop(&fired);
    net_world_fini(&world);
}
END_TEST

/* On a clock that is not the system's, alarms are relative to that clock's now. */
START_TEST(an_alarm_of_another_clock_is_relative_to_it)
{
    struct lull_fake_clock clock;
    struct lull_executor_options options;
    struct lull_counters before;
    struct fired fired;

    lull_fake_clock_init(&clock, INT64_C(-5000) * LULL_SECOND, 0);
    lull_executor_options_init(&options);
    options.clock = &clock.base;
    memset(&world, 0, sizeof(world));
    ck_assert_int_eq(lull_loop_new(&options, &world.loop), LULL_OK);
    world.executor = lull_loop_executor(world.loop);
    timer_make(&fired);
    timer_arm_in(&fired, 5 * LULL_MS);
    before = net_counted(&world);
    /* the kernel's 5 ms pass and wake us; the clock has not moved, so nothing is due */
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    ck_assert_uint_eq(net_counted(&world).wakeups, before.wakeups + 1);
    ck_assert_int_eq(fired.count, 0);
    lull_fake_clock_jump(&clock, 5 * LULL_MS);
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    ck_assert_int_eq(fired.count, 1);
    timer_drop(&fired);
    net_world_fini(&world);
}
END_TEST

START_TEST(run_once_without_a_wait_returns_and_with_one_waits)
{
    struct lull_instant start;

    net_world_init(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert_int_eq(lull_loop_run_once(world.loop, -1), LULL_OK);
    start = lull_executor_now(world.executor);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 3 * LULL_MS + 1), LULL_OK);
    ck_assert_int_gt(lull_instant_diff(lull_executor_now(world.executor), start), 3 * LULL_MS);
    net_world_fini(&world);
}
END_TEST

/* ---- other threads */

struct note {
    struct lull_task task;
    int runs;
    bool stops;
};

static void note_run(struct lull_task *task, struct lull_executor *executor)
{
    struct note *note = container_of(task, struct note, task);

    note->runs++;
    if (note->stops) {
        lull_loop_stop(executor_loop(executor));
    }
}

static void *submit_it(void *task)
{
    lull_executor_submit(world.executor, (struct lull_task *)task);
    return NULL;
}

START_TEST(a_submit_from_another_thread_wakes_a_sleeping_loop)
{
    struct note note = {.stops = true};
    pthread_t thread;

    net_world_init(&world);
    lull_task_init(&note.task, note_run);
    for (int i = 1; i <= 200; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, submit_it, &note.task), 0);
        ck_assert_int_eq(lull_loop_run(world.loop),
                         LULL_OK); /* or it hangs, and the test times out */
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_int_eq(note.runs, i);
    }
    net_world_fini(&world);
}
END_TEST

static void *stop_it(void *loop)
{
    lull_loop_stop((struct lull_loop *)loop);
    return NULL;
}

START_TEST(a_stop_from_another_thread_ends_the_run)
{
    pthread_t thread;

    net_world_init(&world);
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, stop_it, world.loop), 0);
        ck_assert_int_eq(lull_loop_run(world.loop), LULL_OK);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    net_world_fini(&world);
}
END_TEST

static void *run_it(void *loop)
{
    return lull_loop_run((struct lull_loop *)loop) == LULL_OK ? loop : NULL;
}

/* The maker drives at first; once another thread runs the loop, its submits must wake that one. */
START_TEST(a_loop_may_be_run_by_another_thread_than_its_maker)
{
    for (int i = 0; i < 200; i++) {
        struct note note = {.stops = true};
        pthread_t thread;
        void *result;

        net_world_init(&world);
        lull_task_init(&note.task, note_run);
        ck_assert_int_eq(pthread_create(&thread, NULL, run_it, world.loop), 0);
        ck_assert(lull_executor_submit(world.executor, &note.task));
        ck_assert_int_eq(pthread_join(thread, &result), 0);
        ck_assert_ptr_eq(result, world.loop);
        ck_assert_int_eq(note.runs, 1);
        net_world_fini(&world);
    }
}
END_TEST

/* RULINGS 27 is about shared descriptors; what was never opened is nobody else's. */
START_TEST(a_loop_that_holds_nothing_yet_may_be_used_by_a_forked_child)
{
    struct note note = {.stops = true};
    int status;
    pid_t child;

    net_world_init(&world);
    lull_task_init(&note.task, note_run);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool ok = lull_executor_submit(world.executor, &note.task);

        ok = ok && lull_loop_run(world.loop) == LULL_OK && note.runs == 1;
        lull_loop_free(world.loop);
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    net_world_fini(&world);
}
END_TEST

/* ---- callbacks, errors */

static void try_all(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_counters before = {.size = sizeof(before)}, after = {.size = sizeof(after)};

    container_of(task, struct note, task)->runs++;
    lull_executor_counters(executor, &before);
    ck_assert_int_eq(lull_loop_run(world.loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_loop_flush(world.loop), LULL_RC_IN_TURN);
    lull_loop_stop(world.loop);
    lull_executor_counters(executor, &after);
    ck_assert_uint_eq(after.syscalls, before.syscalls);
}

START_TEST(driving_inside_a_callback_is_refused_and_stopping_is_not)
{
    struct note note = {.runs = 0};

    net_world_init(&world);
    lull_task_init(&note.task, try_all);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert_int_eq(lull_loop_run(world.loop), LULL_OK);
    ck_assert_int_eq(note.runs, 1);
    net_enter(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_RC_IN_TURN);
    net_leave(&world);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_submit_on_the_driving_thread_outside_a_turn_costs_no_system_call)
{
    struct note note = {.runs = 0};
    struct lull_counters before;

    net_world_init(&world);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    lull_task_init(&note.task, note_run);
    before = net_counted(&world);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    ck_assert_int_eq(note.runs, 1);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 1); /* the wait */
    net_world_fini(&world);
}
END_TEST

static int with_no_descriptor_left(int (*what)(void))
{
    struct rlimit limit, none;
    int result;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0; /* the open ones stay */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    result = what();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return result;
}

static int run_now(void)
{
    return lull_loop_run_once(world.loop, 0);
}

static int ask_fd(void)
{
    return lull_loop_fd(world.loop);
}

static struct fired refused;

static int arm_refused(void)
{
    timer_arm_in(&refused, LULL_MS);
    return executor_is_alarm_refused(world.executor) ? 1 : 0;
}

START_TEST(a_loop_without_descriptors_says_so_and_recovers)
{
    int fds = net_count_fds();
    struct lull_watch watch = {.fd = 0};

    net_world_init(&world);
    timer_make(&refused);
    ck_assert_int_eq(with_no_descriptor_left(run_now), LULL_RC_SYSTEM);
    ck_assert_int_eq(with_no_descriptor_left(ask_fd), -1);
    /* RULINGS 18: a refused alarm is asked for again each turn */
    ck_assert_int_eq(with_no_descriptor_left(arm_refused), 1);
    ck_assert_int_eq(net_count_fds(), fds);
    ck_assert_int_eq(lull_loop_run_once(world.loop, 0), LULL_OK);
    ck_assert(!executor_is_alarm_refused(world.executor));
    net_run_until(&world, has_fired, &refused);
    /* a descriptor that is none */
    watch.fd = -1;
    ck_assert_int_eq(world.loop->ops->watch(world.loop, &watch, LULL_WANT_READ), EBADF);
    ck_assert_uint_eq(watch.want, LULL_WANT_NONE);
    ck_assert_int_eq(world.loop->ops->watch(world.loop, &watch, LULL_WANT_NONE), 0);
    timer_drop(&refused);
    net_world_fini(&world);
}
END_TEST

static Suite *loop_builtin_suite(void)
{
    Suite *suite = suite_create("loop_builtin");
    TCase *cases = tcase_create("loop_builtin");

    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, an_unused_loop_holds_no_descriptor);
    tcase_add_test(cases, a_loop_that_was_used_leaves_no_descriptor);
    tcase_add_test(cases, an_alarm_fires_and_never_early);
    tcase_add_test(cases, an_earlier_alarm_replaces_a_later_one);
    tcase_add_test(cases, a_later_alarm_costs_no_system_call);
    tcase_add_test(cases, an_alarm_that_stands_serves_for_later_ones);
    tcase_add_test(cases, an_alarm_that_is_due_when_it_is_set_costs_no_system_call);
    tcase_add_test(cases, an_alarm_of_another_clock_is_relative_to_it);
    tcase_add_test(cases, run_once_without_a_wait_returns_and_with_one_waits);
    tcase_add_test(cases, a_submit_from_another_thread_wakes_a_sleeping_loop);
    tcase_add_test(cases, a_stop_from_another_thread_ends_the_run);
    tcase_add_test(cases, a_loop_may_be_run_by_another_thread_than_its_maker);
    tcase_add_test(cases, a_loop_that_holds_nothing_yet_may_be_used_by_a_forked_child);
    tcase_add_test(cases, driving_inside_a_callback_is_refused_and_stopping_is_not);
    tcase_add_test(cases, a_submit_on_the_driving_thread_outside_a_turn_costs_no_system_call);
    tcase_add_test(cases, a_loop_without_descriptors_says_so_and_recovers);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("loop_builtin", loop_builtin_suite)
