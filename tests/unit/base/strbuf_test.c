/* SPDX-License-Identifier: MIT */
#include "base/strbuf.h"

#include <errno.h>
#include <string.h>

#include "lull/types.h"

#include "tests/support/check_main.h"
#include "tests/support/death.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

START_TEST(pieces_follow_each_other)
{
    char text[64];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    ck_assert_str_eq(text, "");
    strbuf_add(&sb, "a");
    strbuf_printf(&sb, "%d-%s", 12, "b");
    strbuf_add_bytes(&sb, "cdef", 2);
    strbuf_add_bytes(&sb, NULL, 0);
    strbuf_add(&sb, "");
    ck_assert_str_eq(text, "a12-bcd");
    ck_assert_uint_eq(sb.len, 7);
    ck_assert(!sb.is_cut);
}
END_TEST

static const struct {
    size_t size;
    const char *text;
    const char *expected;
} cuts[] = {
    {8, "abcdefg", "abcdefg"},
    {8, "abcdefgh", "abcd..."},
    {5, "abcde", "a..."},
    {4, "abcd", "..."},
    {3, "abcd", ".."},
    {2, "abcd", "."},
    {1, "abcd", ""},
    {1, "", ""},
    /* A character of two, three and four bytes, cut after each of its bytes. */
    {8, "abc\xc3\xa9 xyz", "abc..."},
    {9, "abc\xc3\xa9 xyz", "abc\xc3\xa9..."},
    {8, "abc\xe4\xbd\xa0xyz", "abc..."},
    {9, "abc\xe4\xbd\xa0xyz", "abc..."},
    {10, "abc\xe4\xbd\xa0xyz0", "abc\xe4\xbd\xa0..."},
    {8, "abc\xf0\x9f\x98\x88xyz", "abc..."},
    {9, "abc\xf0\x9f\x98\x88xyz", "abc..."},
    {10, "abc\xf0\x9f\x98\x88xyz", "abc..."},
    {11, "abc\xf0\x9f\x98\x88xyz0", "abc\xf0\x9f\x98\x88..."},
    {5, "\xf0\x9f\x98\x88xyz", "..."},
    /* Bytes that are no UTF-8 have no boundary. */
    {12, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
     "\x80\x80\x80\x80\x80\x80\x80\x80..."},
};

START_TEST(what_does_not_fit_ends_in_dots_on_a_boundary)
{
    /* By either way in, in one piece and byte by byte. */
    for (int way = 0; way < 3; way++) {
        char text[32];
        struct strbuf sb;
        memset(text, '#', sizeof(text));
        strbuf_init(&sb, text, cuts[_i].size);
        if (way == 0) {
            strbuf_add(&sb, cuts[_i].text);
        } else if (way == 1) {
            strbuf_printf(&sb, "%s", cuts[_i].text);
        } else {
            for (const char *at = cuts[_i].text; *at != '\0'; at++) {
                strbuf_add_bytes(&sb, at, 1);
            }
        }
        ck_assert_str_eq(text, cuts[_i].expected);
        ck_assert_uint_eq(sb.len, strlen(text));
        ck_assert_int_eq(text[cuts[_i].size], '#');
        ck_assert_int_eq(sb.is_cut, strlen(cuts[_i].text) >= cuts[_i].size);
    }
}
END_TEST

START_TEST(nothing_is_added_after_a_cut)
{
    char text[8];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_add(&sb, "abc\xe4\xbd\xa0xyz");
    ck_assert_str_eq(text, "abc...");
    strbuf_add(&sb, "d");
    strbuf_printf(&sb, "%d", 1);
    strbuf_duration(&sb, 1);
    strbuf_quoted(&sb, "q", 1, 1);
    ck_assert_str_eq(text, "abc...");
}
END_TEST

static const struct {
    int64_t ns;
    const char *expected;
} durations[] = {
    {0, "0 ns"},
    {1, "1 ns"},
    {999, "999 ns"},
    {1000, "1 us"},
    {1500, "1.5 us"},
    {1001, "1.001 us"},
    {999999, "999.999 us"},
    {35 * LULL_MS, "35 ms"},
    {35 * LULL_MS + 20 * LULL_US, "35.02 ms"},
    {LULL_SECOND - 1, "999.999 ms"},
    {LULL_SECOND, "1 s"},
    {1500 * LULL_MS, "1.5 s"},
    {1234 * LULL_MS, "1.234 s"},
    {1234567890, "1.234 s"},
    {LULL_SECOND + 1, "1 s"},
    {59 * LULL_SECOND, "59 s"},
    {1800 * LULL_SECOND, "1800 s"},
    {-1, "-1 ns"},
    {-1500 * LULL_MS, "-1.5 s"},
    {LULL_NEVER, "never"},
    {LULL_NEVER - 1, "9223372036.854 s"},
    {INT64_MIN, "-9223372036.854 s"},
};

START_TEST(durations_read_well)
{
    char text[64];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_duration(&sb, durations[_i].ns);
    ck_assert_str_eq(text, durations[_i].expected);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    size_t max;
    const char *expected;
} quotes[] = {
    {"", 0, 10, "\"\""},
    {"plain", 5, 10, "\"plain\""},
    {"a\"b\\c", 5, 10, "\"a\\\"b\\\\c\""},
    {"\0\n\x7f\xff", 4, 10, "\"\\x00\\x0a\\x7f\\xff\""},
    {"0123456789", 10, 10, "\"0123456789\""},
    {"0123456789", 10, 4, "\"0123\"... (10 bytes)"},
    {"0123456789", 10, 0, "\"\"... (10 bytes)"},
};

START_TEST(a_peers_bytes_are_shown_in_printable_ascii)
{
    char text[64];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_quoted(&sb, quotes[_i].bytes, quotes[_i].len, quotes[_i].max);
    ck_assert_str_eq(text, quotes[_i].expected);
}
END_TEST

static void start_without_room(void)
{
    char text[1];
    struct strbuf sb;
    strbuf_init(&sb, text, 0);
}

START_TEST(no_room_at_all_is_a_fault_of_ours)
{
    expect_death(start_without_room, "room for its NUL");
}
END_TEST

START_TEST(a_peers_text_stays_on_its_line)
{
    static const struct {
        const char *text;
        const char *shown;
    } rows[] = {
        {"plain", "plain"},
        {"no\nDec 1 sshd: \x1b[2J", "no\\x0aDec 1 sshd: \\x1b[2J"},
        {"tab\t del\x7f", "tab\\x09 del\\x7f"},
        {"\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80", "\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80"},
        {"\xc2\x9b" "31m", "\\xc2\\x9b31m"},        /* CSI as one character */
        {"\xff \xc3", "\\xff \\xc3"},                /* no UTF-8; cut short */
        {"\xc0\xaf", "\\xc0\\xaf"},                  /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},        /* a surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
    };
    char text[128];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_one_line(&sb, rows[_i].text, strlen(rows[_i].text));
    ck_assert_str_eq(text, rows[_i].shown);
}
END_TEST

START_TEST(an_errno_reads_as_part_of_a_sentence)
{
    char text[64];
    struct strbuf sb;
    strbuf_init(&sb, text, sizeof(text));
    strbuf_errno(&sb, ECONNREFUSED);
    strbuf_add(&sb, ", ");
    strbuf_errno(&sb, EHOSTUNREACH);
    ck_assert_str_eq(text, "connection refused, no route to host");
}
END_TEST

static Suite *strbuf_suite(void)
{
    Suite *suite = suite_create("strbuf");
    TCase *tc = tcase_create("strbuf");
    tcase_add_test(tc, pieces_follow_each_other);
    tcase_add_loop_test(tc, what_does_not_fit_ends_in_dots_on_a_boundary, 0, COUNT(cuts));
    tcase_add_test(tc, nothing_is_added_after_a_cut);
    tcase_add_loop_test(tc, durations_read_well, 0, COUNT(durations));
    tcase_add_loop_test(tc, a_peers_bytes_are_shown_in_printable_ascii, 0, COUNT(quotes));
    tcase_add_test(tc, no_room_at_all_is_a_fault_of_ours);
    tcase_add_loop_test(tc, a_peers_text_stays_on_its_line, 0, 9);
    tcase_add_test(tc, an_errno_reads_as_part_of_a_sentence);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("strbuf", strbuf_suite)
