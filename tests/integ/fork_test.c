/* SPDX-License-Identifier: MIT */
/*
 * A fork while another thread of the process is in the middle of something (RULINGS 27; src/exec/orphan.c, src/loop/loop_fork.c): the child,
 * which has no such thread, gives back what it has copies of. It neither hangs nor asserts, its copies of the descriptors are closed,
 * and the parent goes on. A child that hangs is killed by its alarm.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"

#define CHILD_SECONDS 20
#define FDS_MAX       256

static struct sync_server served;
static struct lull_loop *loop; /* of the channel: its own, or one with a thread */
static struct lull_channel *channel;
static bool is_open_before[FDS_MAX];
static _Atomic(bool) is_held, may_go;

/* ---- descriptors of this process. Nothing of Check's is called in a child: a thread that it does not have may hold Check's lock. */

static void list_fds(bool *open)
{
    for (int fd = 0; fd < FDS_MAX; fd++) {
        open[fd] = fcntl(fd, F_GETFD) != -1;
    }
}

/* Those that were not there before the server was made. */
static int count_new_fds(void)
{
    bool open[FDS_MAX];
    int count = 0;
    list_fds(open);
    for (int fd = 0; fd < FDS_MAX; fd++) {
        count += open[fd] && !is_open_before[fd];
    }
    return count;
}

/* ---- a thread that stays in a callback */

static void wait_for(const _Atomic(bool) *flag)
{
    while (!atomic_load(flag)) {
        (void)poll(NULL, 0, 1);
    }
}

static void hold(struct lull_call *call, const struct lull_unary_result *result, void *ctx)
{
    (void)call;
    (void)result;
    (void)ctx;
    atomic_store(&is_held, true);
    wait_for(&may_go);
}

static void start_holding(void)
{
    struct lull_call_options options;
    lull_call_options_init(&options, METHOD_ECHO);
    ck_assert_int_eq(lull_call_unary(channel, &options, lull_slice_static("x", 1), hold, NULL, NULL, NULL), LULL_OK);
}

static void *block(void *arg)
{
    (void)arg;
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    return NULL;
}

static void set_up(void)
{
    list_fds(is_open_before);
    sync_server_start(&served);
    atomic_store(&is_held, false);
    atomic_store(&may_go, false);
}

/* In the child, by its exit status: what went wrong. */
static void expect_child(void (*run)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        run();
        lull_server_free(served.server);
        lull_loop_free(served.loop);
        _exit(count_new_fds());
    }
    int status = -1;
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0, "%d descriptors are open in the child", WEXITSTATUS(status));
}

/* ---- the channel's own loop: another caller polls, and is in a callback */

static void close_and_give_back(void)
{
    lull_channel_close(channel);
    lull_channel_unref(channel);
}

static void give_back(void)
{
    lull_channel_unref(channel);
}

static void (*const ends[])(void) = {close_and_give_back, give_back};

START_TEST(while_a_caller_is_in_a_callback)
{
    pthread_t caller;
    channel = sync_channel(&served, NULL);
    start_holding();
    ck_assert_int_eq(pthread_create(&caller, NULL, block, NULL), 0);
    wait_for(&is_held);
    expect_child(ends[_i]);
    atomic_store(&may_go, true);
    ck_assert_int_eq(pthread_join(caller, NULL), 0);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    lull_channel_unref(channel);
    sync_server_stop(&served);
}
END_TEST

/* It sleeps in the poll, as the server's thread does, and keeps the loop for its way back. */
START_TEST(while_a_caller_sleeps_in_the_poll)
{
    pthread_t caller;
    channel = sync_channel(&served, NULL);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    loop = lull_channel_loop(channel);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    ck_assert_int_eq(pthread_create(&caller, NULL, block, NULL), 0);
    expect_child(ends[_i]);
    ck_assert_int_eq(pthread_join(caller, NULL), 0);
    ck_assert_int_eq(lull_loop_join(loop), LULL_OK);
    lull_channel_unref(channel);
    sync_server_stop(&served);
}
END_TEST

/* ---- a loop that was given to the channel */

static void free_all(void)
{
    lull_channel_unref(channel);
    lull_loop_free(loop);
}

START_TEST(while_the_loops_thread_is_in_a_callback)
{
    ck_assert_int_eq(lull_loop_new(NULL, &loop), LULL_OK);
    channel = sync_channel(&served, loop);
    ck_assert_int_eq(lull_loop_start(loop), LULL_OK);
    start_holding();
    wait_for(&is_held);
    expect_child(free_all);
    atomic_store(&may_go, true);
    ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    lull_channel_unref(channel);
    lull_loop_free(loop);
    sync_server_stop(&served);
}
END_TEST

/* ---- at any moment: four callers are somewhere, in a turn, in a visit, in the poll */

#define CALLERS 4

static _Atomic(bool) is_over;

static void *call_on(void *arg)
{
    while (!atomic_load(&is_over)) {
        (void)block(arg);
    }
    return NULL;
}

START_TEST(at_any_moment)
{
    pthread_t callers[CALLERS];
    channel = sync_channel(&served, NULL);
    (void)block(NULL);
    atomic_store(&is_over, false);
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_create(&callers[i], NULL, call_on, NULL), 0);
    }
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        if (child == 0) {
            (void)alarm(CHILD_SECONDS);
            ends[i % 2]();
            _exit(0);
        }
        int status = -1;
        ck_assert_int_gt(child, 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(sync_call(channel, METHOD_ECHO, LULL_NEVER), LULL_CODE_OK);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(callers[i], NULL), 0);
    }
    lull_channel_unref(channel);
    sync_server_stop(&served);
}
END_TEST

static Suite *fork_suite(void)
{
    Suite *suite = suite_create("fork");
    TCase *cases = tcase_create("fork");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, NULL);
    tcase_add_loop_test(cases, while_a_caller_is_in_a_callback, 0, 2);
    tcase_add_loop_test(cases, while_a_caller_sleeps_in_the_poll, 0, 2);
    tcase_add_test(cases, while_the_loops_thread_is_in_a_callback);
    tcase_add_test(cases, at_any_moment);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("fork", fork_suite)
