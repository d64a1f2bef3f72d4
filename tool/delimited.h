/* SPDX-License-Identifier: MIT */
/*
 * Messages in a row, each behind its length as a varint: what protobuf's writeDelimitedTo writes.
 *
 * Decides: where a message begins and ends, and which line names bytes that are none. Called by stream.c. Must not know: where the bytes
 * come from. A length is believed only as far as bytes follow it: memory grows with what came.
 */
#ifndef LULL_TOOL_DELIMITED_H
#define LULL_TOOL_DELIMITED_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* The longest length: 32 bits, 7 a byte. */
enum { TOOL_DELIMITED_LENGTH_BYTES = 5 };

struct tool_delimited {
    unsigned char *bytes;
    size_t start;     /* of what was not taken yet */
    size_t end;       /* of what came */
    size_t room;      /* bytes */
    uint64_t offset;  /* of bytes[start] in the whole input */
    size_t max_bytes; /* of a message */
};

enum tool_delimited_found {
    TOOL_DELIMITED_MESSAGE,
    TOOL_DELIMITED_MORE, /* the rest has not come yet */
    TOOL_DELIMITED_BAD   /* and nothing that follows can be understood */
};

void tool_delimited_init(struct tool_delimited *in, size_t max_bytes);
void tool_delimited_fini(struct tool_delimited *in);

/* Where the next bytes of the input go, *len of them, at least one; how many came is then added to `end`. -1: out of memory. */
int tool_delimited_room(struct tool_delimited *in, unsigned char **at, size_t *len);

/* Takes the next message; *body is good until the next tool_delimited_room. The fault is set for TOOL_DELIMITED_BAD. */
enum tool_delimited_found tool_delimited_next(struct tool_delimited *in, const unsigned char **body,
                                              size_t *len, struct text_fault *fault);

/* The input is over. 0, or -1 and the fault: it ended inside a message. */
int tool_delimited_end(const struct tool_delimited *in, struct text_fault *fault);

/* Writes the length to out. Returns how many bytes it took. */
size_t tool_delimited_put(size_t len, unsigned char out[TOOL_DELIMITED_LENGTH_BYTES]);

#endif
