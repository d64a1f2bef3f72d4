/* SPDX-License-Identifier: MIT */
/* One turn (src/exec/turn.c): the order of its phases, its budget, its due pass. */
#include "exec/executor.h"

#include "lull/timer.h"
#include "tests/unit/exec/fixture.h"
#include "tests/unit/exec/step.h"

static struct rig rig;
struct word_timer {
    struct lull_timer timer;
    const char *word;
    struct step *posts;
    struct lull_timer *arms;
};

static void run_timer(struct lull_timer *timer, struct lull_instant now)
{
    struct word_timer *w = (struct word_timer *)(void *)timer;
    say(w->word);
    if (w->posts != NULL) {
        lull_executor_post(rig.executor, &w->posts->task);
    }
    if (w->arms != NULL) {
        lull_timer_arm(w->arms, now);
    }
}

static struct word_timer timers[3];

static void setup(void)
{
    static const char *const words[3] = {"timer0", "timer1", "timer2"};
    rig_init(&rig, 0);
    memset(said, 0, sizeof(said));
    memset(timers, 0, sizeof(timers));
    rig_enter(&rig);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(lull_timer_init(&timers[i].timer, rig.executor, run_timer), LULL_OK);
        timers[i].word = words[i];
    }
    rig_leave(&rig);
}

static void teardown(void)
{
    rig_enter(&rig);
    for (size_t i = 0; i < 3; i++) {
        lull_timer_fini(&timers[i].timer);
    }
    rig_leave(&rig);
    rig_fini(&rig);
}

static void turn_at(int64_t at_ns)
{
    rig.clock.mono_at = lull_at(at_ns);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(at_ns)), LULL_OK);
}

static bool is_quiet(void)
{
    return lull_executor_next_at(rig.executor).ns == LULL_NEVER;
}

START_TEST(the_phases_come_in_their_order)
{
    struct step inbox = step("inbox"), ready = step("ready"), task = step("task");
    struct step from_timer = step("from-timer"), flush = step("flush"), failed = step("failed");
    struct step again = step("again"), dead = step("dead"), child = step("child");
    flush.posts = &failed;
    failed.posts_flush = &again;
    dead.posts_dead = &child;
    timers[0].posts = &from_timer;
    from_timer.posts_flush = &flush;
    rig_enter(&rig);
    /* Queued in the opposite order. */
    executor_post_dead(rig.executor, &dead.task);
    lull_timer_arm(&timers[0].timer, lull_at(5));
    lull_executor_post(rig.executor, &task.task);
    executor_post_ready(rig.executor, &ready.task);
    rig_leave(&rig);
    ck_assert(lull_executor_submit(rig.executor, &inbox.task));
    turn_at(5);
    ck_assert_str_eq(said, "inbox ready task timer0 from-timer flush failed again dead child");
    ck_assert(is_quiet());
}
END_TEST

START_TEST(commands_and_bytes_are_heard_before_any_timer_judges)
{
    struct step cancel = step("cancel"), bytes = step("bytes"), message = step("message");
    bytes.posts = &message;
    rig_enter(&rig);
    lull_timer_arm(&timers[0].timer, lull_at(5));
    rig_leave(&rig);
    executor_post_ready(rig.executor, &bytes.task); /* outside a turn, as the loop does */
    ck_assert(lull_executor_submit(rig.executor, &cancel.task));
    turn_at(100);
    ck_assert_str_eq(said, "cancel bytes message timer0");
}
END_TEST

START_TEST(each_transport_is_flushed_once)
{
    struct step one = step("one"), two = step("two"), flush = step("flush");
    one.posts_flush = &flush;
    two.posts_flush = &flush;
    rig_enter(&rig);
    lull_executor_post(rig.executor, &one.task);
    lull_executor_post(rig.executor, &two.task);
    rig_leave(&rig);
    turn_at(0);
    ck_assert_str_eq(said, "one two flush");
}
END_TEST

START_TEST(a_flush_asked_for_by_flushes_comes_once_more_and_then_in_the_next_turn)
{
    struct step flush = step("flush");
    flush.posts_flush = &flush;
    rig_enter(&rig);
    executor_post_flush(rig.executor, &flush.task);
    rig_leave(&rig);
    turn_at(0);
    ck_assert_str_eq(said, "flush flush");
    ck_assert_int_le(lull_executor_next_at(rig.executor).ns, 0);
    turn_at(0);
    ck_assert_str_eq(said, "flush flush flush flush");
    rig_enter(&rig);
    ck_assert(lull_executor_unpost(rig.executor, &flush.task));
    rig_leave(&rig);
}
END_TEST

START_TEST(an_endpoint_made_ready_by_reading_is_read_in_the_next_turn)
{
    struct step ready = step("ready"), task = step("task");
    ready.posts_ready = &ready;
    ready.posts = &task;
    executor_post_ready(rig.executor, &ready.task);
    turn_at(0);
    ck_assert_str_eq(said, "ready task");
    ck_assert_int_le(lull_executor_next_at(rig.executor).ns, 0);
    ready.posts_ready = NULL;
    turn_at(0);
    ck_assert_str_eq(said, "ready task ready task");
    ck_assert(is_quiet());
}
END_TEST

START_TEST(what_a_task_submits_is_taken_in_the_next_turn)
{
    struct step first = step("first"), second = step("second");
    first.submits = &second;
    ck_assert(lull_executor_submit(rig.executor, &first.task));
    turn_at(0);
    ck_assert_str_eq(said, "first");
    ck_assert_int_le(lull_executor_next_at(rig.executor).ns, 0);
    turn_at(0);
    ck_assert_str_eq(said, "first second");
}
END_TEST

START_TEST(tasks_of_the_second_flush_and_of_frees_wait_for_the_next_turn)
{
    struct step dead = step("dead"), later = step("later");
    dead.posts = &later;
    rig_enter(&rig);
    executor_post_dead(rig.executor, &dead.task);
    rig_leave(&rig);
    turn_at(0);
    ck_assert_str_eq(said, "dead");
    ck_assert(!is_quiet());
    turn_at(0);
    ck_assert_str_eq(said, "dead later");
}
END_TEST

/* ---- the due pass */

START_TEST(due_timers_run_in_the_order_of_instant_then_arming)
{
    rig_enter(&rig);
    lull_timer_arm(&timers[2].timer, lull_at(7));
    lull_timer_arm(&timers[1].timer, lull_at(7));
    lull_timer_arm(&timers[0].timer, lull_at(3));
    rig_leave(&rig);
    turn_at(10);
    ck_assert_str_eq(said, "timer0 timer2 timer1");
}
END_TEST

START_TEST(a_timer_armed_in_the_pass_waits_for_the_next_turn)
{
    timers[0].arms = &timers[1].timer;
    rig_enter(&rig);
    lull_timer_arm(&timers[0].timer, lull_at(1));
    lull_timer_arm(&timers[2].timer, lull_at(2));
    rig_leave(&rig);
    turn_at(5);
    ck_assert_str_eq(said, "timer0 timer2");
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 5);
    turn_at(5);
    ck_assert_str_eq(said, "timer0 timer2 timer1");
}
END_TEST

START_TEST(a_timer_armed_for_now_by_a_task_before_the_pass_is_in_it)
{
    struct step task = step("task");
    task.arms = &timers[1].timer;
    rig_enter(&rig);
    lull_executor_post(rig.executor, &task.task);
    rig_leave(&rig);
    turn_at(5);
    ck_assert_str_eq(said, "task timer1");
}
END_TEST

static int64_t told_ns;

static void note_now(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    told_ns = now.ns;
}

static void slow_user_callback(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    rig.clock.mono_at = lull_at(50);
    executor_on_user_returned(executor);
}

START_TEST(after_a_slow_user_callback_who_fires_is_told_the_fresh_now)
{
    struct lull_task slow;
    struct lull_timer due, later;
    lull_task_init(&slow, slow_user_callback);
    rig_enter(&rig);
    ck_assert_int_eq(lull_timer_init(&due, rig.executor, note_now), LULL_OK);
    ck_assert_int_eq(lull_timer_init(&later, rig.executor, note_now), LULL_OK);
    lull_executor_post(rig.executor, &slow);
    lull_timer_arm(&due, lull_at(5));
    lull_timer_arm(&later, lull_at(40));
    rig_leave(&rig);
    turn_at(5);
    ck_assert_int_eq(told_ns, 50);
    /* Due meanwhile: for the next turn, which is due already. */
    ck_assert(lull_timer_is_armed(&later));
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, 40);
    rig_enter(&rig);
    lull_timer_fini(&due);
    lull_timer_fini(&later);
    rig_leave(&rig);
}
END_TEST

START_TEST(a_turn_in_which_nothing_is_due_reads_no_clock)
{
    struct step task = step("task");
    rig_enter(&rig);
    lull_timer_arm(&timers[0].timer, lull_at(100));
    lull_executor_post(rig.executor, &task.task);
    rig_leave(&rig);
    const uint64_t before = rig.clock.reads;
    turn_at(5);
    ck_assert_uint_eq(rig.clock.reads, before);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 0);
}
END_TEST

/* ---- the budget */

static uint32_t ran;

static void count(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    ran++;
}

static void count_and_post(struct lull_task *task, struct lull_executor *executor)
{
    ran++;
    lull_executor_post(executor, task);
}

START_TEST(a_turn_runs_1024_tasks_and_the_rest_in_the_next)
{
    enum { TASKS = 1500 };
    struct lull_task *tasks = calloc(TASKS, sizeof(*tasks));
    ck_assert_ptr_nonnull(tasks);
    ran = 0;
    rig_enter(&rig);
    for (int i = 0; i < TASKS; i++) {
        lull_task_init(&tasks[i], count);
        lull_executor_post(rig.executor, &tasks[i]);
    }
    rig_leave(&rig);
    turn_at(0);
    ck_assert_uint_eq(ran, 1024);
    ck_assert_int_le(lull_executor_next_at(rig.executor).ns, 0);
    turn_at(0);
    ck_assert_uint_eq(ran, TASKS);
    ck_assert(is_quiet());
    ck_assert_uint_eq(rig_counters(&rig).posts, TASKS);
    free(tasks);
}
END_TEST

START_TEST(a_task_that_always_posts_itself_starves_nobody)
{
    struct lull_task forever;
    struct step flush = step("flush");
    ran = 0;
    lull_task_init(&forever, count_and_post);
    rig_enter(&rig);
    lull_executor_post(rig.executor, &forever);
    lull_timer_arm(&timers[0].timer, lull_at(1));
    executor_post_flush(rig.executor, &flush.task);
    rig_leave(&rig);
    turn_at(1);
    ck_assert_str_eq(said, "timer0 flush");
    ck_assert_uint_eq(ran, 1024);
    rig_enter(&rig);
    ck_assert(lull_executor_unpost(rig.executor, &forever));
    rig_leave(&rig);
}
END_TEST

START_TEST(commands_do_not_count_so_that_none_is_judged_late)
{
    enum { TASKS = 3000 };
    struct lull_task *tasks = calloc(TASKS, sizeof(*tasks));
    ck_assert_ptr_nonnull(tasks);
    ran = 0;
    for (int i = 0; i < TASKS; i++) {
        lull_task_init(&tasks[i], count);
        ck_assert(lull_executor_submit(rig.executor, &tasks[i]));
    }
    turn_at(0);
    ck_assert_uint_eq(ran, TASKS);
    ck_assert_uint_eq(rig_counters(&rig).submits, TASKS);
    free(tasks);
}
END_TEST

START_TEST(the_budget_is_an_option)
{
    struct lull_executor_options options;
    struct lull_executor *executor;
    struct lull_task forever;
    lull_executor_options_init(&options);
    options.clock = &rig.clock.base;
    options.task_budget = 3;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    ran = 0;
    lull_task_init(&forever, count_and_post);
    (void)lull_executor_submit(executor, &forever);
    ck_assert_int_eq(lull_executor_turn(executor, lull_at(0)), LULL_OK);
    ck_assert_uint_eq(ran, 1 + 3);
    lull_executor_free(executor);
}
END_TEST

START_TEST(turns_are_numbered_from_one)
{
    ck_assert_uint_eq(executor_turn_number(rig.executor), 0);
    turn_at(0);
    ck_assert_uint_eq(executor_turn_number(rig.executor), 1);
    turn_at(0);
    ck_assert_uint_eq(executor_turn_number(rig.executor), 2);
}
END_TEST

static Suite *turn_suite(void)
{
    Suite *suite = suite_create("exec/turn");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_phases_come_in_their_order);
    tcase_add_test(cases, commands_and_bytes_are_heard_before_any_timer_judges);
    tcase_add_test(cases, each_transport_is_flushed_once);
    tcase_add_test(cases, a_flush_asked_for_by_flushes_comes_once_more_and_then_in_the_next_turn);
    tcase_add_test(cases, an_endpoint_made_ready_by_reading_is_read_in_the_next_turn);
    tcase_add_test(cases, what_a_task_submits_is_taken_in_the_next_turn);
    tcase_add_test(cases, tasks_of_the_second_flush_and_of_frees_wait_for_the_next_turn);
    tcase_add_test(cases, due_timers_run_in_the_order_of_instant_then_arming);
    tcase_add_test(cases, a_timer_armed_in_the_pass_waits_for_the_next_turn);
    tcase_add_test(cases, a_timer_armed_for_now_by_a_task_before_the_pass_is_in_it);
    tcase_add_test(cases, after_a_slow_user_callback_who_fires_is_told_the_fresh_now);
    tcase_add_test(cases, a_turn_in_which_nothing_is_due_reads_no_clock);
    tcase_add_test(cases, a_turn_runs_1024_tasks_and_the_rest_in_the_next);
    tcase_add_test(cases, a_task_that_always_posts_itself_starves_nobody);
    tcase_add_test(cases, commands_do_not_count_so_that_none_is_judged_late);
    tcase_add_test(cases, the_budget_is_an_option);
    tcase_add_test(cases, turns_are_numbered_from_one);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("turn", turn_suite)
