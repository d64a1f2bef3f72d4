/* SPDX-License-Identifier: MIT */
/*
 * The end of a channel that has a loop of its own (src/channel/channel_outside.c, loop_settle of src/loop/loop.c): whoever closes it, or
 * gives back the last that holds it, brings every call to its end and the memory back, on whatever thread. That all is freed is seen by
 * the runs under ASan and valgrind.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/integ/sync_support.h"

static struct sync_server served;

static void set_up(void)
{
    sync_server_start(&served);
}

static void tear_down(void)
{
    sync_server_stop(&served);
}

static unsigned rounds(unsigned many, unsigned few)
{
    return getenv("LULL_TEST_FEWER") != NULL ? few : many;
}

/* What the callbacks of calls saw. */
struct ends {
    atomic_int count;
    atomic_int last_code;
    pthread_t thread;
    struct lull_channel *gives_back; /* [nullable] what the first on_closed gives back */
    struct lull_call *handle;        /* [nullable] so too */
    bool closes;                     /* before it gives that back */
};

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    struct ends *ends = ctx;
    struct lull_channel *channel = ends->gives_back;
    struct lull_call *handle = ends->handle;
    (void)call;
    (void)trailers;
    ends->gives_back = NULL;
    ends->handle = NULL;
    ends->thread = pthread_self();
    atomic_store(&ends->last_code, (int)status->code);
    if (channel != NULL && ends->closes) {
        lull_channel_close(channel);
    }
    lull_channel_unref(channel);
    lull_call_unref(handle);
    atomic_fetch_add(&ends->count, 1);
}

/* Half-closed, so that METHOD_ECHO ends it. */
static void start(struct lull_channel *channel, const char *method, struct ends *ends,
                  struct lull_call **out)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_call *call;
    lull_call_options_init(&options, method);
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(channel, &options, &handler, ends, &call, NULL), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    if (out != NULL) {
        *out = call;
    } else {
        lull_call_unref(call);
    }
}

START_TEST(a_close_tells_the_calls_on_the_calling_thread)
{
    struct ends ends = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    start(channel, METHOD_SILENT, &ends, NULL);
    start(channel, METHOD_SILENT, &ends, NULL);
    lull_channel_close(channel);
    ck_assert_int_eq(ends.count, 2);
    ck_assert_int_eq(ends.last_code, LULL_CODE_UNAVAILABLE);
    ck_assert(pthread_equal(ends.thread, pthread_self()));
    lull_channel_unref(channel);
}
END_TEST

START_TEST(the_last_unref_ends_calls_that_nobody_could_drive)
{
    struct ends ends = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    start(channel, METHOD_SILENT, &ends, NULL);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND), LULL_CODE_OK);
    ck_assert_int_eq(ends.count, 0);
    lull_channel_ref(channel);
    lull_channel_unref(channel);
    ck_assert_int_eq(ends.count, 0);
    lull_channel_unref(channel);
    ck_assert_int_eq(ends.count, 1);
    ck_assert_int_eq(ends.last_code, LULL_CODE_UNAVAILABLE);
}
END_TEST

START_TEST(more_calls_than_a_turn_has_tasks_are_all_told)
{
    struct ends ends = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    for (int i = 0; i < 5000; i++) {
        start(channel, METHOD_SILENT, &ends, NULL);
    }
    lull_channel_unref(channel);
    ck_assert_int_eq(ends.count, 5000);
}
END_TEST

START_TEST(handles_may_outlive_the_channel)
{
    struct ends ends = {0};
    struct lull_call *call;
    struct lull_channel *channel = sync_channel(&served, NULL);
    start(channel, METHOD_SILENT, &ends, &call);
    lull_call_cancel(call);
    lull_channel_unref(channel);
    ck_assert_int_eq(ends.count, 1);
    ck_assert_int_eq(ends.last_code, LULL_CODE_CANCELLED);
    lull_call_cancel(call);
    lull_call_unref(call);
}
END_TEST

START_TEST(asynchronous_calls_are_driven_by_its_loop)
{
    struct ends ends = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_loop *loop = lull_channel_loop(channel);
    ck_assert_ptr_eq(loop, lull_channel_effective_options(channel)->loop);
    start(channel, METHOD_ECHO, &ends, NULL);
    while (ends.count == 0) {
        ck_assert_int_eq(lull_loop_run_once(loop, LULL_NEVER), LULL_OK);
    }
    ck_assert_int_eq(ends.last_code, LULL_CODE_OK);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_channel_tells_the_loop_that_it_was_given)
{
    struct lull_loop *loop;
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    struct lull_channel *channel = sync_channel(&served, loop);
    ck_assert_ptr_eq(lull_channel_loop(channel), loop);
    lull_channel_unref(channel);
    lull_loop_free(loop);
}
END_TEST

/* _i: 1 it closes first, 2 a handle goes with it */
START_TEST(the_last_unref_may_come_from_a_callback_of_who_drives)
{
    struct ends ends = {0}, left = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    ends.closes = (_i & 1) != 0;
    start(channel, METHOD_ECHO, &ends, (_i & 2) != 0 ? &ends.handle : NULL);
    start(channel, METHOD_SILENT, &left, NULL);
    ends.gives_back = channel;
    struct lull_loop *loop = lull_channel_loop(channel);
    while (ends.count == 0) {
        ck_assert_int_eq(lull_loop_run_once(loop, LULL_NEVER), LULL_OK);
    }
    ck_assert_int_eq(ends.last_code, LULL_CODE_OK);
    ck_assert_int_eq(left.count, 1);
    ck_assert_int_eq(left.last_code, LULL_CODE_UNAVAILABLE);
}
END_TEST

START_TEST(the_last_unref_may_come_while_another_call_blocks)
{
    struct ends ends = {0}, left = {0};
    struct lull_channel *channel = sync_channel(&served, NULL);
    ends.closes = true;
    start(channel, METHOD_ECHO, &ends, NULL);
    start(channel, METHOD_SILENT, &left, NULL);
    ends.gives_back = channel;
    ck_assert_int_eq(sync_call(channel, METHOD_SILENT, 20 * LULL_SECOND), LULL_CODE_UNAVAILABLE);
    ck_assert_int_eq(ends.count, 1);
    ck_assert_int_eq(left.count, 1);
}
END_TEST

static void *give_back(void *arg)
{
    lull_channel_unref(arg);
    return NULL;
}

static void *give_back_call(void *arg)
{
    lull_call_unref(arg);
    return NULL;
}

static void *block(void *arg)
{
    struct lull_channel *channel = arg;
    (void)sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND);
    lull_channel_unref(channel);
    return NULL;
}

/* Whoever is the last: one that blocks, one that only gives back, or who gives back a handle. */
START_TEST(the_last_may_be_any_of_several_threads)
{
    unsigned many = rounds(500, 30);
    for (unsigned i = 0; i < many; i++) {
        struct ends ends = {0};
        struct lull_call *call;
        pthread_t threads[4];
        struct lull_channel *channel = sync_channel(&served, NULL);
        start(channel, METHOD_SILENT, &ends, &call);
        start(channel, METHOD_SILENT, &ends, NULL);
        for (int k = 0; k < 2; k++) {
            lull_channel_ref(channel);
            ck_assert_int_eq(pthread_create(&threads[k], NULL, block, channel), 0);
        }
        ck_assert_int_eq(pthread_create(&threads[2], NULL, give_back, channel), 0);
        ck_assert_int_eq(pthread_create(&threads[3], NULL, give_back_call, call), 0);
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
        }
        ck_assert_int_eq(ends.count, 2);
    }
}
END_TEST

static void *close_it(void *arg)
{
    lull_channel_close(arg);
    return NULL;
}

/* A close from outside meets starts, which are in context for a moment: it is not left to a turn that never comes. */
START_TEST(a_close_meets_a_thread_that_starts_calls)
{
    unsigned many = rounds(1000, 50);
    for (unsigned i = 0; i < many; i++) {
        struct ends ends = {0};
        pthread_t thread;
        int started = 0;
        struct lull_call_options options;
        struct lull_call_handler handler;
        struct lull_channel *channel = sync_channel(&served, NULL);
        lull_call_options_init(&options, METHOD_SILENT);
        lull_call_handler_init(&handler);
        handler.on_closed = on_closed;
        ck_assert_int_eq(pthread_create(&thread, NULL, close_it, channel), 0);
        while (started < 200 &&
               lull_call_start(channel, &options, &handler, &ends, NULL, NULL) == LULL_OK) {
            started++;
        }
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        lull_channel_unref(channel);
        ck_assert_int_eq(ends.count, started);
    }
}
END_TEST

/* A callback that waits for the thread that closes: neither waits for ever. */
static void close_elsewhere(struct lull_call *call, const struct lull_status *status,
                            const struct lull_metadata *trailers, void *ctx)
{
    struct lull_channel *channel = *(struct lull_channel **)ctx;
    pthread_t thread;
    (void)call;
    (void)status;
    (void)trailers;
    *(struct lull_channel **)ctx = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, close_it, channel), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, give_back, channel), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(a_callback_may_wait_for_the_thread_that_closes)
{
    struct ends left = {0};
    struct lull_call_options options;
    struct lull_call_handler handler;
    struct lull_call *call;
    struct lull_channel *channel = sync_channel(&served, NULL);
    struct lull_loop *loop = lull_channel_loop(channel);
    lull_call_options_init(&options, METHOD_ECHO);
    lull_call_handler_init(&handler);
    handler.on_closed = close_elsewhere;
    start(channel, METHOD_SILENT, &left, NULL);
    ck_assert_int_eq(lull_call_start(channel, &options, &handler, &channel, &call, NULL), LULL_OK);
    ck_assert_int_eq(lull_call_half_close(call), LULL_OK);
    lull_call_unref(call);
    while (channel != NULL) {
        ck_assert_int_eq(lull_loop_run_once(loop, LULL_NEVER), LULL_OK);
    }
    ck_assert_int_eq(left.count, 1);
}
END_TEST

static Suite *sync_end_suite(void)
{
    Suite *suite = suite_create("sync_end");
    TCase *cases = tcase_create("sync_end");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_close_tells_the_calls_on_the_calling_thread);
    tcase_add_test(cases, the_last_unref_ends_calls_that_nobody_could_drive);
    tcase_add_test(cases, more_calls_than_a_turn_has_tasks_are_all_told);
    tcase_add_test(cases, handles_may_outlive_the_channel);
    tcase_add_test(cases, asynchronous_calls_are_driven_by_its_loop);
    tcase_add_test(cases, a_channel_tells_the_loop_that_it_was_given);
    tcase_add_loop_test(cases, the_last_unref_may_come_from_a_callback_of_who_drives, 0, 4);
    tcase_add_test(cases, the_last_unref_may_come_while_another_call_blocks);
    tcase_add_test(cases, the_last_may_be_any_of_several_threads);
    tcase_add_test(cases, a_close_meets_a_thread_that_starts_calls);
    tcase_add_test(cases, a_callback_may_wait_for_the_thread_that_closes);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_end", sync_end_suite)
