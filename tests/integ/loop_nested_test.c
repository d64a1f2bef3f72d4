/* SPDX-License-Identifier: MIT */
/* The built-in loop as one descriptor in a host's own poll or epoll. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/container.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "lull/timer.h"
#include "net/endpoint_tcp.h"
#include "tests/integ/net_support.h"
#include "tests/support/check_main.h"

static struct net_world world;
static int fd;

static void begin(void)
{
    net_world_init(&world);
    fd = lull_loop_fd(world.loop);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(lull_loop_fd(world.loop), fd);
}

/* The host's poll: is there work? */
static bool is_readable(int timeout_ms)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    return poll(&polled, 1, timeout_ms) == 1;
}

struct note {
    struct lull_task task;
    int runs;
    int left; /* posts itself so many times more */
};

static void note_run(struct lull_task *task, struct lull_executor *executor)
{
    struct note *note = container_of(task, struct note, task);

    note->runs++;
    if (note->left > 0) {
        note->left--;
        lull_executor_post(executor, task);
    }
}

START_TEST(a_loop_at_rest_is_not_readable)
{
    begin();
    ck_assert(!is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert(!is_readable(0));
    net_world_fini(&world);
}
END_TEST

/* A call started in a host's own callback reaches the wire before the host sleeps. */
START_TEST(a_submit_outside_a_turn_makes_it_readable_once)
{
    struct note note = {.runs = 0}, other = {.runs = 0};
    struct lull_counters before;

    begin();
    lull_task_init(&note.task, note_run);
    lull_task_init(&other.task, note_run);
    before = net_counted(&world);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert(lull_executor_submit(world.executor, &other.task));
    ck_assert(is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(note.runs + other.runs, 2);
    ck_assert(!is_readable(0));
    /* one write of the eventfd for both, one epoll_wait */
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 2);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_submit_before_the_fd_was_asked_for_is_not_lost)
{
    struct note note = {.runs = 0};

    net_world_init(&world);
    lull_task_init(&note.task, note_run);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    fd = lull_loop_fd(world.loop);
    ck_assert(is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(note.runs, 1);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_flush_runs_no_task_of_ours_and_the_dispatch_after_it_does)
{
    struct note note = {.runs = 0};

    begin();
    lull_task_init(&note.task, note_run);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert_int_eq(lull_loop_flush(world.loop), LULL_OK);
    ck_assert_int_eq(note.runs, 0);
    ck_assert(is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(note.runs, 1);
    ck_assert(!is_readable(0));
    net_world_fini(&world);
}
END_TEST

START_TEST(soon_outside_a_turn_is_one_write)
{
    struct lull_counters before;

    begin();
    before = net_counted(&world);
    loop_soon(world.loop);
    loop_soon(world.loop);
    ck_assert(is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_uint_eq(net_counted(&world).syscalls, before.syscalls + 2);
    ck_assert(!is_readable(0));
    net_world_fini(&world);
}
END_TEST

static void ask_soon(struct lull_task *task, struct lull_executor *executor)
{
    struct lull_counters before = {.size = sizeof(before)}, after = {.size = sizeof(after)};

    container_of(task, struct note, task)->runs++;
    lull_executor_counters(executor, &before);
    loop_soon(world.loop);
    lull_executor_counters(executor, &after);
    ck_assert_uint_eq(after.syscalls, before.syscalls);
}

/* The turn under way is not the one that was asked for: another follows. */
START_TEST(soon_inside_a_turn_brings_another)
{
    struct note note = {.runs = 0};
    struct lull_counters before;

    begin();
    lull_task_init(&note.task, ask_soon);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert(is_readable(0));
    before = net_counted(&world);
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_uint_eq(net_counted(&world).turns, before.turns + 1);
    ck_assert_int_eq(note.runs, 1);
    ck_assert(!is_readable(0));
    net_world_fini(&world);
}
END_TEST

START_TEST(work_that_is_left_over_keeps_it_readable)
{
    struct lull_executor_options options;
    struct note note = {.left = 9};
    int dispatches = 0;

    lull_executor_options_init(&options);
    options.task_budget = 4;
    memset(&world, 0, sizeof(world));
    ck_assert_int_eq(lull_loop_new(&options, &world.loop), LULL_OK);
    world.executor = lull_loop_executor(world.loop);
    fd = lull_loop_fd(world.loop);
    lull_task_init(&note.task, note_run);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    while (is_readable(0)) {
        ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
        ck_assert_int_le(++dispatches, 10);
    }
    ck_assert_int_eq(note.runs, 10);
    ck_assert_int_ge(dispatches, 3);
    net_world_fini(&world);
}
END_TEST

static int fires;

static void note_fired(struct lull_timer *timer, struct lull_instant now)
{
    (void)timer;
    (void)now;
    fires++;
}

START_TEST(a_due_timer_makes_it_readable)
{
    struct lull_timer timer;

    fires = 0;
    begin();
    net_enter(&world);
    ck_assert_int_eq(lull_timer_init(&timer, world.executor, note_fired), LULL_OK);
    lull_timer_arm(&timer, lull_instant_add(lull_executor_now(world.executor), 3 * LULL_MS));
    net_leave(&world);
    ck_assert(is_readable(10000));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(fires, 1);
    ck_assert(!is_readable(0));
    /* due at once */
    net_enter(&world);
    lull_timer_arm(&timer, lull_executor_now(world.executor));
    net_leave(&world);
    ck_assert(is_readable(0));
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(fires, 2);
    ck_assert(!is_readable(0));
    net_enter(&world);
    lull_timer_fini(&timer);
    net_leave(&world);
    net_world_fini(&world);
}
END_TEST

static void *submit_it(void *task)
{
    lull_executor_submit(world.executor, (struct lull_task *)task);
    return NULL;
}

START_TEST(a_submit_from_another_thread_wakes_the_host)
{
    struct note note = {.runs = 0};
    pthread_t thread;

    begin();
    lull_task_init(&note.task, note_run);
    for (int i = 1; i <= 200; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, submit_it, &note.task), 0);
        while (note.runs < i) {
            ck_assert(is_readable(10000));
            ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
        }
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    net_world_fini(&world);
}
END_TEST

/* Level-triggered through both: what is not read stays readable. */
START_TEST(a_ready_socket_makes_it_readable_in_a_host_epoll)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct net_peer peer;
    char bytes[8];
    size_t n;
    int far_fd, host = epoll_create1(EPOLL_CLOEXEC);

    begin();
    ck_assert_int_ge(host, 0);
    ck_assert_int_eq(epoll_ctl(host, EPOLL_CTL_ADD, fd, &event), 0);
    net_dial_connected(&world, &peer, NULL, &far_fd);
    net_enter(&world);
    ck_assert_int_eq(endpoint_want(peer.endpoint, LULL_WANT_READ), 0);
    net_leave(&world);
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_int_eq(epoll_wait(host, &event, 1, 0), 0);
    ck_assert_int_eq(send(far_fd, "x", 1, MSG_NOSIGNAL), 1);
    ck_assert_int_eq(epoll_wait(host, &event, 1, 10000), 1);
    ck_assert_int_eq(epoll_wait(host, &event, 1, 0), 1);
    peer.ready = LULL_WANT_NONE;
    ck_assert_int_eq(lull_loop_dispatch(world.loop), LULL_OK);
    ck_assert_uint_eq(peer.ready, LULL_WANT_READ);
    /* the owner has lost interest: nothing is left to dispatch, though the byte is there */
    ck_assert_int_eq(epoll_wait(host, &event, 1, 0), 0);
    ck_assert_int_eq(net_read(&world, peer.endpoint, bytes, sizeof(bytes), &n), IO_OK);
    close(far_fd);
    net_close(&world, peer.endpoint);
    close(host);
    net_world_fini(&world);
}
END_TEST

START_TEST(a_nested_loop_can_also_be_run)
{
    struct note note = {.runs = 0};

    begin();
    lull_task_init(&note.task, note_run);
    ck_assert(lull_executor_submit(world.executor, &note.task));
    ck_assert_int_eq(lull_loop_run_once(world.loop, LULL_NEVER), LULL_OK);
    ck_assert_int_eq(note.runs, 1);
    ck_assert(!is_readable(0));
    net_world_fini(&world);
}
END_TEST

static Suite *loop_nested_suite(void)
{
    Suite *suite = suite_create("loop_nested");
    TCase *cases = tcase_create("loop_nested");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_loop_at_rest_is_not_readable);
    tcase_add_test(cases, a_submit_outside_a_turn_makes_it_readable_once);
    tcase_add_test(cases, a_submit_before_the_fd_was_asked_for_is_not_lost);
    tcase_add_test(cases, a_flush_runs_no_task_of_ours_and_the_dispatch_after_it_does);
    tcase_add_test(cases, soon_outside_a_turn_is_one_write);
    tcase_add_test(cases, soon_inside_a_turn_brings_another);
    tcase_add_test(cases, work_that_is_left_over_keeps_it_readable);
    tcase_add_test(cases, a_due_timer_makes_it_readable);
    tcase_add_test(cases, a_submit_from_another_thread_wakes_the_host);
    tcase_add_test(cases, a_ready_socket_makes_it_readable_in_a_host_epoll);
    tcase_add_test(cases, a_nested_loop_can_also_be_run);
    suite_add_tcase(suite, cases);
    return suite;
}

LULL_TEST_MAIN("loop_nested", loop_nested_suite)
