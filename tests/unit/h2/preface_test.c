/* SPDX-License-Identifier: MIT */
#include "h2/preface.h"

#include <string.h>

#include "tests/support/check_main.h"

struct row {
    const char *bytes;
    size_t len;
    bool is_all;
    enum preface expect;
    const char *text; /* NULL: none is asked for */
};

#define ROW(literal, is_all, expect, text)                                                         \
    {                                                                                              \
        literal, sizeof(literal) - 1, is_all, expect, text                                         \
    }

static const struct row rows[] = {
    ROW("", false, PREFACE_MORE, NULL),
    ROW("", true, PREFACE_MORE, NULL),
    ROW("\0\0\0\4\0\0\0\0\0", false, PREFACE_GOOD, NULL),
    ROW("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\1", false, PREFACE_GOOD, NULL),
    ROW("\0\0\0\4\0\0\0\0", false, PREFACE_MORE, NULL),
    ROW("\0\0\0\4\0\0\0\0", true, PREFACE_MORE, NULL),
    ROW("\0\0\0\4\1\0\0\0\0", false, PREFACE_WRONG,
        "the peer's first frame was an acknowledgement of SETTINGS, not its own"),
    ROW("\0\0\5\4\0\0\0\0\0", false, PREFACE_WRONG,
        "the peer's SETTINGS frame has an impossible length, 5"),
    ROW("\0\0\x08\6\0\0\0\0\0\1\2\3\4\5\6\7\x08", false, PREFACE_WRONG,
        "the peer's first frame was PING, not SETTINGS"),
    ROW("\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0", false, PREFACE_WRONG,
        "the peer's first frame was GOAWAY, not SETTINGS"),
    ROW("HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", false, PREFACE_WRONG,
        "the peer speaks HTTP/1.1, not HTTP/2: \"HTTP/1.1 400 Bad Request\""),
    ROW("HTT", false, PREFACE_MORE, NULL),
    ROW("HTT", true, PREFACE_WRONG, "the peer speaks HTTP/1.1, not HTTP/2: \"HTT\""),
    ROW("HTTP/1.1 ", false, PREFACE_WRONG, "the peer speaks HTTP/1.1, not HTTP/2: \"HTTP/1.1 \""),
    ROW("\x15\3\3\0\2\2\x28", false, PREFACE_WRONG,
        "the peer speaks TLS, and we do not: TLS alert 15 03 03 00 02 02 28"),
    ROW("\x16\3\1", false, PREFACE_WRONG,
        "the peer speaks TLS, and we do not: TLS handshake 16 03 01"),
    ROW("\x15", false, PREFACE_MORE, NULL),
    ROW("\x15", true, PREFACE_WRONG, "the peer does not speak HTTP/2: \"\\x15\""),
    ROW("220 smtp ready\r\n", false, PREFACE_WRONG,
        "the peer does not speak HTTP/2: \"220 smtp ready\""),
    ROW("\0\0\0\x77\0\0\0\0\0", false, PREFACE_WRONG,
        "the peer does not speak HTTP/2: \"\\x00\\x00\\x00w\\x00\\x00\\x00\\x00\\x00\""),
    ROW("\0\x40\1\4\0\0\0\0\0", false, PREFACE_WRONG,
        "the peer does not speak HTTP/2: \"\\x00@\\x01\\x04\\x00\\x00\\x00\\x00\\x00\""),
    ROW("\n\n", false, PREFACE_WRONG, "the peer does not speak HTTP/2: \"\""),
};

START_TEST(first_bytes_are_named)
{
    const struct row *row = &rows[_i];
    char text[200] = "";
    ck_assert_int_eq(
        preface_judge((const uint8_t *)row->bytes, row->len, row->is_all, text, sizeof(text)),
        row->expect);
    if (row->text != NULL) {
        ck_assert_str_eq(text, row->text);
    }
}
END_TEST

START_TEST(text_is_cut_not_overrun)
{
    uint8_t bytes[PREFACE_BYTES];
    char text[32];
    memset(bytes, 0xff, sizeof(bytes));
    ck_assert_int_eq(preface_judge(bytes, sizeof(bytes), false, text, sizeof(text)), PREFACE_WRONG);
    ck_assert_uint_lt(strlen(text), sizeof(text));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/preface");
    TCase *tc = tcase_create("preface");
    tcase_add_loop_test(tc, first_bytes_are_named, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tc, text_is_cut_not_overrun);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/preface", suite)
