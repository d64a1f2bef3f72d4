/* SPDX-License-Identifier: MIT */
/*
 * src/channel/trace.c: events, and no work without a hook.
 */
#include "channel/trace.h"

#include <string.h>

#include "lull/clock.h"
#include "tests/support/check_main.h"

static struct lull_event last;
static char last_detail[2048];
static unsigned events, evaluated;

static void remember(void *ctx, const struct lull_event *event)
{
    ck_assert_ptr_eq(ctx, &events);
    last = *event;
    ck_assert_uint_lt(strlen(event->detail), sizeof(last_detail));
    memcpy(last_detail, event->detail, strlen(event->detail) + 1);
    events++;
}

static int evaluate(void)
{
    evaluated++;
    return 7;
}

static struct lull_fake_clock fake;
static struct lull_executor *executor;

static void set_up(void)
{
    struct lull_executor_options options;
    lull_fake_clock_init(&fake, 42, 0);
    lull_executor_options_init(&options);
    options.clock = &fake.base;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_OK);
    events = 0;
    evaluated = 0;
}

static void tear_down(void)
{
    lull_executor_free(executor);
}

START_TEST(without_a_hook_nothing_is_even_evaluated)
{
    struct trace trace = {.executor = executor, .target = "t"};
    TRACE(&trace, LULL_EVENT_WARNING, 1, "%d", evaluate());
    ck_assert_uint_eq(evaluated, 0);
    ck_assert_uint_eq(fake.reads, 0);
}
END_TEST

START_TEST(an_event_has_its_instant_call_and_text)
{
    struct trace trace = {.hook = {remember, &events}, .executor = executor, .target = "t"};
    TRACE(&trace, LULL_EVENT_WARNING, 3, "it is %d", evaluate());
    ck_assert_uint_eq(events, 1);
    ck_assert_int_eq(last.kind, LULL_EVENT_WARNING);
    ck_assert_uint_eq(last.call_id, 3);
    ck_assert_int_eq(last.at.ns, 42);
    ck_assert_str_eq(last.target, "t");
    ck_assert_str_eq(last_detail, "it is 7");
}
END_TEST

START_TEST(a_long_text_is_cut)
{
    struct trace trace = {.hook = {remember, &events}, .executor = executor, .target = "t"};
    TRACE(&trace, LULL_EVENT_WARNING, 0, "%01500d", 1);
    ck_assert_uint_eq(events, 1);
    ck_assert_uint_eq(strlen(last_detail), 1023);
}
END_TEST

static Suite *trace_suite(void)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("trace");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, without_a_hook_nothing_is_even_evaluated);
    tcase_add_test(tcase, an_event_has_its_instant_call_and_text);
    tcase_add_test(tcase, a_long_text_is_cut);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("trace", trace_suite)
