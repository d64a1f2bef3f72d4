/* SPDX-License-Identifier: MIT */
/*
 * Streams that block (lull/sync.h).
 *
 * Decides: what a blocking stream is made of: an ordinary call whose callbacks leave messages in a ring and tell who waits. Called by
 * applications. Must not know how one waits.
 *
 * The callbacks come on whichever thread drives. One of them puts into the ring and one thread takes out, so two counts are enough. Who
 * waits stands in one of two words, for the callbacks to take; the end leaves its mark there. A thread waits in three steps: it puts
 * itself into the word, it looks again, it sleeps.
 *
 * Whoever drives may be long in coming, so the caller ends the stream by its own clock, and leaves. What both sides share is a block that
 * the last of them frees; of the two ends only the first counts.
 */
#include <stdatomic.h>

#include "base/mem.h"
#include "base/rc.h"
#include "channel/call.h"
#include "lull/sync.h"
#include "sync/sync_late.h"
#include "sync/sync_result.h"
#include "sync/sync_wait.h"

/* A message of so many bytes is held alone. */
#define BIG_BYTES ((size_t)64 * 1024)

/* How often the end looks whether a cancel is still at work. */
#define CANCEL_LOOK_NS (50 * LULL_US)

/* What stands for a waiter when the call is over. */
static char over;

#define IS_OVER ((void *)&over)

enum end {
    END_NONE,
    END_TOLD, /* by the call */
    END_LATE  /* by a caller that waited long enough */
};

/* Held by the caller until lull_sync_stream_finish, and by the call until its end is told. */
struct lull_sync_stream_shared {
    const struct lull_allocator *allocator;
    atomic_uint holders;
    _Atomic(enum end) end;
    struct lull_sync_result ended; /* of whoever set `end` */
    struct lull_slice messages[LULL_SYNC_STREAM_HELD];
    atomic_uint come, taken;   /* counts of messages */
    _Atomic(void *) receiver;  /* who waits */
    _Atomic(void *) sender;    /* the same */
    atomic_bool is_paused;
};

/* ---- words that threads share */

static bool is_over(struct lull_sync_stream_shared *shared)
{
    return atomic_load(&shared->receiver) == IS_OVER;
}

static bool is_late(struct lull_sync_stream_shared *shared)
{
    return atomic_load_explicit(&shared->end, memory_order_relaxed) == END_LATE;
}

/* True: the end is `end` now. */
static bool set_end(struct lull_sync_stream_shared *shared, enum end end, bool *is_first)
{
    enum end before = END_NONE;
    *is_first = atomic_compare_exchange_strong(&shared->end, &before, end);
    return *is_first || before == end;
}

static bool put(_Atomic(void *) *word, struct sync_wait *wait)
{
    void *nobody = NULL;
    return atomic_compare_exchange_strong(word, &nobody, wait);
}

/* False: somebody is about to tell, or has told, who waits there. */
static bool take_back(_Atomic(void *) *word, struct sync_wait *wait)
{
    void *expected = wait;
    return atomic_compare_exchange_strong(word, &expected, NULL);
}

static void tell(_Atomic(void *) *word, void *next)
{
    struct sync_wait *wait = atomic_exchange(word, next);
    if (wait != NULL) {
        sync_wait_tell(wait);
    }
}

/* ---- the ring */

static unsigned held(const struct lull_sync_stream_shared *shared)
{
    return atomic_load(&shared->come) - atomic_load(&shared->taken);
}

static bool pop(struct lull_sync_stream_shared *shared, struct lull_slice *out)
{
    if (held(shared) == 0) {
        return false;
    }
    const unsigned taken = atomic_load_explicit(&shared->taken, memory_order_relaxed);
    *out = shared->messages[taken % LULL_SYNC_STREAM_HELD];
    atomic_store(&shared->taken, taken + 1);
    return true;
}

/* ---- what is shared */

static struct lull_sync_stream_shared *make_shared(const struct lull_allocator *allocator)
{
    struct lull_sync_stream_shared *shared = mem_zeroed(allocator, sizeof(*shared));
    if (shared != NULL) {
        shared->allocator = allocator;
        atomic_init(&shared->holders, 2);
        lull_sync_result_init(&shared->ended);
    }
    return shared;
}

static void free_shared(struct lull_sync_stream_shared *shared)
{
    struct lull_slice message;
    while (pop(shared, &message)) {
        lull_slice_unref(message);
    }
    mem_release(shared->allocator, shared);
}

static void let_go(struct lull_sync_stream_shared *shared)
{
    if (atomic_fetch_sub(&shared->holders, 1) == 1) {
        free_shared(shared);
    }
}

/* ---- callbacks */

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct lull_sync_stream_shared *shared = ctx;
    const unsigned come = atomic_load_explicit(&shared->come, memory_order_relaxed);
    shared->messages[come % LULL_SYNC_STREAM_HELD] = lull_slice_ref(message);
    atomic_store(&shared->come, come + 1);
    if (held(shared) == LULL_SYNC_STREAM_HELD || message.len >= BIG_BYTES) {
        lull_call_pause(call);
        atomic_store(&shared->is_paused, true);
    }
    /* Who finds the ring empty behind this looks whether the call is paused, too. */
    tell(&shared->receiver, NULL);
}

static void on_writable(struct lull_call *call, void *ctx)
{
    struct lull_sync_stream_shared *shared = ctx;
    (void)call;
    tell(&shared->sender, NULL);
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers,
                      void *ctx)
{
    struct lull_sync_stream_shared *shared = ctx;
    bool is_first;
    if (set_end(shared, END_TOLD, &is_first)) {
        const struct lull_metadata headers = metadata_list_view(&call->arena->headers);
        sync_result_keep(&shared->ended, status, &headers, trailers, lull_slice_static(NULL, 0));
    }
    tell(&shared->sender, IS_OVER);
    tell(&shared->receiver, IS_OVER);
    let_go(shared);
}

/* ---- its life */

int lull_sync_stream_open(struct lull_channel *channel, const struct lull_call_options *options,
                          struct lull_sync_stream *stream, struct lull_error *error)
{
    struct sync_wait wait;
    struct lull_call_handler handler;
    if (channel == NULL || stream == NULL) {
        return rc_fail(error, LULL_RC_INVALID, "%s is NULL", channel == NULL ? "channel" : "stream");
    }
    int rc = sync_wait_init(&wait, channel, error);
    if (rc != LULL_OK) {
        return rc;
    }
    struct lull_sync_stream_shared *shared = make_shared(channel->allocator);
    if (shared == NULL) {
        sync_wait_fini(&wait);
        return rc_fail(error, LULL_RC_NOMEM, "no memory for a stream");
    }
    *stream = (struct lull_sync_stream){.channel = channel, .shared = shared};
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    sync_wait_ask(&wait);
    rc = lull_call_start(channel, options, &handler, shared, &stream->call, error);
    if (rc == LULL_OK) {
        lull_channel_ref(channel);
        sync_wait_calls_back(&wait, &stream->call->work_task);
        sync_wait_flush(&wait);
    } else {
        free_shared(shared);
        sync_wait_stay(&wait);
    }
    sync_wait_fini(&wait);
    return rc;
}

/*
 * The handle is the stream's, and lull_sync_stream_finish gives it back whatever another thread is about to do with it. So a cancel says
 * that it is at work, and finish waits for that. Sequentially consistent, "I am at work, then I look" against "I take it away, then I look
 * who is at work": not both can miss.
 */
void lull_sync_stream_cancel(struct lull_sync_stream *stream)
{
    (void)__atomic_fetch_add(&stream->cancelling, 1, __ATOMIC_SEQ_CST);
    lull_call_cancel(__atomic_load_n(&stream->call, __ATOMIC_SEQ_CST));
    /* The stream may be gone behind this. */
    (void)__atomic_fetch_sub(&stream->cancelling, 1, __ATOMIC_SEQ_CST);
}

/* A cancel waits for nobody, but its thread may be put aside in the middle: sleeping lets it run whatever its priority is. */
static struct lull_call *take_call(struct lull_sync_stream *stream)
{
    struct wait_cell nobodys;
    struct lull_call *call = __atomic_exchange_n(&stream->call, NULL, __ATOMIC_SEQ_CST);
    wait_cell_init(&nobodys);
    while (__atomic_load_n(&stream->cancelling, __ATOMIC_SEQ_CST) != 0) {
        (void)wait_cell_wait(&nobodys, 0, CANCEL_LOOK_NS);
    }
    wait_cell_fini(&nobodys);
    return call;
}

/* ---- waiting */

/* The time is over, and nobody drove. False: the call's own end came first, and is being told to all who wait. */
static bool end_late(struct lull_sync_stream *stream)
{
    bool is_first;
    if (!set_end(stream->shared, END_LATE, &is_first)) {
        return false;
    }
    if (is_first) {
        sync_late_keep(&stream->shared->ended, stream->call);
    }
    return true;
}

/* It is in the word and has asked for what it waits for. */
static int wait_in(struct lull_sync_stream *stream, _Atomic(void *) *word, struct sync_wait *wait)
{
    sync_wait_go(wait);
    const enum sync_wait_end end = sync_wait_run(wait, sync_late_at(stream->call));
    if (end == SYNC_WAIT_TOLD) {
        return LULL_OK;
    }
    if ((end == SYNC_WAIT_LATE && !end_late(stream)) || !take_back(word, wait)) {
        sync_wait_until_told(wait);
        return LULL_OK;
    }
    sync_wait_give_up(wait);
    return end == SYNC_WAIT_LATE ? LULL_RC_CLOSED : LULL_RC_SYSTEM;
}

/* It need not wait after all. */
static void stay(_Atomic(void *) *word, struct sync_wait *wait, bool is_news)
{
    const bool is_told = !take_back(word, wait);
    if (is_news) {
        sync_wait_flush(wait);
    } else {
        sync_wait_stay(wait);
    }
    if (is_told) {
        sync_wait_until_told(wait);
    }
}

/* One try and, if there is no room, one wait: LULL_RC_AGAIN, then it is to be tried again. */
static int try_to_send(struct lull_sync_stream *stream, struct sync_wait *wait, struct lull_slice message)
{
    _Atomic(void *) *sender = &stream->shared->sender;
    sync_wait_ask(wait);
    if (!put(sender, wait)) {
        const bool ended = atomic_load(sender) == IS_OVER;
        sync_wait_stay(wait);
        return ended ? LULL_RC_CLOSED : LULL_RC_STATE;
    }
    const int rc = lull_call_send(stream->call, message);
    if (rc != LULL_RC_AGAIN) {
        stay(sender, wait, rc == LULL_OK);
        return rc;
    }
    const int waited = wait_in(stream, sender, wait);
    return waited == LULL_OK ? LULL_RC_AGAIN : waited;
}

int lull_sync_stream_send(struct lull_sync_stream *stream, struct lull_slice message)
{
    struct sync_wait wait;
    int rc;
    do {
        rc = sync_wait_init(&wait, stream->channel, NULL);
        if (rc == LULL_OK) {
            rc = is_late(stream->shared) ? LULL_RC_CLOSED : try_to_send(stream, &wait, message);
            sync_wait_fini(&wait);
        }
    } while (rc == LULL_RC_AGAIN);
    return rc;
}

int lull_sync_stream_half_close(struct lull_sync_stream *stream)
{
    struct sync_wait wait;
    int rc = sync_wait_init(&wait, stream->channel, NULL);
    if (rc != LULL_OK) {
        return rc;
    }
    if (is_late(stream->shared)) {
        rc = LULL_RC_CLOSED;
    } else {
        sync_wait_ask(&wait);
        rc = lull_call_half_close(stream->call);
        sync_wait_flush(&wait);
    }
    sync_wait_fini(&wait);
    return rc;
}

/* One look and, if there is nothing, one wait: LULL_RC_AGAIN, then it is to be tried again. */
static int try_to_receive(struct lull_sync_stream *stream, struct sync_wait *wait, struct lull_slice *out)
{
    struct lull_sync_stream_shared *shared = stream->shared;
    sync_wait_ask(wait);
    if (!put(&shared->receiver, wait)) {
        const bool ended = is_over(shared);
        sync_wait_stay(wait);
        if (!ended) {
            return LULL_RC_STATE;
        }
        return pop(shared, out) ? LULL_OK : LULL_RC_CLOSED;
    }
    if (held(shared) != 0) {
        stay(&shared->receiver, wait, false);
        return LULL_RC_AGAIN;
    }
    if (atomic_exchange(&shared->is_paused, false)) {
        lull_call_resume(stream->call);
    }
    const int waited = wait_in(stream, &shared->receiver, wait);
    return waited == LULL_OK ? LULL_RC_AGAIN : waited;
}

static int receive(struct lull_sync_stream *stream, struct sync_wait *wait, struct lull_slice *out)
{
    /* Behind an end of the caller's own messages may still come: there were no more, so there are none. */
    if (stream->is_told_closed) {
        return LULL_RC_CLOSED;
    }
    return pop(stream->shared, out) ? LULL_OK : try_to_receive(stream, wait, out);
}

int lull_sync_stream_recv(struct lull_sync_stream *stream, struct lull_slice *out)
{
    struct sync_wait wait;
    int rc;
    do {
        rc = sync_wait_init(&wait, stream->channel, NULL);
        if (rc == LULL_OK) {
            rc = receive(stream, &wait, out);
            sync_wait_fini(&wait);
        }
    } while (rc == LULL_RC_AGAIN);
    if (rc == LULL_RC_CLOSED) {
        stream->is_told_closed = true;
    }
    return rc;
}

/* ---- the end */

/* The loop cannot be run: the call is ended without it. */
static void end_without_loop(struct lull_sync_stream *stream)
{
    struct sync_wait wait;
    lull_call_cancel(stream->call);
    while (!is_over(stream->shared) && sync_wait_init(&wait, stream->channel, NULL) == LULL_OK) {
        sync_wait_turn(&wait);
        sync_wait_fini(&wait);
    }
}

static void hand_over(struct lull_sync_stream *stream, struct lull_sync_result *result)
{
    struct lull_sync_stream_shared *shared = stream->shared;
    if (!is_over(shared)) {
        /* Nobody takes its messages any more, and it would wait for that. */
        lull_call_cancel(stream->call);
    }
    if (result != NULL) {
        lull_sync_result_fini(result);
        *result = shared->ended;
    } else {
        lull_sync_result_fini(&shared->ended);
    }
    let_go(shared);
    lull_call_unref(take_call(stream));
    lull_channel_unref(stream->channel);
}

int lull_sync_stream_finish(struct lull_sync_stream *stream, struct lull_sync_result *result)
{
    struct lull_slice message;
    int rc = result != NULL && result->size != sizeof(*result) ? LULL_RC_INVALID : LULL_OK;
    if (rc != LULL_OK) {
        return rc;
    }
    rc = lull_sync_stream_half_close(stream);
    if (rc == LULL_RC_IN_TURN || rc == LULL_RC_UNSUPPORTED) {
        return rc;
    }
    while ((rc = lull_sync_stream_recv(stream, &message)) == LULL_OK) {
        lull_slice_unref(message);
    }
    if (rc != LULL_RC_CLOSED) {
        end_without_loop(stream);
    }
    hand_over(stream, result);
    return rc == LULL_RC_CLOSED ? LULL_OK : rc;
}
