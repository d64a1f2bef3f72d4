/* SPDX-License-Identifier: MIT */
/*
 * Bytes as hexadecimal digits and back: see hex.h.
 */
#include "hex.h"

/* The value of a digit, -1 when it is none. */
static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int tool_hex_decode(const char *text, unsigned char *out, size_t *out_len, struct text_fault *fault)
{
    size_t len = 0;
    size_t i = 0;
    while (text[i] != '\0') {
        if (is_blank(text[i])) {
            i++;
            continue;
        }
        int high = digit_value(text[i]);
        if (high < 0) {
            return tool_text_fault_set(fault, "'%c' at position %zu is not a hex digit", text[i],
                                       i + 1);
        }
        if (text[i + 1] == '\0' || is_blank(text[i + 1])) {
            return tool_text_fault_set(
                fault, "half a byte at position %zu: two hex digits make a byte", i + 1);
        }
        int low = digit_value(text[i + 1]);
        if (low < 0) {
            return tool_text_fault_set(fault, "'%c' at position %zu is not a hex digit",
                                       text[i + 1], i + 2);
        }
        out[len++] = (unsigned char)(high * 16 + low);
        i += 2;
    }
    *out_len = len;
    return 0;
}

void tool_hex_encode(const unsigned char *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 0x0f];
    }
}
