/* SPDX-License-Identifier: MIT */
/*
 * See method.h.
 */
#include "base/method.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

const char *method_fault(const char *method)
{
    if (method == NULL) {
        return "is NULL";
    }
    if (!ascii_is_visible(method, strlen(method))) {
        return "has a character that is not printable ASCII";
    }
    if (method[0] != '/') {
        return "does not begin with '/'";
    }
    /* What is before the last slash is the service's: some have slashes in their names. */
    const char *last = strrchr(method, '/');
    if (last == method) {
        return "has no '/' between the service and the method";
    }
    if (method[1] == '/') {
        return "has no service before the second '/'";
    }
    return last[1] == '\0' ? "has no method after the last '/'" : NULL;
}
