/* SPDX-License-Identifier: MIT */
#include "loop/loop_epoll.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/container.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "loop/loop_fork.h"

/* Events taken from the kernel at once; those that do not fit stay ready. */
#define EVENTS_MAX 256

/* In the verbs below it can be no other. */
static struct loop_epoll *self(struct lull_loop *base)
{
    return container_of(base, struct loop_epoll, common.base);
}

static struct loop_epoll *of_common(struct loop_builtin *common)
{
    return container_of(common, struct loop_epoll, common);
}

static struct lull_counters *counters_of(struct loop_epoll *loop)
{
    return loop_builtin_counters(&loop->common);
}

static int open_fds(struct loop_epoll *loop)
{
    int err;

    if (loop->epoll_fd >= 0) {
        return 0;
    }
    counters_of(loop)->syscalls++;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        return errno;
    }
    err = loop_wake_open(&loop->wake, loop->epoll_fd, counters_of(loop));
    if (err != 0) {
        close(loop->epoll_fd);
        loop->epoll_fd = -1;
        return err;
    }
    /* An alarm that cannot be had fails the dial that needs the loop, not a deadline later (EMFILE). */
    err = loop_alarm_open(&loop->alarm, loop->epoll_fd, counters_of(loop));
    if (err != 0) {
        loop_wake_close(&loop->wake);
        close(loop->epoll_fd);
        loop->epoll_fd = -1;
        return err;
    }
    /* Before this there was nothing that a forked child could share. */
    loop_fork_own(&loop->common.base);
    return 0;
}

/* ---- the seam */

static int watch_fd(struct lull_loop *base, struct lull_watch *w, unsigned want)
{
    struct loop_epoll *loop = self(base);
    struct epoll_event event = {.data = {.ptr = w}};
    int op = w->host == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    int err;

    if (want == LULL_WANT_NONE) {
        op = EPOLL_CTL_DEL;
        w->want = want;
        if (w->host == NULL) {
            return 0;
        }
        w->host = NULL;
        loop->common.watches--;
    }
    if (lull_loop_is_forked(base)) {
        w->want = want;
        return 0;
    }
    err = open_fds(loop);
    if (err != 0) {
        return err;
    }
    event.events = ((want & LULL_WANT_READ) != 0 ? (uint32_t)EPOLLIN : 0) |
                   ((want & LULL_WANT_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0);
    counters_of(loop)->syscalls++;
    if (epoll_ctl(loop->epoll_fd, op, w->fd, &event) != 0) {
        return errno;
    }
    w->want = want;
    loop->common.watches += op == EPOLL_CTL_ADD;
    w->host = want == LULL_WANT_NONE ? NULL : loop;
    return 0;
}

static void wake_up(struct lull_loop *base)
{
    struct loop_epoll *loop = self(base);

    if (!lull_loop_is_forked(base)) {
        loop_wake_set(&loop->wake);
    }
}

/* Something is to be done that no descriptor tells: whoever polls us from outside must hear of it.
 */
static void tell_host(struct loop_epoll *loop)
{
    if (__atomic_load_n(&loop->is_nested, __ATOMIC_RELAXED) &&
        !__atomic_load_n(&loop->is_inside, __ATOMIC_RELAXED)) {
        wake_up(&loop->common.base);
    }
}

static int set_alarm(struct lull_loop *base, struct lull_instant at)
{
    struct loop_epoll *loop = self(base);
    int err;

    if (at.ns == LULL_NEVER) {
        return 0; /* what is armed stays: at most one early turn */
    }
    if (at.ns <= lull_executor_now(base->executor).ns) {
        loop->common.is_alarm_due = true;
        tell_host(loop);
        /* A visitor asks, and the poller is another thread. */
        executor_wake_if_asleep(base->executor);
        return 0;
    }
    if (lull_loop_is_forked(base)) {
        return 0;
    }
    err = open_fds(loop);
    if (err != 0) {
        return err;
    }
    return loop_alarm_set(&loop->alarm, lull_executor_clock(base->executor), at, counters_of(loop));
}

static void run_soon(struct lull_loop *base)
{
    struct loop_epoll *loop = self(base);

    loop_builtin_ask_turn(&loop->common);
    tell_host(loop);
}

/* ---- one round */

static unsigned ready_of(uint32_t events)
{
    unsigned ready = LULL_WANT_NONE;

    /* An error or a hang-up is found out by whoever reads or writes. */
    if ((events & ((uint32_t)EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        ready |= LULL_WANT_READ;
    }
    if ((events & ((uint32_t)EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
        ready |= LULL_WANT_WRITE;
    }
    return ready;
}

static void hear(struct loop_epoll *loop, const struct epoll_event *event)
{
    struct lull_watch *w;

    if (event->data.ptr == &loop->wake) {
        loop_wake_take(&loop->wake, counters_of(loop));
    } else if (event->data.ptr == &loop->alarm) {
        loop_alarm_on_expired(&loop->alarm);
        executor_on_alarm_gone(loop->common.base.executor);
    } else {
        w = (struct lull_watch *)event->data.ptr;
        unsigned ready = ready_of(event->events) & w->want;

        /* A visitor may have forgotten it since the poll. */
        if (ready != LULL_WANT_NONE) {
            lull_watch_ready(&loop->common.base, w, ready);
        }
    }
}

/* A host that polls us sleeps from now on: what is waiting already must wake it. */
static void leave_to_host(struct loop_epoll *loop)
{
    struct lull_executor *executor = loop->common.base.executor;

    executor_take(executor);
    if (loop_builtin_is_turn_due(&loop->common) || !executor_sleep(executor)) {
        tell_host(loop);
    }
    executor_end_visit(executor);
}

static int prepare(struct loop_builtin *common, struct lull_instant *until)
{
    struct loop_epoll *loop = of_common(common);
    int err = open_fds(loop);

    (void)until;
    if (err == 0) {
        __atomic_store_n(&loop->is_inside, true, __ATOMIC_RELAXED);
    }
    return err;
}

static int run_round(struct lull_loop *base, struct lull_instant until)
{
    struct loop_epoll *loop = self(base);
    struct epoll_event events[EVENTS_MAX];
    int count, timeout;
    int err = loop_builtin_begin(&loop->common, until, prepare, &timeout);

    if (err != 0) {
        return err;
    }
    if (loop->common.lingers) {
        struct pollfd ends[2] = {{.fd = loop->wake.fd, .events = POLLIN}, {.fd = loop->alarm.fd, .events = POLLIN}};

        loop_wake_quieten(&loop->wake);
        loop_builtin_linger(&loop->common, ends, 2, &timeout);
    }
    count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout);
    err = loop_builtin_wake(&loop->common, count);
    for (int i = 0; i < count; i++) {
        hear(loop, &events[i]);
    }
    loop_builtin_turn(&loop->common, err);
    __atomic_store_n(&loop->is_inside, false, __ATOMIC_RELAXED);
    if (__atomic_load_n(&loop->is_nested, __ATOMIC_RELAXED)) {
        leave_to_host(loop);
    }
    return err;
}

/* ---- its life */

static void init(struct loop_builtin *common)
{
    struct loop_epoll *loop = of_common(common);

    loop->epoll_fd = -1;
    loop_alarm_init(&loop->alarm);
    loop_wake_init(&loop->wake);
}

/* No registration is taken back: a child that was forked would take those of its parent. */
static void close_fds(struct loop_builtin *common)
{
    struct loop_epoll *loop = of_common(common);

    loop_alarm_close(&loop->alarm);
    loop_wake_close(&loop->wake);
    if (loop->epoll_fd >= 0) {
        close(loop->epoll_fd);
        loop->epoll_fd = -1;
    }
}

const struct loop_builtin_kind loop_builtin_kind = {
    .name = "epoll",
    .size = sizeof(struct loop_epoll),
    .ops = {.watch = watch_fd, .alarm = set_alarm, .wake = wake_up, .soon = run_soon, .run_once = run_round},
    .init = init,
    .close = close_fds,
};

/* 0 or an errno. */
static int open_for_host(struct loop_epoll *loop)
{
    struct lull_executor *executor = loop->common.base.executor;
    bool is_inside = lull_executor_in_context(executor);
    int err;

    if (!is_inside) {
        executor_take(executor);
    }
    err = open_fds(loop);
    if (err == 0) {
        __atomic_store_n(&loop->is_nested, true, __ATOMIC_RELAXED);
    }
    if (!is_inside) {
        executor_end_visit(executor);
    }
    return err;
}

int lull_loop_fd(struct lull_loop *base)
{
    struct loop_epoll *loop;

    if (loop_builtin_of(base) == NULL || open_for_host(self(base)) != 0) {
        return -1;
    }
    loop = self(base);
    if (!__atomic_load_n(&loop->is_inside, __ATOMIC_RELAXED)) {
        leave_to_host(loop);
    }
    return loop->epoll_fd;
}
