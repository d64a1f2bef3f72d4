/* SPDX-License-Identifier: MIT */
/*
 * `lull call`: one call, from the command line to an exit status.
 */
#ifndef LULL_TOOL_CALL_H
#define LULL_TOOL_CALL_H

/* Exit statuses beside gRPC's 0 to 16; the numbers are those of sysexits.h. */
enum call_exit {
    CALL_EXIT_USAGE = 64,    /* the command line is wrong */
    CALL_EXIT_SOFTWARE = 70, /* the library could not run: no memory, no loop */
    CALL_EXIT_IO = 74        /* the request could not be read, or the response written */
};

/* Runs the call that argv[0..argc) asks for (the words after "call"). Returns the exit status. */
int tool_call_main(int argc, char **argv);

/* Prints the help of `lull call` on stdout. */
void tool_call_help(void);

#endif
