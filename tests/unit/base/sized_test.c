/* SPDX-License-Identifier: MIT */
/* A struct that has grown twice: the first release's, ours, and a later one. */
#include "base/sized.h"

#include <stdint.h>
#include <string.h>

#include "tests/support/check_main.h"

#define DEFAULT_LATER 42

struct grown {
    size_t size;
    const char *name;
    int32_t number; /* the last of the first release; padding follows */
    int64_t later;  /* ours */
};

struct first_release {
    size_t size;
    const char *name;
    int32_t number;
};

struct next_release {
    struct grown ours;
    unsigned char beyond[SIZED_MORE_BYTES + 8];
};

static const struct sized kind = {SIZED_UP_TO(struct grown, number), sizeof(struct grown), "option", "it with grown_init"};

static struct next_release given;
static struct grown out;
static struct lull_error error;

static void set_up(void)
{
    memset(&given, 0, sizeof(given));
    given.ours = (struct grown){sizeof(struct grown), "theirs", 7, 9};
    out = (struct grown){sizeof(out), "default", 1, DEFAULT_LATER};
    memset(&error, 0, sizeof(error));
}

static int take(size_t size)
{
    given.ours.size = size;
    return sized_take(&kind, &out, &given, &error);
}

static void expect_taken(int64_t later)
{
    ck_assert_uint_eq(out.size, sizeof(out));
    ck_assert_str_eq(out.name, "theirs");
    ck_assert_int_eq(out.number, 7);
    ck_assert_int_eq(out.later, later);
    ck_assert_str_eq(error.text, "");
}

static void expect_refused(int rc, const char *says)
{
    ck_assert_int_eq(rc, LULL_RC_INVALID);
    ck_assert_int_eq(error.rc, LULL_RC_INVALID);
    ck_assert_msg(strstr(error.text, says) != NULL, "%s", error.text);
    ck_assert_uint_eq(out.size, sizeof(out));
    ck_assert_str_eq(out.name, "default");
    ck_assert_int_eq(out.number, 1);
    ck_assert_int_eq(out.later, DEFAULT_LATER);
}

START_TEST(our_own_size_is_taken_whole)
{
    ck_assert_int_eq(take(sizeof(struct grown)), LULL_OK);
    expect_taken(9);
}
END_TEST

START_TEST(the_first_releases_size_is_taken_and_what_is_missing_has_its_default)
{
    const struct first_release old = {sizeof(old), "theirs", 7};
    ck_assert_uint_eq(kind.first, sizeof(old));
    ck_assert_int_eq(sized_take(&kind, &out, &old, &error), LULL_OK);
    expect_taken(DEFAULT_LATER);
}
END_TEST

START_TEST(a_size_before_the_first_release_is_refused_with_both_sizes)
{
    expect_refused(take(kind.first - 1), "option size is 23, this library's is 32: fill it with grown_init");
    expect_refused(take(8), "option size is 8, this");
    expect_refused(take(0), "option size is 0, this");
}
END_TEST

START_TEST(a_later_release_that_asks_for_nothing_new_is_taken)
{
    ck_assert_int_eq(take(sizeof(struct grown) + 1), LULL_OK);
    expect_taken(9);
    ck_assert_int_eq(take(sizeof(struct grown) + SIZED_MORE_BYTES), LULL_OK);
    expect_taken(9);
}
END_TEST

START_TEST(a_later_release_that_asks_for_what_we_have_not_is_refused)
{
    given.beyond[0] = 1;
    expect_refused(take(sizeof(struct grown) + 1), "compiled with a newer lull");
    given.beyond[0] = 0;
    given.beyond[15] = 1;
    expect_refused(take(sizeof(struct grown) + 16), "option size is 48, this library's is 32, and not all behind that is zero");
    /* What is behind the caller's own end is nobody's. */
    memset(&error, 0, sizeof(error));
    ck_assert_int_eq(take(sizeof(struct grown) + 15), LULL_OK);
    expect_taken(9);
}
END_TEST

/* Memory that nobody filled: nothing behind the struct is read. */
START_TEST(a_size_that_no_release_will_have_is_refused_unread)
{
    struct grown alone = {sizeof(alone) + SIZED_MORE_BYTES + 1, "theirs", 7, 9};
    expect_refused(sized_take(&kind, &out, &alone, &error), "fill it with grown_init");
    alone.size = SIZE_MAX;
    expect_refused(sized_take(&kind, &out, &alone, &error), "fill it with grown_init");
    ck_assert_int_eq(sized_take(&kind, &out, &alone, NULL), LULL_RC_INVALID);
}
END_TEST

static Suite *sized_suite(void)
{
    Suite *suite = suite_create("sized");
    TCase *tcase = tcase_create("sized");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, our_own_size_is_taken_whole);
    tcase_add_test(tcase, the_first_releases_size_is_taken_and_what_is_missing_has_its_default);
    tcase_add_test(tcase, a_size_before_the_first_release_is_refused_with_both_sizes);
    tcase_add_test(tcase, a_later_release_that_asks_for_nothing_new_is_taken);
    tcase_add_test(tcase, a_later_release_that_asks_for_what_we_have_not_is_refused);
    tcase_add_test(tcase, a_size_that_no_release_will_have_is_refused_unread);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("sized", sized_suite)
