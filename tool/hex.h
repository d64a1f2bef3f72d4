/* SPDX-License-Identifier: MIT */
/*
 * Bytes as hexadecimal digits and back, for --data-hex and --hex.
 *
 * Must not know: files, options.
 */
#ifndef LULL_TOOL_HEX_H
#define LULL_TOOL_HEX_H

#include <stddef.h>

#include "text.h"

/*
 * Decodes digits of either case; white space between bytes is passed over. out has room for strlen(text) / 2 bytes.
 * Returns 0, or -1 and the fault: a character that is no digit and where, half a byte.
 */
int tool_hex_decode(const char *text, unsigned char *out, size_t *out_len,
                    struct text_fault *fault);

/* Writes 2 * len lower-case digits to out, without a NUL. */
void tool_hex_encode(const unsigned char *bytes, size_t len, char *out);

#endif
