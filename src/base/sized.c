/* SPDX-License-Identifier: MIT */
/*
 * Structs of another release. See sized.h.
 */
#include "base/sized.h"

#include <stdbool.h>
#include <string.h>

#include "base/rc.h"

static bool is_zero(const unsigned char *bytes, size_t len)
{
    while (len > 0 && bytes[len - 1] == 0) {
        len--;
    }
    return len == 0;
}

int sized_take(const struct sized *kind, void *out, const void *given, struct lull_error *error)
{
    size_t size;
    memcpy(&size, given, sizeof(size));
    if (size < kind->first || (size > kind->own && size - kind->own > SIZED_MORE_BYTES)) {
        return rc_fail(error, LULL_RC_INVALID, "%s size is %zu, this library's is %zu: fill %s", kind->noun, size,
                       kind->own, kind->hint);
    }
    if (size > kind->own && !is_zero((const unsigned char *)given + kind->own, size - kind->own)) {
        return rc_fail(error, LULL_RC_INVALID,
                       "%s size is %zu, this library's is %zu, and not all behind that is zero: the program was compiled "
                       "with a newer lull and asks for what this one does not have",
                       kind->noun, size, kind->own);
    }
    memcpy(out, given, size < kind->own ? size : kind->own);
    memcpy(out, &kind->own, sizeof(kind->own));
    return LULL_OK;
}
