/* SPDX-License-Identifier: MIT */
/*
 * Structs of a caller that begin with their size, and that may have been compiled with another release.
 *
 * Decides: which sizes are taken. From that of the first release to our own: what is missing has its default. Larger ones, of a later
 * release, if all behind our own end is zero: then nothing is asked for that we do not have. All else is refused, in words that tell both
 * sizes. Called by whoever takes options or a handler; knows none of them. doc/RELEASING.md has what a new field has to heed.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>

#include "base/cold.h"
#include "lull/rc.h"

struct sized {
    size_t first;     /* the smallest size: of the first release */
    size_t own;       /* ours */
    const char *noun; /* what it is to whoever reads an error */
    const char *hint; /* how it is filled */
};

/* The size of `type` while `last` was its last field. */
#define SIZED_UP_TO(type, last)                                                                                        \
    ((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))

/* So many bytes behind our own end are looked at. A larger size is no later release's, but memory that nobody filled. */
#define SIZED_MORE_BYTES ((size_t)1024)

/*
 * Copies `given` over `out`, which has our size and holds the defaults, and sets its size to ours. LULL_OK, or LULL_RC_INVALID and `out` is as
 * it was. `error` [nullable] is set on failure only.
 */
LULL_COLD int sized_take(const struct sized *kind, void *out, const void *given, struct lull_error *error);

#endif
