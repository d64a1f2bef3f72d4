/* SPDX-License-Identifier: MIT */
/*
 * Standard input and output: see io.h. Reads and writes go past stdio, so that an error belongs to the call that made
 * it and nothing is left to be lost at exit.
 */
#include "io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hex.h"

enum { READ_FIRST_BYTES = 64 * 1024, HEX_BYTES = 4096 };

/* Makes room for one more read, in steps that double; never more than one byte above max_bytes. */
static int grow(unsigned char **data, size_t *room, size_t max_bytes)
{
    size_t more = *room == 0 ? READ_FIRST_BYTES : *room * 2;
    if (more > max_bytes + 1) {
        more = max_bytes + 1; /* the byte that proves there is too much */
    }
    unsigned char *bytes = realloc(*data, more);
    if (bytes == NULL) {
        return -1;
    }
    *data = bytes;
    *room = more;
    return 0;
}

enum io_result tool_io_read_all(size_t max_bytes, unsigned char **data, size_t *len,
                                struct text_fault *fault)
{
    unsigned char *bytes = NULL;
    size_t room = 0;
    size_t have = 0;
    enum io_result result = IO_FAILED;
    for (;;) {
        if (have == room && grow(&bytes, &room, max_bytes) != 0) {
            (void)tool_text_fault_set(
                fault, "cannot keep the request: out of memory after %zu bytes", have);
            goto out;
        }
        ssize_t got = read(STDIN_FILENO, bytes + have, room - have);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            (void)tool_text_fault_set(fault, "cannot read the request: %s", strerror(errno));
            goto out;
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
        if (have > max_bytes) {
            result = IO_TOO_LARGE;
            goto out;
        }
    }
    *data = bytes;
    *len = have;
    return IO_DONE;
out:
    free(bytes);
    return result;
}

static enum io_result write_bytes(const void *data, size_t len, struct text_fault *fault)
{
    const unsigned char *at = data;
    while (len > 0) {
        ssize_t put = write(STDOUT_FILENO, at, len);
        if (put < 0) {
            if (errno == EINTR) {
                continue;
            }
            (void)tool_text_fault_set(fault, "cannot write the response: %s", strerror(errno));
            return IO_FAILED;
        }
        at += put;
        len -= (size_t)put;
    }
    return IO_DONE;
}

enum io_result tool_io_write_all(const unsigned char *data, size_t len, bool is_hex,
                                 struct text_fault *fault)
{
    if (!is_hex) {
        return write_bytes(data, len, fault);
    }
    char digits[2 * HEX_BYTES + 1];
    size_t done = 0;
    do {
        size_t now = len - done < HEX_BYTES ? len - done : HEX_BYTES;
        tool_hex_encode(data + done, now, digits);
        done += now;
        size_t wide = 2 * now;
        if (done == len) {
            digits[wide++] = '\n';
        }
        if (write_bytes(digits, wide, fault) != IO_DONE) {
            return IO_FAILED;
        }
    } while (done < len);
    return IO_DONE;
}
