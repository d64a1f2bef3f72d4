/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <string.h>

#include "lull/rc.h"

#include "tests/support/check_main.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
    int http_status;
    enum lull_code code;
} http[] = {
    /* scenarios 230, 236, 237 and 238 use these rows */
    {0, LULL_CODE_INTERNAL},          {-5, LULL_CODE_INTERNAL},
    {100, LULL_CODE_INTERNAL},        {199, LULL_CODE_INTERNAL},
    {200, LULL_CODE_UNKNOWN},         {204, LULL_CODE_UNKNOWN},
    {302, LULL_CODE_UNKNOWN},         {400, LULL_CODE_INTERNAL},
    {401, LULL_CODE_UNAUTHENTICATED}, {403, LULL_CODE_PERMISSION_DENIED},
    {404, LULL_CODE_UNIMPLEMENTED},   {405, LULL_CODE_UNKNOWN},
    {429, LULL_CODE_UNAVAILABLE},     {431, LULL_CODE_INTERNAL},
    {500, LULL_CODE_UNKNOWN},         {501, LULL_CODE_UNKNOWN},
    {502, LULL_CODE_UNAVAILABLE},     {503, LULL_CODE_UNAVAILABLE},
    {504, LULL_CODE_UNAVAILABLE},     {505, LULL_CODE_UNKNOWN},
};

START_TEST(http_statuses_map_as_the_table_says)
{
    ck_assert_int_eq(status_from_http(http[_i].http_status), http[_i].code);
}
END_TEST

/* scenario 242 */
static const struct {
    uint32_t error;
    enum lull_code code;
    const char *name;
} resets[] = {
    {0, LULL_CODE_INTERNAL, "NO_ERROR"},
    {1, LULL_CODE_INTERNAL, "PROTOCOL_ERROR"},
    {2, LULL_CODE_INTERNAL, "INTERNAL_ERROR"},
    {3, LULL_CODE_INTERNAL, "FLOW_CONTROL_ERROR"},
    {4, LULL_CODE_INTERNAL, "SETTINGS_TIMEOUT"},
    {5, LULL_CODE_INTERNAL, "STREAM_CLOSED"},
    {6, LULL_CODE_INTERNAL, "FRAME_SIZE_ERROR"},
    {7, LULL_CODE_UNAVAILABLE, "REFUSED_STREAM"},
    {8, LULL_CODE_CANCELLED, "CANCEL"},
    {9, LULL_CODE_INTERNAL, "COMPRESSION_ERROR"},
    {10, LULL_CODE_INTERNAL, "CONNECT_ERROR"},
    {11, LULL_CODE_RESOURCE_EXHAUSTED, "ENHANCE_YOUR_CALM"},
    {12, LULL_CODE_PERMISSION_DENIED, "INADEQUATE_SECURITY"},
    {13, LULL_CODE_UNKNOWN, "HTTP_1_1_REQUIRED"},
    {14, LULL_CODE_UNKNOWN, "unknown error code"},
    {99, LULL_CODE_UNKNOWN, "unknown error code"},
    {UINT32_MAX, LULL_CODE_UNKNOWN, "unknown error code"},
};

START_TEST(resets_map_as_the_table_says)
{
    ck_assert_int_eq(status_from_h2_error(resets[_i].error), resets[_i].code);
    ck_assert_str_eq(status_h2_error_name(resets[_i].error), resets[_i].name);
}
END_TEST

static const struct {
    const char *text;
    bool is_readable;
    enum lull_code code;
} grpc[] = {
    {"0", true, LULL_CODE_OK},
    {"00", true, LULL_CODE_OK},
    {"5", true, LULL_CODE_NOT_FOUND},
    {"05", true, LULL_CODE_NOT_FOUND},
    {"16", true, LULL_CODE_UNAUTHENTICATED},
    {"17", true, LULL_CODE_UNKNOWN},
    {"99", true, LULL_CODE_UNKNOWN},
    {"", false, LULL_CODE_UNKNOWN},
    {"000", false, LULL_CODE_UNKNOWN},
    {"-1", false, LULL_CODE_UNKNOWN},
    {"1 ", false, LULL_CODE_UNKNOWN},
    {" 1", false, LULL_CODE_UNKNOWN},
    {"x", false, LULL_CODE_UNKNOWN},
    {"1x", false, LULL_CODE_UNKNOWN},
    {"4294967296", false, LULL_CODE_UNKNOWN},
};

START_TEST(grpc_status_is_one_or_two_digits)
{
    enum lull_code code = LULL_CODE_ABORTED;
    ck_assert_int_eq(
        status_parse_grpc((const uint8_t *)grpc[_i].text, strlen(grpc[_i].text), &code),
        grpc[_i].is_readable);
    ck_assert_int_eq(code, grpc[_i].code);
}
END_TEST

START_TEST(codes_have_the_names_of_the_document)
{
    static const char *const expected[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    for (int i = 0; i < COUNT(expected); i++) {
        ck_assert_str_eq(lull_code_name(i), expected[i]);
    }
    ck_assert_str_eq(lull_code_name(17), "UNKNOWN");
    ck_assert_str_eq(lull_code_name(-1), "UNKNOWN");
}
END_TEST

START_TEST(every_phase_and_reason_has_a_name_of_its_own)
{
    for (int i = 0; i < LULL_PHASE_COUNT; i++) {
        ck_assert_str_ne(lull_phase_name(i), "unknown");
        for (int j = 0; j < i; j++) {
            ck_assert_str_ne(lull_phase_name(i), lull_phase_name(j));
        }
    }
    for (int i = 0; i <= LULL_REASON_TLS; i++) {
        ck_assert_str_ne(lull_reason_name(i), "unknown");
        for (int j = 0; j < i; j++) {
            ck_assert_str_ne(lull_reason_name(i), lull_reason_name(j));
        }
    }
    ck_assert_str_eq(lull_phase_name(LULL_PHASE_CONNECTING), "connecting");
    ck_assert_str_eq(lull_reason_name(LULL_REASON_RESET), "reset");
    ck_assert_str_eq(lull_phase_name(LULL_PHASE_COUNT), "unknown");
    ck_assert_str_eq(lull_reason_name(LULL_REASON_TLS + 1), "unknown");
    ck_assert_str_eq(lull_phase_name(-1), "unknown");
    ck_assert_str_eq(lull_reason_name(-1), "unknown");
}
END_TEST

static const struct {
    int rc;
    enum lull_code code;
} from_rc[] = {
    {LULL_OK, LULL_CODE_OK},
    {LULL_RC_INVALID, LULL_CODE_INVALID_ARGUMENT},
    {LULL_RC_NOMEM, LULL_CODE_RESOURCE_EXHAUSTED},
    {LULL_RC_AGAIN, LULL_CODE_INTERNAL},
    {LULL_RC_IN_TURN, LULL_CODE_INTERNAL},
    {LULL_RC_CLOSED, LULL_CODE_UNAVAILABLE},
    {LULL_RC_UNSUPPORTED, LULL_CODE_UNIMPLEMENTED},
    {LULL_RC_SYSTEM, LULL_CODE_INTERNAL},
    {LULL_RC_STATE, LULL_CODE_FAILED_PRECONDITION},
    {LULL_RC_LIMIT, LULL_CODE_RESOURCE_EXHAUSTED},
    {77, LULL_CODE_INTERNAL},
};

START_TEST(result_codes_map_to_statuses)
{
    ck_assert_int_eq(lull_code_from_rc(from_rc[_i].rc), from_rc[_i].code);
}
END_TEST

static Suite *status_suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tc = tcase_create("status");
    tcase_add_loop_test(tc, http_statuses_map_as_the_table_says, 0, COUNT(http));
    tcase_add_loop_test(tc, resets_map_as_the_table_says, 0, COUNT(resets));
    tcase_add_loop_test(tc, grpc_status_is_one_or_two_digits, 0, COUNT(grpc));
    tcase_add_test(tc, codes_have_the_names_of_the_document);
    tcase_add_test(tc, every_phase_and_reason_has_a_name_of_its_own);
    tcase_add_loop_test(tc, result_codes_map_to_statuses, 0, COUNT(from_rc));
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("status", status_suite)
