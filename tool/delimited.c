/* SPDX-License-Identifier: MIT */
/*
 * Messages behind their lengths: see delimited.h.
 */
#include "delimited.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 * 1024 };

void tool_delimited_init(struct tool_delimited *in, size_t max_bytes)
{
    memset(in, 0, sizeof(*in));
    in->max_bytes = max_bytes;
}

void tool_delimited_fini(struct tool_delimited *in)
{
    free(in->bytes);
    memset(in, 0, sizeof(*in));
}

int tool_delimited_room(struct tool_delimited *in, unsigned char **at, size_t *len)
{
    if (in->start > 0 && (in->start == in->end || in->end == in->room)) {
        memmove(in->bytes, in->bytes + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (in->end == in->room) {
        size_t room = in->room == 0 ? FIRST_BYTES : 2 * in->room;
        unsigned char *bytes = realloc(in->bytes, room);
        if (bytes == NULL) {
            return -1;
        }
        in->bytes = bytes;
        in->room = room;
    }
    *at = in->bytes + in->end;
    *len = in->room - in->end;
    return 0;
}

/* Reads the length at the start. Returns its bytes, 0: it is not whole yet, TOOL_DELIMITED_LENGTH_BYTES + 1: it is too long. */
static size_t read_length(const struct tool_delimited *in, uint64_t *length)
{
    const unsigned char *at = in->bytes + in->start;
    size_t have = in->end - in->start;
    *length = 0;
    for (size_t i = 0; i < TOOL_DELIMITED_LENGTH_BYTES; i++) {
        if (i == have) {
            return 0;
        }
        *length |= (uint64_t)(at[i] & 0x7f) << (7 * i);
        if ((at[i] & 0x80) == 0) {
            return i + 1;
        }
    }
    return TOOL_DELIMITED_LENGTH_BYTES + 1;
}

enum tool_delimited_found tool_delimited_next(struct tool_delimited *in, const unsigned char **body,
                                              size_t *len, struct text_fault *fault)
{
    uint64_t length;
    size_t wide = in->start == in->end ? 0 : read_length(in, &length);
    if (wide == 0) {
        return TOOL_DELIMITED_MORE;
    }
    if (wide > TOOL_DELIMITED_LENGTH_BYTES) {
        (void)tool_text_fault_set(fault,
                                  "bad request at byte %" PRIu64
                                  " of standard input: a length has at most %d bytes",
                                  in->offset, TOOL_DELIMITED_LENGTH_BYTES);
        return TOOL_DELIMITED_BAD;
    }
    if (length > in->max_bytes) {
        (void)tool_text_fault_set(fault,
                                  "bad request at byte %" PRIu64
                                  " of standard input: a message of %" PRIu64
                                  " bytes is larger than the %zu that it may have",
                                  in->offset, length, in->max_bytes);
        return TOOL_DELIMITED_BAD;
    }
    if (in->end - in->start - wide < length) {
        return TOOL_DELIMITED_MORE;
    }
    *body = in->bytes + in->start + wide;
    *len = (size_t)length;
    in->start += wide + *len;
    in->offset += wide + *len;
    return TOOL_DELIMITED_MESSAGE;
}

int tool_delimited_end(const struct tool_delimited *in, struct text_fault *fault)
{
    uint64_t length;
    size_t have = in->end - in->start;
    size_t wide;
    if (have == 0) {
        return 0;
    }
    wide = read_length(in, &length);
    if (wide == 0) {
        return tool_text_fault_set(fault,
                                   "bad request at byte %" PRIu64
                                   " of standard input: it ends after %zu byte%s of a length",
                                   in->offset, have, tool_text_plural(have));
    }
    return tool_text_fault_set(fault,
                               "bad request at byte %" PRIu64
                               " of standard input: it ends after %zu of the %" PRIu64
                               " byte%s of a message",
                               in->offset, have - wide, length, tool_text_plural(length));
}

size_t tool_delimited_put(size_t len, unsigned char out[TOOL_DELIMITED_LENGTH_BYTES])
{
    size_t wide = 0;
    while (len >= 0x80) {
        out[wide++] = (unsigned char)(len | 0x80);
        len >>= 7;
    }
    out[wide++] = (unsigned char)len;
    return wide;
}
