/* SPDX-License-Identifier: MIT */
/*
 * Base64 for "-bin" metadata (RFC 4648 section 4; grpc/doc/PROTOCOL-HTTP2.md, Binary-Header).
 *
 * Decides: we write no padding and read values with or without it. Called by base/metadata and h2/.
 * One value at a time: the commas between joined values are metadata's to split.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of `len` bytes once encoded without padding; SIZE_MAX when it does not fit. */
size_t base64_encoded_length(size_t len);

/* Writes base64_encoded_length(len) characters, no padding, no NUL, and returns their number. */
size_t base64_encode(const void *bytes, size_t len, char *out);

/* The most bytes that a text of `len` characters decodes to. */
size_t base64_decoded_max(size_t len);

/*
 * Decodes to `out`, which has room for base64_decoded_max(len) bytes and may be `text` itself. At
 * most two '=' may end the text, needed or not; bits left over in the last character are ignored.
 * False: a character outside the alphabet or an impossible length; what is in `out` then means
 * nothing.
 */
bool base64_decode(const char *text, size_t len, void *out, size_t *out_len);

#endif
