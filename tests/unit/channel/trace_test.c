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

static struct lull_log_line last_line;
static char last_text[2048];
static unsigned lines;

static void keep_line(void *ctx, const struct lull_log_line *line)
{
    ck_assert_ptr_eq(ctx, &lines);
    ck_assert_uint_eq(line->size, sizeof(*line));
    last_line = *line;
    ck_assert_uint_lt(strlen(line->text), sizeof(last_text));
    memcpy(last_text, line->text, strlen(line->text) + 1);
    lines++;
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
    lines = 0;
}

static void tear_down(void)
{
    lull_executor_free(executor);
}

static struct trace hooked(void)
{
    const struct lull_trace hook = {remember, &events};
    const struct lull_log log = {NULL, NULL, 0};
    struct trace trace;
    trace_init(&trace, &hook, &log, false, executor, "t");
    return trace;
}

static struct trace logging(int level, bool is_server)
{
    const struct lull_trace hook = {NULL, NULL};
    const struct lull_log log = {keep_line, &lines, level};
    struct trace trace;
    trace_init(&trace, &hook, &log, is_server, executor, "t");
    return trace;
}

START_TEST(without_a_hook_nothing_is_even_evaluated)
{
    const struct lull_trace hook = {NULL, NULL};
    const struct lull_log log = {NULL, NULL, LULL_LOG_DEBUG};
    struct trace trace;
    trace_init(&trace, &hook, &log, false, executor, "t");
    TRACE(&trace, LULL_EVENT_WARNING, 1, "%d", evaluate());
    ck_assert_uint_eq(evaluated, 0);
    ck_assert_uint_eq(fake.reads, 0);
}
END_TEST

START_TEST(an_event_has_its_instant_call_and_text)
{
    struct trace trace = hooked();
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
    struct trace trace = hooked();
    TRACE(&trace, LULL_EVENT_WARNING, 0, "%01500d", 1);
    ck_assert_uint_eq(events, 1);
    ck_assert_uint_eq(strlen(last_detail), 1023);
}
END_TEST

/* A log costs what it shows: a call's events cost nothing where calls are not logged. */
START_TEST(a_log_has_the_lines_of_its_level_and_makes_no_others)
{
    static const struct {
        int level;
        unsigned lines;
    } rows[] = {{0, 2}, {1, 0}, {LULL_LOG_WARNING, 1}, {LULL_LOG_INFO, 2}, {LULL_LOG_DEBUG, 3}};
    struct trace trace = logging(rows[_i].level, false);
    TRACE(&trace, LULL_EVENT_DIAL_FAILED, 0, "it is %d", evaluate());
    TRACE(&trace, LULL_EVENT_DIAL, 0, "it is %d", evaluate());
    TRACE(&trace, LULL_EVENT_CALL_SENT, 3, "it is %d", evaluate());
    ck_assert_uint_eq(lines, rows[_i].lines);
    ck_assert_uint_eq(evaluated, rows[_i].lines);
}
END_TEST

START_TEST(a_line_has_level_instant_name_and_words)
{
    struct trace trace = logging(LULL_LOG_DEBUG, false);
    TRACE(&trace, LULL_EVENT_DIAL_FAILED, 0, "no");
    ck_assert_int_eq(last_line.level, LULL_LOG_WARNING);
    ck_assert_int_eq(last_line.at.ns, 42);
    ck_assert_str_eq(last_line.name, "t");
    ck_assert_str_eq(last_text, "dial failed: no");
    TRACE(&trace, LULL_EVENT_CALL_SENT, 3, "stream 1");
    ck_assert_int_eq(last_line.level, LULL_LOG_DEBUG);
    ck_assert_str_eq(last_text, "call 3 sent: stream 1");
    TRACE(&trace, LULL_EVENT_WARNING, 0, "beware");
    ck_assert_str_eq(last_text, "beware");
    TRACE(&trace, LULL_EVENT_WARNING, 3, "beware");
    ck_assert_str_eq(last_text, "call 3: beware");
}
END_TEST

/* Clients come and go. */
START_TEST(a_connection_lost_is_a_warning_at_the_client_only)
{
    struct trace client = logging(LULL_LOG_WARNING, false);
    struct trace server = logging(LULL_LOG_WARNING, true);
    TRACE(&server, LULL_EVENT_LOST, 0, "gone");
    ck_assert_uint_eq(lines, 0);
    TRACE(&client, LULL_EVENT_LOST, 0, "gone");
    ck_assert_uint_eq(lines, 1);
}
END_TEST

START_TEST(a_line_is_one_line_whatever_is_in_it)
{
    struct trace trace = logging(LULL_LOG_INFO, false);
    TRACE(&trace, LULL_EVENT_LOST, 0, "%s", "a\nlost: b\x1b[2J\xff \xc3\xa4");
    ck_assert_str_eq(last_text, "lost: a\\x0alost: b\\x1b[2J\\xff \xc3\xa4");
    trace = hooked();
    TRACE(&trace, LULL_EVENT_LOST, 0, "%s", "a\nb");
    ck_assert_str_eq(last_detail, "a\\x0ab");
}
END_TEST

START_TEST(a_hook_and_a_log_are_both_told)
{
    struct trace trace = logging(LULL_LOG_INFO, false);
    const struct lull_trace hook = {remember, &events};
    const struct lull_log log = trace.log;
    trace_init(&trace, &hook, &log, false, executor, "t");
    TRACE(&trace, LULL_EVENT_LOST, 0, "x");
    TRACE(&trace, LULL_EVENT_CALL_SENT, 1, "x");
    ck_assert_uint_eq(events, 2);
    ck_assert_uint_eq(lines, 1);
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
    tcase_add_loop_test(tcase, a_log_has_the_lines_of_its_level_and_makes_no_others, 0, 5);
    tcase_add_test(tcase, a_line_has_level_instant_name_and_words);
    tcase_add_test(tcase, a_connection_lost_is_a_warning_at_the_client_only);
    tcase_add_test(tcase, a_line_is_one_line_whatever_is_in_it);
    tcase_add_test(tcase, a_hook_and_a_log_are_both_told);
    suite_add_tcase(suite, tcase);
    return suite;
}

LULL_TEST_MAIN("trace", trace_suite)
