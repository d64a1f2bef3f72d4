/* SPDX-License-Identifier: MIT */
/*
 * Filling in a lull_error.
 *
 * Decides: how an error's text is cut and how an errno is told. Called by every function that takes
 * a lull_error. The public side is lull/rc.h. Each returns the code, so that a caller can write
 * `return rc_fail(error, LULL_RC_INVALID, "option idle_ns is %lld", ...)`.
 */
#ifndef BASE_RC_H
#define BASE_RC_H

#include "base/cold.h"
#include "lull/rc.h"

/* Says that all is well: LULL_OK and an empty text. `error` may be NULL. */
int rc_ok(struct lull_error *error);

/* Says what was wrong. `error` may be NULL. */
LULL_COLD int rc_fail(struct lull_error *error, enum lull_rc rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* LULL_RC_SYSTEM: the text, then ": " and the system's words for `sys_errno`. `error` may be NULL.
 */
LULL_COLD int rc_fail_system(struct lull_error *error, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
