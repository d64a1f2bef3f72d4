/* SPDX-License-Identifier: MIT */
/*
 * Results that own what they point to.
 *
 * Decides: how the end of a call, which is borrowed in a callback, is kept for a thread that waits. Called by sync/. Must not know who
 * waits. One block for all of it; an end that is OK and has no metadata needs none.
 */
#ifndef SYNC_SYNC_RESULT_H
#define SYNC_SYNC_RESULT_H

#include "lull/sync.h"

/* Fills an empty result. Without memory the code is kept, and the message says so. */
void sync_result_keep(struct lull_sync_result *result, const struct lull_status *status,
                      const struct lull_metadata *headers, const struct lull_metadata *trailers,
                      struct lull_slice message);

#endif
