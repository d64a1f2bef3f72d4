/* SPDX-License-Identifier: MIT */
/*
 * lull_channel_from_fd on the real kernel: a socket that was connected by hand, for callers that block on a loop of the channel's own; its
 * loss, and a fork.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"

static struct sync_server served;
static struct lull_channel *channel;
static int fd;

static int connect_by_hand(void)
{
    const unsigned port = (unsigned)atoi(strrchr(lull_server_address(served.server, 0), ':') + 1);
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(made, 0);
    ck_assert_int_eq(connect(made, (const struct sockaddr *)&to, sizeof(to)), 0);
    return made;
}

static void set_up(void)
{
    struct lull_channel_options options;
    struct lull_error error;
    sync_server_start(&served);
    fd = connect_by_hand();
    lull_channel_options_init(&options);
    ck_assert_msg(lull_channel_from_fd(fd, &options, &channel, &error) == LULL_OK, "%s", error.text);
}

static enum lull_code echo(void)
{
    return sync_call(channel, METHOD_ECHO, 20 * LULL_SECOND);
}

/* What a blocking call meets on a channel that has closed by itself. */
static void expect_gone(void)
{
    struct lull_call_options options;
    struct lull_sync_result result;
    struct lull_error error;
    lull_call_options_init(&options, METHOD_ECHO);
    lull_sync_result_init(&result);
    ck_assert_int_eq(lull_sync_unary(channel, &options, lull_slice_static("x", 1), &result, &error), LULL_RC_CLOSED);
    ck_assert_msg(strstr(error.text, "there is none to dial") != NULL, "%s", error.text);
    ck_assert_int_eq(lull_channel_state(channel, true), LULL_STATE_SHUTDOWN);
    ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
}

START_TEST(it_serves_callers_that_block)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(echo(), LULL_CODE_OK);
    }
    lull_channel_unref(channel);
    ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
    sync_server_stop(&served);
}
END_TEST

static void *block(void *arg)
{
    (void)arg;
    return echo() == LULL_CODE_OK ? channel : NULL;
}

START_TEST(many_threads_share_the_one_connection)
{
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, block, NULL), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        void *ok;
        ck_assert_int_eq(pthread_join(threads[i], &ok), 0);
        ck_assert_ptr_nonnull(ok);
    }
    lull_channel_unref(channel);
    sync_server_stop(&served);
}
END_TEST

/* Nobody drives between two calls: the next one finds out, and those after it are told at once. */
START_TEST(a_server_that_went_is_found_by_the_next_call_and_the_last)
{
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    sync_server_stop(&served);
    ck_assert_int_eq(echo(), LULL_CODE_UNAVAILABLE);
    expect_gone();
    lull_channel_close(channel);
    lull_channel_unref(channel);
}
END_TEST

static atomic_bool is_told;

static void on_state(struct lull_channel *which, enum lull_state now, void *ctx)
{
    if (now != LULL_STATE_SHUTDOWN) {
        ck_assert_int_eq(lull_channel_watch(which, now, on_state, ctx), LULL_OK);
        return;
    }
    atomic_store(&is_told, true);
    lull_loop_stop(lull_channel_loop(which));
}

START_TEST(who_drives_hears_of_the_loss_without_a_call)
{
    atomic_store(&is_told, false);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_int_eq(lull_channel_watch(channel, LULL_STATE_READY, on_state, NULL), LULL_OK);
    sync_server_stop(&served);
    ck_assert_int_eq(lull_loop_run(lull_channel_loop(channel)), LULL_OK);
    ck_assert(atomic_load(&is_told));
    expect_gone();
    lull_channel_unref(channel);
}
END_TEST

/* RULINGS 27, C30 */
START_TEST(a_forked_child_closes_its_copy_and_the_connection_stays)
{
    int status = -1;
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(30);
        lull_channel_close(channel);
        lull_channel_unref(channel);
        if (fcntl(fd, F_GETFD) < 0) {
            execl("/bin/true", "true", (char *)NULL);
        }
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    lull_channel_unref(channel);
    sync_server_stop(&served);
}
END_TEST

static Suite *from_fd_suite(void)
{
    Suite *suite = suite_create("from_fd");
    TCase *cases = tcase_create("from_fd");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, NULL);
    tcase_add_test(cases, it_serves_callers_that_block);
    tcase_add_test(cases, many_threads_share_the_one_connection);
    tcase_add_test(cases, a_server_that_went_is_found_by_the_next_call_and_the_last);
    tcase_add_test(cases, who_drives_hears_of_the_loss_without_a_call);
    tcase_add_test(cases, a_forked_child_closes_its_copy_and_the_connection_stays);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("from_fd", from_fd_suite)
