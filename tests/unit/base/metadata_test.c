/* SPDX-License-Identifier: MIT */
#include "base/metadata.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct counting_allocator counting;
static struct metadata_list list;

static void set_up(void)
{
    counting_init(&counting);
    metadata_list_init(&list, &counting.base, 0);
}

static void tear_down(void)
{
    metadata_list_fini(&list);
    ck_assert_int_eq(counting.live, 0);
}

static int add(const char *key, const char *value)
{
    return metadata_list_add(&list, key, strlen(key), value, strlen(value));
}

static int add_wire(const char *key, const char *value)
{
    return metadata_list_add_wire(&list, key, strlen(key), value, strlen(value));
}

/* The n-th pair is this one, and both sides have their NUL. */
static void expect_pair(size_t n, const char *key, const char *value)
{
    struct lull_metadata view = metadata_list_view(&list);
    ck_assert_uint_lt(n, view.count);
    ck_assert_uint_eq(view.items[n].key_len, strlen(key));
    ck_assert_str_eq(view.items[n].key, key);
    ck_assert_uint_eq(view.items[n].value_len, strlen(value));
    ck_assert_str_eq((const char *)view.items[n].value, value);
}

START_TEST(pairs_are_copied_and_keep_their_order)
{
    char key[] = "k1";
    char value[] = "v1";
    ck_assert_int_eq(add(key, value), LULL_OK);
    memset(key, 'x', 2);
    memset(value, 'x', 2);
    ck_assert_int_eq(add("k2", ""), LULL_OK);
    ck_assert_int_eq(add("k1", "again"), LULL_OK);
    ck_assert_uint_eq(list.count, 3);
    expect_pair(0, "k1", "v1");
    expect_pair(1, "k2", "");
    expect_pair(2, "k1", "again");
}
END_TEST

START_TEST(pairs_survive_any_growth)
{
    char key[16];
    char value[64];
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "a value with number %d in it", i);
        ck_assert_int_eq(add(key, value), LULL_OK);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "a value with number %d in it", i);
        expect_pair((size_t)i, key, value);
    }
}
END_TEST

START_TEST(borrowed_pairs_stay_where_they_are_while_others_move)
{
    const struct lull_metadatum lent = lull_metadatum_text("lent", "to the list");
    char key[16];
    ck_assert(!metadata_list_borrow(&list, &lent)); /* there is no room before the first pair */
    ck_assert_uint_eq(list.size_bytes, 0);
    ck_assert_int_eq(add("first", "own"), LULL_OK);
    ck_assert(metadata_list_borrow(&list, &lent));
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof(key), "key-%d", i);
        ck_assert_int_eq(add(key, "a value that fills the block in time"), LULL_OK);
    }
    expect_pair(0, "first", "own");
    ck_assert_ptr_eq(list.items[1].key, lent.key);
    ck_assert_ptr_eq(list.items[1].value, lent.value);
    expect_pair(101, "key-99", "a value that fills the block in time");
    list.limit_bytes = list.size_bytes + 46;
    ck_assert(!metadata_list_borrow(&list, &lent));
    list.limit_bytes = list.size_bytes + 47;
    ck_assert(list.count == list.items_cap || metadata_list_borrow(&list, &lent));
}
END_TEST

START_TEST(a_list_used_again_stops_allocating)
{
    for (int round = 0; round < 10; round++) {
        long asked = counting.asked;
        for (int i = 0; i < 40; i++) {
            ck_assert_int_eq(add("some-key", "some value"), LULL_OK);
            ck_assert_int_eq(add_wire("some-bin", "q6ur,AAAA"), LULL_OK);
        }
        ck_assert_uint_eq(list.count, 120);
        ck_assert(round == 0 || counting.asked == asked);
        metadata_list_reset(&list);
        ck_assert_uint_eq(list.count, 0);
        ck_assert_uint_eq(list.size_bytes, 0);
    }
}
END_TEST

START_TEST(a_pair_weighs_name_and_value_on_the_wire_and_32)
{
    ck_assert_int_eq(add("abc", "de"), LULL_OK);
    ck_assert_uint_eq(list.size_bytes, 37);
    /* 3 bytes are 4 characters of base64. */
    ck_assert_int_eq(add("x-bin", "xyz"), LULL_OK);
    ck_assert_uint_eq(list.size_bytes, 37 + 41);
    ck_assert_int_eq(add_wire("x-bin", "q6ur"), LULL_OK);
    ck_assert_uint_eq(list.size_bytes, 37 + 41 + 41);
    ck_assert_int_eq(metadata_list_charge(&list, 7, 3), LULL_OK);
    ck_assert_uint_eq(list.size_bytes, 37 + 41 + 41 + 42);
    ck_assert_uint_eq(list.count, 3);
}
END_TEST

/* scenario 248, this half of it */
START_TEST(the_limit_is_exact_and_a_refusal_changes_nothing)
{
    list.limit_bytes = 100;
    ck_assert_int_eq(add("k", "0123456789012345"), LULL_OK);          /* 49 */
    ck_assert_int_eq(add("k", "0123456789012345678"), LULL_RC_LIMIT); /* 52 */
    ck_assert_int_eq(add_wire("k", "0123456789012345678"), LULL_RC_LIMIT);
    ck_assert_int_eq(add_wire("-bin", "AAAA,AAAA"), LULL_RC_LIMIT); /* 40 each */
    ck_assert_int_eq(metadata_list_charge(&list, 1, 19), LULL_RC_LIMIT);
    ck_assert_uint_eq(list.size_bytes, 49);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_int_eq(add("k", "012345678901234567"), LULL_OK); /* 51 */
    ck_assert_uint_eq(list.size_bytes, 100);
    expect_pair(0, "k", "0123456789012345");
    expect_pair(1, "k", "012345678901234567");
    ck_assert_int_eq(metadata_list_charge(&list, SIZE_MAX, SIZE_MAX), LULL_RC_LIMIT);
}
END_TEST

/* One operation of each kind, with enough bytes to grow everything. */
static int add_much(int kind, const char *value)
{
    struct lull_metadatum pairs[9];
    struct lull_metadata all = {pairs, 9};
    if (kind == 0) {
        return add("b", value);
    }
    if (kind == 1) {
        return add_wire("x-bin", "AAAA,BBBB,CCCC,DDDD,EEEE,FFFF,GGGG,HHHH,IIII,JJJJ,KKKK,LLLL,"
                                 "MMMM,NNNN,OOOO,PPPP,QQQQ,RRRR,SSSS,TTTT,UUUU,VVVV,WWWW,XXXX");
    }
    for (int i = 0; i < 9; i++) {
        pairs[i] = lull_metadatum_text("b", value);
    }
    return metadata_list_add_all(&list, &all);
}

START_TEST(no_memory_changes_nothing_wherever_it_strikes)
{
    char value[400];
    int failures = 0;
    int rc;
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (long i = 0;; i++) {
        ck_assert_int_eq(add("first", "one"), LULL_OK);
        atomic_store(&counting.fail_from, counting.asked + i);
        rc = add_much(_i, value);
        counting_replenish(&counting);
        if (rc == LULL_OK) {
            break;
        }
        failures++;
        ck_assert_int_eq(rc, LULL_RC_NOMEM);
        ck_assert_uint_eq(list.size_bytes, 5 + 3 + 32);
        ck_assert_uint_eq(list.count, 1);
        expect_pair(0, "first", "one");
        /* What was grown before the failure stays: start anew. */
        metadata_list_fini(&list);
    }
    ck_assert_int_ge(failures, _i == 0 ? 1 : 2);
    ck_assert_uint_gt(list.count, 1);
    expect_pair(0, "first", "one");
}
END_TEST

/* scenario 245 */
static const struct {
    const char *wire;
    size_t count; /* 0: refused */
    const char *values[4];
    size_t lens[4];
} binaries[] = {
    {"q6ur", 1, {"\xab\xab\xab"}, {3}},
    {"q6ur==", 1, {"\xab\xab\xab"}, {3}},
    {"Zm8=", 1, {"fo"}, {2}},
    {"Zm8", 1, {"fo"}, {2}},
    {"AA,BB==", 2, {"\0", "\4"}, {1, 1}},
    {"AAAA, q6ur ,\tZg==", 3, {"\0\0\0", "\xab\xab\xab", "f"}, {3, 3, 1}},
    {"", 1, {""}, {0}},
    {"  ", 1, {""}, {0}},
    {"Zg,,Zm8", 3, {"f", "", "fo"}, {1, 0, 2}},
    {"Zg,", 2, {"f", ""}, {1, 0}},
    {",", 2, {"", ""}, {0, 0}},
    {"A", 0, {0}, {0}},
    {"Zg,A", 0, {0}, {0}},
    {"Zg,Z!,Zg", 0, {0}, {0}},
    {"Zg;Zg", 0, {0}, {0}},
};

START_TEST(a_binary_value_is_split_and_decoded)
{
    struct lull_metadata view;
    ck_assert_int_eq(add("before", "it"), LULL_OK);
    size_t size_bytes = list.size_bytes;
    int rc = add_wire("trace-bin", binaries[_i].wire);
    view = metadata_list_view(&list);
    ck_assert_int_eq(rc, binaries[_i].count == 0 ? LULL_RC_INVALID : LULL_OK);
    ck_assert_uint_eq(view.count, 1 + binaries[_i].count);
    ck_assert(rc == LULL_OK || list.size_bytes == size_bytes);
    for (size_t i = 0; i < binaries[_i].count; i++) {
        const struct lull_metadatum *item = lull_metadata_find(&view, "trace-bin", i);
        ck_assert_ptr_eq(item, &view.items[1 + i]);
        ck_assert_uint_eq(item->value_len, binaries[_i].lens[i]);
        ck_assert_mem_eq(item->value, binaries[_i].values[i], item->value_len);
        ck_assert_int_eq(((const char *)item->value)[item->value_len], '\0');
    }
    /* The list goes on as usual. */
    ck_assert_int_eq(add("after", "it"), LULL_OK);
    expect_pair(0, "before", "it");
    expect_pair(view.count, "after", "it");
}
END_TEST

START_TEST(other_wire_values_are_copied_as_they_are)
{
    ck_assert_int_eq(add_wire("accept", "a, b,,"), LULL_OK);
    ck_assert_int_eq(add_wire("bin", "A"), LULL_OK);
    ck_assert_int_eq(metadata_list_add_wire(&list, "nothing", 7, NULL, 0), LULL_OK);
    ck_assert_int_eq(metadata_list_add_wire(&list, "nothing-bin", 11, NULL, 0), LULL_OK);
    ck_assert_uint_eq(list.count, 4);
    expect_pair(0, "accept", "a, b,,");
    expect_pair(1, "bin", "A");
    expect_pair(2, "nothing", "");
    expect_pair(3, "nothing-bin", "");
}
END_TEST

START_TEST(binary_keys_end_in_bin)
{
    ck_assert(metadata_is_binary("a-bin", 5));
    ck_assert(metadata_is_binary("-bin", 4));
    ck_assert(!metadata_is_binary("bin", 3));
    ck_assert(!metadata_is_binary("a-bina", 6));
    ck_assert(!metadata_is_binary("a-bIn", 5));
    ck_assert(!metadata_is_binary("", 0));
}
END_TEST

START_TEST(find_counts_values_of_one_key)
{
    struct lull_metadatum items[] = {lull_metadatum_text("a", "1"), lull_metadatum_text("ab", "2"),
                                     lull_metadatum_text("a", "3")};
    struct lull_metadata metadata = {items, 3};
    struct lull_metadata none = {NULL, 0};
    ck_assert_ptr_eq(lull_metadata_find(&metadata, "a", 0), &items[0]);
    ck_assert_ptr_eq(lull_metadata_find(&metadata, "a", 1), &items[2]);
    ck_assert_ptr_null(lull_metadata_find(&metadata, "a", 2));
    ck_assert_ptr_eq(lull_metadata_find(&metadata, "ab", 0), &items[1]);
    ck_assert_ptr_null(lull_metadata_find(&metadata, "b", 0));
    ck_assert_ptr_null(lull_metadata_find(&none, "a", 0));
    ck_assert_ptr_null(lull_metadata_find(NULL, "a", 0));
}
END_TEST

static const struct {
    const char *key;
    const char *value;
    const char *fault; /* NULL: none */
} checks[] = {
    {"abc-_.09", "any printable ~ value", NULL},
    {"x", "", NULL},
    {"x-bin", "\x01\xff\n", NULL},
    {"tea", "v", NULL},
    {"grpc", "v", NULL},
    {"grpcweb", "v", NULL},
    {"authorization", "Bearer x", NULL},
    {"", "v", "the key is empty"},
    {":path", "/", "belong to HTTP/2"},
    {"Abc", "v", "upper-case"},
    {"a b", "v", "outside 0-9"},
    {"a:b", "v", "outside 0-9"},
    {"a\xc3\xa9", "v", "outside 0-9"},
    {"grpc-timeout", "1S", "belong to gRPC"},
    {"grpc-", "1S", "belong to gRPC"},
    {"te", "v", "belongs to HTTP/2 or gRPC"},
    {"content-type", "v", "belongs to HTTP/2 or gRPC"},
    {"content-length", "1", "belongs to HTTP/2 or gRPC"},
    {"user-agent", "v", "belongs to HTTP/2 or gRPC"},
    {"host", "v", "belongs to HTTP/2 or gRPC"},
    {"connection", "v", "belongs to HTTP/2 or gRPC"},
    {"keep-alive", "v", "belongs to HTTP/2 or gRPC"},
    {"proxy-connection", "v", "belongs to HTTP/2 or gRPC"},
    {"transfer-encoding", "v", "belongs to HTTP/2 or gRPC"},
    {"upgrade", "v", "belongs to HTTP/2 or gRPC"},
    {"k", "a\tb", "printable ASCII"},
    {"k", "a\x7f", "printable ASCII"},
    {"k", "\xc3\xa9", "printable ASCII"},
};

START_TEST(check_judges_what_an_application_sends)
{
    struct lull_metadatum items[2] = {lull_metadatum_text("good", "one"),
                                      lull_metadatum_text(checks[_i].key, checks[_i].value)};
    struct lull_metadata metadata = {items, 2};
    struct lull_error error;
    int rc = lull_metadata_check(&metadata, &error);
    ck_assert_int_eq(lull_metadata_check(&metadata, NULL), rc);
    if (checks[_i].fault == NULL) {
        ck_assert_int_eq(rc, LULL_OK);
        ck_assert_str_eq(error.text, "");
        return;
    }
    ck_assert_int_eq(rc, LULL_RC_INVALID);
    ck_assert_int_eq(error.rc, LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "metadata[1] \""));
    ck_assert_ptr_nonnull(strstr(error.text, checks[_i].fault));
}
END_TEST

START_TEST(check_takes_none_and_names_the_faulty_key_readably)
{
    struct lull_metadatum item = lull_metadatum_text("sp ace\n", "v");
    struct lull_metadata metadata = {&item, 1};
    struct lull_error error;
    char long_key[300];
    ck_assert_int_eq(lull_metadata_check(NULL, &error), LULL_OK);
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), LULL_RC_INVALID);
    ck_assert_str_eq(error.text,
                     "metadata[0] \"sp ace\\x0a\": the key has a character outside 0-9 a-z _ - .");
    memset(long_key, 'A', sizeof(long_key));
    item.key = long_key;
    item.key_len = sizeof(long_key);
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), LULL_RC_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "A\"... (300 bytes): the key has an upper-case"));
    item = lull_metadatum_text("k", "v");
    item.value = NULL;
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), LULL_RC_INVALID);
    item.key = NULL;
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), LULL_RC_INVALID);
}
END_TEST

/* A header block has 65536 bytes: 12 for a pair, its key, and its value as it is on the wire. */
static const struct {
    const char *key;
    size_t key_len;
    size_t value_len;
    int rc;
    const char *says; /* NULL: that it takes SIZE_MAX */
} lengths[] = {
    {"k", 1, 65536 - 12 - 1, LULL_OK, ""},
    {"k", 1, 65536 - 12, LULL_RC_LIMIT, "takes 65537 bytes"},
    {"-bin", 4, 65520 / 4 * 3, LULL_OK, ""},
    {"-bin", 4, 65520 / 4 * 3 + 1, LULL_RC_LIMIT, "takes 65538 bytes"},
    {"-bin", 4, SIZE_MAX, LULL_RC_LIMIT, NULL},
    {"-bin", 4, SIZE_MAX / 4 * 3 - 16, LULL_RC_LIMIT, "takes "},
    {"-bin", 4, SIZE_MAX - 15, LULL_RC_LIMIT, NULL},
    {"k", 1, SIZE_MAX, LULL_RC_LIMIT, NULL},
    {"k", 1, SIZE_MAX - 13, LULL_RC_LIMIT, NULL},
    {"k", 1, SIZE_MAX - 12, LULL_RC_LIMIT, NULL},
    {"k", 65537, 0, LULL_RC_LIMIT, "takes 65549 bytes"},
    {"k", SIZE_MAX, 0, LULL_RC_LIMIT, NULL},
    {"k", SIZE_MAX, SIZE_MAX, LULL_RC_LIMIT, NULL},
    {NULL, SIZE_MAX, 0, LULL_RC_LIMIT, NULL},
    {NULL, 5, 0, LULL_RC_INVALID, "metadata[0] \"\": the key is empty"},
};

START_TEST(lengths_are_judged_before_a_byte_is_looked_at)
{
    static char value[65536];
    const struct lull_metadatum item = {lengths[_i].key, lengths[_i].key_len, value, lengths[_i].value_len};
    const struct lull_metadata metadata = {&item, 1};
    struct lull_error error;
    char most[40];
    snprintf(most, sizeof(most), "takes %zu bytes", SIZE_MAX);
    memset(value, 'v', sizeof(value));
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), lengths[_i].rc);
    ck_assert_msg(strstr(error.text, lengths[_i].says != NULL ? lengths[_i].says : most) != NULL, "%s", error.text);
}
END_TEST

START_TEST(pairs_that_are_too_long_or_too_many_together_are_refused)
{
    static struct lull_metadatum many[5042];
    struct lull_metadata metadata = {many, 2};
    many[0] = many[1] = (struct lull_metadatum){"x-bin", 5, "", SIZE_MAX / 2};
    ck_assert_int_eq(lull_metadata_check(&metadata, NULL), LULL_RC_LIMIT);
    for (size_t i = 0; i < 5042; i++) {
        many[i] = lull_metadatum_text("k", "");
    }
    metadata.count = 5041; /* of 13 bytes */
    ck_assert_int_eq(lull_metadata_check(&metadata, NULL), LULL_OK);
    ck_assert_uint_eq(metadata_block_bytes(&metadata), 65533);
    ck_assert_int_eq(metadata_check(&metadata, 3, NULL), LULL_OK);
    ck_assert_int_eq(metadata_check(&metadata, 4, NULL), LULL_RC_LIMIT);
    ck_assert_int_eq(metadata_check(&metadata, SIZE_MAX, NULL), LULL_RC_LIMIT);
    metadata.count = 5042;
    ck_assert_int_eq(lull_metadata_check(&metadata, NULL), LULL_RC_LIMIT);
    ck_assert_uint_eq(metadata_block_bytes(NULL), 0);
}
END_TEST

/* As many pairs as a block has room for, if they were nothing, are looked at: none of the rest. */
START_TEST(a_count_that_was_never_meant_is_not_followed)
{
    static struct lull_metadatum many[65536 / 12];
    const struct lull_metadata metadata = {many, SIZE_MAX};
    struct lull_error error;
    ck_assert_int_eq(lull_metadata_check(&metadata, &error), LULL_RC_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "of which at most 65536 can be sent"));
}
END_TEST

static Suite *metadata_suite(void)
{
    Suite *suite = suite_create("metadata");
    TCase *tc = tcase_create("metadata");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, pairs_are_copied_and_keep_their_order);
    tcase_add_test(tc, pairs_survive_any_growth);
    tcase_add_test(tc, borrowed_pairs_stay_where_they_are_while_others_move);
    tcase_add_test(tc, a_list_used_again_stops_allocating);
    tcase_add_test(tc, a_pair_weighs_name_and_value_on_the_wire_and_32);
    tcase_add_test(tc, the_limit_is_exact_and_a_refusal_changes_nothing);
    tcase_add_loop_test(tc, no_memory_changes_nothing_wherever_it_strikes, 0, 3);
    tcase_add_loop_test(tc, a_binary_value_is_split_and_decoded, 0, COUNT(binaries));
    tcase_add_test(tc, other_wire_values_are_copied_as_they_are);
    tcase_add_test(tc, binary_keys_end_in_bin);
    tcase_add_test(tc, find_counts_values_of_one_key);
    tcase_add_loop_test(tc, check_judges_what_an_application_sends, 0, COUNT(checks));
    tcase_add_test(tc, check_takes_none_and_names_the_faulty_key_readably);
    tcase_add_loop_test(tc, lengths_are_judged_before_a_byte_is_looked_at, 0, COUNT(lengths));
    tcase_add_test(tc, pairs_that_are_too_long_or_too_many_together_are_refused);
    tcase_add_test(tc, a_count_that_was_never_meant_is_not_followed);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("metadata", metadata_suite)
