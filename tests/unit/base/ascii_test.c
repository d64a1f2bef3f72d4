/* SPDX-License-Identifier: MIT */
#include "base/ascii.h"
#include "tests/support/check_main.h"

/* Every byte at every place of texts of every length up to three words, among bytes that are of each kind. */
#define LONGEST 24

static bool is_printable(unsigned c)
{
    return c >= 0x20 && c <= 0x7e;
}

static bool is_visible(unsigned c)
{
    return c > 0x20 && c <= 0x7e;
}

static bool is_of_name(unsigned c)
{
    return is_visible(c) && !(c >= 'A' && c <= 'Z') && c != ':';
}

static const struct {
    bool (*all)(const void *text, size_t len);
    bool (*one)(unsigned c);
} kinds[] = {
    {ascii_is_printable, is_printable}, {ascii_is_visible, is_visible}, {ascii_is_name, is_of_name}};

START_TEST(one_byte_decides_wherever_it_stands)
{
    char text[LONGEST];
    for (size_t len = 1; len <= LONGEST; len++) {
        for (size_t at = 0; at < len; at++) {
            for (unsigned c = 0; c < 256; c++) {
                memset(text, c % 2 == 0 ? '~' : '!', sizeof(text));
                text[at] = (char)c;
                ck_assert_msg(kinds[_i].all(text, len) == kinds[_i].one(c), "byte %u at %zu of %zu", c, at, len);
            }
        }
    }
}
END_TEST

START_TEST(faults_do_not_hide_one_another)
{
    char text[LONGEST];
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            memset(text, 'a', sizeof(text));
            text[9] = (char)a;
            text[10] = (char)b;
            ck_assert_int_eq(kinds[_i].all(text, 16), kinds[_i].one(a) && kinds[_i].one(b));
        }
    }
}
END_TEST

START_TEST(empty_text_is_no_name)
{
    ck_assert(ascii_is_printable("", 0));
    ck_assert(ascii_is_visible("", 0));
    ck_assert(!ascii_is_name("", 0));
}
END_TEST

static Suite *ascii_suite(void)
{
    Suite *suite = suite_create("base/ascii");
    TCase *cases = tcase_create("ascii");
    tcase_add_loop_test(cases, one_byte_decides_wherever_it_stands, 0, 3);
    tcase_add_loop_test(cases, faults_do_not_hide_one_another, 0, 3);
    tcase_add_test(cases, empty_text_is_no_name);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("base/ascii", ascii_suite)
