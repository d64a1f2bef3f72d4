/* SPDX-License-Identifier: MIT */
/*
 * `lull call --delimited`: a call of any of the four kinds, its messages one by one.
 *
 * Decides: when standard input is read and standard output written, so that neither holds up the call or the other. Called by call.c, which
 * has made the channel. Must not know: how the command line looks.
 */
#ifndef LULL_TOOL_STREAM_H
#define LULL_TOOL_STREAM_H

#include <lull/lull.h>

#include "args.h"

/* Makes the call and runs the loop until it is over and all that came is written. Returns the exit status, after a line when it is not 0. */
int tool_stream_call(struct lull_loop *loop, struct lull_channel *channel, const struct args *args);

#endif
