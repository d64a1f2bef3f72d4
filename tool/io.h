/* SPDX-License-Identifier: MIT */
/*
 * Standard input and output, whole messages at a time.
 *
 * Decides: how much is read, and how a broken pipe or a full disk is told. Called by call.c. Must not know: what the
 * bytes mean.
 */
#ifndef LULL_TOOL_IO_H
#define LULL_TOOL_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

enum io_result {
    IO_DONE = 0,
    IO_FAILED = 1,   /* the fault has the reason */
    IO_TOO_LARGE = 2 /* more than max_bytes came; the rest was not read */
};

/* Reads standard input to its end, max_bytes at most. On IO_DONE the caller frees *data, which is never NULL. */
enum io_result tool_io_read_all(size_t max_bytes, unsigned char **data, size_t *len,
                                struct text_fault *fault);

/* Writes the bytes to standard output, raw, or as hex digits and a newline. SIGPIPE must be ignored. */
enum io_result tool_io_write_all(const unsigned char *data, size_t len, bool is_hex,
                                 struct text_fault *fault);

#endif
