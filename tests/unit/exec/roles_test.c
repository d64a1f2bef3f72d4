/* SPDX-License-Identifier: MIT */
/* Who polls, and who is next (src/exec/roles.c). */
#include "exec/roles.h"

#include "tests/unit/exec/fixture.h"

static struct rig rig;
static struct role_waiter first, second, driver;

static void begin(void)
{
    rig_init(&rig, 0);
    role_waiter_init(&first, false);
    role_waiter_init(&second, false);
    role_waiter_init(&driver, true);
    rig_enter(&rig);
}

static void end(void)
{
    rig_leave(&rig);
    role_waiter_fini(&first);
    role_waiter_fini(&second);
    role_waiter_fini(&driver);
    rig_fini(&rig);
}

static uint32_t told(const struct role_waiter *waiter)
{
    return wait_cell_read(&waiter->cell);
}

START_TEST(one_at_a_time)
{
    begin();
    ck_assert(roles_take(rig.executor));
    ck_assert(!roles_take(rig.executor));
    ck_assert(roles_are_taken(rig.executor));
    roles_leave(rig.executor);
    ck_assert(!roles_are_taken(rig.executor));
    ck_assert(roles_take(rig.executor));
    end();
}
END_TEST

START_TEST(who_leaves_hands_over_to_exactly_one)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_enlist(rig.executor, &first);
    roles_enlist(rig.executor, &second);
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&first), ROLE_POLLS);
    ck_assert_uint_eq(told(&second), 0);
    ck_assert(roles_are_taken(rig.executor));
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&second), ROLE_POLLS);
    roles_leave(rig.executor);
    ck_assert(!roles_are_taken(rig.executor));
    end();
}
END_TEST

START_TEST(a_driver_comes_first_and_a_stop_is_for_drivers)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_enlist(rig.executor, &first);
    roles_enlist(rig.executor, &driver);
    roles_stop_drivers(rig.executor);
    ck_assert_uint_eq(told(&driver), ROLE_STOP);
    ck_assert_uint_eq(told(&first), 0);
    role_waiter_init(&driver, true);
    roles_enlist(rig.executor, &driver);
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&driver), ROLE_POLLS);
    ck_assert_uint_eq(told(&first), 0);
    roles_leave(rig.executor);
    end();
}
END_TEST

START_TEST(who_was_told_is_not_next)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_enlist(rig.executor, &first);
    roles_enlist(rig.executor, &second);
    roles_tell(rig.executor, &first, ROLE_DONE, false);
    roles_tell(rig.executor, &second, ROLE_DONE, true);
    ck_assert_uint_eq(told(&first), ROLE_DONE);
    ck_assert_uint_eq(told(&second), ROLE_DONE);
    ck_assert_uint_eq(rig_counters(&rig).wakeups, 1); /* one's own cell wakes nobody */
    roles_leave(rig.executor);
    ck_assert(!roles_are_taken(rig.executor));
    end();
}
END_TEST

START_TEST(who_gives_up_takes_no_role_with_him)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_enlist(rig.executor, &driver);
    roles_enlist(rig.executor, &first);
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&driver), ROLE_POLLS);
    roles_give_up(rig.executor, &driver);
    ck_assert_uint_eq(told(&first), ROLE_POLLS);
    roles_enlist(rig.executor, &second);
    roles_give_up(rig.executor, &second);
    roles_leave(rig.executor);
    ck_assert(!roles_are_taken(rig.executor));
    end();
}
END_TEST

START_TEST(who_enlists_when_nobody_polls_is_to_poll)
{
    begin();
    roles_enlist(rig.executor, &first);
    ck_assert_uint_eq(told(&first), ROLE_POLLS);
    ck_assert(roles_are_taken(rig.executor));
    roles_enlist(rig.executor, &second);
    ck_assert_uint_eq(told(&second), 0);
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&second), ROLE_POLLS);
    ck_assert_uint_eq(told(&first), ROLE_POLLS);
    ck_assert_uint_eq(rig_counters(&rig).wakeups, 1);
    roles_leave(rig.executor);
    end();
}
END_TEST

START_TEST(who_withdraws_hears_nothing_any_more_and_keeps_what_it_heard)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_enlist(rig.executor, &first);
    roles_enlist(rig.executor, &second);
    ck_assert(roles_withdraw(rig.executor, &first));
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&first), 0);
    ck_assert_uint_eq(told(&second), ROLE_POLLS);
    ck_assert(!roles_withdraw(rig.executor, &second));
    ck_assert(roles_are_taken(rig.executor)); /* by the second, still */
    roles_leave(rig.executor);
    ck_assert(!roles_are_taken(rig.executor));
    end();
}
END_TEST

START_TEST(who_was_told_before_it_enlists_is_on_no_list)
{
    begin();
    ck_assert(roles_take(rig.executor));
    roles_tell(rig.executor, &first, ROLE_DONE, false);
    roles_enlist(rig.executor, &first);
    roles_enlist(rig.executor, &second);
    roles_leave(rig.executor);
    ck_assert_uint_eq(told(&first), ROLE_DONE);
    ck_assert_uint_eq(told(&second), ROLE_POLLS);
    roles_leave(rig.executor);
    end();
}
END_TEST

/* ---- told in a turn */

static struct lull_task tells, foreign;
static uint32_t seen_by_foreign;

static void tell_both(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    roles_tell(executor, &first, ROLE_DONE | ROLE_COMES, false);
    roles_tell(executor, &second, ROLE_DONE, true);
    roles_enlist(executor, &first); /* too late: it is told behind the turn */
    ck_assert_uint_eq(told(&first), 0);
    ck_assert_uint_eq(told(&second), ROLE_POLLS | ROLE_DONE);
    ck_assert(roles_are_taken(executor));
}

static void look(struct lull_task *task, struct lull_executor *executor)
{
    struct role_waiter *due[ROLES_TOLD_MAX];
    (void)task;
    seen_by_foreign = roles_take_told(executor, due);
}

/* The second polls, the first and a driver wait. */
static void begin_turn_of_second(void)
{
    begin();
    roles_enlist(rig.executor, &second);
    roles_enlist(rig.executor, &first);
    lull_task_init(&tells, tell_both);
    executor_task_set_ours(&tells);
    lull_task_init(&foreign, look);
    seen_by_foreign = 99;
    lull_executor_post(rig.executor, &tells);
}

static void run_turn(void)
{
    rig_leave(&rig);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
}

START_TEST(a_poller_that_is_told_leaves_with_its_turn)
{
    begin_turn_of_second();
    run_turn();
    ck_assert_uint_eq(told(&second), ROLE_POLLS | ROLE_DONE | ROLE_LEFT);
    ck_assert_uint_eq(told(&first), ROLE_DONE | ROLE_COMES);
    ck_assert(!roles_are_taken(rig.executor));
    roles_come(rig.executor);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(a_poller_that_leaves_with_its_turn_hands_over)
{
    begin_turn_of_second();
    roles_enlist(rig.executor, &driver);
    run_turn();
    ck_assert_uint_eq(told(&driver), ROLE_POLLS);
    ck_assert(roles_are_taken(rig.executor));
    rig_enter(&rig);
    roles_leave(rig.executor);
    rig_leave(&rig);
    roles_come(rig.executor);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(who_was_told_is_woken_before_somebody_else_is_called_back)
{
    begin_turn_of_second();
    lull_executor_post(rig.executor, &foreign);
    run_turn();
    ck_assert_uint_eq(seen_by_foreign, 0);
    roles_come(rig.executor);
    rig_enter(&rig);
    end();
    begin_turn_of_second();
    executor_task_set_ours(&foreign);
    lull_executor_post(rig.executor, &foreign);
    run_turn();
    ck_assert_uint_eq(seen_by_foreign, 1); /* one's own thread needs none */
    roles_come(rig.executor);
    rig_enter(&rig);
    end();
}
END_TEST

/* ---- one write for several */

static unsigned flushes;

static void count_flush(struct lull_task *task, struct lull_executor *executor)
{
    (void)task;
    (void)executor;
    flushes++;
}

/* As a caller does behind what it asked for. */
static void ask(struct lull_task *flush, bool counts_on_poller)
{
    rig_enter(&rig);
    executor_post_flush(rig.executor, flush);
    executor_quiet_turn_shared(rig.executor, counts_on_poller);
    rig_leave(&rig);
}

START_TEST(the_last_that_comes_writes_for_those_that_counted_on_it)
{
    struct scripted_loop scripted;
    struct lull_task flush;
    begin();
    rig_leave(&rig);
    scripted_init(&scripted, &scripted_ops, rig.executor);
    ck_assert(executor_sleep(rig.executor));
    lull_task_init(&flush, count_flush);
    flushes = 0;
    ask(&flush, true);
    ck_assert_uint_eq(flushes, 1); /* nobody to count on */
    rig_enter(&rig);
    roles_tell(rig.executor, &first, ROLE_DONE | ROLE_COMES, false);
    roles_tell(rig.executor, &second, ROLE_DONE | ROLE_COMES, false);
    rig_leave(&rig);
    ask(&flush, false);
    roles_come(rig.executor);
    ck_assert_uint_eq(flushes, 1);
    /* What is held is no work that keeps a poller awake. */
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
    ck_assert_uint_eq(scripted.alarms + scripted.soons + scripted.wakes, 0);
    roles_come(rig.executor);
    ck_assert_uint_eq(flushes, 2);
    ask(&flush, false);
    ck_assert_uint_eq(flushes, 3);
    executor_set_loop(rig.executor, NULL);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(who_comes_while_somebody_is_in_context_wakes_the_poller_instead)
{
    struct scripted_loop scripted;
    struct lull_task flush;
    begin();
    scripted_init(&scripted, &scripted_ops, rig.executor);
    ck_assert(executor_sleep(rig.executor));
    lull_task_init(&flush, count_flush);
    flushes = 0;
    roles_tell(rig.executor, &first, ROLE_DONE | ROLE_COMES, false);
    executor_post_flush(rig.executor, &flush);
    executor_quiet_turn_shared(rig.executor, false);
    roles_come(rig.executor);
    ck_assert_uint_eq(flushes, 0);
    ck_assert_uint_eq(scripted.wakes, 1);
    /* It is awake: before it sleeps again. */
    executor_flush_held(rig.executor);
    ck_assert_uint_eq(flushes, 1);
    rig_leave(&rig);
    executor_set_loop(rig.executor, NULL);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(who_comes_while_the_poller_is_about_to_sleep_keeps_it_awake)
{
    struct scripted_loop scripted;
    struct lull_task flush;
    begin();
    scripted_init(&scripted, &scripted_ops, rig.executor);
    lull_task_init(&flush, count_flush);
    flushes = 0;
    roles_tell(rig.executor, &first, ROLE_DONE | ROLE_COMES, false);
    executor_post_flush(rig.executor, &flush);
    executor_quiet_turn_shared(rig.executor, false);
    executor_flush_held(rig.executor);
    ck_assert_uint_eq(flushes, 0);
    roles_come(rig.executor); /* finds the context taken, and nobody asleep */
    ck_assert_uint_eq(scripted.wakes, 0);
    ck_assert(!executor_sleep(rig.executor));
    executor_flush_held(rig.executor);
    ck_assert_uint_eq(flushes, 1);
    ck_assert(executor_sleep(rig.executor));
    rig_leave(&rig);
    executor_set_loop(rig.executor, NULL);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(a_poller_that_is_awake_writes_before_it_sleeps)
{
    struct scripted_loop scripted;
    struct lull_task flush;
    begin();
    rig_leave(&rig);
    scripted_init(&scripted, &scripted_ops, rig.executor);
    lull_task_init(&flush, count_flush);
    flushes = 0;
    ask(&flush, true);
    ck_assert_uint_eq(flushes, 0);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
    rig_enter(&rig);
    executor_flush_held(rig.executor);
    ck_assert_uint_eq(flushes, 1);
    executor_flush_held(rig.executor);
    rig_leave(&rig);
    ck_assert_uint_eq(flushes, 1);
    /* A turn does, too. */
    ask(&flush, true);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
    ck_assert_uint_eq(flushes, 2);
    executor_set_loop(rig.executor, NULL);
    rig_enter(&rig);
    end();
}
END_TEST

START_TEST(what_is_held_is_work_again_when_nobody_polls)
{
    struct scripted_loop scripted;
    struct lull_task flush;
    begin();
    ck_assert(roles_take(rig.executor));
    rig_leave(&rig);
    scripted_init(&scripted, &scripted_ops, rig.executor);
    lull_task_init(&flush, count_flush);
    flushes = 0;
    ask(&flush, true);
    rig_enter(&rig);
    roles_leave(rig.executor);
    rig_leave(&rig);
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, INT64_MIN);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
    ck_assert_uint_eq(flushes, 1);
    executor_set_loop(rig.executor, NULL);
    rig_enter(&rig);
    end();
}
END_TEST

static Suite *roles_suite(void)
{
    Suite *suite = suite_create("exec/roles");
    TCase *cases = tcase_create("roles");
    tcase_add_test(cases, one_at_a_time);
    tcase_add_test(cases, who_leaves_hands_over_to_exactly_one);
    tcase_add_test(cases, a_driver_comes_first_and_a_stop_is_for_drivers);
    tcase_add_test(cases, who_was_told_is_not_next);
    tcase_add_test(cases, who_gives_up_takes_no_role_with_him);
    tcase_add_test(cases, who_enlists_when_nobody_polls_is_to_poll);
    tcase_add_test(cases, who_withdraws_hears_nothing_any_more_and_keeps_what_it_heard);
    tcase_add_test(cases, who_was_told_before_it_enlists_is_on_no_list);
    tcase_add_test(cases, a_poller_that_is_told_leaves_with_its_turn);
    tcase_add_test(cases, a_poller_that_leaves_with_its_turn_hands_over);
    tcase_add_test(cases, who_was_told_is_woken_before_somebody_else_is_called_back);
    tcase_add_test(cases, the_last_that_comes_writes_for_those_that_counted_on_it);
    tcase_add_test(cases, who_comes_while_somebody_is_in_context_wakes_the_poller_instead);
    tcase_add_test(cases, who_comes_while_the_poller_is_about_to_sleep_keeps_it_awake);
    tcase_add_test(cases, a_poller_that_is_awake_writes_before_it_sleeps);
    tcase_add_test(cases, what_is_held_is_work_again_when_nobody_polls);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("roles", roles_suite)
