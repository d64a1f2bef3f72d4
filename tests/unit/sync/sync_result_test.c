/* SPDX-License-Identifier: MIT */
/* Results that own what they point to (src/sync/sync_result.c). */
#include "sync/sync_result.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"

static const struct lull_metadata nothing;

START_TEST(an_end_without_words_needs_no_memory)
{
    struct lull_status status = {.code = LULL_CODE_OK, .message = ""};
    struct lull_sync_result result;
    lull_sync_result_init(&result);
    sync_result_keep(&result, &status, &nothing, &nothing, lull_slice_static("abc", 3));
    ck_assert_ptr_null(result.memory);
    ck_assert_uint_eq(result.message.len, 3);
    ck_assert_str_eq(result.status.message, "");
    lull_sync_result_fini(&result);
    ck_assert_uint_eq(result.message.len, 0);
    lull_sync_result_fini(&result);
    lull_sync_result_fini(NULL);
}
END_TEST

/* That the first block is not lost is seen by the runs under ASan and valgrind; the slice's end is seen here. */
START_TEST(what_a_result_held_is_given_back_when_it_is_filled_again)
{
    struct counting_allocator counting;
    struct lull_status status = {.code = LULL_CODE_ABORTED, .message = "first", .message_len = 5};
    struct lull_sync_result result;
    struct lull_slice reply;
    counting_init(&counting);
    ck_assert_int_eq(lull_slice_copy(&counting.base, "reply", 5, &reply), LULL_OK);
    lull_sync_result_init(&result);
    sync_result_keep(&result, &status, &nothing, &nothing, reply);
    lull_slice_unref(reply);
    ck_assert_int_eq(counting.live, 1);
    status.message = "second";
    status.message_len = 6;
    sync_result_keep(&result, &status, &nothing, &nothing, lull_slice_static("abc", 3));
    ck_assert_int_eq(counting.live, 0);
    ck_assert_str_eq(result.status.message, "second");
    ck_assert_uint_eq(result.message.len, 3);
    status = (struct lull_status){.code = LULL_CODE_OK, .message = ""};
    sync_result_keep(&result, &status, &nothing, &nothing, lull_slice_static(NULL, 0));
    ck_assert_ptr_null(result.memory);
    ck_assert_str_eq(result.status.message, "");
    lull_sync_result_fini(&result);
}
END_TEST

START_TEST(all_of_it_outlives_what_it_was_made_from)
{
    char key[] = "k", value[] = {'v', 0, 'w'}, message[] = "no luck", line[] = "a line", address[] = "1.2.3.4:5";
    struct lull_metadatum item = {.key = key, .key_len = 1, .value = value, .value_len = 3};
    struct lull_metadatum items[2] = {item, item};
    struct lull_metadata headers = {.items = items, .count = 2};
    struct lull_metadata trailers = {.items = &item, .count = 1};
    struct lull_failure failure = {.size = sizeof(failure), .address = address, .line = line, .attempts = 7};
    struct lull_status status = {
        .code = LULL_CODE_ABORTED, .message = message, .message_len = 7, .failure = &failure};
    struct lull_slice reply;
    struct lull_sync_result result;
    ck_assert_int_eq(lull_slice_copy(NULL, "reply", 5, &reply), LULL_OK);
    lull_sync_result_init(&result);
    sync_result_keep(&result, &status, &headers, &trailers, reply);
    lull_slice_unref(reply);
    memset(key, 'x', sizeof(key));
    memset(value, 'x', sizeof(value));
    memset(message, 'x', sizeof(message));
    memset(line, 'x', sizeof(line));
    memset(address, 'x', sizeof(address));
    ck_assert_int_eq(result.status.code, LULL_CODE_ABORTED);
    ck_assert_str_eq(result.status.message, "no luck");
    ck_assert_uint_eq(result.status.message_len, 7);
    ck_assert_str_eq(result.status.failure->line, "a line");
    ck_assert_str_eq(result.status.failure->address, "1.2.3.4:5");
    ck_assert_uint_eq(result.status.failure->attempts, 7);
    ck_assert_uint_eq(result.headers.count, 2);
    ck_assert_uint_eq(result.trailers.count, 1);
    const struct lull_metadatum *kept = lull_metadata_find(&result.headers, "k", 1);
    ck_assert_ptr_nonnull(kept);
    ck_assert_uint_eq(kept->value_len, 3);
    ck_assert_mem_eq(kept->value, "v\0w", 3);
    ck_assert_mem_eq(result.message.data, "reply", 5);
    lull_sync_result_fini(&result);
}
END_TEST

static Suite *sync_result_suite(void)
{
    Suite *suite = suite_create("sync/sync_result");
    TCase *cases = tcase_create("sync_result");
    tcase_add_test(cases, an_end_without_words_needs_no_memory);
    tcase_add_test(cases, what_a_result_held_is_given_back_when_it_is_filled_again);
    tcase_add_test(cases, all_of_it_outlives_what_it_was_made_from);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_result", sync_result_suite)
