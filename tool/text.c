/* SPDX-License-Identifier: MIT */
/*
 * Lines for people: see text.h.
 */
#include "text.h"

#include <stdarg.h>
#include <string.h>

int tool_text_fault_set(struct text_fault *fault, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, values);
    va_end(values);
    return -1;
}

/* How many bytes follow a lead byte of UTF-8, and the smallest code point that needs so many (RFC 3629 section 3). */
static size_t follow_count(unsigned char lead, unsigned long *point, unsigned long *smallest)
{
    if (lead >= 0xc2 && lead <= 0xdf) {
        *point = lead & 0x1fUL;
        *smallest = 0x80;
        return 1;
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        *point = lead & 0x0fUL;
        *smallest = 0x800;
        return 2;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        *point = lead & 0x07UL;
        *smallest = 0x10000;
        return 3;
    }
    return 0;
}

/* The length of the printable multi-byte character at `bytes`, 0 when there is none: broken, a surrogate, a C1 control. */
static size_t character_len(const unsigned char *bytes, size_t len)
{
    unsigned long point = 0;
    unsigned long smallest = 0;
    size_t follow = follow_count(bytes[0], &point, &smallest);
    if (follow == 0 || follow >= len) {
        return 0;
    }
    for (size_t i = 1; i <= follow; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = (point << 6) | (bytes[i] & 0x3fUL);
    }
    if (point < smallest || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return 0;
    }
    /* C1 controls, the line and paragraph separators, and the marks that turn the direction of writing. */
    if (point <= 0x9f || (point >= 0x2028 && point <= 0x202e) ||
        (point >= 0x2066 && point <= 0x2069)) {
        return 0;
    }
    return follow + 1;
}

static void put_escaped(FILE *out, unsigned char byte)
{
    switch (byte) {
    case '\n':
        (void)fputs("\\n", out);
        break;
    case '\r':
        (void)fputs("\\r", out);
        break;
    case '\t':
        (void)fputs("\\t", out);
        break;
    default:
        (void)fprintf(out, "\\x%02x", byte);
        break;
    }
}

void tool_text_put(FILE *out, const char *bytes, size_t len)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i = 0;
    while (i < len) {
        if (at[i] >= 0x20 && at[i] <= 0x7e) {
            (void)fputc(at[i], out);
            i++;
            continue;
        }
        size_t wide = at[i] >= 0x80 ? character_len(at + i, len - i) : 0;
        if (wide == 0) {
            put_escaped(out, at[i]);
            i++;
            continue;
        }
        (void)fwrite(at + i, 1, wide, out);
        i += wide;
    }
}

const char *tool_text_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

void tool_text_complain(const char *text)
{
    (void)fputs("lull: ", stderr);
    tool_text_put(stderr, text, strlen(text));
    (void)fputc('\n', stderr);
}
