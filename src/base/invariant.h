/* SPDX-License-Identifier: MIT */
/*
 * What must be true, or we have a fault of our own.
 *
 * Decides: what happens when one of our assumptions is broken (a line on stderr, then abort), in
 * every build. Called from everywhere. Must not be used for a peer's bytes or a caller's input:
 * those get codes.
 */
#ifndef BASE_INVARIANT_H
#define BASE_INVARIANT_H

#include "base/cold.h"

/* Prints "lull: FILE:LINE: ..." and aborts. Any thread. */
LULL_COLD _Noreturn void invariant_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Always on. `sentence` says what was broken: LULL_INVARIANT(node->in_queue, "left a lane it was
 * not in"). */
#define LULL_INVARIANT(cond, sentence)                                                             \
    ((cond) ? (void)0 : invariant_failed(__FILE__, __LINE__, "%s", (sentence)))

#endif
