/* SPDX-License-Identifier: MIT */
/*
 * src/base/recycler_asserting.h. The program is built with a recycler of its own, in the asserting mode whatever the library's is.
 */
#include "lull/recycler.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/death.h"

#define OBJECT_BYTES ((size_t)101)

static struct counting_allocator counting;
static struct lull_recycler *recycler;
static bool is_owner;
static unsigned asked;

static bool answer(void *owner)
{
    ck_assert_ptr_eq(owner, &is_owner);
    asked++;
    return is_owner;
}

static void make(bool has_owner)
{
    struct lull_recycler_options options;
    lull_recycler_options_init(&options, "streams", OBJECT_BYTES);
    options.allocator = &counting.base;
    if (has_owner) {
        options.is_owner = answer;
        options.owner = &is_owner;
    }
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
}

static void set_up(void)
{
    counting_init(&counting);
    is_owner = true;
    asked = 0;
    make(true);
}

static void tear_down(void)
{
    is_owner = true;
    lull_recycler_free(recycler);
    ck_assert_int_eq(counting.live, 0);
}

static unsigned char *claim(void)
{
    unsigned char *object = lull_recycler_claim(recycler);
    ck_assert_ptr_nonnull(object);
    return object;
}

START_TEST(an_object_is_writable_to_its_last_byte_and_is_nonsense_when_claimed)
{
    for (int i = 0; i < 3; i++) {
        unsigned char *object = claim();
        for (size_t k = 0; k < OBJECT_BYTES; k++) {
            ck_assert_uint_eq(object[k], 0xa5);
        }
        memset(object, 0, OBJECT_BYTES);
        lull_recycler_release(recycler, object);
    }
}
END_TEST

START_TEST(the_owner_is_asked_at_each_step_and_a_handover_is_legal)
{
    unsigned before = asked;
    void *first = claim();
    void *second = claim();
    ck_assert_uint_eq(asked, before + 2);
    lull_recycler_release(recycler, first);
    lull_recycler_release_unguarded(recycler, second);
    ck_assert_uint_eq(asked, before + 4);
    /* Not the owner's thread any more: foreign releases are all it may do. */
    first = claim();
    is_owner = false;
    lull_recycler_release_foreign(recycler, first);
    /* The next owner goes on. */
    is_owner = true;
    lull_recycler_release(recycler, claim());
    lull_recycler_trim(recycler);
}
END_TEST

static void another_claims(void)
{
    is_owner = false;
    claim();
}

static void another_releases(void)
{
    void *object = claim();
    is_owner = false;
    lull_recycler_release(recycler, object);
}

static void another_releases_unguarded(void)
{
    void *object = claim();
    is_owner = false;
    lull_recycler_release_unguarded(recycler, object);
}

static void another_trims(void)
{
    is_owner = false;
    lull_recycler_trim(recycler);
}

static void another_frees(void)
{
    is_owner = false;
    lull_recycler_free(recycler);
}

static void another_makes_a_port(void)
{
    struct lull_recycler_port *port;
    is_owner = false;
    (void)lull_recycler_port_new(recycler, 4, &port);
}

static void (*const verbs[])(void) = {another_claims, another_releases, another_releases_unguarded,
                                      another_trims,  another_frees,    another_makes_a_port};
static int verb;

static void as_another(void)
{
    verbs[verb]();
}

#define VERBS ((int)(sizeof(verbs) / sizeof(verbs[0])))

START_TEST(a_thread_that_is_not_the_owners_traps)
{
    verb = _i;
    expect_death(as_another, "recycler \"streams\": object ");
    expect_death(as_another, "on a thread that is not the owner's");
}
END_TEST

START_TEST(without_an_owner_nobody_is_asked_and_old_options_are_taken)
{
    struct lull_recycler_options options;
    lull_recycler_free(recycler);
    make(false);
    is_owner = false;
    asked = 0;
    lull_recycler_release(recycler, claim());
    lull_recycler_free(recycler);
    lull_recycler_options_init(&options, "old", OBJECT_BYTES);
    options.size = offsetof(struct lull_recycler_options, is_owner);
    options.allocator = &counting.base;
    options.is_owner = answer; /* behind its end */
    ck_assert_int_eq(lull_recycler_new(&options, &recycler), LULL_OK);
    lull_recycler_release(recycler, claim());
    ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(after_the_recycler_was_freed_any_thread_may_release)
{
    void *object = claim();
    void *other = claim();
    lull_recycler_free(recycler);
    is_owner = false;
    asked = 0;
    lull_recycler_release(recycler, object);
    lull_recycler_release_unguarded(recycler, other);
    ck_assert_uint_eq(asked, 0);
    recycler = NULL;
}
END_TEST

static struct lull_recycler_port *port;
static void *of_the_other;

static void *release_by_the_same_port(void *arg)
{
    lull_recycler_port_release(port, arg);
    return NULL;
}

/* The allocator is called from inside the port: for so long its thread is in there. */
static void release_meanwhile(void *ctx, void *memory)
{
    pthread_t other;
    (void)ctx;
    (void)memory;
    pthread_create(&other, NULL, release_by_the_same_port, of_the_other);
    pthread_join(other, NULL);
}

static void two_threads_in_one_port(void)
{
    void *object = claim();
    of_the_other = claim();
    ck_assert_int_eq(lull_recycler_port_new(recycler, 4, &port), LULL_OK);
    lull_recycler_free(recycler);
    counting.base.release = release_meanwhile;
    lull_recycler_port_release(port, object);
}

START_TEST(a_second_thread_in_a_port_traps)
{
    expect_death(two_threads_in_one_port, " is a port that two threads use at once");
}
END_TEST

static void write_behind(void)
{
    unsigned char *object = claim();
    object[OBJECT_BYTES] = 1;
    lull_recycler_release(recycler, object);
}

static void write_far_behind(void)
{
    unsigned char *object = claim();
    memset(object, 0, OBJECT_BYTES + 8 + 7 + 4);
    lull_recycler_release_foreign(recycler, object);
}

START_TEST(a_write_past_the_end_traps_at_the_release)
{
    expect_death(write_behind, "of 101 bytes was written past its end, at 101");
    expect_death(write_far_behind, "was written past its end, at 101");
}
END_TEST

#ifndef LULL_NO_POOL
/* Under the address sanitizer the write itself is the end, and it says where. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#endif

#ifndef HAS_ASAN
static size_t late_at;

static void write_late(void)
{
    unsigned char *object = claim();
    lull_recycler_release(recycler, object);
    object[late_at] = 1;
    claim();
}

static void write_late_then_trim(void)
{
    unsigned char *object = claim();
    lull_recycler_release_foreign(recycler, object);
    object[late_at] = 1;
    lull_recycler_trim(recycler);
}

static void write_late_then_free(void)
{
    unsigned char *object = claim();
    lull_recycler_release_unguarded(recycler, object);
    object[late_at] = 1;
    lull_recycler_free(recycler);
}

START_TEST(a_write_after_the_release_traps_with_name_and_offset)
{
    late_at = 0;
    expect_death(write_late, "recycler \"streams\": object ");
    expect_death(write_late, "of 101 bytes was written to after its release, at 0");
    late_at = OBJECT_BYTES - 1;
    expect_death(write_late, "was written to after its release, at 100");
    expect_death(write_late_then_trim, "was written to after its release, at 100");
    expect_death(write_late_then_free, "was written to after its release, at 100");
    late_at = OBJECT_BYTES;
    expect_death(write_late, "was written past its end after its release, at 101");
}
END_TEST
#endif

static void unguarded_after_unguarded(void)
{
    void *object = claim();
    lull_recycler_release_unguarded(recycler, object);
    lull_recycler_release_unguarded(recycler, object);
}

START_TEST(a_second_unguarded_release_traps_too)
{
    expect_death(unguarded_after_unguarded, " released twice");
}
END_TEST
#endif

static Suite *recycler_asserting_suite(void)
{
    Suite *suite = suite_create("recycler_asserting");
    TCase *tc = tcase_create("recycler_asserting");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_object_is_writable_to_its_last_byte_and_is_nonsense_when_claimed);
    tcase_add_test(tc, the_owner_is_asked_at_each_step_and_a_handover_is_legal);
    tcase_add_loop_test(tc, a_thread_that_is_not_the_owners_traps, 0, VERBS);
    tcase_add_test(tc, without_an_owner_nobody_is_asked_and_old_options_are_taken);
    tcase_add_test(tc, after_the_recycler_was_freed_any_thread_may_release);
    tcase_add_test(tc, a_second_thread_in_a_port_traps);
    tcase_add_test(tc, a_write_past_the_end_traps_at_the_release);
#ifndef LULL_NO_POOL
#ifndef HAS_ASAN
    tcase_add_test(tc, a_write_after_the_release_traps_with_name_and_offset);
#endif
    tcase_add_test(tc, a_second_unguarded_release_traps_too);
#endif
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("recycler_asserting", recycler_asserting_suite)
