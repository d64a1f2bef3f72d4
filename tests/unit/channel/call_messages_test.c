/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_messages.c: order, the node inside, and what comes back to the store.
 */
#include "channel/call_messages.h"

#include <string.h>

#include "base/slice.h"
#include "channel/call_arena.h"
#include "lull/recycler.h"
#include "tests/support/check_main.h"

static struct lull_counters counters;
static struct call_arenas arenas;
static struct call_messages queue;

static void setup(void)
{
    memset(&counters, 0, sizeof(counters));
    call_arenas_init(&arenas, lull_allocator_system(), &counters);
    call_messages_init(&queue);
}

static void teardown(void)
{
    call_messages_clear(&arenas, &queue);
    call_arenas_fini(&arenas);
}

static struct call_message *push(const char *text)
{
    return call_messages_push(&arenas, &queue, lull_slice_static(text, strlen(text)));
}

static void expect_next(const char *text)
{
    struct call_message *first = call_messages_first(&queue);
    ck_assert_ptr_nonnull(first);
    struct lull_slice taken = call_messages_take(&arenas, &queue, first);
    ck_assert_uint_eq(taken.len, strlen(text));
    ck_assert_mem_eq(taken.data, text, taken.len);
}

START_TEST(they_come_out_in_the_order_in_which_they_went_in)
{
    push("one");
    push("two");
    push("three");
    expect_next("one");
    push("four"); /* in the node inside again, and last all the same */
    expect_next("two");
    expect_next("three");
    expect_next("four");
    ck_assert_ptr_null(call_messages_first(&queue));
}
END_TEST

START_TEST(one_at_a_time_asks_for_nothing)
{
    for (int i = 0; i < 100; i++) {
        push("x");
        expect_next("x");
    }
    ck_assert_uint_eq(counters.allocations, 0);
    ck_assert_uint_eq(counters.pool_claims, 0);
}
END_TEST

START_TEST(one_can_be_taken_from_the_middle)
{
    push("one");
    struct call_message *two = push("two");
    struct call_message *three = push("three");
    ck_assert_ptr_eq(call_messages_next(&queue, two), three);
    ck_assert_ptr_null(call_messages_next(&queue, three));
    (void)call_messages_take(&arenas, &queue, two);
    expect_next("one");
    expect_next("three");
}
END_TEST

static unsigned released;

static void release(struct lull_slab *slab)
{
    (void)slab;
    released++;
}

START_TEST(clearing_gives_everything_back)
{
    struct lull_slab slab;
    struct lull_recycler_stats stats = {.size = sizeof(stats)};
    uint8_t bytes[4] = "abc";
    released = 0;
    slab_init(&slab, bytes, sizeof(bytes), release);
    for (int i = 0; i < 10; i++) {
        (void)call_messages_push(&arenas, &queue, slab_slice(&slab, 0, 4));
    }
    slab_unref(&slab);
    call_messages_clear(&arenas, &queue);
    ck_assert_uint_eq(released, 1);
    lull_recycler_stats(arenas.messages, &stats);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.claims, 9);
}
END_TEST

START_TEST(a_trim_leaves_what_is_in_use_alone)
{
    push("one");
    push("two");
    push("three");
    expect_next("one");
    expect_next("two");
    call_arenas_trim(&arenas);
    expect_next("three");
    push("four");
    expect_next("four");
}
END_TEST

static Suite *call_messages_suite(void)
{
    Suite *suite = suite_create("call_messages");
    TCase *tcase = tcase_create("call_messages");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, they_come_out_in_the_order_in_which_they_went_in);
    tcase_add_test(tcase, one_at_a_time_asks_for_nothing);
    tcase_add_test(tcase, one_can_be_taken_from_the_middle);
    tcase_add_test(tcase, clearing_gives_everything_back);
    tcase_add_test(tcase, a_trim_leaves_what_is_in_use_alone);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_messages", call_messages_suite)
