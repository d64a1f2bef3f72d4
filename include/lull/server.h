/* SPDX-License-Identifier: MIT */
/**
 * @file server.h
 * A server: addresses that are listened at, methods, and the calls that come in. Messages are
 * bytes; bring your own protobuf.
 *
 * A call, of any kind, a unary one included: on_call → (on_message)* → on_half_closed, and in any
 * order with these (respond_headers) (send)* finish → exactly one on_closed, last. What comes in
 * and what goes out are independent of each other.
 *
 * Callbacks come from a task of a turn, never inline, and may call any lull_ function but what
 * drives (loop.h): also the ones that end the call, or the server. All of it belongs to the thread that
 * drives the loop.
 */
#ifndef LULL_SERVER_H
#define LULL_SERVER_H

#include <lull/metadata.h>
#include <lull/rc.h>
#include <lull/status.h>
#include <lull/log.h>
#include <lull/trace.h>
#include <lull/types.h>
#include <lull/world.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lull_credentials;
struct lull_loop;
struct lull_server;
struct lull_server_call;

/** Options of a server. Fill with lull_server_options_init. All clamps are applied once, by
 * lull_server_new. In a struct of another release, from 0.3, what is missing has its default, and
 * what this one does not know has to be zero. Since 0.2. */
struct lull_server_options {
    size_t size;
    const struct lull_world *world; /**< [borrow, nullable] its members outlive the server */
    struct lull_loop *loop;         /**< [borrow] who drives; needed here or in `world` */
    uint32_t max_streams; /**< calls at a time on one connection, told to clients; default 1 000; 0:
                             no limit */
    uint32_t max_recv_message_bytes; /**< a larger message ends its call, judged on its prefix;
                                        default 4 MiB; 0: empty messages only */
    uint32_t max_send_message_bytes; /**< default INT32_MAX; 0: empty messages only */
    uint32_t max_metadata_bytes;  /**< of a request; default 16 KiB; told to clients; over it only
                                     that call ends */
    uint32_t stream_window_bytes; /**< default 256 KiB */
    uint32_t connection_window_bytes; /**< default 1 MiB */
    int64_t keepalive_time_ns; /**< a client's silence before the server PINGs it; default 2 h; 0 or
                                  LULL_NEVER: no PING; floor 10 s. On a loop with several channels
                                  up to one part in 64 later, 268 ms at most, and never earlier */
    int64_t keepalive_timeout_ns; /**< silence after a PING that means a dead client; default 20 s;
                                     floor 10 ms; LULL_NEVER: never judged */
    int64_t permit_keepalive_time_ns; /**< clients may PING once in so long; default 5 min; at most
                                         2 h; negative is 0: as often as they like. PINGs above it are strikes, and the strike after
                                         max_ping_strikes ends the connection: GOAWAY
                                         ENHANCE_YOUR_CALM "too_many_pings" (gRFC A8). What the
                                         server sends forgives all of them */
    bool permit_keepalive_without_calls; /**< the same without calls; else that is once in 2 h;
                                            default false */
    uint32_t max_ping_strikes;           /**< default 2; 0: any number */
    int64_t max_connection_idle_ns; /**< a connection without calls for so long is told to go (gRFC
                                       A9); default LULL_NEVER, as 0: never; floor 1 s */
    int64_t max_connection_age_ns; /**< and one that is so old, give or take 10 %, calls or not; the
                                      same */
    int64_t max_connection_age_grace_ns; /**< how long its calls may go on then; default LULL_NEVER:
                                            to their end; 0: not at all */
    bool allow_short_timers; /**< lifts the floors of times: for tests and demonstrations */
    struct lull_trace
        trace; /**< hook; event NULL: none. The events' target is the server's first address */
    struct lull_credentials *credentials; /**< [ref, nullable] TLS by these, which need a
                                             certificate (credentials.h); NULL: plaintext. Since 0.3
                                           */
    struct lull_log log; /**< lines of the log; line NULL: none (log.h). Since 0.3 */
};

/** Fills in the defaults of options of `size` bytes: what lull_server_options_init stands on, which passes the size that the program was
 * compiled with, so that a library whose options have grown writes no further. Any thread. Since 0.3. */
LULL_API void lull_server_options_fill(struct lull_server_options *options, size_t size);

/** Fills in the defaults. Any thread. Since 0.2. */
static inline void lull_server_options_init(struct lull_server_options *options)
{
    lull_server_options_fill(options, sizeof(*options));
}

/** What a call began with. Borrowed for on_call. Since 0.2. */
struct lull_server_request {
    size_t size;           /**< sizeof(struct lull_server_request) of the library */
    const char *method;    /**< "/package.Service/Method" */
    const char *authority; /**< "" when the client told none */
    struct lull_metadata
        metadata;    /**< without HTTP/2's and gRPC's own; "-bin" values are decoded */
    int64_t left_ns; /**< until the deadline; LULL_NEVER: none */
};

/** Why a call is over. Values are fixed; more may come. Since 0.2. */
enum lull_server_end {
    LULL_SERVER_END_FINISHED = 0,  /**< lull_server_call_finish, and all of it left the queue;
                                      whether it arrived nobody knows */
    LULL_SERVER_END_CANCELLED = 1, /**< the client took it back (RST_STREAM) */
    LULL_SERVER_END_DEADLINE = 2,  /**< its deadline passed here: the client gets DEADLINE_EXCEEDED in
                                      trailers, what was queued is dropped; RST_STREAM(CANCEL) when a
                                      message was half sent */
    LULL_SERVER_END_LOST = 3,      /**< the connection was lost, or was ended with the call on it */
    LULL_SERVER_END_PROTOCOL = 4,  /**< what the client sent broke the protocol */
    LULL_SERVER_END_LIMIT = 5,     /**< a limit of ours: message size, memory */
    LULL_SERVER_END_CLOSED = 6     /**< the server was closed */
};

/** The name of an end ("DEADLINE"). Static. Any thread. Since 0.2. */
LULL_API const char *lull_server_end_name(int end);

/**
 * Who is told of the calls of a method. Fill with lull_server_handler_init; one of another release is
 * taken as options are. `ctx` is what
 * lull_server_add was given, or from then on what lull_server_call_set_ctx said. Since 0.2.
 */
struct lull_server_handler {
    size_t size;
    /** [nullable] A call came: first, once. */
    void (*on_call)(struct lull_server_call *call, const struct lull_server_request *request,
                    void *ctx);
    /** [nullable] The next message [borrow]; lull_slice_ref keeps it. */
    void (*on_message)(struct lull_server_call *call, struct lull_slice message, void *ctx);
    /** [nullable] No more messages will come. A unary handler answers here. */
    void (*on_half_closed)(struct lull_server_call *call, void *ctx);
    /** [nullable] After a LULL_RC_AGAIN: less than half of what may be queued is. */
    void (*on_writable)(struct lull_server_call *call, void *ctx);
    /** [nullable] The end, exactly once, last; `why` is one readable line [borrow], "" when it was
     * finished. The call is gone when this returns, unless lull_server_call_ref holds it. */
    void (*on_closed)(struct lull_server_call *call, enum lull_server_end end, const char *why,
                      void *ctx);
};

/** Fills in the size; everything else is NULL. Since 0.2. */
static inline void lull_server_handler_init(struct lull_server_handler *handler)
{
    handler->size = sizeof(*handler);
    handler->on_call = NULL;
    handler->on_message = NULL;
    handler->on_half_closed = NULL;
    handler->on_writable = NULL;
    handler->on_closed = NULL;
}

/**
 * Makes a server that listens nowhere and knows no method.
 * @param options [borrow] with a loop
 * @param out receives the server, owned by the caller; left alone on failure
 * @param error [nullable] receives the code and a text that names what was wrong
 * @return LULL_OK, LULL_RC_INVALID, LULL_RC_NOMEM. Driving thread. Since 0.2.
 */
LULL_API int lull_server_new(const struct lull_server_options *options, struct lull_server **out,
                             struct lull_error *error);

/**
 * Closes as lull_server_close does and gives the server up: no callback but the on_closed of its
 * calls comes after this, and it must not be named any more. NULL is harmless. Driving thread,
 * callbacks included. Since 0.2.
 */
LULL_API void lull_server_free(struct lull_server *server);

/**
 * Listens at an address, further ones too.
 * @param address [borrow] as a target of a channel with a numeric host, localhost, or a unix
 * socket; port 0: the system chooses. A unix socket's path must not be there yet, and is removed
 * when the server stops listening
 * @param error [nullable] receives the code and a text
 * @return LULL_OK, LULL_RC_INVALID, LULL_RC_UNSUPPORTED (a name), LULL_RC_CLOSED (shut down),
 * LULL_RC_SYSTEM (in use, not allowed ...), LULL_RC_NOMEM. Driving thread. Since 0.2.
 */
LULL_API int lull_server_listen(struct lull_server *server, const char *address,
                                struct lull_error *error);

/** The address of the n-th lull_server_listen that succeeded, from 0, with the port that the system
 * chose [borrow]; NULL: there are not so many, or it has stopped listening. What a channel takes as
 * its target. Driving thread. Since 0.2. */
LULL_API const char *lull_server_address(const struct lull_server *server, size_t n);

/**
 * Says who is told of the calls of a method. Calls of a method that nobody has end UNIMPLEMENTED.
 * @param method [borrow, nullable] "/package.Service/Method"; "" or NULL: all that have no handler
 * of their own
 * @param handler [borrow] copied
 * @param ctx [borrow] handed to its functions
 * @return LULL_OK, LULL_RC_INVALID (method, handler), LULL_RC_STATE (it has one), LULL_RC_NOMEM.
 * Driving thread. Since 0.2.
 */
LULL_API int lull_server_add(struct lull_server *server, const char *method,
                             const struct lull_server_handler *handler, void *ctx);

/** Called once when the last connection of a server that was shut down is gone. Since 0.2. */
typedef void (*lull_server_drained_fn)(struct lull_server *server, void *ctx);

/**
 * Stops in good order: nothing is listened at any more, each client is told to go elsewhere
 * (GOAWAY) and its connection closes with the last of its calls.
 * @param grace_ns calls may go on for so long from now, whatever the client answers, then their
 * connections are closed; LULL_NEVER: to their end; 0: not at all. A second shutdown can only shorten it
 * @param drained [nullable] what to call when no connection is left, from a task; not after
 * lull_server_close. The last one that was given counts
 * @param ctx [borrow] handed to it. Driving thread, callbacks included. Since 0.2.
 */
LULL_API void lull_server_shutdown(struct lull_server *server, int64_t grace_ns,
                                   lull_server_drained_fn drained, void *ctx);

/** Stops at once: nothing is listened at, every connection is closed, every call ends with
 * LULL_SERVER_END_CLOSED. The second time does nothing. Driving thread, callbacks included. Since
 * 0.2. */
LULL_API void lull_server_close(struct lull_server *server);

/**
 * Plays dead, for tests and demonstrations: nothing is read, written, answered or accepted, PINGs
 * included, and no connection is closed; as a process does that hangs. With false it goes on where
 * it stopped. Deadlines of calls go on. Driving thread, callbacks included. Since 0.2.
 */
LULL_API void lull_server_set_silent(struct lull_server *server, bool is_silent);

/** What a server has at this moment and has done. Fields are appended only. Since 0.2. */
struct lull_server_stats {
    size_t size; /**< sizeof(struct lull_server_stats) of the caller, by lull_server_stats */
    uint64_t connections;      /**< open now */
    uint64_t connections_made; /**< accepted so far */
    uint64_t calls;            /**< not over yet */
    uint64_t calls_made;       /**< that came so far, those of unknown methods included */
    uint64_t pings;            /**< PINGs that clients sent */
    uint64_t ping_strikes;     /**< of these, too early */
    uint64_t too_many_pings;   /**< connections ended for them */
    uint64_t too_many_resets;  /**< connections ended because the client took back too many calls */
    uint64_t
        accept_pauses; /**< times that accepting had to wait, for want of descriptors or memory */
};

/** Copies the numbers. @param out its `size` says how much of it may be filled. Driving thread.
 * Since 0.2. */
LULL_API void lull_server_stats(const struct lull_server *server, struct lull_server_stats *out);

/** The options in force after defaults and clamps [borrow]; world is resolved. Driving thread.
 * Since 0.2. */
LULL_API const struct lull_server_options *
lull_server_effective_options(const struct lull_server *server);

/** Bytes that may be queued of a call's outgoing messages, 5 for each message's prefix included,
 * before lull_server_call_send says LULL_RC_AGAIN. What the socket has not taken yet is not
 * counted. Since 0.2. */
#define LULL_SERVER_QUEUE_BYTES ((size_t)64 * 1024)

/**
 * Sends the initial metadata. Needed only where there is any, or when it shall go before the first
 * message does.
 * @param headers [borrow, nullable]
 * @return LULL_OK, LULL_RC_INVALID (lull_metadata_check), LULL_RC_STATE (the second time, after a
 * message or the finish), LULL_RC_CLOSED (the call is over, or on_closed is on its way),
 * LULL_RC_LIMIT (a header block of more than 64 KiB cannot be sent, counting 12 bytes for each field
 * and "-bin" values in base64: nothing was sent, less still can be), LULL_RC_NOMEM. Driving thread, callbacks included. Since 0.2.
 */
LULL_API int lull_server_call_respond_headers(struct lull_server_call *call,
                                              const struct lull_metadata *headers);

/**
 * Sends a message. All messages of one turn leave in one write.
 * @param message [ref] unframed; bytes without a slab must stay as they are until on_closed
 * @return LULL_OK: it is queued. Else it was not taken: LULL_RC_AGAIN (LULL_SERVER_QUEUE_BYTES are
 * queued; on_writable follows), LULL_RC_STATE (after the finish), LULL_RC_CLOSED (the call is over,
 * or on_closed is on its way), LULL_RC_LIMIT (above max_send_message_bytes), LULL_RC_INVALID (no data
 * and a len), LULL_RC_NOMEM. Driving thread, callbacks included. Since 0.2.
 */
LULL_API int lull_server_call_send(struct lull_server_call *call, struct lull_slice message);

/**
 * Ends the call behind the messages that are queued. No more messages are told; on_closed follows
 * when all of it left the queue. A client that is still sending is told to stop.
 * @param code the status; a value that is none of gRPC's is sent as UNKNOWN
 * @param message [borrow, nullable] UTF-8, NUL-terminated, for people
 * @param trailers [borrow, nullable]
 * @return as lull_server_call_respond_headers. Driving thread, callbacks included. Since 0.2.
 */
LULL_API int lull_server_call_finish(struct lull_server_call *call, enum lull_code code,
                                     const char *message, const struct lull_metadata *trailers);

/**
 * Holds back on_message and on_half_closed, and with them the client: after one window more
 * (stream_window_bytes) it has to wait. The deadline goes on, and a client that cancels is heard.
 * Twice is once. Driving thread, callbacks included. Since 0.2.
 */
LULL_API void lull_server_call_pause(struct lull_server_call *call);

/** Ends a pause; messages follow from a task. Without one nothing happens. Driving thread,
 * callbacks included. Since 0.2. */
LULL_API void lull_server_call_resume(struct lull_server_call *call);

/** What the handler's functions get as ctx for this call from now on [borrow]. Driving thread,
 * callbacks included. Since 0.2. */
LULL_API void lull_server_call_set_ctx(struct lull_server_call *call, void *ctx);

/** The request's metadata [borrow], valid as long as the call is. Driving thread. Since 0.2. */
LULL_API struct lull_metadata lull_server_call_metadata(const struct lull_server_call *call);

/** "/package.Service/Method" [borrow], valid as long as the call is. Driving thread. Since 0.2. */
LULL_API const char *lull_server_call_method(const struct lull_server_call *call);

/** The client's address [borrow], valid as long as the call is. Driving thread. Since 0.2. */
LULL_API const char *lull_server_call_peer(const struct lull_server_call *call);

/** Until the deadline, in ns, not positive when it has passed; LULL_NEVER: none. Driving thread.
 * Since 0.2. */
LULL_API int64_t lull_server_call_left_ns(const struct lull_server_call *call);

/** The number of this call on its server, from 1. Since 0.2. */
LULL_API uint64_t lull_server_call_id(const struct lull_server_call *call);

/** Takes a reference: the handle stays valid after on_closed, and every verb says LULL_RC_CLOSED.
 * NULL is harmless. Driving thread. Since 0.2. */
LULL_API void lull_server_call_ref(struct lull_server_call *call);

/** Gives a reference back. NULL is harmless. Driving thread. Since 0.2. */
LULL_API void lull_server_call_unref(struct lull_server_call *call);

#ifdef __cplusplus
}
#endif

#endif
