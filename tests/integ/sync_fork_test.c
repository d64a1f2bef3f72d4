/* SPDX-License-Identifier: MIT */
/*
 * RULINGS 27 for a channel that has a loop of its own: a forked child may close its copy and give it back, with calls under way, whoever drove it,
 * before the parent does or after; nothing of that is on the wire, and nobody waits for a thread that stayed behind.
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/sync_support.h"
#include "tests/support/must.h"
#include "tests/support/rounds.h"

#define PATIENCE_S 30

static struct sync_server served;
static struct lull_channel *channel;
static unsigned told;

static void set_up(void)
{
    sync_server_start(&served);
    channel = sync_channel(&served, NULL);
    told = 0;
}

static void tear_down(void)
{
    sync_server_stop(&served);
}

static void on_closed(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx)
{
    (void)call;
    (void)trailers;
    (void)ctx;
    told += status->code == LULL_CODE_UNAVAILABLE;
}

/* A call that nobody answers. */
static void leave_a_call_open(void)
{
    struct lull_call_options options;
    struct lull_call_handler handler;
    lull_call_options_init(&options, METHOD_SILENT);
    lull_call_handler_init(&handler);
    handler.on_closed = on_closed;
    ck_assert_int_eq(lull_call_start(channel, &options, &handler, NULL, NULL, NULL), LULL_OK);
}

static enum lull_code echo(void)
{
    return sync_call(channel, METHOD_ECHO, PATIENCE_S * LULL_SECOND);
}

static uint64_t connections_made(void)
{
    struct lull_channel_stats stats = {.size = sizeof(stats)};
    lull_channel_stats(channel, &stats);
    return stats.connections_made;
}

/* As a child does; and what the test's library keeps in it is no leak. A child that hangs is ended by its alarm, and fails the test. */
static void leave(bool is_fine)
{
    if (is_fine) {
        execl("/bin/true", "true", (char *)NULL);
    }
    _exit(1);
}

/* No assertion of Check's in the child: another thread may have held its lock. */
static pid_t forked(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(PATIENCE_S);
    } else {
        ck_assert_int_gt(child, 0);
    }
    return child;
}

static void expect_fine(pid_t child)
{
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "the child ended with status 0x%x", (unsigned)status);
}

START_TEST(a_child_closes_its_copy_and_the_parent_goes_on)
{
    leave_a_call_open();
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    pid_t child = forked();
    if (child == 0) {
        lull_channel_close(channel);
        const bool was_told = told == 1;
        lull_channel_unref(channel);
        leave(was_told && told == 1);
    }
    expect_fine(child);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_uint_eq(connections_made(), 1);
    ck_assert_uint_eq(told, 0); /* its call is still open */
    lull_channel_close(channel);
    ck_assert_uint_eq(told, 1);
    lull_channel_unref(channel);
}
END_TEST

START_TEST(a_child_that_only_gives_it_back_ends_its_calls_too)
{
    leave_a_call_open();
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    pid_t child = forked();
    if (child == 0) {
        lull_channel_unref(channel);
        leave(told == 1);
    }
    expect_fine(child);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_uint_eq(connections_made(), 1);
    lull_channel_unref(channel);
    ck_assert_uint_eq(told, 1);
}
END_TEST

/* The child's copy holds the socket open behind the parent's close; it is closed when the parent has gone on to another channel. */
START_TEST(a_parent_closes_first)
{
    int go[2];
    char byte = 'x';
    leave_a_call_open();
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_int_eq(pipe(go), 0);
    pid_t child = forked();
    if (child == 0) {
        const bool has_heard = read(go[0], &byte, 1) == 1;
        lull_channel_close(channel);
        const bool was_told = told == 1;
        lull_channel_unref(channel);
        leave(has_heard && was_told);
    }
    lull_channel_close(channel);
    ck_assert_uint_eq(told, 1);
    lull_channel_unref(channel);
    channel = sync_channel(&served, NULL);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_int_eq(write(go[1], &byte, 1), 1);
    expect_fine(child);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_uint_eq(connections_made(), 1);
    lull_channel_unref(channel);
    close(go[0]);
    close(go[1]);
}
END_TEST

/* The thread stays with the parent; the child has neither it nor anybody else to wait for. */
START_TEST(a_child_closes_its_copy_of_one_that_a_thread_drives)
{
    ck_assert_int_eq(lull_loop_start(lull_channel_loop(channel)), LULL_OK);
    leave_a_call_open();
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    pid_t child = forked();
    if (child == 0) {
        lull_channel_close(channel);
        lull_channel_unref(channel);
        /* Told, unless the thread was in the midst of a turn at the fork: then all stays as it was. */
        leave(told <= 1);
    }
    expect_fine(child);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    ck_assert_uint_eq(connections_made(), 1);
    ck_assert_int_eq(lull_loop_join(lull_channel_loop(channel)), LULL_OK);
    lull_channel_close(channel);
    ck_assert_uint_eq(told, 1);
    lull_channel_unref(channel);
}
END_TEST

static atomic_bool is_over;

static void *call_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        MUST(echo() == LULL_CODE_OK);
    }
    return NULL;
}

/* Whatever the other threads are in at the fork, a turn or the poll: the child has nobody of them. */
START_TEST(a_child_closes_its_copy_in_the_midst_of_calls)
{
    pthread_t callers[2];
    atomic_store(&is_over, false);
    ck_assert_int_eq(lull_loop_start(lull_channel_loop(channel)), LULL_OK);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&callers[i], NULL, call_on, NULL), 0);
    }
    for (unsigned i = 0; i < test_rounds(100, 10); i++) {
        pid_t child = forked();
        if (child == 0) {
            lull_channel_close(channel);
            lull_channel_unref(channel);
            leave(true);
        }
        expect_fine(child);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(callers[i], NULL), 0);
    }
    ck_assert_int_eq(lull_loop_join(lull_channel_loop(channel)), LULL_OK);
    ck_assert_uint_eq(connections_made(), 1);
    lull_channel_unref(channel);
}
END_TEST

/* Before it was first used there is nothing that the two could share. */
START_TEST(one_that_was_never_used_works_in_both)
{
    pid_t child = forked();
    if (child == 0) {
        const enum lull_code code = echo();
        lull_channel_unref(channel);
        leave(code == LULL_CODE_OK);
    }
    expect_fine(child);
    ck_assert_int_eq(echo(), LULL_CODE_OK);
    lull_channel_unref(channel);
}
END_TEST

static Suite *sync_fork_suite(void)
{
    Suite *suite = suite_create("sync_fork");
    TCase *cases = tcase_create("sync_fork");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_child_closes_its_copy_and_the_parent_goes_on);
    tcase_add_test(cases, a_child_that_only_gives_it_back_ends_its_calls_too);
    tcase_add_test(cases, a_parent_closes_first);
    tcase_add_test(cases, a_child_closes_its_copy_of_one_that_a_thread_drives);
    tcase_add_test(cases, a_child_closes_its_copy_in_the_midst_of_calls);
    tcase_add_test(cases, one_that_was_never_used_works_in_both);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("sync_fork", sync_fork_suite)
