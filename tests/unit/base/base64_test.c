/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <string.h>

#include "tests/support/check_main.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* RFC 4648 section 10, without the padding, and a few of ours. */
static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} pairs[] = {
    {"", 0, ""},
    {"f", 1, "Zg"},
    {"fo", 2, "Zm8"},
    {"foo", 3, "Zm9v"},
    {"foob", 4, "Zm9vYg"},
    {"fooba", 5, "Zm9vYmE"},
    {"foobar", 6, "Zm9vYmFy"},
    {"\xab\xab\xab", 3, "q6ur"},
    {"\xfb\xff\xbf", 3, "+/+/"},
    {"\0\0", 2, "AAA"},
};

START_TEST(values_are_written_without_padding)
{
    char out[16];
    size_t len = base64_encode(pairs[_i].bytes, pairs[_i].len, out);
    ck_assert_uint_eq(len, strlen(pairs[_i].text));
    ck_assert_uint_eq(len, base64_encoded_length(pairs[_i].len));
    ck_assert_mem_eq(out, pairs[_i].text, len);
}
END_TEST

/* scenario 245 */
START_TEST(values_are_read_with_and_without_padding)
{
    char text[16];
    for (int padding = 0; padding <= 2; padding++) {
        uint8_t out[16];
        size_t out_len = 99;
        size_t len = strlen(pairs[_i].text);
        memcpy(text, pairs[_i].text, len);
        memset(text + len, '=', 2);
        ck_assert(base64_decode(text, len + (size_t)padding, out, &out_len));
        ck_assert_uint_eq(out_len, pairs[_i].len);
        ck_assert_uint_le(out_len, base64_decoded_max(len));
        ck_assert_mem_eq(out, pairs[_i].bytes, out_len);
    }
}
END_TEST

static const char *const bad[] = {
    "A",    "AAAAA",   "A===", "AAA===",  "AA=A",  "=AAA", "AA A",
    "AA\n", "q6u\xff", "q6-_", "AA,BB==", "AAAA%", "A=",   "====",
};

START_TEST(what_is_not_base64_is_refused)
{
    uint8_t out[16];
    size_t out_len;
    ck_assert_msg(!base64_decode(bad[_i], strlen(bad[_i]), out, &out_len), "\"%s\" was read",
                  bad[_i]);
}
END_TEST

START_TEST(bits_left_over_in_the_last_character_are_ignored)
{
    uint8_t out[4];
    size_t out_len;
    ck_assert(base64_decode("BB==", 4, out, &out_len));
    ck_assert_uint_eq(out_len, 1);
    ck_assert_uint_eq(out[0], 4);
}
END_TEST

START_TEST(any_bytes_come_back_also_when_decoded_in_place)
{
    uint8_t bytes[256];
    char text[344];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 167 + 13);
    }
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        size_t out_len = 0;
        size_t text_len = base64_encode(bytes, len, text);
        ck_assert_uint_eq(text_len, base64_encoded_length(len));
        ck_assert(base64_decode(text, text_len, text, &out_len));
        ck_assert_uint_eq(out_len, len);
        ck_assert_mem_eq(text, bytes, len);
    }
}
END_TEST

START_TEST(a_length_that_does_not_fit_is_the_largest)
{
    ck_assert_uint_eq(base64_encoded_length(SIZE_MAX), SIZE_MAX);
    ck_assert_uint_eq(base64_encoded_length(SIZE_MAX / 4 * 3 + 3), SIZE_MAX);
    ck_assert_uint_eq(base64_encoded_length(3000), 4000);
}
END_TEST

static Suite *base64_suite(void)
{
    Suite *suite = suite_create("base64");
    TCase *tc = tcase_create("base64");
    tcase_add_loop_test(tc, values_are_written_without_padding, 0, COUNT(pairs));
    tcase_add_loop_test(tc, values_are_read_with_and_without_padding, 0, COUNT(pairs));
    tcase_add_loop_test(tc, what_is_not_base64_is_refused, 0, COUNT(bad));
    tcase_add_test(tc, bits_left_over_in_the_last_character_are_ignored);
    tcase_add_test(tc, any_bytes_come_back_also_when_decoded_in_place);
    tcase_add_test(tc, a_length_that_does_not_fit_is_the_largest);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("base64", base64_suite)
