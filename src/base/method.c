/* SPDX-License-Identifier: MIT */
/*
 * See method.h.
 */
#include "base/method.h"

#include <stddef.h>
#include <string.h>

const char *method_fault(const char *method)
{
    if (method == NULL) {
        return "is NULL";
    }
    for (const char *c = method; *c != '\0'; c++) {
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f) {
            return "has a character that is not printable ASCII";
        }
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
