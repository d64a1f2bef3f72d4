/* SPDX-License-Identifier: MIT */
/*
 * The line of a call that failed.
 *
 * Decides: whose words it has, the server's or the record's. Called by call.c and stream.c. Must not know: what kind of call it was.
 */
#ifndef LULL_TOOL_ENDING_H
#define LULL_TOOL_ENDING_H

#include <lull/lull.h>

/* Prints it on stderr. */
void tool_ending_print(const struct lull_status *status);

#endif
