/* SPDX-License-Identifier: MIT */
/*
 * The end of a call that nobody came to end.
 *
 * Decides: until when a caller leaves it to whoever drives to say that the deadline is over, and what it tells its application when
 * nobody did. Called by the blocking calls, outside the context: it reads of the call what is fixed, and what is atomic. Must not know
 * how one waits.
 */
#ifndef SYNC_SYNC_LATE_H
#define SYNC_SYNC_LATE_H

#include "lull/sync.h"

/* LULL_NEVER for a call without a deadline. */
struct lull_instant sync_late_at(const struct lull_call *call);

/* Fills an empty result: DEADLINE_EXCEEDED, nobody drove. */
void sync_late_keep(struct lull_sync_result *result, const struct lull_call *call);

#endif
