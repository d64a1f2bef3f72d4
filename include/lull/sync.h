/* SPDX-License-Identifier: MIT */
/**
 * @file sync.h
 * Calls that block. They keep their state on the caller's stack and need no thread but the caller's: who waits for an answer drives the
 * channel's loop meanwhile, unless another thread does.
 *
 * Any thread, any number of them at once, on one channel; also while a thread runs lull_loop_run. The callbacks of other calls and
 * watches on the loop come on whichever thread drives, so they may come on one that blocks here. In a callback nothing may block:
 * LULL_RC_IN_TURN.
 *
 * A channel that was made without a loop has one of its own, which is all that blocking calls need. On a host's loop a thread that is not
 * the host's waits for the host; the host's own can only block if the loop has run_once, else: LULL_RC_UNSUPPORTED.
 *
 * Nobody drives between two calls: what the server sends meanwhile, pings included, is answered at the next one, or by the thread of
 * lull_loop_start.
 *
 * A blocking call waits for real time: a fake clock under it never moves, so its deadline never comes (a test that needs one drives
 * lull_call_unary instead: examples/fake_channel_test.c).
 */
#ifndef LULL_SYNC_H
#define LULL_SYNC_H

#include <stdbool.h>

#include <lull/call.h>
#include <lull/channel.h>
#include <lull/metadata.h>
#include <lull/rc.h>
#include <lull/status.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a blocking call ended; does not grow within a soname. All that it points to is its own, until lull_sync_result_fini. Since 0.3. */
struct lull_sync_result {
    size_t size;
    struct lull_status status;
    struct lull_metadata headers;  /**< initial metadata, as far as it came */
    struct lull_metadata trailers; /**< trailing metadata, as far as it came */
    struct lull_slice message;     /**< of a unary call: the response; empty unless status.code is OK */
    void *memory;                  /**< private */
};

/** Makes an empty result of raw memory: OK without anything. Since 0.3. */
static inline void lull_sync_result_init(struct lull_sync_result *result)
{
    result->size = sizeof(*result);
    result->status.code = LULL_CODE_OK;
    result->status.message = "";
    result->status.message_len = 0;
    result->status.failure = NULL;
    result->headers.items = NULL;
    result->headers.count = 0;
    result->trailers = result->headers;
    result->message = lull_slice_static(NULL, 0);
    result->memory = NULL;
}

/** Gives back what a result owns and leaves an empty one. NULL and an empty one are harmless. Any thread. Since 0.3. */
LULL_API void lull_sync_result_fini(struct lull_sync_result *result);

/**
 * Makes a unary call and waits for its end. Its deadline bounds the wait; without one (LULL_NEVER) it waits as long as it takes. The
 * deadline is kept by whoever drives. If that is another thread and it does not (it is inside a callback that does not return, or it is a
 * host's and elsewhere), the caller is back 100 ms behind the deadline by itself: DEADLINE_EXCEEDED, and `failure->line` says that nobody
 * drove, whether that thread is in a callback, and where the call was. Callbacks that this thread runs meanwhile, when it drives, take their own time.
 * @param channel [borrow]
 * @param options [borrow]
 * @param request [borrow] the request message, unframed
 * @param result [own] of lull_sync_result_init, or that of a call before: what it holds is given back when the new end is put in, and all that was
 *   borrowed from it is gone; left alone unless LULL_OK is returned, but emptied by LULL_RC_SYSTEM
 * @param error [nullable] receives what was wrong
 * @return LULL_OK: the call is over, see result->status. Else it was not made: as lull_call_unary, LULL_RC_IN_TURN (in a callback),
 *   LULL_RC_UNSUPPORTED (nobody can drive; a forked child's copy of a channel), LULL_RC_SYSTEM (the loop could not be opened; the
 *   call was cancelled). Any thread. Since 0.3.
 */
LULL_API int lull_sync_unary(struct lull_channel *channel, const struct lull_call_options *options,
                             struct lull_slice request, struct lull_sync_result *result,
                             struct lull_error *error);

/** Messages that a stream holds for lull_sync_stream_recv before the server has to wait. Since 0.3. */
#define LULL_SYNC_STREAM_HELD 8

/**
 * A stream that blocks, in the caller's memory: lull_sync_stream_open → (send)* half_close, (recv)* → finish. It needs no _init, stays where
 * it is from open to finish, and all in it is private. Layout not stable before 1.0. Since 0.3.
 *
 * One thread may send and one receive at the same time; a third may cancel. One thread that does both is to know that the server may
 * wait for it to receive while it waits for the server to take more: a deadline ends that, two threads never get there.
 */
struct lull_sync_stream {
    struct lull_channel *channel;
    struct lull_call *call;
    struct lull_sync_stream_shared *shared; /* with whoever drives */
    bool is_told_closed;                    /* the thread that receives */
    unsigned cancelling;                    /* atomic */
};

/**
 * Starts a stream of any of the three kinds. The deadline of its options bounds every wait below, as it does that of lull_sync_unary: if
 * another thread drives and does not, the stream ends by itself 100 ms behind the deadline. What had come is still received, sends and receives
 * return LULL_RC_CLOSED, and lull_sync_stream_finish tells DEADLINE_EXCEEDED, though an answer should come behind that. One allocation a stream.
 * @param channel [ref] kept alive until lull_sync_stream_finish
 * @param options [borrow] copied
 * @param stream [borrow] raw memory; until lull_sync_stream_finish, which has to follow LULL_OK, it must not move
 * @param error [nullable] receives what was wrong
 * @return LULL_OK; else there is no stream: as lull_call_start, LULL_RC_IN_TURN (in a callback), LULL_RC_UNSUPPORTED (nobody can drive; a
 *   forked child's copy of a channel). Any thread. Since 0.3.
 */
LULL_API int lull_sync_stream_open(struct lull_channel *channel, const struct lull_call_options *options,
                                   struct lull_sync_stream *stream, struct lull_error *error);

/**
 * Sends a message; waits while LULL_CALL_QUEUE_BYTES are queued.
 * @param message [ref] unframed
 * @return LULL_OK: it is queued, and on the wire as far as the socket and the server's windows take it. Else it was not taken:
 *   LULL_RC_CLOSED (the call is over: lull_sync_stream_finish tells how), LULL_RC_STATE (after lull_sync_stream_half_close; another
 *   thread sends), LULL_RC_LIMIT (above max_send_message_bytes), LULL_RC_INVALID (no data and a len), LULL_RC_NOMEM, LULL_RC_IN_TURN,
 *   LULL_RC_UNSUPPORTED, LULL_RC_SYSTEM (the loop could not be opened or polled). One thread at a time. Since 0.3.
 */
LULL_API int lull_sync_stream_send(struct lull_sync_stream *stream, struct lull_slice message);

/** Says that no more messages will be sent. @return as lull_call_half_close, LULL_RC_IN_TURN, LULL_RC_UNSUPPORTED. The thread that
 * sends. Since 0.3. */
LULL_API int lull_sync_stream_half_close(struct lull_sync_stream *stream);

/**
 * Waits for the next message.
 * @param out [own] receives it, on LULL_OK alone; lull_slice_unref gives it back
 * @return LULL_OK; LULL_RC_CLOSED: there will be no more, lull_sync_stream_finish tells why; LULL_RC_STATE (another thread receives),
 *   LULL_RC_IN_TURN, LULL_RC_UNSUPPORTED, LULL_RC_SYSTEM as above. One thread at a time. Since 0.3.
 */
LULL_API int lull_sync_stream_recv(struct lull_sync_stream *stream, struct lull_slice *out);

/** Ends the call with CANCELLED, which ends every wait; lull_sync_stream_finish follows all the same. Any thread, callbacks included, from
 * lull_sync_stream_open for as long as the memory is there: beside lull_sync_stream_finish too, and behind it nothing happens. Since 0.3. */
LULL_API void lull_sync_stream_cancel(struct lull_sync_stream *stream);

/**
 * Half-closes if that was not done, drops the messages that still come, waits for the end and tells how it was; who does not want to
 * wait cancels first. The stream is over then. Sends and receives have returned.
 * @param result [own, nullable] of lull_sync_result_init, or that of a call before, which is given back; its message is empty
 * @return LULL_OK; LULL_RC_SYSTEM: the loop could not be polled, so the call was cancelled unless it had ended, and the result says so. Else nothing was
 *   done: LULL_RC_INVALID (size of the result), LULL_RC_IN_TURN, LULL_RC_UNSUPPORTED in a forked child. Since 0.3.
 */
LULL_API int lull_sync_stream_finish(struct lull_sync_stream *stream, struct lull_sync_result *result);

#ifdef __cplusplus
}
#endif

#endif
