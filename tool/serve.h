/* SPDX-License-Identifier: MIT */
/*
 * `lull serve`: a server to try clients on.
 */
#ifndef LULL_TOOL_SERVE_H
#define LULL_TOOL_SERVE_H

/* Serves until a signal ends it; argv[0..argc) are the words after "serve". Returns the exit status. */
int tool_serve_main(int argc, char **argv);

/* Prints the help of `lull serve` on stdout. */
void tool_serve_help(void);

#endif
