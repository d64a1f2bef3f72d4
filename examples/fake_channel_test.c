/* SPDX-License-Identifier: MIT */
/*
 * A Check test as an application would write it: a real channel and a real server on 127.0.0.1, on one loop that goes by a fake clock.
 * Bytes go through the kernel, so lull_loop_run_once lets them come; time is the test's own, and only lull_fake_clock_advance moves it.
 * Build: cc fake_channel_test.c $(pkg-config --cflags --libs lull check)
 */
#include <lull/lull.h>

#include <check.h>
#include <stdlib.h>

static struct lull_fake_clock clock_;
static struct lull_loop *loop;
static struct lull_server *server;
static struct lull_channel *channel;

static void echo(struct lull_server_call *call, void *ctx)
{
    (void)ctx;
    ck_assert_int_eq(lull_server_call_send(call, lull_slice_static("pong", 4)), LULL_OK);
    ck_assert_int_eq(lull_server_call_finish(call, LULL_CODE_OK, NULL, NULL), LULL_OK);
}

static void start_server(void)
{
    struct lull_server_options options;
    struct lull_server_handler answers, stays_silent;

    lull_server_options_init(&options);
    options.loop = loop;
    ck_assert_int_eq(lull_server_new(&options, &server, NULL), LULL_OK);
    ck_assert_int_eq(lull_server_listen(server, "127.0.0.1:0", NULL), LULL_OK);
    lull_server_handler_init(&answers);
    answers.on_half_closed = echo;
    ck_assert_int_eq(lull_server_add(server, "/test.Echo/Ping", &answers, NULL), LULL_OK);
    lull_server_handler_init(&stays_silent);
    ck_assert_int_eq(lull_server_add(server, "/test.Echo/Never", &stays_silent, NULL), LULL_OK);
}

static void set_up(void)
{
    struct lull_executor_options executor_options;
    struct lull_channel_options channel_options;

    lull_fake_clock_init(&clock_, 0, 0);
    lull_executor_options_init(&executor_options);
    executor_options.clock = &clock_.base; /* what the loop goes by ... */
    ck_assert_int_eq(lull_loop_new(&executor_options, &loop), LULL_OK);
    ck_assert_int_eq(lull_executor_attach(lull_loop_executor(loop), &clock_), LULL_OK); /* ... and who runs what falls due */
    start_server();
    lull_channel_options_init(&channel_options);
    channel_options.loop = loop;
    ck_assert_int_eq(lull_channel_new(lull_server_address(server, 0), &channel_options, &channel, NULL), LULL_OK);
}

static void tear_down(void)
{
    lull_channel_unref(channel);
    lull_server_free(server);
    lull_loop_free(loop);
}

static void on_done(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    *(int *)ctx = (int)result->status.code;
}

static void start_call(const char *method, int *code)
{
    struct lull_call_options options;

    *code = -1;
    lull_call_options_init(&options, method);
    options.timeout_ns = 5 * LULL_SECOND;
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("ping", 4), on_done, code, NULL, NULL), LULL_OK);
}

static struct lull_channel_stats stats_of(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};

    lull_channel_stats(channel, &stats);
    return stats;
}

START_TEST(the_channel_sleeps_half_an_hour_after_its_last_call_and_wakes_for_the_next)
{
    int code;

    start_call("/test.Echo/Ping", &code);
    while (code < 0) {
        ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK); /* what is ready now; it does not wait, and no time passes */
    }
    ck_assert_int_eq(code, LULL_CODE_OK);
    lull_fake_clock_advance(&clock_, 29 * LULL_MINUTE + 59 * LULL_SECOND);
    ck_assert(!stats_of().is_in_idle_mode); /* 29 min 59 s: awake */
    lull_fake_clock_advance(&clock_, LULL_SECOND);
    ck_assert(stats_of().is_in_idle_mode); /* one second more: asleep */
    start_call("/test.Echo/Ping", &code);
    while (code < 0) {
        ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK);
    }
    ck_assert_int_eq(code, LULL_CODE_OK);
    ck_assert_uint_eq(stats_of().connections_made, 2);
}
END_TEST

START_TEST(a_call_that_nobody_answers_ends_at_its_deadline)
{
    struct lull_server_stats stats = {.size = sizeof(stats)};
    int code;

    start_call("/test.Echo/Never", &code);
    while (stats.calls == 0) {
        ck_assert_int_eq(lull_loop_run_once(loop, 0), LULL_OK); /* until the server has it */
        lull_server_stats(server, &stats);
    }
    lull_fake_clock_advance(&clock_, 5 * LULL_SECOND - 1);
    ck_assert_int_eq(code, -1);
    lull_fake_clock_advance(&clock_, 1);
    ck_assert_int_eq(code, LULL_CODE_DEADLINE_EXCEEDED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fake_channel");
    TCase *tcase = tcase_create("channel");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_channel_sleeps_half_an_hour_after_its_last_call_and_wakes_for_the_next);
    tcase_add_test(tcase, a_call_that_nobody_answers_ends_at_its_deadline);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
