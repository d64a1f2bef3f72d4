/* SPDX-License-Identifier: MIT */
/* A library without TLS says so. */
#include <stddef.h>
#include <string.h>

#include "net/endpoint_tls.h"
#include "tests/support/check_main.h"

START_TEST(credentials_are_not_made_and_the_reason_is_told)
{
    struct lull_credentials_options options;
    struct lull_credentials *made = NULL;
    struct lull_error error;
    lull_credentials_options_init(&options);
    ck_assert_int_eq(lull_credentials_new(&options, &made, &error), LULL_RC_UNSUPPORTED);
    ck_assert_str_eq(error.text, "no TLS: this library was built with --without-openssl");
    ck_assert_ptr_null(made);
    lull_credentials_ref(NULL);
    lull_credentials_unref(NULL);
}
END_TEST

static Suite *tls_none_suite(void)
{
    Suite *suite = suite_create("tls_none");
    TCase *tcase = tcase_create("credentials");
    tcase_add_test(tcase, credentials_are_not_made_and_the_reason_is_told);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("tls_none", tls_none_suite)
