/* SPDX-License-Identifier: MIT */
/*
 * Names of result codes and the filling in of errors. See rc.h and lull/rc.h.
 */
#include "base/rc.h"

#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"

const char *lull_rc_name(int rc)
{
    switch (rc) {
    case LULL_OK:
        return "LULL_OK";
    case LULL_RC_INVALID:
        return "LULL_RC_INVALID";
    case LULL_RC_NOMEM:
        return "LULL_RC_NOMEM";
    case LULL_RC_AGAIN:
        return "LULL_RC_AGAIN";
    case LULL_RC_IN_TURN:
        return "LULL_RC_IN_TURN";
    case LULL_RC_CLOSED:
        return "LULL_RC_CLOSED";
    case LULL_RC_UNSUPPORTED:
        return "LULL_RC_UNSUPPORTED";
    case LULL_RC_SYSTEM:
        return "LULL_RC_SYSTEM";
    case LULL_RC_STATE:
        return "LULL_RC_STATE";
    case LULL_RC_LIMIT:
        return "LULL_RC_LIMIT";
    default:
        return "unknown";
    }
}

int rc_ok(struct lull_error *error)
{
    if (error != NULL) {
        error->rc = LULL_OK;
        error->sys_errno = 0;
        error->text[0] = '\0';
    }
    return LULL_OK;
}

int rc_fail(struct lull_error *error, enum lull_rc rc, const char *format, ...)
{
    if (error != NULL) {
        struct strbuf sb;
        va_list args;
        error->rc = rc;
        error->sys_errno = 0;
        strbuf_init(&sb, error->text, sizeof(error->text));
        va_start(args, format);
        strbuf_vprintf(&sb, format, args);
        va_end(args);
    }
    return (int)rc;
}

int rc_fail_system(struct lull_error *error, int sys_errno, const char *format, ...)
{
    if (error != NULL) {
        struct strbuf sb;
        va_list args;
        error->rc = LULL_RC_SYSTEM;
        error->sys_errno = sys_errno;
        strbuf_init(&sb, error->text, sizeof(error->text));
        va_start(args, format);
        strbuf_vprintf(&sb, format, args);
        va_end(args);
        strbuf_add(&sb, ": ");
        strbuf_errno(&sb, sys_errno);
        strbuf_printf(&sb, " (errno %d)", sys_errno);
    }
    return LULL_RC_SYSTEM;
}
