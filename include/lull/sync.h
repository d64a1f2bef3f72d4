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
 * Nobody drives between two calls: what the server sends meanwhile, pings included, is answered at the next one.
 *
 * A blocking call waits for real time: a fake clock under it never moves, so its deadline never comes (a test that needs one drives
 * lull_call_unary instead: examples/fake_channel_test.c).
 */
#ifndef LULL_SYNC_H
#define LULL_SYNC_H

#include <lull/call.h>
#include <lull/channel.h>
#include <lull/metadata.h>
#include <lull/rc.h>
#include <lull/status.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a blocking call ended. All that it points to is its own, until lull_sync_result_fini. Since 0.3. */
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
 * Makes a unary call and waits for its end. Its deadline bounds the wait; without one (LULL_NEVER) it waits as long as it takes.
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

#ifdef __cplusplus
}
#endif

#endif
