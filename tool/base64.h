/* SPDX-License-Identifier: MIT */
/*
 * Bytes as base64 and back (RFC 4648 section 4), for the values of metadata whose name ends in "-bin".
 *
 * Must not know: metadata, options. The library has its own coder for the wire, which is not public.
 */
#ifndef LULL_TOOL_BASE64_H
#define LULL_TOOL_BASE64_H

#include <stddef.h>
#include <stdio.h>

#include "text.h"

/*
 * Decodes base64, padded or not; out has room for strlen(text) bytes. Returns 0, or -1 and the fault: a character
 * outside the alphabet and where, a length that no bytes give, bits left over that are not 0.
 */
int tool_base64_decode(const char *text, unsigned char *out, size_t *out_len,
                       struct text_fault *fault);

/* Writes padded base64. */
void tool_base64_put(FILE *out, const unsigned char *bytes, size_t len);

#endif
