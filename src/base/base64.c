/* SPDX-License-Identifier: MIT */
/*
 * Base64 with the standard alphabet. See base64.h.
 */
#include "base/base64.h"

static const char alphabet[64] = {
    'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P',
    'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'a', 'b', 'c', 'd', 'e', 'f',
    'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
    'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '/',
};

/* -1: not in the alphabet. */
static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+') {
        return 62;
    }
    return c == '/' ? 63 : -1;
}

size_t base64_encoded_length(size_t len)
{
    size_t rest = len % 3;
    if (len / 3 > (SIZE_MAX - 3) / 4) {
        return SIZE_MAX;
    }
    return len / 3 * 4 + (rest == 0 ? 0 : rest + 1);
}

size_t base64_encode(const void *bytes, size_t len, char *out)
{
    const uint8_t *in = bytes;
    size_t written = 0;
    uint32_t bits = 0;
    unsigned held = 0; /* bits not yet written, 0, 2 or 4 between bytes */
    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | in[i];
        held += 8;
        while (held >= 6) {
            held -= 6;
            out[written++] = alphabet[bits >> held & 0x3f];
        }
    }
    if (held > 0) {
        out[written++] = alphabet[bits << (6 - held) & 0x3f];
    }
    return written;
}

size_t base64_decoded_max(size_t len)
{
    return len / 4 * 3 + len % 4;
}

bool base64_decode(const char *text, size_t len, void *out, size_t *out_len)
{
    uint8_t *bytes = out;
    size_t written = 0;
    uint32_t bits = 0;
    unsigned held = 0;
    for (int i = 0; i < 2 && len > 0 && text[len - 1] == '='; i++) {
        len--;
    }
    /* A lone character has six bits: no byte. */
    if (len % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        int value = sextet(text[i]);
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes[written++] = (uint8_t)(bits >> held & 0xff);
        }
    }
    *out_len = written;
    return true;
}
