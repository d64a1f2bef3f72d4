/* SPDX-License-Identifier: MIT */
/*
 * Bytes as base64 and back: see base64.h.
 */
#include "base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The six bits of a character, -1 when it has none. */
static int sextet(char c)
{
    const char *at = c == '\0' ? NULL : strchr(alphabet, c);
    return at == NULL ? -1 : (int)(at - alphabet);
}

int tool_base64_decode(const char *text, unsigned char *out, size_t *out_len,
                       struct text_fault *fault)
{
    size_t digits = strlen(text);
    size_t padding = 0;
    while (padding < 2 && digits > 0 && text[digits - 1] == '=') {
        digits--;
        padding++;
    }
    if (digits % 4 == 1 || (padding > 0 && (digits + padding) % 4 != 0)) {
        return tool_text_fault_set(fault, "not base64: its length fits no bytes");
    }

    unsigned bits = 0;
    unsigned held = 0; /* how many low bits of `bits` are waiting */
    size_t len = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = sextet(text[i]);
        if (value < 0) {
            return tool_text_fault_set(fault, "not base64: '%c' at position %zu", text[i], i + 1);
        }
        bits = (bits << 6) | (unsigned)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[len++] = (unsigned char)(bits >> held);
            bits &= (1U << held) - 1U;
        }
    }
    if (bits != 0) {
        return tool_text_fault_set(fault, "not base64: bits are left over at its end");
    }
    *out_len = len;
    return 0;
}

void tool_base64_put(FILE *out, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        unsigned long group = (unsigned long)bytes[i] << 16;
        group |= have > 1 ? (unsigned long)bytes[i + 1] << 8 : 0UL;
        group |= have > 2 ? (unsigned long)bytes[i + 2] : 0UL;
        (void)fputc(alphabet[(group >> 18) & 0x3f], out);
        (void)fputc(alphabet[(group >> 12) & 0x3f], out);
        (void)fputc(have > 1 ? alphabet[(group >> 6) & 0x3f] : '=', out);
        (void)fputc(have > 2 ? alphabet[group & 0x3f] : '=', out);
    }
}
