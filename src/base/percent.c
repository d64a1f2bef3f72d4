/* SPDX-License-Identifier: MIT */
/*
 * grpc-message on its way out and in. See percent.h.
 */
#include "base/percent.h"

#include <stdbool.h>

static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte <= 0x7e && byte != '%';
}

/* -1: not a hex digit. Either case is read; we write upper case (RFC 3986 section 2.1). */
static int hex_value(uint8_t digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return -1;
}

size_t percent_encoded_length(const void *text, size_t len)
{
    const uint8_t *bytes = text;
    size_t total = len;
    for (size_t i = 0; i < len; i++) {
        total += is_plain(bytes[i]) ? 0 : 2;
    }
    return total;
}

size_t percent_encode(const void *text, size_t len, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    const uint8_t *bytes = text;
    size_t written = 0;
    for (size_t i = 0; i < len; i++) {
        if (is_plain(bytes[i])) {
            out[written++] = (char)bytes[i];
        } else {
            out[written++] = '%';
            out[written++] = digits[bytes[i] >> 4];
            out[written++] = digits[bytes[i] & 0x0f];
        }
    }
    return written;
}

size_t percent_decode(const void *text, size_t len, char *out)
{
    const uint8_t *bytes = text;
    size_t written = 0;
    size_t i = 0;
    while (i < len) {
        int high = -1;
        int low = -1;
        if (bytes[i] == '%' && len - i > 2) {
            high = hex_value(bytes[i + 1]);
            low = hex_value(bytes[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            out[written++] = (char)(uint8_t)(high << 4 | low);
            i += 3;
        } else {
            out[written++] = (char)bytes[i];
            i++;
        }
    }
    return written;
}
