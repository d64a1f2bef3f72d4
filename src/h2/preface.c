/* SPDX-License-Identifier: MIT */
/*
 * Judging first bytes. See preface.h.
 */
#include "h2/preface.h"

#include <string.h>

#include "base/strbuf.h"

#define FRAME_HEAD_BYTES ((size_t)9)

/* RFC 9113 section 6.5.2: nobody may send more before our SETTINGS allow it. */
#define FRAME_MAX_BYTES 16384u

#define TYPE_SETTINGS 4
#define FLAG_ACK      1

static const char *const frame_names[] = {"DATA",          "HEADERS",      "PRIORITY", "RST_STREAM",
                                          "SETTINGS",      "PUSH_PROMISE", "PING",     "GOAWAY",
                                          "WINDOW_UPDATE", "CONTINUATION"};

#define FRAME_NAMES (sizeof(frame_names) / sizeof(frame_names[0]))

/* The first line of what came, in quotes. */
static void quote_line(struct strbuf *sb, const uint8_t *bytes, size_t len)
{
    size_t line = 0;
    while (line < len && bytes[line] != '\r' && bytes[line] != '\n') {
        line++;
    }
    strbuf_quoted(sb, bytes, line, PREFACE_BYTES);
}

static void hex(struct strbuf *sb, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len && i < 16; i++) {
        strbuf_printf(sb, "%s%02x", i == 0 ? "" : " ", (unsigned)bytes[i]);
    }
}

static bool starts_as(const uint8_t *bytes, size_t len, const char *what)
{
    const size_t n = strlen(what) < len ? strlen(what) : len;
    return len > 0 && memcmp(bytes, what, n) == 0;
}

/* It has the shape of a frame of HTTP/2: it then says something to name which. */
static bool is_frame(const uint8_t *head, size_t len)
{
    const uint32_t length =
        (uint32_t)head[0] << 16 | (len > 1 ? (uint32_t)head[1] << 8 : 0) | (len > 2 ? head[2] : 0);
    return length <= FRAME_MAX_BYTES && (len <= 3 || head[3] < FRAME_NAMES);
}

static enum preface judge_frame(const uint8_t *head, struct strbuf *sb)
{
    const uint32_t length = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    if (head[3] != TYPE_SETTINGS) {
        strbuf_printf(sb, "the peer's first frame was %s, not SETTINGS", frame_names[head[3]]);
        return PREFACE_WRONG;
    }
    if ((head[4] & FLAG_ACK) != 0) {
        strbuf_add(sb, "the peer's first frame was an acknowledgement of SETTINGS, not its own");
        return PREFACE_WRONG;
    }
    if (length % 6 != 0) {
        strbuf_printf(sb, "the peer's SETTINGS frame has an impossible length, %u",
                      (unsigned)length);
        return PREFACE_WRONG;
    }
    return PREFACE_GOOD;
}

/* Not HTTP/2. What looks like text is told as text. */
static enum preface name_stranger(const uint8_t *bytes, size_t len, bool is_all, struct strbuf *sb)
{
    if (starts_as(bytes, len, "HTTP/")) {
        /* Few bytes say little: the rest of the status line is on its way. */
        if (len < FRAME_HEAD_BYTES && !is_all) {
            return PREFACE_MORE;
        }
        strbuf_add(sb, "the peer speaks HTTP/1.1, not HTTP/2: ");
        quote_line(sb, bytes, len);
        return PREFACE_WRONG;
    }
    if (bytes[0] == 0x15 || bytes[0] == 0x16) {
        if (len < 2 && !is_all) {
            return PREFACE_MORE;
        }
        if (len >= 2 && bytes[1] == 0x03) {
            strbuf_printf(sb, "the peer speaks TLS, and we do not: TLS %s ",
                          bytes[0] == 0x15 ? "alert" : "handshake");
            hex(sb, bytes, len);
            return PREFACE_WRONG;
        }
    }
    strbuf_add(sb, "the peer does not speak HTTP/2: ");
    quote_line(sb, bytes, len);
    return PREFACE_WRONG;
}

enum preface preface_judge(const uint8_t *bytes, size_t len, bool is_all, char *text, size_t size)
{
    struct strbuf sb;
    strbuf_init(&sb, text, size);
    if (len == 0) {
        return PREFACE_MORE;
    }
    if (!is_frame(bytes, len)) {
        return name_stranger(bytes, len, is_all, &sb);
    }
    if (len < FRAME_HEAD_BYTES) {
        return PREFACE_MORE;
    }
    return judge_frame(bytes, &sb);
}

enum preface preface_judge_client(const uint8_t *bytes, size_t len, bool is_all, char *text,
                                  size_t size)
{
    static const char magic[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct strbuf sb;
    strbuf_init(&sb, text, size);
    if (!starts_as(bytes, len, magic) && len > 0) {
        /* Few bytes say little: the rest of the line is on its way. */
        if (len < PREFACE_MAGIC_BYTES && memchr(bytes, '\n', len) == NULL && bytes[0] >= 'A' &&
            bytes[0] <= 'Z' && !is_all) {
            return PREFACE_MORE;
        }
        strbuf_add(&sb, "the client does not speak HTTP/2 from the start: ");
        quote_line(&sb, bytes, len);
        return PREFACE_WRONG;
    }
    if (len < PREFACE_MAGIC_BYTES + FRAME_HEAD_BYTES) {
        return PREFACE_MORE;
    }
    if (!is_frame(bytes + PREFACE_MAGIC_BYTES, len - PREFACE_MAGIC_BYTES)) {
        strbuf_add(&sb, "no frame follows the client's preface: ");
        hex(&sb, bytes + PREFACE_MAGIC_BYTES, len - PREFACE_MAGIC_BYTES);
        return PREFACE_WRONG;
    }
    return judge_frame(bytes + PREFACE_MAGIC_BYTES, &sb);
}
