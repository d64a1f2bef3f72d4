/* SPDX-License-Identifier: MIT */
#include "base/percent.h"

#include <string.h>

#include "tests/support/check_main.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* scenario 244 */
static const struct {
    const char *wire;
    const char *text;
} decoded[] = {
    {"", ""},
    {"my favorite%20character%0A", "my favorite character\n"},
    {"my favorite character%0A", "my favorite character\n"},
    {"%", "%"},
    {"%6", "%6"},
    {"%G0", "%G0"},
    {"%0G", "%0G"},
    {"%%41", "%A"},
    {"a%", "a%"},
    {"100%25", "100%"},
    {"%2541", "%41"},
    {"%41", "A"},
    {"%e4%bd%a0", "\xe4\xbd\xa0"},
    {"%E4%BD%A0", "\xe4\xbd\xa0"},
    {"%FF%C3%28", "\xff\xc3("},
    {"\xff\xe4", "\xff\xe4"},
};

START_TEST(what_can_be_decoded_is_and_the_rest_stays)
{
    char out[64];
    size_t len = strlen(decoded[_i].wire);
    size_t text_len = percent_decode(decoded[_i].wire, len, out);
    ck_assert_uint_le(text_len, len);
    ck_assert_uint_eq(text_len, strlen(decoded[_i].text));
    ck_assert_mem_eq(out, decoded[_i].text, text_len);
}
END_TEST

START_TEST(decoding_in_place_gives_the_same)
{
    char text[64];
    size_t len = strlen(decoded[_i].wire);
    memcpy(text, decoded[_i].wire, len);
    size_t text_len = percent_decode(text, len, text);
    ck_assert_uint_eq(text_len, strlen(decoded[_i].text));
    ck_assert_mem_eq(text, decoded[_i].text, text_len);
}
END_TEST

START_TEST(a_sequence_cut_by_the_end_stays)
{
    char out[8];
    ck_assert_uint_eq(percent_decode("a%41", 3, out), 3);
    ck_assert_mem_eq(out, "a%4", 3);
    ck_assert_uint_eq(percent_decode("a%41", 2, out), 2);
    ck_assert_mem_eq(out, "a%", 2);
}
END_TEST

START_TEST(an_encoded_zero_byte_is_a_byte)
{
    char out[8];
    ck_assert_uint_eq(percent_decode("a%00b", 5, out), 3);
    ck_assert_mem_eq(out, "a\0b", 3);
}
END_TEST

static const struct {
    const char *text;
    const char *wire;
} encoded[] = {
    {"", ""},
    {"plain ~text!", "plain ~text!"},
    {"100%", "100%25"},
    {"a\tb\r\n", "a%09b%0D%0A"},
    {"\x7f", "%7F"},
    {"\xe4\xbd\xa0", "%E4%BD%A0"},
    /* scenario 263: tab, CR, LF and a character outside the basic plane */
    {"\t\ntest with whitespace\r\nand Unicode BMP \xe2\x98\xba and non-BMP \xf0\x9f\x98\x88\t\n",
     "%09%0Atest with whitespace%0D%0Aand Unicode BMP %E2%98%BA and non-BMP %F0%9F%98%88%09%0A"},
};

START_TEST(what_is_not_plain_ascii_is_encoded_in_upper_case)
{
    char out[256];
    size_t len = strlen(encoded[_i].text);
    size_t wire_len = percent_encode(encoded[_i].text, len, out);
    ck_assert_uint_eq(wire_len, strlen(encoded[_i].wire));
    ck_assert_uint_eq(wire_len, percent_encoded_length(encoded[_i].text, len));
    ck_assert_mem_eq(out, encoded[_i].wire, wire_len);
}
END_TEST

START_TEST(every_byte_comes_back)
{
    char text[256];
    char wire[768];
    for (int i = 0; i < 256; i++) {
        text[i] = (char)(unsigned char)i;
    }
    size_t wire_len = percent_encode(text, sizeof(text), wire);
    /* 95 printable characters less '%' go as they are. */
    ck_assert_uint_eq(wire_len, 94 + 3 * 162);
    ck_assert_uint_eq(percent_decode(wire, wire_len, wire), sizeof(text));
    ck_assert_mem_eq(wire, text, sizeof(text));
}
END_TEST

static Suite *percent_suite(void)
{
    Suite *suite = suite_create("percent");
    TCase *tc = tcase_create("percent");
    tcase_add_loop_test(tc, what_can_be_decoded_is_and_the_rest_stays, 0, COUNT(decoded));
    tcase_add_loop_test(tc, decoding_in_place_gives_the_same, 0, COUNT(decoded));
    tcase_add_test(tc, a_sequence_cut_by_the_end_stays);
    tcase_add_test(tc, an_encoded_zero_byte_is_a_byte);
    tcase_add_loop_test(tc, what_is_not_plain_ascii_is_encoded_in_upper_case, 0, COUNT(encoded));
    tcase_add_test(tc, every_byte_comes_back);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("percent", percent_suite)
