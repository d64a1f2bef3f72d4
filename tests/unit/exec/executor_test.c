/* SPDX-License-Identifier: MIT */
/* The executor (src/exec/executor.c): the serializer's scenarios of §3.2, context, time, what is shared.
 * The scenarios with timers are in timer_test.c, those with threads in executor_threads_test.c. */
#include "exec/executor.h"

#include <signal.h>

#include "tests/unit/exec/fixture.h"

static struct rig rig;

/* A task that writes its letter, and may do something else first. */
struct letter {
    struct lull_task task;
    char letter;
    void (*also)(struct lull_executor *executor);
};

static char written[64];
static struct letter a, b, c;

static void write_letter(struct lull_task *task, struct lull_executor *executor)
{
    const struct letter *letter = (const struct letter *)(const void *)task;
    const size_t length = strlen(written);
    ck_assert(lull_executor_in_context(executor));
    if (letter->also != NULL) {
        letter->also(executor);
    }
    if (length + 1 < sizeof(written)) {
        written[length] = letter->letter;
        written[length + 1] = 0;
    }
}

static void letter_init(struct letter *letter, char which)
{
    lull_task_init(&letter->task, write_letter);
    letter->letter = which;
    letter->also = NULL;
}

static void setup(void)
{
    rig_init(&rig, 0);
    memset(written, 0, sizeof(written));
    letter_init(&a, 'a');
    letter_init(&b, 'b');
    letter_init(&c, 'c');
}

static void teardown(void)
{
    rig_fini(&rig);
}

static void submit(struct letter *letter)
{
    ck_assert(lull_executor_submit(rig.executor, &letter->task));
}

/* drain() of the scenarios. */
static void drain(void)
{
    lull_fake_clock_settle(&rig.clock);
}

/* scenario 20 */
START_TEST(submitted_tasks_run_in_order_when_somebody_drains)
{
    submit(&a);
    submit(&b);
    ck_assert_str_eq(written, "");
    drain();
    ck_assert_str_eq(written, "ab");
    submit(&c);
    ck_assert_str_eq(written, "ab");
    drain();
    ck_assert_str_eq(written, "abc");
}
END_TEST

static void post_b(struct lull_executor *executor)
{
    lull_executor_post(executor, &b.task);
    ck_assert_str_eq(written, "");
}

/* scenario 30 */
START_TEST(a_task_posted_by_a_task_runs_after_those_queued_before)
{
    a.also = post_b;
    submit(&a);
    submit(&c);
    drain();
    ck_assert_str_eq(written, "acb");
}
END_TEST

START_TEST(a_task_posted_by_a_posted_task_runs_after_those_queued_before)
{
    a.also = post_b;
    rig_enter(&rig);
    lull_executor_post(rig.executor, &a.task);
    lull_executor_post(rig.executor, &c.task);
    rig_leave(&rig);
    ck_assert_str_eq(written, "");
    drain();
    ck_assert_str_eq(written, "acb");
}
END_TEST

static void unpost_b(struct lull_executor *executor)
{
    ck_assert(lull_executor_unpost(executor, &b.task));
    ck_assert(!lull_executor_unpost(executor, &b.task));
}

/* scenario 29, the task's side */
START_TEST(a_queued_task_can_be_taken_back_by_an_earlier_one)
{
    a.also = unpost_b;
    submit(&a);
    submit(&b);
    submit(&c);
    drain();
    ck_assert_str_eq(written, "ac");
    submit(&b); /* and submitted again */
    drain();
    ck_assert_str_eq(written, "acb");
}
END_TEST

static void fail_in_every_way(struct lull_executor *executor)
{
    /* What a task can do wrong without breaking an assertion. */
    ck_assert_int_eq(lull_executor_turn_now(executor), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_RC_IN_TURN);
}

/* scenario 32: a failing task, and even a failing report of it, leave the context usable */
START_TEST(a_task_that_fails_leaves_the_context_usable)
{
    a.also = fail_in_every_way;
    submit(&a);
    submit(&b);
    drain();
    ck_assert_str_eq(written, "ab");
    submit(&c);
    drain();
    ck_assert_str_eq(written, "abc");
    ck_assert(!lull_executor_in_context(rig.executor));
}
END_TEST

/* ---- context */

START_TEST(enter_runs_nothing_and_nests_nothing)
{
    submit(&a);
    rig_enter(&rig);
    ck_assert(lull_executor_in_context(rig.executor));
    ck_assert_int_eq(lull_executor_enter(rig.executor), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_RC_IN_TURN);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_RC_IN_TURN);
    rig_leave(&rig);
    ck_assert_str_eq(written, "");
    ck_assert_uint_eq(rig_counters(&rig).turns, 0);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
    ck_assert_str_eq(written, "a");
}
END_TEST

/* What a channel and a server do in their public functions. */
START_TEST(the_context_is_entered_by_who_is_not_in_it_and_left_by_who_entered)
{
    bool had_to_enter = executor_enter(rig.executor);
    ck_assert(had_to_enter);
    ck_assert(!executor_enter(rig.executor));
    executor_leave(rig.executor, false);
    ck_assert(lull_executor_in_context(rig.executor));
    executor_leave(rig.executor, had_to_enter);
    ck_assert(!lull_executor_in_context(rig.executor));
}
END_TEST

START_TEST(a_post_between_enter_and_leave_makes_a_turn_due_at_once)
{
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
    rig_enter(&rig);
    lull_executor_post(rig.executor, &a.task);
    lull_executor_post(rig.executor, &a.task); /* stays where it is */
    rig_leave(&rig);
    ck_assert_int_le(lull_executor_next_at(rig.executor).ns, rig.clock.mono_at.ns);
    drain();
    ck_assert_str_eq(written, "a");
    ck_assert_int_eq(lull_executor_next_at(rig.executor).ns, LULL_NEVER);
}
END_TEST

START_TEST(posting_outside_the_context_is_our_mistake)
{
    lull_executor_post(rig.executor, &a.task);
}
END_TEST

static void free_it(struct lull_executor *executor)
{
    lull_executor_free(executor);
}

START_TEST(freeing_it_inside_a_turn_is_our_mistake)
{
    a.also = free_it;
    submit(&a);
    drain();
}
END_TEST

START_TEST(a_task_submitted_twice_before_it_is_taken_runs_once)
{
    submit(&a);
    ck_assert(!lull_executor_submit(rig.executor, &a.task));
    drain();
    ck_assert_str_eq(written, "a");
    ck_assert_uint_eq(rig_counters(&rig).submits, 1);
    ck_assert_uint_eq(rig_counters(&rig).posts, 1);
}
END_TEST

static void submit_a_again(struct lull_executor *executor)
{
    if (strlen(written) < 4) {
        ck_assert(lull_executor_submit(executor, &a.task));
    }
}

START_TEST(a_task_may_submit_itself_and_runs_in_the_next_turn)
{
    a.also = submit_a_again;
    submit(&a);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_str_eq(written, "a");
    drain();
    ck_assert_str_eq(written, "aaaaa");
    ck_assert_uint_eq(rig_counters(&rig).turns, 5);
}
END_TEST

START_TEST(a_task_that_is_posted_and_submitted_runs_once)
{
    rig_enter(&rig);
    lull_executor_post(rig.executor, &b.task);
    lull_executor_post(rig.executor, &a.task);
    rig_leave(&rig);
    submit(&a);
    drain();
    ck_assert_str_eq(written, "ba");
}
END_TEST

/* ---- time */

static int64_t seen_ns[4];

static void read_now_around_a_user_callback(struct lull_executor *executor)
{
    seen_ns[0] = lull_executor_now(executor).ns;
    lull_fake_clock_advance(&rig.clock, 70); /* a slow user callback */
    seen_ns[1] = lull_executor_now(executor).ns;
    executor_on_user_returned(executor);
    seen_ns[2] = lull_executor_now(executor).ns;
    seen_ns[3] = lull_executor_now(executor).ns;
}

START_TEST(now_is_the_turns_until_a_user_callback_returned)
{
    a.also = read_now_around_a_user_callback;
    submit(&a);
    const uint64_t reads = rig.clock.reads;
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(0)), LULL_OK);
    ck_assert_int_eq(seen_ns[0], 0);
    ck_assert_int_eq(seen_ns[1], 0);
    ck_assert_int_eq(seen_ns[2], 70);
    ck_assert_int_eq(seen_ns[3], 70);
    ck_assert_uint_eq(rig.clock.reads - reads, 1);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 1);
}
END_TEST

static void read_now_after_a_user_callback(struct lull_executor *executor)
{
    executor_on_user_returned(executor);
    seen_ns[0] = lull_executor_now(executor).ns;
}

START_TEST(now_does_not_go_back_within_a_turn_that_was_driven_ahead_of_the_clock)
{
    a.also = read_now_after_a_user_callback;
    submit(&a);
    ck_assert_int_eq(lull_executor_turn(rig.executor, lull_at(30)), LULL_OK);
    ck_assert_int_eq(seen_ns[0], 30);
}
END_TEST

START_TEST(outside_the_context_now_is_the_clocks)
{
    ck_assert_int_eq(lull_executor_now(rig.executor).ns, 0);
    lull_fake_clock_advance(&rig.clock, 5);
    ck_assert_int_eq(lull_executor_now(rig.executor).ns, 5);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 2);
    ck_assert_ptr_eq(lull_executor_clock(rig.executor), &rig.clock.base);
}
END_TEST

START_TEST(a_visit_reads_the_clock_once_if_anybody_asks)
{
    rig_fini(&rig);
    rig_init(&rig, -90); /* before the origin, too */
    rig_enter(&rig);
    rig_leave(&rig);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 0);
    rig_enter(&rig);
    ck_assert_int_eq(lull_executor_now(rig.executor).ns, -90);
    ck_assert_int_eq(lull_executor_now(rig.executor).ns, -90);
    rig_leave(&rig);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 1);
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    ck_assert_uint_eq(rig_counters(&rig).clock_reads, 2);
    ck_assert_uint_eq(rig.clock.reads, 2);
}
END_TEST

/* ---- what is shared */

START_TEST(options_of_another_size_are_refused)
{
    struct lull_executor_options options;
    struct lull_executor *executor = NULL;
    lull_executor_options_init(&options);
    options.size = 3;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_RC_INVALID);
    ck_assert_ptr_null(executor);
    ck_assert_int_eq(lull_executor_new(NULL, &executor), LULL_OK);
    ck_assert_ptr_eq(lull_executor_clock(executor), lull_clock_system());
    ck_assert_ptr_eq(executor_allocator(executor), lull_allocator_system());
    lull_executor_free(executor);
    lull_executor_free(NULL);
}
END_TEST

static void *no_memory(void *ctx, size_t size)
{
    (void)ctx;
    (void)size;
    return NULL;
}

START_TEST(without_memory_there_is_no_executor)
{
    struct lull_allocator allocator = *lull_allocator_system();
    struct lull_executor_options options;
    struct lull_executor *executor = NULL;
    allocator.alloc = no_memory;
    lull_executor_options_init(&options);
    options.allocator = &allocator;
    ck_assert_int_eq(lull_executor_new(&options, &executor), LULL_RC_NOMEM);
    ck_assert_ptr_null(executor);
}
END_TEST

START_TEST(counters_fill_no_more_than_was_asked)
{
    struct lull_counters counters;
    memset(&counters, 0x5a, sizeof(counters));
    counters.size = offsetof(struct lull_counters, timer_arms);
    drain();
    ck_assert_int_eq(lull_executor_turn_now(rig.executor), LULL_OK);
    lull_executor_counters(rig.executor, &counters);
    ck_assert_uint_eq(counters.size, offsetof(struct lull_counters, timer_arms));
    ck_assert_uint_eq(counters.turns, 1);
    ck_assert_uint_eq(counters.timer_arms, UINT64_C(0x5a5a5a5a5a5a5a5a));
    counters.size = sizeof(counters) + 100;
    lull_executor_counters(rig.executor, &counters);
    ck_assert_uint_eq(counters.size, sizeof(counters));
    ck_assert_uint_eq(counters.timer_arms, 0);
    ck_assert_uint_eq(counters.turns, executor_turn_number(rig.executor));
}
END_TEST

START_TEST(buffers_are_made_once_and_given_back_by_trim)
{
    const uint64_t before = rig_counters(&rig).allocations;
    uint8_t *reading = executor_read_buffer(rig.executor);
    uint8_t *writing = executor_write_buffer(rig.executor);
    ck_assert_ptr_nonnull(reading);
    ck_assert_ptr_nonnull(writing);
    memset(reading, 1, EXECUTOR_BUFFER_BYTES);
    memset(writing, 2, EXECUTOR_BUFFER_BYTES);
    ck_assert_ptr_eq(executor_read_buffer(rig.executor), reading);
    ck_assert_ptr_eq(executor_write_buffer(rig.executor), writing);
    ck_assert_uint_eq(rig_counters(&rig).allocations, before + 2);
    rig_enter(&rig);
    executor_trim(rig.executor);
    rig_leave(&rig);
    ck_assert_ptr_nonnull(executor_read_buffer(rig.executor));
    ck_assert_uint_eq(rig_counters(&rig).allocations, before + 3);
}
END_TEST

START_TEST(a_free_that_is_queued_happens_at_the_latest_with_the_executor)
{
    struct lull_executor *executor;
    ck_assert_int_eq(lull_executor_new(NULL, &executor), LULL_OK);
    ck_assert_int_eq(lull_executor_enter(executor), LULL_OK);
    executor_post_dead(executor, &a.task);
    lull_executor_leave(executor);
    ck_assert_str_eq(written, "");
    lull_executor_free(executor);
    ck_assert_str_eq(written, "a");
}
END_TEST

START_TEST(a_freed_executor_leaves_the_fake_clock)
{
    struct lull_executor_options options;
    struct lull_executor *second;
    lull_executor_options_init(&options);
    options.clock = &rig.clock.base;
    ck_assert_int_eq(lull_executor_new(&options, &second), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(second, &rig.clock), LULL_OK);
    ck_assert_uint_eq(rig.clock.driven_count, 2);
    lull_executor_free(second);
    ck_assert_uint_eq(rig.clock.driven_count, 1);
}
END_TEST

static void add_scenarios(TCase *cases)
{
    tcase_add_test(cases, submitted_tasks_run_in_order_when_somebody_drains);
    tcase_add_test(cases, a_task_posted_by_a_task_runs_after_those_queued_before);
    tcase_add_test(cases, a_task_posted_by_a_posted_task_runs_after_those_queued_before);
    tcase_add_test(cases, a_queued_task_can_be_taken_back_by_an_earlier_one);
    tcase_add_test(cases, a_task_that_fails_leaves_the_context_usable);
}

static Suite *executor_suite(void)
{
    Suite *suite = suite_create("exec/executor");
    TCase *cases = tcase_create("cases");
    const char *fork = getenv("CK_FORK");
    tcase_set_timeout(cases, 240);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_scenarios(cases);
    tcase_add_test(cases, enter_runs_nothing_and_nests_nothing);
    tcase_add_test(cases, the_context_is_entered_by_who_is_not_in_it_and_left_by_who_entered);
    tcase_add_test(cases, a_post_between_enter_and_leave_makes_a_turn_due_at_once);
    tcase_add_test(cases, a_task_submitted_twice_before_it_is_taken_runs_once);
    tcase_add_test(cases, a_task_may_submit_itself_and_runs_in_the_next_turn);
    tcase_add_test(cases, a_task_that_is_posted_and_submitted_runs_once);
    tcase_add_test(cases, now_is_the_turns_until_a_user_callback_returned);
    tcase_add_test(cases, now_does_not_go_back_within_a_turn_that_was_driven_ahead_of_the_clock);
    tcase_add_test(cases, outside_the_context_now_is_the_clocks);
    tcase_add_test(cases, a_visit_reads_the_clock_once_if_anybody_asks);
    tcase_add_test(cases, options_of_another_size_are_refused);
    tcase_add_test(cases, without_memory_there_is_no_executor);
    tcase_add_test(cases, counters_fill_no_more_than_was_asked);
    tcase_add_test(cases, buffers_are_made_once_and_given_back_by_trim);
    tcase_add_test(cases, a_free_that_is_queued_happens_at_the_latest_with_the_executor);
    tcase_add_test(cases, a_freed_executor_leaves_the_fake_clock);
    if (fork == NULL || strcmp(fork, "no") != 0) {
        tcase_add_test_raise_signal(cases, posting_outside_the_context_is_our_mistake, SIGABRT);
        tcase_add_test_raise_signal(cases, freeing_it_inside_a_turn_is_our_mistake, SIGABRT);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("executor", executor_suite)
