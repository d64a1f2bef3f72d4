/* SPDX-License-Identifier: MIT */
/*
 * The percent coding of grpc-message (grpc/doc/PROTOCOL-HTTP2.md, Status-Message).
 *
 * Decides: which bytes are encoded (all outside 0x20-0x7E, and '%') and what a malformed '%' means
 * (it stays as it is). Called by h2/ for grpc-message only. Must not judge UTF-8: the bytes are the
 * peer's.
 */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include <stddef.h>
#include <stdint.h>

/* The length that percent_encode will write, at most 3 * len. */
size_t percent_encoded_length(const void *text, size_t len);

/* Writes the encoded text, without a NUL, and returns its length. `out` must not overlap `text`. */
size_t percent_encode(const void *text, size_t len, char *out);

/* Writes the decoded bytes, never more than `len`, without a NUL, and returns their number. `out`
 * may be `text`. */
size_t percent_decode(const void *text, size_t len, char *out);

#endif
