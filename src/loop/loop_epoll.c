/* SPDX-License-Identifier: MIT */
#include "loop/loop_epoll.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/container.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "loop/loop_fork.h"

/* Events taken from the kernel at once; those that do not fit stay ready. */
#define EVENTS_MAX 64

static const struct lull_loop_ops epoll_ops;

struct loop_epoll *loop_epoll_of(struct lull_loop *loop)
{
    return loop->ops == &epoll_ops ? container_of(loop, struct loop_epoll, base) : NULL;
}

/* In the verbs below it can be no other. */
static struct loop_epoll *self(struct lull_loop *base)
{
    return container_of(base, struct loop_epoll, base);
}

static struct lull_counters *counters_of(struct loop_epoll *loop)
{
    return executor_counters(loop->base.executor);
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
    loop_fork_own(&loop->base);
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
    w->host = want == LULL_WANT_NONE ? NULL : loop;
    return 0;
}

/* Something is to be done that no descriptor tells: whoever polls us from outside must hear of it.
 */
static void tell_host(struct loop_epoll *loop)
{
    if (__atomic_load_n(&loop->is_nested, __ATOMIC_RELAXED) &&
        !__atomic_load_n(&loop->is_inside, __ATOMIC_RELAXED)) {
        loop->base.ops->wake(&loop->base);
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
        loop->is_alarm_due = true;
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

static void wake_up(struct lull_loop *base)
{
    struct loop_epoll *loop = self(base);

    if (!lull_loop_is_forked(base)) {
        loop_wake_set(&loop->wake);
    }
}

/* Asked for, or waiting where no descriptor tells. */
static bool is_turn_due(struct loop_epoll *loop)
{
    return loop->is_alarm_due || __atomic_load_n(&loop->is_due, __ATOMIC_RELAXED) != 0 ||
           lull_executor_next_at(loop->base.executor).ns == INT64_MIN;
}

static void run_soon(struct lull_loop *base)
{
    struct loop_epoll *loop = self(base);

    __atomic_store_n(&loop->is_due, 1, __ATOMIC_RELAXED);
    tell_host(loop);
}

/* ---- one round */

/* For epoll_wait; rounded up, so that the wait is never shorter than asked for. In context. */
static int timeout_ms(struct loop_epoll *loop, struct lull_instant until)
{
    int64_t left_ns, ms;

    if (until.ns == LOOP_UNTIL_NOW || is_turn_due(loop) || !executor_sleep(loop->base.executor)) {
        return 0;
    }
    if (until.ns == LULL_NEVER) {
        return -1;
    }
    left_ns = lull_instant_diff(until, lull_executor_now(loop->base.executor));
    if (left_ns <= 0) {
        return 0;
    }
    ms = left_ns / LULL_MS + (left_ns % LULL_MS != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

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
        executor_on_alarm_gone(loop->base.executor);
    } else {
        w = (struct lull_watch *)event->data.ptr;
        unsigned ready = ready_of(event->events) & w->want;

        /* A visitor may have forgotten it since the poll. */
        if (ready != LULL_WANT_NONE) {
            lull_watch_ready(&loop->base, w, ready);
        }
    }
}

/* A host that polls us sleeps from now on: what is waiting already must wake it. */
static void leave_to_host(struct loop_epoll *loop)
{
    executor_take(loop->base.executor);
    if (is_turn_due(loop) || !executor_sleep(loop->base.executor)) {
        tell_host(loop);
    }
    executor_end_visit(loop->base.executor);
}

/* Before the poll: how long it may sleep, in ms. 0 or an errno. The turn is given up while it does. */
static int prepare(struct loop_epoll *loop, struct lull_instant until, int *timeout)
{
    struct lull_executor *executor = loop->base.executor;
    int err;

    executor_take(executor);
    loop_tell_stop(&loop->base);
    err = open_fds(loop);
    if (err == 0) {
        __atomic_store_n(&loop->is_inside, true, __ATOMIC_RELAXED);
        *timeout = timeout_ms(loop, until);
    }
    executor_end_visit(executor);
    return err;
}

static int run_round(struct lull_loop *base, struct lull_instant until)
{
    struct loop_epoll *loop = self(base);
    struct epoll_event events[EVENTS_MAX];
    int count, timeout;
    int err = prepare(loop, until, &timeout);

    if (err != 0) {
        return err;
    }
    count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout);
    err = count < 0 && errno != EINTR ? errno : 0;
    /* Visitors free nothing that an event could still point to: frees are for a turn, and turns are ours. */
    executor_take(base->executor);
    counters_of(loop)->syscalls++;
    counters_of(loop)->wakeups++;
    executor_awake(base->executor);
    for (int i = 0; i < count; i++) {
        hear(loop, &events[i]);
    }
    if (loop->is_alarm_due) {
        executor_on_alarm_gone(base->executor);
    }
    __atomic_store_n(&loop->is_due, 0, __ATOMIC_RELAXED);
    loop->is_alarm_due = false;
    if (err == 0) {
        /* After an interrupted sleep too: a signal handler may have asked for something. */
        executor_turn_taken(base->executor);
    } else {
        executor_end_visit(base->executor);
    }
    __atomic_store_n(&loop->is_inside, false, __ATOMIC_RELAXED);
    if (__atomic_load_n(&loop->is_nested, __ATOMIC_RELAXED)) {
        leave_to_host(loop);
    }
    return err;
}

static const struct lull_loop_ops epoll_ops = {
    .watch = watch_fd,
    .alarm = set_alarm,
    .wake = wake_up,
    .soon = run_soon,
    .run_once = run_round,
};

/* ---- its life */

int lull_loop_new(const struct lull_executor_options *options, struct lull_loop **out)
{
    const struct lull_allocator *allocator =
        options != NULL && options->size >= sizeof(*options) ? options->allocator : NULL;
    struct loop_epoll *loop = (struct loop_epoll *)mem_zeroed(allocator, sizeof(*loop));
    int rc;

    if (loop == NULL) {
        return LULL_RC_NOMEM;
    }
    loop->allocator = allocator;
    loop->epoll_fd = -1;
    loop_alarm_init(&loop->alarm);
    loop_wake_init(&loop->wake);
    rc = loop_init_telling(&loop->base, &epoll_ops, "epoll", options);
    if (rc != LULL_OK) {
        mem_release(allocator, loop);
        return rc;
    }
    *out = &loop->base;
    return LULL_OK;
}

void lull_loop_free(struct lull_loop *base)
{
    struct loop_epoll *loop;

    if (base == NULL) {
        return;
    }
    loop = loop_epoll_of(base);
    LULL_INVARIANT(loop != NULL, "lull_loop_free of a host's loop");
    LULL_INVARIANT(!lull_executor_in_context(base->executor), "lull_loop_free in a callback");
    lull_loop_fini(base);
    /* A child that was forked only closes its copies (no registration is taken back). */
    loop_alarm_close(&loop->alarm);
    loop_wake_close(&loop->wake);
    if (loop->epoll_fd >= 0) {
        close(loop->epoll_fd);
    }
    mem_release(loop->allocator, loop);
}

/* 0 or an errno. */
static int open_for_host(struct loop_epoll *loop)
{
    struct lull_executor *executor = loop->base.executor;
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
    struct loop_epoll *loop = loop_epoll_of(base);

    if (loop == NULL || open_for_host(loop) != 0) {
        return -1;
    }
    if (!__atomic_load_n(&loop->is_inside, __ATOMIC_RELAXED)) {
        leave_to_host(loop);
    }
    return loop->epoll_fd;
}
