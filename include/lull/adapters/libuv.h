/* SPDX-License-Identifier: MIT */
/**
 * @file libuv.h
 * lull on a libuv loop (1.30 or newer). Header-only: include it in the program that links libuv; liblull knows nothing of it.
 *
 *     int lull_uv_new(uv_loop_t *host, const struct lull_executor_options *options, struct lull_loop **out);   (options may be NULL)
 *     void lull_uv_free(struct lull_loop *loop);
 *
 * Everything of lull then happens in callbacks of that uv_loop_t, in the thread that runs it. What is started outside of lull's own
 * callbacks, in a timer's of yours say, reaches the wire before the loop sleeps. Calls, connections and listening servers keep
 * uv_run from returning; sleeping channels do not.
 *
 * uv.h wants POSIX's names: with -std=c11 and the like, define _GNU_SOURCE before any include, or say -std=gnu11.
 *
 * Copies as a model for other loops: the five verbs are the functions lull_uv_watch_fd_ to lull_uv_run_once_.
 */
#ifndef LULL_ADAPTERS_LIBUV_H
#define LULL_ADAPTERS_LIBUV_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lull/loop.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The loop that lull_uv_new makes. All of it is private; names that end in _ are, too. Since 0.3. */
struct lull_uv {
    struct lull_loop base;
    const struct lull_allocator *allocator; /* NULL: malloc and free */
    uv_loop_t *host;
    uv_timer_t alarm;
    uv_timer_t limit; /* of run_once */
    uv_async_t wake;
    /* Active while a turn is due: in whatever phase it was asked for, one of them runs it, and the idle handle forbids to sleep. */
    uv_idle_t idle;
    uv_prepare_t prepare;
    uv_check_t check;
    unsigned handles; /* not closed yet; the last one takes this struct with it */
    unsigned turns;
    bool is_running; /* inside run_once */
    bool is_ending;  /* freed in a callback of lull's: at the end of the turn */
};

/** One watched descriptor. Private. Since 0.3. */
struct lull_uv_watch {
    uv_poll_t poll;
    struct lull_uv *self;
    struct lull_watch *watch; /* NULL: given up */
};

static inline void *lull_uv_alloc_(const struct lull_allocator *allocator, size_t size)
{
    void *memory = allocator != NULL ? allocator->alloc(allocator->ctx, size) : malloc(size);

    if (memory != NULL) {
        memset(memory, 0, size);
    }
    return memory;
}

static inline void lull_uv_release_(const struct lull_allocator *allocator, void *memory)
{
    if (allocator != NULL) {
        allocator->release(allocator->ctx, memory);
    } else {
        free(memory);
    }
}

static inline struct lull_uv *lull_uv_of_(struct lull_loop *base)
{
    return (struct lull_uv *)(void *)base;
}

static inline void lull_uv_handle_gone_(struct lull_uv *self)
{
    if (--self->handles == 0) {
        lull_uv_release_(self->allocator, self);
    }
}

/* ---- turns */

static inline void lull_uv_end_(struct lull_uv *self);
static inline void lull_uv_on_idle_(uv_idle_t *idle);
static inline void lull_uv_on_prepare_(uv_prepare_t *prepare);
static inline void lull_uv_on_check_(uv_check_t *check);

static inline void lull_uv_schedule_(struct lull_uv *self)
{
    (void)uv_idle_start(&self->idle, lull_uv_on_idle_);
    (void)uv_prepare_start(&self->prepare, lull_uv_on_prepare_);
    (void)uv_check_start(&self->check, lull_uv_on_check_);
}

/* A turn is over. */
static inline void lull_uv_on_turn_(struct lull_uv *self)
{
    struct lull_counters counters;

    self->turns++;
    if (self->is_ending) {
        lull_uv_end_(self);
        return;
    }
    /* A call that waits for nothing but time is a reason for uv_run to stay; the idle timeout of a quiet channel is none. */
    counters.size = sizeof(counters);
    lull_executor_counters(self->base.executor, &counters);
    if (counters.calls_started != counters.calls_closed) {
        uv_ref((uv_handle_t *)&self->alarm);
    } else {
        uv_unref((uv_handle_t *)&self->alarm);
    }
}

static inline void lull_uv_turn_(struct lull_uv *self)
{
    (void)uv_idle_stop(&self->idle);
    (void)uv_prepare_stop(&self->prepare);
    (void)uv_check_stop(&self->check);
    if (lull_executor_turn_now(self->base.executor) != LULL_OK) {
        lull_uv_schedule_(self); /* somebody is inside one: after him */
        return;
    }
    lull_uv_on_turn_(self);
}

static inline void lull_uv_on_idle_(uv_idle_t *idle)
{
    (void)idle;
}

static inline void lull_uv_on_prepare_(uv_prepare_t *prepare)
{
    lull_uv_turn_((struct lull_uv *)prepare->data);
}

static inline void lull_uv_on_check_(uv_check_t *check)
{
    lull_uv_turn_((struct lull_uv *)check->data);
}

static inline void lull_uv_on_wake_(uv_async_t *wake)
{
    lull_uv_schedule_((struct lull_uv *)wake->data);
}

static inline void lull_uv_on_alarm_(uv_timer_t *alarm)
{
    struct lull_uv *self = (struct lull_uv *)alarm->data;

    if (lull_loop_on_alarm(&self->base) == LULL_OK) {
        lull_uv_on_turn_(self);
    }
}

static inline void lull_uv_on_limit_(uv_timer_t *limit)
{
    (void)limit;
}

/* ---- the verbs */

static inline void lull_uv_on_watch_closed_(uv_handle_t *handle)
{
    struct lull_uv_watch *watch = (struct lull_uv_watch *)handle->data;
    struct lull_uv *self = watch->self;

    lull_uv_release_(self->allocator, watch);
    lull_uv_handle_gone_(self);
}

static inline int lull_uv_events_of_(unsigned want)
{
    return ((want & LULL_WANT_READ) != 0 ? (int)UV_READABLE : 0) | ((want & LULL_WANT_WRITE) != 0 ? (int)UV_WRITABLE : 0);
}

static inline void lull_uv_on_poll_(uv_poll_t *poll, int status, int events)
{
    struct lull_uv_watch *watch = (struct lull_uv_watch *)poll->data;
    struct lull_watch *w = watch->watch;
    unsigned ready = LULL_WANT_NONE;

    if (w == NULL) {
        return;
    }
    if (status < 0) {
        /* An error of the socket, which its owner finds out by reading or writing. libuv has stopped to watch it. */
        (void)uv_poll_start(poll, lull_uv_events_of_(w->want), lull_uv_on_poll_);
        ready = w->want;
    } else {
        if ((events & UV_READABLE) != 0) {
            ready |= LULL_WANT_READ;
        }
        if ((events & UV_WRITABLE) != 0) {
            ready |= LULL_WANT_WRITE;
        }
    }
    /* Asks for a turn, once for all that are ready: the check handle runs it behind the last of them. */
    lull_watch_ready(&watch->self->base, w, ready & w->want);
}

static inline void lull_uv_forget_fd_(struct lull_uv *self, struct lull_watch *w)
{
    struct lull_uv_watch *watch = (struct lull_uv_watch *)w->host;

    w->want = LULL_WANT_NONE;
    w->host = NULL;
    if (watch != NULL) {
        watch->watch = NULL;
        /* A child that was forked would take back the parent's registration: the epoll is one. */
        if (!lull_loop_is_forked(&self->base)) {
            uv_close((uv_handle_t *)&watch->poll, lull_uv_on_watch_closed_);
        }
    }
}

static inline int lull_uv_watch_fd_(struct lull_loop *base, struct lull_watch *w, unsigned want)
{
    struct lull_uv *self = lull_uv_of_(base);
    struct lull_uv_watch *watch = (struct lull_uv_watch *)w->host;
    int rc;

    if (want == LULL_WANT_NONE) {
        lull_uv_forget_fd_(self, w);
        return 0;
    }
    if (lull_loop_is_forked(base)) {
        w->want = want;
        return 0;
    }
    if (watch == NULL) {
        watch = (struct lull_uv_watch *)lull_uv_alloc_(self->allocator, sizeof(*watch));
        if (watch == NULL) {
            return ENOMEM;
        }
        rc = uv_poll_init(self->host, &watch->poll, w->fd);
        if (rc != 0) {
            lull_uv_release_(self->allocator, watch);
            return -rc;
        }
        watch->poll.data = watch;
        watch->self = self;
        watch->watch = w;
        w->host = watch;
        self->handles++;
    }
    rc = uv_poll_start(&watch->poll, lull_uv_events_of_(want), lull_uv_on_poll_);
    if (rc != 0) {
        lull_uv_forget_fd_(self, w);
        return -rc;
    }
    w->want = want;
    return 0;
}

/* libuv counts whole milliseconds from its own idea of now, which may be old. What is due within one goes off after it. */
static inline uint64_t lull_uv_timeout_(struct lull_uv *self, int64_t left_ns)
{
    uint64_t due_ns = uv_hrtime() + (uint64_t)left_ns;
    uint64_t due_ms = due_ns / 1000000u + (due_ns % 1000000u != 0);
    uint64_t now_ms = uv_now(self->host);

    return due_ms > now_ms ? due_ms - now_ms : 0;
}

static inline int lull_uv_set_alarm_(struct lull_loop *base, struct lull_instant at)
{
    struct lull_uv *self = lull_uv_of_(base);
    int64_t left_ns;

    if (lull_loop_is_forked(base)) {
        return 0;
    }
    if (at.ns == LULL_NEVER) {
        (void)uv_timer_stop(&self->alarm);
        return 0;
    }
    left_ns = lull_instant_diff(at, lull_clock_now(lull_executor_clock(base->executor)));
    if (left_ns <= 0) {
        lull_uv_schedule_(self);
        return 0;
    }
    return -uv_timer_start(&self->alarm, lull_uv_on_alarm_, lull_uv_timeout_(self, left_ns), 0);
}

static inline void lull_uv_wake_up_(struct lull_loop *base)
{
    if (!lull_loop_is_forked(base)) {
        (void)uv_async_send(&lull_uv_of_(base)->wake);
    }
}

static inline void lull_uv_run_soon_(struct lull_loop *base)
{
    lull_uv_schedule_(lull_uv_of_(base));
}

static inline int lull_uv_run_once_(struct lull_loop *base, struct lull_instant until)
{
    struct lull_uv *self = lull_uv_of_(base);
    const unsigned turns = self->turns;
    uv_run_mode mode = UV_RUN_ONCE;
    int64_t left_ns;

    if (self->is_running) {
        return EBUSY; /* uv_run cannot be entered twice */
    }
    if (until.ns != LULL_NEVER) {
        left_ns = lull_instant_diff(until, lull_clock_now(lull_executor_clock(base->executor)));
        if (left_ns <= 0) {
            mode = UV_RUN_NOWAIT;
        } else {
            (void)uv_timer_start(&self->limit, lull_uv_on_limit_, lull_uv_timeout_(self, left_ns), 0);
        }
    }
    self->is_running = true;
    uv_ref((uv_handle_t *)&self->wake); /* what another thread starts may be all there is to wait for */
    (void)uv_run(self->host, mode);
    uv_unref((uv_handle_t *)&self->wake);
    self->is_running = false;
    (void)uv_timer_stop(&self->limit);
    if (self->turns == turns) {
        lull_uv_turn_(self);
    }
    return 0;
}

static inline const struct lull_loop_ops *lull_uv_ops_(void)
{
    static const struct lull_loop_ops ops = {lull_uv_watch_fd_, lull_uv_set_alarm_, lull_uv_wake_up_, lull_uv_run_soon_,
                                             lull_uv_run_once_};

    return &ops;
}

/* ---- its life */

/**
 * Makes a loop of lull's on `host`, for the options of channels and servers. Several on one uv_loop_t are legal; one is cheaper.
 *
 * lull_loop_run, _run_once and _flush work on it, by uv_run; so not in callbacks of libuv, where uv_run is not allowed. Or leave
 * them and call uv_run.
 * @param host [borrow] initialised; outlives the loop
 * @param options [borrow, nullable] of its executor
 * @param out receives the loop; freed by lull_uv_free
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID (options), LULL_RC_SYSTEM (no descriptor). The thread that runs `host`. Since 0.3.
 */
static inline int lull_uv_new(uv_loop_t *host, const struct lull_executor_options *options, struct lull_loop **out)
{
    const struct lull_allocator *allocator = options != NULL && options->size >= sizeof(*options) ? options->allocator : NULL;
    struct lull_uv *self = (struct lull_uv *)lull_uv_alloc_(allocator, sizeof(*self));
    int rc;

    if (self == NULL) {
        return LULL_RC_NOMEM;
    }
    self->allocator = allocator;
    self->host = host;
    rc = lull_loop_init(&self->base, lull_uv_ops_(), "libuv", options);
    if (rc != LULL_OK) {
        lull_uv_release_(allocator, self);
        return rc;
    }
    if (uv_async_init(host, &self->wake, lull_uv_on_wake_) != 0) {
        lull_loop_fini(&self->base);
        lull_uv_release_(allocator, self);
        return LULL_RC_SYSTEM;
    }
    /* None of these can fail. */
    (void)uv_timer_init(host, &self->alarm);
    (void)uv_timer_init(host, &self->limit);
    (void)uv_idle_init(host, &self->idle);
    (void)uv_prepare_init(host, &self->prepare);
    (void)uv_check_init(host, &self->check);
    self->wake.data = self->alarm.data = self->limit.data = self;
    self->idle.data = self->prepare.data = self->check.data = self;
    self->handles = 6;
    /* It waits for other threads, which is no reason for uv_run to stay. */
    uv_unref((uv_handle_t *)&self->wake);
    *out = &self->base;
    return LULL_OK;
}

static inline void lull_uv_on_closed_(uv_handle_t *handle)
{
    lull_uv_handle_gone_((struct lull_uv *)handle->data);
}

static inline void lull_uv_end_(struct lull_uv *self)
{
    const bool is_forked = lull_loop_is_forked(&self->base);

    lull_loop_fini(&self->base);
    if (is_forked) {
        return; /* the child's copy of the host's loop is not for use, not even for closing */
    }
    uv_close((uv_handle_t *)&self->wake, lull_uv_on_closed_);
    uv_close((uv_handle_t *)&self->alarm, lull_uv_on_closed_);
    uv_close((uv_handle_t *)&self->limit, lull_uv_on_closed_);
    uv_close((uv_handle_t *)&self->idle, lull_uv_on_closed_);
    uv_close((uv_handle_t *)&self->prepare, lull_uv_on_closed_);
    uv_close((uv_handle_t *)&self->check, lull_uv_on_closed_);
}

/**
 * Frees it as lull_loop_fini does: channels and servers on it must be gone (asserted). libuv closes its handles in the next round,
 * so run `host` once more before uv_loop_close, as after any uv_close. In a callback of lull's it happens at the end of the turn;
 * not so when lull_loop_run runs it: stop that, and free it then. In a child that was forked nothing of `host` is touched.
 * @param loop [own, nullable] of lull_uv_new. The thread that runs `host`, callbacks included. Since 0.3.
 */
static inline void lull_uv_free(struct lull_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (lull_executor_in_context(loop->executor)) {
        lull_uv_of_(loop)->is_ending = true;
        lull_uv_schedule_(lull_uv_of_(loop));
        return;
    }
    lull_uv_end_(lull_uv_of_(loop));
}

#ifdef __cplusplus
}
#endif

#endif
