/* SPDX-License-Identifier: MIT */
/**
 * @file call.h
 * One RPC on a channel. Messages are bytes; bring your own protobuf. This version makes unary calls.
 *
 * Life: lull_call_unary → (cancel)* → exactly one `done`, always from a task of a later turn, never inline.
 */
#ifndef LULL_CALL_H
#define LULL_CALL_H

#include <lull/metadata.h>
#include <lull/rc.h>
#include <lull/status.h>
#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_call;
struct lull_channel;

/** Options of a call. Fill with lull_call_options_init. Since 0.1. */
struct lull_call_options {
    size_t size;
    const char *method;             /**< [borrow] "/package.Service/Method" */
    struct lull_metadata metadata;  /**< [borrow] copied */
    int64_t timeout_ns;             /**< from now; LULL_NEVER: none (default); 0 or less: expired already */
    struct lull_instant deadline_at; /**< on the loop's clock; LULL_NEVER: none (default); the earlier of the two counts */
    bool wait_for_ready;            /**< do not fail while the channel is in TRANSIENT_FAILURE */
    uint32_t max_recv_message_bytes; /**< 0: the channel's (default) */
};

/** Fills in the defaults and the method [borrow]. Since 0.1. */
static inline void lull_call_options_init(struct lull_call_options *options, const char *method)
{
    options->size = sizeof(*options);
    options->method = method;
    options->metadata.items = NULL;
    options->metadata.count = 0;
    options->timeout_ns = LULL_NEVER;
    options->deadline_at = lull_at(LULL_NEVER);
    options->wait_for_ready = false;
    options->max_recv_message_bytes = 0;
}

/** How a unary call ended. Everything in it is borrowed for the callback; lull_slice_ref keeps the message. Since 0.1. */
struct lull_unary_result {
    size_t size;                   /**< sizeof(struct lull_unary_result) of the library */
    struct lull_status status;
    struct lull_metadata headers;  /**< initial metadata, as far as it came */
    struct lull_metadata trailers; /**< trailing metadata, as far as it came */
    struct lull_slice message;     /**< the response; empty unless status.code is OK */
};

/** Called once when the call is over. May call any lull_ function but the four that drive. Since 0.1. */
typedef void (*lull_unary_fn)(struct lull_call *call, const struct lull_unary_result *result, void *ctx);

/**
 * Starts a unary call.
 * @param channel [ref] kept alive until the call is over
 * @param options [borrow] copied
 * @param request [ref] the request message, unframed
 * @param done what to call when it is over
 * @param ctx [borrow] handed to done
 * @param out [nullable] receives a reference of the caller's own; NULL: the library's is enough
 * @param error [nullable] receives what was wrong with the arguments
 * @return LULL_OK: done will come, exactly once. Else it will not: LULL_RC_INVALID (method, metadata, options), LULL_RC_CLOSED,
 *   LULL_RC_NOMEM, LULL_RC_LIMIT (message too large, queue full). Driving thread, callbacks included. Since 0.1.
 */
LULL_API int lull_call_unary(struct lull_channel *channel, const struct lull_call_options *options,
                             struct lull_slice request, lull_unary_fn done, void *ctx, struct lull_call **out,
                             struct lull_error *error);

/** Ends the call with CANCELLED; done follows. After the end, and the second time, nothing happens. Driving thread, callbacks included. Since 0.1. */
LULL_API void lull_call_cancel(struct lull_call *call);

/** Takes a reference. NULL is harmless. Driving thread. Since 0.1. */
LULL_API void lull_call_ref(struct lull_call *call);

/** Gives a reference back; a call goes on without any. NULL is harmless. Driving thread. Since 0.1. */
LULL_API void lull_call_unref(struct lull_call *call);

/** The number of this call on its channel, from 1. Since 0.1. */
LULL_API uint64_t lull_call_id(const struct lull_call *call);

/** The address of the peer that has the call, "" before it has one [borrow]. Since 0.1. */
LULL_API const char *lull_call_peer(const struct lull_call *call);

#ifdef __cplusplus
}
#endif

#endif
