/* SPDX-License-Identifier: MIT */
#include "base/list.h"

#include "tests/support/check_main.h"

struct item {
    int id;
    struct list_node node;
};

static struct item items[5];
static struct list_node list;

static void set_up(void)
{
    list_init(&list);
    for (int i = 0; i < 5; i++) {
        items[i].id = i;
        list_init(&items[i].node);
    }
}

/* The ids in order as one number: 0, 1, 2 is 1012 (the 1 keeps the zeros). Walks both ways. */
static int order_of(const struct list_node *of)
{
    int forward = 1;
    int backward[8];
    int count = 0;
    LIST_FOR_EACH(node, of)
    {
        forward = forward * 10 + LIST_ENTRY(node, struct item, node)->id;
    }
    for (const struct list_node *node = of->prev; node != of; node = node->prev) {
        ck_assert_int_lt(count, 8);
        backward[count++] = container_of_const(node, struct item, node)->id;
    }
    int again = 1;
    while (count > 0) {
        again = again * 10 + backward[--count];
    }
    ck_assert_int_eq(again, forward);
    return forward;
}

START_TEST(a_new_list_is_empty)
{
    ck_assert(list_is_empty(&list));
    ck_assert_ptr_null(list_first(&list));
    ck_assert_ptr_null(list_last(&list));
    ck_assert_ptr_null(list_pop_front(&list));
}
END_TEST

START_TEST(nodes_keep_the_order_of_their_places)
{
    list_push_back(&list, &items[1].node);
    list_push_back(&list, &items[3].node);
    list_push_front(&list, &items[0].node);
    list_insert_before(&items[3].node, &items[2].node);
    ck_assert_int_eq(order_of(&list), 10123);
    ck_assert_ptr_eq(list_first(&list), &items[0].node);
    ck_assert_ptr_eq(list_last(&list), &items[3].node);
}
END_TEST

START_TEST(a_removed_node_points_at_itself_and_may_be_removed_again)
{
    list_push_back(&list, &items[0].node);
    list_push_back(&list, &items[1].node);
    ck_assert(list_is_linked(&items[0].node));
    list_remove(&items[0].node);
    ck_assert(!list_is_linked(&items[0].node));
    list_remove(&items[0].node);
    ck_assert_int_eq(order_of(&list), 11);
}
END_TEST

START_TEST(pop_front_gives_nodes_first_in_first_out)
{
    for (int i = 0; i < 3; i++) {
        list_push_back(&list, &items[i].node);
    }
    for (int i = 0; i < 3; i++) {
        struct list_node *node = list_pop_front(&list);
        ck_assert_ptr_eq(node, &items[i].node);
        ck_assert(!list_is_linked(node));
    }
    ck_assert(list_is_empty(&list));
}
END_TEST

START_TEST(append_moves_all_in_order_and_empties_the_other)
{
    struct list_node other;
    list_init(&other);
    list_append(&list, &other);
    ck_assert(list_is_empty(&list));
    list_push_back(&list, &items[0].node);
    list_push_back(&other, &items[1].node);
    list_push_back(&other, &items[2].node);
    list_append(&list, &other);
    ck_assert_int_eq(order_of(&list), 1012);
    ck_assert(list_is_empty(&other));
}
END_TEST

START_TEST(the_safe_walk_allows_removal)
{
    int seen = 0;
    for (int i = 0; i < 5; i++) {
        list_push_back(&list, &items[i].node);
    }
    LIST_FOR_EACH_SAFE(node, after, &list)
    {
        seen++;
        if (LIST_ENTRY(node, struct item, node)->id % 2 == 0) {
            list_remove(node);
        }
    }
    ck_assert_int_eq(seen, 5);
    ck_assert_int_eq(order_of(&list), 113);
}
END_TEST

static Suite *list_suite(void)
{
    Suite *suite = suite_create("list");
    TCase *tc = tcase_create("list");
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, a_new_list_is_empty);
    tcase_add_test(tc, nodes_keep_the_order_of_their_places);
    tcase_add_test(tc, a_removed_node_points_at_itself_and_may_be_removed_again);
    tcase_add_test(tc, pop_front_gives_nodes_first_in_first_out);
    tcase_add_test(tc, append_moves_all_in_order_and_empties_the_other);
    tcase_add_test(tc, the_safe_walk_allows_removal);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("list", list_suite)
