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
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("roles", roles_suite)
