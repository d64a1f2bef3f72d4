/* SPDX-License-Identifier: MIT */
/*
 * `lull watch`: one channel, its life as lines.
 */
#ifndef LULL_TOOL_WATCH_H
#define LULL_TOOL_WATCH_H

/* Watches the target that argv[0..argc) names (the words after "watch") until a signal or --for ends it. Returns the exit status. */
int tool_watch_main(int argc, char **argv);

/* Prints the help of `lull watch` on stdout. */
void tool_watch_help(void);

#endif
