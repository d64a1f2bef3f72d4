/* SPDX-License-Identifier: MIT */
/**
 * @file rc.h
 * Whether a C call worked. How an RPC ended is another question, answered in status.h.
 */
#ifndef LULL_RC_H
#define LULL_RC_H

#include <lull/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a function of this library returns when it can fail. Values are fixed. Since 0.1. */
enum lull_rc {
    LULL_OK = 0,
    LULL_RC_INVALID = 1,     /**< an argument or an option is wrong; the error text names it */
    LULL_RC_NOMEM = 2,       /**< no memory; nothing changed */
    LULL_RC_AGAIN = 3,       /**< not now: the queue is full; try after on_writable */
    LULL_RC_IN_TURN = 4,     /**< what drives (loop.h), or a call that blocks, was called inside a callback */
    LULL_RC_CLOSED = 5,      /**< the channel, call or loop was closed */
    LULL_RC_UNSUPPORTED = 6, /**< this build or this system cannot do it */
    LULL_RC_SYSTEM = 7,      /**< a system call failed; the error text has its errno */
    LULL_RC_STATE = 8,       /**< not legal in this state (sent twice, used after half-close) */
    LULL_RC_LIMIT = 9        /**< a configured or documented limit would be passed */
};

/** The longest text of a lull_error with its NUL, in bytes. Since 0.1. */
#define LULL_ERROR_TEXT_BYTES 256

/**
 * Why a call of this library did not work: a code for programs and a line for people. A function that is handed one fills it in whatever
 * happens: on success it is cleared (LULL_OK, 0, ""), so it needs no initial value and never tells of an earlier call. Since 0.1.
 */
struct lull_error {
    enum lull_rc rc;
    int sys_errno;                    /**< the errno behind LULL_RC_SYSTEM, else 0 */
    char text[LULL_ERROR_TEXT_BYTES]; /**< what was wrong and where; empty when rc is LULL_OK */
};

/** The name of a code ("LULL_RC_NOMEM"); "unknown" for a value that is none. Static. Any thread.
 * Since 0.1. */
LULL_API const char *lull_rc_name(int rc);

#ifdef __cplusplus
}
#endif

#endif
