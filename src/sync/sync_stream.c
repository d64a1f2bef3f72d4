/* SPDX-License-Identifier: MIT */
/*
 * Streams that block (lull/sync.h).
 *
 * Decides: what a blocking stream is made of: an ordinary call whose callbacks leave messages in a ring and tell who waits. Called by
 * applications. Must not know how one waits.
 *
 * The callbacks come on whichever thread drives. One of them puts into the ring and one thread takes out, so two counts are enough. Who
 * waits stands in one of two words, for the callbacks to take; the end leaves its mark there, which is the last that is touched of the
 * stream. A thread waits in three steps: it puts itself into the word, it looks again, it sleeps.
 */
#include <string.h>

#include "base/rc.h"
#include "channel/call.h"
#include "lull/sync.h"
#include "sync/sync_result.h"
#include "sync/sync_wait.h"

/* A message of so many bytes is held alone. */
#define BIG_BYTES ((size_t)64 * 1024)

/* What stands for a waiter when the call is over. */
static char over;

#define IS_OVER ((void *)&over)

/* ---- words that threads share */

static bool is_over(struct lull_sync_stream *stream)
{
    return __atomic_load_n(&stream->receiver, __ATOMIC_SEQ_CST) == IS_OVER;
}

static bool put(void **word, struct sync_wait *wait)
{
    void *nobody = NULL;
    return __atomic_compare_exchange_n(word, &nobody, wait, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* False: somebody is about to tell, or has told, who waits there. */
static bool take_back(void **word, struct sync_wait *wait)
{
    void *expected = wait;
    return __atomic_compare_exchange_n(word, &expected, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void tell(void **word, void *next)
{
    struct sync_wait *wait = __atomic_exchange_n(word, next, __ATOMIC_SEQ_CST);
    if (wait != NULL) {
        sync_wait_tell(wait);
    }
}

/* ---- the ring */

static unsigned held(const struct lull_sync_stream *stream)
{
    return __atomic_load_n(&stream->come, __ATOMIC_SEQ_CST) - __atomic_load_n(&stream->taken, __ATOMIC_SEQ_CST);
}

static bool pop(struct lull_sync_stream *stream, struct lull_slice *out)
{
    if (held(stream) == 0) {
        return false;
    }
    *out = stream->messages[stream->taken % LULL_SYNC_STREAM_HELD];
    __atomic_store_n(&stream->taken, stream->taken + 1, __ATOMIC_SEQ_CST);
    return true;
}

/* ---- callbacks */

static void on_message(struct lull_call *call, struct lull_slice message, void *ctx)
{
    struct lull_sync_stream *stream = ctx;
    stream->messages[stream->come % LULL_SYNC_STREAM_HELD] = lull_slice_ref(message);
    __atomic_store_n(&stream->come, stream->come + 1, __ATOMIC_SEQ_CST);
    if (held(stream) == LULL_SYNC_STREAM_HELD || message.len >= BIG_BYTES) {
        lull_call_pause(call);
        __atomic_store_n(&stream->is_paused, 1, __ATOMIC_SEQ_CST);
    }
    /* Who finds the ring empty behind this looks whether the call is paused, too. */
    tell(&stream->receiver, NULL);
}

static void on_writable(struct lull_call *call, void *ctx)
{
    struct lull_sync_stream *stream = ctx;
    (void)call;
    tell(&stream->sender, NULL);
}

static void on_closed(struct lull_call *call, const struct lull_status *status, const struct lull_metadata *trailers,
                      void *ctx)
{
    struct lull_sync_stream *stream = ctx;
    const struct lull_metadata headers = metadata_list_view(&call->arena->headers);
    sync_result_keep(&stream->ended, status, &headers, trailers, lull_slice_static(NULL, 0));
    tell(&stream->sender, IS_OVER);
    tell(&stream->receiver, IS_OVER);
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
    memset(stream, 0, sizeof(*stream));
    stream->channel = channel;
    lull_sync_result_init(&stream->ended);
    lull_call_handler_init(&handler);
    handler.on_message = on_message;
    handler.on_writable = on_writable;
    handler.on_closed = on_closed;
    sync_wait_ask(&wait);
    rc = lull_call_start(channel, options, &handler, stream, &stream->call, error);
    if (rc == LULL_OK) {
        lull_channel_ref(channel);
        sync_wait_flush(&wait);
    } else {
        sync_wait_stay(&wait);
    }
    sync_wait_fini(&wait);
    return rc;
}

void lull_sync_stream_cancel(struct lull_sync_stream *stream)
{
    lull_call_cancel(stream->call);
}

/* ---- waiting */

/* It is in the word and has asked for what it waits for. */
static int wait_in(void **word, struct sync_wait *wait)
{
    sync_wait_go(wait);
    if (sync_wait_run(wait, lull_at(LULL_NEVER)) == SYNC_WAIT_TOLD) {
        return LULL_OK;
    }
    (void)take_back(word, wait);
    sync_wait_give_up(wait);
    return LULL_RC_SYSTEM;
}

/* It need not wait after all. */
static void stay(void **word, struct sync_wait *wait, bool is_news)
{
    const bool is_told = !take_back(word, wait);
    if (is_news) {
        sync_wait_flush(wait);
    } else {
        sync_wait_stay(wait);
    }
    if (is_told) {
        (void)sync_wait_run(wait, lull_at(LULL_NEVER));
    }
}

/* One try and, if there is no room, one wait: LULL_RC_AGAIN, then it is to be tried again. */
static int try_to_send(struct lull_sync_stream *stream, struct sync_wait *wait, struct lull_slice message)
{
    sync_wait_ask(wait);
    if (!put(&stream->sender, wait)) {
        const bool ended = __atomic_load_n(&stream->sender, __ATOMIC_SEQ_CST) == IS_OVER;
        sync_wait_stay(wait);
        return ended ? LULL_RC_CLOSED : LULL_RC_STATE;
    }
    const int rc = lull_call_send(stream->call, message);
    if (rc != LULL_RC_AGAIN) {
        stay(&stream->sender, wait, rc == LULL_OK);
        return rc;
    }
    const int waited = wait_in(&stream->sender, wait);
    return waited == LULL_OK ? LULL_RC_AGAIN : waited;
}

int lull_sync_stream_send(struct lull_sync_stream *stream, struct lull_slice message)
{
    struct sync_wait wait;
    int rc;
    do {
        rc = sync_wait_init(&wait, stream->channel, NULL);
        if (rc == LULL_OK) {
            rc = try_to_send(stream, &wait, message);
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
    sync_wait_ask(&wait);
    rc = lull_call_half_close(stream->call);
    sync_wait_flush(&wait);
    sync_wait_fini(&wait);
    return rc;
}

/* One look and, if there is nothing, one wait: LULL_RC_AGAIN, then it is to be tried again. */
static int try_to_receive(struct lull_sync_stream *stream, struct sync_wait *wait, struct lull_slice *out)
{
    sync_wait_ask(wait);
    if (!put(&stream->receiver, wait)) {
        const bool ended = is_over(stream);
        sync_wait_stay(wait);
        if (!ended) {
            return LULL_RC_STATE;
        }
        return pop(stream, out) ? LULL_OK : LULL_RC_CLOSED;
    }
    if (held(stream) != 0) {
        stay(&stream->receiver, wait, false);
        return LULL_RC_AGAIN;
    }
    if (__atomic_exchange_n(&stream->is_paused, 0, __ATOMIC_SEQ_CST) != 0) {
        lull_call_resume(stream->call);
    }
    const int waited = wait_in(&stream->receiver, wait);
    return waited == LULL_OK ? LULL_RC_AGAIN : waited;
}

int lull_sync_stream_recv(struct lull_sync_stream *stream, struct lull_slice *out)
{
    struct sync_wait wait;
    int rc;
    do {
        rc = sync_wait_init(&wait, stream->channel, NULL);
        if (rc == LULL_OK) {
            rc = pop(stream, out) ? LULL_OK : try_to_receive(stream, &wait, out);
            sync_wait_fini(&wait);
        }
    } while (rc == LULL_RC_AGAIN);
    return rc;
}

/* ---- the end */

/* The loop cannot be run: the call is ended without it. */
static void end_without_loop(struct lull_sync_stream *stream)
{
    struct sync_wait wait;
    lull_call_cancel(stream->call);
    while (!is_over(stream) && sync_wait_init(&wait, stream->channel, NULL) == LULL_OK) {
        sync_wait_turn(&wait);
        sync_wait_fini(&wait);
    }
}

static void hand_over(struct lull_sync_stream *stream, struct lull_sync_result *result)
{
    struct lull_slice message;
    while (pop(stream, &message)) {
        lull_slice_unref(message);
    }
    if (result != NULL) {
        lull_sync_result_fini(result);
        *result = stream->ended;
    } else {
        lull_sync_result_fini(&stream->ended);
    }
    lull_call_unref(stream->call);
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
