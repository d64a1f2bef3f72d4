/* SPDX-License-Identifier: MIT */
/*
 * Lines for people.
 *
 * Decides: how bytes from a peer or from the command line look on a terminal: one line stays one line, and nothing
 * in it can move the cursor. Called by every file of the tool. Must not know: what the lines are about.
 */
#ifndef LULL_TOOL_TEXT_H
#define LULL_TOOL_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* The longest fault of a command line that is kept, with its NUL. */
#define TEXT_FAULT_BYTES 512

/* What was wrong with the command line; empty when nothing was. */
struct text_fault {
    char text[TEXT_FAULT_BYTES];
};

/* Sets the fault; longer texts are cut. Returns -1, so that a parser can return it. */
int tool_text_fault_set(struct text_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Writes len bytes so that they stay on one line: valid UTF-8 as it is, control characters as \n, \t, \r or \xNN,
 * bytes that are no UTF-8 as \xNN.
 */
void tool_text_put(FILE *out, const char *bytes, size_t len);

/* What a noun wants behind a count: "%zu byte%s", n, tool_text_plural(n). */
const char *tool_text_plural(unsigned long long count);

/* Writes "lull: ", the text as tool_text_put does, and a newline, to stderr. */
void tool_text_complain(const char *text);

#endif
