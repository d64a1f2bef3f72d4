/* SPDX-License-Identifier: MIT */
#include "base/rc.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

static const struct {
    int rc;
    const char *name;
} names[] = {
    {LULL_OK, "LULL_OK"},
    {LULL_RC_INVALID, "LULL_RC_INVALID"},
    {LULL_RC_NOMEM, "LULL_RC_NOMEM"},
    {LULL_RC_AGAIN, "LULL_RC_AGAIN"},
    {LULL_RC_IN_TURN, "LULL_RC_IN_TURN"},
    {LULL_RC_CLOSED, "LULL_RC_CLOSED"},
    {LULL_RC_UNSUPPORTED, "LULL_RC_UNSUPPORTED"},
    {LULL_RC_SYSTEM, "LULL_RC_SYSTEM"},
    {LULL_RC_STATE, "LULL_RC_STATE"},
    {LULL_RC_LIMIT, "LULL_RC_LIMIT"},
    {10, "unknown"},
    {-1, "unknown"},
};

START_TEST(every_code_has_its_name)
{
    ck_assert_str_eq(lull_rc_name(names[_i].rc), names[_i].name);
}
END_TEST

START_TEST(a_failure_fills_in_code_and_text)
{
    struct lull_error error;
    memset(&error, 0xff, sizeof(error));
    ck_assert_int_eq(rc_fail(&error, LULL_RC_LIMIT, "%d is above %s", 9, "8"), LULL_RC_LIMIT);
    ck_assert_int_eq(error.rc, LULL_RC_LIMIT);
    ck_assert_int_eq(error.sys_errno, 0);
    ck_assert_str_eq(error.text, "9 is above 8");
}
END_TEST

START_TEST(a_system_failure_tells_its_errno_in_words_and_number)
{
    struct lull_error error;
    char expected[128];
    snprintf(expected, sizeof(expected), "connect: connection refused (errno %d)", ECONNREFUSED);
    ck_assert_int_eq(rc_fail_system(&error, ECONNREFUSED, "connect"), LULL_RC_SYSTEM);
    ck_assert_int_eq(error.rc, LULL_RC_SYSTEM);
    ck_assert_int_eq(error.sys_errno, ECONNREFUSED);
    ck_assert_str_eq(error.text, expected);
}
END_TEST

START_TEST(success_clears_an_error)
{
    struct lull_error error;
    rc_fail_system(&error, EPERM, "before");
    ck_assert_int_eq(rc_ok(&error), LULL_OK);
    ck_assert_int_eq(error.rc, LULL_OK);
    ck_assert_int_eq(error.sys_errno, 0);
    ck_assert_str_eq(error.text, "");
}
END_TEST

START_TEST(a_long_text_is_cut_with_dots)
{
    struct lull_error error;
    char text[400];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    rc_fail(&error, LULL_RC_INVALID, "%s", text);
    ck_assert_uint_eq(strlen(error.text), LULL_ERROR_TEXT_BYTES - 1);
    ck_assert_str_eq(error.text + LULL_ERROR_TEXT_BYTES - 5, "x...");
}
END_TEST

START_TEST(nobody_has_to_listen)
{
    ck_assert_int_eq(rc_ok(NULL), LULL_OK);
    ck_assert_int_eq(rc_fail(NULL, LULL_RC_STATE, "x"), LULL_RC_STATE);
    ck_assert_int_eq(rc_fail_system(NULL, EPERM, "x"), LULL_RC_SYSTEM);
}
END_TEST

static Suite *rc_suite(void)
{
    Suite *suite = suite_create("rc");
    TCase *tc = tcase_create("rc");
    tcase_add_loop_test(tc, every_code_has_its_name, 0, (int)(sizeof(names) / sizeof(names[0])));
    tcase_add_test(tc, a_failure_fills_in_code_and_text);
    tcase_add_test(tc, a_system_failure_tells_its_errno_in_words_and_number);
    tcase_add_test(tc, success_clears_an_error);
    tcase_add_test(tc, a_long_text_is_cut_with_dots);
    tcase_add_test(tc, nobody_has_to_listen);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("rc", rc_suite)
