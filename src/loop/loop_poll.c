/* SPDX-License-Identifier: MIT */
#include "loop/loop_poll.h"

#include <errno.h>

#include "base/container.h"
#include "base/mem.h"
#include "exec/executor.h"
#include "loop/loop.h"
#include "loop/loop_fork.h"

#define WATCHES_FIRST 8

/* In the verbs it can be no other. */
static struct loop_poll *self(struct lull_loop *base)
{
    return container_of(base, struct loop_poll, common.base);
}

static struct loop_poll *of_common(struct loop_builtin *common)
{
    return container_of(common, struct loop_poll, common);
}

static struct lull_counters *counters_of(struct loop_poll *loop)
{
    return loop_builtin_counters(&loop->common);
}

static void wake_up(struct lull_loop *base)
{
    if (!lull_loop_is_forked(base)) {
        loop_pipe_set(&self(base)->wake);
    }
}

static int open_pipe(struct loop_poll *loop)
{
    int err;

    if (loop->wake.fds[0] >= 0) {
        return 0;
    }
    err = loop_pipe_open(&loop->wake, counters_of(loop));
    if (err == 0) {
        /* Before this there was nothing that a forked child could share. */
        loop_fork_own(&loop->common.base);
    }
    return err;
}

/* ---- the seam */

static void note_change(struct loop_poll *loop)
{
    __atomic_fetch_add(&loop->changes, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&loop->is_polling, __ATOMIC_SEQ_CST) != 0) {
        wake_up(&loop->common.base);
    }
}

static size_t place_of(const struct lull_watch *w)
{
    return (size_t)(uintptr_t)w->host;
}

static void set_place(struct lull_watch *w, size_t place)
{
    w->host = (void *)(uintptr_t)place;
}

static int add(struct loop_poll *loop, struct lull_watch *w)
{
    struct lull_watch **watches;
    size_t capacity = loop->capacity == 0 ? WATCHES_FIRST : loop->capacity * 2;

    if (loop->count == loop->capacity) {
        watches = (struct lull_watch **)mem_resize_array(loop->common.allocator, loop->watches, capacity, sizeof(struct lull_watch *));
        if (watches == NULL) {
            return ENOMEM;
        }
        counters_of(loop)->allocations++;
        loop->watches = watches;
        loop->capacity = capacity;
    }
    loop->watches[loop->count++] = w;
    loop->common.watches = loop->count;
    set_place(w, loop->count);
    return 0;
}

static void take_out(struct loop_poll *loop, struct lull_watch *w)
{
    struct lull_watch *last = loop->watches[--loop->count];

    loop->common.watches = loop->count;
    loop->watches[place_of(w) - 1] = last;
    set_place(last, place_of(w));
    set_place(w, 0);
}

static int watch_fd(struct lull_loop *base, struct lull_watch *w, unsigned want)
{
    struct loop_poll *loop = self(base);
    int err;

    if (want == LULL_WANT_NONE) {
        w->want = want;
        if (place_of(w) != 0) {
            take_out(loop, w);
            note_change(loop);
        }
        return 0;
    }
    if (w->fd < 0) {
        return EBADF; /* poll would pass over it */
    }
    err = open_pipe(loop);
    if (err == 0 && place_of(w) == 0) {
        err = add(loop, w);
    }
    if (err != 0) {
        return err;
    }
    w->want = want;
    note_change(loop);
    return 0;
}

static int set_alarm(struct lull_loop *base, struct lull_instant at)
{
    struct loop_poll *loop = self(base);
    int err;

    if (at.ns == LULL_NEVER) {
        return 0; /* what is armed stays: at most one early turn */
    }
    if (at.ns <= lull_executor_now(base->executor).ns) {
        loop->common.is_alarm_due = true;
        note_change(loop);
        return 0;
    }
    err = open_pipe(loop);
    if (err != 0) {
        return err;
    }
    if (lull_instant_before(at, loop->alarm_at)) {
        loop->alarm_at = at;
        note_change(loop);
    }
    return 0;
}

static void run_soon(struct lull_loop *base)
{
    struct loop_poll *loop = self(base);

    loop_builtin_ask_turn(&loop->common);
    note_change(loop);
}

/* ---- one round */

static short events_of(unsigned want)
{
    return (short)(((want & LULL_WANT_READ) != 0 ? POLLIN : 0) | ((want & LULL_WANT_WRITE) != 0 ? POLLOUT : 0));
}

static unsigned ready_of(int events)
{
    unsigned ready = LULL_WANT_NONE;

    /* An error or a hang-up is found out by whoever reads or writes. */
    if ((events & (POLLIN | POLLERR | POLLHUP | POLLNVAL)) != 0) {
        ready |= LULL_WANT_READ;
    }
    if ((events & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) != 0) {
        ready |= LULL_WANT_WRITE;
    }
    return ready;
}

/* Writes down what the poll shall see. 0 or an errno. */
static int list_watches(struct loop_poll *loop)
{
    struct pollfd *polled = loop->polled;

    if (loop->polled_capacity < loop->count + 1) {
        polled = (struct pollfd *)mem_resize_array(loop->common.allocator, polled, loop->capacity + 1, sizeof(*polled));
        if (polled == NULL) {
            return ENOMEM;
        }
        counters_of(loop)->allocations++;
        loop->polled = polled;
        loop->polled_capacity = loop->capacity + 1;
    }
    polled[0].fd = loop->wake.fds[0];
    polled[0].events = POLLIN;
    polled[0].revents = 0;
    for (size_t i = 0; i < loop->count; i++) {
        polled[i + 1].fd = loop->watches[i]->fd;
        polled[i + 1].events = events_of(loop->watches[i]->want);
        polled[i + 1].revents = 0;
    }
    return 0;
}

/* If the list is another one by now, the next poll tells what is still ready. */
static void hear(struct loop_poll *loop, size_t listed, unsigned changes)
{
    if (loop->polled[0].revents != 0) {
        loop_pipe_take(&loop->wake, counters_of(loop));
    }
    if (changes != __atomic_load_n(&loop->changes, __ATOMIC_SEQ_CST)) {
        return;
    }
    for (size_t i = 0; i < listed; i++) {
        struct lull_watch *w = loop->watches[i];
        unsigned ready = ready_of(loop->polled[i + 1].revents) & w->want;

        if (ready != LULL_WANT_NONE) {
            lull_watch_ready(&loop->common.base, w, ready);
        }
    }
}

/* The time was the alarm's when nothing came and the alarm was the nearer end of the wait, by whatever clock. */
static void hear_timeout(struct loop_poll *loop, struct lull_instant until)
{
    if (loop->alarm_at.ns != LULL_NEVER && !lull_instant_before(until, loop->alarm_at)) {
        loop->alarm_at = lull_at(LULL_NEVER);
        executor_on_alarm_gone(loop->common.base.executor);
    }
}

/* What the poll shall see; the alarm ends the sleep. */
static int prepare(struct loop_builtin *common, struct lull_instant *until)
{
    struct loop_poll *loop = of_common(common);
    int err = open_pipe(loop);

    err = err != 0 ? err : list_watches(loop);
    if (err != 0) {
        return err;
    }
    loop->listed = loop->count;
    loop->listed_changes = __atomic_load_n(&loop->changes, __ATOMIC_SEQ_CST);
    __atomic_store_n(&loop->is_polling, 1, __ATOMIC_SEQ_CST);
    if (lull_instant_before(loop->alarm_at, *until)) {
        *until = loop->alarm_at;
    }
    return 0;
}

static int run_round(struct lull_loop *base, struct lull_instant until)
{
    struct loop_poll *loop = self(base);
    int count, timeout;
    int err = loop_builtin_begin(&loop->common, until, prepare, &timeout);
    size_t listed;

    if (err != 0) {
        return err;
    }
    listed = loop->listed;
    if (loop->common.lingers) {
        loop_builtin_linger(&loop->common, loop->polled, 1, &timeout);
    }
    count = poll(loop->polled, (nfds_t)(listed + 1), timeout);
    err = loop_builtin_wake(&loop->common, count);
    __atomic_store_n(&loop->is_polling, 0, __ATOMIC_SEQ_CST);
    if (count > 0) {
        hear(loop, listed, loop->listed_changes);
    } else if (count == 0 && (timeout > 0 || loop->common.is_time_up)) {
        hear_timeout(loop, until);
    }
    loop_builtin_turn(&loop->common, err);
    return err;
}

/* ---- its life */

static void init(struct loop_builtin *common)
{
    struct loop_poll *loop = of_common(common);

    loop->alarm_at = lull_at(LULL_NEVER);
    loop_pipe_init(&loop->wake);
}

static void close_pipe(struct loop_builtin *common)
{
    struct loop_poll *loop = of_common(common);

    loop_pipe_close(&loop->wake);
    mem_release(common->allocator, loop->watches);
    mem_release(common->allocator, loop->polled);
    loop->watches = NULL;
    loop->polled = NULL;
    loop->count = loop->capacity = loop->polled_capacity = 0;
}

const struct loop_builtin_kind loop_builtin_kind = {
    .name = "poll",
    .size = sizeof(struct loop_poll),
    .ops = {.watch = watch_fd, .alarm = set_alarm, .wake = wake_up, .soon = run_soon, .run_once = run_round},
    .init = init,
    .close = close_pipe,
};

int lull_loop_fd(struct lull_loop *base)
{
    (void)base;
    return -1;
}
