/* SPDX-License-Identifier: MIT */
/*
 * src/base/method.c: what the name of a method looks like.
 */
#include "base/method.h"

#include <string.h>

#include "tests/support/check_main.h"

static const struct {
    const char *method;
    const char *fault; /* NULL: it is good */
} rows[] = {
    {"/etcdserverpb.KV/Range", NULL},
    {"/S/m", NULL},
    {"/a/b/C", NULL},
    {NULL, "is NULL"},
    {"", "does not begin"},
    {"my.Test/Run", "does not begin"},
    {"/", "between the service and the method"},
    {"/Run", "between the service and the method"},
    {"/my.Test/", "no method after"},
    {"/a/b/", "no method after"},
    {"//x", "no service before"},
    {"//", "no service before"},
    {"/my.Test/Run it", "printable"},
    {"/my.Test/Run\n", "printable"},
    {"/my.Test/R\xc3\xbcn", "printable"},
};

START_TEST(a_method_has_a_service_and_a_name)
{
    const char *fault = method_fault(rows[_i].method);
    if (rows[_i].fault == NULL) {
        ck_assert_ptr_null(fault);
    } else {
        ck_assert_ptr_nonnull(fault);
        ck_assert_msg(strstr(fault, rows[_i].fault) != NULL, "\"%s\"", fault);
    }
}
END_TEST

static Suite *method_suite(void)
{
    Suite *suite = suite_create("base/method");
    TCase *tcase = tcase_create("method");
    tcase_add_loop_test(tcase, a_method_has_a_service_and_a_name, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("base/method", method_suite)
