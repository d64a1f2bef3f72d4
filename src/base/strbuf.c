/* SPDX-License-Identifier: MIT */
/*
 * Text for people, built in memory of the caller. See strbuf.h.
 */
#include "base/strbuf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lull/types.h"

#include "base/invariant.h"

void strbuf_init(struct strbuf *sb, char *text, size_t size)
{
    LULL_INVARIANT(size > 0, "a strbuf needs room for its NUL");
    sb->text = text;
    sb->size = size;
    sb->len = 0;
    sb->is_cut = false;
    text[0] = '\0';
}

/*
 * Ends the text that fills the memory (size - 1 bytes) in "...", stepping back over a UTF-8
 * character that would be split. At most three bytes back: what has more continuation bytes in a
 * row is not UTF-8 and has no boundary.
 */
static void cut(struct strbuf *sb)
{
    size_t dots = sb->size - 1 < 3 ? sb->size - 1 : 3;
    size_t end = sb->size - 1 - dots;
    size_t boundary = end;
    while (boundary > 0 && end - boundary < 3 && ((uint8_t)sb->text[boundary] & 0xc0) == 0x80) {
        boundary--;
    }
    if (((uint8_t)sb->text[boundary] & 0xc0) != 0x80) {
        end = boundary;
    }
    memset(sb->text + end, '.', dots);
    sb->len = end + dots;
    sb->text[sb->len] = '\0';
    sb->is_cut = true;
}

void strbuf_vprintf(struct strbuf *sb, const char *format, va_list args)
{
    size_t room = sb->size - sb->len;
    int wanted;
    if (sb->is_cut) {
        return;
    }
    wanted = vsnprintf(sb->text + sb->len, room, format, args);
    if (wanted < 0) {
        sb->text[sb->len] = '\0';
    } else if ((size_t)wanted < room) {
        sb->len += (size_t)wanted;
    } else {
        cut(sb);
    }
}

void strbuf_printf(struct strbuf *sb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vprintf(sb, format, args);
    va_end(args);
}

void strbuf_add_bytes(struct strbuf *sb, const void *bytes, size_t len)
{
    size_t room = sb->size - 1 - sb->len;
    size_t fitting = len < room ? len : room;
    if (sb->is_cut || len == 0) {
        return;
    }
    memcpy(sb->text + sb->len, bytes, fitting);
    if (fitting == len) {
        sb->len += len;
        sb->text[sb->len] = '\0';
    } else {
        cut(sb);
    }
}

void strbuf_add(struct strbuf *sb, const char *text)
{
    strbuf_add_bytes(sb, text, strlen(text));
}

/* `value` thousandths of `unit`, without the zeros at the end. */
static void add_thousandths(struct strbuf *sb, uint64_t value, const char *unit)
{
    uint64_t rest = value % 1000;
    int width = 3;
    if (rest == 0) {
        strbuf_printf(sb, "%" PRIu64 " %s", value / 1000, unit);
        return;
    }
    while (rest % 10 == 0) {
        rest /= 10;
        width--;
    }
    strbuf_printf(sb, "%" PRIu64 ".%0*" PRIu64 " %s", value / 1000, width, rest, unit);
}

void strbuf_duration(struct strbuf *sb, int64_t ns)
{
    /* The negation in unsigned arithmetic has a value for INT64_MIN too. */
    uint64_t size_ns = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    if (ns == LULL_NEVER) {
        strbuf_add(sb, "never");
        return;
    }
    if (ns < 0) {
        strbuf_add(sb, "-");
    }
    if (size_ns < (uint64_t)LULL_US) {
        strbuf_printf(sb, "%" PRIu64 " ns", size_ns);
    } else if (size_ns < (uint64_t)LULL_MS) {
        add_thousandths(sb, size_ns, "us");
    } else if (size_ns < (uint64_t)LULL_SECOND) {
        add_thousandths(sb, size_ns / (uint64_t)LULL_US, "ms");
    } else {
        add_thousandths(sb, size_ns / (uint64_t)LULL_MS, "s");
    }
}

void strbuf_errno(struct strbuf *sb, int sys_errno)
{
    /* strerror_r has two shapes; for the errnos of a system call strerror's texts are static. */
    const char *text = strerror(sys_errno);
    const char first = (char)tolower((unsigned char)text[0]);
    /* An abbreviation, as in "RPC struct is bad", keeps its capitals. */
    if (first != '\0' && islower((unsigned char)text[1])) {
        strbuf_add_bytes(sb, &first, 1);
        text++;
    }
    strbuf_add(sb, text);
}

void strbuf_quoted(struct strbuf *sb, const void *bytes, size_t len, size_t max_bytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *in = bytes;
    size_t shown = len < max_bytes ? len : max_bytes;
    strbuf_add(sb, "\"");
    for (size_t i = 0; i < shown && !sb->is_cut; i++) {
        char piece[4] = {(char)in[i]};
        size_t piece_len = 1;
        if (in[i] == '"' || in[i] == '\\') {
            piece[0] = '\\';
            piece[1] = (char)in[i];
            piece_len = 2;
        } else if (in[i] < 0x20 || in[i] > 0x7e) {
            piece[0] = '\\';
            piece[1] = 'x';
            piece[2] = digits[in[i] >> 4];
            piece[3] = digits[in[i] & 0x0f];
            piece_len = 4;
        }
        strbuf_add_bytes(sb, piece, piece_len);
    }
    strbuf_add(sb, "\"");
    if (shown < len) {
        strbuf_printf(sb, "... (%zu byte%s)", len, plural_s(len));
    }
}

/* Bytes of the UTF-8 character at `in`, of `left`; 0: it is none, or one that is not to be shown (RFC 3629 section 4). */
static size_t shown_character(const uint8_t *in, size_t left)
{
    size_t len = in[0] < 0x80 ? 1 : in[0] < 0xc2 ? 0 : in[0] < 0xe0 ? 2 : in[0] < 0xf0 ? 3 : 4;
    if (len == 0 || in[0] > 0xf4 || len > left || in[0] < 0x20 || in[0] == 0x7f) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((in[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* C1 controls; overlong forms; surrogates; above U+10FFFF. */
    const bool is_bad = (in[0] == 0xc2 && in[1] < 0xa0) || (in[0] == 0xe0 && in[1] < 0xa0) ||
                        (in[0] == 0xed && in[1] > 0x9f) || (in[0] == 0xf0 && in[1] < 0x90) ||
                        (in[0] == 0xf4 && in[1] > 0x8f);
    return len > 1 && is_bad ? 0 : len;
}

void strbuf_one_line(struct strbuf *sb, const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    size_t i = 0;
    while (i < len && !sb->is_cut) {
        const size_t shown = shown_character(in + i, len - i);
        if (shown > 0) {
            strbuf_add_bytes(sb, in + i, shown);
            i += shown;
        } else {
            strbuf_printf(sb, "\\x%02x", in[i]);
            i++;
        }
    }
}
