/* SPDX-License-Identifier: MIT */
/*
 * src/channel/call_arena.c: what is kept from call to call.
 */
#include "channel/call_arena.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"

static struct counting_allocator memory;
static struct lull_counters counters;
static struct call_arenas arenas;

static void set_up(void)
{
    counting_init(&memory);
    memset(&counters, 0, sizeof(counters));
    call_arenas_init(&arenas, &memory.base, &counters);
}

static void tear_down(void)
{
    call_arenas_fini(&arenas);
    ck_assert_int_eq(atomic_load(&memory.live), 0);
}

static void use(struct call_arena *arena)
{
    ck_assert_int_eq(call_arena_set_method(&arenas, arena, "/package.Service/Method"), LULL_OK);
    ck_assert_int_eq(call_arena_set_message(&arenas, arena, "a%20b", 5), LULL_OK);
    arena->has_metadata = true;
    ck_assert_int_eq(metadata_list_add(&arena->headers, "k", 1, "v", 1), LULL_OK);
}

START_TEST(an_arena_used_again_asks_for_nothing)
{
    struct call_arena *first = call_arena_claim(&arenas);
    use(first);
    ck_assert_str_eq(first->message, "a b");
    ck_assert_uint_eq(first->message_len, 3);
    call_arena_release(&arenas, first);
    long asked = atomic_load(&memory.asked);
    for (int i = 0; i < 100; i++) {
        struct call_arena *again = call_arena_claim(&arenas);
        ck_assert_ptr_eq(again, first);
        ck_assert_str_eq(again->message, "");
        ck_assert_uint_eq(again->message_len, 0);
        ck_assert_str_eq(again->peer, "");
        ck_assert_uint_eq(again->headers.count, 0);
        use(again);
        call_arena_release(&arenas, again);
    }
    ck_assert_int_eq(atomic_load(&memory.asked), asked);
}
END_TEST

START_TEST(what_grew_large_is_given_back)
{
    static char big[3 * CALL_ARENA_KEEP_BYTES];
    struct call_arena *arena = call_arena_claim(&arenas);
    memset(big, 'x', sizeof(big));
    ck_assert_int_eq(call_arena_set_message(&arenas, arena, big, sizeof(big)), LULL_OK);
    arena->has_metadata = true;
    ck_assert_int_eq(metadata_list_add(&arena->trailers, "k", 1, big, sizeof(big)), LULL_OK);
    call_arena_release(&arenas, arena);
    arena = call_arena_claim(&arenas);
    ck_assert_uint_eq(arena->message_cap, 0);
    ck_assert_uint_eq(arena->trailers.bytes_cap, 0);
    call_arena_release(&arenas, arena);
}
END_TEST

START_TEST(only_so_many_are_kept)
{
    struct call_arena *many[CALL_ARENAS_KEPT + 10];
    for (size_t i = 0; i < CALL_ARENAS_KEPT + 10; i++) {
        many[i] = call_arena_claim(&arenas);
        ck_assert_ptr_nonnull(many[i]);
    }
    for (size_t i = 0; i < CALL_ARENAS_KEPT + 10; i++) {
        call_arena_release(&arenas, many[i]);
    }
    ck_assert_uint_eq(arenas.kept, CALL_ARENAS_KEPT);
    ck_assert_int_eq(atomic_load(&memory.live), CALL_ARENAS_KEPT);
}
END_TEST

START_TEST(no_memory_leaves_the_texts_empty)
{
    struct call_arena *arena = call_arena_claim(&arenas);
    counting_exhaust(&memory);
    ck_assert_int_eq(call_arena_set_method(&arenas, arena, "/a/b"), LULL_RC_NOMEM);
    ck_assert_int_eq(call_arena_set_message(&arenas, arena, "x", 1), LULL_RC_NOMEM);
    ck_assert_uint_eq(arena->message_len, 0);
    ck_assert_ptr_null(call_arena_claim(&arenas));
    counting_replenish(&memory);
    call_arena_release(&arenas, arena);
}
END_TEST

static Suite *call_arena_suite(void)
{
    Suite *suite = suite_create("call_arena");
    TCase *tcase = tcase_create("call_arena");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, an_arena_used_again_asks_for_nothing);
    tcase_add_test(tcase, what_grew_large_is_given_back);
    tcase_add_test(tcase, only_so_many_are_kept);
    tcase_add_test(tcase, no_memory_leaves_the_texts_empty);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("call_arena", call_arena_suite)
