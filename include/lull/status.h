/* SPDX-License-Identifier: MIT */
/**
 * @file status.h
 * How an RPC ended: gRPC's code, the server's message, and, when it failed, a record of where and
 * why.
 */
#ifndef LULL_STATUS_H
#define LULL_STATUS_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** gRPC status codes (grpc/doc/statuscodes.md). Since 0.1. */
enum lull_code {
    LULL_CODE_OK = 0,
    LULL_CODE_CANCELLED = 1,
    LULL_CODE_UNKNOWN = 2,
    LULL_CODE_INVALID_ARGUMENT = 3,
    LULL_CODE_DEADLINE_EXCEEDED = 4,
    LULL_CODE_NOT_FOUND = 5,
    LULL_CODE_ALREADY_EXISTS = 6,
    LULL_CODE_PERMISSION_DENIED = 7,
    LULL_CODE_RESOURCE_EXHAUSTED = 8,
    LULL_CODE_FAILED_PRECONDITION = 9,
    LULL_CODE_ABORTED = 10,
    LULL_CODE_OUT_OF_RANGE = 11,
    LULL_CODE_UNIMPLEMENTED = 12,
    LULL_CODE_INTERNAL = 13,
    LULL_CODE_UNAVAILABLE = 14,
    LULL_CODE_DATA_LOSS = 15,
    LULL_CODE_UNAUTHENTICATED = 16
};

/** Where a call was when it ended, or where its time went. Since 0.1. */
enum lull_phase {
    LULL_PHASE_START = 0,  /**< created, not yet looked at */
    LULL_PHASE_RESOLVING,  /**< the target's name is being resolved */
    LULL_PHASE_CONNECTING, /**< TCP (or unix) connect under way */
    LULL_PHASE_HANDSHAKE,  /**< TLS */
    LULL_PHASE_SETTINGS,   /**< connected; the server's first SETTINGS has not come */
    LULL_PHASE_BACKOFF,    /**< the last attempt failed; the next one is waited for */
    LULL_PHASE_QUEUED,     /**< connected; the peer's MAX_CONCURRENT_STREAMS is used up */
    LULL_PHASE_SENDING,    /**< the request is on its way to the socket */
    LULL_PHASE_WAITING,    /**< the request was sent; no response headers yet */
    LULL_PHASE_READING,    /**< response headers came; the end has not */
    LULL_PHASE_DONE,       /**< the end came from the server */
    LULL_PHASE_COUNT
};

/** Which kind of thing ended a call that did not end well. Since 0.1. */
enum lull_reason {
    LULL_REASON_NONE = 0,     /**< the call ended OK */
    LULL_REASON_SERVER,       /**< grpc-status from the server */
    LULL_REASON_HTTP,         /**< an HTTP reply that is not gRPC; http_status has its code */
    LULL_REASON_DEADLINE,     /**< the call's deadline passed here */
    LULL_REASON_READ_TIMEOUT, /**< nothing came for the read-inactivity timeout */
    LULL_REASON_CANCELLED,    /**< the application cancelled */
    LULL_REASON_CONNECT,        /**< no connection: refused, unreachable, timed out, closed, not HTTP/2 */
    LULL_REASON_TRANSPORT,      /**< the connection was lost under the call */
    LULL_REASON_KEEPALIVE,      /**< the peer was declared dead by keepalive, TCP keepalive or the write timeout */
    LULL_REASON_RESET,          /**< RST_STREAM; http2_error has its code */
    LULL_REASON_GOAWAY,         /**< GOAWAY left the call out; http2_error has its code */
    LULL_REASON_PROTOCOL,       /**< the response broke the protocol */
    LULL_REASON_LIMIT,          /**< a message or metadata limit of ours */
    LULL_REASON_INVALID,        /**< the call's own arguments are wrong */
    LULL_REASON_CHANNEL_CLOSED, /**< the channel was closed */
    LULL_REASON_INTERNAL,       /**< no memory, a host loop that refused, a fault of ours */
    LULL_REASON_RESOLVE,        /**< no address: the name is not there, or nobody answered. Since 0.3 */
    LULL_REASON_TLS             /**< no connection: the TLS handshake failed, was cut off or took too long. Since 0.3 */
};

/**
 * The record of a call that did not end OK: enough to know what broke without a packet capture.
 * Borrowed for the callback that delivers it. Fields are appended only; `size` says how many of
 * them there are. Since 0.1.
 */
struct lull_failure {
    size_t size; /**< sizeof(struct lull_failure) of the library */
    enum lull_reason reason;
    enum lull_phase phase; /**< where the call was; with reason CONNECT, TLS and RESOLVE where the attempt broke. Of several
                              addresses that were tried the one that got furthest counts, of equals the first: phase, address
                              and sys_errno are its; `line` tells of each */
    const char *address;   /**< the peer; without one the address tried, or the target where there are several and the
                              reason is not that they failed; "" when there was none */
    int sys_errno;         /**< the errno behind it; else 0 */
    int http_status;       /**< `:status` when it was not 200, else 0 */
    int64_t http2_error;   /**< RST_STREAM or GOAWAY error code, -1 when there was none */
    uint32_t attempts;     /**< connection attempts the call waited for */
    int64_t elapsed_ns;    /**< from the call's start to its end */
    int64_t phase_ns[LULL_PHASE_COUNT]; /**< where that time went */
    uint64_t bytes_read;                /**< read from the connection since the request was sent */
    int64_t next_attempt_after_ns; /**< until the channel dials again; LULL_NEVER when it will not
                                      by itself */
    const char *line; /**< all of it as one readable line, NUL-terminated, never NULL */
};

/** How a call ended. Borrowed for the callback that delivers it. Since 0.1. */
struct lull_status {
    enum lull_code code;
    const char *message; /**< the peer's words when the peer ended it (UTF-8 as a rule), ours when we did: then `failure` tells
                              which; NUL-terminated, never NULL */
    size_t message_len;  /**< bytes, without the NUL */
    const struct lull_failure *failure; /**< [nullable] NULL when code is LULL_CODE_OK */
};

/** The name of a status code ("DEADLINE_EXCEEDED"); "UNKNOWN" for a value that is none. Any thread.
 * Since 0.1. */
LULL_API const char *lull_code_name(int code);

/** The name of a phase ("connecting"). Static. Any thread. Since 0.1. */
LULL_API const char *lull_phase_name(int phase);

/** The name of a reason ("connect"). Static. Any thread. Since 0.1. */
LULL_API const char *lull_reason_name(int reason);

/**
 * The status that tells of a C call that did not work (rc.h): NOMEM and LIMIT are
 * RESOURCE_EXHAUSTED, INVALID is INVALID_ARGUMENT, CLOSED is UNAVAILABLE, UNSUPPORTED is
 * UNIMPLEMENTED, STATE is FAILED_PRECONDITION, the others INTERNAL. Any thread. Since 0.1.
 */
LULL_API enum lull_code lull_code_from_rc(int rc);

#ifdef __cplusplus
}
#endif

#endif
