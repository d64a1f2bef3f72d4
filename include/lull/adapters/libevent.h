/* SPDX-License-Identifier: MIT */
/**
 * @file libevent.h
 * lull on an event_base of libevent (2.1 or newer). Header-only: include it in the program that links libevent (libevent_core is
 * enough); liblull knows nothing of it.
 *
 *     int lull_libevent_new(struct event_base *host, const struct lull_executor_options *options, struct lull_loop **out);
 *     void lull_libevent_free(struct lull_loop *loop);   (options may be NULL)
 *
 * Everything of lull then happens in callbacks of that event_base, in the thread that runs it. What is started outside of lull's own
 * callbacks, in an event's of yours say, reaches the wire before the base sleeps. libevent's threads need not be turned on. A base
 * with a lull loop on it always has an event, so event_base_dispatch does not return by itself before lull_libevent_free.
 */
#ifndef LULL_ADAPTERS_LIBEVENT_H
#define LULL_ADAPTERS_LIBEVENT_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <lull/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The loop that lull_libevent_new makes. All of it is private; names that end in _ are, too. Since 0.3. */
struct lull_libevent {
    struct lull_loop base;
    const struct lull_allocator *allocator; /* NULL: malloc and free */
    struct event_base *host;
    struct event *alarm;
    struct event *limit; /* of run_once */
    struct event *due;   /* a turn was asked for */
    struct event *wake;  /* the pipe's reading end */
    struct lull_instant alarm_at;
    int wake_fds[2];
    unsigned char is_woken; /* a byte is in the pipe; atomic */
    unsigned turns;
    bool is_running; /* inside run_once */
    bool is_ending;  /* freed in a callback of lull's: at the end of the turn */
};

/** One watched descriptor. Private. Since 0.3. */
struct lull_libevent_watch {
    struct event *event;
    struct lull_libevent *self;
    struct lull_watch *watch;
};

static inline void *lull_libevent_alloc_(const struct lull_allocator *allocator, size_t size)
{
    void *memory = allocator != NULL ? allocator->alloc(allocator->ctx, size) : malloc(size);

    if (memory != NULL) {
        memset(memory, 0, size);
    }
    return memory;
}

static inline void lull_libevent_release_(const struct lull_allocator *allocator, void *memory)
{
    if (allocator != NULL) {
        allocator->release(allocator->ctx, memory);
    } else {
        free(memory);
    }
}

static inline struct lull_libevent *lull_libevent_of_(struct lull_loop *base)
{
    return (struct lull_libevent *)(void *)base;
}

/* ---- turns */

static inline void lull_libevent_end_(struct lull_libevent *self);

/* From a turn, a round later, so that others get theirs; else behind the events that are active now. Neither sleeps before. */
static inline void lull_libevent_schedule_(struct lull_libevent *self)
{
    static const struct timeval at_once = {0, 0};

    if (lull_executor_in_context(self->base.executor)) {
        (void)event_add(self->due, &at_once);
    } else {
        event_active(self->due, EV_TIMEOUT, 0);
    }
}

static inline void lull_libevent_on_turn_(struct lull_libevent *self)
{
    self->turns++;
    if (self->is_ending) {
        lull_libevent_end_(self);
    }
}

static inline void lull_libevent_on_due_(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval at_once = {0, 0};
    struct lull_libevent *self = (struct lull_libevent *)arg;

    (void)fd;
    (void)what;
    (void)event_del(self->due);
    if (lull_executor_turn_now(self->base.executor) == LULL_OK) {
        lull_libevent_on_turn_(self);
    } else {
        (void)event_add(self->due, &at_once); /* somebody is inside one: after him */
    }
}

static inline void lull_libevent_on_wake_(evutil_socket_t fd, short what, void *arg)
{
    struct lull_libevent *self = (struct lull_libevent *)arg;
    char byte;

    (void)what;
    (void)!read(fd, &byte, 1);
    /* After the read: who finds it set from here on is heard by the turn. */
    (void)__atomic_exchange_n(&self->is_woken, 0, __ATOMIC_SEQ_CST);
    lull_libevent_schedule_(self);
}

static inline void lull_libevent_on_limit_(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

/* ---- the verbs */

static inline short lull_libevent_events_of_(unsigned want)
{
    return (short)(((want & LULL_WANT_READ) != 0 ? EV_READ : 0) | ((want & LULL_WANT_WRITE) != 0 ? EV_WRITE : 0) | EV_PERSIST);
}

static inline void lull_libevent_on_ready_(evutil_socket_t fd, short what, void *arg)
{
    struct lull_libevent_watch *watch = (struct lull_libevent_watch *)arg;
    unsigned ready = LULL_WANT_NONE;

    (void)fd;
    if ((what & EV_READ) != 0) {
        ready |= LULL_WANT_READ;
    }
    if ((what & EV_WRITE) != 0) {
        ready |= LULL_WANT_WRITE;
    }
    /* Asks for a turn, once for all that are ready: it is activated behind the last of them. */
    lull_watch_ready(&watch->self->base, watch->watch, ready & watch->watch->want);
}

static inline void lull_libevent_forget_fd_(struct lull_libevent *self, struct lull_watch *w)
{
    struct lull_libevent_watch *watch = (struct lull_libevent_watch *)w->host;

    w->want = LULL_WANT_NONE;
    w->host = NULL;
    /* A child that was forked would take back the parent's registration: the epoll is one. */
    if (watch != NULL && !lull_loop_is_forked(&self->base)) {
        event_free(watch->event);
        lull_libevent_release_(self->allocator, watch);
    }
}

/* A record and its event, not added yet. NULL: no memory. */
static inline struct lull_libevent_watch *lull_libevent_new_watch_(struct lull_libevent *self, struct lull_watch *w)
{
    struct lull_libevent_watch *watch =
        (struct lull_libevent_watch *)lull_libevent_alloc_(self->allocator, sizeof(*watch));

    if (watch == NULL) {
        return NULL;
    }
    watch->event = event_new(self->host, w->fd, EV_READ | EV_PERSIST, lull_libevent_on_ready_, watch);
    if (watch->event == NULL) {
        lull_libevent_release_(self->allocator, watch);
        return NULL;
    }
    watch->self = self;
    watch->watch = w;
    return watch;
}

static inline int lull_libevent_watch_fd_(struct lull_loop *base, struct lull_watch *w, unsigned want)
{
    struct lull_libevent *self = lull_libevent_of_(base);
    struct lull_libevent_watch *watch = (struct lull_libevent_watch *)w->host;
    int err;

    if (want == LULL_WANT_NONE) {
        lull_libevent_forget_fd_(self, w);
        return 0;
    }
    if (lull_loop_is_forked(base)) {
        w->want = want;
        return 0;
    }
    if (w->fd < 0) {
        return EBADF; /* which libevent would take, and never report */
    }
    if (watch == NULL) {
        watch = lull_libevent_new_watch_(self, w);
        if (watch == NULL) {
            return ENOMEM;
        }
        w->host = watch;
    }
    errno = 0;
    if (event_del(watch->event) != 0 ||
        event_assign(watch->event, self->host, w->fd, lull_libevent_events_of_(want), lull_libevent_on_ready_, watch) != 0 ||
        event_add(watch->event, NULL) != 0) {
        err = errno;
        lull_libevent_forget_fd_(self, w);
        return err != 0 ? err : EIO;
    }
    w->want = want;
    return 0;
}

static inline struct timeval lull_libevent_interval_(int64_t ns)
{
    const int64_t us = ns / 1000 + (ns % 1000 != 0);
    struct timeval tv;

    tv.tv_sec = (time_t)(us / 1000000);
    tv.tv_usec = (suseconds_t)(us % 1000000);
    return tv;
}

/* libevent counts from the time at which it woke, unless it is told to look again. */
static inline int lull_libevent_set_timer_(struct lull_libevent *self, struct event *timer, int64_t left_ns)
{
    const struct timeval tv = lull_libevent_interval_(left_ns);

    (void)event_base_update_cache_time(self->host);
    errno = 0;
    return event_add(timer, &tv) == 0 ? 0 : errno != 0 ? errno : ENOMEM;
}

static inline int64_t lull_libevent_left_ns_(struct lull_libevent *self, struct lull_instant at)
{
    return lull_instant_diff(at, lull_clock_now(lull_executor_clock(self->base.executor)));
}

static inline void lull_libevent_on_alarm_(evutil_socket_t fd, short what, void *arg)
{
    struct lull_libevent *self = (struct lull_libevent *)arg;
    const int64_t left_ns = lull_libevent_left_ns_(self, self->alarm_at);

    (void)fd;
    (void)what;
    /* Its clock is a coarse one by default, some milliseconds behind: what comes early waits for the rest and is no turn. */
    if (left_ns > 0 && lull_libevent_set_timer_(self, self->alarm, left_ns) == 0) {
        return;
    }
    if (lull_loop_on_alarm(&self->base) == LULL_OK) {
        lull_libevent_on_turn_(self);
    }
}

static inline int lull_libevent_set_alarm_(struct lull_loop *base, struct lull_instant at)
{
    struct lull_libevent *self = lull_libevent_of_(base);
    int64_t left_ns;

    if (lull_loop_is_forked(base)) {
        return 0;
    }
    if (at.ns == LULL_NEVER) {
        (void)event_del(self->alarm);
        return 0;
    }
    left_ns = lull_libevent_left_ns_(self, at);
    if (left_ns <= 0) {
        lull_libevent_schedule_(self);
        return 0;
    }
    self->alarm_at = at;
    return lull_libevent_set_timer_(self, self->alarm, left_ns);
}

static inline void lull_libevent_wake_up_(struct lull_loop *base)
{
    struct lull_libevent *self = lull_libevent_of_(base);
    const int saved = errno; /* a signal handler may stop the loop */

    if (lull_loop_is_forked(base) || __atomic_exchange_n(&self->is_woken, 1, __ATOMIC_SEQ_CST) != 0) {
        return;
    }
    while (write(self->wake_fds[1], "", 1) < 0 && errno == EINTR) {
    }
    errno = saved;
}

static inline void lull_libevent_run_soon_(struct lull_loop *base)
{
    if (!lull_loop_is_forked(base)) {
        lull_libevent_schedule_(lull_libevent_of_(base));
    }
}

static inline int lull_libevent_run_once_(struct lull_loop *base, struct lull_instant until)
{
    struct lull_libevent *self = lull_libevent_of_(base);
    const unsigned turns = self->turns;
    int flags = EVLOOP_ONCE;
    int64_t left_ns;
    int rc;

    if (self->is_running) {
        return EBUSY; /* event_base_loop cannot be entered twice */
    }
    if (until.ns != LULL_NEVER) {
        left_ns = lull_libevent_left_ns_(self, until);
        if (left_ns <= 0) {
            flags = EVLOOP_NONBLOCK;
        } else if ((rc = lull_libevent_set_timer_(self, self->limit, left_ns)) != 0) {
            return rc;
        }
    }
    self->is_running = true;
    rc = event_base_loop(self->host, flags);
    self->is_running = false;
    (void)event_del(self->limit);
    if (rc < 0) {
        return EBUSY;
    }
    if (self->turns == turns) {
        lull_libevent_on_due_(-1, EV_TIMEOUT, self);
    }
    return 0;
}

static inline const struct lull_loop_ops *lull_libevent_ops_(void)
{
    static const struct lull_loop_ops ops = {lull_libevent_watch_fd_, lull_libevent_set_alarm_, lull_libevent_wake_up_,
                                             lull_libevent_run_soon_, lull_libevent_run_once_};

    return &ops;
}

/* ---- its life */

static inline void lull_libevent_drop_(struct lull_libevent *self)
{
    struct event *const events[] = {self->alarm, self->limit, self->due, self->wake};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (self->wake_fds[i] >= 0) {
            close(self->wake_fds[i]);
        }
    }
    lull_libevent_release_(self->allocator, self);
}

/* The pipe and the events; false: something is missing, and lull_libevent_drop_ takes what is there. */
static inline bool lull_libevent_open_(struct lull_libevent *self)
{
    if (pipe(self->wake_fds) != 0) {
        self->wake_fds[0] = self->wake_fds[1] = -1;
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (evutil_make_socket_nonblocking(self->wake_fds[i]) != 0 || evutil_make_socket_closeonexec(self->wake_fds[i]) != 0) {
            return false;
        }
    }
    self->alarm = event_new(self->host, -1, 0, lull_libevent_on_alarm_, self);
    self->limit = event_new(self->host, -1, 0, lull_libevent_on_limit_, self);
    self->due = event_new(self->host, -1, 0, lull_libevent_on_due_, self);
    self->wake = event_new(self->host, self->wake_fds[0], EV_READ | EV_PERSIST, lull_libevent_on_wake_, self);
    return self->alarm != NULL && self->limit != NULL && self->due != NULL && self->wake != NULL &&
           event_add(self->wake, NULL) == 0;
}

/**
 * Makes a loop of lull's on `host`, for the options of channels and servers. Several on one event_base are legal; one is cheaper.
 *
 * lull_loop_run, _run_once and _flush work on it, by event_base_loop; so not in callbacks of libevent, where that is not allowed. Or
 * leave them and call event_base_dispatch.
 * @param host [borrow] outlives the loop
 * @param options [borrow, nullable] of its executor
 * @param out receives the loop; freed by lull_libevent_free
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID (options), LULL_RC_SYSTEM (no descriptor). The thread that runs `host`. Since 0.3.
 */
static inline int lull_libevent_new(struct event_base *host, const struct lull_executor_options *options, struct lull_loop **out)
{
    const struct lull_allocator *allocator = options != NULL && options->size >= sizeof(*options) ? options->allocator : NULL;
    struct lull_libevent *self = (struct lull_libevent *)lull_libevent_alloc_(allocator, sizeof(*self));
    int rc;

    if (self == NULL) {
        return LULL_RC_NOMEM;
    }
    self->allocator = allocator;
    self->host = host;
    self->wake_fds[0] = self->wake_fds[1] = -1;
    rc = lull_loop_init(&self->base, lull_libevent_ops_(), "libevent", options);
    if (rc != LULL_OK) {
        lull_libevent_release_(allocator, self);
        return rc;
    }
    if (!lull_libevent_open_(self)) {
        lull_loop_fini(&self->base);
        lull_libevent_drop_(self);
        return LULL_RC_SYSTEM;
    }
    *out = &self->base;
    return LULL_OK;
}

static inline void lull_libevent_end_(struct lull_libevent *self)
{
    const bool is_forked = lull_loop_is_forked(&self->base);

    lull_loop_fini(&self->base);
    if (!is_forked) { /* the child's copy of the host's base is not for use */
        lull_libevent_drop_(self);
    }
}

/**
 * Frees it as lull_loop_fini does: channels and servers on it must be gone (asserted). In a callback of lull's it happens at the end
 * of the turn; not so when lull_loop_run runs it: stop that, and free it then. In a child that was forked nothing of `host` is touched.
 * @param loop [own, nullable] of lull_libevent_new. The thread that runs `host`, callbacks included. Since 0.3.
 */
static inline void lull_libevent_free(struct lull_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (lull_executor_in_context(loop->executor)) {
        lull_libevent_of_(loop)->is_ending = true;
        lull_libevent_schedule_(lull_libevent_of_(loop));
        return;
    }
    lull_libevent_end_(lull_libevent_of_(loop));
}

#ifdef __cplusplus
}
#endif

#endif
