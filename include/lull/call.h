/* SPDX-License-Identifier: MIT */
/**
 * @file call.h
 * One RPC on a channel. Messages are bytes; bring your own protobuf.
 *
 * A unary call: lull_call_unary → (cancel)* → exactly one `done`.
 * A stream, of any of the three kinds: lull_call_start → exactly one `on_closed`, last. Between them goes out (send)* (half_close),
 * and comes in (on_headers) (on_message)*, independent of each other: answers may come before half_close, and an end too.
 *
 * Threads: everything here may be called on any thread, but for lull_call_peer. What one thread asks of a call happens in the order in
 * which it asked. A thread that finds another one in a turn, or that does not drive a host's loop, hands over through the inbox and
 * never waits: what it asked for happens in the next turn, a start then asks the allocator for memory, and a message handed over
 * so to a call that is just ending is dropped with LULL_OK, as one that is queued at the end is. A thread needs a reference of its own to
 * a call that another thread may see the end of.
 *
 * Callbacks come from a task of a turn, never inline, and may call any lull_ function but what drives (loop.h): also the ones that end
 * the call, its channel, or their own handle.
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

/** Options of a call. Fill with lull_call_options_init. In a struct of another release, from 0.3, what is missing has its default, and what
 * this one does not know has to be zero. Since 0.1. */
struct lull_call_options {
    size_t size;
    const char *method;             /**< [borrow] "/package.Service/Method" */
    struct lull_metadata metadata;  /**< [borrow] copied */
    int64_t timeout_ns;             /**< from the start of the call; LULL_NEVER: none (default). 0 is not "none": 0 or less has
                                         expired already, and the call ends DEADLINE_EXCEEDED without a byte sent */
    struct lull_instant deadline_at; /**< on the loop's clock; LULL_NEVER: none (default); 0 is not "none", but that
                                         clock's origin; the earlier of the two counts */
    bool wait_for_ready;            /**< do not fail while the channel is in TRANSIENT_FAILURE */
    uint32_t max_recv_message_bytes; /**< 0: the channel's (default) */
    int64_t read_timeout_ns;        /**< the longest silence of the server; 0: the channel's (default); LULL_NEVER: none. See
                                         lull_call_start. Since 0.2 */
};

/** Fills in the defaults and the method [borrow], which may be NULL and be set later. Any thread; options may not be NULL. Since 0.1. */
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
    options->read_timeout_ns = 0;
}

/** How a unary call ended. Everything in it is borrowed for the callback; lull_slice_ref keeps the message. Since 0.1. */
struct lull_unary_result {
    size_t size;                   /**< sizeof(struct lull_unary_result) of the library */
    struct lull_status status;
    struct lull_metadata headers;  /**< initial metadata, as far as it came */
    struct lull_metadata trailers; /**< trailing metadata, as far as it came */
    struct lull_slice message;     /**< the response; empty unless status.code is OK */
};

/** Called once when the call is over. May call any lull_ function but what drives (loop.h). Since 0.1. */
typedef void (*lull_unary_fn)(struct lull_call *call, const struct lull_unary_result *result, void *ctx);

/**
 * Starts a unary call.
 * @param channel [ref] kept alive until the call is over
 * @param options [borrow] copied
 * @param request [ref] the request message, unframed; bytes without a slab must stay as they are until done
 * @param done what to call when it is over
 * @param ctx [borrow] handed to done
 * @param out [nullable] receives a reference of the caller's own; NULL: the library's is enough
 * @param error [nullable] receives what was wrong with the arguments
 * @return LULL_OK: done will come, exactly once, when on_closed would
 *   (lull_call_start). Else it will not: LULL_RC_INVALID (method, metadata, options, request), LULL_RC_CLOSED,
 *   LULL_RC_NOMEM, LULL_RC_LIMIT (message too large, metadata beyond the 64 KiB of a header block, queue full). Any thread,
 *   callbacks included. Since 0.1.
 */
LULL_API int lull_call_unary(struct lull_channel *channel, const struct lull_call_options *options,
                             struct lull_slice request, lull_unary_fn done, void *ctx, struct lull_call **out,
                             struct lull_error *error);

/**
 * Who is told of a call. Fill with lull_call_handler_init; one of another release is taken as options are. One that is NULL is not told: headers, messages and room in the queue
 * then pass by unseen, on_closed is needed. Since 0.2.
 */
struct lull_call_handler {
    size_t size;
    /** [nullable] Initial metadata came [borrow]; before the first message, at most once, not at all when the response is only
     *  trailers or no gRPC. */
    void (*on_headers)(struct lull_call *call, const struct lull_metadata *headers, void *ctx);
    /** [nullable] The next message [borrow]; lull_slice_ref keeps it. */
    void (*on_message)(struct lull_call *call, struct lull_slice message, void *ctx);
    /** [nullable] After a LULL_RC_AGAIN: less than half of what may be queued is, or the server has ended a call that is paused
     *  and holds messages. Not after half_close. */
    void (*on_writable)(struct lull_call *call, void *ctx);
    /** The end [borrow], exactly once, last. `trailers` are the trailing metadata, as far as they came. */
    void (*on_closed)(struct lull_call *call, const struct lull_status *status,
                      const struct lull_metadata *trailers, void *ctx);
};

/** Fills in the size; everything else is NULL. Since 0.2. */
static inline void lull_call_handler_init(struct lull_call_handler *handler)
{
    handler->size = sizeof(*handler);
    handler->on_headers = NULL;
    handler->on_message = NULL;
    handler->on_writable = NULL;
    handler->on_closed = NULL;
}

/**
 * Bytes that may be queued of a call's outgoing messages, 5 for each message's prefix included, before lull_call_send says
 * LULL_RC_AGAIN. What the socket has not taken yet is not counted. Since 0.2.
 */
#define LULL_CALL_QUEUE_BYTES ((size_t)64 * 1024)

/**
 * Starts a call whose messages come and go one by one.
 *
 * Its deadline covers everything from here to on_closed. Its read timeout covers the server's silence: it runs from the moment
 * the request is out (half-closed before it left: its last byte; else its HEADERS), and starts again with every HEADERS and
 * DATA frame of this call and with lull_call_resume; while the call is paused it cannot end it. Either ends the call with
 * LULL_CODE_DEADLINE_EXCEEDED.
 *
 * A call that the server cannot have seen goes elsewhere, unseen by the application: with the messages sent so far, as long as
 * nothing was received and, once it has left, these are not more than 256 KiB (gRFC A6).
 * @param channel [ref] kept alive until the call is over
 * @param options [borrow] copied
 * @param handler [borrow] copied; on_closed is needed
 * @param ctx [borrow] handed to its functions
 * @param out [nullable] receives a reference of the caller's own; NULL: the library's is enough
 * @param error [nullable] receives what was wrong with the arguments
 * @return LULL_OK: on_closed will come, exactly once, in a turn of the channel's loop. If nobody drives that it waits until somebody does:
 *   at the latest until the loop is freed, or, if the loop is the channel's own (lull_channel_loop), until the channel is closed.
 *   Else nothing will: LULL_RC_INVALID (method, metadata, options, handler), LULL_RC_CLOSED, LULL_RC_NOMEM, LULL_RC_LIMIT
 *   (metadata beyond the 64 KiB of a header block, queue full). Any thread, callbacks included. Since 0.2.
 */
LULL_API int lull_call_start(struct lull_channel *channel, const struct lull_call_options *options,
                             const struct lull_call_handler *handler, void *ctx, struct lull_call **out,
                             struct lull_error *error);

/**
 * Sends a message. Before the call has a stream the message waits in the call and leaves with the HEADERS; all messages of one
 * turn leave in one write.
 * @param message [ref] unframed; bytes without a slab must stay as they are until on_closed
 * @return LULL_OK: it is queued. Else it was not taken: LULL_RC_AGAIN (LULL_CALL_QUEUE_BYTES are queued; on_writable follows),
 *   LULL_RC_STATE (after lull_call_half_close, and on a unary call), LULL_RC_CLOSED (the call is over, or the server has ended it and
 *   on_closed is on its way), LULL_RC_LIMIT (above max_send_message_bytes), LULL_RC_INVALID (no data and a len), LULL_RC_NOMEM. Any thread, callbacks
 *   included. Since 0.2.
 */
LULL_API int lull_call_send(struct lull_call *call, struct lull_slice message);

/**
 * Says that no more messages will be sent, behind those that are queued. The second time, and after the end, nothing happens.
 * @return LULL_OK; LULL_RC_CLOSED after the end; LULL_RC_NOMEM: nothing was said, it may be tried again. Any thread, callbacks
 *   included. Since 0.2.
 */
LULL_API int lull_call_half_close(struct lull_call *call);

/**
 * Holds back on_message, and with it the server: after one window more (stream_window_bytes) it has to wait. An end that the
 * server made comes behind the messages that are held; lull_call_cancel, the deadline and closing the channel drop them. The deadline
 * goes on. Twice is once; on a unary call nothing happens. Any thread, callbacks included. Since 0.2.
 */
LULL_API void lull_call_pause(struct lull_call *call);

/** Ends a pause; messages follow from a task. Without one nothing happens. Any thread, callbacks included. Since 0.2. */
LULL_API void lull_call_resume(struct lull_call *call);

/**
 * Ends the call with CANCELLED; done, or on_closed, follows, and no message before it. If the server has ended the call already its
 * status stands. After the end, and the second time, nothing happens. Any thread, callbacks included. Since 0.1.
 */
LULL_API void lull_call_cancel(struct lull_call *call);

/** Takes a reference. NULL is harmless. Any thread. Since 0.1. */
LULL_API void lull_call_ref(struct lull_call *call);

/** Gives a reference back; a call goes on without any. NULL is harmless. Any thread. Since 0.1. */
LULL_API void lull_call_unref(struct lull_call *call);

/** The number of this call on its channel, from 1. Any thread. Since 0.1. */
LULL_API uint64_t lull_call_id(const struct lull_call *call);

/** The address of the peer that has the call, "" before it has one. [borrow] Until the callback returns, or outside one until the next
 * turn: the call may go to another peer. In a callback of the call, or outside on the driving thread. Since 0.1. */
LULL_API const char *lull_call_peer(const struct lull_call *call);

#ifdef __cplusplus
}
#endif

#endif
