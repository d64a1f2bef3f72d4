/* SPDX-License-Identifier: MIT */
/*
 * The end of the road for our own mistakes. See invariant.h.
 */
#include "base/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void invariant_failed(const char *file, int line, const char *format, ...)
{
    /* One write for the whole line, so that the lines of two dying threads do not mix. */
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "lull: %s:%d: %s\n", file, line, text);
    fflush(stderr);
    abort();
}
