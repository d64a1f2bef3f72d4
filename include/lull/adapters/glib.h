/* SPDX-License-Identifier: MIT */
/**
 * @file glib.h
 * lull on a GMainContext of GLib (2.36 or newer), and so in a GTK program. Header-only: include it in the program that links GLib;
 * liblull knows nothing of it.
 *
 *     int lull_glib_new(GMainContext *host, const struct lull_executor_options *options, struct lull_loop **out);   (both may be NULL)
 *     void lull_glib_free(struct lull_loop *loop);
 *
 * lull is one GSource. Everything of it happens when that source is dispatched, in the thread that iterates the context. What is
 * started outside of lull's own callbacks, in another source's say, reaches the wire before the context sleeps. (Not in the prepare
 * or check function of a source, where nothing should be started.)
 */
#ifndef LULL_ADAPTERS_GLIB_H
#define LULL_ADAPTERS_GLIB_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>
#include <lull/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_glib;

/** One watched descriptor. Private. Since 0.3. */
struct lull_glib_watch {
    struct lull_watch *watch;
    void *tag;
    struct lull_glib_watch *prev, *next;
};

/** The source. Private. Since 0.3. */
struct lull_glib_source {
    GSource source;
    struct lull_glib *self;
};

/** The loop that lull_glib_new makes. All of it is private; names that end in _ are, too. Since 0.3. */
struct lull_glib {
    struct lull_loop base;
    const struct lull_allocator *allocator; /* NULL: malloc and free */
    GMainContext *host;
    GSource *source;
    struct lull_glib_watch *watches;
    gint64 alarm_us; /* by g_get_monotonic_time; G_MAXINT64: none */
    gint64 limit_us; /* of run_once; the same */
    unsigned turns;
    unsigned char is_due; /* a turn was asked for; atomic */
    bool is_ending;       /* freed in a callback of lull's: at the end of the turn */
};

static inline void *lull_glib_alloc_(const struct lull_allocator *allocator, size_t size)
{
    void *memory = allocator != NULL ? allocator->alloc(allocator->ctx, size) : malloc(size);

    if (memory != NULL) {
        memset(memory, 0, size);
    }
    return memory;
}

static inline void lull_glib_release_(const struct lull_allocator *allocator, void *memory)
{
    if (allocator != NULL) {
        allocator->release(allocator->ctx, memory);
    } else {
        free(memory);
    }
}

static inline struct lull_glib *lull_glib_of_(struct lull_loop *base)
{
    return (struct lull_glib *)(void *)base;
}

static inline void lull_glib_end_(struct lull_glib *self);

/* ---- the source */

static inline bool lull_glib_is_due_(struct lull_glib *self)
{
    return __atomic_load_n(&self->is_due, __ATOMIC_SEQ_CST) != 0;
}

static inline gint64 lull_glib_next_us_(const struct lull_glib *self)
{
    return self->alarm_us < self->limit_us ? self->alarm_us : self->limit_us;
}

static inline gboolean lull_glib_prepare_(GSource *source, gint *timeout_ms)
{
    struct lull_glib *self = ((struct lull_glib_source *)(void *)source)->self;
    const gint64 next_us = lull_glib_next_us_(self);
    gint64 left_us, ms;

    *timeout_ms = 0;
    if (lull_glib_is_due_(self)) {
        return TRUE;
    }
    if (next_us == G_MAXINT64) {
        *timeout_ms = -1;
        return FALSE;
    }
    left_us = next_us - g_source_get_time(source);
    if (left_us <= 0) {
        return TRUE;
    }
    ms = left_us / 1000 + (left_us % 1000 != 0);
    *timeout_ms = ms > G_MAXINT ? G_MAXINT : (gint)ms;
    return FALSE;
}

/* Descriptors that are ready GLib sees itself. */
static inline gboolean lull_glib_check_(GSource *source)
{
    struct lull_glib *self = ((struct lull_glib_source *)(void *)source)->self;
    const gint64 next_us = lull_glib_next_us_(self);

    return lull_glib_is_due_(self) || (next_us != G_MAXINT64 && next_us <= g_source_get_time(source));
}

static inline void lull_glib_hear_(struct lull_glib *self)
{
    for (struct lull_glib_watch *watch = self->watches; watch != NULL; watch = watch->next) {
        const unsigned events = (unsigned)g_source_query_unix_fd(self->source, watch->tag);
        unsigned ready = LULL_WANT_NONE;

        /* An error or a hang-up is found out by whoever reads or writes. */
        if ((events & ((unsigned)G_IO_IN | (unsigned)G_IO_ERR | (unsigned)G_IO_HUP | (unsigned)G_IO_NVAL)) != 0) {
            ready |= LULL_WANT_READ;
        }
        if ((events & ((unsigned)G_IO_OUT | (unsigned)G_IO_ERR | (unsigned)G_IO_HUP | (unsigned)G_IO_NVAL)) != 0) {
            ready |= LULL_WANT_WRITE;
        }
        ready &= watch->watch->want;
        if (ready != LULL_WANT_NONE) {
            lull_watch_ready(&self->base, watch->watch, ready);
        }
    }
}

static inline void lull_glib_turn_(struct lull_glib *self)
{
    int rc;

    __atomic_store_n(&self->is_due, 0, __ATOMIC_SEQ_CST);
    if (self->alarm_us <= g_source_get_time(self->source)) {
        self->alarm_us = G_MAXINT64;
        rc = lull_loop_on_alarm(&self->base);
    } else {
        rc = lull_executor_turn_now(self->base.executor);
    }
    if (rc != LULL_OK) {
        __atomic_store_n(&self->is_due, 1, __ATOMIC_SEQ_CST); /* somebody is inside one: after him */
        return;
    }
    self->turns++;
    if (self->is_ending) {
        lull_glib_end_(self);
    }
}

static inline gboolean lull_glib_dispatch_(GSource *source, GSourceFunc callback, gpointer data)
{
    struct lull_glib *self = ((struct lull_glib_source *)(void *)source)->self;

    (void)callback;
    (void)data;
    lull_glib_hear_(self);
    lull_glib_turn_(self);
    return TRUE;
}

/* ---- the verbs */

static inline GIOCondition lull_glib_events_of_(unsigned want)
{
    return (GIOCondition)(((want & LULL_WANT_READ) != 0 ? (unsigned)G_IO_IN : 0u) |
                          ((want & LULL_WANT_WRITE) != 0 ? (unsigned)G_IO_OUT : 0u));
}

static inline void lull_glib_forget_fd_(struct lull_glib *self, struct lull_watch *w)
{
    struct lull_glib_watch *watch = (struct lull_glib_watch *)w->host;

    w->want = LULL_WANT_NONE;
    w->host = NULL;
    if (watch == NULL) {
        return;
    }
    if (watch->prev != NULL) {
        watch->prev->next = watch->next;
    } else {
        self->watches = watch->next;
    }
    if (watch->next != NULL) {
        watch->next->prev = watch->prev;
    }
    /* In a child that was forked this would wake the parent, whose eventfd it is. */
    if (!lull_loop_is_forked(&self->base)) {
        g_source_remove_unix_fd(self->source, watch->tag);
    }
    lull_glib_release_(self->allocator, watch);
}

static inline int lull_glib_watch_fd_(struct lull_loop *base, struct lull_watch *w, unsigned want)
{
    struct lull_glib *self = lull_glib_of_(base);
    struct lull_glib_watch *watch = (struct lull_glib_watch *)w->host;

    if (want == LULL_WANT_NONE) {
        lull_glib_forget_fd_(self, w);
        return 0;
    }
    if (lull_loop_is_forked(base)) {
        w->want = want;
        return 0;
    }
    if (watch != NULL) {
        g_source_modify_unix_fd(self->source, watch->tag, lull_glib_events_of_(want));
        w->want = want;
        return 0;
    }
    if (w->fd < 0) {
        return EBADF;
    }
    watch = (struct lull_glib_watch *)lull_glib_alloc_(self->allocator, sizeof(*watch));
    if (watch == NULL) {
        return ENOMEM;
    }
    watch->watch = w;
    watch->tag = g_source_add_unix_fd(self->source, w->fd, lull_glib_events_of_(want));
    watch->next = self->watches;
    if (watch->next != NULL) {
        watch->next->prev = watch;
    }
    self->watches = watch;
    w->host = watch;
    w->want = want;
    return 0;
}

/* The first microsecond of GLib's clock at which `left_ns` from now have passed. */
static inline gint64 lull_glib_us_after_(int64_t left_ns)
{
    return g_get_monotonic_time() + 1 + left_ns / 1000 + (left_ns % 1000 != 0);
}

static inline int64_t lull_glib_left_ns_(struct lull_glib *self, struct lull_instant at)
{
    return lull_instant_diff(at, lull_clock_now(lull_executor_clock(self->base.executor)));
}

/*
 * What prepare reads before the context sleeps. g_source_set_ready_time would do, but writes to the context's eventfd each time, for
 * a loop that does not sleep.
 */
static inline int lull_glib_set_alarm_(struct lull_loop *base, struct lull_instant at)
{
    struct lull_glib *self = lull_glib_of_(base);
    int64_t left_ns;

    if (at.ns == LULL_NEVER) {
        self->alarm_us = G_MAXINT64;
        return 0;
    }
    left_ns = lull_glib_left_ns_(self, at);
    if (left_ns <= 0) {
        __atomic_store_n(&self->is_due, 1, __ATOMIC_SEQ_CST);
    } else {
        self->alarm_us = lull_glib_us_after_(left_ns);
    }
    return 0;
}

static inline void lull_glib_wake_up_(struct lull_loop *base)
{
    struct lull_glib *self = lull_glib_of_(base);
    const int saved = errno; /* a signal handler may stop the loop */

    /* Who set it before us has woken the context, or is the thread that iterates it. */
    if (!lull_loop_is_forked(base) && __atomic_exchange_n(&self->is_due, 1, __ATOMIC_SEQ_CST) == 0) {
        g_main_context_wakeup(self->host);
    }
    errno = saved;
}

static inline void lull_glib_run_soon_(struct lull_loop *base)
{
    __atomic_store_n(&lull_glib_of_(base)->is_due, 1, __ATOMIC_SEQ_CST);
}

static inline int lull_glib_run_once_(struct lull_loop *base, struct lull_instant until)
{
    struct lull_glib *self = lull_glib_of_(base);
    const unsigned turns = self->turns;
    const gint64 outer_limit_us = self->limit_us;
    bool may_block = true;
    int64_t left_ns;

    if (!g_main_context_acquire(self->host)) {
        return EBUSY; /* another thread iterates it */
    }
    if (until.ns != LULL_NEVER) {
        left_ns = lull_glib_left_ns_(self, until);
        may_block = left_ns > 0;
        self->limit_us = may_block ? lull_glib_us_after_(left_ns) : outer_limit_us;
    }
    (void)g_main_context_iteration(self->host, may_block);
    self->limit_us = outer_limit_us;
    if (self->turns == turns) {
        lull_glib_turn_(self);
    }
    g_main_context_release(self->host);
    return 0;
}

static inline const struct lull_loop_ops *lull_glib_ops_(void)
{
    static const struct lull_loop_ops ops = {lull_glib_watch_fd_, lull_glib_set_alarm_, lull_glib_wake_up_, lull_glib_run_soon_,
                                             lull_glib_run_once_};

    return &ops;
}

/* ---- its life */

/**
 * Makes a loop of lull's on `host`, for the options of channels and servers. Several on one context are legal; one is cheaper.
 *
 * lull_loop_run, _run_once and _flush work on it, in callbacks of other sources too; or leave them and run a GMainLoop. A main
 * loop that is run in a callback of lull's runs everything but lull.
 * @param host [ref, nullable] NULL: the default context
 * @param options [borrow, nullable] of its executor
 * @param out receives the loop; freed by lull_glib_free
 * @return LULL_OK, LULL_RC_NOMEM, LULL_RC_INVALID (options). The thread that iterates `host`. Since 0.3.
 */
static inline int lull_glib_new(GMainContext *host, const struct lull_executor_options *options, struct lull_loop **out)
{
    static GSourceFuncs functions = {lull_glib_prepare_, lull_glib_check_, lull_glib_dispatch_, NULL, NULL, NULL};
    const struct lull_allocator *allocator = options != NULL && options->size >= sizeof(*options) ? options->allocator : NULL;
    struct lull_glib *self = (struct lull_glib *)lull_glib_alloc_(allocator, sizeof(*self));
    int rc;

    if (self == NULL) {
        return LULL_RC_NOMEM;
    }
    self->allocator = allocator;
    self->alarm_us = self->limit_us = G_MAXINT64;
    rc = lull_loop_init(&self->base, lull_glib_ops_(), "glib", options);
    if (rc != LULL_OK) {
        lull_glib_release_(allocator, self);
        return rc;
    }
    self->host = g_main_context_ref(host != NULL ? host : g_main_context_default());
    self->source = g_source_new(&functions, (guint)sizeof(struct lull_glib_source));
    ((struct lull_glib_source *)(void *)self->source)->self = self;
    g_source_set_name(self->source, "lull");
    (void)g_source_attach(self->source, self->host);
    *out = &self->base;
    return LULL_OK;
}

static inline void lull_glib_end_(struct lull_glib *self)
{
    const bool is_forked = lull_loop_is_forked(&self->base);

    lull_loop_fini(&self->base);
    if (is_forked) {
        return; /* the child's copy of the context is not for use */
    }
    g_source_destroy(self->source);
    g_source_unref(self->source);
    g_main_context_unref(self->host);
    lull_glib_release_(self->allocator, self);
}

/**
 * Frees it as lull_loop_fini does: channels and servers on it must be gone (asserted). In a callback of lull's it happens at the end
 * of the turn; not so when lull_loop_run runs it: stop that, and free it then. In a child that was forked nothing of `host` is touched.
 * @param loop [own, nullable] of lull_glib_new. The thread that iterates `host`, callbacks included. Since 0.3.
 */
static inline void lull_glib_free(struct lull_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (lull_executor_in_context(loop->executor)) {
        lull_glib_of_(loop)->is_ending = true;
        __atomic_store_n(&lull_glib_of_(loop)->is_due, 1, __ATOMIC_SEQ_CST);
        return;
    }
    lull_glib_end_(lull_glib_of_(loop));
}

#ifdef __cplusplus
}
#endif

#endif
