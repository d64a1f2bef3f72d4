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

/* ---- a client's */

START_TEST(client_is_judged_when_its_magic_and_a_head_are_there)
{
    static const char bytes[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    char text[200];
    for (size_t len = 0; len < sizeof(bytes); len++) {
        ck_assert_int_eq(
            preface_judge_client((const uint8_t *)bytes, len, false, text, sizeof(text)),
            len < PREFACE_MAGIC_BYTES + 9 ? PREFACE_MORE : PREFACE_GOOD);
    }
}
END_TEST

/* A word that may go on as a request of HTTP/1.1 is waited for, so that the whole line can be told; nothing else is. */
START_TEST(client_that_is_a_stranger_is_named_by_its_first_line)
{
    static const struct {
        const char *bytes;
        bool is_all;
        enum preface expected;
    } words[] = {
        {"P", false, PREFACE_MORE},         {"GET", false, PREFACE_MORE},
        {"GET", true, PREFACE_WRONG},       {"GET / HTTP/1.1\r\n", false, PREFACE_WRONG},
        {"\x16\x03", false, PREFACE_WRONG}, {"PRI * HTTP/2.1\r\n", false, PREFACE_WRONG},
        {"pri * ", false, PREFACE_WRONG},
    };
    char text[200];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        ck_assert_int_eq(preface_judge_client((const uint8_t *)words[i].bytes,
                                              strlen(words[i].bytes), words[i].is_all, text,
                                              sizeof(text)),
                         words[i].expected);
    }
    (void)preface_judge_client((const uint8_t *)"GET /x HTTP/1.1\r\nA", 18, false, text,
                               sizeof(text));
    ck_assert_str_eq(text, "the client does not speak HTTP/2 from the start: \"GET /x HTTP/1.1\"");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("h2/preface");
    TCase *tc = tcase_create("preface");
    tcase_add_loop_test(tc, first_bytes_are_named, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tc, text_is_cut_not_overrun);
    tcase_add_test(tc, client_is_judged_when_its_magic_and_a_head_are_there);
    tcase_add_test(tc, client_that_is_a_stranger_is_named_by_its_first_line);
    suite_add_tcase(s, tc);
    return s;
}

LULL_TEST_MAIN("h2/preface", suite)
